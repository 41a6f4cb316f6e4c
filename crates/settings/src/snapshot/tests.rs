//! What becomes of the texts in ConfigMaps and Secrets.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;
use crate::SecretObject;
use crate::accounts::{ADMIN, Capability};
use crate::resources::{EVERY_KIND, IgnoreStatus};

fn sources(config: &[(&str, &str)], secrets: &[Value]) -> Sources {
    let mut sources = Sources::default();
    let data = config.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
    sources.config_maps.insert(names::CONFIG.into(), data.collect());
    for object in secrets {
        let secret = SecretObject::from_value(object);
        sources.secrets.insert(secret.name.clone(), secret);
    }
    sources
}

fn settings(config: &[(&str, &str)], secrets: &[Value]) -> Settings {
    Settings::read(&sources(config, secrets))
}

/// A Secret with these values, of this type.
fn secret(name: &str, kind: &str, data: &[(&str, &str)]) -> Value {
    let data: BTreeMap<&str, String> =
        data.iter().map(|(key, text)| (*key, STANDARD.encode(text))).collect();
    let labels = json!({names::LABEL_SECRET_TYPE: kind});
    json!({"metadata": {"name": name, "uid": "u", "labels": labels}, "data": data})
}

#[test]
fn without_any_object_everything_is_at_its_default() {
    let settings = Settings::read(&Sources::default());
    assert_eq!(settings.findings, []);
    assert_eq!(settings.session.lasts, DAY);
    assert_eq!(settings.timeouts.reconciliation.as_secs(), 120);
    assert_eq!(settings.tracking.label_key, "app.kubernetes.io/instance");
    assert_eq!(settings.policies.scopes, ["groups"]);
    assert!(settings.in_cluster_enabled && settings.policies.objects_are_separate);
    let admin = settings.account(ADMIN).expect("always there");
    assert!(admin.is_enabled && admin.can(Capability::Login) && !admin.can(Capability::ApiKey));
    let every = &settings.resources.overrides[EVERY_KIND];
    assert_eq!(every.ignore_differences.json_pointers, ["/status"]);
}

/// What cannot be read is told, and what stands instead is careful.
#[track_caller]
fn check_finding(key: &str, text: &str, expect: &str) {
    let findings = settings(&[(key, text)], &[]).findings;
    let told: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
    assert!(told.len() == 1 && told[0].contains(expect), "{told:?}");
    assert_eq!(findings[0].key, key);
}

#[test]
fn what_cannot_be_read_is_told() {
    check_finding("timeout.reconciliation", "soon", "no duration");
    check_finding("resource.exclusions", "[", "no YAML");
    check_finding("resource.inclusions", "a: b", "expected form");
    check_finding("application.resourceTrackingMethod", "magic", "taken as annotation");
    check_finding("passwordPattern", "(", "no regular expression");
    check_finding("accounts.ci", "fly", "no capability");
    check_finding("accounts.ci.enabled", "perhaps", "taken as false");
    check_finding("resource.customizations.helth.Pod", "x", "no customization");
    check_finding("url", "argocd.example.com", "neither http");
    check_finding("server.maxPodLogsToRender", "many", "no whole number");
}

#[test]
fn accounts_have_their_capabilities_passwords_and_tokens() {
    let config = [("accounts.ci", "apiKey, login"), ("accounts.ci.enabled", "false")];
    let data = [
        ("accounts.ci.password", "hash"),
        ("accounts.ci.passwordMtime", "2026-01-02T03:04:05Z"),
        ("accounts.ci.tokens", r#"[{"id":"t","iat":7,"exp":9}]"#),
    ];
    let settings = settings(&config, &[secret("argocd-secret", "", &data)]);
    let ci = settings.account("ci").expect("there");
    assert_eq!(ci.capabilities, [Capability::ApiKey, Capability::Login]);
    assert!(!ci.is_enabled);
    assert_eq!(ci.password_hash.text(), "hash");
    assert!(ci.password_changed_at.is_some());
    assert_eq!((ci.tokens[0].issued_at, ci.tokens[0].expires_at), (7, 9));
    assert_eq!(settings.findings, []);
}

#[test]
fn events_carry_the_labels_that_are_to_be_shown() {
    let of = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        pairs.collect::<std::collections::BTreeMap<_, _>>()
    };
    let keys = [
        ("resource.includeEventLabelKeys", "team,example.com/*"),
        ("resource.excludeEventLabelKeys", "example.com/secret"),
    ];
    let resources = settings(&keys, &[]).resources;
    let own = of(&[("team", "blue"), ("other", "x"), ("example.com/secret", "y")]);
    let project = of(&[("team", "red"), ("example.com/cost", "7")]);
    let shown = resources.labels_of_events(&own, &project);
    assert_eq!(shown, of(&[("team", "blue"), ("example.com/cost", "7")]));
}

