//! A prepared SQLite statement that may survive the call that made it, as a cursor of the protocol does.

use std::rc::Rc;

use headrace_simulator_common::sqlite::Failure;
use rusqlite::Connection;
use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator;
use rusqlite::types::{Value, ValueRef};
use self_cell::{MutBorrow, self_cell};

type Compiled<'a> = rusqlite::Statement<'a>;
type Rows<'a> = rusqlite::Rows<'a>;

self_cell!(
    struct Owned {
        owner: Rc<Connection>,
        #[covariant]
        dependent: Compiled,
    }
);

self_cell!(
    struct Running {
        owner: MutBorrow<Owned>,
        #[covariant]
        dependent: Rows,
    }
);

enum State {
    Idle(Owned),
    Running(Running),
}

/// A statement; it keeps its connection alive.
pub struct Statement {
    /// Nothing only while it changes from one to the other.
    state: Option<State>,
}

impl Statement {
    /// Prepares one statement.
    pub fn prepare(connection: &Rc<Connection>, sql: &str) -> Result<Self, Failure> {
        let owned = Owned::try_new(Rc::clone(connection), |connection| connection.prepare(sql))?;
        Ok(Self { state: Some(State::Idle(owned)) })
    }

    /// Back to before the first row, so that it can be bound and run again.
    pub fn reset(&mut self) {
        if let Some(State::Running(running)) = self.state.take_if(|state| matches!(state, State::Running(_))) {
            self.state = Some(State::Idle(running.into_owner().into_inner()));
        }
    }

    /// Binds the parameters; those that the statement does not use are ignored.
    pub fn bind(&mut self, values: &[Value]) -> Result<(), Failure> {
        self.reset();
        let Some(State::Idle(owned)) = &mut self.state else { return Ok(()) };
        owned.with_dependent_mut(|_, statement| {
            let count = statement.parameter_count();
            for (index, value) in values.iter().take(count).enumerate() {
                statement.raw_bind_parameter(index + 1, value)?;
            }
            Ok(())
        })
    }

    /// Runs a statement that returns no rows; returns the number of changed rows.
    pub fn run(&mut self) -> Result<usize, Failure> {
        self.reset();
        let Some(State::Idle(owned)) = &mut self.state else { return Ok(0) };
        Ok(owned.with_dependent_mut(|_, statement| statement.raw_execute())?)
    }

    /// Steps to the next row; false at the end.
    pub fn step(&mut self) -> Result<bool, Failure> {
        self.state = match self.state.take() {
            Some(State::Idle(owned)) => Some(State::Running(Running::new(MutBorrow::new(owned), |owned| {
                owned.borrow_mut().with_dependent_mut(|_, statement| statement.raw_query())
            }))),
            state => state,
        };
        match &mut self.state {
            Some(State::Running(running)) => {
                Ok(running.with_dependent_mut(|_, rows| rows.next().map(|row| row.is_some()))?)
            }
            _ => Ok(false),
        }
    }

    /// The current row.
    pub fn row(&self) -> Option<&rusqlite::Row<'_>> {
        match &self.state {
            Some(State::Running(running)) => running.borrow_dependent().get(),
            _ => None,
        }
    }

    /// A value of the current row, valid until the next step; NULL if there is none.
    pub fn value(&self, index: usize) -> ValueRef<'_> {
        self.row().and_then(|row| row.get_ref(index).ok()).unwrap_or(ValueRef::Null)
    }
}
