//! How the statement of a client is cancelled.

use super::backend::Backend;
use super::handler::Handler;
use super::requests::{ROOM, plain};
use super::server::{Pool, Server};
use super::session::Session;
use crate::limits::{CANCEL_AGAIN, RESET_TIMEOUT};
use crate::lock;
use headrace_connection::Connection;
use headrace_core::{Cancellation, Fatal, Interrupt};
use headrace_io::TcpOptions;
use headrace_io::tokio::cancel as send_cancel;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How soon a cancel request is tried again that the server cannot take yet.
const SOON: Duration = Duration::from_millis(20);

impl<B: Backend> Session<'_, B> {
    /// Cancels the statement that runs, or tries to. Nothing else is started meanwhile.
    pub(super) async fn cancel_statement(&mut self) {
        let Some(lent) = &mut self.lent else { return };
        if lent.server.client.connection.machine.is_idle() {
            self.cancelling = Some(Instant::now() + SOON);
            return;
        }
        lent.server.client.connection.machine.pause();
        let sent = timeout(RESET_TIMEOUT, try_to_cancel(&mut lent.server, &self.pool)).await;
        let later = matches!(sent, Ok(Ok(Sent::NotYet)));
        self.cancelling = Some(Instant::now() + if later { SOON } else { CANCEL_AGAIN });
        lent.server.client.connection.machine.cancel_sent();
        lent.server.client.connection.machine.unpause();
    }
}

/// What became of a cancel request.
enum Sent {
    /// The server has it, or does not need it.
    Done,
    /// The server cannot take it yet.
    NotYet,
}

/// Cancels what a session works on.
///
/// # Errors
/// [`Fatal`]: the server was not reached.
pub(super) async fn cancel<B: Backend>(server: &mut Server<B>, pool: &Pool<B>) -> Result<(), Fatal> {
    while let Sent::NotYet = try_to_cancel(server, pool).await? {
        tokio::time::sleep(SOON).await;
    }
    Ok(())
}

/// Cancels what a session works on until `done` returns true, with as many requests as that takes.
///
/// # Errors
/// [`Fatal`]: the server was not reached, or the connection has ended.
pub(super) async fn cancel_until<B: Backend>(
    server: &mut Server<B>,
    pool: &Pool<B>,
    mut done: impl FnMut(&mut Connection<B>) -> bool,
) -> Result<(), Fatal> {
    loop {
        cancel(server, pool).await?;
        if let Ok(driven) = timeout(CANCEL_AGAIN, server.client.drive((), &mut done)).await {
            return driven.map(drop);
        }
    }
}

/// Sends one request, in the way that its protocol has.
async fn try_to_cancel<B: Backend>(server: &mut Server<B>, pool: &Pool<B>) -> Result<Sent, Fatal> {
    let client = &mut server.client;
    if client.connection.machine.only_fetches() {
        return Ok(Sent::Done);
    }
    match client.connection.machine.cancellation() {
        Cancellation::Impossible => {}
        Cancellation::Message(message) => send_cancel(&server.address, &TcpOptions::default(), message).await?,
        Cancellation::Statement(statement) => {
            let mut other = server.open_beside(pool).await?;
            let (handler, slot) = Handler::new(Vec::new(), plain(), ROOM);
            other.connection.machine.submit(B::execute(statement.into(), true), handler);
            other.drive((), |_| lock(&slot).outcome.is_some()).await?;
            other.close(());
        }
        Cancellation::UrgentByte(byte) => match client.connection.machine.interrupt(Instant::now()) {
            Interrupt::Send => client.urge(byte).map_err(|error| Fatal::gone(error.to_string()))?,
            Interrupt::Needless => {}
            Interrupt::Later => return Ok(Sent::NotYet),
        },
    }
    Ok(Sent::Done)
}

/// Waits until then; for ever without a time.
pub(super) async fn at(then: Option<Instant>) {
    match then {
        Some(then) => tokio::time::sleep_until(then.into()).await,
        None => std::future::pending().await,
    }
}
