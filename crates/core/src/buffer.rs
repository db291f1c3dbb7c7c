//! The buffers of received bytes and of bytes to send.

use crate::limits;
use std::time::Duration;

/// Received bytes that no message has consumed yet.
///
/// A loop reads into [`ReadBuffer::spare`] and reports the number of bytes with [`ReadBuffer::filled`]; the protocol
/// reads [`ReadBuffer::unread`] and releases it with [`ReadBuffer::consume`]. Only [`ReadBuffer::reserve`] moves or
/// reallocates memory.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    wanted: usize,
    /// See [`ReadBuffer::turn`].
    turn: Option<usize>,
    /// Bytes that the message at the front still needed at the last [`ReadBuffer::reserve`].
    missing: usize,
}

impl ReadBuffer {
    /// An empty read buffer; memory is taken at the first [`ReadBuffer::reserve`].
    pub fn new() -> Self {
        Self::default()
    }

    /// For a loop that has other tasks too: it reads few bytes at a time, until it is known how long decoding them takes.
    pub fn be_careful(&mut self) {
        self.turn = Some(limits::READ_BUFFER_FIRST_BYTES);
    }

    /// The bytes that a loop with other tasks reads at a time, so that these have their turn: as many as can be decoded
    /// within [`limits::READ_TURN`]. A message that is longer is read whole. Any number on a loop that has none.
    pub fn turn(&self) -> usize {
        self.turn.map_or(usize::MAX, |turn| turn.max(self.missing))
    }

    /// Reads fewer bytes at a time, or more, after handling `read` of them took so long: somebody waits meanwhile.
    pub fn adapt(&mut self, read: usize, took: Duration) {
        let Some(turn) = &mut self.turn else { return };
        if took > limits::READ_TURN {
            // One that was interrupted by the system is no reason to begin again.
            let fit = read as u128 * limits::READ_TURN.as_nanos() / took.as_nanos();
            let fit = usize::try_from(fit).unwrap_or(usize::MAX).max(read / 8);
            *turn = fit.clamp(limits::READ_FEWEST_BYTES, limits::READ_BUFFER_BYTES);
        } else if took < limits::READ_TURN / 2 && read >= *turn {
            *turn = (*turn * 2).min(limits::READ_BUFFER_BYTES);
        }
    }

    /// A read buffer with these bytes, and without room for others before the next [`ReadBuffer::reserve`].
    pub fn of(unread: &[u8]) -> Self {
        Self { bytes: unread.to_vec(), end: unread.len(), ..Self::default() }
    }

    /// Received bytes not yet consumed.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// True when nothing is waiting to be consumed.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Releases the first `n` unread bytes.
    ///
    /// # Panics
    /// When `n` is more than there is.
    pub fn consume(&mut self, n: usize) {
        assert!(n <= self.end - self.start, "consumed more than was received");
        self.start += n;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Releases the first `n` unread bytes, and overwrites them: for a secret.
    ///
    /// # Panics
    /// When `n` is more than there is.
    pub fn wipe(&mut self, n: usize) {
        self.bytes[self.start..self.start + n].fill(0);
        self.consume(n);
    }

    /// Announces that the message at the front needs `total` bytes, so that the next reserve makes room for it.
    pub fn want(&mut self, total: usize) {
        self.wanted = total;
    }

    /// Makes room for the next read: at least one byte, and as much as the message at the front still needs (at most a
    /// doubling at a time, so that a wrong length takes no more memory than the bytes that really arrive).
    pub fn reserve(&mut self) {
        let unread = self.end - self.start;
        let target = if self.bytes.len() < limits::READ_BUFFER_FIRST_BYTES {
            limits::READ_BUFFER_FIRST_BYTES
        } else if self.end == self.bytes.len() && self.bytes.len() < limits::READ_BUFFER_BYTES {
            limits::READ_BUFFER_BYTES
        } else {
            self.bytes.len()
        };
        let message = self.wanted.min((unread * 2).max(limits::READ_BUFFER_BYTES));
        self.missing = message.saturating_sub(unread);
        let target = target.max(message);
        // What is left at the end would be less than a turn.
        let is_short =
            unread <= limits::READ_FEWEST_BYTES && self.turn.is_some_and(|turn| self.bytes.len() - self.end < turn);
        if self.start > 0 && (is_short || self.end == self.bytes.len() || target > self.bytes.len()) {
            self.bytes.copy_within(self.start..self.end, 0);
            self.start = 0;
            self.end = unread;
        }
        // What the message needs is often only a lower bound: growing in small steps would copy everything, and call
        // the protocol, for every few bytes.
        let grown = if target > self.bytes.len() { unread + unread / 4 } else { 0 };
        let target = if unread == target { target * 2 } else { target.max(grown) };
        if target > self.bytes.len() {
            self.bytes.resize(target, 0);
        }
        self.wanted = 0;
    }

    /// Returns the memory that a large message took to the allocator, if nothing is unread. No slice from
    /// [`ReadBuffer::spare`] may be in use.
    pub fn rest(&mut self) {
        if self.is_empty() && self.bytes.len() > limits::BUFFER_KEPT_BYTES {
            self.bytes.truncate(limits::READ_BUFFER_BYTES);
            self.bytes.shrink_to_fit();
        }
    }

    /// The free space after the unread bytes. Call [`ReadBuffer::reserve`] first.
    pub fn spare(&mut self) -> &mut [u8] {
        &mut self.bytes[self.end..]
    }

    /// The part of it that a loop reads into: no more than [`ReadBuffer::turn`].
    pub fn spare_of_turn(&mut self) -> &mut [u8] {
        let turn = self.turn();
        let spare = self.spare();
        let most = spare.len().min(turn);
        &mut spare[..most]
    }

    /// Records that a read stored `n` bytes at the front of the spare space.
    ///
    /// # Panics
    /// When `n` is more than the spare space.
    pub fn filled(&mut self, n: usize) {
        assert!(n <= self.bytes.len() - self.end, "filled more than there was room for");
        self.end += n;
    }

    /// Appends received bytes: for tests, replays and layers that decrypt elsewhere.
    pub fn extend(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.reserve();
            let spare = self.spare();
            let n = spare.len().min(bytes.len());
            spare[..n].copy_from_slice(&bytes[..n]);
            self.filled(n);
            bytes = &bytes[n..];
        }
    }

