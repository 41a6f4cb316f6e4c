//! What a browser carries for us between the two halves of a login, so that it
//! can neither be read nor made up: encrypted with a key of the signing key.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf;
use ring::rand::{SecureRandom as _, SystemRandom};

const PURPOSE: &[u8] = b"argosy: the state of a login";
/// No state is longer.
const LENGTH_LIMIT: usize = 8 * 1024;

/// Encrypts; none where the system gives no random numbers.
pub(super) fn seal(text: &str, signing_key: &[u8]) -> Option<String> {
    let mut nonce = [0; NONCE_LEN];
    SystemRandom::new().fill(&mut nonce).ok()?;
    let mut sealed = text.as_bytes().to_vec();
    let key = key(signing_key)?;
    let unique = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(unique, Aad::empty(), &mut sealed).ok()?;
    Some(nonce.iter().chain(&sealed).map(|byte| format!("{byte:02x}")).collect())
}

/// What was sealed; none for anything else.
pub(super) fn open(sealed: &str, signing_key: &[u8]) -> Option<String> {
    if sealed.len() > LENGTH_LIMIT || !sealed.is_ascii() {
        return None;
    }
    let bytes: Option<Vec<u8>> = (0..sealed.len() / 2)
        .map(|place| u8::from_str_radix(&sealed[place * 2..place * 2 + 2], 16).ok())
        .collect();
    let bytes = bytes?;
    let (nonce, rest) = bytes.split_first_chunk::<NONCE_LEN>()?;
    let mut rest = rest.to_vec();
    let unique = Nonce::assume_unique_for_key(*nonce);
    let opened = key(signing_key)?.open_in_place(unique, Aad::empty(), &mut rest).ok()?;
    String::from_utf8(opened.to_vec()).ok()
}

fn key(signing_key: &[u8]) -> Option<LessSafeKey> {
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]);
    let derived = salt.extract(signing_key);
    let derived = derived.expand(&[PURPOSE], &AES_256_GCM).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(derived)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_with_the_key_opens() {
        let sealed = seal("a secret", b"key").expect("random numbers");
        assert_eq!(open(&sealed, b"key").as_deref(), Some("a secret"));
        assert_eq!(open(&sealed, b"other"), None);
        let last = if sealed.ends_with('0') { "1" } else { "0" };
        let forged = format!("{}{last}", &sealed[..sealed.len() - 1]);
        assert_eq!(open(&forged, b"key"), None);
        for nonsense in ["", "0", "zz", "é", &"0".repeat(10_000)] {
            assert_eq!(open(nonsense, b"key"), None);
        }
    }
}