#[test]
fn customizations_come_whole_and_in_pieces() {
    let whole =
        "apps/Deployment:\n  health.lua: a\n  ignoreDifferences: |\n    jsonPointers: [/spec/x]\n";
    let settings = settings(
        &[
            ("resource.customizations", whole),
            ("resource.customizations.health.cert-manager.io_Certificate", "b"),
            ("resource.customizations.ignoreDifferences.all", "jqPathExpressions: [.x]"),
            ("resource.customizations.useOpenLibs.Pod", "true"),
            (
                "resource.compareoptions",
                "ignoreResourceStatusField: off\nignoreAggregatedRoles: true",
            ),
        ],
        &[],
    );
    assert_eq!(settings.findings, []);
    let resources = settings.resources;
    let deployment = resources.of_kind("apps", "Deployment").expect("there");
    assert_eq!(deployment.health_lua, "a");
    assert_eq!(deployment.ignore_differences.json_pointers, ["/spec/x"]);
    assert_eq!(resources.of_kind("cert-manager.io", "Certificate").expect("there").health_lua, "b");
    assert!(resources.of_kind("", "Pod").expect("there").uses_open_libs);
    let every = &resources.overrides[EVERY_KIND].ignore_differences;
    assert_eq!((every.jq_path_expressions.len(), every.json_pointers.len()), (1, 0));
    assert_eq!(resources.compare.ignore_status, IgnoreStatus::None);
    assert!(resources.compare.ignore_aggregated_roles);
}

#[test]
fn exclusions_win_and_inclusions_close_the_rest() {
    let exclusions = "- apiGroups: ['*.cilium.io', cilium.io]\n  kinds: ['*']\n";
    let inclusions = "- apiGroups: [apps]\n  clusters: ['https://a*']\n";
    let settings =
        settings(&[("resource.exclusions", exclusions), ("resource.inclusions", inclusions)], &[]);
    let excludes = |group, kind, cluster| settings.resources.excludes(group, kind, cluster);
    assert!(excludes("cilium.io", "X", "https://b"));
    assert!(!excludes("apps", "Deployment", "https://a1"));
    assert!(excludes("", "Pod", "https://a1"));
    assert!(!excludes("", "Pod", "https://b"));
    assert_eq!(settings.resources.exclusions_of("https://b").include.len(), 0);
}

