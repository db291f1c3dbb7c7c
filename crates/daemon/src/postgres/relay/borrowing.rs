//! When what a client has sent is worth a server connection. A client that sends a part of a message, or messages of a
//! group without its end, and then nothing, keeps nobody else waiting: the server would not answer it.

use super::framing::{bind_names, client_header, name_of, text_of};
use crate::limits::{BORROW_BYTES, WHOLE_MESSAGE};
use headrace_postgres::messages::tag::frontend as client;
use headrace_postgres::sql::copies_rows;

/// What is needed for the messages that were received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// More bytes: so many with those that are there, if that is known.
    Bytes(Option<usize>),
    /// A server connection.
    Server,
}

/// Decides by the messages at the beginning of what was received. A message that is refused needs a server connection,
/// too: what is wrong with it is said where messages are passed on. `is_copy` returns true for the name of a statement
/// that the client has, and that is COPY.
pub fn need(received: &[u8], is_copy: impl Fn(&[u8]) -> bool) -> Need {
    let mut at = 0;
    loop {
        let rest = &received[at..];
        let (tag, length) = match client_header(rest) {
            Ok(Some(found)) => found,
            Ok(None) if executes_copy(&received[..at], &is_copy) => return Need::Server,
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
                false if executes_copy(&received[..at], &is_copy) => Need::Server,
                false => Need::Bytes(Some((at + length).min(BORROW_BYTES))),
            };
        }
        at += length;
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

/// Returns true if COPY is executed in messages of a group whose end was not received. To COPY FROM STDIN the server
/// answers at once, before there is a Sync.
fn executes_copy(group: &[u8], is_copy: impl Fn(&[u8]) -> bool) -> bool {
    let (mut at, mut copies) = (0, false);
    while let Ok(Some((tag, length))) = client_header(&group[at..]) {
        let Some(message) = group.get(at..at + length) else { return false };
        at += length;
        copies |= match tag {
            client::PARSE => {
                let sql = name_of(&message[HEADER_BYTES..]).and_then(|(_, sql)| name_of(sql));
                sql.is_some_and(|(sql, _)| copies_rows(&text_of(sql)))
            }
            client::BIND => matches!(bind_names(message, length), Ok(Some((_, name, _))) if is_copy(&name)),
            client::EXECUTE if copies => return true,
            _ => false,
        };
    }
    false
}

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

    fn need(received: &[u8]) -> Need {
        super::need(received, |name| name == b"copies")
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
    }

    #[test]
    fn connection_is_borrowed_for_copy_before_its_group_is_complete() {
        let execute = said(|out| frontend::execute(out, "", 0));
        let part = &said(|out| frontend::message(out, client::COPY_DATA, |out| out.push(b'1')))[..3];
        for (sql, is_copy) in [
            ("COPY t FROM STDIN", true),
            (" copy t from stdin", true),
            ("-- all of them\ncopy t from stdin", true),
            ("/* /* all */ of them */ copy t from stdin", true),
            ("select 'copy t from stdin'", false),
        ] {
            let parse = said(|out| frontend::parse(out, "s", sql, &[]));
            let bind = said(|out| frontend::bind_empty(out, "", "s"));
            assert_eq!(need(&[&parse[..], &bind].concat()), Need::Bytes(None), "{sql}");
            let group = [parse, bind, execute.clone()].concat();
            assert_eq!(need(&group) == Need::Server, is_copy, "the server answers at once: {sql}");
            assert_eq!(need(&[&group, part].concat()) == Need::Server, is_copy, "{sql}");
        }
        for (name, is_copy) in [("copies", true), ("other", false)] {
            let group = [said(|out| frontend::bind_empty(out, "", name)), execute.clone()].concat();
            assert_eq!(need(&group) == Need::Server, is_copy, "prepared earlier: {name}");
        }
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
