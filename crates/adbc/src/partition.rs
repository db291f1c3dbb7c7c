//! Partitions of a result: what `ExecutePartitions` hands out, and `ReadPartition` takes.
//!
//! A result has one partition, which is its query: whoever reads it executes that, on a connection of its own.

use crate::error::invalid;
use adbc_core::error::Result;

/// How a partition begins; the version is the last byte but one.
const BEGINNING: &[u8] = b"headrace partition 1\n";

/// The only partition of a query.
pub fn of_query(sql: &str) -> Vec<u8> {
    [BEGINNING, sql.as_bytes()].concat()
}

/// The query of a partition.
///
/// # Errors
/// It is none of this driver's.
pub fn query(partition: &[u8]) -> Result<&str> {
    let query = partition.strip_prefix(BEGINNING).and_then(|query| std::str::from_utf8(query).ok());
    query.ok_or_else(|| invalid("the partition was not made by this driver, or by another version of it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_its_query() {
        assert_eq!(query(&of_query("select 'ä'")).unwrap(), "select 'ä'");
        assert!(query(b"select 1").is_err() && query(b"headrace partition 1\n\xff").is_err());
    }
}
