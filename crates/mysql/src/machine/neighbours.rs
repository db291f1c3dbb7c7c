//! Whether KILL QUERY, in a session of its own, would reach the server that executes the statement.
//!
//! Behind a TCP balancer that session may be with another server, where a neighbour can have the same number. Each
//! connection therefore has a number of its own among its connection attributes, which MySQL shows in its performance
//! schema. A server that shows no attributes (MariaDB without its performance schema) has at least counted up since: a
//! number that has not risen is that of another one. Of what is no server, but takes KILL for its clients (ProxySQL,
//! MaxScale, TiDB), nothing is known.

use headrace_core::CancelStatement;

/// The attribute with the number.
const CONNECTION: &str = "_headrace_connection";

/// A connection attribute with a random number.
pub fn own_number() -> (String, String) {
    let mut random = [0; 8];
    // Without random numbers all have the same one: what is asked then is whether the server knows it at all.
    let _ = getrandom::fill(&mut random);
    (CONNECTION.to_owned(), format!("{:016x}", u64::from_ne_bytes(random)))
}

/// The number among connection attributes.
pub(super) fn number_in(attributes: &[(String, String)]) -> Option<&str> {
    attributes.iter().find(|(name, _)| name == CONNECTION).map(|(_, value)| value.as_str())
}

/// A question whose answer has a row if the session that it is asked in, which was opened later, is with another server
/// than the connection `thread`, whose own number is `own`. The server counts connections up, and begins again after
/// 2^32.
pub(super) fn question(thread: u32, own: &str) -> String {
    let beside = CancelStatement::BESIDE;
    format!(
        "SELECT 1 FROM (SELECT connection_id() AS own, version() AS version, sum(processlist_id = connection_id()) AS \
         shown, sum(processlist_id = {thread}) AS found FROM performance_schema.session_account_connect_attrs WHERE \
         attr_name = '{CONNECTION}' AND (processlist_id = connection_id() OR processlist_id = {thread} AND attr_value = \
         '{own}')) AS seen WHERE own % 4294967296 = {beside} AND version NOT LIKE '%TiDB%' AND IF(shown > 0, \
         coalesce(found, 0) = 0, ({beside} + 4294967296 - {thread}) % 4294967296 NOT BETWEEN 1 AND 2147483647)"
    )
}
