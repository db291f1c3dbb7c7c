// A client's work on a CUBRID server, written down line by line: what node-cubrid gets for each statement.
//
// Arguments: host, port, database. Standard input: the statements, as JSON (program_of_node.py has them).
"use strict";

const { createConnection } = require("node-cubrid");

const [host, port, database] = process.argv.slice(2);
const given = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const LIMIT = 20000; // ms until a call counts as one that hangs

let client;
const print = (line) => process.stdout.write(line.replace(/\n/g, "\\n") + "\n");

async function connect() {
  client = createConnection({ host, port: Number(port), user: "dba", password: "", database });
  await client.connect();
  return client;
}

// What an error says, without the statement, the place in it, object identifiers and paths. Of what the parser refuses
// only the class: two grammars do not expect the same tokens.
function message(error) {
  if (Array.isArray(error)) return error.map(message).join("; ");
  const text = error.message
    .replace(/\((B\+tree|CLASS_OID|OID): [^)]*\)/g, "($1)")
    .replace(/(Invalid json:).*/s, "$1")
    .replace(/^(Semantic|Syntax): (In line \d+, column \d+ )?before .*?'\n/s, "$1: ");
  const [first] = `${text} `.split(/(?<=[.])\s/);
  const short = error.code === -493 ? first.replace(/(Syntax: (Unknown class \S+)?).*/s, "$1") : first;
  return `error ${error.code ?? ""} ${short}`.trim();
}

