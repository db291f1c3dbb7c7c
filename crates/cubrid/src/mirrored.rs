//! Parameters to which the server gives the type of what is beside them.
//!
//! CUBRID types a parameter when it prepares the statement. Arithmetic and many functions wait for the value, and where a
//! parameter is stored or compared it is converted, as a literal is. But a result of CASE, IF or DECODE gets the type of
//! the other results, and the value is converted to that: `IF(a > b, ?, 0)` makes 2 of 1.5, and results that are all
//! parameters become text. The elements of `{?, 1}` are read as INTs, whatever was bound: 1.5 is 1073217536. Some functions
//! take a parameter for text or bits. And where an aggregate has DISTINCT, or GROUP_CONCAT an order, each row counts, or
//! none has a value, if a sum, product or function in it has a type that waits for a parameter: `COUNT(DISTINCT a + ?)` is the
//! number of rows, `SUM(DISTINCT a + ?)` NULL. (Measured with 11.3.2; its source has it in `pt_eval_expr_type`.) With the type of
//! its value written around it, such a parameter means what a literal means.

use crate::lexer::Lexer;
use headrace_core::token::{Token, TokenKind};
use std::ops::Range;

/// Functions with such arguments, and the numbers of these.
const FUNCTIONS: [(&str, Range<usize>); 14] = [
    ("if", 1..3),
    ("decode", 0..usize::MAX),
    ("nullif", 0..2),
    // Of a DECIMAL the rest was one of a DOUBLE, or did not fit the digits of the first row's.
    ("mod", 0..2),
    ("greatest", 0..usize::MAX),
    ("least", 0..usize::MAX),
    ("date_add", 0..1),
    ("adddate", 0..1),
    ("date_sub", 0..1),
    ("subdate", 0..1),
    ("ascii", 0..1),
    ("hex", 0..1),
    ("octet_length", 0..1),
    ("bit_length", 0..1),
];

/// Aggregates that sort or compare their arguments, if DISTINCT follows.
const AGGREGATES: [&str; 11] =
    ["count", "sum", "avg", "min", "max", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"];

/// What a token is in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Frame {
    /// Parentheses whose content is something else: of a query, or of another function.
    Other,
    /// Parentheses around an operand, which is what they are in.
    Group { mirrors: bool },
    /// The arguments of a function, of which some are mirrored.
    Arguments { at: usize, mirrored: Range<usize> },
    /// The argument of an aggregate with DISTINCT, or of GROUP_CONCAT, and of the functions in it.
    Sorted,
    /// The elements of a collection in braces.
    Elements,
    /// CASE, in one of its results or not.
    Case { is_result: bool },
}

impl Frame {
    fn mirrors(&self) -> bool {
        match self {
            Self::Other => false,
            Self::Sorted | Self::Elements => true,
            Self::Group { mirrors } => *mirrors,
            Self::Arguments { at, mirrored } => mirrored.contains(at),
            Self::Case { is_result } => *is_result,
        }
    }
}

