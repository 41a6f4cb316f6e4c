//! Groups that a token does not hold: what a provider tells where it is asked for the user, and
//! what Entra ID tells only its Graph API because it does not fit into a token.
//!
//! Whose groups cannot be told is not let in: a policy may deny something to one of them.

use std::time::Duration;

use ::settings::Secret;
use ::settings::sso::Oidc;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::provider::{Provider, SsoError};
use super::{Sso, id_token, seconds, session_key, span};

/// What is told about a user is believed this long, unless told otherwise.
const KEPT: Duration = Duration::from_secs(5 * 60);
/// What an access token must allow for the Graph API to answer.
const GRAPH_SCOPE: &str = "User.Read";

/// Where groups are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GroupSource {
    /// The provider's userinfo endpoint, always.
    UserInfo { address: String, kept: Duration },
    /// The Graph API, for users whose token says that there are more groups than it can hold.
    Graph { address: String, kept: Duration },
}

/// Groups as they were told.
#[derive(Clone)]
pub(super) struct KnownGroups {
    groups: Value,
    until: i64,
}

impl GroupSource {
    pub(super) fn of(oidc: &Oidc) -> Option<Self> {
        if oidc.enable_user_info_groups && !oidc.user_info_path.is_empty() {
            let base = match oidc.user_info_base_url.as_str() {
                "" => oidc.issuer.trim_end_matches('/'),
                base => base,
            };
            let address = format!("{base}{}", oidc.user_info_path);
            let kept = span(&oidc.user_info_cache_expiration).unwrap_or(KEPT);
            return Some(Self::UserInfo { address, kept });
        }
        let azure = oidc.azure.as_ref().filter(|it| it.enable_user_group_overage_claim)?;
        let address = format!("{}/me/getMemberGroups", azure.graph_api()?.trim_end_matches('/'));
        let kept = span(&azure.user_group_overage_claim_cache_expiration).unwrap_or(KEPT);
        Some(Self::Graph { address, kept })
    }

    /// Does somebody with these claims have groups there?
    fn is_needed(&self, claims: &Map<String, Value>) -> bool {
        match self {
            Self::UserInfo { .. } => true,
            Self::Graph { .. } => {
                let names = claims.get("_claim_names").and_then(|it| it.get("groups"));
                names.is_some() && claims.get("_claim_sources").is_some_and(|it| !it.is_null())
            }
        }
    }

    async fn ask(
        &self,
        provider: &Provider,
        claims: &Map<String, Value>,
        token: &Secret,
    ) -> Result<Value, String> {
        let failed = |error: SsoError| runtime::Chain(&error).to_string();
        match self {
            Self::UserInfo { address, .. } => {
                let mut told = provider.user_info(address, token).await.map_err(failed)?;
                // What is told about somebody else is nobody's business.
                if told.get("sub") != claims.get("sub") {
                    return Err("the provider told about another user than asked for".into());
                }
                Ok(told.remove("groups").unwrap_or_default())
            }
            Self::Graph { address, .. } => {
                if !allows(token.text(), GRAPH_SCOPE) {
                    return Err(format!(
                        "the access token lacks the scope {GRAPH_SCOPE}: grant the delegated \
                         permission {GRAPH_SCOPE} to the app registration in Entra ID"
                    ));
                }
                let told = provider.member_groups(address, token).await.map_err(failed)?;
                Ok(told.into())
            }
        }
    }

    fn kept(&self) -> Duration {
        match self {
            Self::UserInfo { kept, .. } | Self::Graph { kept, .. } => *kept,
        }
    }

    /// How users hear that it failed; both are Argo CD's words.
    fn failure(&self) -> &'static str {
        match self {
            Self::UserInfo { .. } => "error while querying userinfo endpoint",
            Self::Graph { .. } => "error fetching groups from Azure overage claim",
        }
    }
}

