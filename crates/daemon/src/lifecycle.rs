//! From the start of the daemon to its end.

use crate::client::{self, Peer};
use crate::config::Config;
use crate::control;
use crate::hub::Hub;
use crate::leaving::Leaving;
use crate::limits::{EXPIRY, EXPIRY_LEAST, IDLE_BEFORE_LEAVING, IDLE_EXIT, SHORT_IDLE_BEFORE_LEAVING};
use crate::log;
use crate::network::Listeners;
use crate::orders::Operator;
use crate::place::{self, Access, SocketsAndLock};
use crate::replies::{Ended, NOT_ALLOWED};
use crate::takeover::Handed;
use crate::takeover::newer::{self, Before};
use crate::takeover::older::{self, Said, Successor};
use headrace_io::tokio::Stream;
use rustix::process::geteuid;
use std::future::Future;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{interval, sleep_until, timeout, timeout_at};

/// How the daemon is started.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The configuration; without one only the servers that clients name are known.
    pub config: Option<PathBuf>,
    /// The folder of the sockets.
    pub folder: PathBuf,
    /// The number in the socket's name.
    pub port: u16,
    /// A client has started it.
    pub on_demand: bool,
    /// It takes over from a daemon that serves, if there is one.
    pub takeover: bool,
}

impl DaemonOptions {
    fn read(&self) -> Result<Config, String> {
        self.config.as_deref().map_or_else(|| Ok(Config::default()), Config::read)
    }
}

/// The clients that are served.
#[derive(Debug, Default)]
pub(crate) struct Served {
    number: AtomicUsize,
    left: Notify,
}

/// One of them.
struct One(Arc<Served>);

impl One {
    fn new(served: &Arc<Served>) -> Self {
        served.number.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(served))
    }
}

impl Drop for One {
    fn drop(&mut self) {
        if self.0.number.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.left.notify_one();
        }
    }
}

/// Serves until a signal, until nobody has needed the daemon for a while, or until the last client of a daemon has left from
/// which another one has taken over. `bulk` are the threads for bulk traffic.
///
/// # Errors
/// What keeps it from starting.
pub async fn run(options: DaemonOptions, bulk: Handle) -> Result<(), String> {
    let config = options.read()?;
    // Lines that wait are written when this is dropped.
    let _written = log::start(config.daemon.log_level, config.daemon.log_format);
    let access = access(&config);
    let taken = match options.takeover {
        true => newer::ask(&place::control_path(&options.folder, options.port)).await?,
        false => None,
    };
    let (tcp, before) = match taken {
        Some((mut taken, offer)) => (std::mem::take(&mut taken.tcp), Some((taken, offer))),
        None => (Vec::new(), None),
    };
    let (leaving, left) = watch::channel(Leaving::Nobody);
    let hub = Hub::new(config, bulk, left);
    let (place, offer) = match before {
        Some((taken, offer)) => {
            hub.registry.continue_from(taken.handed.next_number);
            hub.gates.restore(taken.handed.paused.clone());
            let before = Before { pid: taken.handed.pid, databases: taken.handed.databases.clone() };
            (SocketsAndLock::taken(&options.folder, options.port, access, taken)?, Some((offer, before)))
        }
        None => (SocketsAndLock::take(&options.folder, options.port, access, options.on_demand).await?, None),
    };
    let hub = Arc::new(hub);
    let failed = |error: std::io::Error| error.to_string();
    let signals = Signals {
        terminate: signal(SignalKind::terminate()).map_err(failed)?,
        interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
        hangup: signal(SignalKind::hangup()).map_err(failed)?,
    };
    let reload: control::Reload = {
        let (options, socket) = (options.clone(), place.socket().clone());
        Arc::new(move |hub: &Hub| {
            let config = options.read()?;
            socket.set_access(self::access(&config));
            hub.reload(config);
            Ok(())
        })
    };
    hub.reloading.set(reload);
    let _ = hub.started.set(options.clone());
    let listeners = Listeners::bind(&hub.config(), tcp).await?;
    if let Some((offer, before)) = offer {
        if let Some((predecessor, paused)) = offer.accept(before).await? {
            paused.into_iter().for_each(|paused| hub.gates.restore(paused));
            hub.chain.set_predecessor(predecessor);
        }
        place.note_process();
        socket_access(&place, &hub);
    }
    let served = Arc::new(Served::default());
    let mut daemon = Daemon { options, hub, served, place, listeners, leaving, signals };
    loop {
        let over = daemon.serve().await?;
        if daemon.end(over).await == Next::End {
            return Ok(());
        }
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

/// What a signal orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Reload,
    End,
}

impl Signals {
    async fn next(&mut self) -> Order {
        tokio::select! {
            _ = self.terminate.recv() => Order::End,
            _ = self.interrupt.recv() => Order::End,
            _ = self.hangup.recv() => Order::Reload,
        }
    }

    /// Waits for the end: the configuration is not read again any more.
    async fn end(&mut self) {
        while self.next().await != Order::End {}
    }
}

/// Why no clients are accepted any more.
enum Over {
    /// A signal.
    Signal,
    /// Nobody has come for a while.
    Unneeded,
    /// Another daemon takes over.
    Successor(Successor),
}

/// What follows the end of the serving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    End,
    /// The daemon that has taken over is gone.
    Serve,
}

