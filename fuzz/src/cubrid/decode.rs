//! Any bytes into every CUBRID decoder: no panic, no unbounded memory, and a row that is taken is taken whole.

use headrace_core::run::Grid;
use headrace_cubrid::lexer;
use headrace_cubrid::messages::description::{Collection, Type};
use headrace_cubrid::messages::login::{Answer, Connected};
use headrace_cubrid::messages::server::{
    self, BatchResults, Executed, GeneratedKeys, Made, NextResult, Prepared, ServerError,
};
use headrace_cubrid::messages::{Reader, header};
use headrace_cubrid::types::decode::find_cells;
use headrace_cubrid::types::{Decoder, decode_row, zone};
use headrace_testkit::CheckedSink;

const COLLECTIONS: [Collection; 4] = [Collection::None, Collection::Set, Collection::Multiset, Collection::Sequence];

/// Gives the input to every decoder.
pub fn decode(data: &[u8]) {
    let [code, choice, rest @ ..] = data else { return };
    let ty = Type { collection: COLLECTIONS[usize::from(choice & 3)], charset: choice >> 2 & 7, code: *code };
    for count in 1..=2 {
        let (mut sink, mut row, mut cells) = (CheckedSink::default(), Reader::new(rest), Reader::new(rest));
        let decoded = decode_row(&[Decoder::new(ty); 2][..count], &mut row, &mut sink);
        let found = find_cells(count, &mut cells, &mut Grid::new(count));
        assert_eq!(decoded.is_ok(), found.is_ok(), "one way to read a row takes it, the other does not");
        assert!(decoded.is_err() || row.rest() == cells.rest());
        assert_eq!(sink.depth, 0, "a container was left open");
    }
    let _ = Answer::read(rest);
    let _ = header(rest);
    let _ = Connected::read(Reader::new(rest));
    let _ = ServerError::read(Reader::new(rest));
    let _ = Prepared::read(&mut Reader::new(rest));
    let _ = Executed::read(&mut Reader::new(rest));
    let _ = NextResult::read(&mut Reader::new(rest));
    let _ = Made::schema_info(&mut Reader::new(rest));
    let _ = Made::out_rs(&mut Reader::new(rest));
    let _ = GeneratedKeys::read(&mut Reader::new(rest));
    let _ = BatchResults::read(&mut Reader::new(rest), choice & 1 == 1);
    let _ = server::parameter_info(&mut Reader::new(rest));
    let _ = server::last_insert_id(&mut Reader::new(rest));
    let _ = server::bytes(&mut Reader::new(rest));
    let text = String::from_utf8_lossy(rest);
    let _ = lexer::placeholders(&text);
    let _ = (lexer::is_several(&text), lexer::Facts::of(&text));
    let _ = zone::offset(&text, i64::from(*code) << 48);
}
