//! What neither a client nor a server should send.

use crate::relay::Pair;
use headrace_daemon::postgres::relay::Refused;
use headrace_daemon::postgres::relay::RelayStep;
use headrace_daemon::postgres::statements::Catalog;
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::frontend as client;
use std::sync::Arc;

#[test]
fn what_no_client_sends_is_refused() {
    for bytes in [&b"z\0\0\0\x04"[..], b"Q\0\0\0\x03", b"P\0\0\0\x05a", b"B\0\0\0\x05a", b"D\0\0\0\x04"] {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        assert!(matches!(pair.client(bytes), Err(Refused::Malformed(_))), "{bytes:?}");
    }
    let mut pair = Pair::new(&Arc::new(Catalog::default()));
    assert!(matches!(pair.client(b"Q\x10\0\0\0"), Err(Refused::TooLarge(_))));
    assert_eq!(client::TERMINATE, b'X');
    assert_eq!(Pair::new(&Arc::new(Catalog::default())).client(b"X\0\0\0\x04"), Ok(RelayStep::Terminate));
}

/// Numbers that are the same in each run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Whatever both sides send, in whatever order and pieces, the relay goes on or refuses: it neither panics nor waits for
/// itself.
#[test]
fn nonsense_of_both_sides_is_passed_on_or_refused() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let tags: Vec<u8> = b"BCDEFHPQSXcdf".to_vec();
    let answers: Vec<u8> = b"123CDEGHIKNSTWZdnst".to_vec();
    for _ in 0..2000 {
        let mut pair = Pair::new(&Arc::new(Catalog::default()));
        let mut alive = true;
        for _ in 0..40 {
            let mut bytes = Vec::new();
            let from_client = numbers.below(2) == 0;
            let tag = if from_client { tags[numbers.below(tags.len())] } else { answers[numbers.below(answers.len())] };
            let body: Vec<u8> = (0..numbers.below(12)).map(|_| b"S\0a\0P1I"[numbers.below(7)]).collect();
            frontend::message(&mut bytes, tag, |out| out.extend_from_slice(&body));
            if numbers.below(8) == 0 {
                let at = numbers.below(bytes.len());
                bytes[at] ^= 1 << numbers.below(8);
            }
            for piece in bytes.chunks(1 + numbers.below(9)) {
                if from_client {
                    alive &= pair.client(piece) == Ok(RelayStep::Wait);
                } else {
                    pair.from_server.extend(piece);
                    let (input, server, output) = (&mut pair.from_server, &mut pair.server, &mut pair.to_client);
                    alive &= pair.relay.from_server(input, server, output).is_ok();
                }
            }
            pair.sent();
            pair.told();
            if !alive {
                break;
            }
        }
    }
}
