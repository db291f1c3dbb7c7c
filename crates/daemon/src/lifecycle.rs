//! From the start of the daemon to its end.

use crate::client::{self, Peer};
use crate::config::Config;
use crate::control;
use crate::hub::Hub;
use crate::limits::{EXPIRY, EXPIRY_LEAST, IDLE_EXIT};
use crate::log;
use crate::network;
use crate::place::{Access, Place};
use crate::replies::{Ended, NOT_ALLOWED};
use headrace_io::tokio::Stream;
use rustix::process::geteuid;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio::time::{interval, timeout};

/// How the daemon is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// The configuration; without one only the servers that clients name are known.
    pub config: Option<PathBuf>,
    /// The folder of the sockets.
    pub folder: PathBuf,
    /// The number in the socket's name.
    pub port: u16,
    /// A client has started it.
    pub on_demand: bool,
}

impl Options {
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

/// Serves until a signal, or until nobody has needed the daemon for a while. `bulk` are the threads for bulk traffic.
///
/// # Errors
/// What keeps it from starting.
pub async fn run(options: Options, bulk: Handle) -> Result<(), String> {
    let config = options.read()?;
    // Lines that wait are written when this is dropped.
    let _written = log::start(config.daemon.log_level, config.daemon.log_format);
    let access = access(&config);
    let mut place = Place::take(&options.folder, options.port, access, options.on_demand).await?;
    let (drain, draining) = watch::channel(false);
    let hub = Arc::new(Hub::new(config, bulk, draining));
    let served = Arc::new(Served::default());
    let failed = |error: std::io::Error| error.to_string();
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
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
    let listeners = network::listen(&hub, &served).await?;
    let often = idle_exit(&hub, &options).map_or(EXPIRY, |idle| (idle / 4).clamp(EXPIRY_LEAST, EXPIRY));
    let mut expiry = interval(often);
    let mut unused_since = Instant::now();
    // Who has started the daemon may not wait for this line.
    let _ = writeln!(std::io::stdout(), "headraced: serving {}", place.shown());
    for address in &listeners.addresses {
        let _ = writeln!(std::io::stdout(), "headraced: listening on {address}");
    }
    let _ = std::io::stdout().flush();
    loop {
        tokio::select! {
            accepted = place.clients.accept() => match accepted {
                Ok((stream, _)) => admit_local(stream, &hub, &served),
                // No more file descriptors, for example: the clients that are there go on.
                Err(error) => {
                    tracing::error!(%error, "a client cannot be accepted");
                    tokio::time::sleep(headrace_core::limits::TICK).await;
                }
            },
            Ok((stream, _)) = place.control.accept() => {
                if is_own(&stream) {
                    tokio::spawn(control::serve(stream, Arc::clone(&hub)));
                }
            }
            _ = expiry.tick() => {
                hub.expire();
                if served.number.load(Ordering::Relaxed) > 0 {
                    unused_since = Instant::now();
                } else if idle_exit(&hub, &options).is_some_and(|idle| unused_since.elapsed() >= idle) {
                    place.leave();
                    // Somebody may have come at this moment.
                    match timeout(Duration::ZERO, place.clients.accept()).await {
                        Ok(Ok((stream, _))) => {
                            place.come_back(self::access(&hub.config()))?;
                            admit_local(stream, &hub, &served);
                        }
                        _ => return Ok(()),
                    }
                }
            }
            _ = hangup.recv() => {
                match hub.read_again() {
                    Ok(()) => tracing::info!("the configuration was read again"),
                    Err(reason) => tracing::error!(reason, "the configuration stays as it is"),
                }
            }
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    place.leave();
    drop((place.clients, listeners));
    drain.send_replace(true);
    let drained = async {
        while served.number.load(Ordering::Relaxed) > 0 {
            served.left.notified().await;
        }
    };
    let limit = hub.config().daemon.drain_timeout();
    if timeout(limit, drained).await.is_err() {
        let left = served.number.load(Ordering::Relaxed);
        tracing::warn!(clients = left, ?limit, "clients had not ended their transactions");
    }
    Ok(())
}

fn access(config: &Config) -> Access {
    if config.users_by_number.is_empty() { Access::Own } else { Access::Everybody }
}

fn idle_exit(hub: &Hub, options: &Options) -> Option<Duration> {
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
        hub.said.refused(&peer, &Ended::new(NOT_ALLOWED, "the user is not one of [local_users]"));
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
            client::turn_away(stream, &peer, &hub).await
        } else {
            client::serve(stream, peer, hub).await
        }
        drop(one);
    });
}

fn is_own(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}
