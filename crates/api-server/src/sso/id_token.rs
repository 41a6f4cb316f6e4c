//! Is this token good? Signature, issuer, audience and times, by the keys that
//! the provider publishes.
//!
//! Only signatures whose key can be public are looked at, and only by keys of
//! the kind that the algorithm needs: neither `none` nor a secret that somebody
//! made of a public key can pass.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// No token that a cookie or a header can carry is longer.
const LENGTH_LIMIT: usize = 64 * 1024;
/// Clocks differ: a token may begin this many seconds from now.
const LEEWAY: f64 = 300.0;
const KEY_LIMIT: usize = 100;

/// Why a token is not good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the token is malformed")]
    Malformed,
    #[error("the token is signed with {0}, which is not accepted")]
    Algorithm(String),
    /// The keys may have changed: whoever asks should look again.
    #[error("no key of the provider signed this token")]
    UnknownKey,
    #[error("the token is of {0:?}")]
    Issuer(String),
    #[error("the token is for others: {0:?}")]
    Audience(Vec<String>),
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    NotYetValid,
}

/// What a token must say.
pub(super) struct Expectation<'a> {
    pub(super) issuer: &'a str,
    /// One of these must be among those the token is for.
    pub(super) audiences: &'a [String],
    pub(super) accepts_no_audience: bool,
    pub(super) now: Timestamp,
}

/// Keys as a provider publishes them.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Keys {
    keys: Vec<Value>,
}

/// One of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Key {
    kty: String,
    kid: String,
    #[serde(rename = "use")]
    purpose: String,
    crv: String,
    n: String,
    e: String,
    x: String,
    y: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: String,
}

/// Who issued a token, by its own account: nothing is checked.
pub(crate) fn claimed_issuer(token: &str) -> Option<String> {
    Some(claimed(token)?.get("iss")?.as_str()?.to_owned())
}

/// What a token says: nothing is checked.
pub(super) fn claimed(token: &str) -> Option<Map<String, Value>> {
    let claims = token.split('.').nth(1).filter(|_| token.len() <= LENGTH_LIMIT)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
}

/// The claims of a token that is all that is expected of it.
pub(super) fn verify(
    token: &str,
    keys: &Keys,
    expected: &Expectation<'_>,
) -> Result<Map<String, Value>, TokenError> {
    if token.len() > LENGTH_LIMIT {
        return Err(TokenError::Malformed);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(TokenError::Malformed)?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed);
    let header: Header =
        serde_json::from_slice(&decode(header)?).map_err(|_| TokenError::Malformed)?;
    let algorithm = Algorithm::named(&header.alg)
        .ok_or_else(|| TokenError::Algorithm(header.alg.chars().take(16).collect()))?;
    let signature = decode(signature)?;
    let candidates = keys.keys.iter().take(KEY_LIMIT).filter_map(|it| Key::deserialize(it).ok());
    let mut candidates = candidates.filter(|it| {
        it.purpose != "enc" && (header.kid.is_empty() || it.kid.is_empty() || it.kid == header.kid)
    });
    if !candidates.any(|key| algorithm.is_signed_by(&key, signed.as_bytes(), &signature)) {
        return Err(TokenError::UnknownKey);
    }
    let claims: Map<String, Value> =
        serde_json::from_slice(&decode(claims)?).map_err(|_| TokenError::Malformed)?;
    check(&claims, expected)?;
    Ok(claims)
}

