//! When what a client has sent is worth a server connection. A client that sends a part of a message, or messages of a
//! group without its end, and then nothing, keeps nobody else waiting: the server would not answer it.

use super::framing::{client_header, name_of};
use crate::limits::{BORROW_BYTES, WHOLE_MESSAGE};
use headrace_postgres::messages::tag::frontend as client;

/// What is needed for the messages that were received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// More bytes: so many with those that are there, if that is known.
    Bytes(Option<usize>),
    /// A server connection.
    Server,
}

/// Decides by the messages at the beginning of what was received. A message that is refused needs a server connection,
/// too: what is wrong with it is said where messages are passed on.
pub fn need(received: &[u8]) -> Need {
    let (mut at, mut copies) = (0, false);
    loop {
        let rest = &received[at..];
        let (tag, length) = match client_header(rest) {
            Ok(Some(found)) => found,
            Ok(None) => return Need::Bytes(None),
            Err(_) => return Need::Server,
        };
        if at == 0 && tag == client::TERMINATE {
            return Need::Bytes(None);
        }
        // These are passed on as a whole.
        let is_kept = matches!(tag, client::QUERY | client::PARSE | client::DESCRIBE | client::CLOSE);
        if client::name(tag).is_none() || is_kept && length > WHOLE_MESSAGE {
            return Need::Server;
        }
        if rest.len() < length {
            return match received.len() >= BORROW_BYTES {
                _ if at == 0 && is_kept => Need::Bytes(Some(length)),
                true => Need::Server,
                false => Need::Bytes(Some((at + length).min(BORROW_BYTES))),
            };
        }
        at += length;
        // To COPY FROM STDIN the server answers at once, before there is a Sync.
        copies |= tag == client::PARSE && is_copy(&rest[..length]);
        if copies && tag == client::EXECUTE {
            return Need::Server;
        }
        let is_open = matches!(
            tag,
            client::PARSE
                | client::BIND
                | client::DESCRIBE
                | client::EXECUTE
                | client::CLOSE
                | client::COPY_DATA
                | client::COPY_DONE
                | client::COPY_FAIL
        );
        if !is_open || at >= BORROW_BYTES {
            return Need::Server;
        }
    }
}

/// Returns true if a Parse is one of COPY.
fn is_copy(message: &[u8]) -> bool {
    let sql = message.get(HEADER_BYTES..).and_then(name_of).map_or(&b""[..], |(_, sql)| sql).trim_ascii_start();
    sql.get(..COPY.len()).is_some_and(|word| word.eq_ignore_ascii_case(COPY))
}

const COPY: &[u8] = b"copy";

/// The tag and the length of a message.
const HEADER_BYTES: usize = 5;

/// Returns true if what was received ends within a message.
pub fn is_cut(received: &[u8]) -> bool {
    let mut rest = received;
    while let Ok(Some((_, length))) = client_header(rest) {
        match rest.get(length..) {
            Some(after) => rest = after,
            None => return true,
        }
    }
    !rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_postgres::messages::frontend;

    fn said(say: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        say(&mut out);
        out
    }

    fn parse() -> Vec<u8> {
        said(|out| frontend::parse(out, "s", "select $1", &[]))
    }

    #[test]
    fn connection_is_borrowed_for_whole_groups() {
        let query = said(|out| frontend::query(out, "", "select 1"));
        let prepared = said(|out| frontend::bind_empty(out, "", "s"));
        let execute = said(|out| frontend::execute(out, "", 0));
        let (sync, flush, terminate) = (
            said(frontend::sync),
            said(frontend::flush),
            said(|out| frontend::message(out, client::TERMINATE, |_| {})),
        );
        let group = [parse(), prepared.clone(), execute.clone()].concat();
        for whole in [
            query.clone(),
            sync.clone(),
            [group.clone(), sync].concat(),
            [group.clone(), flush].concat(),
            // The server executes what it has received before.
            [group.clone(), terminate.clone()].concat(),
        ] {
            assert_eq!(need(&whole), Need::Server, "{whole:?}");
            for end in 0..whole.len() {
                assert!(matches!(need(&whole[..end]), Need::Bytes(_)), "{end} of {whole:?}");
            }
            assert!(!is_cut(&whole) && is_cut(&whole[..whole.len() - 1]));
        }
        assert_eq!(need(&[group.clone(), query].concat()), Need::Server);
        assert_eq!((need(&group), is_cut(&group)), (Need::Bytes(None), false));
        assert_eq!(need(&terminate), Need::Bytes(None));
        let copy = said(|out| frontend::parse(out, "", " COPY t FROM STDIN", &[]));
        let execution = [prepared, execute].concat();
        assert_eq!(need(&[&copy[..], &execution].concat()), Need::Server, "the server answers at once");
    }

    #[test]
    fn connection_is_borrowed_for_what_is_large() {
        let large = said(|out| frontend::message(out, client::BIND, |out| out.resize(2 * BORROW_BYTES, 0)));
        assert_eq!(need(&large[..BORROW_BYTES - 1]), Need::Bytes(Some(BORROW_BYTES)));
        assert_eq!(need(&large[..BORROW_BYTES]), Need::Server);
        let query = said(|out| frontend::query(out, "", &" ".repeat(2 * BORROW_BYTES)));
        assert_eq!(need(&query[..BORROW_BYTES]), Need::Bytes(Some(query.len())), "it is passed on as a whole");
        assert_eq!(need(&parse().repeat(BORROW_BYTES / parse().len() + 1)), Need::Server);
        for wrong in [b"P\0\0\0\x01", b"Q\x30\0\0\0", b"\x01\0\0\0\x09"] {
            assert_eq!(need(wrong), Need::Server, "what is wrong is said there: {wrong:?}");
        }
    }
}
