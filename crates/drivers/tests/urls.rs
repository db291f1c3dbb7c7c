//! The table of URLs, which the tests of every product read.

use headrace_drivers::{Product, Settings, Tls};
use serde_json::Value;
use std::collections::BTreeMap;

const URLS: &str = include_str!("urls.json");

/// The settings that a URL has, by their names, or what is wrong with them.
fn read(url: &str) -> Result<BTreeMap<String, String>, String> {
    let settings = Settings::of_url(url, Product::Python).map_err(|error| error.to_string())?;
    Tls::of(&settings).map_err(|error| error.to_string())?;
    settings.places().map_err(|error| error.to_string())?;
    let variables = settings.variables.clone();
    let named = settings.into_values().map(|(setting, value)| (setting.name.to_owned(), value));
    Ok(named.chain(variables).collect())
}

#[test]
fn a_url_means_what_the_table_says() {
    let cases: Vec<(String, Value)> = serde_json::from_str(URLS).unwrap();
    for (url, expected) in cases {
        match (read(&url), expected) {
            (Ok(found), Value::Object(_)) if url.contains("geheim") => panic!("{url}: {found:?}"),
            (Ok(found), expected @ Value::Object(_)) => {
                assert_eq!(serde_json::to_value(found).unwrap(), expected, "{url}");
            }
            (Err(error), Value::String(part)) => {
                assert!(error.contains(&part), "{url}: {error}");
                assert!(!error.contains("eheim"), "{url}: {error}");
            }
            (found, expected) => panic!("{url}: {found:?}, not {expected}"),
        }
    }
}

#[test]
fn names_of_settings_are_different_and_explained() {
    for driver in headrace_drivers::DRIVERS {
        let mut names: Vec<_> = driver.settings.iter().flat_map(|row| row.aliases.iter().chain([&row.name])).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{}", driver.name);
        assert!(driver.settings.iter().all(|row| row.text.ends_with('.')), "{}", driver.name);
    }
}

#[test]
fn a_setting_that_a_product_lacks_is_named() {
    for (url, product, expected) in [
        ("postgresql://h?batch_strategy=copy", Product::Adbc, "batch_strategy is a setting of headrace for Python"),
        ("postgresql://h?keepalives=0", Product::Daemon, "which headraced does not have"),
        ("postgresql://h,i?standby_reads=1", Product::Python, "standby_reads is a setting of headraced"),
        ("informix://h/d?server=ol&DB_LOCALE=x", Product::Daemon, "DB_LOCALE is a setting of headrace for Python"),
    ] {
        let error = Settings::of_url(url, product).unwrap_err().to_string();
        assert!(error.contains(expected), "{url}: {error}");
    }
}
