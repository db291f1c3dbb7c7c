//! Bytes made at random, and pieces of what clients send, as the fuzz target `daemon_front` reads them.

#[path = "support/any_bytes.rs"]
mod reading;

const INPUTS: u64 = 3_000;
/// Of messages and statements that get far.
const WORDS: [&[u8]; 16] = [
    b"P",
    b"B",
    b"D",
    b"E",
    b"S",
    b"Q",
    b"C",
    b"begin",
    b"select $1::int",
    b"\0",
    b"1",
    b"2",
    b"Z",
    b"T",
    b"'",
    b"deallocate ",
];

#[test]
fn any_bytes_are_read_without_a_panic() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..INPUTS {
        let mut data = Vec::new();
        for _ in 0..next(24) {
            match next(3) {
                0 => data.push(next(256) as u8),
                1 => data.extend_from_slice(WORDS[next(WORDS.len())]),
                // The length that the next message has.
                _ => data.push((next(8) | next(2) << 7) as u8),
            }
        }
        reading::read(&data);
    }
}
