//! Parameters to which the server gives the type of what is beside them.
//!
//! CUBRID types a parameter when it prepares the statement. Many functions wait for the value, and where a
//! parameter is stored or compared it is converted, as a literal is. But a result of CASE, IF or DECODE gets the type of
//! the other results, and the value is converted to that: `IF(a > b, ?, 0)` makes 2 of 1.5, and results that are all
//! parameters become text. The elements of `{?, 1}` are read as INTs, whatever was bound: 1.5 is 1073217536. Some functions
//! take a parameter for text or bits. And where an aggregate has DISTINCT, or GROUP_CONCAT an order, each row counts, or
//! none has a value, if a sum, product or function in it has a type that waits for a parameter: `COUNT(DISTINCT a + ?)` is the
//! number of rows, `SUM(DISTINCT a + ?)` NULL. (Measured with 11.3.2; its source has it in `pt_eval_expr_type`.) With the type of
//! its value written around it, such a parameter means what a literal means.
//!
//! Arithmetic waits for the value, too, but for that of the first row: where the other operand is NULL there, the result
//! has the type of that operand's column in all rows. 7 + 2.25 is 9 then, in the list of a query, in an aggregate, and in
//! what is made of it; it is 9.25 if no NULL came first.
//!
//! So do COALESCE, NVL, NVL2 and IFNULL, for the value of the first row or group: `COALESCE(SUM(price), ?)` with 0 is a whole
//! number in all groups if the first one's sum is NULL, as is the same of a subquery, a window or a quotient.
//!
//! Where a column has an index, `LIKE ?` reads a part of it, which begins behind the empty text whatever is bound
//! (`qo_rewrite_like_for_index_scan`), so that `%` finds no empty text. It does not, where the pattern is something else than
//! functions that the server knows beforehand.

use crate::lexer::Lexer;
use headrace_core::token::{Token, TokenKind};
use std::ops::Range;

/// Functions with such arguments, and the numbers of these.
const FUNCTIONS: [(&str, Range<usize>); 22] = [
    ("if", 1..3),
    ("decode", 0..usize::MAX),
    ("nullif", 0..2),
    // Of a DECIMAL the rest was one of a DOUBLE, or did not fit the digits of the first row's.
    ("mod", 0..2),
    ("greatest", 0..usize::MAX),
    ("least", 0..usize::MAX),
    // Compared as INTs beside an INT, or not at all beside a BIGINT.
    ("field", 0..usize::MAX),
    ("date_add", 0..1),
    ("adddate", 0..1),
    ("date_sub", 0..1),
    ("subdate", 0..1),
    ("ascii", 0..1),
    ("hex", 0..1),
    ("octet_length", 0..1),
    ("bit_length", 0..1),
    ("coalesce", 0..usize::MAX),
    ("nvl", 0..2),
    ("nvl2", 0..3),
    ("ifnull", 0..2),
    // Take a time for text, which has AM and PM, of which they read neither.
    ("timestamp", 0..2),
    ("addtime", 0..2),
    // Reads a DATE as a time.
    ("extract", 0..1),
];

/// Functions that are one of their arguments, and have the type of the first value that they had, and those of times. Texts
/// are left as they are there: what they are beside has their type, or is text with them.
const ALTERNATIVES: [&str; 7] = ["coalesce", "nvl", "nvl2", "ifnull", "timestamp", "addtime", "extract"];

/// Functions that compare their arguments: a text is one of CHAR there, which a literal is, so that blanks at the end of
/// what it is compared with do not count.
const COMPARING: [&str; 3] = ["nullif", "decode", "field"];

/// Aggregates that sort or compare their arguments, if DISTINCT follows.
const AGGREGATES: [&str; 11] =
    ["count", "sum", "avg", "min", "max", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"];

/// What a token is in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Frame {
    /// Parentheses whose content is something else: of a query, or of another function.
    Other,
    /// Parentheses around an operand, which is beside what they are beside.
    Group { beside: Option<Beside> },
    /// The arguments of a function, of which some are mirrored.
    Arguments { at: usize, mirrored: Range<usize>, beside: Beside },
    /// The items of IN, which are several.
    List,
    /// The argument of an aggregate with DISTINCT, or of GROUP_CONCAT, and of the functions in it.
    Sorted,
    /// The elements of a collection in braces.
    Elements,
    /// CASE, in one of its results or not.
    Case { is_result: bool },
}

