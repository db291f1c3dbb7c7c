//! LOAD DATA LOCAL INFILE: the server names a file, the client sends its bytes. MySQL: "LOCAL INFILE Request"; MariaDB:
//! "LOCAL_INFILE packet".
//!
//! Data is sent only for a request that expects this, and only the data that its response handler supplies: the name is
//! the server's request, nothing here opens a file. Every other request is answered with an empty file and ends in an
//! error.

use super::pending::{Failure, Stage};
use super::stage::{RequestEvent, RequestState};
use super::{Machine, MyHandler, Request};
use crate::packets::frame;
use crate::packets::reply::ServerError;
use headrace_core::{Fatal, WriteBuffer};

/// `CR_LOAD_DATA_LOCAL_INFILE_REJECTED`, a number of MySQL's client library.
const LOAD_DATA_LOCAL_INFILE_REJECTED: u16 = 2068;

/// The state of a LOAD DATA LOCAL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InfileState {
    /// The server has not answered yet.
    Waiting,
    /// Data can be sent for the file of this name.
    Streaming(Vec<u8>),
    /// Finished: completed or failed.
    Ended,
}

impl<H: MyHandler> Machine<H> {
    /// The state of the LOAD DATA LOCAL of request `id`.
    pub fn infile_state(&self, id: u64) -> InfileState {
        match self.queue.by_id(id) {
            None => InfileState::Ended,
            Some(pending) => match pending.stage() {
                Stage::Uploading { file, .. } => InfileState::Streaming(file.clone()),
                Stage::Uploaded => InfileState::Ended,
                _ => InfileState::Waiting,
            },
        }
    }

    /// Appends data, written by `write`, to a LOAD DATA LOCAL that is streaming; returns true if it was.
    pub fn infile_data(&mut self, id: u64, write_buffer: &mut WriteBuffer, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let Some(pending) = self.queue.by_id_mut(id) else { return false };
        let Stage::Uploading { sequence, .. } = pending.stage_mut() else { return false };
        let mut data = Vec::new();
        write(&mut data);
        // An empty packet would end the file.
        for part in data.chunks(frame::MAX_PAYLOAD_BYTES - 1) {
            self.wire.write_on(write_buffer, |out| {
                *sequence = frame::packet(out, *sequence, |out| out.extend_from_slice(part))
            });
        }
        true
    }

    /// Ends the file. The protocol has no way to take back what was sent: a caller that stops half-way rolls the
    /// transaction back.
    pub fn infile_end(&mut self, id: u64, write_buffer: &mut WriteBuffer) {
        let Some(pending) = self.queue.by_id_mut(id) else { return };
        let Stage::Uploading { sequence, .. } = *pending.stage() else { return };
        pending.go(RequestEvent::FileEnded, Stage::Uploaded);
        self.end_file(write_buffer, sequence);
    }

    /// Sends the empty packet that ends a file. The reply counts on from it.
    fn end_file(&mut self, write_buffer: &mut WriteBuffer, sequence: u8) {
        let mut next = sequence;
        self.wire.write_on(write_buffer, |out| next = frame::packet(out, sequence, |_| {}));
        if let Some(expect) = self.expects.front_mut() {
            expect.sequence = next;
        }
    }

    /// The server requests a file.
    pub(super) fn local_infile(
        &mut self,
        cx: H::Context<'_>,
        name: &[u8],
        sequence: u8,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        if self.expects.len() > 1 || !self.local_infile {
            // Later messages were sent already and would be taken for the file, or it was never negotiated.
            return Err(Fatal::peer("the server asks for a local file although that was not negotiated"));
        }
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let is_fed = matches!(pending.request, Request::Query { infile: true, .. }) && pending.slot.handler.is_some();
        if is_fed && pending.state() == RequestState::Sent {
            pending.go(RequestEvent::FileRequested, Stage::Uploading { file: name.to_vec(), sequence });
        } else if is_fed {
            return Err(Fatal::peer("the server asks for a local file within another"));
        }
        match &mut pending.slot.handler {
            Some(handler) if is_fed => handler.bulk_ready(cx, false, 0),
            _ => {
                let text = "LOAD DATA LOCAL INFILE is refused: no data were handed over for it";
                let error = ServerError::of_driver(LOAD_DATA_LOCAL_INFILE_REJECTED, text);
                let row = if let Stage::Batch(batch) = pending.stage() { Some(batch.answered) } else { None };
                pending.slot.fail_row(Failure::Server { error, row });
                self.end_file(write_buffer, sequence);
            }
        }
        Ok(())
    }

    /// Ends the file of an upload whose response handler is gone; returns true if it did.
    pub(super) fn abandon_upload(&mut self, write_buffer: &mut WriteBuffer) -> bool {
        match self.queue.last_mut().map(|pending| (pending.slot.id, pending.slot.handler.is_none())) {
            Some((id, true)) => {
                self.infile_end(id, write_buffer);
                true
            }
            _ => false,
        }
    }
}