function shown(value) {
  if (value === null || value === undefined) return "null";
  if (value instanceof Error) return message(value);
  if (value instanceof Date) return `Date(${Number.isNaN(value.getTime()) ? "invalid" : value.toISOString()})`;
  if (Buffer.isBuffer(value)) return `Buffer(${value.toString("hex")})`;
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  if (typeof value === "object") {
    const names = Object.keys(value).filter((name) => !/handle|locator|filename/i.test(name));
    return `{${names.map((name) => `${name}: ${shown(value[name])}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}

async function attempt(label, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer")), LIMIT);
  });
  try {
    const found = await Promise.race([work(), late]);
    print(found === undefined ? `${label} | done` : `${label} | ${found}`);
  } catch (error) {
    print(`${label} | ${message(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

async function rows(sql, params) {
  const { result, queryHandle } = await client.query(sql, params);
  const columns = result.ColumnNames.map((name, i) => `${name}:${result.ColumnDataTypes[i]}`).join(", ");
  const values = result.ColumnValues;
  while (values.length < result.RowsCount) {
    const more = await client.fetch(queryHandle);
    if (!more.result) break;
    if (values !== more.result.ColumnValues) values.push(...more.result.ColumnValues);
  }
  await client.closeQuery(queryHandle);
  return `${columns} | ${result.RowsCount} ${shown(values)}`;
}

const query = (sql, params, label) => attempt(label ?? sql, () => rows(sql, params));
const execute = (sql, params, label) => attempt(label ?? sql, () => client.execute(sql, params));
const isQuery = (sql) => /^\s*\(?\s*(select|values|with|desc|show)\b/i.test(sql);
const either = (sql) => (isQuery(sql) ? query(sql) : execute(sql));

async function tables() {
  for (const sql of given.setup) await execute(sql);
}

async function types() {
  for (const [type, literals] of Object.entries(given.types)) {
    await client.execute("DROP TABLE IF EXISTS hr_t");
    await execute(`CREATE TABLE hr_t (n INT, v ${type})`);
    for (const [n, literal] of [...literals, "NULL"].entries()) {
      await execute(`INSERT INTO hr_t VALUES (${n}, ${literal})`);
    }
    await query("SELECT n, v FROM hr_t ORDER BY n", undefined, `${type}: selected`);
  }
}

// Values as parameters with a type, which are bound, and without one, which node-cubrid writes into the text.
async function parameters() {
  for (const [type, bound, values] of given.parameters) {
    await client.execute("DROP TABLE IF EXISTS hr_t");
    await client.execute(`CREATE TABLE hr_t (n INT, v ${type})`);
    for (const [n, value] of values.entries()) {
      const made = value !== null && bound.startsWith("date") ? new Date(value) : value;
      const sql = "INSERT INTO hr_t VALUES (?, ?)";
      // It binds null as 0, or fails.
      if (value !== null) {
        await attempt(`${type}: ${shown(value)} as ${bound}`, () =>
          client.executeWithTypedParams(sql, [n, made], ["int", bound]),
        );
      }
      await attempt(`${type}: ${shown(value)} in the text`, () => client.execute(sql, [100 + n, made]));
    }
    await query("SELECT n, v FROM hr_t ORDER BY n", undefined, `${type}: read`);
  }
}

async function transactions() {
  const other = createConnection({ host, port: Number(port), user: "dba", password: "", database });
  await other.connect();
  const seen = async (label) => {
    const { result, queryHandle } = await other.query("SELECT COUNT(*) FROM hr_u");
    await other.closeQuery(queryHandle);
    print(`${label} | ${shown(result.ColumnValues)}`);
  };
  await client.execute("DELETE FROM hr_u");
  await attempt("begin", () => client.beginTransaction());
  await execute("INSERT INTO hr_u VALUES (1, 'a')");
  await seen("before commit");
  await attempt("commit", () => client.commit());
  await seen("after commit");
  await execute("INSERT INTO hr_u VALUES (2, 'b')");
  await execute("INSERT INTO hr_u VALUES (1, 'again')");
  await query("SELECT k FROM hr_u ORDER BY k", undefined, "after an error");
  await attempt("rollback", () => client.rollback());
  await seen("after rollback");
  await execute("CREATE TABLE hr_c (id INT)");
  await attempt("rollback", () => client.rollback());
  await query("SELECT * FROM hr_c", undefined, "a definition is rolled back");
  await attempt("rollback", () => client.rollback());
  await attempt("end", () => client.endTransaction());
  await attempt("autocommit", () => client.setAutoCommitMode(true));
  await execute("INSERT INTO hr_u VALUES (4, 'd')");
  await seen("in autocommit");
  await other.close();
}

async function batches() {
  await client.execute("DELETE FROM hr_u");
  const good = Array.from({ length: 40 }, (_, k) => `INSERT INTO hr_u VALUES (${k}, 'v${k}')`);
  await attempt("a batch", () => client.batchExecuteNoQuery(good));
  await query("SELECT COUNT(*), MAX(k) FROM hr_u", undefined, "after the batch");
  const bad = ["INSERT INTO hr_u VALUES (100, 'a')", "INSERT INTO hr_u VALUES (1, 'b')", "DELETE FROM hr_nothing"];
  await attempt("a batch with errors", () => client.batchExecuteNoQuery(bad));
  await query("SELECT COUNT(*), MAX(k) FROM hr_u", undefined, "after the batch with errors");
}

async function pages() {
  await client.execute("DELETE FROM hr_u");
  const inserts = Array.from({ length: 3000 }, (_, k) => `INSERT INTO hr_u VALUES (${k}, '${"x".repeat(20)}')`);
  await client.setAutoCommitMode(false);
  await client.batchExecuteNoQuery(inserts);
  await client.commit();
  await attempt("pages", async () => {
    const result = await client.queryAll("SELECT k, v FROM hr_u ORDER BY k");
    const sum = result.ColumnValues.reduce((total, row) => total + row[0], 0);
    return `${result.RowsCount} ${result.ColumnValues.length} ${shown(result.ColumnValues[2999])} ${sum}`;
  });
  await attempt("as objects", async () => {
    return shown(await client.queryAllAsObjects("SELECT k, v FROM hr_u WHERE k < 2 ORDER BY k"));
  });
  await client.commit();
  await client.setAutoCommitMode(true);
}

async function lobs() {
  await execute("CREATE TABLE hr_l (n INT, b BLOB, c CLOB)");
  await client.setAutoCommitMode(false);
  await execute("INSERT INTO hr_l VALUES (1, BIT_TO_BLOB(X'0102FF'), CHAR_TO_CLOB('a text'))");
  await attempt("read", async () => {
    const { result, queryHandle } = await client.query("SELECT b, c FROM hr_l");
    const [blob, clob] = result.ColumnValues[0];
    const first = await client.lobRead(blob, 0, Number(blob.lobLength));
    const second = await client.lobRead(clob, 0, Number(clob.lobLength));
    await client.closeQuery(queryHandle);
    return `${shown(first)} ${shown(second)}`;
  });
  await attempt("written", async () => {
    const clob = await client.lobNew(24);
    const written = await client.lobWrite(clob, 0, "0123456789".repeat(30000));
    await client.executeWithTypedParams("INSERT INTO hr_l (n, c) VALUES (?, ?)", [2, clob], ["int", "clob"]);
    return shown(written);
  });
  await query("SELECT n, CLOB_LENGTH(c), BLOB_LENGTH(b) FROM hr_l ORDER BY n");
  await attempt("read again", async () => {
    const { result, queryHandle } = await client.query("SELECT c FROM hr_l WHERE n = 2");
    const [clob] = result.ColumnValues[0];
    const read = await client.lobRead(clob, 0, Number(clob.lobLength));
    await client.closeQuery(queryHandle);
    return `${read.length} ${shown(String(read.data).slice(-12))}`;
  });
  await attempt("rollback", () => client.rollback());
  await client.setAutoCommitMode(true);
  await execute("DROP TABLE IF EXISTS hr_l");
}

async function schema() {
  for (const [kind, name] of given.schema) {
    await attempt(`schema ${kind} ${name}`, async () => shown(await client.getSchema(kind, name)));
  }
  await attempt("version", async () => shown((await client.getEngineVersion()).replace(/\.\d+$/, "")));
  for (const parameter of [1, 2, 3]) {
    await attempt(`parameter ${parameter}`, async () => shown(await client.getDatabaseParameter(parameter)));
  }
  await attempt("set the isolation level", () => client.setDatabaseParameter(1, 6));
  await attempt("parameter 1", async () => shown(await client.getDatabaseParameter(1)));
  await attempt("set what is unknown", () => client.setDatabaseParameter(99, 1));
}

async function lists() {
  for (const expression of given.expressions) await query(`SELECT ${expression}`);
  for (const sql of given.queries) await query(sql);
  await client.setAutoCommitMode(false);
  for (const sql of given.changes) await either(sql);
  await client.rollback();
  await query("SELECT COUNT(*) FROM hr_a", undefined, "after ROLLBACK");
  for (const sql of given.errors) {
    await either(sql);
    await client.rollback();
  }
  await client.setAutoCommitMode(true);
}

async function everything() {
  await connect();
  for (const part of [tables, types, parameters, lists, transactions, batches, pages, lobs, schema]) {
    print(`-- ${part.name}`);
    await part();
  }
  for (const sql of given.cleanup) await client.execute(sql);
  await attempt("close", () => client.close());
}

everything().then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`${error.stack ?? message(error)}\n`);
    process.exit(1);
  },
);