impl Frame {
    /// What a parameter is beside that stands there alone, if it is mirrored.
    fn beside(&self) -> Option<Beside> {
        match self {
            Self::Other => None,
            Self::Elements => Some(Beside::Any),
            Self::Sorted => Some(Beside::Compared),
            Self::List => Some(Beside::List),
            Self::Group { beside } => *beside,
            Self::Arguments { at, mirrored, beside } => mirrored.contains(at).then_some(*beside),
            Self::Case { is_result } => is_result.then_some(Beside::Any),
        }
    }
}

/// What such a parameter is beside, on which its type depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Values that it may become one with.
    Any,
    /// Values that it is reckoned with.
    Operand,
    /// Values that stand for it, or it for them, where one of them is NULL, and times that make one with it.
    Alternative,
    /// Nothing but what makes the pattern of LIKE.
    Pattern,
    /// What makes that pattern, and what is an operand or an alternative, so that numbers there have their types.
    TypedPattern,
    /// Values that it is compared with, or sorted by.
    Compared,
    /// The other items of IN. There a parameter keeps its type, whatever the items are compared with, and a text that is
    /// no CHAR equals no shorter text in a CHAR column.
    List,
}

/// The place of such a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the placeholder.
    pub number: usize,
    /// Its position in the text.
    pub at: usize,
    /// What it is beside.
    pub beside: Beside,
}

