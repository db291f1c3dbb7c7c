//! Any bytes of a client, and of a server, into everything of the daemon that reads them before anybody is trusted: no
//! panic, and a text is divided into pieces of itself.
use headrace_core::{ReadBuffer, WriteBuffer};
use headrace_daemon::front::backend::{CubridDialect, InformixDialect, MySqlDialect};
use headrace_daemon::front::messages::{self, Message};
use headrace_daemon::front::parameter::parameter;
use headrace_daemon::front::sql::{Dialect, statement, statements};
use headrace_daemon::postgres::relay::{Relay, ServerState};
use headrace_daemon::scram::{Exchange, Verifier};
use headrace_daemon::startup;
use headrace_postgres::types::{Format, TypeRegistry};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Statements that a server connection keeps: few, so that some are closed.
const STATEMENTS: usize = 2;

/// A part of the input as a message: a fuzzer would take long to find lengths.
fn message(data: &mut &[u8]) -> Option<(bool, Vec<u8>)> {
    let [tag, len, rest @ ..] = *data else { return None };
    let body = &rest[..rest.len().min(usize::from(len & 0x3F))];
    *data = &rest[body.len()..];
    let length = if len & 0x40 == 0 { body.len() as u32 + 4 } else { u32::from(*len) };
    Some((len & 0x80 != 0, [&[*tag][..], &length.to_be_bytes(), body].concat()))
}

fn relayed(mut data: &[u8]) {
    let mut relay = Relay::new(Arc::default(), BTreeMap::from([("TimeZone".into(), "UTC".into())]));
    let mut server = ServerState::new(BTreeMap::from([("TimeZone".into(), "GMT".into())]), STATEMENTS);
    let (mut from_client, mut from_server) = (ReadBuffer::new(), ReadBuffer::new());
    let (mut to_client, mut to_server) = (WriteBuffer::new(), WriteBuffer::new());
    relay.adapt(&mut server, &mut to_server);
    while let Some((of_server, bytes)) = message(&mut data) {
        if of_server {
            from_server.extend(&bytes);
            if relay.from_server(&mut from_server, &mut server, &mut to_client).is_err() {
                return;
            }
        } else {
            from_client.extend(&bytes);
            if relay.from_client(&mut from_client, &mut server, &mut to_server).is_err() {
                return;
            }
        }
        relay.settle(&server, &mut to_client);
    }
    let _ = relay.cancelled(&from_client, &mut to_client);
    let _ = relay.pass_over(&mut from_client, &mut to_client);
}

/// A login, of whose verifier every byte is the fuzzer's: nobody gets in who has not computed a proof.
fn logged_in(data: &[u8]) {
    let (first, last) = data.split_at(data.len() / 2);
    let _ = std::str::from_utf8(first).map(|text| Verifier::of(&format!("SCRAM-SHA-256${text}")));
    let Some((mechanism, message)) = startup::sasl_initial(first) else { return };
    for end_point in [None, Some(last)] {
        if let Ok(exchange) = Exchange::begin(mechanism, message, end_point, Verifier::of_nobody("", &[0; 32])) {
            assert!(exchange.finish(last).is_err(), "a proof was guessed");
        }
    }
}

/// Reads bytes in every way.
pub fn read(data: &[u8]) {
    let [choice, oid, rest @ ..] = data else { return };
    let _ = (startup::first(rest), startup::password(rest), startup::response(rest));
    logged_in(rest);
    let _ = (messages::length(rest), Message::read(rest));
    let mut left = rest;
    while let Some((_, bytes)) = message(&mut left) {
        let _ = Message::read(&bytes);
    }
    relayed(rest);
    let format = if choice & 1 == 0 { Format::Text } else { Format::Binary };
    let _ = parameter(&TypeRegistry::default(), u32::from(*oid) * 8 + u32::from(choice >> 1), format, Some(rest));
    let text = String::from_utf8_lossy(rest);
    let dialects: [&dyn Dialect; 3] = [&MySqlDialect::default(), &InformixDialect, &CubridDialect];
    for dialect in dialects {
        for part in statements(dialect, &text) {
            let _ = statement(dialect, &text[part], &[u32::from(*oid)]);
        }
    }
}
