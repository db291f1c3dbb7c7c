//! INT8 and SERIAL8: a sign, then the magnitude with its low word first.

/// Ten bytes of a value, or of NULL.
pub fn encode(value: Option<i64>) -> [u8; 10] {
    let mut bytes = [0; 10];
    if let Some(value) = value {
        let magnitude = value.unsigned_abs();
        let sign: i16 = if value < 0 { -1 } else { 1 };
        bytes[..2].copy_from_slice(&sign.to_be_bytes());
        bytes[2..6].copy_from_slice(&(magnitude as u32).to_be_bytes());
        bytes[6..].copy_from_slice(&((magnitude >> 32) as u32).to_be_bytes());
    }
    bytes
}

/// The value of ten bytes; `None` for NULL and for values that do not fit 64 signed bits.
pub fn decode(bytes: &[u8; 10]) -> Option<i64> {
    let sign = i16::from_be_bytes([bytes[0], bytes[1]]);
    let low = u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
    let high = u32::from_be_bytes([bytes[6], bytes[7], bytes[8], bytes[9]]);
    let magnitude = i128::from(high) << 32 | i128::from(low);
    match sign {
        0 => None,
        sign if sign < 0 => i64::try_from(-magnitude).ok(),
        _ => i64::try_from(magnitude).ok(),
    }
}
