//! The receiving half: from the inbox to the callers. MySQL: "Command Phase, COM_QUERY Response"; MariaDB: "Result set
//! packets".

use super::request::{Entry, Stage};
use super::startup::Progress;
use super::statement::{Columns, Draft, Statement};
use super::{Machine, MyCaller, Phase};
use crate::packets::body::Body;
use crate::packets::capabilities::{Capabilities, StatusFlags};
use crate::packets::column::PrepareOk;
use crate::packets::compress::Algorithm;
use crate::packets::frame::{self, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::packets::reply::{Completion, ServerError};
use headrace_core::{Fatal, Inbox, Outbox, limits};
use std::sync::Arc;

/// A reply to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expect {
    /// The number that its first packet must have.
    pub sequence: u8,
    pub kind: Kind,
}

/// What a reply answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// COM_STMT_PREPARE.
    Prepare,
    /// The caller's statement, its rows in the binary protocol or as text.
    Result { binary: bool },
    /// COM_STMT_FETCH.
    Fetch,
    /// A command whose OK is all there is to it.
    Simple,
    /// A row of a batch, in the binary protocol or as text.
    Row { binary: bool },
    /// Many rows of a batch.
    Chunk,
    /// What opens the guard of a batch: a savepoint, `SET autocommit=0`.
    Guard,
    /// Back to before the chunk that failed.
    Undo,
    /// One row of the chunk that failed, once more.
    Repeat,
    /// COMMIT of a batch.
    Commit,
    /// RELEASE SAVEPOINT or ROLLBACK of a batch.
    Release,
    /// ROLLBACK TO SAVEPOINT of a batch.
    RollbackTo,
    /// `SET autocommit=1` behind a batch.
    Restore,
}

impl Kind {
    /// Whether rows and results are the caller's.
    fn is_callers(self) -> bool {
        matches!(self, Kind::Result { .. } | Kind::Fetch | Kind::Row { .. } | Kind::Simple)
    }

    fn is_binary(self) -> bool {
        !matches!(self, Kind::Result { binary: false } | Kind::Row { binary: false } | Kind::Simple)
    }
}

/// How far the reply at the front has come.
#[derive(Debug)]
pub(super) enum Reply {
    /// Its first packet, or that of its next result, is to come.
    First,
    /// Column definitions.
    Definitions { left: usize, draft: Draft },
    /// The EOF packet behind them, without DEPRECATE_EOF.
    DefinitionsEnd { columns: Arc<Columns> },
    /// Rows.
    Rows { columns: Arc<Columns> },
    /// COM_STMT_PREPARE: definitions of parameters, then of columns, each with an EOF packet behind without DEPRECATE_EOF.
    Prepared { ok: PrepareOk, params_left: usize, columns_left: usize, draft: Draft },
}

impl<C: MyCaller> Machine<C> {
    /// Handles every whole packet in the inbox; answers that authentication needs go to the outbox.
    ///
    /// # Errors
    /// [`Fatal`]: the connection must be closed.
    pub fn read(&mut self, cx: C::Cx<'_>, inbox: &mut Inbox, outbox: &mut Outbox) -> Result<(), Fatal> {
        loop {
            let Some(algorithm) = self.wire.compression else {
                self.read_plain(cx, inbox, outbox)?;
                match self.wire.compression {
                    Some(_) => continue,
                    None => return Ok(()),
                }
            };
            let mut plain = std::mem::take(&mut self.wire.plain);
            let done = self.read_plain(cx, &mut plain, outbox);
            self.wire.plain = plain;
            done?;
            if !self.wire.unpack(algorithm, inbox)? {
                return Ok(());
            }
        }
    }

