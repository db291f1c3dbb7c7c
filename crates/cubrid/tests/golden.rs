//! Bytes of real conversations with CUBRID 11.3.2: every request is encoded exactly, every reply is decoded to its end.
//!
//! `golden.txt` has a line for each pair: its name, the request and the reply in hexadecimal, the types of the columns
//! of its rows (or the name of the pair that describes them), and the content of the reply.

use headrace_core::CodeSet;
use headrace_cubrid::messages::client::{self, Execute};
use headrace_cubrid::messages::description::{Field, Type};
use headrace_cubrid::messages::login::{self, Answer, Connected, DbInfo};
use headrace_cubrid::messages::server::{self, BatchResults, Executed, Made, NextResult, Page, Prepared};
use headrace_cubrid::messages::{CasInfo, Reader, function, header, statement};
use headrace_cubrid::types::{Decoder, code, columns, decode_page, encode_param};
use headrace_testkit::{TestValue, TextSink, hex, unhex};

struct Pair {
    name: &'static str,
    request: Vec<u8>,
    reply: Vec<u8>,
    types: &'static str,
    content: &'static str,
}

fn pairs() -> Vec<Pair> {
    let pair = |line: &'static str| {
        let [name, request, reply, types, content] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        Pair { name, request: unhex(request), reply: unhex(reply), types, content }
    };
    include_str!("golden.txt").lines().map(pair).collect()
}

fn pair(name: &str) -> Pair {
    pairs().into_iter().find(|pair| pair.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The arguments of a request, read without the code under test.
struct Arguments(Vec<Vec<u8>>);

impl Arguments {
    fn of(mut rest: &[u8]) -> Self {
        let mut arguments = Vec::new();
        while let [a, b, c, d, tail @ ..] = rest {
            let (argument, tail) = tail.split_at(u32::from_be_bytes([*a, *b, *c, *d]) as usize);
            arguments.push(argument.to_vec());
            rest = tail;
        }
        assert!(rest.is_empty(), "{rest:?}");
        Self(arguments)
    }
    fn text(&self, i: usize) -> &[u8] {
        self.0[i].strip_suffix(&[0]).expect("a text ends with NUL")
    }
    fn optional(&self, i: usize) -> Option<&[u8]> {
        (!self.0[i].is_empty()).then(|| self.text(i))
    }
    fn u8(&self, i: usize) -> u8 {
        let [byte] = self.0[i][..] else { panic!("{:?} is not a byte", self.0[i]) };
        byte
    }
    fn i32(&self, i: usize) -> i32 {
        i32::from_be_bytes(self.0[i][..].try_into().expect("a number"))
    }
    fn i64(&self, i: usize) -> i64 {
        i64::from_be_bytes(self.0[i][..].try_into().expect("a number"))
    }
    fn handles(&self, from: usize) -> Vec<i32> {
        (from..self.0.len()).map(|i| self.i32(i)).collect()
    }
    /// The parameters from argument `from` on.
    fn values(&self, from: usize, out: &mut Vec<u8>) {
        for pair in self.0[from..].chunks(2) {
            let [ty, value] = pair else { panic!("a type without a value") };
            match parameter(ty[0], value) {
                Some(value) => drop(encode_param(&value, CodeSet::Utf8, out).expect("a value that can be encoded")),
                // Types that are not sent, because servers convert others to them or refuse them.
                None => {
                    for argument in pair {
                        out.extend_from_slice(&(argument.len() as u32).to_be_bytes());
                        out.extend_from_slice(argument);
                    }
                }
            }
        }
    }
}

/// The value that is sent as these bytes.
fn parameter(ty: u8, value: &[u8]) -> Option<TestValue> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.strip_suffix(&[0]).expect("NUL").to_vec()).expect("UTF-8");
    Some(match ty {
        code::NULL => TestValue::Null,
        code::INT => TestValue::Int(i32::from_be_bytes(value.try_into().ok()?).into()),
        // Those that are too small for a BIGINT are sent as INT.
        code::BIGINT => TestValue::Int(Some(i64::from_be_bytes(value.try_into().ok()?)).filter(|n| *n > 1 << 31)?),
        code::DOUBLE => TestValue::Float(f64::from_be_bytes(value.try_into().ok()?)),
        code::VARCHAR => TestValue::from(text(value)),
        code::VARBIT => TestValue::Bytes(value.to_vec().into()),
        code::SEQUENCE if value == [code::INT] => TestValue::List(Vec::new()),
        code::JSON => TestValue::Json("{\"a\":1}"),
        _ => return None,
    })
}

