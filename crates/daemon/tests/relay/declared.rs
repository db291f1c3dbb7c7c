//! Which requests are declared to be read-only.

use super::{Say, say};
use headrace_daemon::postgres::relay::Relay;
use std::collections::BTreeMap;
use std::sync::Arc;

fn relay(read_only: &str) -> Relay {
    let name = "default_transaction_read_only".to_owned();
    Relay::new(Arc::default(), BTreeMap::from([(name, read_only.to_owned())]))
}

fn group(texts: &[&str]) -> Say {
    texts.iter().fold(say(), |say, sql| say.parse("", sql).bind("").execute()).sync()
}

#[test]
fn declared_is_what_all_that_was_received_of_the_group_says() {
    // The request, and whether a standby may execute it for a client that declares nothing else, and for one whose
    // transactions are read-only by default.
    for (request, declared, by_default) in [
        (say().query("begin read only"), true, true),
        (say().query("begin"), false, true),
        (say().query("begin read write"), false, false),
        (say().query("begin isolation level serializable read only"), false, false),
        (say().query("select 1"), false, true),
        (say().query("select 1; select 2"), false, true),
        (say().query(""), false, true),
        (say().query("begin read only; set local work_mem = 64; select 1; commit"), true, true),
        (say().query("begin read only; commit; select 1"), false, false),
        (say().query("begin read only; set transaction read write"), false, false),
        (say().query("begin read only; begin read write"), false, false),
        (say().query("begin read only; select pg_advisory_lock(7)"), false, false),
        (say().query("set timezone to 'UTC'"), false, true),
        (say().query("set timezone to 'UTC'; select 1"), false, false),
        (say().query("set statement_timeout = 5000"), false, true),
        (say().query("SET Search_Path = a"), false, true),
        (say().query("set app.tenant = 7"), false, true),
        (say().query("select set_config('app.tenant', '7', false)"), false, true),
        (say().query("set enable_seqscan = off"), false, false),
        (say().query("set local enable_seqscan = off"), false, true),
        (say().query("select set_config('enable_seqscan', 'off', false)"), false, false),
        (say().query("set role jo"), false, false),
        (say().query("begin read only; set enable_seqscan = off"), false, false),
        (say().query("select 1; set default_transaction_read_only to off"), false, false),
        (say().query("set session characteristics as transaction read write"), false, false),
        (say().query("commit"), false, false),
        (say().query("listen x"), false, false),
        (say().query(r"begin read only; select 'a\'"), false, false),
        (group(&["begin read only", "select 1", "commit"]), true, true),
        (group(&["begin read only", "commit", "select 1"]), false, false),
        (group(&["select 1", "begin read only"]), false, true),
        (say().parse("s", "begin read only").sync(), false, true),
        (say().parse("s", "begin read only").bind("s").execute().flush(), true, true),
        (say().bind("unknown").execute().sync(), false, false),
        (say().execute().sync(), false, false),
        (say().sync(), false, true),
        (say().copy(b"1\n"), false, false),
    ] {
        let found = [relay("off"), relay("on")].map(|relay| relay.is_declared_read_only(&request.0));
        assert_eq!(found, [declared, by_default], "{}", String::from_utf8_lossy(&request.0));
        let cut = &request.0[..request.0.len() - 1];
        assert!(!relay("on").is_declared_read_only(cut), "{} is cut", String::from_utf8_lossy(&request.0));
    }
}
