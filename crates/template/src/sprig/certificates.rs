//! Keys and certificates: `genCA`, `genSignedCert` and their like.
//!
//! The certificates have the fields and extensions that Go's `x509.CreateCertificate` gives sprig's;
//! keys and serial numbers come from the random facts, dates from the clock.

use std::any::Any;
use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;

use ed25519_dalek::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _};
use jiff::Timestamp;
use p256::elliptic_curve::sec1::ToEncodedPoint as _;
use rsa::pkcs1::{DecodeRsaPrivateKey as _, EncodeRsaPrivateKey as _, EncodeRsaPublicKey as _};
use rsa::signature::{SignatureEncoding as _, Signer as _};
use sha1::Digest as _;

use super::add_fixed;
use super::der::{
    self, bit_string, integer, null, object_identifier, octet_string, sequence, tagged,
};
use crate::arguments::{bytes, int, text};
use crate::base64;
use crate::call::{Call, Functions, Parameter};
use crate::error::Error;
use crate::print;
use crate::value::{Kind, Member, Object, Value};

const CERTIFICATE: &str = "sprig.certificate";

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Int, List, String};
    const CA: Parameter = Parameter::Object(CERTIFICATE);
    add_fixed(
        functions,
        &[
            ("genPrivateKey", &[String], private_key),
            ("buildCustomCert", &[String, String], custom),
            ("genCA", &[String, Int], |call, a| authority(call, a, &Key::generate(call, 2048)?)),
            ("genCAWithKey", &[String, Int, String], |call, a| {
                authority(call, a, &given_key(&a[2])?)
            }),
            ("genSelfSignedCert", &[String, List, List, Int], |call, a| {
                self_signed(call, a, &Key::generate(call, 2048)?)
            }),
            ("genSelfSignedCertWithKey", &[String, List, List, Int, String], |call, a| {
                self_signed(call, a, &given_key(&a[4])?)
            }),
            ("genSignedCert", &[String, List, List, Int, CA], |call, a| {
                signed(call, a, &Key::generate(call, 2048)?)
            }),
            ("genSignedCertWithKey", &[String, List, List, Int, CA, String], |call, a| {
                signed(call, a, &given_key(&a[5])?)
            }),
        ],
    );
}

/// A certificate with its key, both as PEM.
#[derive(Clone, PartialEq)]
struct Certificate {
    cert: String,
    key: String,
}

impl Object for Certificate {
    fn type_name(&self) -> Cow<'static, str> {
        CERTIFICATE.into()
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn member(&self, name: &str) -> Option<Member> {
        let (_, value) = self.fields().into_iter().find(|(field, _)| *field == name)?;
        Some(Member::Field(value))
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![("Cert", Value::string(self.cert.as_str())), ("Key", Value::string(self.key.as_str()))]
    }

