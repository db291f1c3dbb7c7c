//! Arrays, ranges and composite values in text form.
//!
//! Each is parsed as a whole before the sink receives its first part, so that malformed text leaves no container open
//! in the sink.

use crate::types::decode::{CompositePlan, Decoder};
use headrace_core::{Container, Sink};

/// int2vector and oidvector: numbers with blanks between them.
pub fn vector<S: Sink>(body: &[u8], sink: &mut S) -> Option<()> {
    let text = std::str::from_utf8(body).ok()?;
    let numbers: Vec<i64> = text.split_ascii_whitespace().map(|n| n.parse().ok()).collect::<Option<_>>()?;
    sink.begin(Container::List, numbers.len());
    numbers.into_iter().for_each(|number| sink.int(number));
    sink.end();
    Some(())
}

/// One part of a range or composite in text form, up to one of `ends`, and the position of that. `None` for an empty
/// part that is not quoted: NULL, or no bound.
#[allow(clippy::type_complexity)]
fn part(body: &[u8], mut at: usize, ends: &[u8]) -> Option<(Option<Vec<u8>>, usize)> {
    let mut value = Vec::new();
    let (mut quoted, mut is_null) = (false, true);
    loop {
        let byte = *body.get(at)?;
        if !quoted && ends.contains(&byte) {
            return Some((Some(value).filter(|_| !is_null), at));
        }
        is_null = false;
        match byte {
            b'"' if quoted && body.get(at + 1) == Some(&b'"') => {
                value.push(byte);
                at += 1;
            }
            b'"' => quoted = !quoted,
            b'\\' => {
                at += 1;
                value.push(*body.get(at)?);
            }
            _ => value.push(byte),
        }
        at += 1;
    }
}

/// `[1,5)`, `(,5]`, `empty`
pub fn range<S: Sink>(bound: &Decoder, body: &[u8], sink: &mut S) -> Option<()> {
    let end = one_range(bound, body, 0, sink)?;
    (end == body.len()).then_some(())
}

/// The range that begins at `at`, passed to the sink once it is complete; returns the position of its end.
fn one_range<S: Sink>(bound: &Decoder, body: &[u8], at: usize, sink: &mut S) -> Option<usize> {
    if body[at..].starts_with(b"empty") {
        let nothing =
            Container::Range { empty: true, has_lower: false, has_upper: false, lower_inc: false, upper_inc: false };
        sink.begin(nothing, 0);
        sink.end();
        return Some(at + 5);
    }
    let lower_inc = match body.get(at)? {
        b'[' => true,
        b'(' => false,
        _ => return None,
    };
    let (lower, comma) = part(body, at + 1, b",")?;
    let (upper, end) = part(body, comma + 1, b")]")?;
    let container = Container::Range {
        empty: false,
        has_lower: lower.is_some(),
        has_upper: upper.is_some(),
        lower_inc,
        upper_inc: body[end] == b']',
    };
    sink.begin(container, usize::from(lower.is_some()) + usize::from(upper.is_some()));
    for value in [lower, upper].iter().flatten() {
        bound.decode(value, sink);
    }
    sink.end();
    Some(end + 1)
}

/// `{[1,3),[5,7)}`
pub fn multirange<S: Sink>(inner: &Decoder, body: &[u8], sink: &mut S) -> Option<()> {
    let Decoder::ParseRange(bound) = inner else { return None };
    let inside = body.strip_prefix(b"{")?.strip_suffix(b"}")?;
    // The ends are found first, so that the sink never sees half of a multirange.
    let (mut starts, mut at) = (Vec::new(), 0);
    while at < inside.len() {
        if !matches!(inside[at], b'[' | b'(') {
            return None;
        }
        starts.push(at);
        let (_, comma) = part(inside, at + 1, b",")?;
        let (_, end) = part(inside, comma + 1, b")]")?;
        at = match inside.get(end + 1) {
            None => inside.len(),
            Some(b',') => end + 2,
            Some(_) => return None,
        };
    }
    sink.begin(Container::Multirange, starts.len());
    for start in starts {
        one_range(bound, inside, start, sink)?;
    }
    sink.end();
    Some(())
}

