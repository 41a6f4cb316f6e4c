//! Keys that commits may be signed with: `gpgkey.GPGKeyService`.
//!
//! They are in argocd-gpg-keys-cm, by their 16 digit id, one armoured key each.

use std::collections::BTreeMap;

use ::settings::names;
use jiff::Timestamp;
use pgp::composed::{ArmorOptions, Deserializable as _, SignedPublicKey};
use pgp::types::{KeyDetails as _, PublicParams};
use rbac::{action, resource};
use rsa::traits::PublicKeyParts as _;
use wire::Status;
use wire::message::gpgkey::{
    GnuPgPublicKey, GnuPgPublicKeyCreateRequest, GnuPgPublicKeyCreateResponse, GnuPgPublicKeyList,
    GnuPgPublicKeyQuery, GnuPgPublicKeyResponse,
};

use crate::config_map::{self, Data};
use crate::methods::Call;

/// A key with a hundred signatures has some 60 KB.
const SIZE_LIMIT: usize = 1 << 20;
const KEY_LIMIT: usize = 256;
/// Digits of a fingerprint, and of an id, which is its end.
const FINGERPRINT: usize = 40;
const ID: usize = 16;

pub(crate) async fn list(call: Call, _: GnuPgPublicKeyQuery) -> Result<GnuPgPublicKeyList, Status> {
    call.require(resource::GPG_KEYS, action::GET, "")?;
    let keys = known(&call).await?;
    let items = keys.into_values().map(|it| GnuPgPublicKey { key_data: String::new(), ..it });
    Ok(GnuPgPublicKeyList { items: items.collect(), ..GnuPgPublicKeyList::default() })
}

pub(crate) async fn get(call: Call, query: GnuPgPublicKeyQuery) -> Result<GnuPgPublicKey, Status> {
    call.require(resource::GPG_KEYS, action::GET, "")?;
    let id = short_id(&query.key_id)?;
    let found = known(&call).await?.remove(id);
    found.ok_or_else(|| Status::unknown(format!("no such key: {id}")))
}

pub(crate) async fn create(
    call: Call,
    request: GnuPgPublicKeyCreateRequest,
) -> Result<GnuPgPublicKeyCreateResponse, Status> {
    call.require(resource::GPG_KEYS, action::CREATE, "")?;
    let text = request.publickey.unwrap_or_default().key_data;
    if text.trim().is_empty() {
        return Err(Status::unknown("submitted key data is empty"));
    }
    let keys = read(&text, Timestamp::now())
        .map_err(|why| Status::unknown(format!("error validating PGP keys from input: {why}")))?;
    let change = |data: &mut Data| {
        let (skipped, new): (Vec<_>, Vec<_>) =
            keys.iter().partition(|it| data.contains_key(&it.key_id));
        data.extend(new.iter().map(|it| (it.key_id.clone(), it.key_data.clone())));
        Ok(GnuPgPublicKeyCreateResponse {
            created: Some(GnuPgPublicKeyList {
                items: new.into_iter().cloned().collect(),
                ..GnuPgPublicKeyList::default()
            }),
            skipped: skipped.into_iter().map(|it| it.key_id.clone()).collect(),
        })
    };
    let answer = config_map::change(&call.server, names::GPG_KEYS, change).await?;
    call.server.ports.sources.credentials_changed().await;
    Ok(answer)
}

pub(crate) async fn delete(
    call: Call,
    query: GnuPgPublicKeyQuery,
) -> Result<GnuPgPublicKeyResponse, Status> {
    call.require(resource::GPG_KEYS, action::DELETE, "")?;
    let id = query.key_id;
    let change = |data: &mut Data| match data.remove(&id) {
        Some(_) => Ok(GnuPgPublicKeyResponse {}),
        None => Err(Status::unknown(format!("no such key configured: {id}"))),
    };
    let answer = config_map::change(&call.server, names::GPG_KEYS, change).await?;
    call.server.ports.sources.credentials_changed().await;
    Ok(answer)
}

