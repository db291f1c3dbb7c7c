//! Buffers that nobody needs at the moment. A client that waits for nothing has none: it gets one when something has come,
//! which is most often one that another client has just given back. One that waits for a server connection has the bytes of
//! its request, and no room for more: all clients may wait at the same time.

use crate::limits::{KEPT_REQUEST_BYTES, SMALL, SPARE_BUFFERS};
use headrace_connection::Buffers;
use headrace_core::ReadBuffer;
use headrace_core::limits::READ_BUFFER_FIRST_BYTES;
use std::cell::RefCell;

thread_local! {
    /// The memory of read buffers and write buffers.
    static SPARE: RefCell<Vec<(ReadBuffer, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

/// Takes the memory of buffers that are empty. Returns true if they have none now.
pub fn give_back(buffers: &mut Buffers) -> bool {
    if buffers.tls().is_some() || !buffers.read_buffer.is_empty() || !buffers.write_buffer.is_empty() {
        return false;
    }
    if buffers.read_buffer.capacity() > 0 {
        let read = std::mem::take(&mut buffers.read_buffer);
        keep(read, std::mem::take(buffers.write_buffer.tail()));
    }
    true
}

fn keep(read: ReadBuffer, write: Vec<u8>) {
    let is_usual = (READ_BUFFER_FIRST_BYTES..=SMALL).contains(&read.capacity());
    // What one client has sent, or is to be sent, never reaches another.
    if is_usual && read.is_empty() && write.is_empty() && write.capacity() <= SMALL {
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < SPARE_BUFFERS {
                spare.push((read, write));
            }
        });
    }
}

/// The same, but for a request that was received, if it is short.
pub fn give_back_but_request(buffers: &mut Buffers) {
    let is_kept = buffers.read_buffer.unread().len() > KEPT_REQUEST_BYTES
        || !buffers.write_buffer.is_empty()
        || buffers.tls().is_some();
    if is_kept || give_back(buffers) {
        return;
    }
    let request = ReadBuffer::of(buffers.read_buffer.unread());
    let mut read = std::mem::replace(&mut buffers.read_buffer, request);
    // Whoever gets it next must not find this request there.
    read.consume(read.unread().len());
    keep(read, std::mem::take(buffers.write_buffer.tail()));
}

/// Gives memory to buffers that have none but for a request, unless there is something to send.
pub fn take_beside_request(buffers: &mut Buffers) {
    let has_memory = buffers.read_buffer.capacity() >= READ_BUFFER_FIRST_BYTES || !buffers.write_buffer.is_empty();
    if has_memory || buffers.tls().is_some() {
        return;
    }
    let request = std::mem::take(&mut buffers.read_buffer);
    take(buffers);
    match buffers.read_buffer.capacity() {
        0 => buffers.read_buffer = request,
        _ => buffers.read_buffer.extend(request.unread()),
    }
}

/// Gives memory to buffers that have none.
pub fn take(buffers: &mut Buffers) {
    if let Some((read, write)) = SPARE.with_borrow_mut(Vec::pop) {
        buffers.read_buffer = read;
        *buffers.write_buffer.tail() = write;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_given_back_only_when_they_are_empty() {
        let mut buffers = Buffers::new();
        assert!(give_back(&mut buffers));
        take(&mut buffers);
        assert_eq!(buffers.read_buffer.capacity(), 0, "nobody has given one back");
        buffers.read_buffer.extend(b"a message");
        assert!(!give_back(&mut buffers));
        buffers.read_buffer.consume(9);
        buffers.write_buffer.tail().extend_from_slice(b"an answer");
        let mark = buffers.write_buffer.mark();
        assert!(!give_back(&mut buffers));
        buffers.write_buffer.sent(9);
        assert!(give_back(&mut buffers));
        assert_eq!((buffers.read_buffer.capacity(), buffers.write_buffer.tail().capacity()), (0, 0));
        assert_eq!(buffers.write_buffer.mark(), mark);
        let mut other = Buffers::new();
        take(&mut other);
        assert!(other.read_buffer.capacity() > 0 && other.read_buffer.is_empty() && other.write_buffer.is_empty());
        other.read_buffer.extend(&vec![7; SMALL + 1]);
        other.read_buffer.consume(SMALL + 1);
        assert!(give_back(&mut other));
        take(&mut other);
        assert_eq!(other.read_buffer.capacity(), 0, "large ones are not kept");
    }
    #[test]
    fn buffers_are_given_back_beside_a_request() {
        let mut waiting = Buffers::new();
        waiting.read_buffer.extend(b"before it");
        waiting.read_buffer.extend(b"a request");
        waiting.read_buffer.consume(9);
        give_back_but_request(&mut waiting);
        assert_eq!((waiting.read_buffer.unread(), waiting.read_buffer.capacity()), (&b"a request"[..], 9));
        let mut other = Buffers::new();
        take(&mut other);
        assert_eq!(other.read_buffer.capacity(), READ_BUFFER_FIRST_BYTES, "it is another client's now");
        assert!(other.read_buffer.is_empty() && other.write_buffer.is_empty(), "and has nothing of the first one's");
        take_beside_request(&mut waiting);
        assert_eq!(waiting.read_buffer.capacity(), 9, "there is no other one");
        assert!(give_back(&mut other));
        take_beside_request(&mut waiting);
        assert_eq!(waiting.read_buffer.unread(), b"a request");
        assert_eq!(waiting.read_buffer.capacity(), READ_BUFFER_FIRST_BYTES);
        // More may come while it waits.
        give_back_but_request(&mut waiting);
        waiting.read_buffer.extend(b", and its rest");
        assert_eq!(waiting.read_buffer.unread(), b"a request, and its rest");
        assert_eq!(waiting.read_buffer.capacity(), READ_BUFFER_FIRST_BYTES);
        let long = vec![7; KEPT_REQUEST_BYTES];
        waiting.read_buffer.extend(&long);
        let before = waiting.read_buffer.capacity();
        give_back_but_request(&mut waiting);
        assert_eq!(waiting.read_buffer.capacity(), before, "a long one stays where it is");
    }
}
