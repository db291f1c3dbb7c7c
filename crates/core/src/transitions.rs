//! State machines whose transitions are a table: it is declared once, checked at each change of state in debug builds,
//! and printed for the documentation.
//!
//! A machine has an enum for its states, each with the data that is valid only in it, and one function that changes the
//! state. The table uses the [`Name`]s of states and events, which [`names!`](crate::names) declares. Tests record
//! which rows are taken with [`observe`], so that a row that no test takes is noticed.

use std::fmt::Write as _;
use std::sync::OnceLock;

/// A state or an event without its data.
pub trait Name: Copy + PartialEq + 'static {
    /// All of them, in the order of their declaration.
    const ALL: &'static [Self];

    /// The name in the table.
    fn name(self) -> &'static str;
    /// The meaning, for the documentation.
    fn meaning(self) -> &'static str;
}

/// Declares an enum of states or events, each with its meaning, and implements [`Name`](transitions::Name) for it.
#[macro_export]
macro_rules! names {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident {
        $($(#[$of_variant:meta])* $variant:ident = $meaning:literal,)+
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $(#[doc = $meaning] $(#[$of_variant])* $variant,)+
        }

        impl $crate::transitions::Name for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                }
            }

            fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)+
                }
            }
        }
    };
}

/// The rows of a [`Transitions`](transitions::Transitions): `(Open | Failed, Ended, Idle)` are two of them.
#[macro_export]
macro_rules! rows {
    ($(($($from:ident)|+, $event:expr, $to:ident),)+) => {
        &[$($(($from, $event, $to),)+)+]
    };
}

/// The transitions of a state machine: a state, an event and the state that follows.
#[derive(Debug)]
pub struct Transitions<S: 'static, E: 'static> {
    /// A name that no other table has.
    pub machine: &'static str,
    /// The rows. A transition that is not among them does not happen.
    pub rows: &'static [(S, E, S)],
}

/// A function that is called with each row that is taken: the name of the machine and the number of the row.
pub type Observer = fn(&'static str, usize);

static OBSERVER: OnceLock<Observer> = OnceLock::new();

/// Calls `observer` for every row that is taken from now on, in the thread that takes it; in debug builds only. The
/// first observer stays.
pub fn observe(observer: Observer) {
    let _ = OBSERVER.set(observer);
}

impl<S: Name, E: Name> Transitions<S, E> {
    /// Checks in debug builds that the table has this row. Costs nothing in others.
    ///
    /// # Panics
    /// If the transition is not in the table, in debug builds.
    #[inline]
    pub fn take(&self, from: S, event: E, to: S) {
        if cfg!(debug_assertions) {
            self.check(from, event, to);
        }
    }

    #[cold]
    fn check(&self, from: S, event: E, to: S) {
        let Some(row) = self.rows.iter().position(|row| *row == (from, event, to)) else {
            panic!(
                "{}: {} becomes {} at {}, which its table does not have",
                self.machine,
                from.name(),
                to.name(),
                event.name()
            );
        };
        if let Some(observer) = OBSERVER.get() {
            observer(self.machine, row);
        }
    }

    /// A row as text.
    pub fn show(&self, row: usize) -> String {
        let (from, event, to) = self.rows[row];
        format!("{} at {}: {}", from.name(), event.name(), to.name())
    }

    /// The states and the transitions as Markdown. Adjacent rows that differ only in the first state are merged.
    pub fn markdown(&self) -> String {
        let mut out = String::from("| state | |\n|---|---|\n");
        for state in S::ALL {
            let _ = writeln!(out, "| {} | {} |", state.name(), state.meaning());
        }
        out += "\n| from | event | to |\n|---|---|---|\n";
        for rows in self.rows.chunk_by(|(_, event, to), next| (event, to) == (&next.1, &next.2)) {
            let from: Vec<&str> = rows.iter().map(|(from, ..)| from.name()).collect();
            let (_, event, to) = rows[0];
            let _ = writeln!(out, "| {} | {} | {} |", from.join(", "), event.meaning(), to.name());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    names! {
        /// A door.
        enum Door {
            Open = "one can go through",
            Shut = "one cannot",
        }
    }

    names! {
        enum Hand {
            Pull = "it is pulled",
            Push = "it is pushed",
        }
    }

    static DOOR: Transitions<Door, Hand> = {
        use Door::*;
        Transitions { machine: "door", rows: rows![(Open | Shut, Hand::Pull, Shut), (Shut, Hand::Push, Open),] }
    };

    #[test]
    fn a_table_is_printed_with_its_descriptions() {
        let expected = "| state | |\n|---|---|\n| Open | one can go through |\n| Shut | one cannot |\n\n\
            | from | event | to |\n|---|---|---|\n| Open, Shut | it is pulled | Shut |\n| Shut | it is pushed | Open |\n";
        assert_eq!(DOOR.markdown(), expected);
        DOOR.take(Door::Shut, Hand::Push, Door::Open);
    }

    #[test]
    #[cfg_attr(not(debug_assertions), ignore = "checked in debug builds only")]
    #[should_panic(expected = "door: Open becomes Open at Push, which its table does not have")]
    fn what_the_table_does_not_have_is_found_in_debug_builds() {
        DOOR.take(Door::Open, Hand::Push, Door::Open);
    }
}