/// `(1,"a b",)`
pub fn composite<S: Sink>(plan: &CompositePlan, body: &[u8], sink: &mut S) -> Option<()> {
    let mut values = Vec::new();
    let mut at = 0;
    if body == b"()" {
        // No attribute at all, or one that is NULL.
        at = 1;
        if !plan.is_empty() {
            values.push(None);
        }
    }
    while body.get(at) != Some(&b')') || at == 0 {
        let (value, end) = part(body, at + 1, b",)")?;
        values.push(value);
        at = end;
    }
    if at + 1 != body.len() || (body[0] != b'(') {
        return None;
    }
    let Some(decoders) = plan.attributes(values.len()) else {
        sink.invalid(
            "the server sent a composite value of another number of attributes than its type had: the type has changed; \
             execute the statement again",
        );
        return Some(());
    };
    sink.begin(plan.container(true), values.len());
    for (decoder, value) in decoders.zip(&values) {
        match value {
            Some(value) => decoder.decode(value, sink),
            None => sink.null(),
        }
    }
    sink.end();
    Some(())
}

/// An array in text form: `{1,NULL,"a \"b\""}`, `{{1},{2}}`, `[0:1]={1,2}`.
pub fn array<S: Sink>(element: &Decoder, separator: u8, body: &[u8], sink: &mut S) -> Option<()> {
    let start = if body.first() == Some(&b'[') { body.iter().position(|b| *b == b'=').map_or(0, |i| i + 1) } else { 0 };
    for token in &tokens(&body[start..], separator)? {
        match token {
            Token::Open(len) => sink.begin(Container::List, *len),
            Token::Close => sink.end(),
            Token::Null => sink.null(),
            Token::Value(value) => element.decode(value, sink),
        }
    }
    Some(())
}

enum Token {
    Open(usize),
    Close,
    Null,
    Value(Vec<u8>),
}

/// The tokens of a well-formed array, or nothing: so that a sink never sees half of one.
fn tokens(body: &[u8], separator: u8) -> Option<Vec<Token>> {
    let mut out = Vec::new();
    let mut depth = 0usize;
    let mut i = 0;
    while i < body.len() {
        match body[i] {
            b'{' => {
                depth += 1;
                if depth > 6 {
                    return None;
                }
                out.push(Token::Open(0));
                i += 1;
            }
            b'}' => {
                depth = depth.checked_sub(1)?;
                out.push(Token::Close);
                i += 1;
            }
            c if c == separator => i += 1,
            b'"' => {
                let mut value = Vec::new();
                i += 1;
                loop {
                    match *body.get(i)? {
                        b'"' => break,
                        b'\\' => {
                            value.push(*body.get(i + 1)?);
                            i += 2;
                        }
                        byte => {
                            value.push(byte);
                            i += 1;
                        }
                    }
                }
                i += 1;
                out.push(Token::Value(value));
            }
            _ => {
                let end = body[i..].iter().position(|b| *b == separator || *b == b'}')? + i;
                let word = &body[i..end];
                out.push(if word == b"NULL" { Token::Null } else { Token::Value(word.to_vec()) });
                i = end;
            }
        }
        if depth == 0 && i < body.len() {
            return None;
        }
    }
    (depth == 0 && !out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::builtin::Scalar;

    #[test]
    fn a_malformed_multirange_leaves_nothing_open() {
        for text in ["{!){,1!)}", "{empty,1)}", "{[1,2),x,3)}"] {
            let mut sink = headrace_testkit::CheckedSink::default();
            let inner = Decoder::ParseRange(Box::new(Decoder::Parse(Scalar::Int4)));
            assert_eq!((multirange(&inner, text.as_bytes(), &mut sink), sink.depth), (None, 0), "{text}");
        }
    }
}
