//! Configurations that are kept: the files are read once, and later connections take up earlier sessions.
//!
//! A configuration is valid for its settings and for the files as they were. The result of an unverified certificate
//! ([`Verify::Opportunistic`]) belongs to one connection, so nothing is cached for that mode.

use crate::config::{Roots, TlsConfig, Verify};
use crate::limits::{TLS_CONFIGURATIONS, TLS_STORE_SECONDS};
use headrace_core::Fatal;
use rustls::ClientConfig;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// A file as it was: its length, and when it was changed.
type Stamp = Option<(u64, SystemTime)>;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    config: TlsConfig,
    stamps: Vec<Stamp>,
}

type Kept = HashMap<Key, (Instant, Arc<ClientConfig>)>;

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

/// The configuration for `settings`, and the flag that becomes true if a certificate could not be verified.
pub(crate) fn configuration(settings: &TlsConfig) -> Result<(Arc<ClientConfig>, Arc<AtomicBool>), Fatal> {
    if settings.verify == Verify::Opportunistic {
        let (config, unverified) = settings.build()?;
        return Ok((Arc::new(config), unverified));
    }
    let mut stamps = Vec::new();
    if let Roots::File(path) = &settings.roots {
        stamps.push(stamp(path));
    }
    if let Some(client) = &settings.client {
        stamps.extend([stamp(&client.certificates), stamp(&client.key)]);
    }
    let key = Key { config: settings.clone(), stamps };
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    // Only the system has the places of its certificates.
    let fresh = |made: &Instant| {
        !matches!(settings.roots, Roots::System) || made.elapsed() < Duration::from_secs(TLS_STORE_SECONDS)
    };
    if let Some((_, config)) = kept.get(&key).filter(|(made, _)| fresh(made)) {
        return Ok((config.clone(), Arc::new(AtomicBool::new(settings.verify == Verify::None))));
    }
    let (config, unverified) = settings.build()?;
    let config = Arc::new(config);
    if kept.len() >= TLS_CONFIGURATIONS {
        kept.clear();
    }
    kept.insert(key, (Instant::now(), config.clone()));
    Ok((config, unverified))
}
