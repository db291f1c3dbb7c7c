//! Where the messages of a client begin and end, and the names in them.

use super::Refused;
use crate::limits::WHOLE_MESSAGE;

/// The tag of a message and its length with the tag; `None` if its header has not been received.
pub(super) fn client_header(bytes: &[u8]) -> Result<Option<(u8, usize)>, Refused> {
    let [tag, a, b, c, d, ..] = *bytes else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(4..=headrace_core::limits::MESSAGE_BYTES).contains(&length) {
        return Err(Refused::Malformed(format!("a message has the impossible length {length}")));
    }
    Ok(Some((tag, length + 1)))
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
