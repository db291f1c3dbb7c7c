//! The code set of the database, which is queried at login and again after a statement that opens another database,
//! unless the user named it.

use super::request::{Expect, Group, Reply};
use super::statement::{Columns, Statement};
use super::{IfxHandler, Machine};
use crate::codeset::CodeSet;
use crate::limits as own;
use crate::messages::server::{Description, Message, read};
use crate::messages::{client, tag};
use crate::types;
use headrace_core::{Epoch, Fatal, FatalKind, WriteBuffer};
use std::sync::Arc;

/// The row of the catalogue that contains the database's locale.
pub(super) const QUERY: &str = "select FIRST 1 site from informix.systables where tabname = ' GL_COLLATE'";

/// The default locale of a database: en_US.8859-1.
pub(super) const DEFAULT: CodeSet = CodeSet::Latin1;

/// The query, in flight.
#[derive(Debug, Default)]
pub(super) struct Question {
    prepared: Option<(u16, Arc<Columns>)>,
    answer: Option<String>,
}

/// Opens the cursor of the prepared question and fetches its row.
pub(super) fn fetch(out: &mut Vec<u8>, id: u16) {
    client::id(out, id);
    client::curname(out, "_hr0000000000000");
    client::plain(out, tag::SQ_OPEN);
    client::id(out, id);
    client::nfetch(out, 4096);
    client::eot(out);
}

/// The locale in a row.
pub(super) fn in_row(columns: &Columns, row: &[u8]) -> Result<Option<String>, Fatal> {
    let mut text = FirstText::default();
    types::decode_row(&columns.decoders, DEFAULT, row, &mut std::iter::empty(), &mut text)?;
    Ok(text.0.map(|locale| locale.trim().to_owned()))
}

impl<H: IfxHandler> Machine<H> {
    /// Takes the code set that the user named, that of the locale, or the default.
    pub(super) fn settle_codeset(&mut self) -> Result<(), Fatal> {
        self.codeset = match (self.given_codeset, &self.locale) {
            (Some(codeset), _) => codeset,
            (None, Some(locale)) => CodeSet::of_locale(locale).ok_or_else(|| {
                Fatal::new(FatalKind::UnsupportedServer, format!(
                    "the database's locale is {locale:?}, a code set that headrace does not support; name an equivalent one \
                     with the setting codeset"
                ))
            })?,
            (None, None) => DEFAULT,
        };
        Ok(())
    }

    /// A statement that opens a database was sent: the query for its code set follows, as a part of the same request.
    pub(super) fn query_locale(&mut self, write_buffer: &mut WriteBuffer) {
        if self.given_codeset.is_none() {
            client::prepare(write_buffer.tail(), QUERY.as_bytes(), 0, self.capabilities);
            client::eot(write_buffer.tail());
            self.expect(Expect::LocalePrepare);
        }
    }

    pub(super) fn described_locale(&mut self, described: Description) {
        let statement = Statement::new(described, QUERY.into(), Epoch::default(), self.capabilities, DEFAULT);
        let prepared = statement.columns.map(|columns| (statement.id, columns));
        self.question = Question { prepared, answer: None };
    }

    /// SQ_TUPLE, if it is complete; returns its length.
    pub(super) fn locale_row(&mut self, unread: &[u8]) -> Result<usize, Fatal> {
        match (read(unread, self.capabilities, DEFAULT), &self.question.prepared) {
            (Ok((Message::Tuple(row), used)), Some((_, columns))) => {
                self.question.answer = in_row(columns, row)?;
                Ok(used)
            }
            (Err(Err(fatal)), _) => Err(fatal),
            _ => Ok(0),
        }
    }

    /// A part of the question is answered. Nothing else is sent before the last one is.
    pub(super) fn locale_answered(
        &mut self,
        group: Group,
        reply: &Reply,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let question = std::mem::take(&mut self.question);
        let error = reply.error.as_ref().map(|error| error.sqlcode);
        match (group.expect, question.prepared) {
            (Expect::LocalePrepare, Some((id, columns))) if error.is_none() => {
                self.question.prepared = Some((id, columns));
                fetch(write_buffer.tail(), id);
                self.expect(Expect::LocaleFetch);
                return Ok(());
            }
            (_, Some((id, _))) => self.clean_up(write_buffer, id, true, true),
            (_, None) => {}
        }
        if error == Some(own::INTERRUPTED) {
            // Meant for the statement before it.
            self.query_locale(write_buffer);
            return Ok(());
        }
        if self.pending(group.request_id).is_some_and(|pending| pending.slot.failure.is_some()) {
            // The database is the one that it was.
            return Ok(());
        }
        self.locale = question.answer;
        self.settle_codeset().map_err(|unknown| Fatal::new(FatalKind::EncodingChanged, unknown.message))
    }
}

/// Keeps the first text of a row.
#[derive(Default)]
struct FirstText(Option<String>);

macro_rules! ignore {
    ($($name:ident($($kind:ty),*);)*) => { $(fn $name(&mut self, $(_: $kind),*) {})* };
}

impl headrace_core::Sink for FirstText {
    fn text(&mut self, utf8: &[u8]) {
        self.0.get_or_insert_with(|| String::from_utf8_lossy(utf8).into_owned());
    }
    ignore! {
        begin_row(usize); end_row(); null(); bool(bool); int(i64); uint(u64); float(f64); decimal(&str); bytes(&[u8]);
        date(i32); time(i64); timetz(i64, i32); timestamp(i64); timestamptz(i64); interval(i32, i32, i64);
        uuid(&[u8; 16]); json(&[u8]); inet(headrace_core::Inet<'_>); bits(usize, &[u8]); custom(u32, bool, &[u8]);
        begin(headrace_core::Container, usize); end(); invalid(&str);
    }
}
