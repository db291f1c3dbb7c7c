//! What a client sends first (manual, "Start-up").

use crate::limits::STARTUP_BYTES;
use crate::secret::Secret;
use headrace_postgres::messages::tag::frontend;

const SSL_REQUEST: u32 = 80_877_103;
const GSSENC_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
/// The message Terminate, whole.
const TERMINATE: &[u8] = b"X\0\0\0\x04";

/// The first message of a client, or the next after a request for encryption.
#[derive(Debug, PartialEq, Eq)]
pub enum First {
    /// SSLRequest.
    Tls,
    /// GSSENCRequest.
    Gss,
    /// CancelRequest, with the process id and the secret key.
    Cancel(i32, i32),
    /// Terminate: a client that leaves before it has begun.
    Terminate,
    /// StartupMessage.
    Startup {
        /// The minor version of protocol 3.
        minor: u16,
        /// `user`, `database` and settings.
        parameters: Vec<(String, String)>,
        /// Options of the protocol, whose names begin with `_pq_.`.
        options: Vec<String>,
    },
}

/// Reads it from what was received; returns its length too, or `None` if more is needed.
///
/// # Errors
/// What is wrong with it.
pub fn first(bytes: &[u8]) -> Result<Option<(First, usize)>, String> {
    let [a, b, c, d, rest @ ..] = bytes else { return Ok(None) };
    if TERMINATE.starts_with(&bytes[..bytes.len().min(TERMINATE.len())]) {
        return Ok((bytes.len() >= TERMINATE.len()).then_some((First::Terminate, TERMINATE.len())));
    }
    let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
    if !(8..=STARTUP_BYTES).contains(&length) {
        return Err(format!("the first message has the impossible length {length}"));
    }
    let Some(body) = rest.get(..length - 4) else { return Ok(None) };
    let number = |at: usize| body.get(at..at + 4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
    let message = match number(0).unwrap_or_default() {
        SSL_REQUEST | GSSENC_REQUEST if body.len() > 4 => return Err("a request for encryption is too long".into()),
        SSL_REQUEST => First::Tls,
        GSSENC_REQUEST => First::Gss,
        CANCEL_REQUEST => match (number(4), number(8), body.len()) {
            (Some(process_id), Some(secret), 12) => First::Cancel(process_id as i32, secret as i32),
            _ => return Err("a CancelRequest has another length than 16".into()),
        },
        version if version >> 16 == 3 => startup((version & 0xffff) as u16, &body[4..])?,
        version => return Err(format!("version {}.{} of the protocol is not spoken", version >> 16, version & 0xffff)),
    };
    Ok(Some((message, length)))
}

fn startup(minor: u16, mut body: &[u8]) -> Result<First, String> {
    let (mut parameters, mut options) = (Vec::new(), Vec::new());
    let mut text = || -> Result<String, String> {
        let end = body.iter().position(|byte| *byte == 0).ok_or("a StartupMessage is not complete")?;
        let text = std::str::from_utf8(&body[..end]).map_err(|_| "a StartupMessage is not UTF-8")?.to_owned();
        body = &body[end + 1..];
        Ok(text)
    };
    loop {
        let name = text()?;
        if name.is_empty() {
            return Ok(First::Startup { minor, parameters, options });
        }
        let value = text()?;
        if name.starts_with("_pq_.") {
            options.push(name);
        } else {
            parameters.push((name, value));
        }
    }
}

/// Reads the body of PasswordMessage, SASLInitialResponse or SASLResponse; returns the length of the message too, or
/// `None` if more is needed.
///
/// # Errors
/// What is wrong with it.
pub fn response(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, String> {
    let [tag, a, b, c, d, rest @ ..] = bytes else { return Ok(None) };
    let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
    if *tag != frontend::PASSWORD_MESSAGE || !(5..=STARTUP_BYTES).contains(&length) {
        return Err("a password was asked for, and something else was sent".into());
    }
    Ok(rest.get(..length - 4).map(|body| (body, length + 1)))
}

/// The mechanism and the data of SASLInitialResponse.
pub fn sasl_initial(body: &[u8]) -> Option<(&str, &[u8])> {
    let end = body.iter().position(|byte| *byte == 0)?;
    let mechanism = std::str::from_utf8(&body[..end]).ok()?;
    let [a, b, c, d, data @ ..] = &body[end + 1..] else { return None };
    let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
    (data.len() == length).then_some((mechanism, data))
}

/// Reads PasswordMessage; returns its length too, or `None` if more is needed.
///
/// # Errors
/// What is wrong with it.
pub fn password(bytes: &[u8]) -> Result<Option<(Secret, usize)>, String> {
    let Some((body, length)) = response(bytes)? else { return Ok(None) };
    let text = body.strip_suffix(b"\0").and_then(|text| std::str::from_utf8(text).ok());
    let text = text.filter(|text| !text.contains('\0')).ok_or("the password is not UTF-8")?;
    Ok(Some((Secret::new(text.to_owned()), length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_postgres::messages::frontend;

    #[test]
    fn first_messages_are_read() {
        let mut bytes = Vec::new();
        frontend::startup(&mut bytes, [("user", "jo"), ("_pq_.x", "1"), ("database", "shop")]);
        let parameters = vec![("user".into(), "jo".into()), ("database".into(), "shop".into())];
        let expected = First::Startup { minor: 0, parameters, options: vec!["_pq_.x".into()] };
        assert_eq!(first(&bytes), Ok(Some((expected, bytes.len()))));
        for end in 0..bytes.len() {
            assert_eq!(first(&bytes[..end]), Ok(None));
        }
        let mut bytes = Vec::new();
        frontend::ssl_request(&mut bytes);
        assert_eq!(first(&bytes), Ok(Some((First::Tls, 8))));
        assert_eq!(first(b"X\0\0\0\x04"), Ok(Some((First::Terminate, 5))));
        assert_eq!(first(b"X\0\0\0"), Ok(None));
        let mut bytes = Vec::new();
        frontend::cancel_request(&mut bytes, 7, &8i32.to_be_bytes());
        assert_eq!(first(&bytes), Ok(Some((First::Cancel(7, 8), 16))));
    }

    #[test]
    fn password_is_read() {
        let bytes = b"p\0\0\0\x08abc\0";
        assert_eq!(password(bytes), Ok(Some((Secret::new("abc".into()), 9))));
        for end in 0..bytes.len() {
            assert_eq!(password(&bytes[..end]), Ok(None));
        }
        for wrong in [&b"Q\0\0\0\x08abc\0"[..], b"p\0\0\0\x04", b"p\0\0\0\x08abcd", b"p\x7f\0\0\x08abcd"] {
            assert!(password(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in [
            &b"GET / HTTP/1.1\r\n"[..],
            &[0, 0, 0, 7, 0, 0, 0],
            &[0, 0, 0, 8, 0, 2, 0, 0],
            &[0, 0, 0, 9, 0, 3, 0, 0, 65],
            &[0, 0, 0, 9, 4, 210, 22, 47, 0],
            &[255, 255, 255, 255],
            &[128, 0, 0, 0],
            b"X\0\0\0\x05",
        ] {
            assert!(first(bytes).is_err(), "{bytes:?}");
        }
    }
}
