//! Settings that several databases have, and that mean the same for each of them.

use crate::Setting;
use crate::SettingKind::{Choice, Milliseconds, Number, Path, Seconds, Switch};

// Of all databases.
pub(crate) const KEEPALIVES: Setting =
    Setting::new("keepalives", Switch, "Whether an idle connection is probed.").or("1").adbc();
pub(crate) const STATEMENT_CACHE_SIZE: Setting =
    Setting::new("statement_cache_size", Number, "Prepared statements kept per connection.").or("256");
pub(crate) const UNREPRESENTABLE: Setting =
    Setting::new("unrepresentable", Choice(&["raise", "none", "text"], &[]), "Values that Python cannot represent.")
        .or("raise");
pub(crate) const ENABLE_TIMING: Setting =
    Setting::new("enable_timing", Switch, "Calls and nanoseconds are counted.").or("0").env("HEADRACE_TIMING");
// Of PostgreSQL and MySQL.
pub(crate) const KEEPALIVES_IDLE: Setting =
    Setting::new("keepalives_idle", Seconds, "Seconds before the first probe.").adbc();
pub(crate) const KEEPALIVES_INTERVAL: Setting =
    Setting::new("keepalives_interval", Seconds, "Seconds between probes.").adbc();
pub(crate) const KEEPALIVES_COUNT: Setting =
    Setting::new("keepalives_count", Number, "Unanswered probes after which the connection is closed.").adbc();
pub(crate) const TCP_USER_TIMEOUT: Setting =
    Setting::new("tcp_user_timeout", Milliseconds, "Milliseconds that sent data may stay unacknowledged.").adbc();
// Of Informix and CUBRID.
pub(crate) const SSLMODE: Setting = Setting::new(
    "sslmode",
    Choice(&["disable", "require", "verify-ca", "verify-full"], &[]),
    "Whether TLS is used, and what is verified.",
)
.or("disable")
.adbc()
.daemon("sslmode");
pub(crate) const SSLROOTCERT: Setting =
    Setting::new("sslrootcert", Path, "The file of trusted certificates.").adbc().daemon("sslrootcert");
