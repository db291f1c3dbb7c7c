//! The page of the documentation with the tables of settings. With `HEADRACE_WRITE=1` in the environment it is written.

use headrace_drivers::{DRIVERS, Driver, Setting, SettingKind};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/settings.md");

/// The line of the page after which everything is made.
const MARKER: &str = "<!-- made by crates/drivers/tests/page.rs -->\n";

fn row(setting: &Setting) -> String {
    let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
    let names: Vec<String> = [setting.name].iter().chain(setting.aliases).map(|name| code(name)).collect();
    let values = match setting.kind {
        SettingKind::Choice(values, _) => {
            format!(" One of {}.", values.iter().map(|value| code(value)).collect::<Vec<_>>().join(", "))
        }
        SettingKind::Only(_, reason) | SettingKind::Refused(reason) => format!(" {reason}."),
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

fn section(driver: &Driver) -> String {
    let schemes: Vec<String> = driver.schemes.iter().map(|scheme| format!("`{scheme}://`")).collect();
    let (title, schemes, port) = (driver.title, schemes.join(" or "), driver.port);
    let mut made = format!("\n## {title}\n\nURLs begin with {schemes}; the port is {port} by default.\n\n");
    made += "| name | meaning | default | environment | ADBC | headraced |\n|---|---|---|---|---|---|\n";
    made.extend(driver.settings.iter().map(row));
    made
}

#[test]
fn the_documentation_has_every_setting() {
    let before = std::fs::read_to_string(PAGE).expect("the page is there");
    let begin = before.find(MARKER).expect("a line of the page stands before the tables") + MARKER.len();
    let page = DRIVERS.iter().fold(before[..begin].to_owned(), |page, driver| page + &section(driver));
    if std::env::var_os("HEADRACE_WRITE").is_some() {
        std::fs::write(PAGE, page).expect("the page can be written");
        return;
    }
    assert!(page == before, "{PAGE} does not show the tables as they are: run this test again with HEADRACE_WRITE=1");
}