/// Puts the groups into the claims that are told elsewhere.
///
/// # Errors
/// Why they are not known, for the user; the log has the details.
pub(super) async fn complete(
    sso: &Sso,
    provider: &Provider,
    now: Timestamp,
    claims: &mut Map<String, Value>,
) -> Result<(), String> {
    let source = provider.client().groups.as_ref().filter(|it| it.is_needed(claims));
    let Some(source) = source else { return Ok(()) };
    let user = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
    // Only a login through us left us a token to ask with; any one of this user will do.
    let key = session_key(claims);
    let found = sso.grant(&key).map(|it| (key, it)).or_else(|| sso.grant_of(user));
    let Some((key, grant)) = found else {
        return Err(format!("{}: no access token is known, please re-login", source.failure()));
    };
    let now = now.as_second();
    let groups = match grant.groups.as_ref().filter(|it| it.until > now) {
        Some(known) => known.groups.clone(),
        None => {
            let groups = source.ask(provider, claims, &grant.access_token).await;
            let groups = groups.map_err(|error| {
                tracing::warn!(error, user, "could not ask for a user's groups");
                format!("{}, please re-login", source.failure())
            })?;
            let kept = i64::try_from(source.kept().as_secs()).unwrap_or(i64::MAX);
            let ends = seconds(claims, "exp").unwrap_or(now);
            let until = now.saturating_add(kept).min(ends);
            let known = KnownGroups { groups: groups.clone(), until };
            sso.update(&key, |grant| grant.groups = Some(known));
            groups
        }
    };
    claims.insert("groups".into(), groups);
    Ok(())
}

