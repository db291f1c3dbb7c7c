//! The login of a client that comes over TCP: SCRAM-SHA-256, bound to TLS where there is TLS. No other method is
//! offered, so that no password is ever sent.

use crate::client::Client;
use crate::hub::Hub;
use crate::replies::{self, Ended, PROTOCOL_VIOLATION, UNREACHABLE, WRONG_PASSWORD};
use crate::scram::{Exchange, Refusal, Verifier, mechanisms};
use crate::startup::sasl_initial;
use headrace_postgres::messages::tag::authentication;

/// Who has let a client in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The configuration, which has what it may use.
    Account,
    /// The server of its database, which it may use.
    Server,
}

/// What authenticates a client.
enum Known {
    /// The configuration has it, with a password; and has checked its certificate, if it needs one.
    Account(Verifier),
    /// The same without a password: the certificate is enough.
    Certificate,
    /// The server of its database has it, or no password by which this user may log in.
    Server(Option<Verifier>),
    /// Nobody.
    Unknown,
}

impl Client {
    /// Has a client prove that it is `user`: one of the configuration's clients, or a user of the server of `database`,
    /// if that is asked.
    ///
    /// # Errors
    /// [`Ended`]: it is not. The error for a user that does not exist, and for a certificate that is missing or
    /// another's, is that for a wrong password.
    pub(crate) async fn log_in(&mut self, hub: &Hub, user: &str, database: &str) -> Result<Admission, Ended> {
        let known = self.known(hub, user, database).await?;
        let (verifier, admission) = match known {
            Known::Certificate => return Ok(Admission::Account),
            Known::Account(verifier) => (verifier, Admission::Account),
            Known::Server(Some(verifier)) => (verifier, Admission::Server),
            Known::Server(None) => (Verifier::of_nobody(user, &hub.unknown_users), Admission::Server),
            Known::Unknown => (Verifier::of_nobody(user, &hub.unknown_users), Admission::Account),
        };
        let proved = self.prove(user, verifier).await;
        if proved.is_err() && admission == Admission::Server {
            hub.verifiers.forget(database, user);
        }
        proved.map(|()| admission)
    }

    async fn known(&self, hub: &Hub, user: &str, database: &str) -> Result<Known, Ended> {
        let config = hub.config();
        if let Some(account) = config.clients.get(user) {
            let certificate = self.buffers.tls().and_then(|tls| tls.client_name());
            return Ok(match account.verifier() {
                _ if !account.accepts(certificate.as_deref()) => Known::Unknown,
                Some(verifier) => Known::Account(verifier.clone()),
                None => Known::Certificate,
            });
        }
        let Some(of_server) = config.databases.get(database) else { return Ok(Known::Unknown) };
        let found = hub.verifiers.of(database, of_server, user).await;
        // An error of the server's own is for operators, who find it in the log.
        let found = found.map_err(|reason| {
            tracing::error!(database, reason = %reason.fatal, "the server cannot be asked for a password");
            Ended::new(UNREACHABLE, "headraced: the server cannot be asked for the password (auth_query)")
        })?;
        Ok(match of_server.auth_query {
            Some(_) => Known::Server(found),
            None => Known::Unknown,
        })
    }

    /// SCRAM-SHA-256.
    async fn prove(&mut self, user: &str, verifier: Verifier) -> Result<(), Ended> {
        let end_point = self.buffers.tls().and_then(|tls| tls.tls_server_end_point());
        let refused = |refusal| match refusal {
            Refusal::Malformed(what) => Ended::new(PROTOCOL_VIOLATION, format!("headraced: {what}")),
            Refusal::Wrong => {
                Ended::new(WRONG_PASSWORD, format!("headraced: password authentication failed for user {user:?}"))
            }
        };
        replies::ask_sasl(self.buffers.write_buffer.tail(), mechanisms(end_point.is_some()));
        let initial = self.response().await?;
        let (mechanism, first) = sasl_initial(&initial)
            .ok_or_else(|| Ended::new(PROTOCOL_VIOLATION, "headraced: a SASLInitialResponse is malformed"))?;
        let exchange = Exchange::begin(mechanism, first, end_point.as_deref(), verifier).map_err(refused)?;
        let output = self.buffers.write_buffer.tail();
        replies::sasl(output, authentication::SASL_CONTINUE, exchange.challenge());
        let last = self.response().await?;
        let proof = exchange.finish(&last).map_err(refused)?;
        replies::sasl(self.buffers.write_buffer.tail(), authentication::SASL_FINAL, &proof);
        Ok(())
    }
}
