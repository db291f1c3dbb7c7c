//! The connection phase: HandshakeV10, SSLRequest, HandshakeResponse41, AuthSwitchRequest, AuthMoreData. MySQL:
//! "Connection Phase"; MariaDB: "1-connecting-connecting".

use super::body::{Body, put_lenenc_bytes};
use super::capabilities::{Capabilities, StatusFlags};
use headrace_core::{Fatal, FatalKind};

/// `Protocol::HandshakeV10`: the server's greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeV10 {
    /// The server's version as it reports it, without the `5.5.5-` that MariaDB before 11 adds.
    pub server_version: String,
    /// True if it calls itself MariaDB.
    pub mariadb: bool,
    /// The connection's number, which KILL takes.
    pub thread_id: u32,
    /// The scramble: 20 bytes for most plugins.
    pub auth_plugin_data: Vec<u8>,
    /// The server's capabilities.
    pub capabilities: Capabilities,
    /// Its default collation.
    pub collation: u8,
    /// Its status.
    pub status: StatusFlags,
    /// The plugin that its data are for, empty when it names none.
    pub auth_plugin_name: String,
}

impl HandshakeV10 {
    /// Reads the greeting.
    ///
    /// # Errors
    /// [`Fatal`] if it is malformed, or of a server before 4.1.
    pub fn read(payload: &[u8]) -> Result<Self, Fatal> {
        let mut body = Body::new("greeting", payload);
        let protocol = body.u8()?;
        if protocol != 10 {
            return Err(Fatal::peer(format!(
                "the server uses protocol version {protocol}, not 10; is this a MySQL or MariaDB server?"
            )));
        }
        let version = String::from_utf8_lossy(body.nul_bytes()).into_owned();
        let thread_id = body.u32()?;
        let mut auth_plugin_data = body.bytes(8)?.to_vec();
        body.u8()?;
        let mut bits = u64::from(body.u16()?);
        let (mut collation, mut status) = (0, StatusFlags::empty());
        let mut auth_plugin_name = String::new();
        if !body.is_empty() {
            collation = body.u8()?;
            status = StatusFlags::from_bits_retain(body.u16()?);
            bits |= u64::from(body.u16()?) << 16;
            let data_len = body.u8()?;
            body.bytes(6)?;
            let extended = u64::from(body.u32()?);
            if bits & Capabilities::LONG_PASSWORD.bits() == 0 {
                bits |= extended << 32;
            }
            let capabilities = Capabilities::from_bits_retain(bits);
            if capabilities.contains(Capabilities::SECURE_CONNECTION) {
                // The manuals give this part at least 13 bytes, the last of them a NUL that is not part of the
                // scramble.
                let rest = usize::from(data_len).saturating_sub(8).max(13);
                let part = body.bytes(rest)?;
                auth_plugin_data.extend_from_slice(part.strip_suffix(&[0]).unwrap_or(part));
            }
            if capabilities.contains(Capabilities::PLUGIN_AUTH) {
                auth_plugin_name = String::from_utf8_lossy(body.nul_bytes()).into_owned();
            }
        }
        let capabilities = Capabilities::from_bits_retain(bits);
        if !capabilities.contains(Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION) {
            return Err(Fatal::new(
                FatalKind::UnsupportedServer,
                "the server is older than MySQL 4.1, which headrace does not support",
            ));
        }
        let mariadb = version.contains("MariaDB") || bits & Capabilities::LONG_PASSWORD.bits() == 0;
        let server_version = version.strip_prefix("5.5.5-").filter(|_| mariadb).unwrap_or(&version).to_owned();
        Ok(Self {
            server_version,
            mariadb,
            thread_id,
            auth_plugin_data,
            capabilities,
            collation,
            status,
            auth_plugin_name,
        })
    }

    /// The version's first three numbers.
    pub fn version(&self) -> (u16, u16, u16) {
        let mut numbers = self.server_version.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        (next(), next(), next())
    }
}

/// The common head of SSLRequest and HandshakeResponse41.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientHello {
    /// The capabilities of both sides.
    pub capabilities: Capabilities,
    /// The largest packet that the client takes, in bytes.
    pub max_packet_size: u32,
    /// The number of the connection's collation.
    pub collation: u8,
}

impl ClientHello {
    /// Appends `Protocol::SSLRequest`: after it the client begins the TLS handshake.
    pub fn write(&self, out: &mut Vec<u8>) {
        let bits = self.capabilities.bits();
        out.extend_from_slice(&(bits as u32).to_le_bytes());
        out.extend_from_slice(&self.max_packet_size.to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&[0; 19]);
        // Zero unless the server offered extended capabilities: filler for MySQL, the upper half for MariaDB.
        out.extend_from_slice(&((bits >> 32) as u32).to_le_bytes());
    }
}

/// `Protocol::HandshakeResponse41`. It has no Debug output, since it contains the response to the challenge.
#[derive(Clone)]
pub struct HandshakeResponse41<'a> {
    /// The part that SSLRequest has too.
    pub hello: ClientHello,
    /// The user's name.
    pub username: &'a str,
    /// The plugin's answer to the server's data.
    pub auth_response: &'a [u8],
    /// The schema to begin in.
    pub database: Option<&'a str>,
    /// The plugin that answered.
    pub client_plugin_name: &'a str,
    /// Connection attributes (`performance_schema.session_connect_attrs`).
    pub attributes: &'a [(String, String)],
    /// The level of zstd, sent when that was agreed.
    pub zstd_level: u8,
}

