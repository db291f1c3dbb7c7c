//! Expressions and queries as the server writes them: the names of result columns, and the texts of errors.

use super::ast::*;
use crate::types::Type;

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn joined<T>(all: &[T], print: impl Fn(&T) -> String) -> String {
    all.iter().map(print).collect::<Vec<_>>().join(", ")
}

fn order(items: &[Order]) -> String {
    joined(items, |item| {
        let nulls = match item.nulls_first {
            Some(true) => "nulls first ",
            Some(false) => "nulls last ",
            None => "",
        };
        format!("{}{}{nulls}", expression(&item.value), if item.descending { " desc " } else { "" })
    })
}

/// An expression.
pub fn expression(expr: &Expr) -> String {
    match expr {
        Expr::Null => "null".into(),
        Expr::Default => "default".into(),
        Expr::Truth(truth) => u8::from(*truth).to_string(),
        Expr::Integer(text) | Expr::Decimal(text) | Expr::Float(text) => text.clone(),
        Expr::Text(text) => quoted(text),
        Expr::National(text) => format!("N{}", quoted(text)),
        Expr::Bits(letter, digits) => format!("{letter}'{digits}'"),
        Expr::Typed(ty, text) => format!("{} {}", Type::of(*ty).base_name(), quoted(text)),
        Expr::Parameter(_) => "?".into(),
        Expr::Name(None, name) => name.clone(),
        Expr::Name(Some(table), name) => format!("{table}.{name}"),
        Expr::Star(None) => "*".into(),
        Expr::Star(Some(table)) => format!("{table}.*"),
        Expr::Negative(value) => format!("-{}", operand(value, 9)),
        Expr::Not(value) => format!("not {}", operand(value, 3)),
        Expr::OtherBits(value) => format!("~{}", operand(value, 9)),
        Expr::Binary(operator, left, right) => {
            let word = match *operator {
                "%" => " mod ".to_owned(),
                "and" | "or" | "xor" | "div" => format!(" {operator} "),
                operator => operator.to_owned(),
            };
            let level = precedence(operator);
            format!("{}{word}{}", operand(left, level), operand(right, level + 1))
        }
        Expr::IsNull(value, not) => format!("{} is {}null", expression(value), if *not { "not " } else { "" }),
        Expr::Between(value, not, low, high) => format!(
            "{}{} between {} and {}",
            expression(value),
            if *not { " not" } else { "" },
            expression(low),
            expression(high)
        ),
        Expr::In(value, not, all) if matches!(&all[..], [Expr::Set(..)]) => {
            format!("{}{} in {}", expression(value), if *not { " not" } else { "" }, expression(&all[0]))
        }
        Expr::In(value, not, all) => {
            format!(
                "{}{} in multiset{{{}}}",
                expression(value),
                if *not { " not" } else { "" },
                joined(all, expression)
            )
        }
        Expr::InQuery(value, not, inner) => {
            format!("{}{} in ({})", expression(value), if *not { " not" } else { "" }, query(inner))
        }
        Expr::Quantified(value, operator, all, inner) => {
            format!("{}{operator}{}({})", expression(value), if *all { "all" } else { "some" }, query(inner))
        }
        Expr::Like(value, not, pattern, escape, word) => {
            let escape = escape.as_ref().map_or(String::new(), |escape| format!(" escape {}", expression(escape)));
            let not = if *not { " not" } else { "" };
            format!("{}{not} {word} {}{escape}", expression(value), expression(pattern))
        }
        Expr::Exists(inner) => format!("exists ({})", query(inner)),
        Expr::Query(inner) => format!("({})", query(inner)),
        Expr::Case(value, whens, otherwise) => {
            let value = value.as_ref().map_or(String::new(), |value| format!("{} ", expression(value)));
            let whens: String = whens
                .iter()
                .map(|(when, then)| format!("when {} then {} ", expression(when), expression(then)))
                .collect();
            let otherwise = otherwise.as_ref().map_or(String::new(), |it| format!("else {} ", expression(it)));
            format!("case {value}{whens}{otherwise}end")
        }
        Expr::Cast(value, ty) => format!("cast({} as {})", expression(value), ty.name()),
        Expr::Call(call) => call_text(call),
        Expr::Set(kind, elements) => {
            let word = match kind {
                0x20 => "set",
                0x40 => "multiset",
                0x60 => "sequence",
                _ => "",
            };
            format!("{word}{{{}}}", joined(elements, expression))
        }
        Expr::Variable(name) => format!("@{name}"),
        Expr::Assign(name, value) => format!("@{name} := {}", expression(value)),
        Expr::Extract(unit, value) => format!("extract({unit}  from {})", expression(value)),
        Expr::Interval(count, unit) => format!("INTERVAL {} {}", expression(count), unit.to_uppercase()),
        Expr::Row(all) => format!("({})", joined(all, expression)),
        Expr::Contains(word, left, right) => format!("{} {word} {}", expression(left), expression(right)),
    }
}

fn precedence(operator: &str) -> u8 {
    match operator {
        "or" => 1,
        "xor" => 2,
        "and" => 3,
        "|" | "&" | "<<" | ">>" => 6,
        "+" | "-" | "||" => 7,
        "*" | "/" | "%" | "div" => 8,
        _ => 5,
    }
}

