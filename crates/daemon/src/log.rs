//! The daemon's log on standard error: one line for each event, as text or as JSON, at most so many in a second.
//!
//! A thread writes them. A pipe that nobody reads, or a disk that is full, costs lines, and no client waits for it.

use crate::limits::{LOG_BACKLOG, LOG_LINES};
use crate::lock;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Registry, reload};

/// The least that is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What keeps the daemon from its work.
    Error,
    /// Clients that are refused or whose connection the daemon ends, with the reason; servers that cannot be reached.
    Warn,
    /// Configurations that are read again, and with `log_connections` clients that come and leave, too.
    #[default]
    Info,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Time, level, what has happened, and `name=value` for each detail.
    #[default]
    Text,
    /// An object of JSON.
    Json,
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
        }
    }
}

static LEVEL: OnceLock<reload::Handle<LevelFilter, Registry>> = OnceLock::new();

/// Lines are written from now on. Those that wait when the guard is dropped are written then. The format stays what it is
/// until the daemon ends.
pub fn start(level: LogLevel, format: LogFormat) -> WorkerGuard {
    let (writer, guard) =
        NonBlockingBuilder::default().lossy(true).buffered_lines_limit(LOG_BACKLOG).finish(std::io::stderr());
    let (filter, handle) = reload::Layer::new(LevelFilter::from(level));
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
    let layer = match format {
        LogFormat::Json => layer.json().flatten_event(true).with_target(false).boxed(),
        LogFormat::Text => layer.event_format(Text { journal: is_journal() }).boxed(),
    };
    if tracing_subscriber::registry().with(filter).with(layer).try_init().is_ok() {
        let _ = LEVEL.set(handle);
    }
    guard
}

/// Another level, of a configuration that was read again.
pub fn set_level(level: LogLevel) {
    if let Some(handle) = LEVEL.get() {
        let _ = handle.reload(LevelFilter::from(level));
    }
}

/// Standard error is systemd's journal, which has the time of a line, and reads its level from a number before it
/// (sd-daemon(3)). The variable has the device and the inode of the stream that it is true of (systemd.exec(5)).
fn is_journal() -> bool {
    let stream = rustix::fs::fstat(std::io::stderr()).map(|stat| format!("{}:{}", stat.st_dev, stat.st_ino));
    stream.is_ok_and(|stream| std::env::var("JOURNAL_STREAM").is_ok_and(|journal| journal == stream))
}

struct Text {
    journal: bool,
}

impl<S, N> FormatEvent<S, N> for Text
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> std::fmt::Result {
        let level = *event.metadata().level();
        if self.journal {
            out.write_str(match level {
                Level::ERROR => "<3>",
                Level::WARN => "<4>",
                _ => "<6>",
            })?;
        } else {
            SystemTime.format_time(&mut out)?;
            write!(out, " {level:>5} ")?;
        }
        out.write_str("headraced: ")?;
        context.format_fields(out.by_ref(), event)?;
        writeln!(out)
    }
}

/// How often one kind of line is written: what a client can cause as often as it likes must not fill a disk.
#[derive(Debug)]
pub struct Rate(Mutex<Second>);

#[derive(Debug)]
struct Second {
    since: Instant,
    written: u32,
    left_out: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self(Mutex::new(Second { since: Instant::now(), written: 0, left_out: 0 }))
    }
}

impl Rate {
    /// The number of lines that were left out since the last one, if this one is written; `None` if it is left out.
    pub fn allows(&self) -> Option<u32> {
        self.allows_at(Instant::now())
    }

    fn allows_at(&self, now: Instant) -> Option<u32> {
        let mut second = lock(&self.0);
        if now.duration_since(second.since) >= Duration::from_secs(1) {
            (second.since, second.written) = (now, 0);
        }
        if second.written == LOG_LINES {
            second.left_out += 1;
            return None;
        }
        second.written += 1;
        Some(std::mem::take(&mut second.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_lines_are_written_in_a_second_and_the_others_counted() {
        let (rate, start) = (Rate::default(), Instant::now());
        let written = (0..1000).filter(|_| rate.allows_at(start).is_some()).count();
        assert_eq!(written, LOG_LINES as usize);
        let later = start + Duration::from_secs(1);
        assert_eq!(rate.allows_at(later), Some(1000 - LOG_LINES));
        assert_eq!(rate.allows_at(later), Some(0));
    }
}
