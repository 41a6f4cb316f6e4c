//! What clients may know of the settings: `cluster.SettingsService`.

use std::collections::BTreeMap;

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
        #[prost(bool, tag = 6)]
        status_badge_enabled: bool,
        #[prost(message, optional, tag = 7)]
        google_analytics: Option<GoogleAnalyticsConfig>,
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
}