    /// Reads packets until one is not whole, or those behind it are compressed.
    fn read_plain(&mut self, cx: C::Cx<'_>, inbox: &mut Inbox, outbox: &mut Outbox) -> Result<(), Fatal> {
        let compressed = self.wire.compression.is_some();
        while self.wire.compression.is_some() == compressed {
            let unread = inbox.unread();
            if let Phase::Startup(startup) = &self.phase
                && startup.awaits_tls()
                && !unread.is_empty()
            {
                return Err(Fatal::peer("the server sent data before the TLS handshake; someone may be in between"));
            }
            if let Reply::Rows { .. } = self.reply {
                let consumed = self.rows(cx, unread)?;
                if consumed > 0 {
                    inbox.consume(consumed);
                    continue;
                }
            }
            let Some((len, sequence)) = frame::header(unread) else { return Ok(()) };
            let total = HEADER_BYTES + len;
            if unread.len() < total {
                inbox.want(total.min(limits::MESSAGE_BYTES));
                return Ok(());
            }
            let payload = &unread[HEADER_BYTES..total];
            if len == MAX_PAYLOAD_BYTES || self.wire.assembler.is_open() {
                self.count(sequence, payload)?;
                let whole = self.wire.assembler.push(payload)?;
                inbox.consume(total);
                if let Some(whole) = whole {
                    self.packet(cx, sequence, &whole, outbox)?;
                }
                continue;
            }
            self.count(sequence, payload)?;
            self.packet(cx, sequence, payload, outbox)?;
            inbox.consume(total);
        }
        Ok(())
    }

    /// Compares a packet's number with the one that is its turn.
    fn count(&mut self, sequence: u8, payload: &[u8]) -> Result<(), Fatal> {
        if self.wire.compression.is_some() || self.is_starting() {
            return Ok(());
        }
        match self.expects.front_mut() {
            Some(expect) if self.started > 0 => {
                if expect.sequence == sequence {
                    expect.sequence = sequence.wrapping_add(1);
                    return Ok(());
                }
                if let [0xff, ..] = payload {
                    // The server ends the session in the middle of things and counts from wherever it stands.
                    return self.goodbye(payload);
                }
                Err(Fatal::peer(format!(
                    "the server sent packet number {sequence} where {} was due: the connection is out of step",
                    expect.sequence
                )))
            }
            _ => match payload {
                [0xff, ..] => self.goodbye(payload),
                _ => Err(Fatal::peer("the server sent a packet although nothing was asked")),
            },
        }
    }

    fn goodbye(&mut self, payload: &[u8]) -> Result<(), Fatal> {
        let error = ServerError::read(payload)?;
        let reason = Fatal::gone(format!("the server ended the session: {}", error.message));
        self.last_words = Some(error);
        Err(reason)
    }

    fn front(&mut self) -> Result<&mut Entry<C, C::Error>, Fatal> {
        match self.queue.front_mut() {
            Some(entry) if self.started > 0 => Ok(entry),
            _ => Err(Fatal::peer("the server sent a packet although nothing was asked")),
        }
    }

    fn kind(&self) -> Result<Kind, Fatal> {
        let front = self.expects.front().filter(|_| self.started > 0);
        front.map(|expect| expect.kind).ok_or_else(|| Fatal::peer("the server sent a reply although nothing was asked"))
    }

    /// Rows: as many as are whole, each in a packet of its own.
    fn rows(&mut self, cx: C::Cx<'_>, unread: &[u8]) -> Result<usize, Fatal> {
        let (Reply::Rows { columns }, Some(expect)) = (&self.reply, self.expects.front_mut()) else { return Ok(0) };
        if self.wire.assembler.is_open() {
            return Ok(0);
        }
        let Some(entry) = self.queue.front_mut() else { return Ok(0) };
        let compressed = self.wire.compression.is_some();
        let mut sink = entry.caller.as_mut().filter(|_| expect.kind.is_callers()).map(|caller| caller.rows(cx));
        let mut at = 0;
        while let Some((len, sequence)) = frame::header(&unread[at..]) {
            let Some(payload) = unread.get(at + HEADER_BYTES..at + HEADER_BYTES + len) else { break };
            // 0xfe and 0xff begin the packet that ends the rows; a row of 16 MiB comes in parts.
            let in_turn = compressed || sequence == expect.sequence;
            if matches!(payload, [0xfe | 0xff, ..]) || len == MAX_PAYLOAD_BYTES || !in_turn {
                break;
            }
            expect.sequence = sequence.wrapping_add(1);
            if let Some(sink) = &mut sink {
                columns.row(payload, sink)?;
            }
            at += HEADER_BYTES + len;
        }
        Ok(at)
    }

