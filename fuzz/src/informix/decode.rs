//! Any bytes into every Informix decoder: no panic, no unbounded memory, and a row that is taken is taken whole.

use headrace_informix::capabilities::{Capabilities, OFFER};
use headrace_informix::codeset::CodeSet;
use headrace_informix::lexer;
use headrace_informix::messages::login;
use headrace_informix::messages::server::{self, Field};
use headrace_informix::types::decode::descriptors;
use headrace_informix::types::{Decoder, decode_row};
use headrace_testkit::CheckedSink;

const LOCALES: [&str; 4] = ["en_US.utf8", "en_US.819", "ja_JP.sjis", "ko_KR.ksc"];

/// Gives the input to every decoder.
pub fn decode(data: &[u8]) {
    let [type_code, flags, extended, high, low, choice, rest @ ..] = data else { return };
    let mask: &[u8] = if choice & 1 == 0 { &[0xff; 9] } else { &[0; 9] };
    let capabilities = Capabilities::negotiate(&OFFER, mask);
    let codeset = CodeSet::of_locale(LOCALES[usize::from(choice >> 1) % 4]).unwrap_or(CodeSet::Latin1);
    let field = Field {
        type_word: u16::from_be_bytes([*flags, *type_code]),
        extended_id: i32::from(*extended),
        source_type: i32::from(*extended),
        length: i32::from(u16::from_be_bytes([*high, *low])),
        ..Field::default()
    };
    let decoders = [Decoder::new(&field, capabilities), Decoder::new(&field, capabilities)];
    for count in 1..=2 {
        let large = [b"large".as_slice(), &[0xff, 0], b""];
        let mut sink = CheckedSink::default();
        if decode_row(&decoders[..count], codeset, rest, &mut large.into_iter(), &mut sink).is_ok() {
            assert!(
                descriptors(&decoders[..count], rest).is_ok(),
                "one way to read a row takes it, the other does not"
            );
        }
        assert_eq!(sink.depth, 0, "a container was left open");
    }
    let _ = headrace_informix::types::name(field.type_word, "", field.length);
    let mut at = 0;
    while let Ok((_, used)) = server::read(&rest[at..], capabilities, codeset) {
        assert!(used > 0 && at + used <= rest.len());
        at += used;
    }
    if let Ok(Some(total)) = login::length(rest)
        && let Some(packet) = rest.get(..total)
    {
        let _ = login::answer(packet);
    }
    let text = codeset.decode_string(rest);
    let _ = lexer::count(&text);
    let _ = lexer::placeholders(&text);
}