/// Every key that is stored. One that cannot be read is told, as Argo CD does: a list that hides it
/// would look complete.
async fn known(call: &Call) -> Result<BTreeMap<String, GnuPgPublicKey>, Status> {
    let data = config_map::read(&call.server, names::GPG_KEYS).await?;
    let mut keys = BTreeMap::new();
    for (entry, text) in data {
        let id = short_id(&entry)?;
        let told =
            |why: String| Status::unknown(format!("error parsing GPG key for entry {id:?}: {why}"));
        let [key] = <[GnuPgPublicKey; 1]>::try_from(read(&text, Timestamp::now()).map_err(told)?)
            .map_err(|_| told("more than one key found in input data".into()))?;
        if key.key_id != id {
            return Err(Status::unknown(format!(
                "key parsed for entry with key ID '{id}' had different key ID '{}'",
                key.key_id
            )));
        }
        keys.insert(key.key_id.clone(), GnuPgPublicKey { key_data: text, ..key });
    }
    Ok(keys)
}

/// The id of a key, given it or the fingerprint.
fn short_id(text: &str) -> Result<&str, Status> {
    let is_hex = text.bytes().all(|it| it.is_ascii_hexdigit());
    match text.len() {
        FINGERPRINT if is_hex => Ok(&text[FINGERPRINT - ID..]),
        ID if is_hex => Ok(text),
        _ => Err(Status::unknown(format!("'{text}' is not a valid GnuPG key ID"))),
    }
}

/// The public keys of an armoured text, each as it would be exported.
fn read(text: &str, now: Timestamp) -> Result<Vec<GnuPgPublicKey>, String> {
    if text.len() > SIZE_LIMIT {
        return Err(format!("the text is larger than {SIZE_LIMIT} bytes"));
    }
    let mut keys: BTreeMap<String, GnuPgPublicKey> = BTreeMap::new();
    for block in blocks(text) {
        let (parsed, _) = SignedPublicKey::from_string_many(block).map_err(|it| it.to_string())?;
        for key in parsed.take(KEY_LIMIT) {
            let key = shown(&key.map_err(|it| it.to_string())?, now)?;
            keys.insert(key.key_id.clone(), key);
        }
    }
    if keys.is_empty() {
        return Err("no public key found".into());
    }
    Ok(keys.into_values().collect())
}

/// The armoured parts of a text.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    const BEGIN: &str = "-----BEGIN PGP";
    let begins: Vec<usize> = text.match_indices(BEGIN).map(|(place, _)| place).collect();
    let ends = begins.iter().skip(1).copied().chain([text.len()]).collect::<Vec<_>>();
    begins.into_iter().zip(ends).map(|(begin, end)| &text[begin..end])
}

fn shown(key: &SignedPublicKey, now: Timestamp) -> Result<GnuPgPublicKey, String> {
    let fingerprint = format!("{:X}", key.primary_key.fingerprint());
    if fingerprint.len() != FINGERPRINT {
        return Err("only keys of version 4 are supported".into());
    }
    key.verify_bindings().map_err(|it| format!("the key's own signatures do not fit: {it}"))?;
    let user = key.details.users.first().ok_or("the key names nobody")?;
    let armoured = key.to_armored_string(ArmorOptions::default()).map_err(|it| it.to_string())?;
    Ok(GnuPgPublicKey {
        key_id: fingerprint[FINGERPRINT - ID..].to_owned(),
        owner: String::from_utf8_lossy(user.id.id()).into_owned(),
        trust: trust(key, now).to_owned(),
        sub_type: kind(key.primary_key.public_params())?,
        key_data: armoured,
        fingerprint,
    })
}

