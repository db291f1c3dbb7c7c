//! The broker: a fixed number of workers (CAS), which are taken from clients outside of a transaction when others wait.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use headrace_simulator_common::lock;

/// One CAS.
#[derive(Debug)]
struct Worker {
    pid: i32,
    /// The client's socket; nothing if the CAS is free.
    client: Option<TcpStream>,
    /// Since when it can be taken away.
    released: Option<Instant>,
    /// True if it has been taken away from its client.
    taken: bool,
    /// True if its process has been killed.
    killed: bool,
    /// True while a request runs.
    busy: bool,
    /// True for the mode KEEP, which survives the client.
    keep: bool,
    cancelled: Arc<AtomicBool>,
}

/// How much higher the process id is of a CAS that takes the place of one that was killed.
const PIDS: i32 = 100_000;

/// All of them.
#[derive(Debug)]
pub struct Broker {
    workers: Mutex<Vec<Worker>>,
    changed: Condvar,
}

/// What a CAS does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// No such CAS.
    None,
    /// It has no client, or waits for one.
    Idle,
    /// A request runs.
    Busy,
}

impl Broker {
    /// A broker with so many workers.
    pub fn new(count: usize) -> Self {
        let first = 10_000 + (std::process::id() % 20_000) as i32;
        let workers = (0..count as i32)
            .map(|index| Worker {
                pid: first + index,
                client: None,
                released: None,
                taken: false,
                killed: false,
                busy: false,
                keep: false,
                cancelled: Arc::default(),
            })
            .collect();
        Self { workers: Mutex::new(workers), changed: Condvar::new() }
    }

    /// Waits for a CAS and takes it; returns its place.
    pub fn acquire(&self, client: &TcpStream) -> std::io::Result<usize> {
        let socket = client.try_clone()?;
        let mut workers = lock(&self.workers);
        loop {
            if let Some(place) = workers.iter().position(|worker| worker.client.is_none()) {
                let worker = &mut workers[place];
                worker.client = Some(socket);
                worker.released = None;
                worker.taken = false;
                worker.busy = true;
                worker.cancelled.store(false, Ordering::Relaxed);
                return Ok(place);
            }
            // One that has been taken already will be free soon; another newcomer takes another one.
            let longest = workers
                .iter_mut()
                .filter(|worker| !worker.taken && !worker.keep && worker.released.is_some())
                .min_by_key(|worker| worker.released);
            if let Some(worker) = longest {
                worker.taken = true;
                if let Some(socket) = &worker.client {
                    let _ = socket.shutdown(Shutdown::Read);
                }
            }
            workers = self.changed.wait(workers).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Gives a CAS back; returns true if it had been taken away.
    pub fn release(&self, place: usize) -> bool {
        let mut workers = lock(&self.workers);
        let worker = &mut workers[place];
        worker.client = None;
        worker.busy = false;
        worker.released = None;
        if std::mem::take(&mut worker.killed) {
            // The broker starts another process.
            worker.pid += PIDS;
            worker.keep = false;
        }
        self.changed.notify_all();
        std::mem::take(&mut worker.taken)
    }

    /// A request has come; returns false if the CAS has been taken away, and the request must not run.
    pub fn begin(&self, place: usize) -> bool {
        let mut workers = lock(&self.workers);
        let worker = &mut workers[place];
        if worker.taken {
            return false;
        }
        worker.released = None;
        worker.busy = true;
        worker.cancelled.store(false, Ordering::Relaxed);
        true
    }

    /// A request is done; `free` if the CAS may be taken away now.
    pub fn end(&self, place: usize, free: bool) {
        let mut workers = lock(&self.workers);
        let worker = &mut workers[place];
        worker.busy = false;
        if free {
            worker.released = Some(Instant::now());
            self.changed.notify_all();
        }
    }

    /// Sets the mode; returns the one before: 1 AUTO, 2 KEEP.
    pub fn set_mode(&self, place: usize, keep: bool) -> i32 {
        let mut workers = lock(&self.workers);
        let before = std::mem::replace(&mut workers[place].keep, keep);
        if before { 2 } else { 1 }
    }

    /// The process id of a CAS.
    pub fn pid(&self, place: usize) -> i32 {
        lock(&self.workers)[place].pid
    }

    /// The flag by which the running request of a CAS is cancelled.
    pub fn cancelled(&self, place: usize) -> Arc<AtomicBool> {
        Arc::clone(&lock(&self.workers)[place].cancelled)
    }

    /// Cancels what runs in the CAS of a process id; returns false if there is none with a client.
    pub fn cancel(&self, pid: i32) -> bool {
        let workers = lock(&self.workers);
        let found = workers.iter().find(|worker| worker.pid == pid && worker.client.is_some());
        if let Some(worker) = found {
            worker.cancelled.store(worker.busy, Ordering::Relaxed);
        }
        found.is_some()
    }

    /// Kills the process of a CAS: its connection ends, and no reply is sent any more. Returns false if there is none
    /// with a client.
    pub fn kill(&self, pid: i32) -> bool {
        let mut workers = lock(&self.workers);
        let Some(worker) = workers.iter_mut().find(|worker| worker.pid == pid) else { return false };
        let Some(socket) = &worker.client else { return false };
        worker.killed = true;
        socket.shutdown(Shutdown::Both).is_ok()
    }

    /// What the CAS of a process id does.
    pub fn activity(&self, pid: i32) -> Activity {
        match lock(&self.workers).iter().find(|worker| worker.pid == pid) {
            None => Activity::None,
            Some(worker) if worker.client.is_some() && worker.busy => Activity::Busy,
            Some(_) => Activity::Idle,
        }
    }
}
