//! Short text in UTF-8: whether it is ASCII, and its characters as an array, as what follows needs their number and the
//! largest of them first, and so decodes them once, where a `str` is checked, counted and read.

/// Bytes of a text that is decoded so.
pub const SHORT_TEXT: usize = 128;

/// The same as the standard library's `is_ascii`, which looks one by one at the bytes that are left over at the end: more
/// instructions than anything else that is done for a short text. Here the last bytes are looked at together, some of them
/// twice.
#[inline]
pub fn is_ascii(utf8: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes) & HIGH;
    let words = |bytes: &[u8; 16]| u128::from_ne_bytes(*bytes) & (u128::from(HIGH) << 64 | u128::from(HIGH));
    match utf8.len() {
        8..=16 => (utf8.first_chunk().map_or(0, word) | utf8.last_chunk().map_or(0, word)) == 0,
        17..=32 => (utf8.first_chunk().map_or(0, words) | utf8.last_chunk().map_or(0, words)) == 0,
        _ => utf8.is_ascii(),
    }
}

/// The characters of a short text, which are put into `place`, and the bitwise or of all of them. `None` for a longer
/// one, and for bytes that are not UTF-8.
#[inline]
pub fn characters<'p>(utf8: &[u8], place: &'p mut [u32; SHORT_TEXT]) -> Option<(&'p [u32], u32)> {
    if utf8.len() > SHORT_TEXT {
        return None;
    }
    let (mut bytes, mut len, mut all) = (utf8, 0, 0);
    while let [first, rest @ ..] = bytes {
        let character;
        (character, bytes) = match (*first, rest) {
            (ascii @ ..0x80, rest) => (u32::from(ascii), rest),
            (0xC2..=0xDF, [second, rest @ ..]) => (u32::from(first & 0x1F) << 6 | continued(*second)?, rest),
            (0xE0..=0xEF, [second, third, rest @ ..]) => {
                let character = u32::from(first & 0x0F) << 12 | continued(*second)? << 6 | continued(*third)?;
                if character < 0x800 || (0xD800..0xE000).contains(&character) {
                    return None;
                }
                (character, rest)
            }
            (0xF0..=0xF4, [second, third, fourth, rest @ ..]) => {
                let high = u32::from(first & 0x07) << 18 | continued(*second)? << 12;
                let character = high | continued(*third)? << 6 | continued(*fourth)?;
                if !(0x1_0000..0x11_0000).contains(&character) {
                    return None;
                }
                (character, rest)
            }
            _ => return None,
        };
        *place.get_mut(len)? = character;
        len += 1;
        all |= character;
    }
    Some((&place[..len], all))
}

/// The bits of a byte that continues a character.
#[inline]
fn continued(byte: u8) -> Option<u32> {
    (byte & 0xC0 == 0x80).then(|| u32::from(byte & 0x3F))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Option<Vec<u32>> {
        let mut place = [0; SHORT_TEXT];
        let (characters, all) = characters(bytes, &mut place)?;
        assert_eq!(all, characters.iter().fold(0, |all, character| all | character));
        Some(characters.to_vec())
    }

    /// What the standard library makes of the same bytes.
    fn expected(bytes: &[u8]) -> Option<Vec<u32>> {
        std::str::from_utf8(bytes).ok().map(|text| text.chars().map(u32::from).collect())
    }

    #[test]
    fn every_character_is_decoded_as_the_standard_library_does() {
        for character in '\0'..=char::MAX {
            let text = format!("a{character}b");
            assert_eq!(decoded(text.as_bytes()), expected(text.as_bytes()), "{character:?}");
        }
    }

    #[test]
    fn bytes_are_refused_where_the_standard_library_refuses_them() {
        for first in 0..=u8::MAX {
            for second in (0..=u8::MAX).step_by(5).chain([0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]) {
                for rest in [&[][..], &[0x80], &[0xBF, 0x80], &[0x41], &[0x80, 0x41], &[0x80, 0x80, 0x80]] {
                    let bytes = [&[first, second], rest].concat();
                    assert_eq!(decoded(&bytes), expected(&bytes), "{bytes:?}");
                }
            }
            assert_eq!(decoded(&[first]), expected(&[first]));
        }
    }

    #[test]
    fn a_text_is_ascii_where_the_standard_library_has_it_so() {
        for len in 0..100 {
            let mut bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
            assert!(is_ascii(&bytes), "{len}");
            for at in 0..len {
                let byte = std::mem::replace(&mut bytes[at], 0x80 | at as u8);
                assert!(!is_ascii(&bytes), "{at} of {len}");
                bytes[at] = byte;
            }
        }
    }

    #[test]
    fn longer_text_is_not_decoded() {
        assert_eq!(decoded(&[b'a'; SHORT_TEXT]).map(|characters| characters.len()), Some(SHORT_TEXT));
        assert_eq!(decoded(&[b'a'; SHORT_TEXT + 1]), None);
    }
}
