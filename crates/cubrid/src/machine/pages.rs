//! The pages of a result.
//!
//! FETCH names the row that a page begins with, and the server decides how many rows it has. Two pages are in flight: the
//! second is requested from the row that it most likely begins with, so that the server makes it while the first is
//! under way and is decoded. If it begins too early, the rows that have come are left out; if too late, the page is
//! dropped, and requested again from the right row. While pages begin where they should, one more is in flight after
//! each, up to [`PAGES_IN_FLIGHT`]: a client that needs longer for a page than the server then receives several by one
//! system call, and requests several by one.
//!
//! A server up to CUBRID 11.0 must not be asked for rows that it has sent before, or it sends others
//! ([`BrokerInfo::seeks`]): one page is in flight then.
//!
//! Outside of a transaction the server closes the result when it has sent the last row, so that nothing could be requested
//! again. The last page is therefore never read ahead there: a page can have no more rows than its bytes hold rows of
//! NULLs.

use super::pending::Stage;
use super::request::Request;
use super::run::PageRows;
use super::stage::RequestEvent;
use super::{CasHandler, Expect, Machine};
use crate::limits::{FIRST_PAGES_IN_FLIGHT, PAGE_SLACK, PAGES_IN_FLIGHT};
use crate::messages::login::BrokerInfo;
use crate::messages::server::{Page, row_of_call};
use crate::messages::{FETCH_END, Reader, client, function};
use headrace_core::{Fatal, Requests, WriteBuffer};
use std::borrow::Cow;
use std::collections::VecDeque;

/// The bytes of a row before its values: its number and the identifier of its object.
const ROW_BYTES: usize = 12;
/// The bytes of a NULL.
const NULL_BYTES: usize = 4;

/// The pages of a result that were requested.
#[derive(Debug)]
pub(super) struct Pages {
    /// The first row of each, from 1.
    asked: VecDeque<i32>,
    /// How many rows fewer than the page before a page is expected to have.
    margin: i32,
    /// How many may be in flight.
    depth: usize,
}

impl Default for Pages {
    fn default() -> Self {
        Self { asked: VecDeque::new(), margin: 0, depth: FIRST_PAGES_IN_FLIGHT }
    }
}

/// A page that has come.
#[derive(Clone, Copy, Debug)]
struct Came {
    /// Its rows.
    count: i32,
    /// The most rows that a page after it may have; `None` if it does not matter.
    most: Option<i32>,
}

impl Came {
    /// A page in a reply of so many bytes. The server fills replies up to a size, so that none has more rows than one of
    /// these bytes can have.
    fn new(count: usize, bytes: usize, columns: usize, stays_open: bool) -> Self {
        let number = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
        let most = number(bytes / (ROW_BYTES + NULL_BYTES * columns) + 1);
        Self { count: number(count), most: (!stays_open).then_some(most) }
    }
}

/// What to do with a page that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// It begins with rows that have come before.
    Known(usize),
    /// Rows before it are missing.
    Gap,
}

impl Pages {
    /// A page has come, after `read` rows.
    fn arrived(&mut self, read: i32, count: usize) -> Arrival {
        // The first comes with EXECUTE, and was not requested.
        let Some(first) = self.asked.pop_front() else { return Arrival::Known(0) };
        match usize::try_from(i64::from(read) + 1 - i64::from(first)) {
            Ok(known) => {
                self.depth = PAGES_IN_FLIGHT.min(self.depth + 1);
                Arrival::Known(known.min(count))
            }
            Err(_) => {
                self.depth = FIRST_PAGES_IN_FLIGHT;
                Arrival::Gap
            }
        }
    }

