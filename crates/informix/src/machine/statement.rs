//! Prepared statements and the plans made for them once.

use crate::capabilities::{Capabilities, Feature};
use crate::codeset::CodeSet;
use crate::lexer;
use crate::messages::client::ReturnType;
use crate::messages::kind;
use crate::messages::server::{Description, Field};
use crate::types::put::Plan;
use crate::types::{self, Decoder, code, decode::Inner};
use headrace_core::{Column, Described, Epoch, Prepared};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// The columns of a result, and the decoder of each.
#[derive(Debug)]
pub struct Columns {
    /// As the server describes them.
    pub fields: Vec<Field>,
    /// One decoder per column.
    pub decoders: Vec<Decoder>,
    /// The code set of their text.
    pub codeset: CodeSet,
    /// Some values are only named by a row and have to be fetched one by one.
    pub(super) large: bool,
    /// The types that SQ_RET_TYPE requests; empty if the server's own choice is right.
    pub(super) wanted: Vec<ReturnType>,
    described: Arc<[Column]>,
}

impl Described for Columns {
    fn columns(&self) -> &Arc<[Column]> {
        &self.described
    }
}

impl Columns {
    /// Plans for a row that is not the result of a statement: its values are all in it.
    pub(super) fn of_row(fields: Vec<Field>, decoders: Vec<Decoder>, codeset: CodeSet) -> Self {
        let described = types::columns(&fields, &decoders);
        Self { fields, decoders, codeset, large: false, wanted: Vec::new(), described }
    }

    /// Plans for a result.
    pub fn new(fields: Vec<Field>, capabilities: Capabilities, codeset: CodeSet) -> Self {
        let decoders: Vec<Decoder> = fields.iter().map(|field| Decoder::new(field, capabilities)).collect();
        let large = decoders.iter().any(Decoder::is_large);
        // BOOLEAN and locators have a shorter form that can be requested; the binary form of a collection, or of a
        // user-defined type, is not documented.
        let shorter = |d: &Decoder| matches!(d, Decoder::Envelope(Inner::Boolean | Inner::Locator(_)));
        let text = |d: &Decoder| !matches!(d, Decoder::Envelope(inner) if *inner != Inner::Text);
        let collections = fields.iter().any(|f| matches!(f.type_word & 0xff, code::SET..=code::COLLECTION));
        let readable = !collections && decoders.iter().all(|d| text(d) || shorter(d));
        let wanted = match readable && decoders.iter().any(shorter) {
            true => fields.iter().zip(&decoders).map(|(field, decoder)| return_type(field, decoder)).collect(),
            false => Vec::new(),
        };
        Self { described: types::columns(&fields, &decoders), fields, decoders, codeset, large, wanted }
    }
}

fn return_type(field: &Field, decoder: &Decoder) -> ReturnType {
    let type_code = field.type_word & 0xff;
    let (type_code, owner, name) = match (type_code, decoder) {
        (_, Decoder::Envelope(Inner::Locator(_))) => (code::SENDRECV, &*field.owner, &*field.type_name),
        (code::UDTVAR | code::LVARCHAR, _) => (code::LVARCHAR, "", ""),
        (code::UDTFIXED | code::BOOLEAN, _) => (code::BOOLEAN, "informix", "boolean"),
        (other, _) => (other, "", ""),
    };
    ReturnType { type_code, owner: owner.into(), name: name.into(), length: field.length }
}

/// A statement that the server has prepared.
#[derive(Debug)]
pub struct Statement {
    /// The server's number for it.
    pub id: u16,
    /// Its kind: see [`crate::messages::kind`].
    pub kind: u16,
    /// Its text.
    pub sql: Arc<str>,
    /// The number of its `?`.
    pub parameters: usize,
    epoch: Epoch,
    /// Its columns, `None` when it returns no rows.
    pub columns: Option<Arc<Columns>>,
    /// The columns that the parameters fill, if that is certain. For those of an UPDATE the server is queried.
    targets: OnceLock<Vec<Option<Field>>>,
    /// The encoder of its rows for an insert cursor, if one can take them.
    pub put: Option<Plan>,
    /// The text has several statements, any of which may begin or end a transaction.
    pub(super) several: bool,
    /// The server accepted rows by SQ_EXECUTE that it had refused by SQ_PUT.
    pub(super) put_refused: AtomicBool,
    /// Its rows took more than one block the last time, so the next blocks are requested together with the first.
    pub(super) long: AtomicBool,
}

impl Prepared for Statement {
    type Name = u16;

    fn name(&self) -> Option<u16> {
        Some(self.id)
    }

