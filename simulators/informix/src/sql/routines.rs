//! Stored routines of the small kind that this server runs: changes one after the other, an exception, a result.

use super::dml::Written;
use super::expr::Expr;
use super::lexer::TokenKind;
use super::parser::Parser;
use super::{Action, Column, Compiled, Routine, Step};
use crate::errors::{Result, SqlError};
use crate::types::Type;

impl Parser<'_> {
    /// `CREATE FUNCTION f(a INT) RETURNING INT; RETURN a + 1; END FUNCTION`.
    pub(super) fn create_routine(&mut self) -> Result<Compiled> {
        let TokenKind::Word(word) = self.next() else { return Err(self.syntax()) };
        self.accept("if");
        self.accept("not");
        self.accept("exists");
        let (_, name) = self.object_name()?;
        self.expect_symbol("(")?;
        let mut parameters = Vec::new();
        while !self.is_symbol(")") {
            let name = self.identifier()?;
            let ty = self.type_declaration()?;
            parameters.push(Column { name, ty, not_null: false });
            if !self.another(")")? {
                break;
            }
        }
        self.expect_symbol(")")?;
        let mut returns = Vec::new();
        if self.accept("returning") || self.accept("returns") {
            loop {
                returns.push(self.type_declaration()?);
                if self.accept("as") {
                    self.identifier()?;
                }
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        self.accept_symbol(";");
        let mut body = Vec::new();
        while !self.accept("end") {
            body.push(self.step(&returns)?);
        }
        self.expect(&word)?;
        let returned = body.iter().any(|step| matches!(step, Step::Return(_) | Step::Raise(..)));
        if !returns.is_empty() && !returned {
            return Err(self.syntax());
        }
        let routine = Routine { parameters, returns, body, procedure: word == "procedure" };
        Ok(self.compiled(53, Action::CreateRoutine(name, routine), Vec::new()))
    }

    /// One statement of a body, kept as text until it is called.
    fn step(&mut self, returns: &[Type]) -> Result<Step> {
        let offset = self.offset();
        let start = self.at;
        let parts = self.parts()?;
        let text = |(from, to): (usize, usize)| self.source(from, to).to_owned();
        let TokenKind::Word(word) = &self.tokens[start].kind else { return Err(SqlError::syntax(offset, "")) };
        match word.as_str() {
            "return" => {
                let mut parts = parts;
                parts[0].0 += 1;
                let list: Vec<String> = parts.into_iter().map(text).filter(|text| !text.is_empty()).collect();
                if list.len() != returns.len() {
                    let code = if list.len() < returns.len() { -685 } else { -684 };
                    return Err(SqlError::new(code, "").at(offset));
                }
                Ok(Step::Return(list))
            }
            "raise" => {
                let number = |part: (usize, usize)| text(part).replace(' ', "").parse().unwrap_or(0);
                let mut first = parts[0];
                first.0 += 2;
                let message = parts.get(2).map(|part| text(*part)).unwrap_or_default();
                Ok(Step::Raise(number(first), parts.get(1).map_or(0, |part| number(*part)), message))
            }
            "insert" | "update" | "delete" => {
                let end = parts.last().map_or(start, |part| part.1);
                Ok(Step::Change(self.source(start, end).to_owned()))
            }
            other => Err(SqlError::unsupported(format!("{} in a routine", other.to_uppercase())).at(offset)),
        }
    }

    /// The token ranges between the commas of a statement, which ends with `;` or before END.
    fn parts(&mut self) -> Result<Vec<(usize, usize)>> {
        let (mut depth, mut start) = (0, self.at);
        let mut parts = Vec::new();
        loop {
            match self.peek() {
                TokenKind::Symbol("(") => depth += 1,
                TokenKind::Symbol(")") => depth -= 1,
                TokenKind::Symbol(",") if depth == 0 => {
                    parts.push((start, self.at));
                    start = self.at + 1;
                }
                TokenKind::Symbol(";") if depth == 0 => {
                    parts.push((start, self.at));
                    self.at += 1;
                    return Ok(parts);
                }
                TokenKind::Word(word) if depth == 0 && word == "end" && self.ends_routine() => {
                    parts.push((start, self.at));
                    return Ok(parts);
                }
                TokenKind::End => return Err(self.syntax()),
                _ => {}
            }
            self.at += 1;
        }
    }

    fn ends_routine(&self) -> bool {
        self.is_ahead(1, "procedure") || self.is_ahead(1, "function")
    }

    /// EXECUTE PROCEDURE, EXECUTE FUNCTION and CALL.
    pub(super) fn execute_routine(&mut self, call: bool) -> Result<Compiled> {
        if !call && !self.accept("procedure") {
            self.expect("function")?;
        }
        let offset = self.offset();
        let (_, name) = self.object_name()?;
        let routine = self.catalog.routine(&name).ok_or_else(|| SqlError::new(-674, name.clone()).at(offset))?;
        let given = self.arguments()?;
        let given = self.given(&name, &routine, given, offset)?;
        let mut changes = Vec::new();
        let (mut query, mut columns, mut raised) = (None, Vec::new(), None);
        for step in &routine.body {
            match step {
                Step::Change(text) => {
                    let compiled = self.inside(text, &given, |inner| inner.any_statement())?;
                    let Action::Write { sql, table, .. } = compiled.action else { continue };
                    changes.push(Written { sql, table, kind: compiled.kind });
                }
                Step::Return(_) => {
                    let results = self.results(&routine, &given)?;
                    let list: Vec<&str> = results.iter().map(|result| result.sql.as_str()).collect();
                    query = Some(format!("SELECT {}", list.join(", ")));
                    columns = results
                        .iter()
                        .zip(&routine.returns)
                        .map(|(_, ty)| Column { name: "(expression)".into(), ty: *ty, not_null: false })
                        .collect();
                    break;
                }
                Step::Raise(code, isam, text) => {
                    let message = text.trim().trim_matches(['\'', '"']).to_owned();
                    raised = Some(SqlError::isam(*code, *isam, message));
                    break;
                }
            }
        }
        if query.is_none() {
            columns = routine
                .returns
                .iter()
                .map(|ty| Column { name: "(expression)".into(), ty: *ty, not_null: false })
                .collect();
        }
        Ok(self.compiled(56, Action::Call { changes, raised, query }, columns))
    }

    /// The arguments of a call as the types of the parameters, in SQLite's SQL.
    fn given(
        &mut self,
        name: &str,
        routine: &Routine,
        arguments: Vec<Expr>,
        offset: usize,
    ) -> Result<Vec<(Column, String)>> {
        if arguments.len() != routine.parameters.len() {
            return Err(SqlError::new(-674, name).at(offset));
        }
        Ok(arguments
            .into_iter()
            .zip(&routine.parameters)
            .map(|(argument, parameter)| (parameter.clone(), self.coerce(argument, parameter.ty)))
            .collect())
    }

    /// Reads a part of a body, in which the parameters are replaced by the arguments.
    fn inside<T>(
        &mut self,
        text: &str,
        given: &[(Column, String)],
        read: impl FnOnce(&mut Parser<'_>) -> Result<T>,
    ) -> Result<T> {
        let tokens = super::tokenize(text, self.catalog.delimited_identifiers())?;
        let mut inner = Parser::new(text, tokens, 0, self.catalog);
        inner.given = given.to_vec();
        let made = read(&mut inner)?;
        if *inner.peek() != TokenKind::End {
            return Err(inner.syntax());
        }
        Ok(made)
    }

    fn results(&mut self, routine: &Routine, given: &[(Column, String)]) -> Result<Vec<Expr>> {
        let Some(Step::Return(body)) = routine.body.iter().find(|step| matches!(step, Step::Return(_))) else {
            return Ok(Vec::new());
        };
        let mut results = Vec::new();
        for (text, ty) in body.iter().zip(&routine.returns) {
            let sql = self.inside(text, given, |inner| {
                let expr = inner.expression()?;
                Ok(inner.coerce(expr, *ty))
            })?;
            results.push(Expr::computed(sql, *ty));
        }
        Ok(results)
    }

    /// A call inside an expression: only a routine that is one result and nothing else.
    pub(super) fn routine_call(&mut self, name: &str, routine: &Routine, offset: usize) -> Result<Expr> {
        let arguments = self.arguments()?;
        let given = self.given(name, routine, arguments, offset)?;
        if routine.returns.len() != 1 || routine.body.len() != 1 {
            return Err(SqlError::unsupported(format!("{name} in an expression")).at(offset));
        }
        let mut results = self.results(routine, &given)?;
        match results.pop() {
            Some(result) => Ok(result),
            None => Err(SqlError::unsupported(format!("{name} in an expression")).at(offset)),
        }
    }
}
