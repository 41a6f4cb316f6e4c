//! Whom repositories are trusted by: `certificate.CertificateService`.

use serde::{Deserialize, Serialize};

use super::{base64_text, messages};

messages! {
    /// Which certificates and host keys.
    RepositoryCertificateQuery {
        #[prost(string, tag = 1)]
        host_name_pattern: String,
        #[prost(string, tag = 2)]
        cert_type: String,
        #[prost(string, tag = 3)]
        cert_sub_type: String,
    }
    /// New certificates and host keys.
    RepositoryCertificateCreateRequest {
        #[prost(message, optional, tag = 1)]
        certificates: Option<RepositoryCertificateList>,
        #[prost(bool, tag = 2)]
        upsert: bool,
    }
    /// Certificates and host keys.
    RepositoryCertificateList {
        @always {
            #[prost(message, repeated, tag = 2)]
            items: Vec<RepositoryCertificate>,
        }
        #[prost(message, required, tag = 1)]
        metadata: api::ListMeta,
    }
}

/// The certificate of an https server, or a key of an ssh host.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "RepositoryCertificate"]))]
#[serde(default, rename_all = "camelCase")]
pub struct RepositoryCertificate {
    /// The server.
    #[prost(string, required, tag = 1)]
    pub server_name: String,
    /// `https` or `ssh`.
    #[prost(string, required, tag = 2)]
    pub cert_type: String,
    /// The kind of key.
    #[prost(string, required, tag = 3)]
    pub cert_sub_type: String,
    /// The certificate or key itself; answers leave it out.
    #[prost(bytes = "vec", required, tag = 4)]
    #[serde(with = "base64_text")]
    #[schemars(with = "String", extend("format" = "byte"))]
    pub cert_data: Vec<u8>,
    /// Its fingerprint, or whose it is.
    #[prost(string, required, tag = 5)]
    pub cert_info: String,
}

super::lenient!(RepositoryCertificate);
