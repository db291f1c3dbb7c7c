//! PostgreSQL's errors: it sends a SQLSTATE with each.

use crate::messages::backend::ServerError;
use crate::messages::tag::field;
use headrace_core::{Condition, Diagnostics};
use std::borrow::Cow;

impl Diagnostics for ServerError {
    fn condition(&self) -> Condition {
        Condition::of_sqlstate(self.sqlstate())
    }

    fn message(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self.field(field::MESSAGE) {
            "" => "the server sent no message",
            message => message,
        })
    }
}
