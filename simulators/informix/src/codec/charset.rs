//! The code sets a database may have. Text is Unicode inside and the database's code set on the wire.

use std::borrow::Cow;

use encoding_rs::Encoding;

/// The code set of a database's locale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// 8859-1, also called 819.
    Latin1,
    /// utf8, also called 57372.
    Utf8,
    /// Any other.
    Other(&'static Encoding),
}

impl Charset {
    /// The code set of a locale such as `en_US.819`, if it is supported.
    pub fn of_locale(locale: &str) -> Option<Self> {
        let codeset = locale.split_once('.')?.1.split('@').next()?.to_ascii_lowercase();
        let label: &[u8] = match codeset.as_str() {
            "819" | "8859-1" => return Some(Self::Latin1),
            "57372" | "utf8" | "utf-8" => return Some(Self::Utf8),
            "912" | "8859-2" => b"iso-8859-2",
            "915" | "8859-5" => b"iso-8859-5",
            "1089" | "8859-6" => b"iso-8859-6",
            "813" | "8859-7" => b"iso-8859-7",
            "916" | "8859-8" => b"iso-8859-8",
            "920" | "8859-9" => b"windows-1254",
            "8859-13" => b"iso-8859-13",
            "923" | "8859-15" => b"iso-8859-15",
            "1250" | "cp1250" => b"windows-1250",
            "1251" | "cp1251" => b"windows-1251",
            "1252" | "cp1252" => b"windows-1252",
            "1253" | "cp1253" => b"windows-1253",
            "1254" | "cp1254" => b"windows-1254",
            "1255" | "cp1255" => b"windows-1255",
            "1256" | "cp1256" => b"windows-1256",
            "1257" | "cp1257" => b"windows-1257",
            "866" | "pc866" => b"ibm866",
            "koi-8" | "koi8-r" => b"koi8-r",
            "sjis" | "sjis-s" => b"shift_jis",
            "ujis" => b"euc-jp",
            "ksc" => b"euc-kr",
            "big5" => b"big5",
            "gb" => b"gbk",
            "5488" | "gb18030-2000" => b"gb18030",
            _ => return None,
        };
        Encoding::for_label(label).map(Self::Other)
    }

    /// Text from bytes of the wire. Invalid bytes become replacement characters, as the server has no error of its own
    /// for them.
    pub fn decode(self, bytes: &[u8]) -> String {
        match self {
            _ if bytes.is_ascii() => String::from_utf8_lossy(bytes).into_owned(),
            Self::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            Self::Latin1 => bytes.iter().map(|&byte| char::from(byte)).collect(),
            Self::Other(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
        }
    }

    /// Bytes for the wire; characters that the code set lacks become question marks.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        match self {
            _ if text.is_ascii() => Cow::Borrowed(text.as_bytes()),
            Self::Utf8 => Cow::Borrowed(text.as_bytes()),
            Self::Latin1 => text.chars().map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?')).collect(),
            Self::Other(encoding) => {
                let mut bytes = Vec::with_capacity(text.len());
                let mut buffer = [0; 4];
                for character in text.chars() {
                    let (encoded, _, lacking) = encoding.encode(character.encode_utf8(&mut buffer));
                    bytes.extend_from_slice(if lacking { b"?" } else { &encoded });
                }
                Cow::Owned(bytes)
            }
        }
    }

    /// The longest start of `text` that takes at most `limit` bytes, never half a character.
    pub fn fit(self, text: &str, limit: usize) -> &str {
        if text.len() <= limit && (text.is_ascii() || self == Self::Utf8) {
            return text;
        }
        let (mut taken, mut buffer) = (0, [0; 4]);
        for (at, character) in text.char_indices() {
            taken += self.encode(character.encode_utf8(&mut buffer)).len();
            if taken > limit {
                return &text[..at];
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_sets_go_both_ways_and_texts_are_cut_between_characters() {
        for (locale, text, bytes) in [
            ("en_US.819", "é", &b"\xe9"[..]),
            ("en_US.utf8", "é", b"\xc3\xa9"),
            ("pl_PL.912", "ł", b"\xb3"),
            ("ru_RU.1251", "ж", b"\xe6"),
            ("ja_JP.sjis", "日", b"\x93\xfa"),
            ("zh_CN.gb18030-2000", "中", b"\xd6\xd0"),
        ] {
            let charset = Charset::of_locale(locale).unwrap();
            assert_eq!(&*charset.encode(text), bytes, "{locale}");
            assert_eq!(charset.decode(bytes), text, "{locale}");
            assert_eq!(charset.fit(&format!("a{text}b"), bytes.len() + 1), format!("a{text}"), "{locale}");
            assert_eq!(charset.fit(&format!("a{text}b"), bytes.len()), "a", "{locale}");
        }
        assert_eq!(&*Charset::Latin1.encode("日"), b"?");
        assert_eq!(Charset::of_locale("en_US.ebcdic"), None);
    }
}
