//! The code set of the database (DB_LOCALE), in which SQL text, names and character data travel.

use encoding_rs::Encoding;
use std::borrow::Cow;

/// A code set, and how its text becomes UTF-8 and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeSet {
    /// UTF-8: text passes through as it is.
    #[default]
    Utf8,
    /// ISO 8859-1, whose 256 codes are the first of Unicode. (What the web calls by that name is windows-1252.)
    Latin1,
    /// Any other.
    Other(&'static Encoding),
}

/// Names and numbers of code sets as locales write them, in lower case, and the label `encoding_rs` knows each by.
const NAMES: &[(&[&str], &str)] = &[
    (&["8859-2", "912"], "iso-8859-2"),
    (&["8859-4", "914"], "iso-8859-4"),
    (&["8859-5", "915"], "iso-8859-5"),
    (&["8859-6", "1089"], "iso-8859-6"),
    (&["8859-7", "813"], "iso-8859-7"),
    (&["8859-8", "916"], "iso-8859-8"),
    (&["8859-9", "920"], "windows-1254"),
    (&["8859-13", "921"], "iso-8859-13"),
    (&["8859-15", "923"], "iso-8859-15"),
    (&["1250", "cp1250"], "windows-1250"),
    (&["1251", "cp1251"], "windows-1251"),
    (&["1252", "cp1252"], "windows-1252"),
    (&["1253", "cp1253"], "windows-1253"),
    (&["1254", "cp1254"], "windows-1254"),
    (&["1255", "cp1255"], "windows-1255"),
    (&["1256", "cp1256"], "windows-1256"),
    (&["1257", "cp1257"], "windows-1257"),
    (&["1258", "cp1258"], "windows-1258"),
    (&["866", "cp866"], "ibm866"),
    (&["koi8-r", "878"], "koi8-r"),
    (&["thai620", "874", "tis620"], "windows-874"),
    (&["sjis", "sjis-s", "932"], "shift_jis"),
    (&["ujis", "eucjp", "33722"], "euc-jp"),
    (&["big5", "950"], "big5"),
    (&["ksc", "euckr", "949"], "euc-kr"),
    (&["gb", "gb2312-80", "gbk", "936"], "gbk"),
    (&["gb18030-2000", "gb18030", "5488"], "gb18030"),
];

impl CodeSet {
    /// The code set of a locale (`de_DE.8859-1`, `en_US.utf8`) or a code set's own name or number.
    pub fn of_locale(locale: &str) -> Option<Self> {
        let locale = locale.trim();
        let name = locale.split_once('.').map_or(locale, |(_, name)| name);
        let name = name.split('@').next().unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "utf8" | "utf-8" | "57372" => Some(Self::Utf8),
            "8859-1" | "819" | "646" | "ascii" | "iso8859-1" => Some(Self::Latin1),
            name => {
                let (_, label) = NAMES.iter().find(|(names, _)| names.contains(&name))?;
                Encoding::for_label(label.as_bytes()).map(Self::Other)
            }
        }
    }

    /// UTF-8 for text in this code set; a sequence that means nothing becomes U+FFFD.
    pub fn decode<'a>(self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match self {
            _ if self == Self::Utf8 || bytes.is_ascii() => Cow::Borrowed(bytes),
            Self::Other(encoding) => match encoding.decode_without_bom_handling(bytes).0 {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
            _ => Cow::Owned(bytes.iter().map(|b| char::from(*b)).collect::<String>().into_bytes()),
        }
    }

    /// A name or message in this code set, for people.
    pub fn decode_string(self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(&self.decode(bytes)).into_owned()
    }

    /// This code set's bytes for UTF-8 text, or the first character that it does not have.
    ///
    /// # Errors
    /// The character.
    pub fn encode<'a>(self, utf8: &'a [u8]) -> Result<Cow<'a, [u8]>, char> {
        if self == Self::Utf8 || utf8.is_ascii() {
            return Ok(Cow::Borrowed(utf8));
        }
        let text = std::str::from_utf8(utf8).map_err(|_| '\u{fffd}')?;
        match self {
            Self::Other(encoding) => match encoding.encode(text) {
                (Cow::Owned(bytes), _, false) => Ok(Cow::Owned(bytes)),
                (Cow::Borrowed(bytes), _, false) => Ok(Cow::Borrowed(bytes)),
                _ => Err(text.chars().find(|c| encoding.encode(c.encode_utf8(&mut [0; 4])).2).unwrap_or('\u{fffd}')),
            },
            _ => {
                text.chars().map(|c| u8::try_from(c).map_err(|_| c)).collect::<Result<Vec<u8>, char>>().map(Cow::Owned)
            }
        }
    }

    /// Its name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Latin1 => "ISO-8859-1",
            Self::Other(encoding) => encoding.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_through_the_code_set_of_its_locale() {
        for (locale, text, bytes) in [
            ("en_US.utf8", "é€", "é€".as_bytes()),
            ("en_US.57372", "日", "日".as_bytes()),
            ("en_US.819", "é", b"\xe9"),
            ("de_DE.8859-1@euro", "ß", b"\xdf"),
            ("de_DE.8859-15", "€", b"\xa4"),
            ("ru_RU.1251", "Ж", b"\xc6"),
            ("ja_JP.sjis", "日本", b"\x93\xfa\x96\x7b"),
            ("zh_CN.GB18030-2000", "中", b"\xd6\xd0"),
        ] {
            let set = CodeSet::of_locale(locale).unwrap();
            assert_eq!(set.encode(text.as_bytes()).unwrap().as_ref(), bytes, "{locale}");
            assert_eq!(set.decode(bytes).as_ref(), text.as_bytes(), "{locale}");
        }
        assert_eq!(CodeSet::of_locale("xx_YY.nonesuch"), None);
        assert_eq!(CodeSet::Latin1.encode("a€".as_bytes()), Err('€'));
        assert_eq!(CodeSet::of_locale("1251").unwrap().encode("Ж日".as_bytes()), Err('日'));
    }
}
