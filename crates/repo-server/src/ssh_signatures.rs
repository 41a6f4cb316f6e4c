//! Signatures that git makes with ssh keys (`gpg.format = ssh`).
//!
//! Argo CD knows none. A key that commits may be signed with stands beside the
//! OpenPGP keys in `argocd-gpg-keys-cm`, as `ssh-keygen` writes public keys, and
//! a rule lists it by its fingerprint, `SHA256:…`.

use ssh_key::{HashAlg, PublicKey, SshSig};

use crate::signatures::{Signed, Verdict};

/// How a signature of this kind begins.
pub(crate) const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
/// What git signs for: a signature of a file, or of a login, is none of a commit.
const NAMESPACE: &str = "git";

/// The ssh keys whose signatures we can check.
#[derive(Default)]
pub(crate) struct SshKeys(Vec<PublicKey>);

impl SshKeys {
    /// Takes the public keys among these texts, one on a line; a line that is
    /// none is as good as none.
    pub(crate) fn read<'t>(texts: impl Iterator<Item = &'t String>) -> Self {
        let lines = texts.flat_map(|text| text.lines());
        Self(lines.filter_map(|line| PublicKey::from_openssh(line.trim()).ok()).collect())
    }

    /// Checks an armoured signature over a content.
    pub(crate) fn check(&self, armoured: &[u8], content: &[u8]) -> Signed {
        let signed = |verdict, key_id| Signed { verdict, key_id };
        let Ok(signature) = SshSig::from_pem(armoured) else {
            return signed(Verdict::Bad, String::new());
        };
        let fingerprint = signature.public_key().fingerprint(HashAlg::Sha256).to_string();
        let mut known = self.0.iter().filter(|it| it.key_data() == signature.public_key());
        let Some(key) = known.next() else { return signed(Verdict::MissingKey, fingerprint) };
        match key.verify(NAMESPACE, content, &signature) {
            Ok(()) => signed(Verdict::Good, fingerprint),
            Err(_) => signed(Verdict::Bad, fingerprint),
        }
    }
}
