//! Whether a value means the same bound to a parameter as written in its place.
//!
//! MySQL gives a parameter a type when it prepares the statement, by what is around it, and converts the values to that
//! type: 9.7 is one that stores NULL for `CAST(? AS CHAR)` of a time, makes 0 of 'abc' in `COALESCE(?, 0)`, does not
//! sort by `ORDER BY ?`, and for which two `DATE_FORMAT(d, ?)` of the same value are two expressions in GROUP BY. Where
//! a parameter is stored in a column, or compared with one, it gets the type of the column, into which a literal would
//! be converted, too. MariaDB gives a parameter the type of its value, but has its own surprises for one that is part of an
//! expression (10.11 and 11.8): TIME() and UNION take the number of decimals from the statement that is prepared, a window or
//! a derived table cuts `abs(?)` to the type that was guessed then, after a pattern of REGEXP one of NULL is the empty one,
//! a time loses its sign as a number, and of an INSERT in bulk some functions have the value of the first row. What it stores
//! of a statement, as the body of a trigger, has the parameters in it. So the rule is one for both: a parameter that is part
//! of an expression is written.

use super::lexer::Modes;
use super::tokens::Tokens;
use super::{is_one_of, words};
use headrace_core::token::TokenKind;

/// What a statement does with a parameter, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It is the value of a column, or an argument of a procedure.
    Stored,
    /// It is compared with a column or a number, or is a number of rows (LIMIT).
    Compared,
}

/// The placements of a statement's parameters; `None` if one of them is an expression, or part of one.
pub fn placements(sql: &str, modes: Modes) -> Option<Vec<Placement>> {
    Tokens::new(sql, modes).placements()
}

/// The numbers of the parameters, from 0, that are a number of rows: after LIMIT, OFFSET and FETCH FIRST.
pub(crate) fn limits(sql: &str, modes: Modes) -> Vec<usize> {
    // Most texts have no such word.
    match words(sql).any(|word| is_one_of(word, &["limit", "offset", "fetch"])) {
        true => Tokens::new(sql, modes).limits(),
        false => Vec::new(),
    }
}

/// The part of a query that a token is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clause {
    /// Before any of the others: the names of tables and columns that are written to, or of WITH.
    Start,
    /// FROM with its joins, and the tables of UPDATE.
    From,
    /// WHERE, and ON of a join.
    Condition,
    /// SET, and ON DUPLICATE KEY UPDATE.
    Set,
    /// VALUES of an INSERT or REPLACE.
    Values,
    /// CALL.
    Call,
    Limit,
    /// Expressions: the columns of a query, GROUP BY, HAVING, ORDER BY.
    Other,
}

/// What a pair of parentheses encloses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enclosed {
    /// A whole statement or query.
    Query,
    /// Conditions, or joins.
    Group,
    /// Values: a row of VALUES, the arguments of CALL.
    Row,
    /// The list of an IN: parameters alone.
    List,
    /// Anything else.
    Expression,
}

/// The parentheses that a token is in, or the statement as a whole.
#[derive(Clone, Copy, Debug)]
struct Frame {
    encloses: Enclosed,
    clause: Clause,
    /// The position of the opening parenthesis.
    open: Option<usize>,
}

/// Words that may begin the part of a condition that names a column.
const BEFORE_CONDITION: [&str; 5] = ["where", "on", "and", "or", "xor"];
/// Words that end a condition.
const AFTER_CONDITION: [&str; 25] = [
    "and",
    "or",
    "xor",
    "where",
    "group",
    "having",
    "window",
    "order",
    "limit",
    "for",
    "lock",
    "into",
    "union",
    "except",
    "intersect",
    "join",
    "inner",
    "cross",
    "left",
    "right",
    "natural",
    "straight_join",
    "on",
    "set",
    "returning",
];
const AFTER_ASSIGNMENT: [&str; 5] = ["where", "order", "limit", "on", "as"];
const AFTER_LIMIT: [&str; 8] = ["offset", "for", "lock", "into", "union", "except", "intersect", "on"];
/// Words that are no columns, although they may be in the place of one.
const VALUES: [&str; 14] = [
    "null",
    "true",
    "false",
    "default",
    "end",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "utc_date",
    "utc_time",
    "utc_timestamp",
];