fn operand(expr: &Expr, level: u8) -> String {
    match expr {
        Expr::Binary(operator, ..) if precedence(operator) < level => format!("({})", expression(expr)),
        Expr::Integer(text) | Expr::Decimal(text) | Expr::Float(text) if level == 9 && text.starts_with('-') => {
            format!("({text})")
        }
        expr => expression(expr),
    }
}

fn call_text(call: &Call) -> String {
    let arguments = joined(&call.arguments, expression);
    if call.bare {
        return match call.name.as_str() {
            "sysdate" | "sys_date" | "curdate" => "SYS_DATE ".into(),
            "systime" | "sys_time" | "curtime" => "SYS_TIME ".into(),
            "systimestamp" | "sys_timestamp" => "SYS_TIMESTAMP ".into(),
            "sysdatetime" | "sys_datetime" => "SYS_DATETIME ".into(),
            "current_date" => "CURRENT_DATE ".into(),
            "current_time" => "CURRENT_TIME ".into(),
            "current_timestamp" => "CURRENT_TIMESTAMP ".into(),
            "current_datetime" => "CURRENT_DATETIME ".into(),
            "rownum" => "rownum".into(),
            "current_user" | "user" => "CURRENT_USER".into(),
            name => name.to_owned(),
        };
    }
    match call.name.as_str() {
        "trim" => {
            let sought = if call.arguments.len() > 1 { expression(&call.arguments[1]) } else { String::new() };
            format!("trim({} {sought} from {})", call.word, expression(&call.arguments[0]))
        }
        "position" if call.arguments.len() == 2 => {
            format!("position({} in {})", expression(&call.arguments[0]), expression(&call.arguments[1]))
        }
        "substring" => {
            let rest: String = call.arguments[1..]
                .iter()
                .zip([" from ", " for "])
                .map(|(argument, word)| format!("{word}{}", expression(argument)))
                .collect();
            format!("substring({}{rest})", expression(&call.arguments[0]))
        }
        "round" | "trunc" if call.arguments.len() == 1 => format!("{}({arguments}, 0)", call.name),
        "last_insert_id" => "last_insert_id() ".to_owned(),
        "serial_next_value" | "serial_current_value" => {
            let serial = match call.arguments.first() {
                Some(Expr::Text(serial)) => serial.clone(),
                _ => arguments,
            };
            let count = if call.name == "serial_next_value" { ", 1" } else { "" };
            format!("{}({serial}{count})", call.name)
        }
        "instr" if call.arguments.len() == 2 => format!("instr({arguments}, 1)"),
        "chr" => format!("chr({arguments} using utf8)"),
        name => {
            let arguments = if call.star { "*".to_owned() } else { arguments };
            let distinct = if call.distinct { "distinct " } else { "" };
            let over = call.over.as_ref().map_or(String::new(), |window| {
                let partition = if window.partition.is_empty() {
                    String::new()
                } else {
                    format!("partition by {} ", joined(&window.partition, expression))
                };
                let by =
                    if window.order.is_empty() { String::new() } else { format!("order by {}", order(&window.order)) };
                format!(" over ({partition}{by})")
            });
            let by = if call.order.is_empty() { String::new() } else { format!(" order by {}", order(&call.order)) };
            let separator =
                call.separator.as_ref().map_or(String::new(), |text| format!(" separator {}", expression(text)));
            format!("{name}({distinct}{arguments}{by}{separator}){over}")
        }
    }
}

/// A query.
pub fn query(query: &Query) -> String {
    let mut text = body(&query.body);
    if !query.order.is_empty() {
        text += &format!(" order by {}", order(&query.order));
    }
    match &query.limit {
        Some((Some(offset), count)) => text += &format!(" limit {}, {}", expression(offset), expression(count)),
        Some((None, count)) => text += &format!(" limit {}", expression(count)),
        None => {}
    }
    text
}

fn body(part: &Body) -> String {
    match part {
        Body::Select(it) => select(it),
        Body::Both(operator, all, left, right) => {
            let all = if *all { " all" } else { "" };
            format!("({}) {}{all} ({})", body(left), operator.to_lowercase(), body(right))
        }
        Body::Values(rows) => format!("values {}", joined(rows, |row| format!("({})", joined(row, expression)))),
        Body::Query(inner) => query(inner),
    }
}

fn select(select: &Select) -> String {
    let items = joined(&select.items, |(value, alias)| match alias {
        Some(alias) => format!("{} as [{alias}]", expression(value)),
        None => expression(value),
    });
    let mut text = format!("select {}{items}", if select.distinct { "distinct " } else { "" });
    for (index, item) in select.from.iter().enumerate() {
        let join = match item.join {
            "" if index == 0 => " from ".to_owned(),
            "" => ", ".to_owned(),
            join => format!(" {} ", join.to_lowercase().replace("left", "left outer").replace("right", "right outer")),
        };
        let source = match &item.source {
            Source::Table(name) => format!("[dba.{name}]"),
            Source::Query(inner) => format!("({})", query(inner)),
        };
        let alias = item.alias.as_ref().map_or(String::new(), |alias| format!(" [{alias}]"));
        text += &format!("{join}{source}{alias}");
        if let Some(on) = &item.on {
            text += &format!(" on {}", expression(on));
        }
    }
    if let Some(condition) = &select.condition {
        text += &format!(" where {}", expression(condition));
    }
    if !select.group.is_empty() {
        text += &format!(" group by {}", order(&select.group));
    }
    if let Some(having) = &select.having {
        text += &format!(" having {}", expression(having));
    }
    text
}
