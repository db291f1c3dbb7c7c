//! The commands of the console.

use super::SETTINGS;
use crate::front::replies::Failure;

/// A table that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The commands.
    Help,
    /// Clients.
    Clients,
    /// Settings.
    Config,
    /// Databases.
    Databases,
    /// How many there are of each.
    Lists,
    /// Memory.
    Mem,
    /// Pools.
    Pools,
    /// Server connections.
    Servers,
    /// Clients and server connections.
    Sockets,
    /// Whether all is paused.
    State,
    /// Totals and averages of each database.
    Stats,
    /// Totals of each database.
    StatsTotals,
    /// Averages of each database.
    StatsAverages,
    /// Totals and averages of all databases.
    Totals,
    /// Users.
    Users,
    /// The version.
    Version,
}

const TABLES: [(&str, Table); 17] = [
    ("help", Table::Help),
    ("clients", Table::Clients),
    ("config", Table::Config),
    ("databases", Table::Databases),
    ("lists", Table::Lists),
    ("mem", Table::Mem),
    ("pools", Table::Pools),
    ("servers", Table::Servers),
    ("sockets", Table::Sockets),
    ("active_sockets", Table::Sockets),
    ("state", Table::State),
    ("stats", Table::Stats),
    ("stats_totals", Table::StatsTotals),
    ("stats_averages", Table::StatsAverages),
    ("totals", Table::Totals),
    ("users", Table::Users),
    ("version", Table::Version),
];

/// The answer to SHOW HELP.
pub const HELP: &str = "\n\tSHOW HELP|CLIENTS|CONFIG|DATABASES|LISTS|MEM|POOLS|SERVERS|SOCKETS|STATE|USERS|VERSION\n\
                        \tSHOW STATS|STATS_TOTALS|STATS_AVERAGES|TOTALS\n\
                        \tPAUSE [<db>]\n\tRESUME [<db>]\n\tRECONNECT [<db>]\n\tWAIT_CLOSE [<db>]\n\
                        \tKILL [<db>]\n\tKILL_CLIENT <client>\n\tRELOAD";

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A table.
    Show(Table),
    /// One of [`SETTINGS`], by its place there.
    ShowSetting(usize),
    /// SET of one of these, which has no effect.
    Set,
    /// Lend no server connections.
    Pause(Option<String>),
    /// Lend them again.
    Resume(Option<String>),
    /// Replace server connections.
    Reconnect(Option<String>),
    /// Wait until those of before are closed.
    WaitClose(Option<String>),
    /// End clients.
    Kill(Option<String>),
    /// End a client.
    KillClient(i32),
    /// Read the configuration again.
    Reload,
}

impl Command {
    /// Reads a text; `None` if there is nothing in it.
    ///
    /// # Errors
    /// [`Failure`]: it is none of the commands.
    pub fn read(text: &str) -> Result<Option<Self>, Failure> {
        let text = text.trim().trim_end_matches(';').trim_end();
        let (verb, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let argument = argument.trim();
        let invalid = || {
            let shown: String = text.chars().take(200).collect();
            Failure::new("42601", format!("headraced: invalid command {shown:?}, use SHOW HELP;"))
        };
        let database = || name(argument).ok_or_else(invalid);
        let is_setting = |word: &str| SETTINGS.iter().position(|(known, _)| known.eq_ignore_ascii_case(word));
        Ok(Some(match verb.to_ascii_uppercase().as_str() {
            "" => return Ok(None),
            "SHOW" => match TABLES.iter().find(|(known, _)| known.eq_ignore_ascii_case(argument)) {
                Some((_, table)) => Self::Show(*table),
                None => Self::ShowSetting(is_setting(argument).ok_or_else(invalid)?),
            },
            "SET" => {
                let word = argument.split(|letter: char| letter == '=' || letter.is_whitespace()).next();
                if is_setting(word.unwrap_or_default()).is_none() {
                    let what = "headraced: settings are changed in the configuration, which RELOAD reads again";
                    return Err(Failure::unsupported(what));
                }
                Self::Set
            }
            "PAUSE" => Self::Pause(database()?),
            "RESUME" => Self::Resume(database()?),
            "RECONNECT" => Self::Reconnect(database()?),
            "WAIT_CLOSE" => Self::WaitClose(database()?),
            "KILL" => Self::Kill(database()?),
            "KILL_CLIENT" => Self::KillClient(argument.parse().map_err(|_| invalid())?),
            "RELOAD" if argument.is_empty() => Self::Reload,
            _ => return Err(invalid()),
        }))
    }

    /// Returns true if it changes something.
    pub fn orders(&self) -> bool {
        !matches!(self, Self::Show(_) | Self::ShowSetting(_) | Self::Set)
    }

    /// The tag of CommandComplete.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Show(_) | Self::ShowSetting(_) => "SHOW",
            Self::Set => "SET",
            Self::Pause(_) => "PAUSE",
            Self::Resume(_) => "RESUME",
            Self::Reconnect(_) => "RECONNECT",
            Self::WaitClose(_) => "WAIT_CLOSE",
            Self::Kill(_) => "KILL",
            Self::KillClient(_) => "KILL_CLIENT",
            Self::Reload => "RELOAD",
        }
    }
}

/// The name of a database, in quotes or not; `None` in it for none. `None` if it is no name.
#[expect(clippy::option_option, reason = "used once, where it is taken apart")]
fn name(argument: &str) -> Option<Option<String>> {
    if argument.is_empty() {
        return Some(None);
    }
    if let Some(quoted) = argument.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        let name = quoted.replace("\"\"", "\"");
        return (!name.is_empty()).then_some(Some(name));
    }
    (!argument.contains(|letter: char| letter.is_whitespace() || letter == '"')).then(|| Some(argument.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let app = || Some("app".to_owned());
        for (text, expected) in [
            ("", None),
            (" ; ", None),
            ("SHOW POOLS;", Some(Command::Show(Table::Pools))),
            ("show\nstats_totals", Some(Command::Show(Table::StatsTotals))),
            ("show timezone", Some(Command::ShowSetting(4))),
            ("SET DateStyle='ISO'", Some(Command::Set)),
            ("PAUSE", Some(Command::Pause(None))),
            ("pause app;", Some(Command::Pause(app()))),
            ("Resume \"app\"", Some(Command::Resume(app()))),
            ("kill \"a \"\"b\";", Some(Command::Kill(Some("a \"b".into())))),
            ("reconnect", Some(Command::Reconnect(None))),
            ("wait_close app", Some(Command::WaitClose(app()))),
            ("kill_client 12", Some(Command::KillClient(12))),
            ("RELOAD", Some(Command::Reload)),
        ] {
            assert_eq!(Command::read(text), Ok(expected), "{text}");
        }
        for text in ["select 1", "show", "show fds", "pause a b", "pause \"", "reload app", "kill_client x", "begin"] {
            assert_eq!(Command::read(text).unwrap_err().sqlstate, "42601", "{text}");
        }
        assert_eq!(Command::read("set max_clients = 7").unwrap_err().sqlstate, "0A000");
    }

    #[test]
    fn only_what_changes_nothing_is_for_everybody() {
        for (text, orders) in [
            ("show pools", false),
            ("set timezone = 'utc'", false),
            ("pause", true),
            ("kill app", true),
            ("reload", true),
            ("wait_close", true),
        ] {
            assert_eq!(Command::read(text).unwrap().unwrap().orders(), orders, "{text}");
        }
    }
}
