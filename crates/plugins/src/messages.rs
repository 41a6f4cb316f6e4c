//! What goes over the socket. Names and numbers are Argo CD's, because
//! sidecars that exist speak them.

use std::collections::BTreeMap;

use serde::Deserialize;

pub(crate) const GENERATE: &str = "/plugin.ConfigManagementPluginService/GenerateManifest";
pub(crate) const CHECK: &str = "/plugin.ConfigManagementPluginService/CheckPluginConfiguration";
pub(crate) const MATCH: &str = "/plugin.ConfigManagementPluginService/MatchRepository";
pub(crate) const ASK_PASS: &str = "/askpass.AskPassService/GetCredentials";
pub(crate) const ANNOUNCE: &str = "/plugin.ConfigManagementPluginService/GetParametersAnnouncement";

/// A repository in pieces: first what it is, then its archive.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AppStreamRequest {
    #[prost(oneof = "Piece", tags = "1, 2")]
    pub(crate) request: Option<Piece>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Piece {
    #[prost(message, tag = "1")]
    Metadata(ManifestRequestMetadata),
    #[prost(message, tag = "2")]
    File(FileChunk),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ManifestRequestMetadata {
    #[prost(string, tag = "1")]
    pub(crate) app_name: String,
    /// The source's directory inside the archive.
    #[prost(string, tag = "2")]
    pub(crate) app_rel_path: String,
    /// Of the archive: sha256 in hexadecimal.
    #[prost(string, tag = "3")]
    pub(crate) checksum: String,
    #[prost(int64, tag = "4")]
    pub(crate) size: i64,
    #[prost(message, repeated, tag = "5")]
    pub(crate) env: Vec<EnvEntry>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct EnvEntry {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct FileChunk {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) chunk: bytes::Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ManifestResponse {
    /// Each a YAML document.
    #[prost(string, repeated, tag = "1")]
    pub(crate) manifests: Vec<String>,
    #[prost(string, tag = "2")]
    pub(crate) source_type: String,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct RepositoryResponse {
    #[prost(bool, tag = "1")]
    pub(crate) is_supported: bool,
    #[prost(bool, tag = "2")]
    pub(crate) is_discovery_enabled: bool,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct CheckPluginConfigurationResponse {
    #[prost(bool, tag = "1")]
    pub(crate) is_discovery_configured: bool,
    #[prost(bool, tag = "2")]
    pub(crate) provide_git_creds: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ParametersAnnouncementResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) parameter_announcements: Vec<ParameterAnnouncement>,
}

/// A parameter that a plugin understands.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ParameterAnnouncement {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// How users see it.
    #[prost(string, tag = "2")]
    pub title: String,
    /// What it is for.
    #[prost(string, tag = "3")]
    pub tooltip: String,
    /// Must it be given?
    #[prost(bool, tag = "4")]
    pub required: bool,
    /// `string`, `number` or `boolean`.
    #[prost(string, tag = "5")]
    pub item_type: String,
    /// `string`, `array` or `map`.
    #[prost(string, tag = "6")]
    pub collection_type: String,
    /// The value, if it is one text.
    #[prost(string, tag = "7")]
    pub string: String,
    /// The value, if it is a list.
    #[prost(string, repeated, tag = "8")]
    pub array: Vec<String>,
    /// The value, if it is a map.
    #[prost(btree_map = "string, string", tag = "9")]
    pub map: BTreeMap<String, String>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Empty {}

/// What git's program asks the repo server.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CredentialsRequest {
    #[prost(string, tag = "1")]
    pub(crate) nonce: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CredentialsResponse {
    #[prost(string, tag = "1")]
    pub(crate) username: String,
    #[prost(string, tag = "2")]
    pub(crate) password: String,
}
