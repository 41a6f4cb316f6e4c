//! Keys of those who sign commits: `gpgkey.GPGKeyService`.

use super::messages;

messages! {
    /// Which key.
    GnuPgPublicKeyQuery {
        #[prost(string, tag = 1)] #[serde(rename = "keyID")]
        key_id: String,
    }
    /// New keys.
    GnuPgPublicKeyCreateRequest {
        #[prost(message, optional, tag = 1)]
        publickey: Option<GnuPgPublicKey>,
        #[prost(bool, tag = 2)]
        upsert: bool,
    }
    /// The keys that are new, and those that were there.
    GnuPgPublicKeyCreateResponse {
        #[prost(message, optional, tag = 1)]
        created: Option<GnuPgPublicKeyList>,
        #[prost(string, repeated, tag = 2)]
        skipped: Vec<String>,
    }
    /// Done.
    GnuPgPublicKeyResponse {
    }
    /// Keys.
    GnuPgPublicKeyList {
        @always {
            #[prost(message, repeated, tag = 2)]
            items: Vec<GnuPgPublicKey>,
        }
        #[prost(message, required, tag = 1)]
        metadata: api::ListMeta,
    }
    /// A key that commits may be signed with.
    GnuPgPublicKey {
        @always {
            #[prost(string, required, tag = 1)] #[serde(rename = "keyID")]
            key_id: String,
        }
        #[prost(string, required, tag = 2)]
        fingerprint: String,
        #[prost(string, required, tag = 3)]
        owner: String,
        #[prost(string, required, tag = 4)]
        trust: String,
        #[prost(string, required, tag = 5)]
        sub_type: String,
        #[prost(string, required, tag = 6)]
        key_data: String,
    }
}