impl Tokens<'_> {
    /// Returns true if the token at `at` is a word that is part of a name, `t.word` or `@word`, and no keyword.
    fn is_in_name(&self, at: usize) -> bool {
        at > 0 && (self.is_punctuation(at - 1, b'.') || self.is_punctuation(at - 1, b'@'))
    }

    /// The position of the first word; a statement may begin with parentheses.
    fn verb(&self) -> usize {
        (0..self.tokens.len()).find(|at| !self.is_punctuation(*at, b'(')).unwrap_or(0)
    }

    fn limits(&self) -> Vec<usize> {
        let is_fetch = |at: usize| self.is_one_of(at, &["first", "next"]) && at > 0 && self.is_word(at - 1, "fetch");
        let is_limit = |at: usize| (self.is_one_of(at, &["limit", "offset"]) || is_fetch(at)) && !self.is_in_name(at);
        let marks = (0..self.tokens.len()).filter(|at| self.tokens[*at].kind == TokenKind::Placeholder).enumerate();
        let is_rows = |at: usize| match at.checked_sub(1) {
            Some(before) if self.is_punctuation(before, b',') => before > 1 && is_limit(before - 2),
            Some(before) => is_limit(before),
            None => false,
        };
        marks.filter(|(_, at)| is_rows(*at)).map(|(number, _)| number).collect()
    }

    fn placements(&self) -> Option<Vec<Placement>> {
        const VERBS: [&str; 7] = ["select", "insert", "replace", "update", "delete", "with", "call"];
        if !self.is_one_of(self.verb(), &VERBS) {
            return None;
        }
        let mut placements = Vec::new();
        let mut frames = vec![Frame { encloses: Enclosed::Query, clause: Clause::Start, open: None }];
        for at in 0..self.tokens.len() {
            // A parenthesis too many is an error of the statement, which the server reports.
            let Some(frame) = frames.last().copied() else { break };
            match self.tokens[at].kind {
                TokenKind::Punctuation(b'(') => frames.push(self.opened(at, &frame)),
                TokenKind::Punctuation(b')') => drop(frames.pop()),
                TokenKind::Word if frame.encloses != Enclosed::Expression && !self.is_in_name(at) => {
                    let clause = self.clause_after(at, &frame);
                    frames.last_mut().into_iter().for_each(|frame| frame.clause = clause);
                }
                TokenKind::Placeholder => placements.push(self.placement(at, &frame)?),
                _ => {}
            }
        }
        Some(placements)
    }

    /// The frame of the parenthesis at `at`, which is in `outer`.
    fn opened(&self, at: usize, outer: &Frame) -> Frame {
        let frame = |encloses, clause| Frame { encloses, clause, open: Some(at) };
        let expression = frame(Enclosed::Expression, Clause::Other);
        if !matches!(outer.encloses, Enclosed::Query | Enclosed::Group) {
            return expression;
        }
        if self.is_one_of(at + 1, &["select", "with"])
            || self.is_punctuation(at + 1, b'(') && outer.clause == Clause::Start
        {
            return match outer.clause {
                Clause::Start | Clause::From | Clause::Condition => frame(Enclosed::Query, Clause::Start),
                // Expressions that GROUP BY or ORDER BY may repeat.
                _ => expression,
            };
        }
        let after_group = at > 0 && outer.encloses == Enclosed::Group && outer.open == Some(at - 1);
        let before = at.wrapping_sub(1);
        match outer.clause {
            Clause::Values if self.is_one_of(before, &["values", "value"]) || self.is_punctuation(before, b',') => {
                frame(Enclosed::Row, Clause::Other)
            }
            Clause::Call => frame(Enclosed::Row, Clause::Other),
            Clause::Condition if self.is_word(before, "in") => {
                let before = if self.is_word(at.wrapping_sub(2), "not") { at.wrapping_sub(2) } else { before };
                let listed = self.is_column_before(before, outer) && self.is_list(at);
                frame(if listed { Enclosed::List } else { Enclosed::Expression }, Clause::Other)
            }
            Clause::Condition
                if after_group || self.is_one_of(before, &BEFORE_CONDITION) || self.is_word(before, "not") =>
            {
                frame(Enclosed::Group, outer.clause)
            }
            Clause::From
                if after_group || self.is_punctuation(before, b',') || self.is_one_of(before, &["from", "join"]) =>
            {
                frame(Enclosed::Group, outer.clause)
            }
            _ => expression,
        }
    }

    /// Returns true if there are only placeholders in the parentheses that are opened at `open`.
    fn is_list(&self, open: usize) -> bool {
        let is_item =
            |at: &usize| matches!(self.kind(*at), Some(TokenKind::Placeholder | TokenKind::Punctuation(b',')));
        let end = (open + 1..self.tokens.len()).find(|at| !is_item(at));
        end.is_some_and(|end| self.is_punctuation(end, b')'))
    }

    /// The clause after the word at `at`, which is in this frame.
    fn clause_after(&self, at: usize, frame: &Frame) -> Clause {
        let (clause, outermost) = (frame.clause, frame.open.is_none());
        let word = self.word(at).to_ascii_lowercase();
        match word.as_str() {
            "call" if clause == Clause::Start && outermost => Clause::Call,
            // After SELECT it is a hint.
            "straight_join" if clause == Clause::Other => clause,
            "from" | "join" | "straight_join" => Clause::From,
            "where" => Clause::Condition,
            "on" if self.is_word(at + 1, "duplicate") => Clause::Other,
            "on" => Clause::Condition,
            "update" if at > 0 && self.is_word(at - 1, "key") => Clause::Set,
            "update" if clause == Clause::Start => Clause::From,
            "set" if outermost => Clause::Set,
            "values" | "value" if clause == Clause::Start && outermost => Clause::Values,
            "limit" => Clause::Limit,
            "union" | "except" | "intersect" => Clause::Start,
            "select" | "group" | "having" | "window" | "order" | "for" | "lock" | "returning" => Clause::Other,
            _ => clause,
        }
    }

    /// The placement of the placeholder at `at`; `None` if it is an expression, or part of one.
    fn placement(&self, at: usize, frame: &Frame) -> Option<Placement> {
        let before = at.checked_sub(1)?;
        let (placement, is_whole) = match (frame.encloses, frame.clause) {
            (Enclosed::Expression, _) => return None,
            (Enclosed::List, _) => (Placement::Compared, true),
            (Enclosed::Row, _) => {
                let begins = frame.open == Some(before) || self.is_punctuation(before, b',');
                let ends = self.is_punctuation(at + 1, b',') || self.is_punctuation(at + 1, b')');
                (Placement::Stored, begins && ends)
            }
            (_, Clause::Set) => (Placement::Stored, self.is_assigned(before) && self.ends(at + 1, &AFTER_ASSIGNMENT)),
            (_, Clause::Limit) => {
                let begins = self.is_one_of(before, &["limit", "offset"]) || self.is_punctuation(before, b',');
                (Placement::Compared, begins && self.ends(at + 1, &AFTER_LIMIT))
            }
            (_, Clause::Condition) => (Placement::Compared, self.is_compared(at, frame)),
            _ => return None,
        };
        is_whole.then_some(placement)
    }

    /// Returns true if an expression ends before `at`: with the statement, its part, or at one of these words.
    fn ends(&self, at: usize, words: &[&str]) -> bool {
        match self.kind(at) {
            None | Some(TokenKind::Punctuation(b',' | b')' | b';')) => true,
            _ => self.is_one_of(at, words),
        }
    }

    /// Returns true if the placeholder at `at` of a condition is compared with a column.
    fn is_compared(&self, at: usize, frame: &Frame) -> bool {
        let before = at - 1;
        let (operator, after) = if self.is_word(before, "between") {
            // Both values are parameters.
            let second = self.is_word(at + 1, "and") && self.kind(at + 2) == Some(TokenKind::Placeholder);
            return second
                && self.is_column_before(self.without_not(before), frame)
                && self.ends(at + 3, &AFTER_CONDITION);
        } else if self.is_word(before, "and") && self.follows_between(at) {
            (self.without_not(at - 3), at + 1)
        } else if self.is_word(before, "like") {
            let escapes = self.is_word(at + 1, "escape") && self.kind(at + 2) == Some(TokenKind::Quoted);
            (self.without_not(before), if escapes { at + 3 } else { at + 1 })
        } else if let Some(first) = self.comparison(at) {
            (first, at + 1)
        } else {
            return self.is_compared_after(at, frame);
        };
        self.is_column_before(operator, frame) && self.ends(after, &AFTER_CONDITION)
    }

    /// Returns true if the placeholder at `at` of a condition is the whole of it but an operator and a column.
    fn is_compared_after(&self, at: usize, frame: &Frame) -> bool {
        if !self.begins_condition(at - 1, frame) {
            return false;
        }
        let Some(mut name) = (at + 2..at + 5).find(|end| self.is_name(*end)) else { return false };
        if self.comparison(name) != Some(at + 1) {
            return false;
        }
        while self.is_punctuation(name + 1, b'.') && self.is_name(name + 2) {
            name += 2;
        }
        self.ends(name + 1, &AFTER_CONDITION)
    }

    /// Returns true if a condition begins after the token at `before`.
    fn begins_condition(&self, before: usize, frame: &Frame) -> bool {
        let begins_group = frame.encloses == Enclosed::Group && frame.open == Some(before);
        begins_group || self.is_one_of(before, &BEFORE_CONDITION)
    }

    /// Returns true if `BETWEEN ? AND` is before `at`.
    fn follows_between(&self, at: usize) -> bool {
        at >= 3 && self.is_word(at - 3, "between") && self.kind(at - 2) == Some(TokenKind::Placeholder)
    }

    /// The position of the operator at `at` with the NOT before it.
    fn without_not(&self, at: usize) -> usize {
        if at > 0 && self.is_word(at - 1, "not") { at - 1 } else { at }
    }

    /// The first token of the comparison operator before `end`.
    fn comparison(&self, end: usize) -> Option<usize> {
        let is_part = |at: &usize| matches!(self.kind(*at), Some(TokenKind::Punctuation(b'=' | b'<' | b'>' | b'!')));
        let first = (0..end).rev().take_while(is_part).last()?;
        let operator: Vec<u8> = self.tokens[first..end].iter().map(|token| token.text.as_bytes()[0]).collect();
        let operators: [&[u8]; 8] = [b"=", b"<", b">", b"<=", b">=", b"<>", b"!=", b"<=>"];
        operators.contains(&operator.as_slice()).then_some(first)
    }

    /// Returns true if the `=` at `at` assigns to a column.
    fn is_assigned(&self, at: usize) -> bool {
        self.is_punctuation(at, b'=')
            && self.name_before(at).is_some_and(|first| {
                let before = first.wrapping_sub(1);
                self.is_punctuation(before, b',') || self.is_one_of(before, &["set", "update"])
            })
    }

    /// Returns true if a column's name or a number, which is all of the operand, is before `end`.
    fn is_column_before(&self, end: usize, frame: &Frame) -> bool {
        let before = self.name_before(end).and_then(|first| first.checked_sub(1));
        before.is_some_and(|before| self.begins_condition(before, frame))
    }

    /// The first token of the name that ends before `end`: `a`, `t.a`, `d.t.a`; or of the number.
    fn name_before(&self, end: usize) -> Option<usize> {
        let mut first = end.checked_sub(1)?;
        if !self.is_name(first) {
            return None;
        }
        while first >= 2 && self.is_punctuation(first - 1, b'.') {
            first -= 2;
            if !self.is_name(first) {
                return None;
            }
        }
        Some(first)
    }

    /// Returns true if the token at `at` is a name, or the digits of a number.
    fn is_name(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at) else { return false };
        match token.kind {
            TokenKind::Word if token.text.as_bytes()[0].is_ascii_digit() => {
                self.word(at).bytes().all(|byte| byte.is_ascii_digit())
            }
            TokenKind::Word => !self.is_one_of(at, &VALUES),
            TokenKind::Quoted => match token.text.as_bytes()[0] {
                b'`' => true,
                b'"' => self.modes.ansi_quotes,
                _ => false,
            },
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rows_are_found() {
        for (sql, expected) in [
            ("select a from t where b = ? limit ?", vec![1]),
            ("select a from t limit ?, ?", vec![0, 1]),
            ("(select ? LIMIT ? OFFSET ?) union select 1 limit 5, ?", vec![1, 2, 3]),
            ("delete from t where `limit` = ? or t.limit = ? order by a limit ?", vec![2]),
            ("select ? from t order by a offset ? rows fetch next ? rows only", vec![1, 2]),
            ("select ? from t where b = ? fetch first ? row with ties", vec![2]),
            ("select first, ? from t where next = ? and first (?)", vec![]),
            ("select a, ? from t where b = 'limit ?'", vec![]),
            ("insert into t values (?, ?)", vec![]),
        ] {
            assert_eq!(limits(sql, Modes::default()), expected, "{sql}");
        }
    }
}
