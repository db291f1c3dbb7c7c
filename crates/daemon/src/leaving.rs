//! Whether clients have to leave, because the daemon is about to end.

use crate::replies::{DRAINING, Ended, KILLED};
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// Which clients have to leave. None has to within a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leaving {
    /// None.
    #[default]
    Nobody,
    /// Those that have been idle for so long: another daemon serves who connects again. A pool that has checked a
    /// connection uses it at once, and is not to find it closed.
    Idle(Duration),
    /// All, because another daemon serves who connects again.
    Moved,
    /// All, because this one ends.
    All,
}

/// It, as a task of a client receives it.
pub type LeavingReceiver = watch::Receiver<Leaving>;

/// Waits, as long as the client is idle, until it has to leave; returns what it is told.
pub async fn due(left: &mut LeavingReceiver) -> Ended {
    loop {
        let now = *left.borrow_and_update();
        match now {
            Leaving::Nobody => {}
            Leaving::Idle(least) => {
                // In a box: a client that is idle must not need memory for a timer that it does not have.
                let idle = Box::pin(sleep(least));
                tokio::select! {
                    biased;
                    () = idle => return taken_over(),
                    changed = left.changed() => if changed.is_err() { return pending().await },
                }
                continue;
            }
            Leaving::Moved => return taken_over(),
            Leaving::All => return Ended::of_all(DRAINING, "headraced: the daemon is shutting down: connect again"),
        }
        if left.changed().await.is_err() {
            return pending().await;
        }
    }
}

fn taken_over() -> Ended {
    Ended::of_all(KILLED, "headraced: another daemon has taken over; connect again")
}