/// Does the token say so of itself? Whoever it is shown to will check.
fn allows(token: &str, scope: &str) -> bool {
    let is_it = |it: &str| it.eq_ignore_ascii_case(scope);
    match id_token::claimed(token).and_then(|mut it| it.remove("scp")) {
        Some(Value::String(scopes)) => scopes.split_whitespace().any(is_it),
        Some(Value::Array(scopes)) => scopes.iter().filter_map(Value::as_str).any(is_it),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ::settings::{Settings, Sources};
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;
    use testkit::answering::{Answering, Asked};

    use super::super::{Client, Grant};
    use super::*;
    use crate::Web;

    fn source(config: Value) -> Option<GroupSource> {
        GroupSource::of(&serde_json::from_value(config).expect("a configuration"))
    }

    #[test]
    fn the_graph_api_is_asked_where_the_settings_say_and_the_token_lacks_groups() {
        let graph = source(json!({"azure": {"enableUserGroupOverageClaim": true}}));
        let graph = graph.expect("a source");
        let address = "https://graph.microsoft.com/v1.0/me/getMemberGroups".to_owned();
        assert_eq!(graph, GroupSource::Graph { address, kept: KEPT });
        let is_needed = |claims: Value| graph.is_needed(claims.as_object().expect("claims"));
        let sources = json!({"src1": {"endpoint": "https://graph.example.org"}});
        assert!(is_needed(json!({"_claim_names": {"groups": "src1"}, "_claim_sources": sources})));
        assert!(!is_needed(json!({"_claim_names": {"roles": "src1"}, "_claim_sources": sources})));
        assert!(!is_needed(json!({"_claim_names": {"groups": "src1"}})));
        assert!(!is_needed(json!({"_claim_names": "groups", "_claim_sources": null})));
        assert!(!is_needed(json!({"groups": ["a"]})));
    }

    #[test]
    fn nobody_is_asked_unless_the_settings_say_so() {
        assert_eq!(source(json!({})), None);
        assert_eq!(source(json!({"azure": {}})), None);
        let elsewhere = "https://graph.example.org";
        let azure = json!({"enableUserGroupOverageClaim": true, "graphApiEndpoint": elsewhere});
        assert_eq!(source(json!({"azure": azure})), None);
        assert_eq!(source(json!({"enableUserInfoGroups": true})), None);
    }

    const TOO_MANY: &str = r#"{"sub": "ann", "exp": 2000, "_claim_names": {"groups": "src1"},
        "_claim_sources": {"src1": {"endpoint": "https://graph.example.org"}}}"#;

    /// Somebody who logged in with this access token, at a provider with the Graph API beside it.
    struct World {
        graph: Answering,
        sso: Sso,
        provider: Provider,
    }

    impl World {
        fn with(access_token: &str) -> Self {
            drop(rustls::crypto::ring::default_provider().install_default());
            let graph = Answering::start(|_| {
                |asked: &Asked| match (asked.method.as_str(), asked.body.as_slice()) {
                    _ if asked.header("authorization").contains(&scoped("gone User.Read")) => {
                        (403, b"no such user".to_vec())
                    }
                    ("POST", br#"{"securityEnabledOnly":true}"#) => {
                        (200, br#"{"value": ["g-1", "g-2"]}"#.to_vec())
                    }
                    _ => (400, Vec::new()),
                }
            });
            let mut sources = Sources::default();
            let data = [
                ("url", "https://argo.example.org"),
                ("oidc.config", "issuer: https://id\nclientID: us"),
            ];
            let data = data.map(|(key, text)| (key.to_owned(), text.to_owned()));
            sources.config_maps.insert("argocd-cm".into(), data.into());
            let client = Client::of(&Settings::read(&sources), &Web::default()).expect("a client");
            let address = format!("{}/v1.0/me/getMemberGroups", graph.url());
            let groups = Some(GroupSource::Graph { address, kept: Duration::from_secs(100) });
            let provider = Provider::new(Client { groups, ..client }).expect("a provider");
            let sso = Sso::default();
            let grant = Grant { access_token: access_token.into(), ..Grant::default() };
            let ann = json!({"sub": "ann"});
            sso.remember(&session_key(ann.as_object().expect("claims")), grant);
            Self { graph, sso, provider }
        }

        async fn groups(&self, claims: &str, now: i64) -> Result<Value, String> {
            let mut claims = serde_json::from_str(claims).expect("claims");
            let now = Timestamp::from_second(now).expect("in range");
            complete(&self.sso, &self.provider, now, &mut claims).await?;
            Ok(claims.remove("groups").unwrap_or_default())
        }
    }

    fn scoped(scopes: &str) -> String {
        format!("e30.{}.x", URL_SAFE_NO_PAD.encode(json!({ "scp": scopes }).to_string()))
    }

    #[tokio::test]
    async fn groups_that_do_not_fit_into_a_token_are_asked_for_and_kept_for_a_while() {
        let world = World::with(&scoped("openid user.read"));
        for (now, is_asked) in [(1000, true), (1099, false), (1100, true)] {
            assert_eq!(world.groups(TOO_MANY, now).await, Ok(json!(["g-1", "g-2"])));
            let asked = world.graph.take_asked();
            assert_eq!(!asked.is_empty(), is_asked, "at {now}");
            for asked in asked {
                assert_eq!(asked.path, "/v1.0/me/getMemberGroups");
                assert!(asked.header("authorization").starts_with("Bearer e30."));
            }
        }
        let few = r#"{"sub": "ann", "exp": 2000, "groups": ["own"]}"#;
        assert_eq!(world.groups(few, 1000).await, Ok(json!(["own"])));
        assert!(world.graph.take_asked().is_empty());
    }

    #[tokio::test]
    async fn whose_groups_are_not_told_is_not_let_in() {
        let refused = "error fetching groups from Azure overage claim, please re-login";
        for token in [scoped("gone User.Read"), scoped("openid"), "opaque".to_owned()] {
            let world = World::with(&token);
            assert_eq!(world.groups(TOO_MANY, 1000).await, Err(refused.into()), "{token}");
        }
        let world = World::with("");
        let stranger = TOO_MANY.replace("ann", "bob");
        let told = world.groups(&stranger, 1000).await.expect_err("nobody logged in");
        assert!(told.ends_with("no access token is known, please re-login"), "{told}");
    }
}