    fn packet(&mut self, cx: C::Cx<'_>, sequence: u8, payload: &[u8], outbox: &mut Outbox) -> Result<(), Fatal> {
        if let Phase::Startup(startup) = &mut self.phase {
            return match startup.packet(sequence, payload, outbox)? {
                Progress::Going => Ok(()),
                Progress::Refused(error) => {
                    let reason = Fatal::refused(error.message.clone());
                    self.last_words = Some(error);
                    Err(reason)
                }
                Progress::Ready(completion, changes) => {
                    self.begin();
                    self.session.report(&completion, changes);
                    Ok(())
                }
            };
        }
        let kind = self.kind()?;
        let deprecate_eof = self.session.capabilities.contains(Capabilities::DEPRECATE_EOF);
        match std::mem::replace(&mut self.reply, Reply::First) {
            Reply::First => self.first(cx, kind, sequence, payload, outbox),
            Reply::Definitions { left, mut draft } => {
                draft.push(payload);
                if draft.len() < left {
                    self.reply = Reply::Definitions { left, draft };
                    return Ok(());
                }
                let known = self.front()?.statement.as_ref().and_then(|statement| statement.columns());
                let columns = draft.finish(kind.is_binary(), self.session.capabilities, known)?;
                if deprecate_eof {
                    self.described(cx, kind, columns)
                } else {
                    self.reply = Reply::DefinitionsEnd { columns };
                    Ok(())
                }
            }
            Reply::DefinitionsEnd { columns } => {
                let end = Completion::read_eof(payload)?;
                self.described(cx, kind, columns)?;
                if end.status.contains(StatusFlags::CURSOR_EXISTS) {
                    // The rows wait for COM_STMT_FETCH, so this was the end of the reply.
                    self.reply = Reply::First;
                    return self.completed(cx, kind, end, Vec::new());
                }
                Ok(())
            }
            Reply::Rows { columns } => match payload {
                [0xff, ..] => self.failed(cx, kind, ServerError::read(payload)?),
                [0xfe, ..] if payload.len() < MAX_PAYLOAD_BYTES => {
                    let (end, changes) = if deprecate_eof {
                        Completion::read_ok(payload, self.session.capabilities)?
                    } else {
                        (Completion::read_eof(payload)?, Vec::new())
                    };
                    self.completed(cx, kind, end, changes)
                }
                _ => {
                    // A row in several parts.
                    let entry = self.front()?;
                    if let Some(caller) = entry.caller.as_mut().filter(|_| kind.is_callers()) {
                        columns.row(payload, &mut caller.rows(cx))?;
                    }
                    self.reply = Reply::Rows { columns };
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

    /// The first packet of a reply, or of the next result of a reply with several.
    fn first(
        &mut self,
        cx: C::Cx<'_>,
        kind: Kind,
        sequence: u8,
        payload: &[u8],
        outbox: &mut Outbox,
    ) -> Result<(), Fatal> {
        match (kind, payload) {
            (_, [0xff, ..]) => self.failed(cx, kind, ServerError::read(payload)?),
            (Kind::Prepare, _) => {
                let ok = PrepareOk::read(payload)?;
                let (params_left, columns_left) = (self.definitions(ok.params), self.definitions(ok.columns));
                if params_left + columns_left == 0 {
                    return self.prepared(cx, ok, Draft::default());
                }
                self.reply = Reply::Prepared { ok, params_left, columns_left, draft: Draft::default() };
                Ok(())
            }
            (Kind::Fetch, _) => {
                let columns = self.front()?.statement.as_ref().and_then(|statement| statement.columns());
                let columns = columns.ok_or_else(|| Fatal::peer("the server sent rows of an unknown cursor"))?;
                self.reply = Reply::Rows { columns };
                self.packet(cx, sequence, payload, outbox)
            }
            (_, [0, ..]) => {
                let (ok, changes) = Completion::read_ok(payload, self.session.capabilities)?;
                self.completed(cx, kind, ok, changes)
            }
            (_, [0xfb, name @ ..]) => self.local_infile(cx, name, sequence.wrapping_add(1), outbox),
            _ => {
                let mut body = Body::new("column count", payload);
                let left = usize::try_from(body.lenenc()?).unwrap_or(usize::MAX);
                let cached = self.session.capabilities.contains(Capabilities::MARIADB_CACHE_METADATA);
                if cached && body.u8()? == 0 {
                    let columns = self.front()?.statement.as_ref().and_then(|statement| statement.columns());
                    let columns = columns.filter(|columns| columns.fields.len() == left);
                    let columns = columns
                        .ok_or_else(|| Fatal::peer("the server left out column definitions that it never sent"))?;
                    if self.session.capabilities.contains(Capabilities::DEPRECATE_EOF) {
                        return self.described(cx, kind, columns);
                    }
                    self.reply = Reply::DefinitionsEnd { columns };
                    return Ok(());
                }
                if left == 0 || left > usize::from(u16::MAX) {
                    return Err(Fatal::peer(format!("the server announced {left} columns")));
                }
                self.reply = Reply::Definitions { left, draft: Draft::default() };
                Ok(())
            }
        }
    }

    /// How many packets describe `count` parameters or columns.
    fn definitions(&self, count: u16) -> usize {
        let eof = !self.session.capabilities.contains(Capabilities::DEPRECATE_EOF);
        if count == 0 { 0 } else { usize::from(count) + usize::from(eof) }
    }

    /// The columns of a result are known; rows follow.
    fn described(&mut self, cx: C::Cx<'_>, kind: Kind, columns: Arc<Columns>) -> Result<(), Fatal> {
        let entry = self.front()?;
        if let Some(statement) = entry.statement.as_ref().filter(|_| columns.binary) {
            statement.set_columns(&columns);
        }
        if let Some(caller) = entry.caller.as_mut().filter(|_| kind.is_callers()) {
            caller.columns(cx, &columns);
        }
        self.reply = Reply::Rows { columns };
        Ok(())
    }

    fn prepared_part(
        &mut self,
        cx: C::Cx<'_>,
        ok: PrepareOk,
        (params_left, columns_left): (usize, usize),
        mut draft: Draft,
        payload: &[u8],
    ) -> Result<(), Fatal> {
        // The parameters' definitions say nothing that we need: the server does not know their types either.
        let (params_left, columns_left) = if params_left > 0 {
            (params_left - 1, columns_left)
        } else {
            if draft.len() < usize::from(ok.columns) {
                draft.push(payload);
            }
            (0, columns_left.saturating_sub(1))
        };
        if params_left + columns_left == 0 {
            return self.prepared(cx, ok, draft);
        }
        self.reply = Reply::Prepared { ok, params_left, columns_left, draft };
        Ok(())
    }

    /// The answer to COM_STMT_PREPARE is complete.
    fn prepared(&mut self, cx: C::Cx<'_>, ok: PrepareOk, draft: Draft) -> Result<(), Fatal> {
        let columns = if ok.columns == 0 { None } else { Some(draft.finish(true, self.session.capabilities, None)?) };
        let entry = self.front()?;
        let Some(sql) = entry.request.sql().cloned() else {
            return Err(Fatal::peer("the server prepared a statement that nobody asked for"));
        };
        let id = Some(ok.statement_id);
        let statement = Arc::new(Statement::new(sql, id, usize::from(ok.params), columns.clone()));
        entry.statement = Some(statement.clone());
        let only = matches!(entry.request, super::Request::Prepare { .. });
        entry.stage = if entry.ahead || only { Stage::Sent } else { Stage::Bindable };
        if let (true, Some(columns), Some(caller)) = (only, &columns, &mut entry.caller) {
            caller.columns(cx, columns);
        }
        let cursor = matches!(&entry.request, super::Request::Execute(execute) if execute.cursor.is_some());
        if !cursor {
            self.keep(statement);
        }
        self.answered(cx)
    }

    /// Puts a statement into the cache, or notes that the server is to be told to forget it.
    pub(super) fn keep(&mut self, statement: Arc<Statement>) {
        if statement.sql.len() > limits::STATEMENT_CACHE_SQL_BYTES {
            self.to_close.extend(statement.id);
        } else if let Some(evicted) = self.statements.insert(statement.sql.clone(), statement) {
            self.to_close.extend(evicted.id);
        }
    }

    /// One result is complete; `completion` is its last packet.
    fn completed(
        &mut self,
        cx: C::Cx<'_>,
        kind: Kind,
        completion: Completion,
        changes: Vec<crate::packets::reply::StateChange>,
    ) -> Result<(), Fatal> {
        self.session.report(&completion, changes);
        let more = completion.status.contains(StatusFlags::MORE_RESULTS_EXISTS);
        let suspended = self.cursor_moved(kind, completion.status);
        let entry = self.front()?;
        let waits = suspended && kind != Kind::Fetch;
        if let Some(caller) = entry.caller.as_mut().filter(|_| (kind.is_callers() || kind == Kind::Chunk) && !waits) {
            let mut tag = Vec::with_capacity(16 + completion.info.len());
            completion.encode(&mut tag);
            caller.result(cx, &tag, suspended);
        }
        if more {
            return Ok(());
        }
        if let Stage::Batch(_) = entry.stage {
            self.batch_reply(kind, Ok(completion))?;
        }
        self.answered(cx)
    }

    /// Notes what a result says of its cursor; returns whether more rows can be fetched.
    fn cursor_moved(&mut self, kind: Kind, status: StatusFlags) -> bool {
        let Some(entry) = self.queue.front_mut() else { return false };
        let (opener, opens) = match (&entry.request, kind) {
            (super::Request::Execute(execute), Kind::Result { .. }) if execute.cursor.is_some() => (entry.id, true),
            (super::Request::Execute(_), Kind::Fetch) => (entry.id, false),
            (super::Request::Fetch { cursor, .. }, Kind::Fetch) => (*cursor, false),
            _ => return false,
        };
        let open = status.contains(StatusFlags::CURSOR_EXISTS) && !status.contains(StatusFlags::LAST_ROW_SENT);
        match &entry.statement {
            Some(statement) if open && opens => {
                self.cursors.insert(opener, statement.clone());
            }
            Some(statement) if !open => {
                // The end of the rows closes the cursor, and the statement is free for others.
                let statement = statement.clone();
                if self.cursors.remove(&opener).is_some() || opens {
                    self.keep(statement);
                }
            }
            _ => {}
        }
        open
    }

    /// The reply is an error.
    fn failed(&mut self, cx: C::Cx<'_>, kind: Kind, error: ServerError) -> Result<(), Fatal> {
        if error.is_fatal() {
            self.last_words = Some(error.clone());
        }
        let goodbye = error.is_fatal().then(|| Fatal::gone(format!("the server ended the session: {}", error.message)));
        let alone = self.started == 1;
        let id = self.front()?.id;
        let cursor_open = self.cursors.contains_key(&id);
        let entry = self.front()?;
        let cursor = matches!(&entry.request, super::Request::Execute(execute) if execute.cursor.is_some());
        match kind {
            Kind::Prepare => {
                self.not_prepared(error)?;
            }
            // The execution behind a preparation that failed.
            Kind::Result { binary: true } if entry.ahead && entry.statement.as_ref().is_none_or(|s| s.id.is_none()) => {
            }
            // The fetch behind an execution that failed, or that opened no cursor.
            Kind::Fetch if cursor && !cursor_open => {}
            Kind::Result { .. } if error.code == 1243 && entry.from_cache && alone && !entry.retried => {
                return self.retry(cx);
            }
            _ if matches!(entry.stage, Stage::Batch(_)) => self.batch_reply(kind, Err(error))?,
            _ => {
                if let (true, Some(statement)) = (error.code == 1243 && entry.from_cache, &entry.statement) {
                    let sql = statement.sql.clone();
                    entry.fail(error);
                    self.statements.remove(&sql);
                } else {
                    let statement = entry.statement.clone();
                    entry.fail(error);
                    if cursor && let (Kind::Result { .. }, Some(statement)) = (kind, statement) {
                        self.keep(statement);
                    }
                }
            }
        }
        match goodbye {
            Some(reason) => {
                self.answered(cx)?;
                Err(reason)
            }
            None => self.answered(cx),
        }
    }

    /// COM_STMT_PREPARE failed.
    fn not_prepared(&mut self, error: ServerError) -> Result<(), Fatal> {
        let entry = self.front()?;
        let sql = entry.request.sql().cloned();
        let execute = matches!(entry.request, super::Request::Execute(_));
        match (error.code, sql) {
            // ER_UNSUPPORTED_PS: it goes as text, now and later.
            (1295, Some(sql)) if execute => {
                let statement = Arc::new(Statement::new(sql, None, 0, None));
                entry.statement = Some(statement.clone());
                entry.stage = Stage::Bindable;
                self.keep(statement);
            }
            // ER_MAX_PREPARED_STMT_COUNT_REACHED: it goes as text this time, and ours make room.
            (1461, Some(sql)) if execute => {
                entry.statement = Some(Arc::new(Statement::new(sql, None, 0, None)));
                entry.stage = Stage::Bindable;
                self.forget_statements();
            }
            _ => {
                entry.fail(error);
                entry.stage = Stage::Sent;
            }
        }
        Ok(())
    }

    /// Forgets a statement that the server does not know any more, and runs its request again. Nothing was executed,
    /// and nothing is in flight behind it, so the order stays.
    fn retry(&mut self, cx: C::Cx<'_>) -> Result<(), Fatal> {
        let entry = self.front()?;
        let sql = entry.statement.take().map(|statement| statement.sql.clone());
        let fetch_follows = entry.pending > 1;
        if fetch_follows {
            // A fetch is in flight behind it, whose error comes next.
            entry.fail(ServerError {
                code: 1243,
                sqlstate: "HY000".into(),
                message: "the server forgot the prepared statement; run it again".into(),
            });
        } else {
            entry.stage = Stage::Queued;
            entry.retried = true;
            entry.from_cache = false;
            entry.pending = 0;
            self.expects.pop_front();
            self.started -= 1;
        }
        if let Some(sql) = sql {
            self.statements.remove(&sql);
        }
        if fetch_follows { self.answered(cx) } else { Ok(()) }
    }

    /// A whole reply has come: the next packet belongs to the next one, and an entry without more to come is done.
    fn answered(&mut self, cx: C::Cx<'_>) -> Result<(), Fatal> {
        self.expects.pop_front();
        self.reply = Reply::First;
        let entry = self.front()?;
        entry.pending = entry.pending.saturating_sub(1);
        if entry.pending == 0 && matches!(entry.stage, Stage::Sent) {
            self.finish_front(cx);
        }
        Ok(())
    }
}
