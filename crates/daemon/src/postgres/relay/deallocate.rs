//! SQL's DEALLOCATE of a statement that the client has prepared by Parse, and whose name only the client knows.

use super::{Expected, Relay};
use crate::postgres::statements::PREFIX;
use headrace_core::WriteBuffer;
use headrace_postgres::messages::frontend;

impl Relay {
    /// The statement that a text deallocates, if it is one that was prepared by Parse.
    pub(super) fn deallocated(&self, sql: &str) -> Option<Vec<u8>> {
        let rest = sql.trim().trim_end_matches(';').trim_end();
        let (word, rest) = rest.split_at_checked(10)?;
        if !word.eq_ignore_ascii_case("deallocate") || !rest.starts_with(char::is_whitespace) {
            return None;
        }
        let rest = rest.trim();
        let name = match rest.split_at_checked(8) {
            Some((word, rest)) if word.eq_ignore_ascii_case("prepare ") => rest.trim(),
            _ => rest,
        };
        let name = match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => name.to_ascii_lowercase(),
        };
        self.names.contains_key(name.as_bytes()).then(|| name.into_bytes())
    }

    /// DEALLOCATE of something that exists under this name and nobody needs: the reply and its effect on the transaction
    /// are the server's.
    pub(super) fn deallocate(&mut self, name: &[u8], output: &mut WriteBuffer) {
        self.placeholder(output);
        self.close(name);
        frontend::query(output.tail(), "", &format!("DEALLOCATE {PREFIX}gone"));
    }

    pub(super) fn placeholder(&mut self, output: &mut WriteBuffer) {
        self.send_parse(format!("{PREFIX}gone").as_bytes(), b"\0\0\0", output);
        self.expected.push_back(Expected::Parse { statement: None, shown: false, undo: None });
    }
}
