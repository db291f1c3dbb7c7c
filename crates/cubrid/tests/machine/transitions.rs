//! The table of states: every row is taken by a conversation, and the documentation shows it.

use crate::machine::{batches, cursors, release, statements, texts};
use headrace_cubrid::machine::TRANSITIONS;
use headrace_testkit::{assert_documented, assert_taken};
use std::path::Path;

#[test]
fn every_row_of_the_table_is_taken() {
    let conversations: &[fn()] = &[
        statements::a_statement_is_prepared_once_and_its_handle_is_kept,
        statements::pages_are_fetched_until_the_last_one,
        statements::a_discarded_select_is_closed_and_no_further_page_is_fetched,
        statements::a_statement_that_is_discarded_before_it_is_executed_is_not_executed,
        statements::what_a_statement_leaves_open_outside_of_a_block_is_ended,
        statements::a_stale_statement_is_prepared_again_once,
        statements::query_whose_result_the_server_closes_before_its_end_is_executed_in_a_transaction,
        statements::what_cannot_be_sent_is_refused,
        statements::empty_bytes_are_a_text_with_their_type_around_it,
        batches::a_batch_outside_of_a_block_is_one_transaction,
        batches::a_batch_that_cannot_be_undone_ends_the_connection,
        batches::a_stale_batch_begins_again_if_its_rows_can_be_read_again,
        texts::a_batch_of_texts_is_one_transaction,
        cursors::a_result_that_stays_open_is_read_page_by_page,
        release::what_was_in_flight_is_sent_again_to_the_same_process,
        release::a_session_that_was_resumed_commits_by_a_request_of_its_own,
    ];
    assert_taken(&TRANSITIONS, conversations);
}

#[test]
fn the_documentation_shows_the_table() {
    let page = "../../docs/explanation/state-machines.md";
    assert_documented(&TRANSITIONS, &Path::new(env!("CARGO_MANIFEST_DIR")).join(page));
}
