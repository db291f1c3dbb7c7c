//! Conversations with the machine, whose server is the test.

mod batches;
mod calls;
mod cursors;
mod documents;
mod joined;
mod opening;
mod release;
mod replay;
mod statements;
mod texts;
mod transitions;
