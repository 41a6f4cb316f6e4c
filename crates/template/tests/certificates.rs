//! Generated certificates verify: by a library that had no part in making them.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use template::{Engine, Facts, Functions, Limits, MissingKey, Templates, Value};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert, ring};

const NOW: u64 = 1_763_164_800;

struct World(Cell<u64>);

impl Facts for World {
    fn now(&self) -> i128 {
        i128::from(NOW) * 1_000_000_000
    }

    fn random(&self, buffer: &mut [u8]) {
        for byte in buffer {
            let state = self.0.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.0.set(state);
            *byte = (state >> 33) as u8;
        }
    }
}

fn render(text: &str) -> String {
    let functions = Functions::sprig();
    let mut templates = Templates::new();
    templates.parse("t", text.as_bytes(), &functions).expect("a good template");
    let engine = Engine {
        functions: &functions,
        missing_key: MissingKey::Error,
        limits: Limits::default(),
        facts: &World(Cell::new(3)),
    };
    let output = engine.execute(&Rc::new(templates), "t", &Value::Nil).expect("certificates");
    String::from_utf8(output).expect("PEM is text")
}

fn der(pem: &str) -> CertificateDer<'static> {
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for byte in body.bytes().filter(|byte| *byte != b'=') {
        let value = alphabet.iter().position(|known| *known == byte).expect("base64");
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    CertificateDer::from(out)
}

#[track_caller]
fn check(make_ca: &str, make_leaf: &str) {
    let text = render(&format!(
        "{{{{ $ca := {make_ca} }}}}{{{{ $leaf := {make_leaf} }}}}{{{{ $ca.Cert }}}}|{{{{ $leaf.Cert }}}}"
    ));
    let (ca, leaf) = text.split_once('|').expect("two certificates");
    let (ca, leaf) = (der(ca), der(leaf));
    let anchor = anchor_from_trusted_cert(&ca).expect("the authority parses");
    let leaf = EndEntityCert::try_from(&leaf).expect("the leaf parses");
    leaf.verify_for_usage(
        &[ring::RSA_PKCS1_2048_8192_SHA256, ring::ECDSA_P256_SHA256, ring::ED25519],
        &[anchor],
        &[],
        UnixTime::since_unix_epoch(Duration::from_secs(NOW + 60)),
        KeyUsage::server_auth(),
        None,
        None,
    )
    .expect("the chain verifies");
    for name in ["web.example.com", "10.1.2.3"] {
        let name = ServerName::try_from(name).expect("a name");
        leaf.verify_is_valid_for_subject_name(&name).expect("the names are there");
    }
}

#[test]
fn a_certificate_of_a_generated_authority_verifies() {
    check(
        "genCA \"my ca\" 365",
        "genSignedCert \"web\" (list \"10.1.2.3\") (list \"web.example.com\") 30 $ca",
    );
}

#[test]
fn elliptic_and_edwards_keys_sign_too() {
    for kind in ["ecdsa", "ed25519"] {
        check(
            &format!("genCAWithKey \"my ca\" 365 (genPrivateKey \"{kind}\")"),
            &format!(
                "genSignedCertWithKey \"web\" (list \"10.1.2.3\") (list \"web.example.com\") 30 $ca (genPrivateKey \"{kind}\")"
            ),
        );
    }
}
