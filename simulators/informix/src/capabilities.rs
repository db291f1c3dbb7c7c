//! The capability masks of SQ_PROTOCOLS; bit 0 is the first bit of the first byte.

/// A release of the server, as far as clients can see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// 12.10
    V12,
    /// 14.10
    V14,
    /// 15.0
    V15,
}

impl Release {
    /// The mask it offers.
    pub fn mask(self) -> [u8; 9] {
        let last: [u8; 2] = match self {
            Self::V12 => [0xef, 0xf0],
            Self::V14 => [0xef, 0xf8],
            Self::V15 => [0xef, 0xff],
        };
        [0xbd, 0xbe, 0x9f, 0xfe, 0x7f, 0xb7, 0xff, last[0], last[1]]
    }

    /// Its banner.
    pub fn version(self) -> &'static str {
        match self {
            Self::V12 => "IBM Informix Dynamic Server Version 12.10.FC14",
            Self::V14 => "IBM Informix Dynamic Server Version 14.10.FC10",
            Self::V15 => "IBM Informix Dynamic Server Version 15.0.1.0.3",
        }
    }
}

/// The features of both sides.
#[derive(Clone, Debug)]
pub struct Capabilities {
    mask: Vec<u8>,
}

impl Default for Capabilities {
    /// The bits 0, 2, 3, 4, 49 and 51 are set before anything is negotiated.
    fn default() -> Self {
        Self { mask: vec![0b1011_1000, 0, 0, 0, 0, 0, 0b0101_0000, 0, 0] }
    }
}

impl Capabilities {
    /// The client answers the questions of PAM.
    pub fn pam(&self) -> bool {
        self.has(44)
    }

    /// The features that two masks have in common.
    pub fn common(offer: &[u8], ours: &[u8]) -> Self {
        Self { mask: offer.iter().zip(ours).map(|(offer, ours)| offer & ours).collect() }
    }

    fn has(&self, bit: usize) -> bool {
        self.mask.get(bit / 8).is_some_and(|byte| byte & (0x80 >> (bit % 8)) != 0)
    }

    /// The string table of DESCRIBE has int32 sizes.
    pub fn long_string_table(&self) -> bool {
        self.has(50)
    }

    /// SQL text and error offsets are int32.
    pub fn long_text(&self) -> bool {
        self.has(62)
    }

    /// The tuple size in DESCRIBE is int32.
    pub fn long_tuples(&self) -> bool {
        self.has(69)
    }

    /// Row counts are int64, and descriptors of BYTE and TEXT longer.
    pub fn long_counts(&self) -> bool {
        self.has(70)
    }
}