/// Bytes of the client's first message.
const HELLO_BYTES: usize = 10;

fn encoded(request: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match request {
        [b'C', b'U', b'B', b'R', kind, 1, ..] => {
            login::hello(&mut out, *kind == b'S');
            if let Some(info) = request.get(HELLO_BYTES..).filter(|info| !info.is_empty()) {
                let text = |at: usize| {
                    let text = &info[at..at + 32];
                    std::str::from_utf8(&text[..text.iter().position(|byte| *byte == 0).expect("NUL")]).expect("UTF-8")
                };
                let session = info[608..].try_into().expect("a session");
                let info = DbInfo {
                    database: text(0).as_bytes(),
                    user: text(32).as_bytes(),
                    password: text(64).as_bytes(),
                    session,
                };
                info.write(&mut out).expect("names that fit");
            }
            return out;
        }
        // A client type that brokers do not have, which cannot be asked for.
        [b'C', b'U', b'B', b'R', ..] => return request.to_vec(),
        [b'P', b'I', b'N', b'G', ..] => login::ping(&mut out),
        [b'X', b'1', .., a, b, c, d] => login::cancel(&mut out, i32::from_be_bytes([*a, *b, *c, *d])),
        _ => {}
    }
    if !out.is_empty() {
        return out;
    }
    let (_, info) = header(request).expect("a header").expect("a whole header");
    let a = Arguments::of(&request[9..]);
    match request[8] {
        function::END_TRAN => client::end_tran(&mut out, info, a.u8(0)),
        function::PREPARE => client::prepare(&mut out, info, a.text(0), a.u8(1), a.u8(2) == 1, &a.handles(3)),
        function::EXECUTE => {
            let execute = Execute {
                handle: a.i32(0),
                flags: a.u8(1),
                fetch: a.u8(5) == 1,
                autocommit: a.u8(6) == 1,
                forward_only: a.u8(7) == 1,
                timeout_millis: a.i32(9),
                returned: 0,
            };
            let mut request = execute.begin(&mut out, info);
            a.values(10, request.arguments());
            request.end();
        }
        function::GET_DB_PARAMETER => client::get_db_parameter(&mut out, info, a.i32(0)),
        function::SET_DB_PARAMETER => client::set_db_parameter(&mut out, info, a.i32(0), a.i32(1)),
        function::CURSOR => client::cursor(&mut out, info, a.i32(0), a.i32(1), a.u8(2)),
        function::FETCH => client::fetch(&mut out, info, a.i32(0), a.i32(1)),
        function::SCHEMA_INFO => {
            client::schema_info(&mut out, info, a.i32(0), a.optional(1), a.optional(2), a.u8(3));
        }
        function::NEXT_RESULT => client::next_result(&mut out, info, a.i32(0)),
        function::EXECUTE_BATCH => {
            let texts: Vec<&[u8]> = (2..a.0.len()).map(|i| a.text(i)).collect();
            let mut request = client::execute_batch(&mut out, info, a.i32(1), a.u8(0) == 1);
            texts.iter().for_each(|text| client::put_text(text, request.arguments()));
            request.end();
        }
        function::EXECUTE_ARRAY => {
            let mut request = client::execute_array(&mut out, info, a.i32(0), a.i32(1), a.u8(2) == 1);
            a.values(3, request.arguments());
            request.end();
        }
        function::SAVEPOINT => client::savepoint(&mut out, info, a.u8(0), a.text(1)),
        function::PARAMETER_INFO | function::CURSOR_CLOSE => client::of_handle(&mut out, info, request[8], a.i32(0)),
        function::CHECK_CAS => client::check_cas_text(&mut out, info, a.text(0)),
        function::LOB_NEW => client::lob_new(&mut out, info, a.i32(0)),
        function::LOB_READ => client::lob_read(&mut out, info, &a.0[0], a.i64(1), a.i32(2)),
        function::PREPARE_AND_EXECUTE => {
            assert_eq!(a.i32(0), 3);
            let flags = (a.u8(2), a.u8(4));
            client::prepare_and_execute(&mut out, info, a.text(1), flags, a.u8(3) == 1, a.i32(9), &[]);
        }
        function::SET_CAS_CHANGE_MODE => client::set_cas_change_mode(&mut out, info, a.i32(0)),
        other => {
            assert!(a.0.is_empty(), "function {other} with arguments");
            client::plain(&mut out, info, other);
        }
    }
    out
}

