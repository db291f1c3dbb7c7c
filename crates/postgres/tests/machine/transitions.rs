//! The table of states: every row is taken by a conversation, and the documentation shows it.

use crate::machine::{batch_copy, batch_joined, conversations, copy, refusals, replay, types};
use headrace_core::transaction;
use headrace_postgres::machine::TRANSITIONS;
use headrace_testkit::{assert_documented, assert_taken};
use std::path::Path;

#[test]
fn every_row_of_the_table_is_taken() {
    assert_taken(
        &TRANSITIONS,
        &[
            replay::a_reply_split_at_every_byte_yields_the_same_rows,
            conversations::a_batch_names_the_row_that_failed,
            conversations::a_batch_is_ended_when_few_rows_are_unanswered_and_can_be_taken_back_until_then,
            conversations::requests_that_wait_for_replies_are_not_sent_to_a_pooler_that_may_reassign_the_server,
            conversations::nothing_is_sent_to_a_pooler_before_it_has_answered_unless_a_block_is_open,
            conversations::nothing_is_sent_after_a_copy_before_it_is_answered,
            conversations::the_abandoned_end_of_a_block_is_sent,
            conversations::a_value_that_does_not_fit_sends_nothing_of_a_known_statement,
            conversations::a_batch_that_was_partly_sent_is_made_to_fail_on_the_server,
            conversations::after_an_error_the_rest_of_a_group_is_skipped_and_the_next_group_runs,
            conversations::a_forgotten_statement_is_prepared_again,
            conversations::a_value_that_does_not_fit_an_old_statement_is_tried_on_a_new_one,
            conversations::in_a_failed_transaction_a_forgotten_statement_is_reported_to_the_handler,
            conversations::a_discarded_request_keeps_the_order,
            conversations::a_portal_describes_its_rows,
            conversations::the_first_waiting_request_receives_the_closing_error,
            conversations::replies_before_the_end_of_a_portal_are_read,
            copy::rows_are_fed_once_the_server_takes_them,
            copy::rows_of_a_copy_out_of_the_server_need_no_more_of_us,
            copy::types_that_are_not_known_are_looked_up_and_the_columns_described_again,
            copy::an_error_ends_a_copy_wherever_it_stands,
            copy::a_copy_whose_handler_is_gone_fails,
            copy::a_script_feeds_each_of_its_copies,
            copy::a_script_that_fails_ends_its_copy,
            copy::a_script_may_copy_out_of_the_server,
            copy::without_rows_copy_fails,
            copy::a_copy_that_is_executed_is_refused_whatever_was_sent_of_it,
            copy::an_unexpected_copy_ends_the_session,
            batch_copy::the_rest_is_copied_and_the_end_waits_for_its_answer,
            batch_copy::a_table_that_a_copy_means_something_else_to_is_not_copied_into,
            batch_copy::a_column_that_was_altered_begins_the_batch_again_if_its_rows_can_be_read_again,
            batch_copy::a_column_that_was_altered_is_described_for_the_rows_that_cannot_be_read_again,
            batch_copy::a_row_without_the_binary_form_ends_the_copy_and_is_executed,
            batch_copy::an_error_stops_the_rows_wherever_they_stand,
            batch_copy::a_batch_that_is_given_up_is_made_to_fail,
            batch_copy::a_batch_that_is_given_up_before_its_copy_begins_feeds_nothing,
            batch_joined::rows_are_sent_in_statements_of_many_and_the_rest_one_by_one,
            refusals::nothing_is_fetched_from_a_portal_that_is_not_open,
            refusals::too_many_parameters_after_others_of_a_group_still_end_it,
            refusals::a_first_row_that_does_not_fit_sends_nothing_but_the_end_of_its_description,
            refusals::an_error_stops_a_batch_wherever_it_stands,
            refusals::an_error_right_after_a_description_binds_nothing,
            refusals::a_value_that_a_kept_statement_does_not_take_is_tried_on_a_fresh_one,
            types::a_statement_goes_on_when_its_types_are_known,
            types::composite_types_of_the_parameters_of_a_known_statement_are_looked_up,
            types::a_statement_that_is_only_described_is_not_executed,
            types::in_the_middle_of_a_batch_types_are_requested_without_ending_its_group,
            types::an_error_at_the_query_for_types_ends_a_batch,
            types::a_batch_that_is_abandoned_while_it_is_described_is_taken_back,
            types::results_of_a_script_wait_for_their_types,
            types::results_within_a_pipeline_are_looked_up_in_its_group_and_again_if_that_is_skipped,
            types::results_that_come_before_the_rest_could_be_sent_are_looked_up_too,
        ],
    );
}

#[test]
fn the_documentation_shows_the_table() {
    let page = "../../docs/explanation/state-machines.md";
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    assert_documented(&TRANSITIONS, &page);
    // That of every database.
    assert_documented(&transaction::TRANSITIONS, &page);
}