fn check(claims: &Map<String, Value>, expected: &Expectation<'_>) -> Result<(), TokenError> {
    let issuer = claims.get("iss").and_then(Value::as_str).unwrap_or_default();
    if issuer != expected.issuer {
        return Err(TokenError::Issuer(issuer.chars().take(200).collect()));
    }
    let audiences: Vec<String> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => {
            several.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let is_for_us = if claims.get("aud").is_none_or(Value::is_null) {
        expected.accepts_no_audience
    } else {
        audiences.iter().any(|it| expected.audiences.contains(it))
    };
    if !is_for_us {
        return Err(TokenError::Audience(audiences));
    }
    #[expect(clippy::cast_precision_loss, reason = "exact for the next 285 million years")]
    let now = expected.now.as_second() as f64;
    let time = |key: &str| claims.get(key).and_then(Value::as_f64);
    if time("exp").is_none_or(|it| now >= it) {
        return Err(TokenError::Expired);
    }
    if time("nbf").is_some_and(|it| now + LEEWAY < it) {
        return Err(TokenError::NotYetValid);
    }
    Ok(())
}

/// How a token is signed.
enum Algorithm {
    Rsa(&'static RsaParameters),
    Curve { name: &'static str, how: &'static dyn VerificationAlgorithm },
    Edwards,
}

impl Algorithm {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            "RS384" => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            "RS512" => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            "PS256" => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            "PS384" => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            "PS512" => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            "ES256" => Self::Curve { name: "P-256", how: &signature::ECDSA_P256_SHA256_FIXED },
            "ES384" => Self::Curve { name: "P-384", how: &signature::ECDSA_P384_SHA384_FIXED },
            "EdDSA" => Self::Edwards,
            _ => return None,
        })
    }

    fn is_signed_by(&self, key: &Key, signed: &[u8], signature: &[u8]) -> bool {
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let verified = match self {
            Self::Rsa(parameters) if key.kty == "RSA" => {
                let (Some(n), Some(e)) = (decode(&key.n), decode(&key.e)) else { return false };
                RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature)
            }
            Self::Curve { name, how } if key.kty == "EC" && key.crv == *name => {
                let (Some(x), Some(y)) = (decode(&key.x), decode(&key.y)) else { return false };
                let point = [&[4_u8][..], &x, &y].concat();
                UnparsedPublicKey::new(*how, point).verify(signed, signature)
            }
            Self::Edwards if key.kty == "OKP" && key.crv == "Ed25519" => {
                let Some(x) = decode(&key.x) else { return false };
                UnparsedPublicKey::new(&signature::ED25519, x).verify(signed, signature)
            }
            Self::Rsa(_) | Self::Curve { .. } | Self::Edwards => return false,
        };
        verified.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use ring::hmac;
    use ring::rand::SystemRandom;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    };
    use serde_json::json;

    use super::*;

    fn part(value: &Value) -> String {
        URL_SAFE_NO_PAD.encode(value.to_string())
    }

    /// A provider with one key on a curve and one Edwards key.
    struct Issuer {
        curve: EcdsaKeyPair,
        edwards: Ed25519KeyPair,
    }

    impl Issuer {
        fn new() -> Self {
            let random = SystemRandom::new();
            let how = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let curve = EcdsaKeyPair::generate_pkcs8(how, &random).expect("a key");
            let edwards = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
            Self {
                curve: EcdsaKeyPair::from_pkcs8(how, curve.as_ref(), &random).expect("a key"),
                edwards: Ed25519KeyPair::from_pkcs8(edwards.as_ref()).expect("a key"),
            }
        }

        fn keys(&self) -> Keys {
            let point = self.curve.public_key().as_ref();
            let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
            let keys = json!({"keys": [
                {"kty": "EC", "crv": "P-256", "kid": "c", "use": "sig",
                 "x": encode(&point[1..33]), "y": encode(&point[33..])},
                {"kty": "OKP", "crv": "Ed25519", "kid": "e",
                 "x": encode(self.edwards.public_key().as_ref())},
                {"kty": "odd", "n": 7},
            ]});
            serde_json::from_value(keys).expect("keys")
        }

        fn token(&self, header: &Value, claims: &Value) -> String {
            let signed = format!("{}.{}", part(header), part(claims));
            let signature = match header["alg"].as_str() {
                Some("ES256") => {
                    let signed = self.curve.sign(&SystemRandom::new(), signed.as_bytes());
                    signed.expect("signed").as_ref().to_vec()
                }
                Some("EdDSA") => self.edwards.sign(signed.as_bytes()).as_ref().to_vec(),
                Some("HS256") => {
                    let key = hmac::Key::new(hmac::HMAC_SHA256, self.curve.public_key().as_ref());
                    hmac::sign(&key, signed.as_bytes()).as_ref().to_vec()
                }
                _ => Vec::new(),
            };
            format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
        }
    }

    fn claims() -> Value {
        json!({"iss": "https://id", "aud": "us", "exp": 200, "sub": "ann"})
    }

    fn judged(issuer: &Issuer, token: &str) -> Result<String, TokenError> {
        let expected = Expectation {
            issuer: "https://id",
            audiences: &["us".to_owned(), "cli".to_owned()],
            accepts_no_audience: false,
            now: Timestamp::from_second(100).expect("in range"),
        };
        let claims = verify(token, &issuer.keys(), &expected)?;
        Ok(claims["sub"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_good_token_says_who_it_is_about() {
        let issuer = Issuer::new();
        for header in [json!({"alg": "ES256", "kid": "c"}), json!({"alg": "EdDSA"})] {
            let token = issuer.token(&header, &claims());
            assert_eq!(judged(&issuer, &token), Ok("ann".to_owned()));
            assert_eq!(claimed_issuer(&token).as_deref(), Some("https://id"));
        }
    }

    /// Signed by openssl with a key that was thrown away.
    #[test]
    fn an_rsa_signature_is_checked() {
        let made: Value = serde_json::from_str(include_str!("rs256.json")).expect("JSON");
        let keys = json!({"keys": [{"kty": "RSA", "kid": "r", "n": made["n"], "e": made["e"]}]});
        let keys: Keys = serde_json::from_value(keys).expect("keys");
        let expected = Expectation {
            issuer: "https://id",
            audiences: &["us".to_owned()],
            accepts_no_audience: false,
            now: Timestamp::from_second(100).expect("in range"),
        };
        let token = made["token"].as_str().expect("a token");
        assert!(verify(token, &keys, &expected).is_ok());
        let forged = token.replacen(".eyJ", ".fyJ", 1);
        assert_eq!(verify(&forged, &keys, &expected), Err(TokenError::UnknownKey));
    }

    #[test]
    fn issuer_audience_and_times_are_checked() {
        let issuer = Issuer::new();
        let told = |key: &str, value: Value| {
            let mut claims = claims();
            claims[key] = value;
            judged(&issuer, &issuer.token(&json!({"alg": "ES256"}), &claims)).err()
        };
        assert_eq!(
            told("iss", json!("https://other")),
            Some(TokenError::Issuer("https://other".into()))
        );
        assert_eq!(told("aud", json!("them")), Some(TokenError::Audience(vec!["them".into()])));
        assert_eq!(told("aud", Value::Null), Some(TokenError::Audience(vec![])));
        assert_eq!(told("aud", json!(["them", "cli"])), None);
        assert_eq!(told("exp", json!(100)), Some(TokenError::Expired));
        assert_eq!(told("exp", json!(100.5)), None);
        assert_eq!(told("exp", Value::Null), Some(TokenError::Expired));
        assert_eq!(told("nbf", json!(401)), Some(TokenError::NotYetValid));
        assert_eq!(told("nbf", json!(399)), None);
    }

    #[test]
    fn other_keys_and_other_algorithms_are_refused() {
        let (issuer, stranger) = (Issuer::new(), Issuer::new());
        let token = stranger.token(&json!({"alg": "ES256", "kid": "c"}), &claims());
        assert_eq!(judged(&issuer, &token), Err(TokenError::UnknownKey));
        let token = issuer.token(&json!({"alg": "ES256", "kid": "gone"}), &claims());
        assert_eq!(judged(&issuer, &token), Err(TokenError::UnknownKey));
        // A public key is no shared secret, and no signature is none.
        for name in ["HS256", "none"] {
            let token = issuer.token(&json!({"alg": name}), &claims());
            assert_eq!(judged(&issuer, &token), Err(TokenError::Algorithm(name.into())));
        }
        let token = issuer.token(&json!({"alg": "RS256", "kid": "c"}), &claims());
        assert_eq!(judged(&issuer, &token), Err(TokenError::UnknownKey));
    }

    #[test]
    fn garbage_is_malformed() {
        let issuer = Issuer::new();
        for token in ["", ".", "..", "a.b.c", "e30.e30.e30", &"x".repeat(70_000)] {
            assert_eq!(judged(&issuer, token), Err(TokenError::Malformed), "{token:.20}");
            assert_eq!(claimed_issuer(token), None);
        }
    }
}