#[test]
fn every_request_is_encoded_exactly() {
    let pairs = pairs();
    assert_eq!(pairs.len(), 120);
    for pair in pairs {
        assert_eq!(hex(&encoded(&pair.request)), hex(&pair.request), "{}", pair.name);
    }
}

/// The fields of types in hexadecimal, or of the reply of another pair.
fn fields(types: &str) -> Vec<Field> {
    let Some(name) = types.strip_prefix('@') else {
        let field = |ty| Field { ty: Type::read(&mut Reader::new(&unhex(ty))).expect("a type"), ..Field::default() };
        return types.split(' ').filter(|ty| !ty.is_empty()).map(field).collect();
    };
    let described = pair(name);
    let mut reader = Reader::new(&described.reply[8..]);
    match described.request[8] {
        function::PREPARE => Prepared::read(&mut reader).expect("a description").fields,
        function::NEXT_RESULT => NextResult::read(&mut reader).expect("a description").fields,
        function => panic!("{name}: function {function}"),
    }
}

fn rows(reader: &mut Reader<'_>, fields: &[Field], with_end: bool) -> String {
    let page = Page::read(reader).expect("a page");
    let decoders: Vec<Decoder> = fields.iter().map(|field| Decoder::new(field.ty)).collect();
    let mut sink = TextSink::default();
    decode_page(&decoders, page.count, reader, &mut sink).expect("rows");
    let lines: Vec<String> = sink.take().iter().map(|row| row.join(",")).collect();
    let end = if with_end { Page::read_end(reader).expect("the end of a page") } else { true };
    format!("rows [{}]{}", lines.join("; "), if end { "" } else { " and more" })
}

