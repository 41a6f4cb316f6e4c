//! What clients may know of the settings: `cluster.SettingsService`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::messages;

messages! {
    /// The settings, please.
    SettingsQuery {
    }
    /// What clients may know.
    Settings {
        #[prost(string, tag = 1)]
        url: String,
        #[prost(message, optional, tag = 2)]
        dex_config: Option<DexConfig>,
        #[prost(message, optional, tag = 3)]
        oidc_config: Option<OidcConfig>,
        #[prost(string, tag = 4)]
        app_label_key: String,
        #[prost(btree_map = "string, message", tag = 5)]
        resource_overrides: BTreeMap<String, ResourceOverride>,
        #[prost(bool, tag = 6)]
        status_badge_enabled: bool,
        #[prost(message, optional, tag = 7)]
        google_analytics: Option<GoogleAnalyticsConfig>,
        #[prost(message, optional, tag = 8)]
        kustomize_options: Option<KustomizeOptions>,
        #[prost(message, optional, tag = 9)]
        help: Option<Help>,
        #[prost(message, repeated, tag = 10)]
        plugins: Vec<Plugin>,
        #[prost(bool, tag = 11)]
        user_logins_disabled: bool,
        #[prost(string, repeated, tag = 13)]
        kustomize_versions: Vec<String>,
        #[prost(string, tag = 14)] #[serde(rename = "uiCssURL")]
        ui_css_url: String,
        #[prost(string, tag = 15)]
        ui_banner_content: String,
        #[prost(string, tag = 16)] #[serde(rename = "uiBannerURL")]
        ui_banner_url: String,
        #[prost(string, tag = 17)]
        password_pattern: String,
        #[prost(string, tag = 18)]
        tracking_method: String,
        #[prost(bool, tag = 19)]
        ui_banner_permanent: bool,
        #[prost(string, tag = 20)]
        ui_banner_position: String,
        #[prost(string, tag = 21)]
        status_badge_root_url: String,
        #[prost(bool, tag = 22)]
        exec_enabled: bool,
        #[prost(string, tag = 23)]
        controller_namespace: String,
        #[prost(bool, tag = 24)]
        apps_in_any_namespace_enabled: bool,
        #[prost(bool, tag = 25)]
        impersonation_enabled: bool,
        #[prost(string, tag = 26)] #[serde(rename = "installationID")]
        installation_id: String,
        #[prost(string, repeated, tag = 27)]
        additional_urls: Vec<String>,
        #[prost(bool, tag = 28)]
        hydrator_enabled: bool,
        #[prost(bool, tag = 29)]
        sync_with_replace_allowed: bool,
        #[prost(string, tag = 30)]
        ui_login_button_text: String,
        #[prost(bool, tag = 31)]
        resource_view_enabled: bool,
    }
    /// Where users find help.
    Help {
        #[prost(string, tag = 1)]
        chat_url: String,
        #[prost(string, tag = 2)]
        chat_text: String,
        #[prost(btree_map = "string, string", tag = 3)]
        binary_urls: BTreeMap<String, String>,
    }
    /// Usage counting of the UI.
    GoogleAnalyticsConfig {
        #[prost(string, tag = 1)] #[serde(rename = "trackingID")]
        tracking_id: String,
        #[prost(bool, tag = 2)]
        anonymize_users: bool,
    }
    /// The login providers of Dex.
    DexConfig {
        #[prost(message, repeated, tag = 1)]
        connectors: Vec<Connector>,
        #[prost(string, tag = 2)] #[serde(rename = "dexAuthConnectorID")]
        dex_auth_connector_id: String,
    }
    /// One of them.
    Connector {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, tag = 2)]
        type_: String,
        #[prost(string, tag = 3)]
        id: String,
    }
    /// A login provider.
    OidcConfig {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, tag = 2)]
        issuer: String,
        #[prost(string, tag = 3)] #[serde(rename = "clientID")]
        client_id: String,
        #[prost(string, tag = 4)] #[serde(rename = "cliClientID")]
        cli_client_id: String,
        #[prost(string, repeated, tag = 5)]
        scopes: Vec<String>,
        #[prost(btree_map = "string, message", tag = 6)] #[serde(rename = "idTokenClaims")]
        id_token_claims: BTreeMap<String, Claim>,
        #[prost(bool, tag = 7)] #[serde(rename = "enablePKCEAuthentication")]
        enable_pkce_authentication: bool,
    }
    /// A plugin.
    Plugin {
        #[prost(string, tag = 1)]
        name: String,
    }
    /// The plugins.
    SettingsPluginsResponse {
        #[prost(message, repeated, tag = 1)]
        plugins: Vec<Plugin>,
    }
    /// A claim to ask for.
    Claim {
        #[prost(bool, tag = 1)]
        essential: bool,
        #[prost(string, tag = 2)]
        value: String,
        #[prost(string, repeated, tag = 3)]
        values: Vec<String>,
    }
    /// How kustomizations are built.
    KustomizeOptions {
        @always {
            #[prost(string, required, tag = 1)] #[serde(rename = "BuildOptions")]
            build_options: String,
            #[prost(string, required, tag = 2)] #[serde(rename = "BinaryPath")]
            binary_path: String,
            #[prost(message, repeated, tag = 3)] #[serde(rename = "Versions")]
            versions: Vec<KustomizeVersion>,
        }
    }
    /// A version of Kustomize.
    KustomizeVersion {
        @always {
            #[prost(string, required, tag = 1)] #[serde(rename = "Name")]
            name: String,
            #[prost(string, required, tag = 2)] #[serde(rename = "Path")]
            path: String,
            #[prost(string, required, tag = 3)] #[serde(rename = "BuildOptions")]
            build_options: String,
        }
    }
}

