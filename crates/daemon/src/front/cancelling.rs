//! How the statement of a client is cancelled.

use super::backend::Backend;
use super::handler::Handler;
use super::requests::plain;
use super::server::{Pool, Server};
use super::session::FrontSession;
use crate::limits::{CANCEL_AGAIN, RESET_TIMEOUT};
use crate::limits::{CANCEL_SOON, FRONT_WAITING_BYTES};
use crate::lock;
use headrace_connection::Connection;
use headrace_core::Fatal;
use headrace_drivers::Repeats;
use headrace_io::tokio::Client;
use headrace_io::{CancelSent, TcpOptions};
use std::time::Instant;
use tokio::time::timeout;

impl<B: Backend> FrontSession<'_, B> {
    /// Cancels the statement that runs, or tries to. Nothing else is started meanwhile.
    pub(super) async fn cancel_statement(&mut self) {
        let Some(lent) = &mut self.lent else { return };
        if lent.server.client.connection.machine.is_idle() {
            self.cancelling = Some(Instant::now() + CANCEL_SOON);
            return;
        }
        lent.server.client.connection.machine.pause();
        let mut is_doubtful = false;
        let sent = timeout(RESET_TIMEOUT, try_to_cancel(&mut lent.server, &self.pool, &mut is_doubtful)).await;
        if is_doubtful {
            self.cancelling = None;
            lent.server.client.connection.end((), &Fatal::cancel_in_doubt());
            return;
        }
        let later = matches!(sent, Ok(Ok(false)));
        self.cancelling = Some(Instant::now() + if later { CANCEL_SOON } else { CANCEL_AGAIN });
        lent.server.client.connection.machine.cancel_sent();
        lent.server.client.connection.machine.unpause();
    }
}

/// Cancels what a session works on.
///
/// # Errors
/// [`Fatal`]: the server was not reached.
pub(super) async fn cancel<B: Backend>(server: &mut Server<B>, pool: &Pool<B>) -> Result<(), Fatal> {
    while !try_to_cancel(server, pool, &mut false).await? {
        tokio::time::sleep(CANCEL_SOON).await;
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

/// Sends one request, in the way that its protocol has; returns false if that has to be tried again. `is_doubtful` is true
/// while the server may have a request that it has not answered, also where that is not waited for any longer.
async fn try_to_cancel<B: Backend>(
    server: &mut Server<B>,
    pool: &Pool<B>,
    is_doubtful: &mut bool,
) -> Result<bool, Fatal> {
    match server.client.send_cancel(&server.address, &TcpOptions::default(), is_doubtful).await? {
        CancelSent::Done => Ok(true),
        CancelSent::Later => Ok(false),
        CancelSent::Statement(statement) => {
            let mut other = server.open_beside(pool).await?;
            let question = statement.question(other.connection.machine.process_id());
            let is_elsewhere = match question {
                Some(question) => has_rows(&mut other, question).await?,
                None => false,
            };
            if !is_elsewhere {
                *is_doubtful = true;
                has_rows(&mut other, statement.sql).await?;
                *is_doubtful = false;
            }
            other.close(());
            Ok(true)
        }
    }
}

/// Executes a statement; returns true if its result has rows.
async fn has_rows<B: Backend>(client: &mut Client<B>, sql: String) -> Result<bool, Fatal> {
    let (handler, slot) = Handler::new(Vec::new(), plain(), FRONT_WAITING_BYTES);
    client.connection.machine.submit(B::execute(sql.into(), Repeats::Once), handler);
    client.drive((), |_| lock(&slot).outcome.is_some()).await?;
    Ok(lock(&slot).rows > 0)
}

/// Waits until then; for ever without a time.
pub(super) async fn at(then: Option<Instant>) {
    match then {
        Some(then) => tokio::time::sleep_until(then.into()).await,
        None => std::future::pending().await,
    }
}
