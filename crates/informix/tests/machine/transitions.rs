//! The table of states: every row is taken by a conversation, and the documentation shows it.

use crate::machine::{input, insert_cursor, interrupt, locale, replay, side_by_side, stages};
use headrace_informix::machine::TRANSITIONS;
use headrace_testkit::{assert_documented, assert_taken};
use std::path::Path;

#[test]
fn every_row_of_the_table_is_taken() {
    let conversations: &[fn()] = &[
        input::text_that_is_too_long_for_a_column_is_refused_and_that_of_a_comparison_is_not,
        input::without_a_reply_the_statement_is_executed_unchanged,
        input::an_interrupt_that_hits_the_query_for_types_ends_the_statement_and_it_is_sent_again,
        input::a_discarded_update_binds_nothing,
        insert_cursor::values_are_put_as_they_would_be_fetched,
        insert_cursor::what_the_server_would_round_cut_or_refuse_is_not_put,
        insert_cursor::wide_blanks_are_not_worth_it,
        insert_cursor::a_batch_is_put_whatever_way_the_server_counts,
        insert_cursor::whatever_fails_at_an_insert_cursor_is_repeated_without_one,
        insert_cursor::locks_and_interrupts_are_not_tried_twice,
        insert_cursor::a_batch_that_cannot_be_undone_ends_the_connection,
        interrupt::no_second_one_is_sent_before_a_sign_that_the_first_was_read,
        interrupt::the_next_request_waits_until_the_urgent_byte_was_read,
        interrupt::what_comes_after_it_is_interrupted_once_the_server_has_had_time_to_read_it,
        interrupt::nothing_is_interrupted_where_nothing_runs,
        interrupt::what_ends_a_block_is_not_interrupted,
        interrupt::the_end_of_an_inner_block_that_is_cancelled_before_it_is_sent_undoes_it,
        locale::the_code_set_of_a_database_that_is_opened_is_queried_until_it_is_known,
        locale::a_database_that_is_not_opened_changes_nothing,
        replay::a_session_is_set_up_whatever_the_split,
        replay::a_refused_login_has_the_servers_reason,
        replay::a_select_split_at_every_byte_yields_the_same_rows_in_two_round_trips,
        replay::a_reply_cut_at_every_byte_yields_no_wrong_row_and_an_outcome,
        replay::known_statements_are_pipelined_and_not_prepared_again,
        replay::a_failed_batch_names_its_row_and_leaves_nothing_whatever_the_server_does_in_its_group,
        replay::a_good_batch_is_committed_once_and_counted,
        replay::a_rollback_that_an_interrupt_hits_is_sent_again,
        replay::a_batch_that_cannot_be_rolled_back_ends_the_connection,
        replay::a_batch_whose_commit_fails_is_rolled_back,
        replay::a_batch_inside_a_transaction_is_guarded_by_a_savepoint,
        replay::a_bad_value_in_a_batch_of_which_nothing_was_sent_names_its_row,
        replay::a_transaction_begins_with_the_first_statement_that_needs_one,
        replay::rows_come_in_blocks_and_the_next_is_requested_before_the_last_has_come,
        replay::rows_and_their_end_in_one_piece_are_not_requested_twice,
        replay::a_discarded_select_is_read_to_the_end_of_its_block_and_closed,
        replay::text_values_are_fetched_after_their_rows,
        replay::a_statement_older_than_its_table_is_prepared_again,
        replay::unexpected_messages_end_the_connection,
        side_by_side::a_query_that_many_wait_for_is_prepared_for_them,
        side_by_side::a_session_that_forgets_its_statements_releases_the_copies_too,
        side_by_side::a_long_result_is_read_on_after_the_others_and_goes_to_its_own_request,
        side_by_side::an_error_belongs_to_one_query_only,
        side_by_side::copies_that_the_server_refuses_are_done_without,
        side_by_side::queries_older_than_their_table_are_prepared_again,
        side_by_side::a_discarded_request_gets_nothing_and_delays_no_other,
        side_by_side::an_abandoned_cursor_is_closed_before_its_statement_is_used_again,
        side_by_side::the_first_request_with_nothing_in_flight_is_not_interrupted,
        side_by_side::the_abandoned_end_of_a_block_is_sent,
        stages::rows_of_an_open_cursor_are_fetched_by_further_requests,
        stages::a_statement_that_is_only_prepared_is_described_and_not_executed,
        stages::nothing_is_sent_for_a_cursor_that_is_not_open,
        stages::a_row_that_fails_stops_the_rows_after_it,
        stages::a_block_and_the_last_one_in_one_piece_are_not_followed_by_another,
        stages::a_query_that_is_abandoned_between_two_blocks_requests_no_more,
        stages::a_query_that_is_abandoned_before_its_values_are_requested_is_closed,
    ];
    assert_taken(&TRANSITIONS, conversations);
}

#[test]
fn the_documentation_shows_the_table() {
    let page = "../../docs/explanation/state-machines.md";
    assert_documented(&TRANSITIONS, &Path::new(env!("CARGO_MANIFEST_DIR")).join(page));
}