/// The numbers of a statement's placeholders that are such parameters, and their positions in its text.
pub fn mirrored(sql: &str) -> Vec<(usize, usize)> {
    let (mut found, mut count) = (Vec::new(), 0);
    let mut frames: Vec<Frame> = Vec::new();
    let mut before: Option<Token<'_>> = None;
    let mut tokens = Lexer::new(sql).peekable();
    while let Some(token) = tokens.next() {
        let is = |word: &str, known: &str| word.eq_ignore_ascii_case(known);
        match token.kind {
            TokenKind::Placeholder => {
                if frames.last().is_some_and(Frame::mirrors) {
                    found.push((count, token.start));
                }
                count += 1;
            }
            TokenKind::Punctuation(b'(') => {
                let name = before.as_ref().map_or("", Token::word);
                let next = tokens.peek().map_or("", Token::word);
                let function = FUNCTIONS.iter().find(|(function, _)| is(name, function));
                let is_query = is(next, "select") || is(next, "with");
                let is_distinct = || ["distinct", "distinctrow", "unique"].iter().any(|word| is(next, word));
                let sorts = is(name, "group_concat") || AGGREGATES.iter().any(|known| is(name, known)) && is_distinct();
                let around = frames.iter().rev().find(|frame| matches!(frame, Frame::Other | Frame::Sorted));
                frames.push(match function {
                    _ if !is_query && (sorts || around == Some(&Frame::Sorted)) => Frame::Sorted,
                    Some((_, mirrored)) => Frame::Arguments { at: 0, mirrored: mirrored.clone() },
                    None if is_query || is_name(name) => Frame::Other,
                    None => Frame::Group { mirrors: frames.last().is_some_and(Frame::mirrors) },
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
            TokenKind::Word if before.as_ref().is_some_and(|before| before.is_punctuation(b'.')) => {}
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
        before = Some(token);
    }
    found
}

/// Returns true if a word before parentheses is a name, of a function as a rule, and no operator or part of CASE.
fn is_name(word: &str) -> bool {
    const OPERATORS: [&str; 13] =
        ["case", "when", "then", "else", "and", "or", "xor", "not", "div", "mod", "like", "between", "is"];
    !word.is_empty() && !OPERATORS.iter().any(|operator| word.eq_ignore_ascii_case(operator))
}

/// A statement with the types of the values around the parameters at these places; `None` if there are no types to write.
pub fn with_types(
    sql: &str,
    places: &[(usize, usize)],
    mut type_of: impl FnMut(usize) -> Option<String>,
) -> Option<String> {
    let mut out = String::new();
    let mut from = 0;
    for &(number, at) in places {
        let Some(name) = type_of(number) else { continue };
        out += &sql[from..at];
        out += "CAST(? AS ";
        out += &name;
        out.push(')');
        from = at + 1;
    }
    if from == 0 {
        return None;
    }
    out += &sql[from..];
    Some(out)
}

/// A statement whose parameters of LIMIT are expressions, which mean the same, and so are those that ORDERBY_NUM() and
/// GROUPBY_NUM() are compared with; `None` if it has no such parameter.
///
/// 11.3.2 keeps one plan for `LIMIT ?` and for the same statement with a number, whoever executes that, and executes it
/// with the values of one of them: the other has no rows, or fails with -10024 or -771. It keeps the same one for
/// `FOR ORDERBY_NUM() <= ?` and `HAVING GROUPBY_NUM() <= ?`, which it makes of a LIMIT. The clause has numbers,
/// parameters and operators ("LIMIT Clause", CUBRID manual), so that anything else ends it.
pub fn limits_apart(sql: &str) -> Option<String> {
    let (mut out, mut from) = (String::new(), 0);
    let mut depth = None;
    // After ORDERBY_NUM(): the words BETWEEN and AND belong to it.
    let mut is_compared = false;
    for token in Lexer::new(sql) {
        let is_number = token.is("orderby_num") || token.is("groupby_num");
        if is_number || token.is("limit") {
            (depth, is_compared) = (Some(0), is_number);
            continue;
        }
        let Some(open) = &mut depth else { continue };
        match token.kind {
            TokenKind::Placeholder => {
                out += &sql[from..token.start];
                out += "(?+0)";
                from = token.end();
            }
            TokenKind::Punctuation(b'(') => *open += 1,
            TokenKind::Punctuation(b')') if *open > 0 => *open -= 1,
            TokenKind::Punctuation(b',' | b'+' | b'-' | b'*' | b'/') => {}
            TokenKind::Punctuation(b'<' | b'>' | b'=') if is_compared => {}
            TokenKind::Word if is_compared && (token.is("between") || token.is("and")) => {}
            TokenKind::Word if token.is("offset") || token.text.starts_with(|first: char| first.is_ascii_digit()) => {}
            _ => depth = None,
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
            ("select mod(a, ?), mod(?, b + ?)", &[0, 1, 2]),
            ("select decode(?, 1, ?, ?)", &[0, 1, 2]),
            ("select {?, 1}, nullif(?, '', {fn x(?)}), date_add(?, interval ? day), ?", &[0, 1, 3]),
            ("update t set a = case when b = ? then ? else -(?) end, b = ? where c = ?", &[1, 2]),
            ("select case ? when ? then ? end, ?", &[2]),
            ("select case when a = ? then case b when ? then ? else ? end else (select ? from t) end", &[2, 3]),
            ("select case when a in (?, ?) then coalesce(?, 1) end", &[]),
            (
                "select count(distinct a + ?), sum(Distinct abs(nvl(a, ?) * (?))), count(?), max(a + ?) from t",
                &[0, 1, 2],
            ),
            (
                "select group_concat(a + ? order by 1), avg(unique a / ?) + ? from t having count(distinct ?) > ?",
                &[0, 1, 3],
            ),
            (
                "select count(distinct case when a > ? then round(a * ?) end), if(a > ?, sum(distinct ?), ?) from t",
                &[1, 3, 4],
            ),
            ("select count(distinct (select max(a + ?) from t where f(?) = ?)), count(distinct if(?, b, ?))", &[3, 4]),
            ("select count(distinct a) from t where a + ? = count(?) and distinct(?)", &[]),
            ("insert into t (a, b) values (?, ?)", &[]),
            ("select t.case, ? from t where a.end = ? and x.then = ?", &[]),
            ("select 'case when then ?', \"if\"(?, ?) -- if(1, ?, ?)", &[]),
            ("drop table if exists t", &[]),
            ("select if(1 = 1, ?", &[0]),
            (")) end ) case", &[]),
        ] {
            let numbers: Vec<usize> = mirrored(sql).into_iter().map(|(number, _)| number).collect();
            assert_eq!(numbers, expected, "{sql}");
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
        ] {
            assert_eq!(limits_apart(sql).as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn types_are_written_around_them() {
        let types = |number: usize| [None, Some("DOUBLE".to_owned()), None][number].clone();
        let written = |sql, types: fn(usize) -> Option<String>| with_types(sql, &mirrored(sql), types);
        let typed = written("select if(a = ?, ?, ?) from t", types);
        assert_eq!(typed.as_deref(), Some("select if(a = ?, CAST(? AS DOUBLE), ?) from t"));
        assert_eq!(written("select if(1 = 1, ?, 5), '한'", |_| None), None);
        assert_eq!(written("select ?", |_| Some("DOUBLE".to_owned())), None);
    }

    #[test]
    fn parameters_that_are_cast_are_known_by_the_text() {
        let sql = "insert into t values (CAST(? AS JSON), ?, '? AS JSON)', CAST(? AS JSON), CAST(? AS BIT VARYING))";
        assert_eq!(CastTexts::of(sql), CastTexts { json: vec![0, 2], bits: vec![3] });
        assert_eq!(CastTexts::of("insert into t values (?, 'CAST(? AS JSON)')"), CastTexts::default());
    }
}
