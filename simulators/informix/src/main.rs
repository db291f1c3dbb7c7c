//! The command: `headrace-simulate-informix --port 0`.

use std::process::ExitCode;

use headrace_simulator_common::command::{self, Common, wrong};
use headrace_simulator_common::faults::Faults;
use headrace_simulator_informix::capabilities::Release;
use headrace_simulator_informix::codec::charset::Charset;
use headrace_simulator_informix::database::Mode;
use headrace_simulator_informix::server::{Config, Redirect, Server};

const HELP: &str = "headrace-simulate-informix: a test server that speaks SQLI, with SQLite inside

  --host ADDRESS       where to listen (127.0.0.1)
  --port N             the port, 0 for any free one (0); it is printed as `port N`
  --user NAME          who may log in (informix)
  --password SECRET    with which password (in4mix)
  --server NAME        the name that clients must give as INFORMIXSERVER (informix)
  --database NAME      the database that is there from the start (testdb)
  --mode MODE          logged, ansi or unlogged (logged)
  --locale LOCALE      of the databases, as en_US.819, en_US.utf8, ja_JP.sjis-s (en_US.819)
  --release N          12.10, 14.10 or 15 (14.10)
  --after-error WHAT   abort or continue the rest of a group (abort)
  --pam ASK=ANSWER     ask at login as PAM does, instead of the password; may be repeated
  --redirect NAME[=SERVER@HOST:PORT]
                       send who asks for server NAME there, or here if nothing else is said; may be repeated
";

fn redirect(text: &str) -> Option<Redirect> {
    let Some((name, target)) = text.split_once('=') else {
        return Some(Redirect { name: text.to_owned(), target: None });
    };
    let (server, address) = target.split_once('@')?;
    let (host, port) = address.rsplit_once(':')?;
    let target = (server.to_owned(), host.to_owned(), port.parse().ok()?);
    Some(Redirect { name: name.to_owned(), target: Some(target) })
}

fn options(arguments: &mut dyn Iterator<Item = String>) -> Result<Option<(Common, Config)>, String> {
    let mut common = Common::new("informix");
    let mut config = Config {
        host: String::new(),
        user: "informix".into(),
        password: "in4mix".into(),
        server: "informix".into(),
        database: "testdb".into(),
        mode: Mode::Logged,
        locale: "en_US.819".into(),
        release: Release::V14,
        continue_after_error: false,
        pam: Vec::new(),
        redirects: Vec::new(),
        faults: Faults::default(),
        trace: false,
        folder: common.folder.clone(),
    };
    while let Some(name) = arguments.next() {
        if name == "--help" || name == "-h" {
            return Ok(None);
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
            "--server" => config.server = value,
            "--database" => config.database = value,
            "--mode" => config.mode = Mode::from_name(&value).ok_or_else(wrong)?,
            "--locale" if Charset::of_locale(&value).is_some() => config.locale = value,
            "--release" => {
                config.release = match value.as_str() {
                    "12.10" => Release::V12,
                    "14.10" => Release::V14,
                    "15" | "15.0" => Release::V15,
                    _ => return Err(wrong()),
                }
            }
            "--after-error" if value == "abort" || value == "continue" => {
                config.continue_after_error = value == "continue";
            }
            "--pam" => {
                let (question, answer) = value.split_once('=').ok_or_else(wrong)?;
                config.pam.push((question.to_owned(), answer.to_owned()));
            }
            "--redirect" => config.redirects.push(redirect(&value).ok_or_else(wrong)?),
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
    command::main("headrace-simulate-informix", HELP, options, |(common, config)| {
        command::run(&common, || Server::new(config))
    })
}
