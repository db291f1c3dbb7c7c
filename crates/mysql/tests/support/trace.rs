//! The names of the packets that a client sent.

use headrace_mysql::packets::command::{Command, LAST_PREPARED};
use headrace_testkit::Trace;

/// The packets of a client: `COM_QUERY select 1`, `COM_STMT_EXECUTE 1`; those that begin no command by their number and
/// length in bytes: `packet 3: 20`.
pub fn trace(sent: &[u8]) -> Trace {
    Trace::read(sent, |sent| {
        let (head, rest) = sent.split_first_chunk::<4>()?;
        let len = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        let payload = rest.get(..len)?;
        let message = if head[3] == 0 { command(payload)? } else { format!("packet {}: {len}", head[3]) };
        Some((message, 4 + len))
    })
}

fn command(payload: &[u8]) -> Option<String> {
    let (byte, rest) = payload.split_first()?;
    let command = Command::of(*byte)?;
    let about = match command {
        Command::Query | Command::InitDb | Command::StmtPrepare => String::from_utf8_lossy(rest).into_owned(),
        Command::Quit | Command::Ping | Command::ResetConnection => return Some(command.name().to_owned()),
        _ => match u32::from_le_bytes(*rest.first_chunk::<4>()?) {
            LAST_PREPARED => "last".to_owned(),
            id => id.to_string(),
        },
    };
    Some(format!("{} {about}", command.name()))
}
