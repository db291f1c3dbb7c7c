//! Deliberate faults, for tests of drivers.

use std::io::{self, Write};
use std::net::Shutdown;
use std::time::Duration;

use crate::channel::Channel;
use crate::limits::SILENCE;

/// Faults of a connection. They start with the first reply after the login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Wait so long before every reply.
    pub latency: Duration,
    /// Close after this number of further bytes.
    pub cut: Option<u64>,
    /// Send nothing after this number of bytes.
    pub silence: Option<u64>,
    /// Turn the byte at this place over.
    pub garbage: Option<u64>,
    /// Send at most this number of bytes at once.
    pub split: Option<usize>,
}

impl Faults {
    /// Adds `latency=20` (ms), `cut=100`, `silence=100`, `garbage=100`, `split=1` or `none`.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        if text == "none" {
            *self = Self::default();
            return Ok(());
        }
        let problem = || format!("fault {text:?}: expected latency=MS, cut=N, silence=N, garbage=N, split=N or none");
        let (name, number) = text.split_once('=').ok_or_else(problem)?;
        let number: u64 = number.parse().map_err(|_| problem())?;
        match name {
            "latency" => self.latency = Duration::from_millis(number),
            "cut" => self.cut = Some(number),
            "silence" => self.silence = Some(number),
            "garbage" => self.garbage = Some(number),
            "split" if number > 0 => self.split = Some(number as usize),
            _ => return Err(problem()),
        }
        Ok(())
    }

    /// Sends a reply with whatever is wrong with it.
    pub fn send(&mut self, stream: &mut Channel, bytes: &mut [u8]) -> io::Result<()> {
        if !self.latency.is_zero() {
            std::thread::sleep(self.latency);
        }
        let length = bytes.len() as u64;
        if let Some(at) = self.garbage {
            if at < length {
                bytes[at as usize] ^= 0xff;
            }
            self.garbage = at.checked_sub(length);
        }
        if let Some(left) = self.silence {
            if left < length {
                self.write(stream, &bytes[..left as usize])?;
                std::thread::sleep(SILENCE);
            }
            self.silence = Some(left.saturating_sub(length));
        }
        if let Some(left) = self.cut {
            if left < length {
                self.write(stream, &bytes[..left as usize])?;
                stream.socket().shutdown(Shutdown::Both)?;
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.cut = Some(left - length);
        }
        self.write(stream, bytes)
    }

    fn write(&self, stream: &mut Channel, bytes: &[u8]) -> io::Result<()> {
        match self.split {
            Some(size) => bytes.chunks(size).try_for_each(|chunk| {
                stream.write_all(chunk)?;
                stream.flush()
            }),
            None => {
                stream.write_all(bytes)?;
                stream.flush()
            }
        }
    }
}
