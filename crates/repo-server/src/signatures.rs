//! Signatures: who signed, and does it count?
//!
//! Pure: keys, texts and the time of day go in, a verdict comes out. OpenPGP is
//! here, ssh in [`ssh_signatures`].

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Mutex;

use gix::ObjectId;
use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey, SignedPublicSubKey};
use pgp::packet::{Signature, SignatureType};
use pgp::types::{Duration, KeyDetails, Tag, Timestamp, VerifyingKey};

use crate::ssh_signatures::{self, SshKeys};

/// How signatures begin that stand at the end of a tag.
const BEGINNINGS: [&str; 3] =
    ["-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP MESSAGE-----", ssh_signatures::BEGIN];

/// Verdicts to remember; a long history is looked at again and again.
const MAX_REMEMBERED: usize = 200_000;

/// What became of the check of a signature. Printed in Argo CD's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    Bad,
    ExpiredSignature,
    ExpiredKey,
    RevokedKey,
    MissingKey,
    Unsigned,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good => "signed",
            Self::Bad => "bad signature",
            Self::ExpiredSignature => "expired signature",
            Self::ExpiredKey => "signed with expired key",
            Self::RevokedKey => "signed with revoked key",
            Self::MissingKey => "signed with key not in keyring",
            Self::Unsigned => "unsigned",
        })
    }
}

/// A verdict and the key it is about: the 16 digits of its id, or the
/// fingerprint of an ssh key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signed {
    pub(crate) verdict: Verdict,
    pub(crate) key_id: String,
}

impl Signed {
    pub(crate) fn not_at_all() -> Self {
        Self { verdict: Verdict::Unsigned, key_id: String::new() }
    }
}

/// The keys whose signatures we can check.
#[derive(Default)]
pub(crate) struct Keyring {
    keys: Vec<SignedPublicKey>,
    ssh: SshKeys,
    remembered: Mutex<HashMap<ObjectId, Remembered>>,
}

/// A verdict that stands until a key or signature expires.
struct Remembered {
    signed: Signed,
    until: Option<u32>,
}

impl Keyring {
    /// Reads armoured keys and those of ssh; one that cannot be read is as good as none.
    pub(crate) fn read(armoured: &BTreeMap<String, String>) -> Self {
        let mut keys = Vec::new();
        for text in armoured.values() {
            if let Ok((found, _)) = SignedPublicKey::from_string_many(text) {
                keys.extend(found.filter_map(Result::ok));
            }
        }
        let ssh = SshKeys::read(armoured.values());
        Self { keys, ssh, remembered: Mutex::default() }
    }

    /// Checks the signature of an object of git, once per object.
    pub(crate) fn check_once<E>(
        &self,
        id: ObjectId,
        now: u32,
        read: impl FnOnce() -> Result<Option<(Vec<u8>, Vec<u8>)>, E>,
    ) -> Result<Signed, E> {
        let remembered = || self.remembered.lock().expect("nobody panics while looking up");
        if let Some(known) = remembered().get(&id)
            && known.until.is_none_or(|until| now < until)
        {
            return Ok(known.signed.clone());
        }
        let (signed, until) = match read()? {
            None => (Signed::not_at_all(), None),
            Some((signature, content)) => self.check(&signature, &content, now),
        };
        let mut remembered = remembered();
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(id, Remembered { signed: signed.clone(), until });
        Ok(signed)
    }

    /// Checks an armoured signature over a content; also until when the answer stands.
    pub(crate) fn check(&self, armoured: &[u8], content: &[u8], now: u32) -> (Signed, Option<u32>) {
        let answer = |verdict, key_id: &str| Signed { verdict, key_id: key_id.to_owned() };
        if armoured.starts_with(ssh_signatures::BEGIN.as_bytes()) {
            return (self.ssh.check(armoured, content), None);
        }
        let Ok((signature, _)) = DetachedSignature::from_armor_single(armoured) else {
            // Something else signed it, such as X.509.
            return (answer(Verdict::MissingKey, ""), None);
        };
        let signature = signature.signature;
        let issuer = issuer(&signature);
        let signs_data =
            matches!(signature.typ(), Some(SignatureType::Binary | SignatureType::Text));
        let Some(signer) = self.keys.iter().find_map(|key| Signer::find(key, &issuer)) else {
            return (answer(Verdict::MissingKey, &issuer), None);
        };
        if !signs_data || signature.verify(&signer, content).is_err() {
            return (answer(Verdict::Bad, &issuer), None);
        }
        let expires = end(signature.created(), signature.signature_expiration_time());
        let verdict = if signer.is_revoked() {
            Verdict::RevokedKey
        } else if expires.is_some_and(|moment| moment <= now) {
            Verdict::ExpiredSignature
        } else if signer.expires().is_some_and(|moment| moment <= now) {
            Verdict::ExpiredKey
        } else {
            let until = [expires, signer.expires()].into_iter().flatten().min();
            return (answer(Verdict::Good, &issuer), until);
        };
        (answer(verdict, &issuer), None)
    }
}

/// The signature of a tag and what it is over: the last line that begins like
/// one, and what follows, as git has it.
pub(crate) fn split_tag(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').rev();
    let mut at = text.len();
    lines.find(|line| {
        at -= line.len();
        BEGINNINGS.iter().any(|it| line.starts_with(it.as_bytes()))
    })?;
    Some((text[at..].to_vec(), text[..at].to_vec()))
}