fn described(fields: &[Field]) -> String {
    let columns = columns(fields);
    let shown = columns.iter().zip(fields).map(|(column, field)| {
        let flags = [
            (field.is_non_null, " not null"),
            (field.is_primary, " primary key"),
            (field.is_unique, " unique"),
            (field.is_auto_increment, " auto_increment"),
        ];
        let flags: String = flags.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        let class = if field.class.is_empty() { String::new() } else { format!(" of {}", field.class) };
        let ty = headrace_cubrid::types::type_name(field.ty);
        format!("{} {ty}({},{}){class}{flags}", column.name, field.precision, field.scale)
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn prepared(reader: &mut Reader<'_>) -> (String, Prepared) {
    let prepared = Prepared::read(reader).expect("a description");
    let name = statement::name(prepared.statement_type).unwrap_or("?");
    let columns = described(&prepared.fields);
    (format!("#{} {name} of {} parameters: {columns}", prepared.handle, prepared.parameters), prepared)
}

fn executed(reader: &mut Reader<'_>) -> (String, Executed) {
    let executed = Executed::read(reader).expect("a result");
    let name = |ty| statement::name(ty).unwrap_or("?");
    let results: Vec<String> =
        executed.results.iter().map(|result| format!("{} {}", name(result.statement_type), result.count)).collect();
    let again = if executed.described.is_some() { ", described again" } else { "" };
    (format!("{} by {}{again}", executed.count, results.join(" and ")), executed)
}

fn batch(reader: &mut Reader<'_>, typed: bool) -> String {
    let results = BatchResults::read(reader, typed).expect("results");
    let item = |item: &server::BatchItem| match &item.result {
        Ok(count) => count.to_string(),
        Err(error) => format!("error {}", error.code),
    };
    results.items.iter().map(item).collect::<Vec<_>>().join(", ")
}

fn decoded(pair: &Pair) -> String {
    let is_frame = pair.request[0] == 0;
    let mut reply = &pair.reply[..];
    if !is_frame {
        let answer = Answer::read(reply).expect("an answer").expect("a whole answer");
        reply = &reply[login::ANSWER_BYTES..];
        if reply.is_empty() {
            return format!("{answer:?}");
        }
        assert_eq!(answer, Answer::Accepted);
    }
    let (length, info) = header(reply).expect("a header").expect("a whole header");
    let payload = &reply[8..];
    assert_eq!(length, payload.len(), "{}", pair.name);
    assert_eq!(info, CasInfo::from_bytes(reply[4..8].try_into().expect("four bytes")));
    if !is_frame {
        return match Connected::read(Reader::new(payload)) {
            Ok(connected) => format!("{}", connected.expect_err("no successful login is among the pairs")),
            // The answer to a health check is empty.
            Err(fatal) => fatal.to_string(),
        };
    }
    if let Some(error) = server::ServerError::read(Reader::new(payload)).expect("an error or none") {
        return error.to_string();
    }
    let mut reader = Reader::new(payload);
    let reader = &mut reader;
    let text = match pair.request[8] {
        function::PREPARE => prepared(reader).0,
        function::EXECUTE => {
            let (text, _) = executed(reader);
            let rows = (!reader.rest().is_empty()).then(|| rows(reader, &fields(pair.types), true));
            rows.map_or(text.clone(), |rows| format!("{text}, {rows}"))
        }
        function::PREPARE_AND_EXECUTE => {
            let (first, described) = prepared(reader);
            let (second, _) = executed(reader);
            let rows = (!reader.rest().is_empty()).then(|| rows(reader, &described.fields, true));
            [Some(first), Some(second), rows].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        function::FETCH => rows(reader, &fields(pair.types), true),
        function::EXECUTE_ARRAY => batch(reader, false),
        function::EXECUTE_BATCH => batch(reader, true),
        function::NEXT_RESULT => {
            let next = NextResult::read(reader).expect("a result");
            format!(
                "{} {}: {}",
                next.count,
                statement::name(next.statement_type).unwrap_or("?"),
                described(&next.fields)
            )
        }
        function::SCHEMA_INFO => {
            let info = Made::schema_info(reader).expect("a result");
            format!("#{} {} rows: {}", info.handle, info.count, described(&info.fields))
        }
        function::PARAMETER_INFO => {
            let infos = server::parameter_info(reader).expect("parameters");
            let info = |info: &server::ParameterInfo| {
                let ty = headrace_cubrid::types::type_name(info.ty);
                format!("{} {ty}({},{})", info.mode, info.precision, info.scale)
            };
            infos.iter().map(info).collect::<Vec<_>>().join(", ")
        }
        function::GET_LAST_INSERT_ID => {
            let (ty, value) = server::last_insert_id(reader).expect("a cell").expect("not NULL");
            format!(
                "{} {}",
                headrace_cubrid::types::type_name(ty),
                String::from_utf8_lossy(value).trim_end_matches('\0')
            )
        }
        function::LOB_NEW | function::LOB_READ => format!("{} bytes", server::bytes(reader).expect("bytes").len()),
        function::GET_DB_PARAMETER | function::GET_ROW_COUNT | function::CURSOR | function::SET_CAS_CHANGE_MODE => {
            server::number(reader).expect("a number").to_string()
        }
        function::CHECK_CAS | function::CURSOR_CLOSE => "nothing".into(),
        _ => format!("result {}", server::result(reader).expect("a result")),
    };
    reader.end().unwrap_or_else(|fatal| panic!("{}: {fatal}", pair.name));
    text
}

#[test]
fn every_reply_is_decoded_to_its_end() {
    for pair in pairs() {
        assert_eq!(decoded(&pair).replace('\n', " "), pair.content, "{}", pair.name);
    }
}

#[test]
fn every_reply_that_is_cut_is_refused_or_decoded_without_a_panic() {
    for pair in pairs().iter().filter(|pair| pair.request[0] == 0) {
        for cut in 8..pair.reply.len() {
            let payload = &pair.reply[8..cut];
            let mut reader = Reader::new(payload);
            let _ = server::ServerError::read(Reader::new(payload));
            let whole = match pair.request[8] {
                function::PREPARE => Prepared::read(&mut reader).is_ok(),
                function::EXECUTE => Executed::read(&mut reader).is_ok() && reader.rest().is_empty(),
                function::SCHEMA_INFO => Made::schema_info(&mut reader).is_ok(),
                function::NEXT_RESULT => NextResult::read(&mut reader).is_ok(),
                function::EXECUTE_ARRAY => BatchResults::read(&mut reader, false).is_ok(),
                function::EXECUTE_BATCH => BatchResults::read(&mut reader, true).is_ok(),
                function::PARAMETER_INFO => server::parameter_info(&mut reader).is_ok(),
                _ => continue,
            };
            // The rows of EXECUTE come after a complete reply without them.
            assert!(!whole || pair.request[8] == function::EXECUTE, "{} cut at {cut}", pair.name);
        }
    }
}
