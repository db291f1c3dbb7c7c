//! The receiving half: from the read buffer to whole packets, their order, and the rows among them.

use super::neighbours;
use super::pending::PendingRequest;
use super::reply::{Expect, Reply, ReplyKind};
use super::run::{LargeRow, RowPackets};
use super::startup::Progress;
use super::table::Answer;
use super::{Machine, MyHandler, Phase};
use crate::limits;
use crate::packets::capabilities::{Capabilities, StatusFlags};
use crate::packets::compress::Algorithm;
use crate::packets::frame::{self, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::packets::header;
use crate::packets::reply::{Completion, ServerError};
use crate::sql::ModesAfter;
use headrace_core::{Fatal, FatalKind, ReadBuffer, Requests, Room, WriteBuffer};

impl<H: MyHandler> Machine<H> {
    /// Handles every whole packet in the read buffer; replies for the authentication are written to the write buffer.
    ///
    /// # Errors
    /// [`Fatal`]: the connection must be closed.
    pub fn read(
        &mut self,
        cx: H::Context<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        loop {
            let Some(algorithm) = self.wire.compression else {
                self.read_plain(cx, read_buffer, write_buffer)?;
                match self.wire.compression {
                    Some(_) => continue,
                    None => return Ok(()),
                }
            };
            let mut plain = std::mem::take(&mut self.wire.plain);
            let done = self.read_plain(cx, &mut plain, write_buffer);
            self.wire.plain = plain;
            done?;
            if self.queue.full().is_some() || !self.wire.unpack(algorithm, read_buffer)? {
                return Ok(());
            }
        }
    }

    /// Reads packets until one is not whole, or those after it are compressed.
    fn read_plain(
        &mut self,
        cx: H::Context<'_>,
        read_buffer: &mut ReadBuffer,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let compressed = self.wire.compression.is_some();
        while self.wire.compression.is_some() == compressed && self.queue.full().is_none() {
            let unread = read_buffer.unread();
            if let Phase::Startup(startup) = &self.phase
                && startup.awaits_tls()
                && !unread.is_empty()
            {
                return Err(Fatal::peer(
                    "the server sent data before the TLS handshake; this may be a man-in-the-middle attack",
                ));
            }
            if let Reply::Rows { .. } = self.reply {
                let consumed = self.rows(cx, unread)?;
                if consumed > 0 {
                    read_buffer.consume(consumed);
                    continue;
                }
            }
            let Some((len, sequence)) = frame::header(unread) else { return Ok(()) };
            let total = HEADER_BYTES + len;
            if unread.len() < total {
                read_buffer.want(total.min(limits::MESSAGE_BYTES));
                return Ok(());
            }
            let payload = &unread[HEADER_BYTES..total];
            if len == MAX_PAYLOAD_BYTES || self.wire.assembler.is_open() {
                self.check_parts()?;
                self.count(sequence, payload)?;
                let whole = self.wire.assembler.push(payload)?;
                read_buffer.consume(total);
                if let Some(whole) = whole {
                    self.packet(cx, sequence, &whole, write_buffer)?;
                }
                continue;
            }
            self.count(sequence, payload)?;
            self.packet(cx, sequence, payload, write_buffer)?;
            read_buffer.consume(total);
        }
        Ok(())
    }

    /// A packet in several parts, which may grow to [`limits::MESSAGE_BYTES`], can only be a row: no other packet of a
    /// server comes near 16 MiB, and compressed that many bytes cost the sender almost nothing.
    fn check_parts(&self) -> Result<(), Fatal> {
        let fetched = matches!(self.expects.front(), Some(Expect { kind: ReplyKind::Fetch, .. }));
        match self.reply {
            Reply::Rows { .. } => Ok(()),
            Reply::First if fetched => Ok(()),
            _ => Err(Fatal::peer("the server sent a packet of 16 MiB or more where no row can be")),
        }
    }

    /// Compares a packet's number with the one that is its turn.
    fn count(&mut self, sequence: u8, payload: &[u8]) -> Result<(), Fatal> {
        if self.is_starting() {
            return Ok(());
        }
        match self.expects.front_mut() {
            Some(_) if self.queue.started() > 0 && self.wire.compression.is_some() => Ok(()),
            Some(expect) if self.queue.started() > 0 => {
                if expect.sequence == sequence {
                    expect.sequence = sequence.wrapping_add(1);
                    return Ok(());
                }
                if let [header::ERR, ..] = payload {
                    // The server may end the session at any time, and its packet number continues its own count.
                    return self.goodbye(payload);
                }
                Err(Fatal::peer(format!(
                    "the server sent packet number {sequence} where {} was due: the connection is out of step",
                    expect.sequence
                )))
            }
            _ => match payload {
                [header::ERR, ..] => self.goodbye(payload),
                _ => Err(Fatal::peer("the server sent a packet although no request was pending")),
            },
        }
    }

    fn goodbye(&mut self, payload: &[u8]) -> Result<(), Fatal> {
        let error = ServerError::read(payload, self.session.numbering())?;
        let reason = Fatal::new(FatalKind::SessionEnded, format!("the server ended the session: {}", error.message));
        let is_unknown = self.queue.started() > 0 && error.ends_midway();
        self.closing_error = Some(if is_unknown { error.of_unknown_outcome() } else { error });
        Err(reason)
    }

    pub(super) fn front(&mut self) -> Result<&mut PendingRequest<H>, Fatal> {
        let front = self.queue.answered();
        front.ok_or_else(|| Fatal::peer("the server sent a packet although no request was pending"))
    }

    fn kind(&self) -> Result<ReplyKind, Fatal> {
        let front = self.expects.front().filter(|_| self.queue.started() > 0);
        front
            .map(|expect| expect.kind)
            .ok_or_else(|| Fatal::peer("the server sent a reply although no request was pending"))
    }

    /// Rows: all that are complete, each in a packet of its own.
    fn rows(&mut self, cx: H::Context<'_>, unread: &[u8]) -> Result<usize, Fatal> {
        let (Reply::Rows { columns, .. }, Some(expect)) = (&self.reply, self.expects.front_mut()) else { return Ok(0) };
        if self.wire.assembler.is_open() {
            return Ok(0);
        }
        let Some(pending) = self.queue.first_mut() else { return Ok(0) };
        let counted = self.wire.compression.is_none();
        let mut room = Room::More;
        let mut run = RowPackets::new(columns, unread, counted.then_some(expect.sequence));
        let answer = if expect.kind == ReplyKind::Table { run.first().map(Answer::of) } else { None };
        if !run.is_empty()
            && let Some(handler) = pending.slot.handler.as_mut().filter(|_| expect.kind.is_for_handler())
        {
            room = handler.rows(cx, &mut run)?;
        }
        let (bytes, sequence) = run.end();
        expect.sequence = sequence.unwrap_or(expect.sequence);
        let id = pending.slot.id;
        self.queue.note(id, room);
        if let Some(answer) = answer {
            self.note_table_row(answer);
        }
        Ok(bytes)
    }

    pub(super) fn packet(
        &mut self,
        cx: H::Context<'_>,
        sequence: u8,
        payload: &[u8],
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        if let Phase::Startup(startup) = &mut self.phase {
            return match startup.packet(sequence, payload, write_buffer)? {
                Progress::Going => Ok(()),
                Progress::Refused(error) => {
                    let reason = Fatal::new(FatalKind::LoginRefused, error.message.clone());
                    self.closing_error = Some(error);
                    Err(reason)
                }
                Progress::Ready(completion, changes) => {
                    self.begin();
                    // Nothing was prepared yet.
                    let _ = self.session.report(&completion, changes, ModesAfter::Set);
                    Ok(())
                }
            };
        }
        let kind = self.kind()?;
        let deprecate_eof = self.session.capabilities.contains(Capabilities::DEPRECATE_EOF);
        match std::mem::replace(&mut self.reply, Reply::First) {
            Reply::First => self.first(cx, kind, sequence, payload, write_buffer),
            Reply::Definitions { left, mut draft } => {
                draft.push(payload);
                if draft.len() < left {
                    self.reply = Reply::Definitions { left, draft };
                    return Ok(());
                }
                let capabilities = self.session.capabilities;
                let pending = self.front()?;
                let known = pending.statement().and_then(|statement| statement.columns());
                let sql = pending.request.sql().map(AsRef::as_ref);
                let columns = draft.finish(kind.is_binary(), capabilities, known, sql)?;
                if deprecate_eof {
                    self.described(cx, kind, columns, StatusFlags::empty())
                } else {
                    self.reply = Reply::DefinitionsEnd { columns };
                    Ok(())
                }
            }
            Reply::DefinitionsEnd { columns } => {
                let end = Completion::read_eof(payload)?;
                let announced = match end.status.contains(StatusFlags::PS_OUT_PARAMS) {
                    true => end.status & (StatusFlags::PS_OUT_PARAMS | StatusFlags::MORE_RESULTS_EXISTS),
                    false => StatusFlags::empty(),
                };
                self.described(cx, kind, columns, announced)?;
                if end.status.contains(StatusFlags::CURSOR_EXISTS) {
                    // The rows wait for COM_STMT_FETCH, so this was the end of the reply.
                    self.reply = Reply::First;
                    return self.completed(cx, kind, None, announced, end, Vec::new());
                }
                Ok(())
            }
            Reply::Rows { columns, announced } => match payload {
                [header::ERR, ..] => self.failed(cx, kind, ServerError::read(payload, self.session.numbering())?),
                [header::EOF, ..] if payload.len() < MAX_PAYLOAD_BYTES => {
                    let (end, changes) = if deprecate_eof {
                        Completion::read_ok(payload, self.session.capabilities)?
                    } else {
                        (Completion::read_eof(payload)?, Vec::new())
                    };
                    self.completed(cx, kind, None, announced, end, changes)
                }
                _ => {
                    // A row in several parts.
                    let pending = self.front()?;
                    if let Some(handler) = pending.slot.handler.as_mut().filter(|_| kind.is_for_handler()) {
                        let room = handler.rows(cx, &mut LargeRow::new(&columns, payload))?;
                        let id = pending.slot.id;
                        self.queue.note(id, room);
                    }
                    self.reply = Reply::Rows { columns, announced };
                    Ok(())
                }
            },
            Reply::Prepared { ok, params_left, columns_left, draft } => {
                self.prepared_part(cx, ok, (params_left, columns_left), draft, payload)
            }
        }
    }

    /// The session begins.
    fn begin(&mut self) {
        let Phase::Startup(startup) = std::mem::replace(&mut self.phase, Phase::Ready) else { return };
        let (greeting, capabilities, options) = startup.into_agreement();
        self.session.capabilities = capabilities;
        self.session.schema.clone_from(&options.database);
        self.session.own_number = neighbours::number_in(&options.attributes).unwrap_or_default().to_owned();
        if let Some(greeting) = greeting {
            self.session.version = greeting.version();
            self.session.server_version = greeting.server_version;
            self.session.mariadb = greeting.mariadb;
            self.session.thread_id = greeting.thread_id;
        }
        let agreed = Capabilities::COMPRESS | Capabilities::ZSTD_COMPRESSION_ALGORITHM;
        if capabilities.intersects(agreed) {
            self.wire.compression = options.compression.or(Some(Algorithm::Zlib));
        }
    }
}
