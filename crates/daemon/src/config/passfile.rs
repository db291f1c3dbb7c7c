//! Passwords in a file as libpq has them (manual, "The Password File").

use crate::secret::Secret;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use zeroize::Zeroizing;

/// The password for a login, if the file has one. A file that others may read counts as if it was not there.
///
/// # Errors
/// The file is there and cannot be read.
pub fn find(path: &Path, login: [&str; 4]) -> std::io::Result<Option<Secret>> {
    let Ok(metadata) = path.metadata() else { return Ok(None) };
    if metadata.mode() & 0o077 != 0 {
        return Ok(None);
    }
    let text = Zeroizing::new(std::fs::read_to_string(path)?);
    Ok(text.lines().find_map(|line| of_line(line, login)))
}

/// `host:port:database:user:password`, where `*` fits everything and a backslash quotes the next character.
fn of_line(line: &str, login: [&str; 4]) -> Option<Secret> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields: Vec<Zeroizing<String>> = vec![Zeroizing::default()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == ':' && fields.len() < 5 {
            fields.push(Zeroizing::default());
            continue;
        }
        let field = fields.last_mut().expect("there is always one");
        field.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    let fits = fields.len() == 5 && fields.iter().zip(login).all(|(field, wanted)| **field == "*" || **field == wanted);
    fits.then(|| Secret::new(fields[4].to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_the_login() {
        let login = ["db", "5432", "app", "jo"];
        for (line, expected) in [
            ("db:5432:app:jo:one", Some("one")),
            ("*:*:*:*:a:b", Some("a:b")),
            ("*:*:*:*:a\\:\\\\b", Some("a:\\b")),
            ("db:5433:app:jo:one", None),
            ("db:5432:app:one", None),
            ("#db:5432:app:jo:one", None),
            ("", None),
        ] {
            let found = of_line(line, login);
            assert_eq!(found.as_ref().map(Secret::reveal), expected, "{line}");
        }
    }
}