/// A daemon that runs.
struct Daemon {
    options: DaemonOptions,
    hub: Arc<Hub>,
    served: Arc<Served>,
    place: SocketsAndLock,
    listeners: Listeners,
    leaving: watch::Sender<Leaving>,
    signals: Signals,
}

impl Daemon {
    /// Accepts clients.
    async fn serve(&mut self) -> Result<Over, String> {
        let Self { options, hub, served, place, listeners, signals, .. } = self;
        let (asks, mut asked) = mpsc::channel(1);
        let mut offered: Option<Pin<Box<dyn Future<Output = Option<Successor>> + Send>>> = None;
        let often = idle_exit(hub, options).map_or(EXPIRY, |idle| (idle / 4).clamp(EXPIRY_LEAST, EXPIRY));
        let mut expiry = interval(often);
        let mut unused_since = Instant::now();
        listeners.accept(hub, served)?;
        if let Some(predecessor) = hub.chain.predecessor() {
            predecessor.serving();
        }
        // Who has started the daemon may not wait for this line.
        let _ = writeln!(std::io::stdout(), "headraced: serving {}", place.shown());
        for address in &listeners.addresses {
            let _ = writeln!(std::io::stdout(), "headraced: listening on {address}");
        }
        let _ = std::io::stdout().flush();
        loop {
            tokio::select! {
                accepted = place.accept() => match accepted {
                    Ok(stream) => admit_local(stream, hub, served),
                    // No more file descriptors, for example: the clients that are there go on.
                    Err(error) => {
                        tracing::error!(%error, "a client cannot be accepted");
                        tokio::time::sleep(headrace_io::limits::TICK).await;
                    }
                },
                Ok(stream) = place.accept_control() => {
                    if is_own(&stream) {
                        tokio::spawn(control::serve(stream, Arc::clone(hub), asks.clone()));
                    }
                }
                Some(stream) = asked.recv() => match offered {
                    Some(_) => drop(tokio::spawn(older::refuse(stream))),
                    None => match handed(hub, place, listeners) {
                        Ok((handed, sockets)) => offered = Some(Box::pin(older::offer(stream, handed, sockets))),
                        Err(error) => tracing::error!(%error, "the sockets cannot be given to another daemon"),
                    },
                },
                ready = async { offered.as_mut().expect("it is polled only then").await }, if offered.is_some() => {
                    offered = None;
                    if let Some(successor) = ready {
                        return Ok(Over::Successor(successor));
                    }
                }
                _ = expiry.tick() => {
                    hub.expire();
                    let has_clients = served.number.load(Ordering::Relaxed) > 0 || hub.chain.predecessor().is_some();
                    if has_clients || offered.is_some() {
                        unused_since = Instant::now();
                    } else if idle_exit(hub, options).is_some_and(|idle| unused_since.elapsed() >= idle) {
                        place.leave();
                        // Somebody may have come at this moment.
                        match timeout(Duration::ZERO, place.accept()).await {
                            Ok(Ok(stream)) => {
                                place.come_back(self::access(&hub.config()))?;
                                admit_local(stream, hub, served);
                            }
                            _ => return Ok(Over::Unneeded),
                        }
                    }
                }
                order = signals.next() => match order {
                    Order::Reload => drop(hub.read_again(&Operator::of_signal())),
                    Order::End => {
                        // The message of one that is about to serve has to be read: it would take this end for a crash.
                        let successor = match offered {
                            Some(offer) => offer.await,
                            None => None,
                        };
                        return Ok(successor.map_or(Over::Signal, Over::Successor));
                    }
                },
            }
        }
    }

