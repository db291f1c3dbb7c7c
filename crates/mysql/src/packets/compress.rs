//! Compressed packets: runs of ordinary packets, deflated, after a header of their own. MySQL: "Compressed Packet
//! Header"; MariaDB: "0-packet, Compressed packet".
//!
//! Every command starts a compressed packet of its own, numbered 0: the server restarts its count for each command, and
//! reads into the same buffer that it writes its reply to, so a packet with two commands is not possible.

use flate2::{Compress, Compression as Level, Decompress, FlushCompress, FlushDecompress, Status};
use headrace_core::Fatal;

/// Bytes of a compressed packet's header.
pub const HEADER_BYTES: usize = 7;
/// Payloads shorter than this many bytes are not compressed; the server does the same.
pub const MIN_COMPRESS_BYTES: usize = 50;
/// Bytes of plain data in one compressed packet: a size that fits even if it does not shrink.
const MAX_PLAIN_BYTES: usize = 0xff_ffff;

/// The compression algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// `CLIENT_COMPRESS`
    Zlib,
    /// `CLIENT_ZSTD_COMPRESSION_ALGORITHM`, with its level, 1 to 22.
    Zstd(u8),
}

/// Length of the payload, sequence number and length of the plain data (0: not compressed) of the compressed packet
/// at the front of `bytes`; `None` until its header is there.
pub fn header(bytes: &[u8]) -> Option<(usize, u8, usize)> {
    let [a, b, c, sequence, d, e, f] = *bytes.first_chunk::<HEADER_BYTES>()?;
    let len = |a, b, c| u32::from_le_bytes([a, b, c, 0]) as usize;
    Some((len(a, b, c), sequence, len(d, e, f)))
}

/// Appends `plain` (whole packets) as compressed packets, the first with number `sequence`; returns the number that
/// the next one must have.
pub fn compress(algorithm: Algorithm, plain: &[u8], mut sequence: u8, out: &mut Vec<u8>) -> u8 {
    for part in plain.chunks(MAX_PLAIN_BYTES) {
        let packed = if part.len() < MIN_COMPRESS_BYTES { None } else { pack(algorithm, part) };
        let (payload, plain_len) = match &packed {
            Some(packed) if packed.len() < part.len() => (&packed[..], part.len()),
            _ => (part, 0),
        };
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        out.push(sequence);
        out.extend_from_slice(&(plain_len as u32).to_le_bytes()[..3]);
        out.extend_from_slice(payload);
        sequence = sequence.wrapping_add(1);
    }
    sequence
}

fn pack(algorithm: Algorithm, part: &[u8]) -> Option<Vec<u8>> {
    match algorithm {
        Algorithm::Zlib => {
            // Room for less than the plain data: data that does not shrink is sent uncompressed.
            let mut packed = Vec::with_capacity(part.len());
            let done = Compress::new(Level::new(6), true).compress_vec(part, &mut packed, FlushCompress::Finish);
            matches!(done, Ok(Status::StreamEnd)).then_some(packed)
        }
        Algorithm::Zstd(level) => zstd::bulk::compress(part, i32::from(level)).ok(),
    }
}

/// The plain data of a compressed packet's payload; `plain_len` is the length in its header, 0 for a payload that is
/// not compressed.
///
/// # Errors
/// [`Fatal`] when the payload is damaged or has another length.
pub fn decompress(algorithm: Algorithm, payload: &[u8], plain_len: usize) -> Result<Vec<u8>, Fatal> {
    if plain_len == 0 {
        return Ok(payload.to_vec());
    }
    let plain = match algorithm {
        Algorithm::Zlib => {
            let mut plain = Vec::with_capacity(plain_len);
            let done = Decompress::new(true).decompress_vec(payload, &mut plain, FlushDecompress::Finish);
            matches!(done, Ok(Status::StreamEnd)).then_some(plain)
        }
        Algorithm::Zstd(_) => zstd::bulk::decompress(payload, plain_len).ok(),
    };
    match plain {
        Some(plain) if plain.len() == plain_len => Ok(plain),
        _ => Err(Fatal::peer("the server sent a damaged compressed packet")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(algorithm: Algorithm, plain: &[u8]) -> usize {
        let mut out = Vec::new();
        let next = compress(algorithm, plain, 255, &mut out);
        let (mut rest, mut seen, mut sequence) = (&out[..], Vec::new(), 255u8);
        while !rest.is_empty() {
            let (len, number, plain_len) = header(rest).unwrap();
            assert_eq!(number, sequence);
            sequence = sequence.wrapping_add(1);
            let payload = &rest[HEADER_BYTES..HEADER_BYTES + len];
            seen.extend(decompress(algorithm, payload, plain_len).unwrap());
            rest = &rest[HEADER_BYTES + len..];
        }
        assert_eq!(sequence, next);
        assert_eq!(seen, plain);
        out.len()
    }

    #[test]
    fn what_goes_in_comes_out() {
        let noise: Vec<u8> = (0..70_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd(3)] {
            assert_eq!(round_trip(algorithm, b"short"), 5 + HEADER_BYTES);
            assert!(round_trip(algorithm, &[7; 20_000]) < 200);
            round_trip(algorithm, &noise);
            round_trip(algorithm, &vec![1; MAX_PLAIN_BYTES + 10]);
        }
    }

    #[test]
    fn damage_is_seen() {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd(3)] {
            let mut out = Vec::new();
            compress(algorithm, &[7; 1000], 0, &mut out);
            let payload = &out[HEADER_BYTES..];
            assert!(decompress(algorithm, payload, 999).is_err());
            assert!(decompress(algorithm, payload, 1001).is_err());
            assert!(decompress(algorithm, &payload[..payload.len() - 1], 1000).is_err());
            assert!(decompress(algorithm, b"nonsense", 1000).is_err());
        }
    }
}