/// What is different about a kind. In JSON the two lists of ignored fields are YAML inside a text.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "ResourceOverride"]))]
#[serde(default)]
pub struct ResourceOverride {
    /// A script that judges health.
    #[prost(string, required, tag = 1)]
    #[serde(rename = "health.lua", skip_serializing_if = "String::is_empty")]
    pub health_lua: String,
    /// Fields that comparisons pass over.
    #[prost(message, required, tag = 2)]
    #[serde(rename = "ignoreDifferences", with = "ignored_fields")]
    #[schemars(with = "String")]
    pub ignore_differences: OverrideIgnoreDiff,
    /// Scripts of actions.
    #[prost(string, required, tag = 3)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub actions: String,
    /// Fields whose types Kubernetes knows.
    #[prost(message, repeated, tag = 4)]
    #[serde(rename = "knownTypeFields", skip_serializing_if = "Vec::is_empty")]
    pub known_type_fields: Vec<KnownTypeField>,
    /// The script of health may use more of Lua's libraries.
    #[prost(bool, required, tag = 5)]
    #[serde(rename = "health.lua.useOpenLibs", skip_serializing_if = "std::ops::Not::not")]
    pub use_open_libs: bool,
    /// Fields whose changes wake nobody.
    #[prost(message, required, tag = 6)]
    #[serde(rename = "ignoreResourceUpdates", with = "ignored_fields")]
    #[schemars(with = "String")]
    pub ignore_resource_updates: OverrideIgnoreDiff,
}

super::lenient!(ResourceOverride);

/// Fields to pass over.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "OverrideIgnoreDiff"]))]
#[serde(default, rename_all = "camelCase")]
pub struct OverrideIgnoreDiff {
    /// By JSON pointer.
    #[prost(string, repeated, tag = 1)]
    #[serde(rename = "jsonPointers")]
    pub json_pointers: Vec<String>,
    /// By jq expression.
    #[prost(string, repeated, tag = 2)]
    pub jq_path_expressions: Vec<String>,
    /// By who manages them.
    #[prost(string, repeated, tag = 3)]
    pub managed_fields_managers: Vec<String>,
}

/// A field whose type Kubernetes knows.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "KnownTypeField"]))]
#[serde(default)]
pub struct KnownTypeField {
    /// The field.
    #[prost(string, required, tag = 1)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// Its type.
    #[prost(string, required, tag = 2)]
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub type_: String,
}

/// Ignored fields as YAML inside a text.
mod ignored_fields {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::OverrideIgnoreDiff;

    pub(super) fn serialize<S: Serializer>(
        fields: &OverrideIgnoreDiff,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let value = serde_json::to_value(fields).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&gocompat::yaml::from_value(&value))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<OverrideIgnoreDiff, D::Error> {
        let text = String::deserialize(deserializer)?;
        let value = gocompat::yaml::to_value(&text).map_err(D::Error::custom)?;
        Ok(serde_json::from_value(value).unwrap_or_default())
    }
}
