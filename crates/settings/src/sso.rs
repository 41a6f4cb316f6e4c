//! Single sign-on: an OpenID Connect provider, or Dex before others.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::reader::Reader;
use crate::{Secret, Sources};

/// How users log in elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sso {
    /// A provider that is asked directly; it wins over Dex.
    pub oidc: Option<Oidc>,
    /// The configuration of Dex, references resolved; null for none.
    pub dex: Value,
    /// The connector of Dex that is used without asking.
    pub dex_connector: String,
    /// Certificates of providers are not checked. Only for trying things out.
    pub skips_verification: bool,
}

/// `oidc.config`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Oidc {
    /// What users call it.
    pub name: String,
    /// Its address.
    pub issuer: String,
    /// Who we are to it.
    #[serde(rename = "clientID")]
    pub client_id: String,
    /// How we prove it.
    pub client_secret: Secret,
    /// Who the command line program is to it; empty for the same.
    #[serde(rename = "cliClientID")]
    pub cli_client_id: String,
    /// What we ask to know; empty for openid, profile, email and groups.
    pub requested_scopes: Vec<String>,
    /// Claims that we ask for.
    #[serde(rename = "requestedIDTokenClaims")]
    pub requested_id_token_claims: BTreeMap<String, Value>,
    /// Where to log out; `{{token}}` and `{{logoutRedirectURL}}` are filled in.
    #[serde(rename = "logoutURL")]
    pub logout_url: String,
    /// Certificate authorities to trust, as PEM.
    #[serde(rename = "rootCA")]
    pub root_ca: String,
    /// Proof keys instead of a client secret.
    #[serde(rename = "enablePKCEAuthentication")]
    pub uses_pkce: bool,
    /// Audiences of tokens that we accept besides our own ids.
    pub allowed_audiences: Vec<String>,
    /// Accept tokens without any audience.
    pub skip_audience_check_when_token_has_no_audience: Option<bool>,
    /// Ask for groups at the userinfo endpoint.
    pub enable_user_info_groups: bool,
    /// Its path.
    pub user_info_path: String,
    /// Where it is, if not at the issuer.
    #[serde(rename = "userInfoBaseURL")]
    pub user_info_base_url: String,
    /// How long its answers are kept.
    pub user_info_cache_expiration: String,
    /// A hint for the provider's login page.
    pub domain_hint: String,
    /// When to renew tokens before they expire.
    pub refresh_token_threshold: String,
    /// Entra ID only.
    pub azure: Option<Azure>,
}

/// What only Entra ID needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Azure {
    /// Who we are is proven by the platform.
    pub use_workload_identity: bool,
    /// Ask for groups elsewhere when there are too many for a token.
    pub enable_user_group_overage_claim: bool,
    /// Where.
    pub graph_api_endpoint: String,
    /// How long the answers are kept.
    pub user_group_overage_claim_cache_expiration: String,
}

/// Where Microsoft answers, in all its clouds. No other host is shown a user's token.
const GRAPH_HOSTS: [&str; 4] = [
    "graph.microsoft.com",
    "graph.microsoft.us",
    "graph.microsoft.de",
    "microsoftgraph.chinacloudapi.cn",
];
const GRAPH_API: &str = "https://graph.microsoft.com/v1.0";

impl Azure {
    /// The address of the Graph API; none where the settings name somebody else's.
    #[must_use]
    pub fn graph_api(&self) -> Option<&str> {
        let address = match self.graph_api_endpoint.as_str() {
            "" => GRAPH_API,
            address => address,
        };
        let host = address.strip_prefix("https://")?.split('/').next()?;
        let host = host.strip_suffix(":443").unwrap_or(host);
        GRAPH_HOSTS.contains(&host).then_some(address)
    }
}

impl Sso {
    /// Can users log in elsewhere?
    #[must_use]
    pub fn is_configured(&self, url: &str) -> bool {
        !url.is_empty() && (self.oidc.is_some() || self.has_dex())
    }

    /// Does Dex have anywhere to send users?
    #[must_use]
    pub fn has_dex(&self) -> bool {
        self.dex.as_object().is_some_and(|it| !it.is_empty())
    }
}

pub(crate) fn read(reader: &mut Reader<'_>, sources: &Sources) -> Sso {
    let oidc: Value = reader.yaml("oidc.config");
    let oidc = match serde_json::from_value::<Option<Oidc>>(sources.resolve_all(oidc)) {
        Ok(oidc) => oidc,
        // The error could repeat a resolved secret.
        Err(_) => {
            reader.find("oidc.config", "this does not have the expected form");
            None
        }
    };
    let azure = oidc.as_ref().and_then(|it: &Oidc| it.azure.as_ref());
    if azure.is_some_and(|it| it.graph_api().is_none()) {
        let hosts = GRAPH_HOSTS.join(", ");
        let told = format!("azure.graphApiEndpoint must be https:// and one of {hosts}");
        reader.find("oidc.config", told);
    }
    let dex: Value = reader.yaml("dex.config");
    let connector = if oidc.is_none() { dex_connector(reader, &dex) } else { String::new() };
    Sso {
        oidc,
        dex: sources.resolve_all(dex),
        dex_connector: connector,
        skips_verification: reader.is_true("oidc.tls.insecure.skip.verify"),
    }
}

fn dex_connector(reader: &mut Reader<'_>, dex: &Value) -> String {
    const KEY: &str = "dex.auth.connectorId";
    let wanted = reader.text(KEY);
    let mut connectors = dex["connectors"].as_array().into_iter().flatten();
    if wanted.is_empty() || connectors.any(|it| it["id"] == wanted) {
        return wanted.to_owned();
    }
    reader.find(KEY, format!("dex.config has no connector {wanted:?}"));
    String::new()
}