    /// The page to request next, after `read` of `total` rows have come.
    fn next(&mut self, read: i32, total: i32, Came { count, most }: Came) -> Option<i32> {
        let position = match (self.asked.front(), self.asked.back()) {
            (Some(&front), Some(&back)) if front <= read + 1 => {
                let guess = back + count - self.margin;
                let is_due = self.asked.len() < self.depth && self.margin <= count / PAGE_SLACK && guess > back;
                let end = i64::from(guess) + most.map_or(0, i64::from);
                (is_due && end <= i64::from(total)).then_some(guess)?
            }
            (Some(&front), _) if !self.asked.contains(&(read + 1)) => {
                self.margin = self.margin.saturating_add(front - (read + 1));
                read + 1
            }
            (Some(_), _) => return None,
            (None, _) => read + 1,
        };
        self.asked.push_back(position);
        Some(position)
    }
}

impl<H: CasHandler> Machine<H> {
    /// A page of rows. The next ones are requested before its rows are decoded, so that the server makes them meanwhile.
    pub(super) fn page(
        &mut self,
        cx: H::Context<'_>,
        mut reader: Reader<'_>,
        write_buffer: &mut WriteBuffer,
    ) -> Result<(), Fatal> {
        let page = Page::read(&mut reader)?;
        let (end, rows) =
            page.rows.split_last().ok_or_else(|| Fatal::peer("the server sent a page without its end"))?;
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let Some((handle, columns, is_call)) =
            pending.statement.as_ref().and_then(|known| Some((known.handle, known.columns.clone()?, known.is_call())))
        else {
            return Err(Fatal::peer("the server sent rows of a statement that returns none"));
        };
        let rows = match is_call && page.count == 1 {
            true => Cow::Owned(row_of_call(rows)?),
            false => Cow::Borrowed(rows),
        };
        // A result that stays open is read page by page.
        let is_single = matches!(pending.request, Request::Open { .. } | Request::FetchAt { .. });
        let Stage::Reading { rows: read, total, pages } = pending.stage_mut() else {
            return Err(Fatal::peer("the server sent rows that were not requested"));
        };
        let mut run = PageRows::new(&columns, &rows);
        let arrival = if is_single { Arrival::Known(0) } else { pages.arrived(*read, page.count) };
        let is_end = match arrival {
            Arrival::Known(known) => {
                run.leave_out(known)?;
                let new = i32::try_from(page.count - known).unwrap_or(i32::MAX);
                *read = read.saturating_add(new);
                if *read > *total && !is_single {
                    return Err(Fatal::peer(format!("the server sent {read} rows of a result of {total}")));
                }
                *end == FETCH_END || *read >= *total || page.count == 0
            }
            Arrival::Gap => {
                run.leave_out(page.count)?;
                false
            }
        };
        let is_last = is_end || is_single;
        self.opened();
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        if pending.slot.handler.is_none() {
            run.end(page.count)?;
            match is_last {
                true => self.last_page(cx, write_buffer),
                false => self.abandon(handle, write_buffer),
            }
            return Ok(());
        }
        if !is_last {
            let came = Came::new(page.count, self.reply_bytes, columns.decoders.len(), pending.in_block);
            self.request_pages(handle, came, write_buffer);
        }
        let Some(pending) = self.queue.first_mut() else { return Ok(()) };
        let Some(handler) = &mut pending.slot.handler else { return Ok(()) };
        if arrival != Arrival::Gap {
            let room = handler.rows(cx, &mut run)?;
            let id = pending.slot.id;
            self.queue.note(id, room);
        }
        run.end(page.count)?;
        if is_last {
            match self.queue.full() {
                Some(_) => self.is_last_page_due = true,
                None => self.last_page(cx, write_buffer),
            }
        }
        Ok(())
    }

    /// Requests the pages after one that has come.
    fn request_pages(&mut self, handle: i32, came: Came, write_buffer: &mut WriteBuffer) {
        let seeks = self.broker().is_none_or(BrokerInfo::seeks);
        let Some(pending) = self.queue.first_mut() else { return };
        let Stage::Reading { rows: read, total, pages } = pending.stage_mut() else { return };
        let before = self.expects.len();
        while (seeks || pages.asked.is_empty())
            && let Some(position) = pages.next(*read, *total, came)
        {
            client::fetch(write_buffer.tail(), self.info, handle, position);
            self.expects.push_back(Expect::Page);
        }
        pending.replies_due += self.expects.len() - before;
    }

