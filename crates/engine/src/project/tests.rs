//! Tests of the gate.

use super::*;

fn project(rules: &str) -> AppProject {
    let spec = serde_json::from_str(rules).unwrap();
    let metadata = api::ObjectMeta { name: "shop".into(), ..Default::default() };
    AppProject { metadata, spec, ..AppProject::default() }
}

fn gate(rules: &str) -> Gate {
    Gate::new(&project(rules), ProjectClusters::Known(Vec::new()))
}

fn cluster(server: &str, name: &str) -> Cluster {
    Cluster { server: server.to_owned(), name: name.to_owned() }
}

fn shown(answer: Result<(), Denied>) -> String {
    answer.map_or_else(|denied| denied.to_string(), |()| "yes".to_owned())
}

#[track_caller]
fn check_sources(entries: &str, permitted: &[&str], denied: &[&str]) {
    let gate = gate(&format!(r#"{{"sourceRepos":{entries}}}"#));
    for url in permitted {
        assert_eq!(shown(gate.permits_source(url)), "yes", "{url}");
    }
    for url in denied {
        assert!(gate.permits_source(url).is_err(), "{url}");
    }
}

#[test]
fn without_entries_nothing_is_permitted() {
    check_sources("[]", &[], &["https://h.example/a"]);
    let gate = gate("{}");
    let eu = cluster("https://eu.example", "eu");
    assert!(gate.permits_destination(&eu, "live").is_err());
}

#[test]
fn a_star_in_an_address_ends_at_a_slash_unless_it_stands_alone() {
    check_sources(r#"["*"]"#, &["https://h.example/a/b"], &[]);
    check_sources(
        r#"["https://h.example/*"]"#,
        &["https://h.example/a", "https://H.example/A.git"],
        &["https://h.example/a/b"],
    );
    check_sources(r#"["https://h.example/**"]"#, &["https://h.example/a/b"], &[]);
}

#[test]
fn what_is_forbidden_is_so_in_every_spelling() {
    check_sources(
        r#"["*", "!https://h.example/secret"]"#,
        &["https://h.example/a", "https://h.example:8443/secret"],
        &[
            "https://h.example/secret/",
            "https://h.example:443/secret.git",
            "https://me:pw@h.example/secret",
        ],
    );
    let registry = ["h.example/charts", "oci://h.example/charts", "oci://h.example:443/charts/"];
    check_sources(r#"["*", "!h.example/charts"]"#, &[], &registry);
    check_sources(r#"["*", "!oci://h.example/charts"]"#, &[], &registry);
}

#[test]
fn an_address_that_goes_up_again_is_permitted_only_where_all_are() {
    let roundabout = [
        "https://h.example/team/../secret",
        "https://h.example/team/%2E%2e/secret",
        "https://h.example/team/..\\secret",
    ];
    check_sources(r#"["https://h.example/team/**"]"#, &["https://h.example/team/a"], &roundabout);
    check_sources(r#"["*"]"#, &roundabout, &[]);
}

#[test]
fn all_are_permitted_by_a_star_alone_and_nothing_that_forbids() {
    let are_all = |entries: &[&str]| {
        let entries: Vec<String> = entries.iter().map(|&it| it.to_owned()).collect();
        SourceRepos::new(&entries).are_all()
    };
    assert!(are_all(&["https://h.example/a", "*"]));
    assert!(!are_all(&["*", "!https://h.example/a"]));
    assert!(!are_all(&["**"]) && !are_all(&[]));
}

#[test]
fn a_forbidden_source_outweighs_all_that_are_permitted() {
    check_sources(
        r#"["*", "!https://h.example/secret/*"]"#,
        &["https://h.example/a"],
        &["https://h.example/secret/a", "https://h.example/secret/a.git"],
    );
}

#[test]
fn a_pattern_that_cannot_be_read_permits_nothing() {
    check_sources(r#"["[", "https://h.example/a"]"#, &["https://h.example/a"], &["[", "b"]);
    check_sources(r#"["*", "!["]"#, &[], &["https://h.example/a"]);
}

#[test]
fn permitting_one_address_that_is_no_url_does_not_permit_another() {
    check_sources(
        r#"["ssh://git@h.example:team/*"]"#,
        &["ssh://git@h.example:team/a"],
        &["ssh://git@evil.example:team/a", "%%"],
    );
}

#[test]
fn a_denied_source_is_shown_without_credentials() {
    assert_eq!(
        shown(gate("{}").permits_source("https://me:pw@h.example/a")),
        "application repo https://h.example/a is not permitted in project 'shop'"
    );
}

#[track_caller]
fn check_destination(entries: &str, (server, name, namespace): (&str, &str, &str), expect: bool) {
    let gate = gate(&format!(r#"{{"destinations":{entries}}}"#));
    let answer = gate.permits_destination(&cluster(server, name), namespace);
    assert_eq!(answer.is_ok(), expect, "{answer:?}");
}

#[test]
fn a_destination_matches_by_url_or_by_name_and_by_namespace() {
    let entries = r#"[{"server":"https://eu.*","name":"eu-*","namespace":"live-*"}]"#;
    check_destination(entries, ("https://eu.example", "other", "live-1"), true);
    check_destination(entries, ("https://us.example", "eu-1", "live-1"), true);
    check_destination(entries, ("https://us.example", "us-1", "live-1"), false);
    check_destination(entries, ("https://eu.example", "eu-1", "test"), false);
}

#[test]
fn a_forbidden_namespace_outweighs_all_that_are_permitted() {
    let entries = r#"[{"server":"*","namespace":"*"},{"server":"*","namespace":"!kube-*"}]"#;
    check_destination(entries, ("https://eu.example", "", "live"), true);
    check_destination(entries, ("https://eu.example", "", "kube-system"), false);
}

#[test]
fn a_forbidden_cluster_name_is_forbidden_in_every_namespace() {
    let entries = r#"[{"server":"*","namespace":"*"},{"name":"!eu","namespace":"live"}]"#;
    check_destination(entries, ("https://eu.example", "eu", "test"), false);
    let entries = r#"[{"server":"*","namespace":"*"},{"server":"!https://eu","namespace":"live"}]"#;
    check_destination(entries, ("https://eu", "eu", "test"), true);
    check_destination(entries, ("https://eu", "eu", "live"), false);
}

#[test]
fn a_project_may_insist_on_its_own_clusters() {
    let project = project(
        r#"{"destinations":[{"server":"*","namespace":"*"}],"permitOnlyProjectScopedClusters":true}"#,
    );
    let eu = cluster("https://eu.example", "eu");
    let ask = |own| shown(Gate::new(&project, own).permits_destination(&eu, "live"));
    assert_eq!(ask(ProjectClusters::Known(vec![eu.clone()])), "yes");
    assert_eq!(
        ask(ProjectClusters::Known(Vec::new())),
        "application destination server 'https://eu.example' and namespace 'live' do not match any of the allowed destinations in project 'shop'"
    );
    assert_eq!(
        ask(ProjectClusters::Unknown("timed out".into())),
        "could not retrieve project clusters: timed out"
    );
}

#[track_caller]
fn check_object(rules: &str, kind: &str, name: &str, place: Place<'_>, expect: &str) {
    let (group, kind) = kind.split_once('/').unwrap_or(("", kind));
    let eu = cluster("https://eu.example", "eu");
    let answer = gate(rules).permits_object(&GroupKind::new(group, kind), name, place, &eu);
    assert_eq!(shown(answer), expect);
}

const LIVE: Place<'_> = Place::Namespace("live");
const TO_LIVE: &str = r#""destinations":[{"server":"*","namespace":"live"}]"#;

#[test]
fn namespaced_kinds_are_permitted_unless_listed_and_cluster_wide_ones_the_other_way_round() {
    let rules = format!("{{{TO_LIVE}}}");
    check_object(&rules, "apps/Deployment", "web", LIVE, "yes");
    let denied = "resource rbac.authorization.k8s.io:ClusterRole is not permitted in project shop";
    check_object(
        &rules,
        "rbac.authorization.k8s.io/ClusterRole",
        "admin",
        Place::ClusterWide,
        denied,
    );
}

#[test]
fn a_cluster_wide_kind_can_be_permitted_by_name() {
    let rules = r#"{"clusterResourceWhitelist":[{"group":"","kind":"Namespace","name":"team-*"}]}"#;
    check_object(rules, "Namespace", "team-a", Place::ClusterWide, "yes");
    let denied = "resource :Namespace is not permitted in project shop";
    check_object(rules, "Namespace", "kube-system", Place::ClusterWide, denied);
}

#[test]
fn a_denied_kind_outweighs_an_allowed_one() {
    let rules = format!(
        r#"{{{TO_LIVE},"namespaceResourceWhitelist":[{{"group":"*","kind":"*"}}],"namespaceResourceBlacklist":[{{"group":"apps","kind":"Dep*"}}]}}"#
    );
    check_object(&rules, "apps/StatefulSet", "db", LIVE, "yes");
    let denied = "resource apps:Deployment is not permitted in project shop";
    check_object(&rules, "apps/Deployment", "web", LIVE, denied);
}

#[test]
fn a_denial_that_cannot_be_read_denies() {
    let rules =
        format!(r#"{{{TO_LIVE},"namespaceResourceBlacklist":[{{"group":"","kind":"["}}]}}"#);
    let denied = "resource :Secret is not permitted in project shop";
    check_object(&rules, "Secret", "s", LIVE, denied);
}

#[test]
fn an_object_stays_in_the_namespaces_of_the_project() {
    let rules = format!("{{{TO_LIVE}}}");
    let denied = "namespace test is not permitted in project 'shop'";
    check_object(&rules, "Secret", "s", Place::Namespace("test"), denied);
}

#[test]
fn an_application_lives_beside_the_control_plane_or_where_the_project_says() {
    let gate = gate(r#"{"sourceNamespaces":["team-*","/^x[0-9]+$/"]}"#);
    let ask = |namespace| shown(gate.permits_application_namespace("web", namespace, "argocd"));
    for namespace in ["", "argocd", "team-a", "x12"] {
        assert_eq!(ask(namespace), "yes");
    }
    assert_eq!(
        ask("other"),
        "application 'web' in namespace 'other' is not permitted to use project 'shop'"
    );
}

#[test]
fn every_objection_to_an_application_is_listed() {
    let spec: ApplicationSpec = serde_json::from_str(
        r#"{"sources":[{"repoURL":"https://h.example/a"},{"repoURL":"https://h.example/b"}],
            "destination":{"name":"eu","namespace":"live"}}"#,
    )
    .unwrap();
    let gate = gate(r#"{"sourceRepos":["https://h.example/a"]}"#);
    let objections = gate.objections(&spec, &cluster("https://eu.example", "eu"));
    let objections: Vec<_> = objections.iter().map(ToString::to_string).collect();
    assert_eq!(
        objections,
        [
            "application repo https://h.example/b is not permitted in project 'shop'",
            "application destination server 'eu' and namespace 'live' do not match any of the allowed destinations in project 'shop'",
        ]
    );
}

#[test]
fn the_repository_that_is_deployed_from_must_be_permitted_too() {
    let spec: ApplicationSpec = serde_json::from_str(
        r#"{"sourceHydrator":{"drySource":{"repoURL":"https://h.example/a"},
            "syncSource":{"repoURL":"https://h.example/out"}},
            "destination":{"server":"https://eu.example","namespace":"live"}}"#,
    )
    .unwrap();
    let gate = gate(&format!(r#"{{"sourceRepos":["https://h.example/a"],{TO_LIVE}}}"#));
    let objections = gate.objections(&spec, &cluster("https://eu.example", ""));
    let objections: Vec<_> = objections.iter().map(ToString::to_string).collect();
    let expect = "sync source repo https://h.example/out is not permitted in project 'shop'";
    assert_eq!(objections, [expect]);
}

#[test]
fn an_empty_list_of_namespaced_kinds_permits_none_and_an_absent_one_all() {
    let permits = |spec: &str| {
        let text = format!(r#"{{"metadata": {{"name": "shop"}}, "spec": {spec}}}"#);
        let project: AppProject = serde_json::from_str(&text).expect("a project");
        let gate = Gate::new(&project, ProjectClusters::Known(Vec::new()));
        gate.permits_kind(&GroupKind::new("", "ConfigMap"), "a", Place::Namespace("web")).is_ok()
    };
    assert!(!permits(r#"{"namespaceResourceWhitelist": []}"#));
    assert!(permits(r#"{"namespaceResourceWhitelist": null}"#) && permits("{}"));
    assert!(permits(r#"{"namespaceResourceWhitelist": [{"kind": "ConfigMap"}]}"#));
    assert!(!permits(r#"{"namespaceResourceWhitelist": [{"kind": "Secret"}]}"#));
}