/// The places of a statement's placeholders that are such parameters.
pub fn mirrored(sql: &str) -> Vec<Place> {
    let (mut found, mut count) = (Vec::new(), 0);
    let mut frames: Vec<Frame> = Vec::new();
    let (mut limit, mut pattern) = (LimitClause::default(), Pattern::default());
    let parentheses = Parentheses::of(sql);
    let tokens = &parentheses.tokens;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let is = |word: &str, known: &str| word.eq_ignore_ascii_case(known);
        let in_limit = limit.holds(token);
        let in_pattern = pattern.holds(token, before, tokens.get(at + 1));
        match token.kind {
            TokenKind::Placeholder => {
                let beside = match frames.last().and_then(Frame::beside) {
                    compared @ Some(Beside::Compared) if !parentheses.is_reckoned(at, at) => compared,
                    beside @ (None | Some(Beside::Alternative)) if in_pattern => {
                        let is_typed = beside.is_some() || parentheses.is_operand(at);
                        Some(if is_typed { Beside::TypedPattern } else { Beside::Pattern })
                    }
                    _ if !in_limit && parentheses.is_operand(at) => Some(Beside::Operand),
                    beside => beside,
                };
                found.extend(beside.map(|beside| Place { number: count, at: token.start, beside }));
                count += 1;
            }
            TokenKind::Punctuation(b'(') => {
                let name = before.map_or("", Token::word);
                let next = tokens.get(at + 1).map_or("", Token::word);
                let function = FUNCTIONS.iter().find(|(function, _)| is(name, function));
                let is_query = is(next, "select") || is(next, "with");
                let is_distinct = || ["distinct", "distinctrow", "unique"].iter().any(|word| is(next, word));
                let sorts = is(name, "group_concat") || AGGREGATES.iter().any(|known| is(name, known)) && is_distinct();
                let around = frames.iter().rev().find(|frame| matches!(frame, Frame::Other | Frame::Sorted));
                frames.push(match function {
                    _ if is(name, "in") && !is_query && parentheses.has_items[at] => Frame::List,
                    _ if !is_query && (sorts || around == Some(&Frame::Sorted)) => Frame::Sorted,
                    Some((name, mirrored)) => {
                        let beside = match name {
                            name if COMPARING.contains(name) => Beside::Compared,
                            name if ALTERNATIVES.contains(name) => Beside::Alternative,
                            _ => Beside::Any,
                        };
                        Frame::Arguments { at: 0, mirrored: mirrored.clone(), beside }
                    }
                    None if is_query || is_name(name) => Frame::Other,
                    // The rows of IN keep the types of their values.
                    None if parentheses.has_items[at] => Frame::Other,
                    None => Frame::Group { beside: frames.last().and_then(Frame::beside) },
                });
            }
            TokenKind::Punctuation(b')') => {
                while frames.pop().is_some_and(|frame| matches!(frame, Frame::Case { .. })) {}
            }
            TokenKind::Punctuation(b'{') => frames.push(Frame::Elements),
            TokenKind::Punctuation(b'}') if frames.last() == Some(&Frame::Elements) => drop(frames.pop()),
            TokenKind::Punctuation(b',') => {
                if let Some(Frame::Arguments { at, .. }) = frames.last_mut() {
                    *at += 1;
                }
            }
            TokenKind::Word if before.is_some_and(|before| before.is_punctuation(b'.')) => {}
            TokenKind::Word => {
                let word = token.word();
                match frames.last_mut() {
                    _ if is(word, "case") => frames.push(Frame::Case { is_result: false }),
                    Some(Frame::Case { is_result }) if is(word, "then") || is(word, "else") => *is_result = true,
                    Some(Frame::Case { is_result }) if is(word, "when") => *is_result = false,
                    Some(Frame::Case { .. }) if is(word, "end") => drop(frames.pop()),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    found
}

/// The tokens of a statement and their parentheses, which are looked at once: a statement may have thousands of rows.
struct Parentheses<'a> {
    tokens: Vec<Token<'a>>,
    /// What the token of this number is in, or begins: the number of the parenthesis that opens it.
    opening: Vec<Option<usize>>,
    /// The number of the parenthesis that closes what the one of this number opens.
    closing: Vec<Option<usize>>,
    /// Whether the parenthesis of this number has several items behind it.
    has_items: Vec<bool>,
}

impl<'a> Parentheses<'a> {
    fn of(sql: &'a str) -> Self {
        let tokens: Vec<Token<'a>> = Lexer::new(sql).collect();
        let (mut opening, mut closing) = (vec![None; tokens.len()], vec![None; tokens.len()]);
        let mut has_items = vec![false; tokens.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if token.is_punctuation(b'(') {
                open.push(at);
            }
            let around = open.last().copied();
            opening[at] = around;
            match (token.kind, around) {
                (TokenKind::Punctuation(b','), Some(around)) => has_items[around] = true,
                (TokenKind::Punctuation(b')'), Some(around)) => {
                    closing[around] = Some(at);
                    open.pop();
                }
                _ => {}
            }
        }
        Self { tokens, opening, closing, has_items }
    }

    fn is(&self, at: usize, byte: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_punctuation(byte))
    }

    /// Returns true if there is an operator of arithmetic before the first or after the last of these tokens.
    fn is_reckoned(&self, first: usize, last: usize) -> bool {
        let is_operator = |at| [b'+', b'-', b'*', b'/'].iter().any(|&operator| self.is(at, operator));
        // `->` of JSON begins with the same byte.
        let is_arrow = self.is(last + 1, b'-') && self.is(last + 2, b'>');
        is_operator(first.wrapping_sub(1)) || is_operator(last + 1) && !is_arrow
    }

    /// Returns true if the placeholder is an operand of arithmetic: itself, or as a whole argument of a function that is
    /// one.
    fn is_operand(&self, at: usize) -> bool {
        let (mut first, mut last) = (at, at);
        loop {
            let before = first.wrapping_sub(1);
            if self.is_reckoned(first, last) {
                return true;
            }
            let begins = self.is(before, b'(') || self.is(before, b',');
            if !begins || !(self.is(last + 1, b')') || self.is(last + 1, b',')) {
                return false;
            }
            let Some(open) = self.opening[before] else { return false };
            let Some(close) = self.closing[open] else { return false };
            let is_call = open > 0 && {
                let name = &self.tokens[open - 1];
                name.kind == TokenKind::Word && is_name(name.word())
            };
            (first, last) = (open - usize::from(is_call), close);
        }
    }
}

/// Returns true if a word before parentheses is a name, of a function as a rule, and no operator or part of CASE.
fn is_name(word: &str) -> bool {
    const OPERATORS: [&str; 13] =
        ["case", "when", "then", "else", "and", "or", "xor", "not", "div", "mod", "like", "between", "is"];
    !word.is_empty() && !OPERATORS.iter().any(|operator| word.eq_ignore_ascii_case(operator))
}

/// A statement with what is to be written for the parameters at these places, as a rule `CAST(? AS type)`; `None` if there
/// is nothing to write.
pub fn with_types(
    sql: &str,
    places: &[(usize, usize)],
    mut written_for: impl FnMut(usize) -> Option<String>,
) -> Option<String> {
    let mut out = String::new();
    let mut from = 0;
    for &(number, at) in places {
        let Some(written) = written_for(number) else { continue };
        out += &sql[from..at];
        out += &written;
        from = at + 1;
    }
    if from == 0 {
        return None;
    }
    out += &sql[from..];
    Some(out)
}

/// Where a LIMIT is, or what ORDERBY_NUM() or GROUPBY_NUM() is compared with. The clause has numbers, parameters and
/// operators ("LIMIT Clause", CUBRID manual), so that anything else ends it.
#[derive(Default)]
struct LimitClause {
    /// How many parentheses are open in it.
    depth: Option<usize>,
    /// After ORDERBY_NUM(): the word BETWEEN belongs to it.
    is_compared: bool,
    /// After BETWEEN: so does the next AND.
    is_between: bool,
}

impl LimitClause {
    /// Returns true if the next token of the statement is in such a clause.
    fn holds(&mut self, token: &Token<'_>) -> bool {
        let is_number = token.is("orderby_num") || token.is("groupby_num");
        if is_number || token.is("limit") {
            *self = Self { depth: Some(0), is_compared: is_number, is_between: false };
            return false;
        }
        let Some(open) = &mut self.depth else { return false };
        match token.kind {
            TokenKind::Punctuation(b'(') => *open += 1,
            TokenKind::Punctuation(b')') if *open > 0 => *open -= 1,
            TokenKind::Punctuation(b',') if self.is_compared && *open == 0 => self.depth = None,
            TokenKind::Placeholder | TokenKind::Punctuation(b',' | b'+' | b'-' | b'*' | b'/') => {}
            TokenKind::Punctuation(b'<' | b'>' | b'=') if self.is_compared => {}
            TokenKind::Word if self.is_compared && token.is("between") => self.is_between = true,
            TokenKind::Word if self.is_between && token.is("and") => self.is_between = false,
            TokenKind::Word if token.is("offset") || token.text.starts_with(|first: char| first.is_ascii_digit()) => {}
            _ => self.depth = None,
        }
        self.depth.is_some()
    }
}

/// The pattern of LIKE: texts, parameters, functions of them, and what joins them.
#[derive(Default)]
struct Pattern {
    /// How many parentheses are open in it.
    depth: Option<usize>,
}

impl Pattern {
    /// Returns true if the token is in such a pattern.
    fn holds(&mut self, token: &Token<'_>, before: Option<&Token<'_>>, next: Option<&Token<'_>>) -> bool {
        if token.is("like") && !before.is_some_and(|before| before.is_punctuation(b'.')) {
            self.depth = Some(0);
            return false;
        }
        let Some(open) = &mut self.depth else { return false };
        let begins_operand = before
            .is_some_and(|before| before.is("like") || before.is_punctuation(b'|') || before.is_punctuation(b'+'));
        match token.kind {
            TokenKind::Punctuation(b'(') => *open += 1,
            TokenKind::Punctuation(b')') if *open > 0 => *open -= 1,
            TokenKind::Placeholder | TokenKind::Punctuation(b'|' | b'+') => {}
            TokenKind::Constant | TokenKind::String | TokenKind::Quoted => {}
            // A value that is compared there may be beside a CHAR column, where it means something else than its type.
            TokenKind::Punctuation(b'=' | b'<' | b'>') => self.depth = None,
            _ if *open > 0 && !token.is("select") => {}
            // A function, if there is none of the pattern's operands before it: WHERE, HAVING or USING may be there.
            TokenKind::Word if begins_operand && next.is_some_and(|next| next.is_punctuation(b'(')) => {}
            _ => self.depth = None,
        }
        self.depth.is_some()
    }
}

/// A statement whose parameters of LIMIT are expressions, which mean the same, and so are those that ORDERBY_NUM() and
/// GROUPBY_NUM() are compared with; `None` if it has no such parameter.
///
/// 11.3.2 keeps one plan for `LIMIT ?` and for the same statement with a number, whoever executes that, and executes it
/// with the values of one of them: the other has no rows, or fails with -10024 or -771. It keeps the same one for
/// `FOR ORDERBY_NUM() <= ?` and `HAVING GROUPBY_NUM() <= ?`, which it makes of a LIMIT.
pub fn limits_apart(sql: &str) -> Option<String> {
    let (mut out, mut from) = (String::new(), 0);
    let mut limit = LimitClause::default();
    for token in Lexer::new(sql) {
        if limit.holds(&token) && token.kind == TokenKind::Placeholder {
            out += &sql[from..token.start];
            out += "(?+0)";
            from = token.end();
        }
    }
    (from > 0).then(|| out + &sql[from..])
}

/// The parameters with a type around them for which a text is sent, which the type makes their value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CastTexts {
    /// The numbers of those with the type JSON.
    pub json: Vec<usize>,
    /// The numbers of those with the type BIT VARYING, of which empty ones are sent as text.
    pub bits: Vec<usize>,
}

