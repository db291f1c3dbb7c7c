//! What is said of a value that the server has sent, and that its decoder refuses.

use super::decode::Decoder;
use headrace_core::Sink;

/// Bytes of such a value that a message has.
const SHOWN: usize = 16;

/// What is said of a result that cannot be read.
pub const EXECUTED: &str = "the statement was executed, and what it has changed stays";

impl Decoder {
    /// Passes the reason to [`Sink::invalid`].
    #[cold]
    pub(super) fn refuse<S: Sink>(&self, body: &[u8], sink: &mut S) {
        let named = match self {
            Decoder::Scalar(scalar) | Decoder::Parse(scalar) | Decoder::ParseCustom { scalar, .. } => scalar.label(),
            Decoder::Array(_) | Decoder::ParseArray(..) | Decoder::ParseVector => "array",
            Decoder::Range(_) | Decoder::ParseRange(_) => "range",
            Decoder::Multirange(_) | Decoder::ParseMultirange(_) => "multirange",
            Decoder::Composite(_) | Decoder::ParseComposite(_) => "composite type",
            Decoder::Record(_) => "record",
            _ => "that it has",
        };
        let (length, form) = (body.len(), if self.is_of_text() { "text" } else { "binary" });
        let start: String = body.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
        let more = if length > SHOWN { "..." } else { "" };
        sink.invalid(&format!(
            "the server sent a malformed value: {length} bytes (hexadecimal {start}{more}) are not the {form} form of the type {named}"
        ));
    }

    /// Returns true if this decodes values in text form.
    fn is_of_text(&self) -> bool {
        match self {
            Decoder::Scalar(_) | Decoder::Array(_) | Decoder::Range(_) | Decoder::Multirange(_) => false,
            Decoder::Composite(_) | Decoder::Record(_) | Decoder::Unreadable(_) => false,
            Decoder::Custom { binary, .. } => !binary,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::registry::TypeRegistry;
    use super::*;
    use headrace_testkit::TextSink;

    #[test]
    fn a_malformed_value_is_named_in_words() {
        let registry = TypeRegistry::default();
        for (oid, body, said) in [
            (23, &b"abc"[..], "3 bytes (hexadecimal 616263) are not the binary form of the type int4"),
            (
                2249,
                &[0xff; 20],
                "20 bytes (hexadecimal ffffffffffffffffffffffffffffffff...) are not the binary form of the type record",
            ),
            (1007, b"", "0 bytes (hexadecimal ) are not the binary form of the type array"),
        ] {
            let mut sink = TextSink::default();
            sink.begin_row(1);
            Decoder::new_binary(&registry, oid).decode(body, &mut sink);
            assert!(format!("{sink:?}").contains(said), "{sink:?}");
        }
    }
}