    fn sql(&self) -> &str {
        &self.sql
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}

impl Statement {
    pub(super) fn new(
        described: Description,
        sql: Arc<str>,
        epoch: Epoch,
        capabilities: Capabilities,
        codeset: CodeSet,
    ) -> Self {
        let parameters = lexer::count(&sql);
        let Description { mut kind, id, fields } = described;
        if kind == kind::ROLLBACK && lexer::rolls_back_to_savepoint(&sql) {
            kind = kind::SAVEPOINT;
        }
        let several = lexer::is_several(&sql);
        if several && matches!(kind, kind::BEGIN | kind::COMMIT | kind::ROLLBACK) {
            // SQ_XACTSTAT reports what the others do to the transaction.
            kind = kind::SEVERAL;
        }
        let rows = kind == kind::SELECT || (kind == kind::EXECUTE_PROCEDURE && !fields.is_empty());
        let mut put = None;
        let mut targets = OnceLock::new();
        let mut columns = None;
        if rows {
            columns = Some(Arc::new(Columns::new(fields, capabilities, codeset)));
        } else if kind == kind::INSERT && parameters > 0 {
            // Columns that are filled by something else than a parameter are described too.
            let marks =
                lexer::inserted(&sql).filter(|(marks, items)| (marks.len(), *items) == (parameters, fields.len()));
            let (marks, _) = marks.unwrap_or_default();
            if !marks.is_empty() && lexer::inserts_placeholders(&sql) {
                put = Plan::new(&fields);
            }
            targets = marks.into_iter().map(|mark| fields.get(mark?).cloned()).collect::<Vec<_>>().into();
        }
        let asks = matches!(kind, kind::UPDATE | kind::UPDATE_CURRENT | kind::UPDATE_ALL)
            && !several
            && capabilities.has(Feature::DescribeInput)
            && lexer::assigned(&sql).contains(&true);
        if !asks {
            targets.get_or_init(Vec::new);
        }
        Self {
            id,
            kind,
            sql,
            parameters,
            epoch,
            several,
            columns,
            targets,
            put,
            put_refused: AtomicBool::new(false),
            long: AtomicBool::new(false),
        }
    }

    /// The columns that the parameters fill, if that is certain.
    pub fn targets(&self) -> &[Option<Field>] {
        self.targets.get().map_or(&[], Vec::as_slice)
    }

    /// Returns true if the types of the parameters have to be queried.
    pub(super) fn lacks_targets(&self) -> bool {
        self.targets.get().is_none()
    }

    /// The server's description of the parameters. Those of a WHERE are only compared: a longer value is not truncated
    /// for them.
    pub(super) fn described_input(&self, fields: Vec<Field>) {
        self.targets.get_or_init(|| {
            let marks = lexer::assigned(&self.sql);
            let known = fields.len() == self.parameters && marks.len() == self.parameters;
            fields.into_iter().zip(marks).map(|(field, mark)| (mark && known).then_some(field)).collect()
        });
    }

    /// The same statement, prepared again as `described`; `None` if its table has changed meanwhile.
    pub(super) fn duplicate(&self, described: &Description) -> Option<Self> {
        let columns = self.columns.as_ref().filter(|columns| columns.fields == described.fields)?;
        (described.kind == self.kind).then(|| Self {
            id: described.id,
            kind: self.kind,
            sql: self.sql.clone(),
            parameters: self.parameters,
            epoch: self.epoch,
            several: self.several,
            columns: Some(columns.clone()),
            targets: Vec::new().into(),
            put: None,
            put_refused: AtomicBool::new(false),
            long: AtomicBool::new(false),
        })
    }

    /// Returns true if it is likely to be executed again. Other statements could also keep locks on their objects.
    pub(super) fn is_worth_keeping(&self) -> bool {
        matches!(
            self.kind,
            kind::SELECT
                | kind::UPDATE
                | kind::DELETE
                | kind::INSERT
                | kind::DELETE_ALL
                | kind::UPDATE_ALL
                | kind::EXECUTE_PROCEDURE
        )
    }

    /// Returns true if tables may be others after it: it defines something, or takes definitions back.
    pub(super) fn changes_definitions(&self) -> bool {
        matches!(
            self.kind,
            kind::SEVERAL
                | kind::CREATE_DATABASE..=kind::DROP_INDEX
                | kind::RENAME_TABLE
                | kind::RENAME_COLUMN
                | kind::ALTER_TABLE
                | kind::ROLLBACK
                | kind::SAVEPOINT
                | kind::CREATE_VIEW
                | kind::DROP_VIEW
                | kind::CREATE_SYNONYM..=kind::CREATE_TEMP_TABLE
                | kind::ALTER_INDEX
                | kind::CREATE_PROCEDURE
                | kind::DROP_PROCEDURE
                | kind::ALTER_FRAGMENT
                | kind::RENAME_DATABASE..=kind::ALTER_ROUTINE
        )
    }

    /// BEGIN, COMMIT and ROLLBACK, and statements that change the database: the driver sends no BEGIN before them.
    pub(super) fn is_control(&self) -> bool {
        matches!(self.kind, kind::BEGIN | kind::COMMIT | kind::ROLLBACK) || self.changes_database()
    }

    /// Returns true if another database is open after it, or none.
    pub(super) fn changes_database(&self) -> bool {
        matches!(self.kind, kind::DATABASE | kind::CREATE_DATABASE | kind::CLOSE_DATABASE)
    }
}
