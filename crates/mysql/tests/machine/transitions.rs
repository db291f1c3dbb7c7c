//! The tables of states: every row is taken by a conversation, and the documentation shows them.

use crate::machine::{cancelling, conversations, replay, stages};
use headrace_mysql::machine::{BATCH_TRANSITIONS, TRANSITIONS};
use headrace_testkit::{assert_documented, assert_taken};
use std::path::Path;

#[test]
fn every_row_of_the_tables_is_taken() {
    let conversations = [
        replay::the_requests_are_those_of_the_recording as fn(),
        conversations::mysql_prepares_before_it_executes,
        conversations::rows_are_joined_where_there_is_no_bulk,
        conversations::a_kill_query_that_comes_late_meets_a_statement_of_our_own,
        conversations::a_row_that_does_not_fit_its_columns_is_the_end,
        conversations::after_a_deadlock_a_batch_queries_the_transaction_status,
        conversations::a_query_that_may_load_a_file_has_nothing_after_it,
        conversations::a_stale_statement_in_bulk_is_undone_and_done_again_with_a_fresh_one,
        conversations::a_text_that_is_refused_for_the_charset_of_its_parameter_is_written,
        cancelling::an_interrupted_question_about_a_table_ends_its_batch_and_answers_nothing,
        stages::a_statement_that_is_not_prepared_goes_as_text,
        stages::a_statement_that_is_bound_to_other_types_is_prepared_again,
        stages::a_known_statement_is_not_prepared_again,
        stages::a_value_that_does_not_fit_is_reported_once_earlier_rows_are_answered,
        stages::a_file_is_sent_when_the_server_requests_it,
        stages::a_second_file_within_the_first_ends_the_session,
        stages::rows_that_the_server_does_not_take_in_bulk_go_one_by_one,
        stages::rows_that_cannot_be_undone_are_not_sent_again,
        stages::rows_are_joined_only_where_the_server_refuses_in_all_what_it_refuses_in_one,
        stages::a_batch_that_is_abandoned_during_the_search_for_its_failing_row_is_rolled_back,
        stages::a_value_that_does_not_fit_ends_a_batch_that_was_partly_sent,
    ];
    assert_taken(&TRANSITIONS, &conversations);
    assert_taken(&BATCH_TRANSITIONS, &conversations);
}

#[test]
fn the_documentation_shows_the_tables() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explanation/state-machines.md");
    assert_documented(&TRANSITIONS, &page);
    assert_documented(&BATCH_TRANSITIONS, &page);
}
