//! A script into which the daemon has put statements of its own.

use std::collections::VecDeque;

/// What the client does not see of the answer to such a script.
#[derive(Debug)]
pub struct Spliced {
    /// For each statement that was not completed yet: the client has sent it.
    sent_by_client: VecDeque<bool>,
    /// Where statements were put in: characters of the client's text before them, and their own.
    put_in: Vec<(usize, usize)>,
    /// The tag of the client's last statement, while those of the daemon after it are executed: the end of the transaction
    /// comes after them, and may fail.
    last: Option<Vec<u8>>,
}

/// What the client sees when a statement of a script was completed.
#[derive(Debug, PartialEq, Eq)]
pub enum Completed {
    /// This CommandComplete.
    Shown,
    /// Nothing.
    Hidden,
    /// CommandComplete with this tag, of its last statement.
    Last(Vec<u8>),
}

impl Spliced {
    /// A script with this number of statements, which are the client's.
    pub fn new(statements: usize) -> Self {
        Self { sent_by_client: std::iter::repeat_n(true, statements).collect(), put_in: Vec::new(), last: None }
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

    /// The next statement is one of the client's.
    pub fn is_next_of_client(&self) -> bool {
        self.sent_by_client.front().is_none_or(|sent| *sent)
    }

    /// The next statement was completed, with this tag.
    pub fn completed(&mut self, tag: &[u8]) -> Completed {
        let is_of_client = self.sent_by_client.pop_front().unwrap_or(true);
        let mut left = self.sent_by_client.iter();
        match is_of_client {
            true if left.len() > 0 && left.all(|sent| !sent) => {
                self.last = Some(tag.to_vec());
                Completed::Hidden
            }
            true => Completed::Shown,
            false if left.len() == 0 => self.last.take().map_or(Completed::Hidden, Completed::Last),
            false => Completed::Hidden,
        }
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
        let seen: Vec<bool> = (0..7).map(|_| spliced.completed(b"") == Completed::Shown).collect();
        assert_eq!(seen, [true, false, true, true, false, false, true]);
    }

    #[test]
    fn last_statement_of_the_client_is_completed_with_those_after_it() {
        // x; reset b|\n;set b to c|\n;DISCARD PLANS
        let mut spliced = Spliced::new(2);
        spliced.put_in(1, 1, 11, 12);
        spliced.put_in(1, 1, 11, 15);
        let seen: Vec<Completed> = (0..4).map(|at| spliced.completed(&[at])).collect();
        assert_eq!(seen, [Completed::Shown, Completed::Hidden, Completed::Hidden, Completed::Last(vec![1])]);
    }
}
