//! Session tokens: JWTs signed with HS256, as Argo CD issues them.
//!
//! The key is `server.secretkey` of argocd-secret, so tokens of an Argo CD that
//! stood here before stay good. No other algorithm is accepted, whatever the
//! token's header says.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::hmac;
use serde::{Deserialize, Serialize, Serializer};

/// Who issues local tokens.
pub(crate) const ISSUER: &str = "argocd";

/// No token of ours is longer than this.
const LENGTH_LIMIT: usize = 64 * 1024;

/// What a token says. Times are seconds since 1970; some issuers write fractions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: String,
    pub(crate) sub: String,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "some_seconds")]
    pub(crate) exp: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "some_seconds")]
    pub(crate) nbf: Option<f64>,
    #[serde(default, serialize_with = "seconds")]
    pub(crate) iat: f64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) jti: String,
}

/// Whole seconds, as other programs expect to find them.
#[expect(clippy::cast_possible_truncation, reason = "seconds of our times fit")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn seconds<S: Serializer>(time: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(*time as i64)
}

#[expect(clippy::ref_option, reason = "serde asks for it")]
fn some_seconds<S: Serializer>(time: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => seconds(time, serializer),
        None => serializer.serialize_none(),
    }
}

/// Why a token is not good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("token is malformed")]
    Malformed,
    #[error("signing method is not HS256")]
    WrongAlgorithm,
    #[error("signature is invalid")]
    WrongSignature,
    #[error("token has invalid issuer")]
    WrongIssuer,
    #[error("token is expired")]
    Expired,
    #[error("token is not valid yet")]
    NotYetValid,
}

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    typ: String,
}

/// Signs claims.
pub(crate) fn sign(claims: &Claims, key: &[u8]) -> String {
    let header = Header { alg: "HS256".into(), typ: "JWT".into() };
    let part = |json: Vec<u8>| URL_SAFE_NO_PAD.encode(json);
    let signed = format!(
        "{}.{}",
        part(serde_json::to_vec(&header).expect("a flat struct")),
        part(serde_json::to_vec(claims).expect("a flat struct")),
    );
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Checks signature, issuer and times, in this order.
pub(crate) fn verify(token: &str, key: &[u8], now: Timestamp) -> Result<Claims, TokenError> {
    if token.len() > LENGTH_LIMIT {
        return Err(TokenError::Malformed);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(TokenError::Malformed)?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed);
    let header: Header =
        serde_json::from_slice(&decode(header)?).map_err(|_| TokenError::Malformed)?;
    if header.alg != "HS256" {
        return Err(TokenError::WrongAlgorithm);
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::verify(&key, signed.as_bytes(), &decode(signature)?)
        .map_err(|_| TokenError::WrongSignature)?;
    let claims: Claims =
        serde_json::from_slice(&decode(claims)?).map_err(|_| TokenError::Malformed)?;
    if claims.iss != ISSUER {
        return Err(TokenError::WrongIssuer);
    }
    #[expect(clippy::cast_precision_loss, reason = "exact for the next 285 million years")]
    let now = now.as_second() as f64;
    if claims.exp.is_some_and(|exp| now >= exp) {
        return Err(TokenError::Expired);
    }
    if claims.nbf.is_some_and(|nbf| now < nbf) {
        return Err(TokenError::NotYetValid);
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"our key";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn claims() -> Claims {
        Claims {
            iss: "argocd".into(),
            sub: "admin:login".into(),
            exp: Some(200.0),
            nbf: Some(100.0),
            iat: 100.0,
            jti: "an id".into(),
        }
    }

    #[test]
    fn a_token_of_ours_says_what_was_signed() {
        assert_eq!(verify(&sign(&claims(), KEY), KEY, at(100)), Ok(claims()));
    }

    #[test]
    fn times_are_written_as_whole_numbers() {
        let token = sign(&claims(), KEY);
        let said = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).expect("claims"));
        let said = String::from_utf8(said.expect("base64")).expect("text");
        let expect =
            r#"{"iss":"argocd","sub":"admin:login","exp":200,"nbf":100,"iat":100,"jti":"an id"}"#;
        assert_eq!(said, expect);
    }

    #[test]
    fn times_and_issuer_are_checked() {
        let token = sign(&claims(), KEY);
        assert_eq!(verify(&token, KEY, at(200)), Err(TokenError::Expired));
        assert_eq!(verify(&token, KEY, at(99)), Err(TokenError::NotYetValid));
        let foreign = sign(&Claims { iss: "other".into(), ..claims() }, KEY);
        assert_eq!(verify(&foreign, KEY, at(100)), Err(TokenError::WrongIssuer));
        let endless = Claims { exp: None, ..claims() };
        assert_eq!(verify(&sign(&endless, KEY), KEY, at(i64::from(u32::MAX))), Ok(endless));
    }

    #[test]
    fn another_key_or_a_changed_claim_is_noticed() {
        let token = sign(&claims(), KEY);
        assert_eq!(verify(&token, b"their key", at(100)), Err(TokenError::WrongSignature));
        let other = sign(&Claims { sub: "root:login".into(), ..claims() }, b"their key");
        let (forged, _) = other.rsplit_once('.').expect("a token");
        let (_, signature) = token.rsplit_once('.').expect("a token");
        let forged = format!("{forged}.{signature}");
        assert_eq!(verify(&forged, KEY, at(100)), Err(TokenError::WrongSignature));
    }

    #[test]
    fn no_other_algorithm_is_taken() {
        for header in [r#"{"alg":"none"}"#, r#"{"alg":"RS256"}"#, r#"{"alg":"hs256"}"#] {
            let claims = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims()).expect("flat"));
            let token = format!("{}.{claims}.", URL_SAFE_NO_PAD.encode(header));
            assert_eq!(verify(&token, KEY, at(100)), Err(TokenError::WrongAlgorithm));
        }
    }

    #[test]
    fn garbage_is_malformed() {
        for token in ["", ".", "..", "a.b.c", "e30.e30", "e30.e30.e30", &"x".repeat(70_000)] {
            assert_eq!(verify(token, KEY, at(100)), Err(TokenError::Malformed), "{token:.20}");
        }
    }
}
