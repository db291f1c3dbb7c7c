// Asks a database through headraced with node-postgres.
//
//     node index.js FOLDER DATABASE TABLE
//
// FOLDER has the daemon's socket, DATABASE is a name in its configuration, and TABLE has the columns id, whole numbers
// from 0, and name.
const { Client } = require("pg");

async function main([folder, database, table]) {
  const client = new Client({ host: folder, port: 5432, database, user: "anyone" });
  await client.connect();
  try {
    const query = { name: "one", text: `select id, name from ${table} where id = $1` };
    for (const id of [3, 4]) {
      const { rows } = await client.query({ ...query, values: [id] });
      console.log(`node ${rows[0].id} ${rows[0].name}`);
    }
    await client.query("begin");
    const changed = await client.query(`update ${table} set name = $1 where id < $2`, ["changed", 2]);
    await client.query("rollback");
    const { rows } = await client.query(`select name from ${table} where id = 0`);
    console.log(`changed ${changed.rowCount}, and undone: ${rows[0].name}`);
    await client.query("select * from nowhere").catch((error) => console.log(`refused ${error.code}`));
  } finally {
    await client.end();
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
