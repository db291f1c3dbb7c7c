//! The subject of a certificate without alternative names.

use rustls::pki_types::{CertificateDer, DnsName, ServerName};
use std::net::IpAddr;
use x509_cert::Certificate;
use x509_cert::der::{Decode, Tag, Tagged};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// id-at-commonName, RFC 5280, appendix A.1.
const COMMON_NAME: &str = "2.5.4.3";
/// id-ce-nameConstraints, RFC 5280, section 4.2.1.10.
const NAME_CONSTRAINTS: &str = "2.5.29.30";

/// Returns true if the certificate's common name is `name`, and it has no alternative name of the kind of `name`, which
/// would take precedence (RFC 6125, section 6.4.4).
///
/// webpki checks alternative names only, but certificates made by hand (`openssl req -subj /CN=db.example.com`) often
/// have none, and OpenSSL accepts those. A wildcard must be the whole leftmost label, above at least two others.
pub fn common_name_is(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> bool {
    let Ok(parsed) = Certificate::from_der(certificate) else { return false };
    let alternatives = match parsed.tbs_certificate().get_extension::<SubjectAltName>() {
        Ok(found) => found.map_or_else(Vec::new, |(_, names)| names.0),
        Err(_) => return false,
    };
    let of_the_same_kind = |alternative: &GeneralName| match name {
        ServerName::DnsName(_) => matches!(alternative, GeneralName::DnsName(_)),
        _ => matches!(alternative, GeneralName::IpAddress(_)),
    };
    if alternatives.iter().any(of_the_same_kind) {
        return false;
    }
    let Some(common) = of_subject(&parsed) else { return false };
    match name {
        ServerName::DnsName(name) => covers(common, name.as_ref()),
        ServerName::IpAddress(address) => common.parse::<IpAddr>().is_ok_and(|named| named == IpAddr::from(*address)),
        _ => false,
    }
}

/// The common name of a certificate's subject: the first, if there are several, as PostgreSQL has it. `None` if it is no text,
/// or has a character of NUL, at which other programs would end it.
pub fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let parsed = Certificate::from_der(certificate).ok()?;
    of_subject(&parsed).filter(|common| !common.contains('\0')).map(str::to_owned)
}

fn of_subject(certificate: &Certificate) -> Option<&str> {
    let mut attributes = certificate.tbs_certificate().subject().iter();
    let common = attributes.find(|attribute| attribute.oid.to_string() == COMMON_NAME)?;
    let is_text = matches!(common.value.tag(), Tag::Utf8String | Tag::PrintableString | Tag::Ia5String);
    std::str::from_utf8(common.value.value()).ok().filter(|_| is_text)
}

/// Returns true if `pattern`, a DNS name that may begin with `*.`, covers `name`.
fn covers(pattern: &str, name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    match pattern.strip_prefix("*.") {
        None => DnsName::try_from(pattern).is_ok() && pattern.eq_ignore_ascii_case(name),
        Some(domain) => {
            domain.contains('.')
                && DnsName::try_from(domain).is_ok()
                && name
                    .split_once('.')
                    .is_some_and(|(label, rest)| !label.is_empty() && rest.eq_ignore_ascii_case(domain))
        }
    }
}

/// Returns true if an authority's certificate constrains the names that it may certify. webpki applies such constraints
/// to alternative names only, so a common name under one must not be trusted. A certificate that cannot be parsed
/// counts as constrained.
pub fn is_constrained(certificate: &CertificateDer<'_>) -> bool {
    let Ok(parsed) = Certificate::from_der(certificate) else { return true };
    let extensions = parsed.tbs_certificate().extensions();
    extensions.into_iter().flatten().any(|extension| extension.extn_id.to_string() == NAME_CONSTRAINTS)
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn wildcards_cover_one_label() {
        for (pattern, name, covered) in [
            ("db.example.com", "DB.example.com", true),
            ("db.example.com", "db.example.com.", true),
            ("db", "db", true),
            ("*.example.com", "db.example.com", true),
            ("*.example.com", "a.db.example.com", false),
            ("*.example.com", ".example.com", false),
            ("*.example.com", "example.com", false),
            ("*.com", "example.com", false),
            ("d*.example.com", "db.example.com", false),
            ("*.*.com", "db.example.com", false),
            ("*", "db", false),
            ("", "", false),
            ("db\0.evil", "db", false),
        ] {
            assert_eq!(covers(pattern, name), covered, "{pattern} {name}");
        }
    }
}
