//! `.mylogin.cnf`, the file that `mysql_config_editor` writes: an option file in AES, with its key in front. It keeps
//! passwords from being read over one's shoulder, no more.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, KeyInit};

/// Bytes that are not used, then the key.
const UNUSED: usize = 4;
const KEY: usize = 20;
const BLOCK: usize = 16;

/// The text of a login path file, `None` if the bytes are not one. Each of its lines is preceded by its length, and
/// encrypted with AES-128 in ECB mode with the padding of PKCS #7; the key's bytes beyond the sixteenth are folded over
/// the first.
pub fn decrypt(file: &[u8]) -> Option<Vec<u8>> {
    let (head, mut rest) = file.split_at_checked(UNUSED + KEY)?;
    let mut key = [0u8; BLOCK];
    for (i, byte) in head[UNUSED..].iter().enumerate() {
        key[i % BLOCK] ^= byte;
    }
    let cipher = Aes128::new(&Array::from(key));
    let mut text = Vec::new();
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let (line, tail) = tail.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)?;
        rest = tail;
        let (blocks, odd) = line.as_chunks::<BLOCK>();
        if blocks.is_empty() || !odd.is_empty() {
            return None;
        }
        let start = text.len();
        for block in blocks {
            let mut block = Array::from(*block);
            cipher.decrypt_block(&mut block);
            text.extend_from_slice(&block);
        }
        let padding = usize::from(*text.last()?);
        if padding == 0 || padding > BLOCK {
            return None;
        }
        text.truncate(text.len() - padding);
        if text.len() < start {
            return None;
        }
    }
    rest.is_empty().then_some(text)
}
