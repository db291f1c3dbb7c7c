//! A script into which the daemon has put statements of its own.

use std::collections::VecDeque;

/// What the client does not see of the answer to such a script.
#[derive(Debug)]
pub struct Spliced {
    /// For each statement that was not completed yet: the client has sent it.
    sent_by_client: VecDeque<bool>,
    /// Where statements were put in: characters of the client's text before them, and their own.
    put_in: Vec<(usize, usize)>,
}

impl Spliced {
    /// A script with this number of statements, which are the client's.
    pub fn new(statements: usize) -> Self {
        Self { sent_by_client: std::iter::repeat_n(true, statements).collect(), put_in: Vec::new() }
    }

    /// Statements of the daemon are put in after the client's with this number. Of several, the last come last.
    pub fn put_in(&mut self, after: usize, count: usize, before: usize, length: usize) {
        let at = after + 1 + self.sent_by_client.iter().filter(|sent| !**sent).count();
        for _ in 0..count {
            self.sent_by_client.insert(at, false);
        }
        self.put_in.push((before, length));
    }

    /// Returns true if anything was put in.
    pub fn has_any(&self) -> bool {
        !self.put_in.is_empty()
    }

    /// The next statement was completed. Returns true if it is one of the client's.
    pub fn completed(&mut self) -> bool {
        self.sent_by_client.pop_front().unwrap_or(true)
    }

    /// A position in the text, in characters from 1, as it is in the client's own.
    pub fn position(&self, position: usize) -> usize {
        let mut left = position;
        for (before, length) in &self.put_in {
            if left > before + length {
                left -= length;
            }
        }
        left
    }

    /// The body of an ErrorResponse with the position in the client's own text.
    pub fn error(&self, body: &[u8]) -> Vec<u8> {
        let mut error = Vec::with_capacity(body.len());
        for field in body.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
            let position = field.strip_prefix(b"P").and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            match position {
                Some(position) => error.extend_from_slice(format!("P{}", self.position(position)).as_bytes()),
                None => error.extend_from_slice(field),
            }
            error.push(0);
        }
        error.push(0);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_positions_are_those_of_the_client() {
        // reset a|\n;set a to b|; x; reset b|\n;set b to c|; y
        let mut spliced = Spliced::new(4);
        spliced.put_in(0, 1, 7, 12);
        spliced.put_in(2, 2, 20, 24);
        assert_eq!(spliced.position(3), 3);
        assert_eq!(spliced.position(7 + 12 + 3), 10);
        assert_eq!(spliced.position(20 + 12 + 24 + 3), 23);
        assert_eq!(spliced.error(b"SERROR\0P22\0\0"), b"SERROR\0P10\0\0");
        let seen: Vec<bool> = (0..7).map(|_| spliced.completed()).collect();
        assert_eq!(seen, [true, false, true, true, false, false, true]);
    }
}
