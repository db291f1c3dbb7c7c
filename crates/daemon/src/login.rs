//! The login of a client that comes over TCP: SCRAM-SHA-256, bound to TLS where there is TLS. No other method is
//! offered, so that no password is ever sent.

use crate::client::Client;
use crate::config::Account;
use crate::hub::Hub;
use crate::replies::{self, Ended, PROTOCOL_VIOLATION, WRONG_PASSWORD};
use crate::scram::{Exchange, Refusal, Verifier, mechanisms};
use crate::startup::sasl_initial;
use headrace_postgres::messages::tag::authentication;

impl Client {
    /// Has a client prove that it is `user`, one of the configuration's clients.
    ///
    /// # Errors
    /// [`Ended`]: it is not. The error for a user that does not exist is that for a wrong password.
    pub(crate) async fn log_in(&mut self, hub: &Hub, user: &str) -> Result<(), Ended> {
        let known = hub.config().clients.get(user).and_then(Account::verifier).cloned();
        let verifier = known.unwrap_or_else(|| Verifier::of_nobody(user, &hub.unknown_users));
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