    /// Has the clients leave.
    async fn end(&mut self, over: Over) -> Next {
        self.listeners.stop().await;
        match over {
            Over::Unneeded => {}
            Over::Signal => {
                // It is not to accept again when the files are gone.
                self.end_predecessor().await;
                self.place.leave();
                self.place.forget();
                self.listeners.forget();
                self.drain().await;
            }
            Over::Successor(successor) => {
                let paused = self.hub.hand_over(successor.pid);
                if successor.yours(paused).await.is_err() {
                    self.hub.take_back();
                    return Next::Serve;
                }
                tracing::info!("another daemon takes over");
                return self.hand_over(successor).await;
            }
        }
        Next::End
    }

    /// Has all clients leave, each at the end of its transaction.
    async fn drain(&self) {
        self.leaving.send_replace(Leaving::All);
        let limit = self.hub.config().daemon.drain_timeout();
        self.drained(limit, tokio::time::Instant::now() + limit).await;
    }

    /// Waits until all clients have left, but no longer than until a time.
    async fn drained(&self, limit: Duration, until: tokio::time::Instant) {
        if timeout_at(until, all_left(&self.hub, &self.served)).await.is_err() {
            let left = self.served.number.load(Ordering::Relaxed);
            tracing::warn!(clients = left, ?limit, "clients had not ended their transactions");
        }
    }

    /// Serves the clients that are there until they have left, while another daemon accepts.
    async fn hand_over(&mut self, mut successor: Successor) -> Next {
        if let Some(predecessor) = self.hub.chain.predecessor() {
            predecessor.release().await;
        }
        let (restart, drain) = (self.hub.config().daemon.restart_timeout(), self.hub.config().daemon.drain_timeout());
        let mut steps = [
            (Leaving::Idle(IDLE_BEFORE_LEAVING), restart),
            (Leaving::Idle(SHORT_IDLE_BEFORE_LEAVING), drain / 2),
            (Leaving::Moved, drain / 2),
        ]
        .into_iter();
        let mut until = tokio::time::Instant::now();
        let (mut is_served, mut is_lost) = (false, false);
        loop {
            let (hub, served) = (&self.hub, &self.served);
            tokio::select! {
                () = all_left(hub, served), if is_served => return Next::End,
                said = successor.next_report(hub), if !is_lost => match said {
                    Said::Serving => is_served = true,
                    Said::Release | Said::End => {
                        self.release(&successor).await;
                        is_served = true;
                        if said == Said::End {
                            return self.drain_beside(successor).await;
                        }
                    }
                    Said::Lost if self.place.is_forgotten() => is_lost = true,
                    Said::Lost => {
                        tracing::warn!("the daemon that has taken over is gone; this one serves again");
                        self.hub.take_back();
                        self.leaving.send_replace(Leaving::Nobody);
                        self.place.note_process();
                        return Next::Serve;
                    }
                },
                () = sleep_until(until) => {
                    let Some((leaving, limit)) = steps.next() else {
                        let left = self.served.number.load(Ordering::Relaxed);
                        tracing::warn!(clients = left, "clients had not ended their transactions");
                        return Next::End;
                    };
                    self.leaving.send_replace(leaving);
                    until += limit;
                }
                () = self.signals.end() => return self.drain_beside(successor).await,
            }
        }
    }

    /// The sockets are the successor's alone.
    async fn release(&mut self, successor: &Successor) {
        self.place.forget();
        self.listeners.forget();
        successor.released().await;
    }

