//! The command: `headrace-simulate-cubrid --port 0`.

use std::ops::RangeInclusive;
use std::process::ExitCode;

use headrace_simulator_common::command::{self, Common, wrong};
use headrace_simulator_cubrid::charset::Charset;
use headrace_simulator_cubrid::server::{Config, Server};
use headrace_simulator_cubrid::session::PROTOCOL;
use headrace_simulator_cubrid::times::is_zone;

/// The versions of the protocol that the server can report.
const PROTOCOLS: RangeInclusive<u8> = 8..=PROTOCOL;

const HELP: &str =
    "headrace-simulate-cubrid: a test server that speaks the protocol of CUBRID's broker, with SQLite inside

  --host ADDRESS       where to listen (127.0.0.1)
  --port N             the port, 0 for any free one (0); it is printed as `port N`
  --user NAME          who may log in (dba)
  --password SECRET    with which password (none)
  --database NAME      the database (testdb)
  --charset NAME       of the database: utf8, euckr or iso88591 (utf8)
  --cas N              the number of CAS, which share all clients (40)
  --time-zone ZONE     of sessions, as Asia/Seoul or +09:00 (Etc/UTC)
  --protocol N         the version of the protocol, 8 (CUBRID 10.2) to 12 (12)
  --port-answer        answer the hello with another port, as a broker on Windows does
";

fn options(arguments: &mut dyn Iterator<Item = String>) -> Result<Option<(Common, Config)>, String> {
    let mut common = Common::new("cubrid");
    let mut config = Config {
        host: String::new(),
        user: "dba".into(),
        password: String::new(),
        database: "testdb".into(),
        charset: Charset::Utf8,
        workers: 40,
        zone: "Etc/UTC".into(),
        port_answer: false,
        protocol: PROTOCOL,
        faults: common.faults,
        trace: false,
        folder: common.folder.clone(),
    };
    while let Some(name) = arguments.next() {
        if name == "--help" || name == "-h" {
            return Ok(None);
        }
        if name == "--port-answer" {
            config.port_answer = true;
            continue;
        }
        if common.set_flag(&name) {
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let Some(value) = common.set(&name, value)? else { continue };
        let wrong = || wrong(&name, &value);
        match name.as_str() {
            "--user" => config.user = value,
            "--password" => config.password = value,
            "--database" => config.database = value,
            "--charset" => config.charset = Charset::from_name(&value).ok_or_else(wrong)?,
            "--cas" => config.workers = value.parse().ok().filter(|count| *count > 0).ok_or_else(wrong)?,
            "--protocol" => {
                config.protocol = value.parse().ok().filter(|version| PROTOCOLS.contains(version)).ok_or_else(wrong)?
            }
            "--time-zone" if is_zone(&value) => config.zone = value,
            _ => return Err(wrong()),
        }
    }
    config.host.clone_from(&common.host);
    config.faults = common.faults;
    config.trace = common.trace;
    config.folder.clone_from(&common.folder);
    Ok(Some((common, config)))
}

fn main() -> ExitCode {
    command::main("headrace-simulate-cubrid", HELP, options, |(common, config)| {
        command::run(&common, || Server::new(config))
    })
}