    /// The number of bytes of memory that the buffer occupies.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

/// Bytes to be sent.
#[derive(Debug)]
pub struct WriteBuffer {
    bytes: Vec<u8>,
    start: usize,
    sent: u64,
    /// A part of what was written since it was empty has been sent.
    partly: bool,
    /// See [`WriteBuffer::is_full`].
    high: usize,
    /// See [`WriteBuffer::stop_at`].
    takes_turns: bool,
    /// See [`WriteBuffer::take_stopped`].
    stopped: bool,
}

impl Default for WriteBuffer {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            sent: 0,
            partly: false,
            high: limits::WRITE_BUFFER_HIGH_BYTES,
            takes_turns: false,
            stopped: false,
        }
    }
}

impl WriteBuffer {
    /// An empty write buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if what is encoded next has to wait until some of the bytes have been sent.
    pub fn is_full(&self) -> bool {
        self.len() >= self.high
    }

    /// The bytes until it is full; a message may be longer.
    pub fn room(&self) -> usize {
        self.high.saturating_sub(self.len())
    }

    /// Makes it full soon, until it is known how long filling it takes. Its owner asks again where a message that is not
    /// whole yet has stopped: see [`WriteBuffer::stop_at`].
    pub fn be_careful(&mut self) {
        self.high = limits::WRITE_BUFFER_CAREFUL_BYTES;
        self.takes_turns = true;
    }

    /// The bytes after which a message that may be shorter should end, so that other tasks have their turn; without
    /// such, `most`.
    pub fn turn(&self, most: usize) -> usize {
        if self.takes_turns { most.min(self.room()) } else { most }
    }

    /// For a message that is made elsewhere, and written once it is whole: returns true if its sender has to stop after
    /// so many bytes of it, as if they were here. It goes on when it is asked again what there is to send.
    pub fn stop_at(&mut self, made: usize) -> bool {
        self.stopped = self.takes_turns && made >= self.room();
        self.stopped
    }

    /// Returns true if a sender has stopped in the middle of a message since the last call.
    pub fn take_stopped(&mut self) -> bool {
        std::mem::take(&mut self.stopped)
    }

    /// Makes it full sooner, or later, after filling it took so long: somebody waits meanwhile.
    pub fn adapt(&mut self, took: Duration) {
        if took > limits::FLUSH_TURN {
            self.high = (self.high / 2).max(limits::WRITE_BUFFER_FEWEST_BYTES);
        } else if took < limits::FLUSH_TURN / 4 {
            self.high = (self.high * 2).min(limits::WRITE_BUFFER_HIGH_BYTES);
        }
    }