    async fn end_predecessor(&self) {
        if let Some(predecessor) = self.hub.chain.predecessor() {
            predecessor.end().await;
        }
    }

    /// Has all clients leave, and goes on doing what the daemon that has taken over reports of them.
    async fn drain_beside(&mut self, mut successor: Successor) -> Next {
        self.end_predecessor().await;
        self.leaving.send_replace(Leaving::All);
        let limit = self.hub.config().daemon.drain_timeout();
        let (until, mut is_lost) = (tokio::time::Instant::now() + limit, false);
        loop {
            let said = tokio::select! {
                biased;
                () = self.drained(limit, until) => return Next::End,
                said = successor.next_report(&self.hub), if !is_lost => said,
            };
            match said {
                Said::Serving => {}
                Said::Release | Said::End => self.release(&successor).await,
                Said::Lost => is_lost = true,
            }
        }
    }
}

/// Waits until all clients have left, and those of the daemon from which this one has taken over.
async fn all_left(hub: &Hub, served: &Served) {
    while served.number.load(Ordering::Relaxed) > 0 {
        served.left.notified().await;
    }
    if let Some(predecessor) = hub.chain.predecessor() {
        predecessor.gone().await;
    }
}

/// What is given to a daemon that takes over.
fn handed(hub: &Hub, place: &SocketsAndLock, listeners: &Listeners) -> std::io::Result<(Handed, Vec<OwnedFd>)> {
    let mut sockets = place.sockets()?;
    sockets.extend(listeners.sockets()?);
    let handed = Handed {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        next_number: hub.registry.next_number(),
        paused: hub.gates.paused(),
        databases: databases(hub),
        inherited: place.socket().is_inherited(),
        addresses: listeners.configured(),
    };
    Ok((handed, sockets))
}

/// The names of the databases that orders may name, as far as daemons before this one have said theirs.
fn databases(hub: &Hub) -> Option<Vec<String>> {
    let mut names: Vec<String> = hub.config().databases.keys().cloned().collect();
    if let Some(predecessor) = hub.chain.predecessor() {
        names.extend(predecessor.before.databases.clone()?);
    }
    Some(names)
}

fn socket_access(place: &SocketsAndLock, hub: &Hub) {
    place.socket().set_access(access(&hub.config()));
}

fn access(config: &Config) -> Access {
    if config.users_by_number.is_empty() { Access::Own } else { Access::Everybody }
}

fn idle_exit(hub: &Hub, options: &DaemonOptions) -> Option<Duration> {
    let config = hub.config();
    // Clients of TCP cannot start a daemon that has ended.
    let by_default = if options.on_demand && config.daemon.listen.is_empty() { IDLE_EXIT } else { 0.0 };
    let said = config.daemon.idle_exit.unwrap_or(by_default);
    (said > 0.0).then(|| Duration::from_secs_f64(said))
}

/// Every process that may connect to the socket acts with this user's rights on the servers.
fn admit_local(stream: UnixStream, hub: &Arc<Hub>, served: &Arc<Served>) {
    let Ok(credentials) = stream.peer_cred() else { return };
    let own = credentials.uid() == geteuid().as_raw();
    let peer = Peer { process: credentials.pid(), user: Some(credentials.uid()), own, address: None };
    if !own && !hub.config().users_by_number.contains_key(&credentials.uid()) {
        hub.refused.add(1);
        hub.client_log.refused(&peer, &Ended::new(NOT_ALLOWED, "the user is not one of [local_users]"));
        return;
    }
    let Ok(stream) = Stream::local(stream) else { return };
    admit(stream, peer, hub, served);
}

/// Serves a client, if there is a place.
pub(crate) fn admit(stream: Stream, peer: Peer, hub: &Arc<Hub>, served: &Arc<Served>) {
    let full = served.number.load(Ordering::Relaxed) >= hub.config().daemon.max_clients;
    let (one, hub) = (One::new(served), Arc::clone(hub));
    tokio::spawn(async move {
        if full {
            Box::pin(client::turn_away(stream, &peer, &hub)).await
        } else {
            client::serve(stream, peer, hub).await
        }
        drop(one);
    });
}

fn is_own(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}
