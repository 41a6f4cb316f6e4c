//! What a PEM certificate says about itself.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::x509::X509Name;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";
/// No certificate has more lines.
const LINE_LIMIT: usize = 128;

/// What is shown of a certificate.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// Whose it is, as RFC 2253 writes it.
    pub(super) subject: String,
    /// `rsa`, `ecdsa` and so on.
    pub(super) key_kind: &'static str,
}

/// The certificates of a text, each as PEM.
///
/// # Errors
/// When one has no end.
pub(super) fn blocks(text: &str) -> Result<Vec<String>, String> {
    let mut blocks = Vec::new();
    let mut block: Option<(String, usize)> = None;
    for line in text.lines() {
        if block.is_none() && line.starts_with(BEGIN) {
            block = Some((String::new(), 0));
        }
        let Some((lines, count)) = &mut block else { continue };
        lines.push_str(line);
        lines.push('\n');
        *count += 1;
        if *count > LINE_LIMIT {
            return Err("maximum number of lines exceeded during certificate parsing".into());
        }
        if line.starts_with(END) {
            blocks.extend(block.take().map(|(lines, _)| lines));
        }
    }
    Ok(blocks)
}

/// Reads one certificate.
///
/// # Errors
/// Why it is none, in words for the user.
pub(super) fn facts(block: &str) -> Result<Facts, String> {
    let der = CertificateDer::from_pem_slice(block.as_bytes())
        .map_err(|_| "could not decode PEM data from input".to_owned())?;
    let (_, certificate) = X509Certificate::from_der(&der)
        .map_err(|_| "could not parse X509 data from input".to_owned())?;
    let algorithm = certificate.public_key().algorithm.algorithm.to_id_string();
    Ok(Facts { subject: subject(certificate.subject()), key_kind: key_kind(&algorithm) })
}

fn key_kind(algorithm: &str) -> &'static str {
    match algorithm {
        "1.2.840.113549.1.1.1" => "rsa",
        "1.2.840.10040.4.1" => "dsa",
        "1.2.840.10045.2.1" => "ecdsa",
        "1.3.101.112" => "ed25519",
        _ => "0",
    }
}

/// The parts of a name that have names themselves, in the order Go prints them.
const PARTS: [(&str, &str); 9] = [
    ("2.5.4.5", "SERIALNUMBER"),
    ("2.5.4.3", "CN"),
    ("2.5.4.17", "POSTALCODE"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.8", "ST"),
    ("2.5.4.7", "L"),
    ("2.5.4.11", "OU"),
    ("2.5.4.10", "O"),
    ("2.5.4.6", "C"),
];

fn subject(name: &X509Name<'_>) -> String {
    let attributes: Vec<(String, String)> = name
        .iter_attributes()
        .map(|it| (it.attr_type().to_id_string(), value(it.as_slice(), it.as_str().ok())))
        .collect();
    let mut parts = Vec::new();
    for (id, label) in PARTS {
        let values = attributes.iter().filter(|(it, _)| it == id);
        let values: Vec<String> = values.map(|(_, text)| format!("{label}={text}")).collect();
        if !values.is_empty() {
            parts.push(values.join("+"));
        }
    }
    let is_unnamed = |id: &str| PARTS.iter().all(|(it, _)| *it != id);
    let others = attributes.iter().rev().filter(|(id, _)| is_unnamed(id));
    parts.extend(others.map(|(id, text)| format!("{id}={text}")));
    parts.join(",")
}

fn value(bytes: &[u8], text: Option<&str>) -> String {
    let Some(text) = text else {
        return bytes.iter().fold("#".to_owned(), |hex, byte| format!("{hex}{byte:02x}"));
    };
    let last = text.chars().count().saturating_sub(1);
    let mut escaped = String::new();
    for (place, character) in text.chars().enumerate() {
        let is_special = matches!(character, ',' | '+' | '"' | '\\' | '<' | '>' | ';')
            || (place == 0 && matches!(character, ' ' | '#'))
            || (place == last && character == ' ');
        if is_special {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn certificate(parts: &[(DnType, &str)]) -> String {
        let mut parameters = CertificateParams::new(vec!["localhost".into()]).expect("a name");
        let mut subject = DistinguishedName::new();
        for (kind, text) in parts {
            subject.push(kind.clone(), *text);
        }
        parameters.distinguished_name = subject;
        let key = KeyPair::generate().expect("a key");
        parameters.self_signed(&key).expect("a certificate").pem()
    }

    #[test]
    fn a_subject_reads_as_in_go() {
        let pem = certificate(&[
            (DnType::CountryName, "DE"),
            (DnType::OrganizationName, "Argo, Inc."),
            (DnType::CommonName, " root"),
        ]);
        let facts = facts(&pem).expect("a certificate");
        assert_eq!(
            (facts.subject.as_str(), facts.key_kind),
            ("CN=\\ root,O=Argo\\, Inc.,C=DE", "ecdsa")
        );
    }

    #[test]
    fn text_around_certificates_is_ignored_and_an_endless_one_refused() {
        let pem = certificate(&[(DnType::CommonName, "a")]);
        let blocks = blocks(&format!("remark\n{pem}between\n{pem}")).expect("two");
        assert_eq!(blocks.len(), 2);
        assert!(facts(&blocks[1]).is_ok());
        let endless = format!("{BEGIN}\n{}", "A\n".repeat(200));
        assert!(super::blocks(&endless).is_err());
        assert_eq!(facts("x").expect_err("refused"), "could not decode PEM data from input");
    }
}
