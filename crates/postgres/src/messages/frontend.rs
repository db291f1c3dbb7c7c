//! Messages of the client. Each function appends one message to a buffer.

use super::tag::{StatementOrPortal, frontend as tag};
use crate::limits;
use crate::types::Oid;
use headrace_core::Mismatch;

/// Appends a message of type `tag` whose body `body` writes, and fills in its length.
///
/// # Panics
/// If the body is longer than 2 GiB, which the length word cannot represent; callers limit what they write.
pub fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    patch(out, start);
}

fn patch(out: &mut [u8], start: usize) {
    let len = i32::try_from(out.len() - start).expect("a message is shorter than 2 GiB");
    out[start..start + 4].copy_from_slice(&len.to_be_bytes());
}

fn cstr(out: &mut Vec<u8>, text: &str) {
    debug_assert!(!text.contains('\0'), "checked before it gets here");
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// SSLRequest.
pub fn ssl_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&8i32.to_be_bytes());
    out.extend_from_slice(&80_877_103i32.to_be_bytes());
}

/// CancelRequest, to be sent on a connection of its own.
pub fn cancel_request(out: &mut Vec<u8>, process_id: i32, secret: &[u8]) {
    out.extend_from_slice(&(12 + secret.len() as i32).to_be_bytes());
    out.extend_from_slice(&80_877_102i32.to_be_bytes());
    out.extend_from_slice(&process_id.to_be_bytes());
    out.extend_from_slice(secret);
}

/// StartupMessage of protocol 3.0.
pub fn startup<'a>(out: &mut Vec<u8>, parameters: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&0x0003_0000i32.to_be_bytes());
    for (name, value) in parameters {
        cstr(out, name);
        cstr(out, value);
    }
    out.push(0);
    patch(out, start);
}

/// PasswordMessage.
pub fn password(out: &mut Vec<u8>, password: &[u8]) {
    message(out, tag::PASSWORD_MESSAGE, |out| {
        out.extend_from_slice(password);
        out.push(0);
    });
}

/// SASLInitialResponse.
pub fn sasl_initial_response(out: &mut Vec<u8>, mechanism: &str, data: &[u8]) {
    message(out, tag::PASSWORD_MESSAGE, |out| {
        cstr(out, mechanism);
        out.extend_from_slice(&(data.len() as i32).to_be_bytes());
        out.extend_from_slice(data);
    });
}

/// SASLResponse.
pub fn sasl_response(out: &mut Vec<u8>, data: &[u8]) {
    message(out, tag::PASSWORD_MESSAGE, |out| out.extend_from_slice(data));
}

/// Query: the simple protocol.
pub fn query(out: &mut Vec<u8>, prefix: &str, sql: &str) {
    message(out, tag::QUERY, |out| {
        out.extend_from_slice(prefix.as_bytes());
        cstr(out, sql);
    });
}

