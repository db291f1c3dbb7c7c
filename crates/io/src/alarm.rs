//! A timer that a selector waits for.

use std::io;
use std::time::Duration;

/// A timer of the operating system, with a file descriptor that can be read from once it is due. Only Linux has them.
#[derive(Debug)]
pub struct Alarm(os::Timer);

impl Alarm {
    /// One that is due after a time.
    ///
    /// # Errors
    /// The error of the operating system: no more file descriptors, or none of the kind.
    pub fn after(time: Duration) -> io::Result<Self> {
        os::Timer::after(time).map(Self)
    }

    /// The number of its file descriptor.
    pub fn fd(&self) -> i64 {
        self.0.fd()
    }
}

#[cfg(target_os = "linux")]
mod os {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::time::Duration;

    #[derive(Debug)]
    pub(super) struct Timer(pub(super) OwnedFd);

    impl Timer {
        pub(super) fn after(time: Duration) -> io::Result<Self> {
            let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
            // Zero would be no time at all.
            let time = time.max(Duration::from_nanos(1));
            let value = Timespec::try_from(time).map_err(|_| io::ErrorKind::InvalidInput)?;
            let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
            timerfd_settime(&fd, TimerfdTimerFlags::empty(), &once)?;
            Ok(Self(fd))
        }

        pub(super) fn fd(&self) -> i64 {
            self.0.as_raw_fd().into()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use std::convert::Infallible;
    use std::io;
    use std::time::Duration;

    #[derive(Debug)]
    pub(super) struct Timer(Infallible);

    impl Timer {
        pub(super) fn after(_: Duration) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn fd(&self) -> i64 {
            match self.0 {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_due(alarm: &Alarm, wait: Duration) -> bool {
        let mut watched = [PollFd::new(&alarm.0.0, PollFlags::IN)];
        let wait = Timespec::try_from(wait).expect("a short time");
        poll(&mut watched, Some(&wait)).expect("polling works") == 1
    }

    #[test]
    fn an_alarm_is_due_after_its_time_and_not_before() {
        assert!(!is_due(&Alarm::after(Duration::from_secs(3600)).expect("a timer"), Duration::ZERO));
        for time in [Duration::ZERO, Duration::from_millis(1)] {
            assert!(is_due(&Alarm::after(time).expect("a timer"), Duration::from_secs(60)));
        }
    }
}