impl CastTexts {
    /// Those that [`with_types`] has written the types around.
    pub fn of(sql: &str) -> Self {
        let numbers = |after: &str| {
            if !sql.contains(after) {
                return Vec::new();
            }
            let is_cast = |at: usize| sql[..at].ends_with("CAST(") && sql[at + 1..].starts_with(after);
            placeholders(sql).into_iter().filter(|&(_, at)| is_cast(at)).map(|(number, _)| number).collect()
        };
        Self { json: numbers(" AS JSON)"), bits: numbers(" AS BIT VARYING)") }
    }
}

/// The numbers of a statement's placeholders and their positions in its text.
pub fn placeholders(sql: &str) -> Vec<(usize, usize)> {
    let tokens = Lexer::new(sql).filter(|token| token.kind == TokenKind::Placeholder);
    tokens.map(|token| token.start).enumerate().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_case_if_and_decode_are_mirrored() {
        for (sql, expected) in [
            ("select if(a > ?, ?, (?)) from t where a = ?", &[1, 2][..]),
            ("select IF (?, upper(?), ? + 1)", &[2]),
            (
                "select a + ?, ? - a, a*?/?, -?, ((?)) * a, a + (b = ?) from t where a > ? limit ? * 10",
                &[0, 1, 2, 3, 4, 5],
            ),
            ("select a * abs(?), coalesce(a, ?) + 1, a / round(nvl(?, 1), ?), (?) from t", &[0, 1, 2, 3]),
            ("select a || ?, a + f(b = ?), cast(? as int) + 1, a in (?), a + (select ? from t) from t", &[]),
            ("select ? -> '$.a', b -> ?, ?->'$.b', count(*), ? from t", &[]),
            ("update t set n = n + ?, m = ? where id = ?", &[0]),
            ("select mod(a, ?), mod(?, b + ?)", &[0, 1, 2]),
            ("select decode(?, 1, ?, ?)", &[0, 1, 2]),
            ("select {?, 1}, nullif(?, '', {fn x(?)}), date_add(?, interval ? day), ?", &[0, 1, 3]),
            ("update t set a = case when b = ? then ? else -(?) end, b = ? where c = ?", &[1, 2]),
            ("select case ? when ? then ? end, ?", &[2]),
            ("select case when a = ? then case b when ? then ? else ? end else (select ? from t) end", &[2, 3]),
            ("select case when a in (?, ?) then abs(?, 1) end", &[0, 1]),
            (
                "select coalesce(sum(a), ?), nvl(?, (?)), NVL2(a, ?, abs(?)), ifnull((select ? from t), ?), extract(hour from ?)",
                &[0, 1, 2, 3, 6, 7],
            ),
            ("select a in (?), a in (select ?, ?), (a, b) in ((?, ?), (?, ?)), f in (g(?, 1))", &[]),
            (
                "select count(distinct a + ?), sum(Distinct abs(nvl(a, ?) * (?))), count(?), max(a + ?) from t",
                &[0, 1, 2, 4],
            ),
            (
                "select group_concat(a + ? order by 1), avg(unique a / ?) + ? from t having count(distinct ?) > ?",
                &[0, 1, 2, 3],
            ),
            (
                "select count(distinct case when a > ? then round(a * ?) end), if(a > ?, sum(distinct ?), ?) from t",
                &[1, 3, 4],
            ),
            (
                "select count(distinct (select max(a + ?) from t where f(?) = ?)), count(distinct if(?, b, ?))",
                &[0, 3, 4],
            ),
            ("select count(distinct a) from t where a + ? = count(?) and distinct(?)", &[0]),
            ("insert into t (a, b) values (?, ?)", &[]),
            ("select t.case, ? from t where a.end = ? and x.then = ?", &[]),
            ("select 'case when then ?', \"if\"(?, ?) -- if(1, ?, ?)", &[]),
            ("drop table if exists t", &[]),
            ("select if(1 = 1, ?", &[0]),
            (")) end ) case", &[]),
        ] {
            let numbers: Vec<usize> = mirrored(sql).into_iter().map(|place| place.number).collect();
            assert_eq!(numbers, expected, "{sql}");
        }
    }

    #[test]
    fn thousands_of_rows_are_looked_at_once() {
        let sql = format!("insert into t values {}", vec!["(?, (?), ? + 1)"; 20_000].join(", "));
        assert_eq!(mirrored(&sql).len(), 20_000);
    }

    #[test]
    fn what_a_parameter_is_beside() {
        let sql = "select nullif(a, ?), greatest(a, ?), decode(a, ?, ? + 1) from t where a in (?, upper(?), 'x')";
        let beside: Vec<Beside> = mirrored(sql).into_iter().map(|place| place.beside).collect();
        assert_eq!(beside, [Beside::Compared, Beside::Any, Beside::Compared, Beside::Operand, Beside::List]);
        let sql = "select sum(decode(a, ?, 1, 0) * ?), count(distinct if(a = ?, ?, a in (?, ?))) from t";
        let beside: Vec<Beside> = mirrored(sql).into_iter().map(|place| place.beside).collect();
        let within = [Beside::Compared, Beside::Compared, Beside::List, Beside::List];
        assert_eq!(beside, [&[Beside::Compared, Beside::Operand][..], &within].concat());
        let sql = "select coalesce(a, ?), nvl(a, ?) + 1, if(a, ifnull(b, ?), ?) from t";
        let beside: Vec<Beside> = mirrored(sql).into_iter().map(|place| place.beside).collect();
        assert_eq!(beside, [Beside::Alternative, Beside::Operand, Beside::Alternative, Beside::Any]);
    }

    #[test]
    fn what_makes_the_pattern_of_like() {
        for (sql, expected) in [
            ("select a from t where b like ? and c = ?", &[0][..]),
            ("select a from t where (b NOT LIKE ?) or c = ? or d like concat('%', upper(?), ?) escape ?", &[0, 2, 3]),
            ("select b like '%' || ? || '%', ? from t", &[0]),
            ("select a from t where b like c and d = ? or b like (select ? from t) and t.like = ?", &[]),
            ("select 'like', ? from t order by f(?)", &[]),
            ("select a from t join u on b like ? where (c = ? or d = ?)", &[0]),
            ("select max(c) from t where b like ? having (max(c) = ?)", &[0]),
            ("select a from t where b like ? and c = f(?) or b like ? || upper(?) using (?)", &[0, 2, 3]),
            ("select a from t where b like ? union (select ?) order by (?)", &[0]),
            ("select a from t where b like concat(?, if(c = ?, 'x', 'y'), lower(?))", &[0]),
        ] {
            let places = mirrored(sql);
            assert!(places.iter().all(|place| place.beside == Beside::Pattern), "{sql}");
            assert_eq!(places.into_iter().map(|place| place.number).collect::<Vec<_>>(), expected, "{sql}");
        }
    }

    #[test]
    fn numbers_in_the_pattern_of_like_have_types_where_they_are_operands_or_alternatives() {
        for (sql, expected) in [
            ("select case when a like nvl(?, '%') then b end limit ?", &[Beside::TypedPattern][..]),
            ("select a from t where b like '%' + ? + '%'", &[Beside::TypedPattern]),
            ("select a from t where b like upper(?) + '%' and c = d + ?", &[Beside::TypedPattern, Beside::Operand]),
            (
                "select a from t where b like concat(?, c * ?, coalesce(c, ?))",
                &[Beside::Pattern, Beside::TypedPattern, Beside::TypedPattern],
            ),
        ] {
            let beside: Vec<Beside> = mirrored(sql).into_iter().map(|place| place.beside).collect();
            assert_eq!(beside, expected, "{sql}");
        }
    }

    #[test]
    fn parameters_of_limit_are_set_apart() {
        for (sql, expected) in [
            ("select a from t where b = ? limit ?", Some("select a from t where b = ? limit (?+0)")),
            ("select a from t LIMIT ?, ? -- ?", Some("select a from t LIMIT (?+0), (?+0) -- ?")),
            ("select a from t limit 3, ?", Some("select a from t limit 3, (?+0)")),
            ("select a from t limit ? * 10, ?", Some("select a from t limit (?+0) * 10, (?+0)")),
            ("select a from t limit (2*(?)), 3", Some("select a from t limit (2*((?+0))), 3")),
            ("select a from t limit ? offset ?", Some("select a from t limit (?+0) offset (?+0)")),
            ("select (select a from t limit ?), ? from t", Some("select (select a from t limit (?+0)), ? from t")),
            ("select a from t limit 3 for update of ?", None),
            ("select 'limit ?', ? from t where a in (?, ?)", None),
            ("select concat(offset, ?), a.offset, ? from t", None),
            (
                "select a from t order by a for ORDERBY_NUM() between ? and ? -- ?",
                Some("select a from t order by a for ORDERBY_NUM() between (?+0) and (?+0) -- ?"),
            ),
            (
                "update t set b = ? order by a for orderby_num() <= ?",
                Some("update t set b = ? order by a for orderby_num() <= (?+0)"),
            ),
            (
                "select a from t group by a having groupby_num()<? and max(b) > ?",
                Some("select a from t group by a having groupby_num()<(?+0) and max(b) > ?"),
            ),
            ("select a from t where rownum <= ? order by orderby_num(), f(?)", None),
            ("select orderby_num(), ?, groupby_num() = 1 and ? from t", None),
            (
                "select a from t having groupby_num() between ? and ? and ? = a",
                Some("select a from t having groupby_num() between (?+0) and (?+0) and ? = a"),
            ),
        ] {
            assert_eq!(limits_apart(sql).as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn types_are_written_around_them() {
        let types = |number: usize| [None, Some("CAST(? AS DOUBLE)".to_owned()), None][number].clone();
        let places = |sql| mirrored(sql).into_iter().map(|place| (place.number, place.at)).collect::<Vec<_>>();
        let written = |sql, types: fn(usize) -> Option<String>| with_types(sql, &places(sql), types);
        let typed = written("select if(a = ?, ?, ?) from t", types);
        assert_eq!(typed.as_deref(), Some("select if(a = ?, CAST(? AS DOUBLE), ?) from t"));
        assert_eq!(written("select if(1 = 1, ?, 5), '한'", |_| None), None);
        assert_eq!(written("select ?", |_| Some("CAST(? AS DOUBLE)".to_owned())), None);
    }

    #[test]
    fn parameters_that_are_cast_are_known_by_the_text() {
        let sql = "insert into t values (CAST(? AS JSON), ?, '? AS JSON)', CAST(? AS JSON), CAST(? AS BIT VARYING))";
        assert_eq!(CastTexts::of(sql), CastTexts { json: vec![0, 2], bits: vec![3] });
        assert_eq!(CastTexts::of("insert into t values (?, 'CAST(? AS JSON)')"), CastTexts::default());
    }
}