/// The key that made a signature: a primary key, or one of its subkeys.
#[derive(Debug)]
struct Signer<'k> {
    primary: &'k SignedPublicKey,
    subkey: Option<&'k SignedPublicSubKey>,
}

impl<'k> Signer<'k> {
    fn find(primary: &'k SignedPublicKey, issuer: &str) -> Option<Self> {
        if key_id(&primary.primary_key) == issuer {
            return Some(Self { primary, subkey: None });
        }
        let mut subkeys = primary.public_subkeys.iter().filter(|it| key_id(&it.key) == issuer);
        // Anybody can hang a subkey below a key; only bindings of both sides count.
        let subkey = subkeys.find(|it| it.verify_bindings(&primary.primary_key).is_ok())?;
        Some(Self { primary, subkey: Some(subkey) })
    }

    fn is_revoked(&self) -> bool {
        let key = &self.primary.primary_key;
        let mut revocations = self.primary.details.revocation_signatures.iter();
        let of_subkey = self.subkey.iter().flat_map(|it| &it.signatures);
        revocations.any(|it| it.verify_key(key).is_ok())
            || of_subkey.into_iter().any(|it| it.typ() == Some(SignatureType::SubkeyRevocation))
    }

    /// When the key, or the one it hangs below, ends.
    fn expires(&self) -> Option<u32> {
        let key = &self.primary.primary_key;
        let details = &self.primary.details;
        let of_users = details.users.iter().flat_map(|user| {
            let own =
                move |it: &&Signature| it.verify_certification(key, Tag::UserId, &user.id).is_ok();
            user.signatures.iter().filter(own)
        });
        let direct = details.direct_signatures.iter().filter(|it| it.verify_key(key).is_ok());
        let primary = end(Some(key.created_at()), newest(of_users.chain(direct)));
        let subkey =
            self.subkey.and_then(|it| end(Some(it.key.created_at()), newest(it.signatures.iter())));
        [primary, subkey].into_iter().flatten().min()
    }
}

impl KeyDetails for Signer<'_> {
    fn version(&self) -> pgp::types::KeyVersion {
        self.subkey.map_or_else(|| self.primary.version(), KeyDetails::version)
    }

    fn legacy_key_id(&self) -> pgp::types::KeyId {
        self.subkey.map_or_else(|| self.primary.legacy_key_id(), KeyDetails::legacy_key_id)
    }

    fn fingerprint(&self) -> pgp::types::Fingerprint {
        self.subkey.map_or_else(|| self.primary.fingerprint(), KeyDetails::fingerprint)
    }

    fn algorithm(&self) -> pgp::crypto::public_key::PublicKeyAlgorithm {
        self.subkey.map_or_else(|| self.primary.algorithm(), KeyDetails::algorithm)
    }

    fn created_at(&self) -> Timestamp {
        self.subkey.map_or_else(|| self.primary.created_at(), KeyDetails::created_at)
    }

    fn legacy_v3_expiration_days(&self) -> Option<u16> {
        self.primary.legacy_v3_expiration_days()
    }

    fn public_params(&self) -> &pgp::types::PublicParams {
        self.subkey.map_or_else(|| self.primary.public_params(), KeyDetails::public_params)
    }
}

impl VerifyingKey for Signer<'_> {
    fn verify(
        &self,
        hash: pgp::crypto::hash::HashAlgorithm,
        data: &[u8],
        signature: &pgp::types::SignatureBytes,
    ) -> pgp::errors::Result<()> {
        match self.subkey {
            Some(subkey) => subkey.key.verify(hash, data, signature),
            None => self.primary.primary_key.verify(hash, data, signature),
        }
    }
}

/// What the newest of these says about the key's end.
fn newest<'s>(signatures: impl Iterator<Item = &'s Signature>) -> Option<Duration> {
    let newest = signatures.max_by_key(|it| it.created().map_or(0, Timestamp::as_secs))?;
    newest.key_expiration_time()
}

/// Zero is no end at all.
fn end(begin: Option<Timestamp>, after: Option<Duration>) -> Option<u32> {
    let after = after.map(Duration::as_secs).filter(|it| *it > 0)?;
    Some(begin?.as_secs().saturating_add(after))
}

fn issuer(signature: &Signature) -> String {
    if let Some(id) = signature.issuer_key_id().first() {
        return hexadecimal(id.as_ref());
    }
    // The id is the end of the fingerprint, up to version 4.
    let fingerprint = signature.issuer_fingerprint();
    let bytes = fingerprint.first().map(|it| it.as_bytes()).unwrap_or_default();
    hexadecimal(&bytes[bytes.len().saturating_sub(8)..])
}

fn key_id(key: &impl KeyDetails) -> String {
    hexadecimal(key.legacy_key_id().as_ref())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<(&str, &str)>) {
        let expect = expect.map(|(signature, content)| (signature.into(), content.into()));
        assert_eq!(split_tag(text.as_bytes()), expect);
    }

    #[test]
    fn the_last_beginning_of_a_tag_is_that_of_its_signature() {
        let ssh = "-----BEGIN SSH SIGNATURE-----\nx\n-----END SSH SIGNATURE-----\n";
        let pgp = "-----BEGIN PGP SIGNATURE-----\nx\n-----END PGP SIGNATURE-----\n";
        check("tag v1\n\na release\n", None);
        check(&format!("tag v1\n\na\n{ssh}"), Some((ssh, "tag v1\n\na\n")));
        check(&format!("a\n{ssh}{pgp}"), Some((pgp, &format!("a\n{ssh}"))));
        check("a\n -----BEGIN SSH SIGNATURE-----\n", None);
    }
}
