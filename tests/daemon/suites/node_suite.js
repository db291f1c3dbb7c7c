// Loaded before each file of node-postgres' tests: a test that fails does not end the file, and what became of each
// stands in a line of JSON.
const path = require("path");
const Suite = require(path.join(process.env.SUITES_SOURCE, "packages/pg/test/suite.js"));

function tell(name, kind, text) {
  const test = path.relative(process.env.SUITES_SOURCE, process.argv[1]);
  process.stdout.write(`\n{"suites": ${JSON.stringify({ name: `${test}.${name}`, kind, text })}}\n`);
}

Suite.prototype.run = function (test, done) {
  if (!test.action) {
    tell(test.name, "skipped", "");
    return done();
  }
  let ended = false;
  const end = (error) => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    tell(test.name, error ? "failed" : "passed", error ? String(error.stack || error) : "");
    done();
  };
  const timer = setTimeout(() => end(new Error("longer than 10 seconds")), 10000);
  test.run(end);
};

process.on("exit", (code) => tell("(file)", code ? "failed" : "passed", `exit code ${code}`));
