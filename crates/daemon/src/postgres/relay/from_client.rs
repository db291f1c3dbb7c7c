//! The client's messages on their way to the server.

use super::comparing::Checked;
use super::expected::Expected;
use super::framing::{bind_names, client_header, name_of, text_of};
use super::group::GroupEvent;
use super::names::Change;
use super::partial::Partial;
use super::plans::OnPlans;
use super::portals::Portal;
use super::{Refused, Relay, RelayStep, ServerState, is_settable};
use crate::limits::WHOLE_MESSAGE;
use crate::postgres::statements::{facts_of, own};
use headrace_core::limits::WRITE_BUFFER_HIGH_BYTES;
use headrace_core::{ReadBuffer, WriteBuffer};
use headrace_postgres::messages::frontend;
use headrace_postgres::messages::tag::{StatementOrPortal, frontend as client};
use headrace_postgres::sql::{Facts, begins_block, is_query, is_several, script, session_state_of};

/// What becomes of a message.
enum Outcome {
    /// It is passed on, answered or skipped, or its rest is as it comes.
    Handled,
    /// This number of bytes has to be received first.
    Incomplete(usize),
    /// It waits for replies of the server.
    AwaitsReplies,
    /// The client ends the connection.
    Terminate,
}

impl Relay {
    /// Passes the client's messages on, while there is room to send.
    ///
    /// # Errors
    /// [`Refused`]: the client has to be told, and closed.
    pub fn from_client(
        &mut self,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<RelayStep, Refused> {
        self.waits_for_replies = false;
        self.adapt_again(server, output);
        if let Some(group) = self.attempt.again() {
            let mut again = ReadBuffer::of(&group);
            let then = self.pass_on(&mut again, server, output);
            self.attempt.passed(again.unread());
            if !self.attempt.is_nothing() {
                return then;
            }
            then?;
        }
        self.pass_on(input, server, output)
    }

    fn pass_on(
        &mut self,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<RelayStep, Refused> {
        while output.len() < WRITE_BUFFER_HIGH_BYTES {
            if !self.to_server.is_none() {
                if !self.to_server.go_on(input, output) {
                    return Ok(RelayStep::Wait);
                }
                continue;
            }
            if self.attempt.is_undecided() && self.group.is_complete() {
                self.waits_for_replies = true;
                return Ok(RelayStep::Wait);
            }
            let Some((tag, length)) = client_header(input.unread())? else { return Ok(RelayStep::Wait) };
            match self.message(tag, length, input, server, output)? {
                Outcome::Handled => self.messages += 1,
                Outcome::Incomplete(bytes) => {
                    input.want(bytes.min(WHOLE_MESSAGE));
                    return Ok(RelayStep::Wait);
                }
                Outcome::AwaitsReplies => {
                    self.waits_for_replies = true;
                    return Ok(RelayStep::Wait);
                }
                Outcome::Terminate => {
                    // The server has executed what has come without Sync, too, and answers only if it is told to.
                    if self.group.is_open() && !self.in_flight.replies.is_empty() {
                        frontend::flush(output.tail());
                    }
                    return Ok(RelayStep::Terminate);
                }
            }
        }
        Ok(RelayStep::Wait)
    }

    fn message(
        &mut self,
        tag: u8,
        length: usize,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<Outcome, Refused> {
        // The server waits for the data of a COPY before it answers.
        let is_copied = matches!(tag, client::COPY_DATA | client::COPY_DONE | client::COPY_FAIL);
        if !is_copied && self.holds_back(server, output) {
            return Ok(Outcome::AwaitsReplies);
        }
        if self.is_skipped(tag, server) {
            self.to_server = Partial::Skip(length);
            return Ok(Outcome::Handled);
        }
        self.requests += usize::from(matches!(tag, client::SYNC | client::QUERY));
        if self.in_flight.replies.is_empty() && self.group.is_complete() {
            self.compare_plans(server);
        }
        match tag {
            client::BIND => return self.bind_message(length, input, server, output),
            client::EXECUTE => return self.execute(length, input, server, output),
            client::PARSE | client::DESCRIBE | client::CLOSE | client::QUERY => {
                return self.whole(tag, length, input, server, output);
            }
            client::SYNC => self.sync(length, server),
            client::FUNCTION_CALL => {
                if self.plans.are() {
                    self.check_plans(FUNCTION_CALL, server, output);
                }
                self.plans.are_unused = false;
                return Ok(self.function_call(length, input, server));
            }
            client::FLUSH | client::COPY_DATA => self.to_server = Partial::pass_on(length),
            client::COPY_DONE | client::COPY_FAIL => {
                server.copies_in = false;
                self.expect(Expected::CopyEnd);
                self.to_server = Partial::pass_on(length);
            }
            client::TERMINATE => return Ok(Outcome::Terminate),
            _ => {
                let tag = char::from(tag);
                return Err(Refused::Malformed(format!("unexpected message of type {tag:?} from the client")));
            }
        }
        Ok(Outcome::Handled)
    }

    /// Returns true if the server need not see a message, nor is it answered.
    fn is_skipped(&self, tag: u8, server: &ServerState) -> bool {
        match tag {
            client::SYNC => server.copies_in,
            client::TERMINATE => false,
            // Nothing is owed that it could have sent.
            client::FLUSH if !self.in_flight.replies.are_owed() => true,
            _ => self.group.is_skipped(),
        }
    }

    fn sync(&mut self, length: usize, server: &ServerState) {
        let replies = &self.in_flight.replies;
        // Of what the client has sent since its last Sync nothing was passed on, and the server owes nothing: then it has no
        // other answer to this one.
        let is_here = self.group.leaves_sync_here() && !server.copies_in && !replies.is_empty() && !replies.are_owed();
        if is_here {
            self.end_group(GroupEvent::SyncHere, Expected::Ready);
            self.to_server = Partial::Skip(length);
        } else {
            let is_bare = self.group.leaves_sync_here();
            self.end_group(GroupEvent::Sync, Expected::Sync { is_bare });
            self.to_server = Partial::pass_on(length);
        }
    }

    fn function_call(&mut self, length: usize, input: &ReadBuffer, server: &mut ServerState) -> Outcome {
        let start = FUNCTION_BYTES.min(length);
        let Some(start) = input.unread().get(..start) else { return Outcome::Incomplete(start) };
        if !is_large_object(start) {
            self.client.pinned.get_or_insert(FUNCTION_CALL);
            server.spoiled.get_or_insert(FUNCTION_CALL);
        }
        server.is_unfinished |= self.group.is_open();
        self.end_group(GroupEvent::Query, Expected::Function);
        self.to_server = Partial::pass_on(length);
        Outcome::Handled
    }

    fn bind_message(
        &mut self,
        length: usize,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<Outcome, Refused> {
        self.group.go(GroupEvent::Begun);
        let Some(names) = bind_names(input.unread(), length)? else { return Ok(Outcome::Incomplete(length)) };
        let statement = self.client.names.get(&names.1);
        if self.binding_waits(&names.1, statement) {
            return Ok(Outcome::AwaitsReplies);
        }
        let planned = statement.filter(|statement| OnPlans::may_be_any(&statement.facts)).cloned();
        if let Some(reason) = planned.as_ref().and_then(|statement| statement.facts.session_state) {
            self.may_leave(Some(reason));
        }
        if let Some(statement) = planned {
            self.make_plans_within(&statement.text(), &statement.facts, server, output);
        }
        if self.plans.are() {
            let text = self.client.names.get(&names.1).map(|statement| statement.text().into_owned());
            let text = text.unwrap_or_default();
            self.check_plans(&text, server, output);
        }
        match self.check(&names.1, server, output) {
            Checked::Fits(prepared) => {
                self.counters.bound += 1;
                self.bind(names, prepared, length, input, server, output);
            }
            Checked::Waits => return Ok(Outcome::AwaitsReplies),
            // The server skips what comes after it in its group.
            Checked::Differs => self.to_server = Partial::Skip(length),
        }
        Ok(Outcome::Handled)
    }

    fn execute(
        &mut self,
        length: usize,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<Outcome, Refused> {
        self.group.go(GroupEvent::Begun);
        if self.plans.are() {
            let Some(message) = input.unread().get(..length) else { return Ok(Outcome::Incomplete(length)) };
            let (portal, _) = name_of(&message[5..]).ok_or_else(|| malformed("Execute"))?;
            let text = self.bound_text(portal);
            // The server may have reported a setting since Bind, and it may be BEGIN, or a CALL that commits.
            if text.as_deref().is_none_or(is_query) {
                self.check_plans(text.as_deref().unwrap_or(UNKNOWN_TEXT), server, output);
            }
        }
        self.plans.are_unused = false;
        if self.in_flight.awaited.is_empty() {
            self.expect(Expected::Execute);
            self.to_server = Partial::pass_on(length);
            let bound = std::mem::take(&mut self.plans.bound);
            self.note_plans(bound, server);
            return Ok(Outcome::Handled);
        }
        let Some(message) = input.unread().get(..length) else { return Ok(Outcome::Incomplete(length)) };
        let (portal, _) = name_of(&message[5..]).ok_or_else(|| malformed("Execute"))?;
        let at = self.in_flight.awaited.iter().position(|(awaited, _)| awaited == portal);
        output.tail().extend_from_slice(message);
        input.consume(length);
        self.expect(Expected::Execute);
        let bound = std::mem::take(&mut self.plans.bound);
        self.note_plans(bound, server);
        if let Some(at) = at {
            let (_, statement) = self.in_flight.awaited.swap_remove(at);
            self.in_flight.deallocating = self.deallocated(&statement);
            self.takes_effect(&statement.facts.effects);
            self.restore(&statement.facts.effects.resets, server, output);
            frontend::flush(output.tail());
        }
        Ok(Outcome::Handled)
    }

    /// The text that a portal has been bound from, if that is known.
    fn bound_text(&self, name: &[u8]) -> Option<String> {
        let is_meant = |portal: &&Portal| portal.name == name;
        let sent = self.in_flight.replies.iter().filter_map(|expected| match expected {
            Expected::Bind(portal) => Some(portal),
            _ => None,
        });
        let portal = sent.filter(is_meant).last().or_else(|| self.in_flight.portals.get(name))?;
        portal.statement.as_ref().map(|statement| statement.text().into_owned())
    }

    /// A message that is read as a whole.
    fn whole(
        &mut self,
        tag: u8,
        length: usize,
        input: &mut ReadBuffer,
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<Outcome, Refused> {
        if tag != client::QUERY {
            self.group.go(GroupEvent::Begun);
        }
        if length > WHOLE_MESSAGE {
            let name = client::name(tag).unwrap_or_default();
            return Err(Refused::TooLarge(format!(
                "a {name} message of {length} bytes is larger than the daemon passes on ({WHOLE_MESSAGE})"
            )));
        }
        let Some(message) = input.unread().get(..length) else { return Ok(Outcome::Incomplete(length)) };
        let body = &message[5..];
        if self.must_wait(tag, body, server) {
            return Ok(Outcome::AwaitsReplies);
        }
        if self.plans.are() && matches!(tag, client::QUERY | client::PARSE) {
            let sql = if tag == client::QUERY { Some(body) } else { name_of(body).map(|(_, rest)| rest) };
            let sql = sql.and_then(name_of).map_or(&b""[..], |(sql, _)| sql);
            let text = text_of(sql);
            // Of a script that can be read in two ways it is not known where something may be put in.
            let is_unclear = tag == client::QUERY && script(&text).is_none();
            self.check_plans(if is_unclear { UNKNOWN_TEXT } else { &text }, server, output);
        }
        // What follows a Close in its group may be a CALL that commits, which nothing may precede in its transaction, or SET
        // TRANSACTION: whether one is open is known when all is answered.
        if self.plans.are() && !self.group.is_open() && matches!(tag, client::CLOSE | client::DESCRIBE) {
            if self.in_flight.replies.are_owed() && !server.copies_in {
                return Ok(Outcome::AwaitsReplies);
            }
            if server.is_idle() {
                self.check_plans(UNKNOWN_TEXT, server, output);
            }
        }
        if tag == client::PARSE && self.validates(input.unread(), body, server, output) {
            return Ok(Outcome::AwaitsReplies);
        }
        let message = message.to_vec();
        input.consume(length);
        let body = &message[5..];
        match tag {
            client::QUERY => self.query(&message, server, output)?,
            client::PARSE => {
                let (name, rest) = name_of(body).ok_or_else(|| malformed("Parse"))?;
                let (sql, _) = name_of(rest).ok_or_else(|| malformed("Parse"))?;
                // One that is known was read when it was made.
                let statement = self.found.take().unwrap_or_else(|| own(rest));
                self.note(&text_of(sql), &statement.facts, server)?;
                if OnPlans::may_be_any(&statement.facts) {
                    self.make_plans_within(&text_of(sql), &statement.facts, server, output);
                }
                self.parsed += 1;
                self.parse(name, rest, statement, server, output);
            }
            _ => self.describe_or_close(tag, &message, server, output)?,
        }
        Ok(Outcome::Handled)
    }

    fn query(&mut self, message: &[u8], server: &mut ServerState, output: &mut WriteBuffer) -> Result<(), Refused> {
        let body = &message[5..];
        let text = body.strip_suffix(b"\0").unwrap_or(body);
        let sql = text_of(text);
        let facts = facts_of(&sql);
        self.note(&sql, &facts, server)?;
        server.prepared.set_unnamed(None);
        let on_plans = OnPlans::of(&sql, &facts);
        if on_plans != OnPlans::Nothing {
            // Of a script that can be read in two ways it is not known where something may be put in.
            match script(&sql).as_deref() {
                Some([first, _, ..]) => self.make_plans_within(first, &facts_of(first), server, output),
                Some(_) => self.make_plans_within(&sql, &facts, server, output),
                None => self.make_plans_within(DO, &facts, server, output),
            }
        }
        self.plans.are_unused = false;
        let needs_nothing = on_plans == OnPlans::Nothing && !self.plans.is_to_be_compared;
        let restored = match facts.effects.resets.is_empty() {
            true if needs_nothing || !is_several(&sql) => None,
            _ => self.spliced(std::str::from_utf8(text).ok(), &facts, server),
        };
        let effects = facts.effects;
        let mut spliced = None;
        let deallocated = if effects.deallocates { self.deallocated_by(&sql) } else { None };
        match (deallocated, restored) {
            (Some(name), _) => self.deallocate(name, output),
            (None, Some((sql, parts))) => {
                frontend::query(output.tail(), "", &sql);
                spliced = Some(Box::new(parts));
            }
            (None, None) => {
                match Some(&sql).filter(|_| effects.deallocates).and_then(|sql| self.deallocating_nothing(sql)) {
                    Some(sql) => frontend::query(output.tail(), "", &sql),
                    None => output.tail().extend_from_slice(message),
                }
            }
        }
        self.takes_effect(&effects);
        let change = Change { name: Vec::new(), to: None };
        self.client.names.sent(&change, self.group.number());
        self.note_plans(on_plans, server);
        server.is_unfinished |= self.group.is_open();
        self.end_group(GroupEvent::Query, Expected::Query(change, spliced));
        Ok(())
    }

    fn describe_or_close(
        &mut self,
        tag: u8,
        message: &[u8],
        server: &mut ServerState,
        output: &mut WriteBuffer,
    ) -> Result<(), Refused> {
        let [target, name @ ..] = &message[5..] else { return Err(malformed("Describe or Close")) };
        let (name, _) = name_of(name).ok_or_else(|| malformed("Describe or Close"))?;
        match (*target == StatementOrPortal::Statement as u8, tag) {
            (true, client::CLOSE) => self.close(name, output),
            (true, _) => self.describe(name, server, output),
            (false, tag) => {
                output.tail().extend_from_slice(message);
                let portal = name.to_vec();
                let is_close = tag == client::CLOSE;
                self.expect(if is_close { Expected::ClosePortal(portal) } else { Expected::DescribePortal(portal) });
            }
        }
        Ok(())
    }

    /// Notes what a text leaves behind. A setting follows its client if the server reports it and anybody may set it;
    /// others, like session_authorization, do not.
    fn note(&mut self, sql: &str, facts: &Facts, server: &mut ServerState) -> Result<(), Refused> {
        if self.refuses_transactions && begins_block(sql) {
            return Err(Refused::Transaction);
        }
        let was_pinned = self.client.pinned.is_some();
        // Of all others it is known that they leave nothing, whatever this server reports.
        if !was_pinned && (facts.session_state.is_some() || facts.effects.settings) {
            let follows = |name: &str| {
                is_settable(name) && server.parameters.keys().any(|known| known.eq_ignore_ascii_case(name))
            };
            self.client.pinned = session_state_of(sql, follows);
        }
        if self.client.pinned.is_some() {
            self.note_pinned(sql, facts, !was_pinned);
            // What outlasts DISCARD ALL is a part of what is left.
            server.spoiled = server.spoiled.or(facts.outlasts_discard);
        }
        Ok(())
    }
}

/// Of a portal that is executed it is not known here which statement it has, nor what a text does that can be read in two ways.
const UNKNOWN_TEXT: &str = "a portal";

/// So is a text of which it is not known.
const DO: &str = "do";

/// A function of which nothing but its number is known.
const FUNCTION_CALL: &str = "a FunctionCall";

/// Bytes of a FunctionCall up to the end of the function's oid.
const FUNCTION_BYTES: usize = 9;

/// The functions of large objects (`pg_proc.dat`), which leave nothing after their transaction.
const LARGE_OBJECTS: [u32; 20] =
    [715, 764, 765, 767, 952, 953, 954, 955, 956, 957, 958, 964, 1004, 3170, 3171, 3172, 3457, 3458, 3459, 3460];

/// Returns true if a FunctionCall is one of a large object, as clients send them.
fn is_large_object(start: &[u8]) -> bool {
    let oid = start.get(5..FUNCTION_BYTES).and_then(|oid| oid.try_into().ok()).map(u32::from_be_bytes);
    oid.is_some_and(|oid| LARGE_OBJECTS.contains(&oid))
}

fn malformed(message: &str) -> Refused {
    Refused::Malformed(format!("a {message} message is too short"))
}
