//! A message that is handled before all of it has been received.

use headrace_core::{ReadBuffer, WriteBuffer};

/// What is to come of such a message.
#[derive(Debug, Default)]
pub enum Partial {
    /// Nothing: the next bytes are the header of a message.
    #[default]
    None,
    /// This number of bytes, which are passed on.
    PassOn(usize),
    /// This number of bytes, which are skipped.
    Skip(usize),
}

impl Partial {
    /// A message of which this number of bytes is to come, and to be passed on.
    pub fn pass_on(bytes: usize) -> Self {
        if bytes == 0 { Self::None } else { Self::PassOn(bytes) }
    }

    /// Returns true if the next bytes are the header of a message.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The number of bytes that are to come.
    pub fn left(&self) -> usize {
        match self {
            Self::None => 0,
            Self::PassOn(left) | Self::Skip(left) => *left,
        }
    }

    /// Handles what was received of it. Returns true if that is all.
    pub fn go_on(&mut self, input: &mut ReadBuffer, output: &mut WriteBuffer) -> bool {
        if let Self::PassOn(left) = self {
            let received = input.unread();
            output.tail().extend_from_slice(&received[..received.len().min(*left)]);
        }
        self.consume(input)
    }

    /// Skips what was received of it. Returns true if that is all.
    pub fn consume(&mut self, input: &mut ReadBuffer) -> bool {
        if let Self::PassOn(left) | Self::Skip(left) = self {
            let n = input.unread().len().min(*left);
            input.consume(n);
            *left -= n;
            if *left == 0 {
                *self = Self::None;
            }
        }
        self.is_none()
    }
}
