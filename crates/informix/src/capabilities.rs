//! The features that client and server have in common: the masks of SQ_PROTOCOLS.

/// The mask that this client offers. It leaves out the features from bit 64 on, so that descriptions and results have
/// one layout on every release since 12.10.
pub const OFFER: [u8; 8] = [0xff, 0xfc, 0x7f, 0xfc, 0x3c, 0x8c, 0xaa, 0x97];

/// The bits of a mask, counted from the most significant bit of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Feature {
    /// CIDESCRIBE: the server describes parameters.
    DescribeInput = 34,
    /// The server requires a PAM dialogue.
    Pam = 44,
    /// The string table of DESCRIBE has offsets and a size of 32 bits.
    WideStringTable = 50,
    /// SAVEPOINT messages.
    Savepoints = 56,
    /// SQL text and the offset of ERR have 32 bits.
    LongText = 62,
    /// The buffer of NFETCH may be larger than 32767 bytes.
    LargeFetch = 63,
    /// The tuple size of DESCRIBE has 32 bits.
    WideTuple = 69,
    /// The counters of DONE have 64 bits, and descriptors of BYTE and TEXT 68 bytes.
    WideCounters = 70,
}

/// The features that are in both masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u128);

impl Default for Capabilities {
    /// The features before SQ_PROTOCOLS: the capability word 316 of the login.
    fn default() -> Self {
        Self([0u32, 2, 3, 4, 49, 51].iter().fold(0, |mask, bit| mask | (1 << (127 - bit))))
    }
}

impl Capabilities {
    /// The bits that the client's and the server's mask have in common. Bits after the sixteenth byte are ignored.
    pub fn negotiate(client: &[u8], server: &[u8]) -> Self {
        Self(mask(client) & mask(server))
    }

    /// Returns true if both sides support `feature`.
    pub fn has(self, feature: Feature) -> bool {
        self.0 >> (127 - feature as u32) & 1 == 1
    }

    /// Bytes of a BYTE or TEXT descriptor in a row.
    pub fn descriptor_bytes(self) -> usize {
        if self.has(Feature::WideCounters) { 68 } else { 56 }
    }
}

fn mask(bytes: &[u8]) -> u128 {
    let mut wide = [0; 16];
    let n = bytes.len().min(16);
    wide[..n].copy_from_slice(&bytes[..n]);
    u128::from_be_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_masks_of_real_servers_leave_the_wide_layouts_off() {
        for last in [0xf0, 0xf8, 0xff] {
            let server = [0xbd, 0xbe, 0x9f, 0xfe, 0x7f, 0xb7, 0xff, 0xef, last];
            let both = Capabilities::negotiate(&OFFER, &server);
            for on in [Feature::WideStringTable, Feature::Savepoints, Feature::LongText, Feature::LargeFetch] {
                assert!(both.has(on), "{on:?}");
            }
            for off in [Feature::Pam, Feature::WideTuple, Feature::WideCounters] {
                assert!(!both.has(off), "{off:?}");
            }
        }
        let offered_by_jdbc_15 = [OFFER.as_slice(), &[0x06]].concat();
        let v15 = [0xbd, 0xbe, 0x9f, 0xfe, 0x7f, 0xb7, 0xff, 0xef, 0xff];
        let both = Capabilities::negotiate(&offered_by_jdbc_15, &v15);
        assert!(both.has(Feature::WideTuple) && both.has(Feature::WideCounters));
        assert!(!Capabilities::default().has(Feature::LongText));
    }
}
