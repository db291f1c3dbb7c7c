//! Buffers that nobody needs at the moment. A client that waits for nothing has none: it gets one when something has come,
//! which is most often one that another client has just given back.

use crate::limits::{SMALL, SPARE_BUFFERS};
use headrace_connection::Buffers;
use headrace_core::ReadBuffer;
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
        let both = (std::mem::take(&mut buffers.read_buffer), std::mem::take(buffers.write_buffer.tail()));
        if both.0.capacity().max(both.1.capacity()) <= SMALL {
            SPARE.with_borrow_mut(|spare| {
                if spare.len() < SPARE_BUFFERS {
                    spare.push(both);
                }
            });
        }
    }
    true
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
}
