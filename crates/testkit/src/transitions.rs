//! Checks which rows of a state machine's table tests take, and whether the documentation has the table.

use headrace_core::transitions::{Name, Transitions, observe};
use std::cell::RefCell;
use std::path::Path;

thread_local! {
    static TAKEN: RefCell<Vec<(&'static str, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Runs conversations, which are tests themselves, and checks that they take every row of a table.
///
/// # Panics
/// If they do not; the message lists the missing rows.
pub fn assert_taken<S: Name, E: Name>(table: &Transitions<S, E>, conversations: &[fn()]) {
    observe(|machine, row| TAKEN.with_borrow_mut(|taken| taken.push((machine, row))));
    TAKEN.take();
    for conversation in conversations {
        conversation();
    }
    let taken = TAKEN.take();
    let missing = (0..table.rows.len()).filter(|row| !taken.contains(&(table.machine, *row)));
    let missing: Vec<String> = missing.map(|row| table.show(row)).collect();
    assert!(
        missing.is_empty(),
        "{}: no conversation takes {missing:#?}. Name one that does in this test, or take the row out of the table",
        table.machine
    );
}

/// Compares a page of the documentation with a table, which is there between `<!-- table NAME -->` and `<!-- end -->`.
/// With `HEADRACE_WRITE=1` in the environment it is written there instead.
///
/// # Panics
/// If they differ.
pub fn assert_documented<S: Name, E: Name>(table: &Transitions<S, E>, page: &Path) {
    let text = std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let begin = format!("<!-- table {} -->\n", table.machine);
    let at = text.find(&begin).unwrap_or_else(|| panic!("{} has no line {begin}", page.display())) + begin.len();
    let end = at + text[at..].find("<!-- end -->").expect("the end of a table");
    let made = table.markdown();
    if std::env::var_os("HEADRACE_WRITE").is_some() {
        std::fs::write(page, [&text[..at], &made, &text[end..]].concat()).expect("the page can be written");
        return;
    }
    assert!(
        text[at..end] == made,
        "{} does not show the table of {} as it is: run this test again with HEADRACE_WRITE=1 in the environment",
        page.display(),
        table.machine
    );
}