/// Parse: `name` is empty for the unnamed statement, a type of 0 leaves the choice to the server.
pub fn parse(out: &mut Vec<u8>, name: &str, sql: &str, types: &[Oid]) {
    message(out, tag::PARSE, |out| {
        cstr(out, name);
        cstr(out, sql);
        out.extend_from_slice(&(types.len() as i16).to_be_bytes());
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
}

/// Describe of a prepared statement or a portal.
pub fn describe(out: &mut Vec<u8>, target: StatementOrPortal, name: &str) {
    message(out, tag::DESCRIBE, |out| {
        out.push(target as u8);
        cstr(out, name);
    });
}

/// Close of a prepared statement or a portal.
pub fn close(out: &mut Vec<u8>, target: StatementOrPortal, name: &str) {
    message(out, tag::CLOSE, |out| {
        out.push(target as u8);
        cstr(out, name);
    });
}

/// Bind without parameters and with the result formats as the server would choose (text).
pub fn bind_empty(out: &mut Vec<u8>, portal: &str, statement: &str) {
    message(out, tag::BIND, |out| {
        cstr(out, portal);
        cstr(out, statement);
        out.extend_from_slice(&[0; 6]);
    });
}

/// Bind with parameters that `encode` writes: it is called with the buffer, and a place to record each parameter's
/// format. `result_formats` are the bytes of the message's last part, from its count on.
///
/// # Errors
/// The error of `encode`; the buffer then has half a message and has to be truncated.
pub fn bind<E: From<Mismatch>>(
    out: &mut Vec<u8>,
    portal: &str,
    statement: &str,
    parameters: usize,
    result_formats: &[u8],
    mut encode: impl FnMut(usize, &mut Vec<u8>) -> Result<u16, E>,
) -> Result<(), E> {
    out.push(tag::BIND);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    cstr(out, portal);
    cstr(out, statement);
    let count = (parameters as u16).to_be_bytes();
    out.extend_from_slice(&count);
    let formats = out.len();
    out.resize(formats + 2 * parameters, 0);
    out.extend_from_slice(&count);
    for i in 0..parameters {
        let format = encode(i, out)?;
        out[formats + 2 * i + 1] = format as u8;
    }
    out.extend_from_slice(result_formats);
    let bytes = out.len() - start;
    if bytes > limits::MESSAGE_BYTES {
        return Err(Mismatch::wrong_type(format!(
            "the parameters have {bytes} bytes together, but PostgreSQL takes {} in a message; send them in parts",
            limits::MESSAGE_BYTES
        ))
        .into());
    }
    patch(out, start);
    Ok(())
}

/// Bind of the unnamed portal with parameters that are encoded: the format of each, and the values with their lengths.
/// There are no results.
pub fn bind_encoded(out: &mut Vec<u8>, statement: &str, formats: &[u8], values: &[u8]) {
    message(out, tag::BIND, |out| {
        cstr(out, "");
        cstr(out, statement);
        let count = (formats.len() as u16).to_be_bytes();
        out.extend_from_slice(&count);
        out.extend(formats.iter().flat_map(|format| [0, *format]));
        out.extend_from_slice(&count);
        out.extend_from_slice(values);
        out.extend_from_slice(&[0, 0]);
    });
}

/// Execute of a portal; `max_rows` 0 means all.
pub fn execute(out: &mut Vec<u8>, portal: &str, max_rows: i32) {
    message(out, tag::EXECUTE, |out| {
        cstr(out, portal);
        out.extend_from_slice(&max_rows.to_be_bytes());
    });
}

/// Sync.
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(&[tag::SYNC, 0, 0, 0, 4]);
}

/// Flush.
pub fn flush(out: &mut Vec<u8>) {
    out.extend_from_slice(&[tag::FLUSH, 0, 0, 0, 4]);
}

/// CopyData.
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, tag::COPY_DATA, |out| out.extend_from_slice(data));
}

/// CopyDone.
pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(&[tag::COPY_DONE, 0, 0, 0, 4]);
}

/// CopyFail, with the reason that the server will repeat in its error.
pub fn copy_fail(out: &mut Vec<u8>, reason: &str) {
    message(out, tag::COPY_FAIL, |out| cstr(out, &reason.replace('\0', " ")));
}

/// Terminate.
pub fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(&[tag::TERMINATE, 0, 0, 0, 4]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn messages_as_the_manual_lays_them_out() {
        let rows: &[(&str, Vec<u8>, &[u8])] = &[
            ("SSLRequest", written(ssl_request), b"\0\0\0\x08\x04\xd2\x16\x2f"),
            (
                "CancelRequest",
                written(|o| cancel_request(o, 1, &[0, 0, 0, 2])),
                b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02",
            ),
            ("StartupMessage", written(|o| startup(o, [("user", "u")])), b"\0\0\0\x10\0\x03\0\0user\0u\0\0"),
            ("Query", written(|o| query(o, "", "select 1")), b"Q\0\0\0\x0dselect 1\0"),
            ("Parse", written(|o| parse(o, "s", "q", &[23])), b"P\0\0\0\x0es\0q\0\0\x01\0\0\0\x17"),
            ("Describe", written(|o| describe(o, StatementOrPortal::Statement, "s")), b"D\0\0\0\x07Ss\0"),
            ("Close", written(|o| close(o, StatementOrPortal::Portal, "")), b"C\0\0\0\x06P\0"),
            ("Execute", written(|o| execute(o, "", 0)), b"E\0\0\0\x09\0\0\0\0\0"),
            ("Sync", written(sync), b"S\0\0\0\x04"),
            ("CopyFail", written(|o| copy_fail(o, "no")), b"f\0\0\0\x07no\0"),
        ];
        for (name, bytes, golden) in rows {
            assert_eq!(bytes, golden, "{name}");
        }
    }

    #[test]
    fn bind_notes_each_format() {
        let bytes = written(|o| {
            bind::<Mismatch>(o, "", "s", 2, &[0, 1, 0, 1], |i, out| {
                out.extend_from_slice(&1i32.to_be_bytes());
                out.push(b'0' + i as u8);
                Ok(i as u16)
            })
            .unwrap();
        });
        assert_eq!(bytes, b"B\0\0\0\x1d\0s\0\0\x02\0\0\0\x01\0\x02\0\0\0\x010\0\0\0\x011\0\x01\0\x01");
    }
}
