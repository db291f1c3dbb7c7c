//! The code sets a database may have. Text is Unicode inside and the database's code set on the wire.

use std::borrow::Cow;

/// The code set of a database's locale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// 8859-1, also called 819.
    Latin1,
    /// utf8, also called 57372.
    Utf8,
}

impl Charset {
    /// The code set of a locale such as `en_US.819`, if it is one of ours.
    pub fn of_locale(locale: &str) -> Option<Self> {
        let codeset = locale.split_once('.')?.1.split('@').next()?.to_ascii_lowercase();
        match codeset.as_str() {
            "819" | "8859-1" => Some(Self::Latin1),
            "57372" | "utf8" | "utf-8" => Some(Self::Utf8),
            _ => None,
        }
    }

    /// Text from bytes of the wire. Bytes that are no UTF-8 become replacement characters, as the server has no
    /// error of its own for them.
    pub fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            Self::Latin1 if bytes.is_ascii() => String::from_utf8_lossy(bytes).into_owned(),
            Self::Latin1 => bytes.iter().map(|&byte| char::from(byte)).collect(),
        }
    }

    /// Bytes for the wire; what the code set lacks becomes a question mark.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        match self {
            Self::Latin1 if !text.is_ascii() => {
                text.chars().map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?')).collect()
            }
            _ => Cow::Borrowed(text.as_bytes()),
        }
    }

    /// The longest start of `text` that takes at most `limit` bytes, never half a character.
    pub fn fit(self, text: &str, limit: usize) -> &str {
        if text.len() <= limit {
            return text;
        }
        let mut taken = 0;
        for (at, character) in text.char_indices() {
            taken += if self == Self::Latin1 { 1 } else { character.len_utf8() };
            if taken > limit {
                return &text[..at];
            }
        }
        text
    }
}
