//! The code set of a database, in which SQL text, names and character data travel.

use encoding_rs::Encoding;
use std::borrow::Cow;

/// A code set, and the conversion of its text to UTF-8 and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeSet {
    /// UTF-8: text is not converted.
    #[default]
    Utf8,
    /// ISO 8859-1, whose 256 codes are the first of Unicode. (The web uses that name for windows-1252.)
    Latin1,
    /// ISO 8859-9: the same except for six letters of Turkish. (The web uses that name for windows-1254.)
    Latin5,
    /// Any other.
    Other(&'static Encoding),
}

/// Names and numbers of code sets as locales write them, in lower case, and the label of each in `encoding_rs`.
const NAMES: &[(&[&str], &str)] = &[
    (&["8859-2", "912"], "iso-8859-2"),
    (&["8859-4", "914"], "iso-8859-4"),
    (&["8859-5", "915"], "iso-8859-5"),
    (&["8859-6", "1089"], "iso-8859-6"),
    (&["8859-7", "813"], "iso-8859-7"),
    (&["8859-8", "916"], "iso-8859-8"),
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

/// The codes in which ISO 8859-9 differs from ISO 8859-1.
const TURKISH: [(u8, char); 6] = [(0xd0, 'Ğ'), (0xdd, 'İ'), (0xde, 'Ş'), (0xf0, 'ğ'), (0xfd, 'ı'), (0xfe, 'ş')];

impl CodeSet {
    /// EUC-KR.
    pub fn euc_kr() -> Self {
        Self::Other(encoding_rs::EUC_KR)
    }

    /// The code set of a locale (`de_DE.8859-1`, `en_US.utf8`) or a code set's own name or number.
    pub fn of_locale(locale: &str) -> Option<Self> {
        let locale = locale.trim();
        let name = locale.split_once('.').map_or(locale, |(_, name)| name);
        let name = name.split('@').next().unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "utf8" | "utf-8" | "57372" => Some(Self::Utf8),
            "8859-1" | "819" | "646" | "ascii" | "iso8859-1" | "iso88591" => Some(Self::Latin1),
            "8859-9" | "920" => Some(Self::Latin5),
            name => {
                let (_, label) = NAMES.iter().find(|(names, _)| names.contains(&name))?;
                Encoding::for_label(label.as_bytes()).map(Self::Other)
            }
        }
    }

    /// UTF-8 for text in this code set, or `None` if the bytes are not text in it. (Text of a database in UTF-8 is
    /// passed on as received.)
    pub fn decode<'a>(self, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        match self {
            _ if self == Self::Utf8 || bytes.is_ascii() => Some(Cow::Borrowed(bytes)),
            Self::Other(encoding) => {
                Some(match encoding.decode_without_bom_handling_and_without_replacement(bytes)? {
                    Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                    Cow::Owned(text) => Cow::Owned(text.into_bytes()),
                })
            }
            _ => Some(Cow::Owned(self.letters(bytes))),
        }
    }

    /// UTF-8 for text in a code set of 256, of whose letters none has more than two bytes.
    fn letters(self, bytes: &[u8]) -> Vec<u8> {
        let mut utf8 = Vec::with_capacity(2 * bytes.len());
        for &byte in bytes {
            if byte.is_ascii() {
                utf8.push(byte);
                continue;
            }
            let letter = u32::from(self.letter(byte));
            utf8.extend_from_slice(&[0xC0 | (letter >> 6) as u8, 0x80 | (letter & 0x3F) as u8]);
        }
        utf8
    }

    /// The character of one byte, in a code set of 256.
    fn letter(self, byte: u8) -> char {
        if self != Self::Latin5 {
            return char::from(byte);
        }
        let turkish = TURKISH.iter().find(|(code, _)| *code == byte);
        turkish.map_or(char::from(byte), |(_, letter)| *letter)
    }

    /// The byte of a character, in a code set of 256.
    fn byte(self, character: char) -> Option<u8> {
        let turkish = TURKISH.iter().find(|(_, letter)| *letter == character && self == Self::Latin5);
        let plain = || u8::try_from(character).ok().filter(|byte| self.letter(*byte) == character);
        turkish.map(|(code, _)| *code).or_else(plain)
    }

    /// A name or message in this code set, for people.
    pub fn decode_string(self, bytes: &[u8]) -> String {
        match (self, self.decode(bytes)) {
            (Self::Other(encoding), None) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
            (_, text) => String::from_utf8_lossy(text.as_deref().unwrap_or(bytes)).into_owned(),
        }
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
        let Self::Other(encoding) = self else {
            return text.chars().map(|c| self.byte(c).ok_or(c)).collect::<Result<Vec<u8>, char>>().map(Cow::Owned);
        };
        let (bytes, _, lacking) = encoding.encode(text);
        if lacking || text.chars().any(has_double) {
            let lost = |c: &char| {
                let mut buffer = [0; 4];
                let text: &str = c.encode_utf8(&mut buffer);
                let (bytes, _, lacking) = encoding.encode(text);
                lacking || encoding.decode_without_bom_handling(&bytes).0 != text
            };
            if let Some(character) = text.chars().find(lost) {
                return Err(character);
            }
        }
        Ok(bytes)
    }

    /// Its name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Latin1 => "ISO-8859-1",
            Self::Latin5 => "ISO-8859-9",
            Self::Other(encoding) => encoding.name(),
        }
    }
}

