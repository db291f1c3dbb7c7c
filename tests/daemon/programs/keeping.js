// What of node-postgres keeps a server connection: prints the name of each step, and waits for a line.
//
//     node keeping.js FOLDER DATABASE
const { Client, Pool } = require("pg");
const lines = require("readline").createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function step(name) {
  console.log(name);
  await lines.next();
}

async function main([host, database]) {
  const client = new Client({ host, port: 5432, database, user: "anyone" });
  await client.connect();
  await client.query("select $1::int", [1]);
  for (const value of [1, 2]) await client.query({ name: "named", text: "select $1::int", values: [value] });
  await step("queries");
  await client.query("begin");
  await step("transaction");
  await client.query("rollback");
  await client.query("set statement_timeout = 5000");
  await step("statement_timeout");
  await client.query("listen keeping");
  await step("listen");
  await client.query("unlisten keeping");
  await step("unlisten");
  await client.query("select pg_advisory_lock($1)", [7]);
  await step("lock");
  await client.query("select pg_advisory_unlock($1)", [7]);
  await step("unlock");
  await client.query("set enable_seqscan = off");
  await step("set");
  await client.query("reset enable_seqscan");
  await step("reset");
  await client.end();
  const pool = new Pool({ host, port: 5432, database, user: "anyone", max: 8 });
  const results = await Promise.all([...Array(50).keys()].map((n) => pool.query("select $1::int as n", [n])));
  if (!results.every(({ rows }, n) => rows[0].n === n)) throw new Error("another's answer");
  await step("pool");
  await pool.end();
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