#[test]
fn a_cluster_comes_from_its_secret_without_showing_it() {
    let config =
        r#"{"bearerToken":"hunter2","tlsClientConfig":{"caData":"Y2E=","insecure":false}}"#;
    let data =
        [("server", "https://a/"), ("name", "a"), ("config", config), ("namespaces", "x, y")];
    let settings = settings(&[], &[secret("cluster-a", "cluster", &data)]);
    let [cluster] = &settings.clusters[..] else { panic!("one cluster") };
    assert_eq!((cluster.server.as_str(), cluster.namespaces.len()), ("https://a", 2));
    assert_eq!(cluster.config.bearer_token.text(), "hunter2");
    assert_eq!(cluster.config.tls_client_config.ca_data.text(), "ca");
    assert!(cluster.labels.is_empty());
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn a_broken_cluster_is_left_out_without_repeating_it() {
    let data = [("server", "https://a"), ("config", r#"{"bearerToken": hunter2}"#)];
    let settings = settings(&[], &[secret("cluster-a", "cluster", &data)]);
    assert!(settings.clusters.is_empty());
    assert!(!settings.findings[0].to_string().contains("hunter2"));
}

#[test]
fn repositories_and_credentials_are_told_apart() {
    let secrets = [
        secret(
            "r",
            "repository",
            &[("url", "https://x/a"), ("password", "p"), ("enableLfs", "true")],
        ),
        secret("c", "repo-creds", &[("url", "https://x"), ("azureServicePrincipalClientID", "id")]),
        secret("w", "repository-write", &[("url", "https://x/a")]),
        secret("bad", "repository", &[("url", "https://y"), ("insecure", "perhaps")]),
    ];
    let settings = settings(&[], &secrets);
    let repositories = settings.repositories;
    assert_eq!((repositories.read.len(), repositories.write.len()), (1, 1));
    assert!(repositories.read[0].enable_lfs && repositories.read[0].has_credentials());
    assert_eq!(repositories.read_credentials[0].azure_service_principal_client_id, "id");
    assert_eq!(settings.findings.len(), 1);
}

#[test]
fn a_managed_certificate_wins_over_our_own() {
    let pair = |crt| [("tls.crt", crt), ("tls.key", "k")];
    let own = secret("argocd-secret", "", &pair("own"));
    let managed = secret("argocd-server-tls", "", &pair("managed"));
    let chain = |secrets: &[Value]| settings(&[], secrets).certificate.map(|it| it.secret);
    assert_eq!(chain(std::slice::from_ref(&own)).as_deref(), Some("argocd-secret"));
    assert_eq!(chain(&[own, managed]).as_deref(), Some("argocd-server-tls"));
    assert_eq!(chain(&[]), None);
}

#[test]
fn oidc_refers_to_secrets() {
    let config = [("oidc.config", "issuer: https://id\nclientID: me\nclientSecret: $oidc.secret")];
    let settings = settings(&config, &[secret("argocd-secret", "", &[("oidc.secret", "s3")])]);
    let oidc = settings.sso.oidc.expect("configured");
    assert_eq!((oidc.issuer.as_str(), oidc.client_secret.text()), ("https://id", "s3"));
}

#[test]
fn only_microsoft_is_asked_for_the_groups_of_entra_id() {
    let asked = |azure: &str| {
        let config =
            format!("issuer: https://id\nazure: {{enableUserGroupOverageClaim: true{azure}}}");
        let settings = settings(&[("oidc.config", &config)], &[]);
        let azure = settings.sso.oidc.and_then(|it| it.azure).expect("configured");
        (azure.graph_api().map(str::to_owned), settings.findings.len())
    };
    let at = |address: &str| asked(&format!(", graphApiEndpoint: {address:?}"));
    assert_eq!(asked(""), (Some("https://graph.microsoft.com/v1.0".into()), 0));
    for good in ["https://graph.microsoft.us/v1.0", "https://microsoftgraph.chinacloudapi.cn"] {
        assert_eq!(at(good), (Some(good.into()), 0));
    }
    for bad in [
        "http://graph.microsoft.com/v1.0",
        "https://graph.microsoft.com.example.org/v1.0",
        "https://graph.microsoft.com@example.org/v1.0",
        "https://example.org/graph.microsoft.com",
    ] {
        assert_eq!(at(bad), (None, 1), "{bad}");
    }
}

#[test]
fn policies_are_read_with_their_mistakes() {
    let mut sources = Sources::default();
    let data = [
        ("policy.default", "role:readonly"),
        ("policy.csv", "p, ann, logs, get, */*, allow"),
        ("policy.more.csv", "nonsense"),
        ("scopes", "[groups, email]"),
    ];
    let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
    sources.config_maps.insert(names::RBAC.into(), data.collect());
    let settings = Settings::read(&sources);
    assert_eq!(settings.policies.scopes, ["groups", "email"]);
    assert_eq!(settings.policies.policy.options().default_role, "role:readonly");
    assert!(settings.findings[0].message.starts_with("line 2: "), "{:?}", settings.findings);
}

#[test]
fn global_projects_and_links_are_lists() {
    let settings = settings(
        &[
            ("globalProjects", "- projectName: base\n  labelSelector:\n    matchLabels: {a: b}\n"),
            ("application.links", "- url: https://x\n  title: X\n  icon.class: star\n  if: z\n"),
            ("kustomize.path.v5", "/bin/k5"),
            ("kustomize.buildOptions.v5", "--enable-helm"),
        ],
        &[],
    );
    assert_eq!(settings.global_projects[0].label_selector.match_labels["a"], "b");
    assert_eq!(settings.ui.application_links[0].condition.as_deref(), Some("z"));
    let version = &settings.rendering.kustomize_versions["v5"];
    assert_eq!(version.build_options.as_deref(), Some("--enable-helm"));
    assert_eq!(settings.findings, []);
}

#[test]
fn a_list_that_go_wrote_as_null_is_empty() {
    let text = "jqPathExpressions: null\njsonPointers: [/spec/x]\nmanagedFieldsManagers: null\n";
    let settings =
        settings(&[("resource.customizations.ignoreDifferences.apps_Deployment", text)], &[]);
    assert_eq!(settings.findings, []);
    let deployment = &settings.resources.overrides["apps/Deployment"];
    assert_eq!(deployment.ignore_differences.json_pointers, ["/spec/x"]);
}
