//! Packet framing: a header of length and sequence number, and payloads of 16 MiB and more in several packets.
//! MySQL: "MySQL Packets"; MariaDB: "0-packet".

use crate::limits;
use headrace_core::Fatal;
use std::convert::Infallible;

/// Bytes of a packet's header.
pub const HEADER_BYTES: usize = 4;
/// Bytes of payload in one packet at most. A packet with exactly as many is followed by another one.
pub const MAX_PAYLOAD_BYTES: usize = 0xff_ffff;

/// Length of the payload and sequence number of the packet at the front of `bytes`, `None` until its header is there.
#[inline]
pub fn header(bytes: &[u8]) -> Option<(usize, u8)> {
    let [a, b, c, sequence] = *bytes.first_chunk::<HEADER_BYTES>()?;
    Some((u32::from_le_bytes([a, b, c, 0]) as usize, sequence))
}

/// Appends the packets of one payload that `write` appends, the first with number `sequence`; returns the number
/// that the next packet must have.
///
/// # Errors
/// The error of `write`; then nothing is appended.
pub fn try_packet<E>(
    out: &mut Vec<u8>,
    sequence: u8,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<u8, E> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    if let Err(error) = write(out) {
        out.truncate(start);
        return Err(error);
    }
    let len = out.len() - start - HEADER_BYTES;
    if len >= MAX_PAYLOAD_BYTES {
        return Ok(split(out, start, sequence));
    }
    out[start..start + 3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
    out[start + 3] = sequence;
    Ok(sequence.wrapping_add(1))
}

/// [`try_packet`] for content that cannot fail.
pub fn packet(out: &mut Vec<u8>, sequence: u8, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let done = try_packet(out, sequence, |out| {
        write(out);
        Ok::<(), Infallible>(())
    });
    match done {
        Ok(next) => next,
        Err(never) => match never {},
    }
}

#[cold]
fn split(out: &mut Vec<u8>, start: usize, mut sequence: u8) -> u8 {
    let payload = out.split_off(start + HEADER_BYTES);
    out.truncate(start);
    let mut rest = &payload[..];
    loop {
        let (part, after) = rest.split_at(rest.len().min(MAX_PAYLOAD_BYTES));
        out.extend_from_slice(&(part.len() as u32).to_le_bytes()[..3]);
        out.push(sequence);
        out.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
        if part.len() < MAX_PAYLOAD_BYTES {
            return sequence;
        }
        rest = after;
    }
}

/// Joins payloads that came in several packets.
#[derive(Debug, Default)]
pub struct Assembler {
    parts: Vec<u8>,
    open: bool,
}

impl Assembler {
    /// Returns true if parts of a payload wait for the rest.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Takes one packet's payload. Returns the whole payload if this was its last part.
    ///
    /// # Errors
    /// [`Fatal`] when the whole grows beyond [`limits::MESSAGE_BYTES`].
    pub fn push(&mut self, part: &[u8]) -> Result<Option<Vec<u8>>, Fatal> {
        if self.parts.len() + part.len() > limits::MESSAGE_BYTES {
            return Err(Fatal::peer("the server sent a packet of more than 1 GiB"));
        }
        self.parts.extend_from_slice(part);
        self.open = part.len() == MAX_PAYLOAD_BYTES;
        Ok(if self.open { None } else { Some(std::mem::take(&mut self.parts)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reassemble(mut bytes: &[u8], mut sequence: u8) -> (Vec<u8>, usize) {
        let mut assembler = Assembler::default();
        let mut packets = 0;
        loop {
            let (len, seq) = header(bytes).unwrap();
            assert_eq!(seq, sequence);
            sequence = sequence.wrapping_add(1);
            packets += 1;
            let whole = assembler.push(&bytes[HEADER_BYTES..HEADER_BYTES + len]).unwrap();
            bytes = &bytes[HEADER_BYTES + len..];
            if let Some(whole) = whole {
                assert!(bytes.is_empty());
                return (whole, packets);
            }
        }
    }

    #[test]
    fn payloads_around_the_limit_are_split_and_joined() {
        for (len, packets) in [
            (0, 1),
            (1, 1),
            (MAX_PAYLOAD_BYTES - 1, 1),
            (MAX_PAYLOAD_BYTES, 2),
            (MAX_PAYLOAD_BYTES + 1, 2),
            (2 * MAX_PAYLOAD_BYTES, 3),
        ] {
            let payload: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let mut out = b"before".to_vec();
            let next = packet(&mut out, 254, |out| out.extend_from_slice(&payload));
            assert_eq!(next, 254u8.wrapping_add(packets as u8));
            assert_eq!(reassemble(&out[6..], 254), (payload, packets));
        }
    }

    #[test]
    fn a_failed_packet_leaves_nothing_behind() {
        let mut out = b"before".to_vec();
        let failed = try_packet(&mut out, 0, |out| {
            out.extend_from_slice(b"half");
            Err("no")
        });
        assert_eq!(failed, Err("no"));
        assert_eq!(out, b"before");
    }
}
