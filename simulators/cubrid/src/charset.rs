//! The code sets of databases.

use encoding_rs::{EUC_KR, Encoding};

/// A code set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    Utf8,
    /// EUC-KR.
    EucKr,
    /// ISO 8859-1.
    Latin1,
}

impl Charset {
    /// The code set of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "utf8" => Some(Self::Utf8),
            "euckr" => Some(Self::EucKr),
            "iso88591" => Some(Self::Latin1),
            _ => None,
        }
    }

    /// Its number in the first byte of a type.
    pub fn number(self) -> u8 {
        match self {
            Self::Utf8 => 5,
            Self::EucKr => 4,
            Self::Latin1 => 3,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf8",
            Self::EucKr => "euckr",
            Self::Latin1 => "iso88591",
        }
    }

    /// A client's bytes as text. What is not in the code set is replaced.
    pub fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            Self::EucKr => decoded(EUC_KR, bytes),
            Self::Latin1 => bytes.iter().map(|byte| char::from(*byte)).collect(),
        }
    }

    /// Text as the client gets it. What is not in the code set becomes a question mark.
    pub fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::EucKr => {
                let mut bytes = Vec::with_capacity(text.len());
                for character in text.chars() {
                    let mut buffer = [0; 4];
                    let (encoded, _, failed) = EUC_KR.encode(character.encode_utf8(&mut buffer));
                    bytes.extend_from_slice(if failed { b"?" } else { &encoded });
                }
                bytes
            }
            Self::Latin1 => text.chars().map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?')).collect(),
        }
    }
}

fn decoded(encoding: &'static Encoding, bytes: &[u8]) -> String {
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}
