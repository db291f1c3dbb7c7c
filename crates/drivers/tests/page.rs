//! The page of the documentation with the tables of settings. With `HEADRACE_WRITE=1` in the environment it is written.

use headrace_drivers::{DRIVERS, Driver, Kind, Setting};
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/settings.md");

fn row(setting: &Setting) -> String {
    let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
    let names: Vec<String> = [setting.name].iter().chain(setting.aliases).map(|name| code(name)).collect();
    let values = match setting.kind {
        Kind::Choice(values, _) => {
            format!(" One of {}.", values.iter().map(|value| code(value)).collect::<Vec<_>>().join(", "))
        }
        Kind::Only(_, reason) | Kind::Refused(reason) => format!(" {reason}."),
        _ => String::new(),
    };
    let [default, environment] = [setting.default, setting.environment.unwrap_or_default()].map(code);
    let field = code(setting.daemon.unwrap_or_default());
    let adbc = if setting.is_of_adbc { "yes" } else { "" };
    let alone = if setting.is_of_python { "" } else { " Of headraced alone." };
    format!(
        "| {} | {}{values}{alone} | {default} | {environment} | {adbc} | {field} |\n",
        names.join(", "),
        setting.text
    )
}

fn table(driver: &Driver) -> String {
    let schemes: Vec<String> = driver.schemes.iter().map(|scheme| format!("`{scheme}://`")).collect();
    let mut made = format!("\nURLs begin with {}; the port is {} by default.\n\n", schemes.join(" or "), driver.port);
    made += "| name | meaning | default | environment | ADBC | headraced |\n|---|---|---|---|---|---|\n";
    for setting in driver.settings {
        write!(made, "{}", row(setting)).expect("a String can be written to");
    }
    made + "\n"
}

#[test]
fn the_documentation_has_every_setting() {
    let mut page = std::fs::read_to_string(PAGE).expect("the page is there");
    let before = page.clone();
    for driver in DRIVERS {
        let marker = format!("<!-- table {} -->\n", driver.name);
        let begin = page.find(&marker).unwrap_or_else(|| panic!("the page has no {marker}")) + marker.len();
        let end = begin + page[begin..].find("<!-- end -->").expect("a table has an end");
        page.replace_range(begin..end, &table(driver));
    }
    if std::env::var_os("HEADRACE_WRITE").is_some() {
        std::fs::write(PAGE, page).expect("the page can be written");
        return;
    }
    assert!(page == before, "{PAGE} does not show the tables as they are: run this test again with HEADRACE_WRITE=1");
}