/// Characters for which an encoder returns the bytes of a similar one: the yen sign becomes a backslash in Shift JIS,
/// and would be read back as one. Private characters in GBK are the other case.
fn has_double(character: char) -> bool {
    matches!(character, '\u{a5}' | '\u{203e}' | '\u{2212}' | '\u{e000}'..='\u{f8ff}')
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
            ("tr_TR.8859-9", "ğĞ\u{80}é", b"\xf0\xd0\x80\xe9"),
            ("ru_RU.1251", "Ж", b"\xc6"),
            ("ja_JP.sjis", "日本", b"\x93\xfa\x96\x7b"),
            ("zh_CN.GB18030-2000", "中", b"\xd6\xd0"),
        ] {
            let set = CodeSet::of_locale(locale).unwrap();
            assert_eq!(set.encode(text.as_bytes()).unwrap().as_ref(), bytes, "{locale}");
            assert_eq!(set.decode(bytes).unwrap().as_ref(), text.as_bytes(), "{locale}");
        }
        assert_eq!(CodeSet::of_locale("xx_YY.nonesuch"), None);
        assert_eq!(CodeSet::Latin1.encode("a€".as_bytes()), Err('€'));
        assert_eq!(CodeSet::of_locale("1251").unwrap().encode("Ж日".as_bytes()), Err('日'));
        assert_eq!(CodeSet::Latin5.encode("ð".as_bytes()), Err('ð'));
        assert_eq!(CodeSet::Latin5.encode("€".as_bytes()), Err('€'));
        assert_eq!(CodeSet::of_locale("sjis").unwrap().encode("1¥".as_bytes()), Err('¥'));
    }

    #[test]
    fn a_character_comes_back_as_itself_or_is_refused() {
        let sets = NAMES.iter().map(|(names, _)| names[0]).chain(["819", "8859-9"]);
        for set in sets.map(|name| CodeSet::of_locale(name).unwrap()) {
            let all = (0..0x1_0000).filter(|code| *code < 0x500 || code % 16 == 0 || (0xe700..0xe900).contains(code));
            for character in all.chain([0x203e, 0x2212]).filter_map(char::from_u32) {
                let text = character.to_string();
                if let Ok(bytes) = set.encode(text.as_bytes()) {
                    assert_eq!(set.decode(&bytes).as_deref(), Some(text.as_bytes()), "{character:?} in {}", set.name());
                }
            }
        }
    }

    #[test]
    fn every_byte_of_a_code_set_of_256_is_its_letter() {
        let bytes: Vec<u8> = (0..=255).collect();
        for codeset in [CodeSet::Latin1, CodeSet::Latin5] {
            let letters: String = bytes.iter().map(|byte| codeset.letter(*byte)).collect();
            assert_eq!(codeset.decode(&bytes).as_deref(), Some(letters.as_bytes()), "{codeset:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_not_converted() {
        for (locale, bytes) in [("sjis", &b"\x93"[..]), ("gb18030", b"\xff"), ("8859-7", b"a\xff")] {
            let set = CodeSet::of_locale(locale).unwrap();
            assert_eq!(set.decode(bytes), None, "{locale}");
            assert!(set.decode_string(bytes).ends_with('\u{fffd}'), "{locale}");
        }
    }
}