    fn deep_equal(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

enum Key {
    Rsa(Box<rsa::RsaPrivateKey>),
    Ec(Box<p256::SecretKey>),
    Ed25519(Box<ed25519_dalek::SigningKey>),
}

/// The random facts as the key generators want them.
struct Random<'a, 'c>(&'a Call<'c>);

impl rsa::rand_core::RngCore for Random<'_, '_> {
    fn next_u32(&mut self) -> u32 {
        let mut buffer = [0; 4];
        self.fill_bytes(&mut buffer);
        u32::from_le_bytes(buffer)
    }

    fn next_u64(&mut self) -> u64 {
        let mut buffer = [0; 8];
        self.fill_bytes(&mut buffer);
        u64::from_le_bytes(buffer)
    }

    fn fill_bytes(&mut self, buffer: &mut [u8]) {
        self.0.facts().random(buffer);
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), rsa::rand_core::Error> {
        self.fill_bytes(buffer);
        Ok(())
    }
}

impl rsa::rand_core::CryptoRng for Random<'_, '_> {}

/// Whether the random facts are random: a key search on constant bytes would never end.
fn check_randomness(call: &Call<'_>) -> Result<(), Error> {
    let mut samples = [[0; 16]; 2];
    for sample in &mut samples {
        call.facts().random(sample);
    }
    if samples[0] == samples[1] {
        return Err(Error::function("error generating key: no source of randomness is given"));
    }
    Ok(())
}

impl Key {
    fn generate(call: &Call<'_>, bits: usize) -> Result<Self, Error> {
        check_randomness(call)?;
        call.charge(bits * 1000)?;
        let key = rsa::RsaPrivateKey::new(&mut Random(call), bits)
            .map_err(|error| Error::function(format!("error generating rsa key: {error}")))?;
        Ok(Self::Rsa(Box::new(key)))
    }

    fn to_pem(&self) -> Result<String, Error> {
        let failed = |error: String| Error::function(format!("error pem-encoding key: {error}"));
        Ok(match self {
            Self::Rsa(key) => {
                let der = key.to_pkcs1_der().map_err(|error| failed(error.to_string()))?;
                pem("RSA PRIVATE KEY", der.as_bytes())
            }
            Self::Ec(key) => {
                let der = key.to_sec1_der().map_err(|error| failed(error.to_string()))?;
                pem("EC PRIVATE KEY", &der)
            }
            Self::Ed25519(key) => {
                let mut pair = ed25519_dalek::pkcs8::KeypairBytes::from(key.as_ref());
                // Go writes the private half only.
                pair.public_key = None;
                let der = pair.to_pkcs8_der().map_err(|error| failed(error.to_string()))?;
                pem("PRIVATE KEY", der.as_bytes())
            }
        })
    }

    fn from_pem(text: &[u8]) -> Result<Self, Error> {
        let Some((label, der)) = unpem(text) else {
            return Err(Error::function("no PEM data in input"));
        };
        let failed =
            |what: &str, error: &dyn std::fmt::Display| Error::function(format!("{what}: {error}"));
        match label.as_str() {
            "PRIVATE KEY" => Self::from_pkcs8(&der).ok_or_else(|| {
                Error::function("decoding PEM as PKCS#8: unsupported or malformed key")
            }),
            "RSA PRIVATE KEY" => rsa::RsaPrivateKey::from_pkcs1_der(&der)
                .map(|key| Self::Rsa(Box::new(key)))
                .map_err(|error| failed("parsing RSA private key from PEM", &error)),
            "EC PRIVATE KEY" => p256::SecretKey::from_sec1_der(&der)
                .map(|key| Self::Ec(Box::new(key)))
                .map_err(|error| failed("parsing EC private key from PEM", &error)),
            label if !label.ends_with(" PRIVATE KEY") => {
                Err(Error::function(format!("no private key data in PEM block of type {label}")))
            }
            label => Err(Error::function(format!("invalid private key type {label}"))),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Option<Self> {
        if let Ok(key) = rsa::RsaPrivateKey::from_pkcs8_der(der) {
            return Some(Self::Rsa(Box::new(key)));
        }
        if let Ok(key) = p256::SecretKey::from_pkcs8_der(der) {
            return Some(Self::Ec(Box::new(key)));
        }
        let key = ed25519_dalek::SigningKey::from_pkcs8_der(der).ok()?;
        Some(Self::Ed25519(Box::new(key)))
    }

    fn signature_algorithm(&self) -> Vec<u8> {
        match self {
            Self::Rsa(_) => sequence(&[object_identifier(&[1, 2, 840, 113_549, 1, 1, 11]), null()]),
            Self::Ec(_) => sequence(&[object_identifier(&[1, 2, 840, 10_045, 4, 3, 2])]),
            Self::Ed25519(_) => sequence(&[object_identifier(&[1, 3, 101, 112])]),
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Rsa(key) => {
                let signer = rsa::pkcs1v15::SigningKey::<sha2::Sha256>::new(key.as_ref().clone());
                signer.sign(message).to_vec()
            }
            Self::Ec(key) => {
                let signer = p256::ecdsa::SigningKey::from(key.as_ref());
                let signature: p256::ecdsa::Signature = signer.sign(message);
                signature.to_der().as_bytes().to_vec()
            }
            Self::Ed25519(key) => key.sign(message).to_vec(),
        }
    }

    /// The key bits alone, whose hash names the key.
    fn public_bits(&self) -> Result<Vec<u8>, Error> {
        Ok(match self {
            Self::Rsa(key) => key
                .to_public_key()
                .to_pkcs1_der()
                .map_err(|error| Error::function(format!("error retrieving public key: {error}")))?
                .as_bytes()
                .to_vec(),
            Self::Ec(key) => key.public_key().to_encoded_point(false).as_bytes().to_vec(),
            Self::Ed25519(key) => key.verifying_key().as_bytes().to_vec(),
        })
    }

    fn public_info(&self) -> Result<Vec<u8>, Error> {
        let algorithm = match self {
            Self::Rsa(_) => sequence(&[object_identifier(&[1, 2, 840, 113_549, 1, 1, 1]), null()]),
            Self::Ec(_) => sequence(&[
                object_identifier(&[1, 2, 840, 10_045, 2, 1]),
                object_identifier(&[1, 2, 840, 10_045, 3, 1, 7]),
            ]),
            Self::Ed25519(_) => sequence(&[object_identifier(&[1, 3, 101, 112])]),
        };
        Ok(sequence(&[algorithm, bit_string(&self.public_bits()?)]))
    }

    /// The first twenty bytes of the SHA-256 of the key bits, as Go names a key since 1.25.
    fn identifier(&self) -> Result<Vec<u8>, Error> {
        Ok(sha2::Sha256::digest(self.public_bits()?)[..20].to_vec())
    }
}

fn given_key(value: &Value) -> Result<Key, Error> {
    Key::from_pem(bytes(value))
        .map_err(|error| Error::function(format!("parsing private key: {error}")))
}

fn private_key(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let kind = text(&arguments[0]);
    let key = match kind.as_ref() {
        "" | "rsa" => Key::generate(call, 4096)?,
        "ecdsa" => {
            check_randomness(call)?;
            Key::Ec(Box::new(p256::SecretKey::random(&mut Random(call))))
        }
        "ed25519" => {
            let mut seed = [0; 32];
            call.facts().random(&mut seed);
            Key::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(&seed)))
        }
        "dsa" => {
            return Err(Error::function(
                "dsa keys are not supported: they are obsolete, use ecdsa or ed25519",
            ));
        }
        other => return Ok(Value::string(format!("Unknown type {other}"))),
    };
    Ok(Value::string(key.to_pem()?))
}

fn custom(_: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let cert = base64::decode(bytes(&arguments[0]))
        .map_err(|_| Error::function("unable to decode base64 certificate"))?;
    let key = base64::decode(bytes(&arguments[1]))
        .map_err(|_| Error::function("unable to decode base64 private key"))?;
    let Some((_, der)) = unpem(&cert) else {
        return Err(Error::function("unable to decode certificate"));
    };
    if Issuer::parse(&der).is_none() {
        return Err(Error::function(
            "error parsing certificate: decodedCert.Bytes: x509: malformed certificate",
        ));
    }
    Key::from_pem(&key)
        .map_err(|error| Error::function(format!("error parsing private key: {error}")))?;
    Ok(Value::Object(Rc::new(Certificate {
        cert: String::from_utf8_lossy(&cert).into_owned(),
        key: String::from_utf8_lossy(&key).into_owned(),
    })))
}

fn authority(call: &Call<'_>, arguments: &[Value], key: &Key) -> Result<Value, Error> {
    let subject = Subject {
        common_name: text(&arguments[0]).into_owned(),
        addresses: Vec::new(),
        names: Vec::new(),
        days: int(&arguments[1]),
        is_authority: true,
    };
    issue(call, &subject, key, None)
}

fn self_signed(call: &Call<'_>, arguments: &[Value], key: &Key) -> Result<Value, Error> {
    issue(call, &Subject::parse(arguments)?, key, None)
}

fn signed(call: &Call<'_>, arguments: &[Value], key: &Key) -> Result<Value, Error> {
    let ca = match &arguments[4] {
        Value::Object(object) => object.as_any().downcast_ref::<Certificate>(),
        _ => None,
    };
    let Some(ca) = ca else { return Err(Error::function("unable to decode certificate")) };
    let Some((_, der)) = unpem(ca.cert.as_bytes()) else {
        return Err(Error::function("unable to decode certificate"));
    };
    let Some(issuer) = Issuer::parse(&der) else {
        return Err(Error::function(
            "error parsing certificate: decodedSignerCert.Bytes: x509: malformed certificate",
        ));
    };
    let issuer_key = Key::from_pem(ca.key.as_bytes())
        .map_err(|error| Error::function(format!("error parsing private key: {error}")))?;
    issue(call, &Subject::parse(arguments)?, key, Some((&issuer, &issuer_key)))
}

struct Subject {
    common_name: String,
    addresses: Vec<IpAddr>,
    names: Vec<String>,
    days: i64,
    is_authority: bool,
}

impl Subject {
    fn parse(arguments: &[Value]) -> Result<Self, Error> {
        let shown = |value: &Value| String::from_utf8_lossy(&print::to_bytes(value)).into_owned();
        let items = |value: &Value| match value {
            Value::List(list) => list.to_vec(),
            _ => Vec::new(),
        };
        let mut addresses = Vec::new();
        for item in items(&arguments[1]) {
            let Value::String(text) = &item else {
                let shown = shown(&item);
                return Err(Error::function(format!("error parsing ip: {shown} is not a string")));
            };
            let address = text.as_str().parse();
            addresses
                .push(address.map_err(|_| Error::function(format!("error parsing ip: {text}")))?);
        }
        let mut names = Vec::new();
        for item in items(&arguments[2]) {
            let Value::String(text) = &item else {
                let shown = shown(&item);
                return Err(Error::function(format!(
                    "error processing alternate dns name: {shown} is not a string"
                )));
            };
            names.push(text.to_string());
        }
        Ok(Self {
            common_name: text(&arguments[0]).into_owned(),
            addresses,
            names,
            days: int(&arguments[3]),
            is_authority: false,
        })
    }
}

/// What a certificate must be known for to sign another.
struct Issuer {
    subject: Vec<u8>,
    key_identifier: Option<Vec<u8>>,
}

impl Issuer {
    fn parse(certificate: &[u8]) -> Option<Self> {
        let outer = der::read(certificate)?;
        let body = der::read(outer.content)?;
        let mut rest = body.content;
        let first = der::read(rest)?;
        if first.tag == 0xa0 {
            rest = first.rest;
        }
        // Serial number, signature algorithm, issuer, validity.
        for _ in 0..4 {
            rest = der::read(rest)?.rest;
        }
        let subject = der::read(rest)?;
        let mut rest = der::read(subject.rest)?.rest;
        let mut key_identifier = None;
        while let Some(element) = der::read(rest) {
            if element.tag == 0xa3 {
                key_identifier = subject_key_identifier(element.content);
            }
            rest = element.rest;
        }
        Some(Self { subject: subject.whole.to_vec(), key_identifier })
    }
}

fn subject_key_identifier(extensions: &[u8]) -> Option<Vec<u8>> {
    let wanted = object_identifier(&[2, 5, 29, 14]);
    let mut rest = der::read(extensions)?.content;
    while let Some(extension) = der::read(rest) {
        rest = extension.rest;
        let Some(name) = der::read(extension.content) else { continue };
        if name.whole == wanted {
            let value = der::read(name.rest)?;
            return Some(der::read(value.content)?.content.to_vec());
        }
    }
    None
}

fn issue(
    call: &Call<'_>,
    subject: &Subject,
    key: &Key,
    issuer: Option<(&Issuer, &Key)>,
) -> Result<Value, Error> {
    let mut serial = [0; 16];
    call.facts().random(&mut serial);
    let own_name = distinguished_name(&subject.common_name);
    let own_identifier = if subject.is_authority { Some(key.identifier()?) } else { None };
    let (issuer_name, issuer_identifier, signer) = match issuer {
        Some((issuer, key)) => (issuer.subject.clone(), issuer.key_identifier.clone(), key),
        // A certificate that signs itself names no authority.
        None => (own_name.clone(), None, key),
    };
    let from = call.facts().now() / 1_000_000_000;
    let until = from + i128::from(subject.days) * 24 * 3600;
    let algorithm = signer.signature_algorithm();
    let body = sequence(&[
        tagged(0xa0, &integer(&[2])),
        integer(&serial),
        algorithm.clone(),
        issuer_name,
        sequence(&[time(from)?, time(until)?]),
        own_name,
        key.public_info()?,
        tagged(0xa3, &extensions(subject, own_identifier, issuer_identifier)),
    ]);
    let certificate = sequence(&[body.clone(), algorithm, bit_string(&signer.sign(&body))]);
    let cert = pem("CERTIFICATE", &certificate);
    Ok(Value::Object(Rc::new(Certificate { cert, key: key.to_pem()? })))
}

fn distinguished_name(common_name: &str) -> Vec<u8> {
    if common_name.is_empty() {
        return sequence(&[]);
    }
    let is_plain =
        common_name.chars().all(|c| c.is_ascii_alphanumeric() || " '()+,-./:=?".contains(c));
    let text = tagged(if is_plain { 0x13 } else { 0x0c }, common_name.as_bytes());
    sequence(&[der::set(&[sequence(&[object_identifier(&[2, 5, 4, 3]), text])])])
}

fn time(seconds: i128) -> Result<Vec<u8>, Error> {
    let out_of_range = || Error::function("error creating certificate: cannot represent time");
    let seconds = i64::try_from(seconds).map_err(|_| out_of_range())?;
    let moment = Timestamp::from_second(seconds).map_err(|_| out_of_range())?;
    let wall = jiff::tz::Offset::UTC.to_datetime(moment);
    let (year, rest) = (
        wall.year(),
        format!(
            "{:02}{:02}{:02}{:02}{:02}Z",
            wall.month(),
            wall.day(),
            wall.hour(),
            wall.minute(),
            wall.second()
        ),
    );
    match year {
        1950..2050 => Ok(tagged(0x17, format!("{:02}{rest}", year % 100).as_bytes())),
        0..=9999 => Ok(tagged(0x18, format!("{year:04}{rest}").as_bytes())),
        _ => Err(out_of_range()),
    }
}

fn extensions(
    subject: &Subject,
    own_identifier: Option<Vec<u8>>,
    issuer_identifier: Option<Vec<u8>>,
) -> Vec<u8> {
    let extension = |name: &[u32], critical: bool, value: &[u8]| {
        let mut parts = vec![object_identifier(name)];
        if critical {
            parts.push(der::truth());
        }
        parts.push(octet_string(value));
        sequence(&parts)
    };
    // Digital signature and key encipherment; authorities also sign certificates.
    let usage: &[u8] = if subject.is_authority { &[2, 0b1010_0100] } else { &[5, 0b1010_0000] };
    let purposes = sequence(&[
        object_identifier(&[1, 3, 6, 1, 5, 5, 7, 3, 1]),
        object_identifier(&[1, 3, 6, 1, 5, 5, 7, 3, 2]),
    ]);
    let constraints = sequence(&if subject.is_authority { vec![der::truth()] } else { Vec::new() });
    let mut all = vec![
        extension(&[2, 5, 29, 15], true, &tagged(0x03, usage)),
        extension(&[2, 5, 29, 37], false, &purposes),
        extension(&[2, 5, 29, 19], true, &constraints),
    ];
    if let Some(identifier) = own_identifier {
        all.push(extension(&[2, 5, 29, 14], false, &octet_string(&identifier)));
    }
    if let Some(identifier) = issuer_identifier {
        all.push(extension(&[2, 5, 29, 35], false, &sequence(&[tagged(0x80, &identifier)])));
    }
    let names = subject.names.iter().map(|name| tagged(0x82, name.as_bytes()));
    let addresses = subject.addresses.iter().map(|address| match address {
        IpAddr::V4(address) => tagged(0x87, &address.octets()),
        IpAddr::V6(address) => tagged(0x87, &address.octets()),
    });
    let alternatives: Vec<Vec<u8>> = names.chain(addresses).collect();
    if !alternatives.is_empty() {
        all.push(extension(&[2, 5, 29, 17], false, &sequence(&alternatives)));
    }
    sequence(&all)
}

fn pem(label: &str, der: &[u8]) -> String {
    let encoded = base64::encode(der);
    let mut out = format!("-----BEGIN {label}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// The label and content of the first PEM block.
fn unpem(text: &[u8]) -> Option<(String, Vec<u8>)> {
    let text = std::str::from_utf8(text).ok()?;
    let after = &text[text.find("-----BEGIN ")? + "-----BEGIN ".len()..];
    let (label, after) = after.split_once("-----")?;
    let (body, _) = after.split_once(&format!("-----END {label}-----"))?;
    let letters: String = body.chars().filter(|c| !c.is_whitespace()).collect();
    Some((label.to_owned(), base64::decode(letters.as_bytes()).ok()?))
}