    /// The result is over: pages of it that are in flight are not looked at.
    pub(super) fn leave_pages(&mut self) {
        // No request is started while a result is read, so that all pages are of the first.
        for expect in self.expects.iter_mut().filter(|expect| **expect == Expect::Page) {
            *expect = Expect::Unneeded;
        }
    }

    /// The response handler is gone, and rows would follow: the result is closed, by the end of the transaction if it
    /// is one of its own.
    fn abandon(&mut self, handle: i32, write_buffer: &mut WriteBuffer) {
        self.leave_pages();
        let Some(pending) = self.queue.first_mut() else { return };
        pending.go(RequestEvent::Abandoned, Stage::Sent);
        if pending.in_block {
            pending.replies_due += 1;
            client::of_handle(write_buffer.tail(), self.info, function::CURSOR_CLOSE, handle);
            self.expects.push_back(Expect::Simple);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages that are requested while the server's pages begin with row 1 and have so many rows, and the rows that
    /// are new in each.
    fn read(sizes: &[usize], total: i32, most: Option<i32>) -> (Vec<i32>, Vec<usize>) {
        let (mut pages, mut requested, mut new) = (Pages::default(), Vec::new(), Vec::new());
        let mut read = 0;
        for size in sizes {
            match pages.arrived(read, *size) {
                Arrival::Known(known) => {
                    new.push(size - known);
                    read += (size - known) as i32;
                }
                Arrival::Gap => new.push(0),
            }
            while let Some(position) =
                pages.next(read, total, Came { count: *size as i32, most }).filter(|_| read < total)
            {
                requested.push(position);
            }
        }
        (requested, new)
    }

    #[test]
    fn two_pages_are_in_flight_until_the_end_is_near() {
        let all = (vec![11, 21, 31, 41], vec![10, 10, 10, 10, 5]);
        assert_eq!(read(&[10, 10, 10, 10, 5], 45, None), all);
        // The page from row 31 might be the last one, so that it is requested after the one before.
        let (sizes, most) = (&[10, 10, 10], Some(20));
        assert_eq!(read(&sizes[..2], 45, most).0, [11, 21]);
        assert_eq!(read(sizes, 45, most).0, [11, 21, 31]);
    }

    #[test]
    fn one_page_more_is_in_flight_after_each_that_begins_where_it_should() {
        let (requested, new) = read(&[10; 12], 1000, None);
        assert_eq!(new, [10; 12]);
        let in_flight = |arrived: usize| read(&[10; 12][..arrived], 1000, None).0.len() + 1 - arrived;
        assert_eq!((1..=12).map(in_flight).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8]);
        assert!(requested.iter().zip(1..).all(|(position, page)| *position == 10 * page + 1));
    }

    #[test]
    fn two_pages_are_in_flight_again_after_one_that_began_too_late() {
        // The fourth has a row less than the guess, so that those in flight after it begin too late.
        let (requested, new) = read(&[10, 10, 10, 9, 10, 10, 10, 10, 10], 1000, None);
        assert_eq!(new, [10, 10, 10, 9, 0, 0, 0, 10, 9]);
        assert_eq!(requested, [11, 21, 31, 41, 51, 61, 40, 49, 58, 67, 76, 85]);
    }

    #[test]
    fn rows_that_came_before_are_left_out() {
        // The second page begins with row 11 and the third with row 21, which was the 11th row of the second.
        assert_eq!(read(&[10, 12, 10], 100, None), (vec![11, 21, 33, 45, 31], vec![10, 12, 8]));
    }

    #[test]
    fn page_after_a_gap_is_requested_again_and_later_pages_earlier() {
        assert_eq!(
            read(&[10, 9, 10, 10, 10], 100, None),
            (vec![11, 21, 20, 29, 38, 47, 56, 65], vec![10, 9, 0, 10, 9])
        );
    }

    #[test]
    fn pages_of_very_different_sizes_are_requested_one_by_one() {
        assert_eq!(read(&[10, 5, 5, 5], 100, None), (vec![11, 21, 16, 21], vec![10, 5, 0, 5]));
    }
}