impl HandshakeResponse41<'_> {
    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let capabilities = self.hello.capabilities;
        self.hello.write(out);
        put_nul(out, self.username);
        if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            put_lenenc_bytes(out, self.auth_response);
        } else {
            out.push(self.auth_response.len() as u8);
            out.extend_from_slice(self.auth_response);
        }
        if capabilities.contains(Capabilities::CONNECT_WITH_DB) {
            put_nul(out, self.database.unwrap_or(""));
        }
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul(out, self.client_plugin_name);
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            let mut attributes = Vec::new();
            for (name, value) in self.attributes {
                put_lenenc_bytes(&mut attributes, name.as_bytes());
                put_lenenc_bytes(&mut attributes, value.as_bytes());
            }
            put_lenenc_bytes(out, &attributes);
        }
        if capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            out.push(self.zstd_level);
        }
    }
}

/// A NUL inside would end the field early and let the rest be taken for the next one; callers refuse it before.
fn put_nul(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// `Protocol::AuthSwitchRequest`: the plugin's name and its data. A NUL may end them, or be their last byte: only the
/// plugin can decide.
///
/// # Errors
/// [`Fatal`] for the request of servers before 4.1, which asks for a hash that is not secret.
pub fn auth_switch_request(payload: &[u8]) -> Result<(String, Vec<u8>), Fatal> {
    let mut body = Body::new("AuthSwitchRequest", payload);
    body.u8()?;
    if body.is_empty() {
        return Err(Fatal::new(
            FatalKind::UnsupportedServer,
            "the server asks for mysql_old_password authentication, which is not secure and not supported; \
             give the account a newer password",
        ));
    }
    let name = String::from_utf8_lossy(body.nul_bytes()).into_owned();
    Ok((name, body.rest().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(version: &str, low: u16, high: u16, extended: u32) -> Vec<u8> {
        let mut out = vec![10];
        out.extend_from_slice(version.as_bytes());
        out.push(0);
        out.extend_from_slice(&[42, 0, 0, 0]);
        out.extend_from_slice(b"12345678\0");
        out.extend_from_slice(&low.to_le_bytes());
        out.extend_from_slice(&[45, 2, 0]);
        out.extend_from_slice(&high.to_le_bytes());
        out.extend_from_slice(&[21, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&extended.to_le_bytes());
        out.extend_from_slice(b"901234567890\0mysql_native_password\0");
        out
    }

    #[test]
    fn greetings_of_mariadb_and_mysql() {
        let mariadb = HandshakeV10::read(&greeting("5.5.5-10.11.6-MariaDB-log", 0xf7fe, 0x81ff, 0x1d)).unwrap();
        assert_eq!((mariadb.server_version.as_str(), mariadb.version()), ("10.11.6-MariaDB-log", (10, 11, 6)));
        assert!(mariadb.mariadb);
        assert_eq!(mariadb.auth_plugin_data, b"12345678901234567890");
        assert_eq!(mariadb.auth_plugin_name, "mysql_native_password");
        assert_eq!((mariadb.thread_id, mariadb.collation), (42, 45));
        assert!(mariadb.capabilities.contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS));
        let mysql = HandshakeV10::read(&greeting("8.4.3", 0xffff, 0xdfff, 0x1d)).unwrap();
        assert!(!mysql.mariadb && mysql.version() == (8, 4, 3));
        assert!(!mysql.capabilities.contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS), "filler is not a capability");
        let whole = greeting("8.4.3", 0xffff, 0xdfff, 0);
        for cut in 0..whole.len() - 36 {
            // A greeting may end after the lower half of the capabilities: the rest was added by later versions.
            assert_eq!(HandshakeV10::read(&whole[..cut]).is_err(), cut != 22, "cut at {cut}");
        }
        assert!(HandshakeV10::read(b"\x09old").unwrap_err().message.contains("protocol version 9"));
    }

    #[test]
    fn the_response_has_each_part_that_was_agreed() {
        let mut out = Vec::new();
        let capabilities = Capabilities::CONNECT_WITH_DB
            | Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA
            | Capabilities::CONNECT_ATTRS
            | Capabilities::ZSTD_COMPRESSION_ALGORITHM
            | Capabilities::MARIADB_STMT_BULK_OPERATIONS;
        HandshakeResponse41 {
            hello: ClientHello { capabilities, max_packet_size: 1 << 24, collation: 45 },
            username: "u",
            auth_response: b"xyz",
            database: Some("d"),
            client_plugin_name: "p",
            attributes: &[("a".into(), "b".into())],
            zstd_level: 3,
        }
        .write(&mut out);
        assert_eq!(&out[4..9], &[0, 0, 0, 1, 45]);
        assert_eq!(&out[28..32], &[4, 0, 0, 0], "extended capabilities");
        assert_eq!(&out[32..], b"u\0\x03xyzd\0p\0\x04\x01a\x01b\x03");
    }

    #[test]
    fn switches() {
        assert_eq!(auth_switch_request(b"\xfeplug\0data\0").unwrap(), ("plug".into(), b"data\0".to_vec()));
        assert!(auth_switch_request(b"\xfe").is_err());
    }
}