/// What gpg says of a key that nobody vouched for.
fn trust(key: &SignedPublicKey, now: Timestamp) -> &'static str {
    if !key.details.revocation_signatures.is_empty() {
        return "revoked";
    }
    let own = key.details.users.iter().flat_map(|it| &it.signatures);
    let newest = own.max_by_key(|it| it.created().map(pgp::types::Timestamp::as_secs));
    let lasts = newest.and_then(pgp::packet::Signature::key_expiration_time);
    let ends = lasts
        .filter(|it| it.as_secs() > 0)
        .map(|it| i64::from(key.primary_key.created_at().as_secs()) + i64::from(it.as_secs()));
    if ends.is_some_and(|it| it <= now.as_second()) { "expired" } else { "unknown" }
}

/// As gpg names it: the algorithm with its size, or the curve.
fn kind(parameters: &PublicParams) -> Result<String, String> {
    let curve = |curve: pgp::crypto::ecc_curve::ECCCurve| {
        curve.alias().unwrap_or_else(|| curve.name()).to_owned()
    };
    Ok(match parameters {
        PublicParams::RSA(it) => format!("rsa{}", it.key.size() * 8),
        PublicParams::DSA(it) => format!("dsa{}", it.key.components().p().bits()),
        PublicParams::ECDSA(it) => curve(it.curve()),
        PublicParams::EdDSALegacy(_) | PublicParams::Ed25519(_) => "ed25519".to_owned(),
        PublicParams::Ed448(_) => "ed448".to_owned(),
        _ => return Err("the key is of a kind that cannot sign".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three keys, one of them expired in 2020: made and exported by gpg.
    const KEYS: &str = include_str!("gpgkey/keys.asc");

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    #[test]
    fn keys_are_shown_as_gpg_lists_them() {
        let keys = read(KEYS, at(1_800_000_000)).expect("three keys");
        let told: Vec<String> = keys
            .iter()
            .map(|it| format!("{} {} {} {}", it.key_id, it.sub_type, it.trust, it.owner))
            .collect();
        assert_eq!(
            told,
            [
                "2337DBF43947B17C ed25519 unknown Ada <ada@example.org>",
                "8A95918C9277E034 rsa2048 unknown Bob (two) <bob@example.org>",
                "D6C5082F4D38340F ed25519 expired Old <old@example.org>",
            ]
        );
        assert_eq!(keys[0].fingerprint, "D10999377F4DBD40CB3AE4ED2337DBF43947B17C");
    }

    #[test]
    fn what_is_exported_is_the_same_key() {
        for key in read(KEYS, at(0)).expect("three keys") {
            let again = read(&key.key_data, at(0)).expect("a key");
            assert_eq!(again, [key]);
        }
    }

    #[test]
    fn what_is_no_public_key_is_refused() {
        let torn = &KEYS[..KEYS.find("=").expect("a checksum") - 40];
        for text in ["", "nonsense", torn, &"x".repeat(SIZE_LIMIT + 1)] {
            assert!(read(text, at(0)).is_err(), "{text:.40}");
        }
        let private = KEYS.replace("PUBLIC KEY BLOCK", "PRIVATE KEY BLOCK");
        assert!(read(&private, at(0)).is_err());
    }

    #[test]
    fn a_changed_key_is_noticed() {
        let (start, rest) = KEYS.split_once("\n\n").expect("armour");
        // A letter of the signature.
        let place = 250;
        let other = if rest.as_bytes()[place] == b'A' { "B" } else { "A" };
        let forged = format!("{start}\n\n{}{other}{}", &rest[..place], &rest[place + 1..]);
        assert!(read(&forged, at(0)).is_err());
    }

    #[test]
    fn an_id_is_the_end_of_a_fingerprint() {
        let id = "2337DBF43947B17C";
        assert_eq!(short_id(id).expect("an id"), id);
        assert_eq!(short_id("D10999377F4DBD40CB3AE4ED2337DBF43947B17C").expect("one"), id);
        assert!(short_id("xyz").is_err() && short_id("é2337DBF43947B1").is_err());
    }
}