    /// Bytes that wait to be sent.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// The number of bytes that wait to be sent.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if a part of what is pending has been sent: the rest may begin in the middle of a message.
    pub fn is_partly_sent(&self) -> bool {
        self.partly
    }

    /// Records that the first `n` pending bytes have been sent.
    ///
    /// # Panics
    /// When `n` is more than there is.
    pub fn sent(&mut self, n: usize) {
        assert!(n <= self.len(), "sent more than was pending");
        self.start += n;
        self.sent += n as u64;
        self.partly |= n > 0;
        if self.start == self.bytes.len() {
            self.partly = false;
            self.bytes.clear();
            self.start = 0;
            if self.bytes.capacity() > limits::BUFFER_KEPT_BYTES {
                self.bytes.shrink_to(limits::WRITE_BUFFER_HIGH_BYTES);
            }
        } else if self.start >= limits::WRITE_BUFFER_HIGH_BYTES && self.start >= self.bytes.len() / 2 {
            // Only if what is moved is at most what was sent: otherwise a large value would be moved as often as it has
            // parts.
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }

    /// The position of the next byte in the whole stream, for [`WriteBuffer::truncate`].
    pub fn mark(&self) -> u64 {
        self.sent + self.len() as u64
    }

    /// Returns true if nothing of what was written since `mark` has been sent.
    pub fn holds(&self, mark: u64) -> bool {
        mark >= self.sent
    }

    /// Removes everything written since `mark`, if none of it has been sent. Returns true if it was removed.
    pub fn truncate(&mut self, mark: u64) -> bool {
        if !self.holds(mark) {
            return false;
        }
        let keep = usize::try_from(mark - self.sent).unwrap_or(usize::MAX);
        if keep <= self.len() {
            self.bytes.truncate(self.start + keep);
        }
        true
    }

    /// The vector that messages are appended to. Bytes already in it must stay as they are.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Takes all pending bytes.
    pub fn take(&mut self) -> Vec<u8> {
        let n = self.len() as u64;
        self.sent += n;
        self.partly = false;
        let start = std::mem::take(&mut self.start);
        let mut bytes = std::mem::take(&mut self.bytes);
        if start > 0 {
            bytes.drain(..start);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_buffer_grows_only_as_bytes_arrive() {
        let mut read_buffer = ReadBuffer::new();
        read_buffer.want(usize::MAX);
        read_buffer.reserve();
        assert!(read_buffer.capacity() <= limits::READ_BUFFER_BYTES);
        read_buffer.extend(&[7; 300_000]);
        assert_eq!(read_buffer.unread().len(), 300_000);
        read_buffer.consume(299_999);
        assert_eq!(read_buffer.unread(), &[7]);
        read_buffer.reserve();
        assert!(!read_buffer.spare().is_empty());
        read_buffer.consume(1);
        assert!(read_buffer.is_empty());
    }

    #[test]
    fn read_buffer_grows_by_more_than_a_lower_bound() {
        let mut read_buffer = ReadBuffer::new();
        let mut reads = 0;
        while read_buffer.unread().len() < 8 << 20 {
            read_buffer.want(read_buffer.unread().len() + 2);
            read_buffer.reserve();
            let spare = read_buffer.spare().len();
            read_buffer.filled(spare);
            reads += 1;
        }
        assert!(reads < 30, "{reads} reads");
    }

    #[test]
    fn buffers_shrink_again_after_a_large_value() {
        let mut read_buffer = ReadBuffer::new();
        read_buffer.extend(&vec![7; 20_000_000]);
        read_buffer.rest();
        assert_eq!(read_buffer.unread().len(), 20_000_000, "what is unread stays");
        read_buffer.consume(20_000_000);
        read_buffer.rest();
        assert!(read_buffer.capacity() <= limits::READ_BUFFER_BYTES);
        let mut write_buffer = WriteBuffer::new();
        write_buffer.tail().resize(20_000_000, 7);
        write_buffer.sent(20_000_000);
        assert!(write_buffer.tail().capacity() <= limits::BUFFER_KEPT_BYTES);
    }

    #[test]
    fn read_buffer_reads_as_much_at_a_time_as_is_decoded_within_a_turn() {
        let mut read_buffer = ReadBuffer::new();
        read_buffer.reserve();
        assert_eq!(read_buffer.turn(), usize::MAX, "a loop without other tasks");
        read_buffer.be_careful();
        let first = limits::READ_BUFFER_FIRST_BYTES;
        for (read, took, turn) in [
            (first, Duration::ZERO, first * 2),
            (first, Duration::ZERO, first * 2),
            (first * 2, limits::READ_TURN / 2, first * 2),
            (first * 2, limits::READ_TURN, first * 2),
            (first * 2, limits::READ_TURN * 2, first),
            (first, limits::READ_TURN * 100, first / 8),
        ] {
            read_buffer.adapt(read, took);
            assert_eq!(read_buffer.turn(), turn);
        }
        (0..64).for_each(|_| read_buffer.adapt(limits::READ_FEWEST_BYTES, limits::READ_TURN * 2));
        assert_eq!(read_buffer.turn(), limits::READ_FEWEST_BYTES);
        (0..64).for_each(|_| read_buffer.adapt(limits::READ_BUFFER_BYTES, Duration::ZERO));
        assert_eq!(read_buffer.turn(), limits::READ_BUFFER_BYTES);
    }

    #[test]
    fn read_buffer_has_room_for_a_turn_but_reads_a_long_message_whole() {
        let mut read_buffer = ReadBuffer::new();
        read_buffer.be_careful();
        let turn = limits::READ_BUFFER_FIRST_BYTES;
        for _ in 0..100 {
            read_buffer.reserve();
            let room = read_buffer.spare_of_turn().len();
            assert!(room <= turn && room + 100 >= turn, "{room}");
            read_buffer.filled(room);
            // A part of a row is left.
            read_buffer.consume(read_buffer.unread().len() - 100);
        }
        read_buffer.want(100_000);
        read_buffer.reserve();
        assert_eq!(read_buffer.spare_of_turn().len(), 99_900);
        read_buffer.filled(99_900);
        read_buffer.reserve();
        assert!(read_buffer.spare_of_turn().len() <= turn, "of the next message");
    }

    #[test]
    fn write_buffer_is_full_sooner_while_filling_it_takes_long() {
        let mut write_buffer = WriteBuffer::new();
        for (took, rooms) in [
            (limits::FLUSH_TURN / 2, vec![limits::WRITE_BUFFER_HIGH_BYTES]),
            (limits::FLUSH_TURN * 2, vec![limits::WRITE_BUFFER_HIGH_BYTES / 2, limits::WRITE_BUFFER_HIGH_BYTES / 4]),
            (Duration::ZERO, vec![limits::WRITE_BUFFER_HIGH_BYTES / 2, limits::WRITE_BUFFER_HIGH_BYTES]),
            (Duration::ZERO, vec![limits::WRITE_BUFFER_HIGH_BYTES]),
        ] {
            for room in rooms {
                write_buffer.adapt(took);
                assert_eq!(write_buffer.room(), room);
            }
        }
        (0..64).for_each(|_| write_buffer.adapt(limits::FLUSH_TURN * 2));
        write_buffer.tail().resize(limits::WRITE_BUFFER_FEWEST_BYTES - 1, 7);
        assert!(!write_buffer.is_full());
        write_buffer.tail().push(7);
        assert!(write_buffer.is_full() && write_buffer.room() == 0);
    }

    #[test]
    fn write_buffer_moves_each_byte_a_bounded_number_of_times() {
        let mut write_buffer = WriteBuffer::new();
        write_buffer.tail().resize(64 << 20, 7);
        let started = std::time::Instant::now();
        while !write_buffer.is_empty() {
            write_buffer.sent(write_buffer.len().min(64 * 1024));
        }
        // Moved again at every 256 KiB it would be 8 GiB.
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn read_buffer_keeps_unread_bytes_in_order_across_reserves() {
        let mut read_buffer = ReadBuffer::new();
        let all: Vec<u8> = (0..1_000_000u32).map(|i| i as u8).collect();
        let mut seen = Vec::new();
        for chunk in all.chunks(7777) {
            read_buffer.extend(chunk);
            let n = read_buffer.unread().len() / 2;
            seen.extend_from_slice(&read_buffer.unread()[..n]);
            read_buffer.consume(n);
        }
        seen.extend_from_slice(read_buffer.unread());
        assert_eq!(seen, all);
    }

    #[test]
    fn write_buffer_takes_back_only_what_was_not_sent() {
        let mut write_buffer = WriteBuffer::new();
        write_buffer.tail().extend_from_slice(b"abc");
        let mark = write_buffer.mark();
        write_buffer.tail().extend_from_slice(b"def");
        write_buffer.sent(2);
        assert!(write_buffer.truncate(mark));
        assert_eq!(write_buffer.pending(), b"c");
        write_buffer.tail().extend_from_slice(b"def");
        write_buffer.sent(4);
        assert!(!write_buffer.truncate(mark));
        assert_eq!(write_buffer.take(), b"".to_vec());
    }
}
