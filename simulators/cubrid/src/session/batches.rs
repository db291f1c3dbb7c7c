//! EXECUTE_BATCH and EXECUTE_ARRAY.

use super::CasSession;
use crate::errors::{Error, Result, cas};
use crate::sql::{Parser, markers, tokenize};
use crate::wire::{Arguments, Output};

impl CasSession {
    pub(super) fn execute_batch(&mut self, arguments: &mut Arguments<'_>, body: &mut Vec<u8>) -> Result<()> {
        let autocommit = arguments.i8()? != 0;
        let timeout = if self.version() > 3 { arguments.i32()? } else { 0 };
        body.put_i32(0);
        let at = body.len();
        body.put_i32(0);
        let mut count = 0;
        while arguments.left() > 0 {
            let text = arguments.text()?;
            let text = self.text(text);
            count += 1;
            match self.batch_item(&text, timeout) {
                Ok((kind, rows)) => {
                    body.put_i8(kind);
                    body.put_i32(rows);
                    body.put_zeros(8);
                    if autocommit {
                        self.commit()?;
                    }
                }
                Err((_, error)) if !autocommit && error.code == -72 => return Err(error),
                Err((kind, error)) => {
                    body.put_i8(kind);
                    self.put_item_error(body, &error);
                    if autocommit {
                        self.rollback()?;
                    }
                    if error.code == -4 {
                        break;
                    }
                }
            }
        }
        self.open = true;
        body[at..at + 4].copy_from_slice(&i32::to_be_bytes(count));
        if self.version() >= 5 {
            body.put_i32(-2);
        }
        Ok(())
    }

    /// One text of a batch: its kind and its count.
    fn batch_item(&mut self, text: &str, timeout: i32) -> std::result::Result<(i8, i32), (i8, Error)> {
        // The kind of what failed is one behind the last.
        const FAILED: i8 = 71;
        let run = |session: &mut Self| -> Result<(i8, i32)> {
            let tokens = tokenize(text)?;
            let mut parser = Parser::new(text, tokens);
            let (statement, _) =
                parser.statement()?.ok_or_else(|| Error::syntax("syntax error, unexpected end of file "))?;
            let part = session.part(statement, markers(text))?;
            if part.compiled.parameters.iter().len() > 0 {
                return Err(Error::cas(cas::BINDS));
            }
            session.start(timeout);
            let executed = session.run_part(&part.statement, &part.compiled, &[], usize::MAX)?;
            Ok((executed.kind, executed.count))
        };
        run(self).map_err(|error| (FAILED, error))
    }

    pub(super) fn execute_array(
        &mut self,
        arguments: &mut Arguments<'_>,
        body: &mut Vec<u8>,
    ) -> std::result::Result<(), Short> {
        let short = |_| Short::Code(cas::ARGUMENTS);
        let number = arguments.i32().map_err(short)?;
        self.handle_at(number).map_err(short)?;
        let timeout = if self.version() > 3 { arguments.i32().map_err(short)? } else { 0 };
        let autocommit = arguments.i8().map_err(short)? != 0;
        let done = self.array_rows(number, timeout, autocommit, arguments, body);
        self.autocommit_after_error(done, autocommit).map_err(Short::Error)
    }

    fn array_rows(
        &mut self,
        number: i32,
        timeout: i32,
        autocommit: bool,
        arguments: &mut Arguments<'_>,
        body: &mut Vec<u8>,
    ) -> Result<()> {
        let binds = self.binds(arguments)?;
        let width = self.handle_at(number)?.markers;
        body.put_i32(0);
        let at = body.len();
        body.put_i32(0);
        let mut count = 0;
        if width > 0 {
            self.fresh_part(number)?;
            for row in binds.chunks_exact(width) {
                count += 1;
                self.start(timeout);
                match self.run_first(number, row) {
                    Ok(executed) => {
                        body.put_i32(executed.count);
                        body.put_zeros(8);
                        if autocommit {
                            self.commit()?;
                            self.open = true;
                        }
                    }
                    Err(error) if !autocommit && error.code == -72 => return Err(error),
                    Err(error) => {
                        self.put_item_error(body, &error);
                        if autocommit {
                            self.rollback()?;
                            self.open = true;
                        }
                        if error.code == -4 {
                            break;
                        }
                    }
                }
            }
        }
        if autocommit {
            self.open = false;
        }
        body[at..at + 4].copy_from_slice(&i32::to_be_bytes(count));
        if self.version() >= 5 {
            body.put_i32(-2);
        }
        Ok(())
    }
}

/// A failure of EXECUTE_ARRAY: some are a code and nothing else.
pub(super) enum Short {
    Code(i32),
    Error(Error),
}
