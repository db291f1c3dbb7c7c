//! Where the messages of a client begin and end, and the names in them.

use super::Refused;
use crate::limits::WHOLE_MESSAGE;
use headrace_postgres::messages::tag::frontend;

/// The tag of a message and its length with the tag; `None` if its header has not been received.
pub(super) fn client_header(bytes: &[u8]) -> Result<Option<(u8, usize)>, Refused> {
    let [tag, a, b, c, d, ..] = *bytes else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(4..=headrace_core::limits::MESSAGE_BYTES).contains(&length) {
        return Err(Refused::Malformed(format!("a message has the impossible length {length}")));
    }
    Ok(Some((tag, length + 1)))
}

/// Returns true if messages that were received end in Terminate: the client waits for nothing more, and what it has sent
/// before that is executed whether or not it is still there, as PostgreSQL does.
pub fn ends_in_terminate(mut received: &[u8]) -> bool {
    while let Ok(Some((tag, length))) = client_header(received) {
        match received.get(length..) {
            Some(_) if tag == frontend::TERMINATE => return true,
            Some(rest) => received = rest,
            None => return false,
        }
    }
    false
}

/// A name that ends with a zero byte, and what follows.
pub(super) fn name_of(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

pub(super) fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The portal and the statement of a Bind, and where they end; `None` if they have not been received.
#[expect(clippy::type_complexity, reason = "used once, where it is taken apart")]
pub(super) fn bind_names(bytes: &[u8], length: usize) -> Result<Option<(Vec<u8>, Vec<u8>, usize)>, Refused> {
    let there = &bytes[5..bytes.len().min(length)];
    let found =
        name_of(there).and_then(|(portal, rest)| name_of(rest).map(|(statement, after)| (portal, statement, after)));
    match found {
        Some((portal, statement, after)) => {
            Ok(Some((portal.to_vec(), statement.to_vec(), 5 + there.len() - after.len())))
        }
        None if bytes.len() >= length || there.len() > WHOLE_MESSAGE => {
            Err(Refused::Malformed("a Bind message is too short".into()))
        }
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminate_is_found_after_whole_messages_only() {
        let (sync, terminate) = (b"S\0\0\0\x04", b"X\0\0\0\x04");
        assert!(ends_in_terminate(terminate) && ends_in_terminate(&[&sync[..], &sync[..], &terminate[..]].concat()));
        assert!(!ends_in_terminate(&[&sync[..], &terminate[..4]].concat()));
        for other in [&b""[..], sync, b"Q\0\0\0\x0aX\0\0\0\x04", b"Q\0\0\0\0X\0\0\0\x04", b"d\xff\xff\xff\xffX"] {
            assert!(!ends_in_terminate(other), "{other:?}");
        }
    }
}
