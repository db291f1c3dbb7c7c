//! Packets, by the names in the manuals. Each file has one family, reading and writing side by side.

pub mod body;
pub mod capabilities;
pub mod column;
pub mod command;
pub mod compress;
pub mod frame;
pub mod handshake;
pub mod reply;

/// The first byte of the server's packets, which distinguishes them ("Generic Response Packets",
/// "Protocol::AuthMoreData", "Protocol::AuthSwitchRequest", "LOCAL INFILE Request").
pub mod header {
    /// OK_Packet.
    pub const OK: u8 = 0x00;
    /// AuthMoreData, while a session is being opened.
    pub const AUTH_MORE_DATA: u8 = 0x01;
    /// LOCAL INFILE Request, in place of a count of columns.
    pub const LOCAL_INFILE_REQUEST: u8 = 0xfb;
    /// AuthSwitchRequest, while a session is being opened.
    pub const AUTH_SWITCH_REQUEST: u8 = 0xfe;
    /// EOF_Packet, or the OK_Packet that replaces it.
    pub const EOF: u8 = 0xfe;
    /// ERR_Packet.
    pub const ERR: u8 = 0xff;
}
