//! What the control plane's settings say counts while the product runs: other
//! clusters by their Secrets, rules that projects share.

use std::collections::BTreeSet;

use devcluster::DevCluster;
use serde_json::{Value, json};
use testkit::git::Repo;

use crate::world::{CONTROL_NAMESPACE, World, cluster_secret, config_map, deployment, shared};

#[tokio::test]
async fn a_cluster_is_there_as_soon_as_its_secret_is_and_as_long() {
    let (world, other) = (World::new(), DevCluster::start().expect("a second control plane"));
    world.start_product();
    let it = world.test("far").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let mut app = it.automated(&repo);
    app["spec"]["destination"] = json!({"name": "other", "namespace": "default"});
    it.create(&app).await;
    let says = |app: &api::Application, text: &str| {
        app.status.sync.status == "Unknown"
            && app.status.conditions.iter().any(|it| it.message.contains(text))
    };
    let unknown = "there are no clusters with this name: other";
    it.until("told that there is no such cluster", |app| says(app, unknown)).await;

    let mut secret = cluster_secret(&other, "other", &other.server_url());
    secret["metadata"]["labels"]["region"] = json!("north");
    it.create(&secret).await;
    it.until_synced().await;
    let told = world.metrics_about("argocd_cluster_labels{").await;
    let expected = format!(
        "argocd_cluster_labels{{server=\"{}\",name=\"other\",label_region=\"north\"}} 1",
        other.server_url()
    );
    assert_eq!(told, [expected]);
    let read = other.kubectl(&[
        "get",
        "configmap",
        "m",
        "--namespace=default",
        "-o=jsonpath={.data.color}",
    ]);
    assert_eq!(read.expect("kubectl").stdout, b"blue");
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None);

    // What drifts there is healed there.
    let edit = [
        "patch",
        "configmap",
        "m",
        "--namespace=default",
        "--patch",
        r#"{"data":{"color":"red"}}"#,
    ];
    assert!(other.kubectl(&edit).expect("kubectl").status.success());
    let blue = [
        "wait",
        "configmap/m",
        "--namespace=default",
        "--for=jsonpath={.data.color}=blue",
        "--timeout=60s",
    ];
    assert!(other.kubectl(&blue).expect("kubectl").status.success());

    world.kubectl(&["delete", "secret", "cluster-other", "--namespace", CONTROL_NAMESPACE]);
    it.until("Unknown without its cluster", |app| says(app, unknown)).await;
    let kept = other.kubectl(&["get", "configmap", "m", "--namespace=default"]).expect("kubectl");
    assert!(kept.status.success(), "what was deployed stays");
}

#[tokio::test]
async fn a_rule_of_a_global_project_holds_where_its_selector_says() {
    let world = World::new();
    world.start_product();
    let it = world.test("global").await;
    let project = |name: &str, spec: Value| {
        json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "spec": spec,
            "metadata": {"name": name, "namespace": CONTROL_NAMESPACE, "labels": {"tier": name}},
        })
    };
    let open = json!({"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]});
    it.create(&project("gold", open)).await;
    let forbids = json!({"namespaceResourceBlacklist": [{"group": "", "kind": "ConfigMap"}]});
    it.create(&project("rules", forbids)).await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let mut app = it.automated(&repo);
    app["spec"]["project"] = "gold".into();
    it.create(&app).await;
    it.until_synced().await;

    let globals = "- projectName: rules\n  labelSelector: {matchLabels: {tier: gold}}\n";
    it.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"globalProjects": globals},
        "metadata": {"name": "argocd-cm", "namespace": CONTROL_NAMESPACE},
    }))
    .await;
    it.until("no longer sure about what it may not deploy", |app| {
        app.status.resources.iter().any(|it| it.name == "m" && it.status == "Unknown")
    })
    .await;
}

#[tokio::test]
async fn a_kind_that_the_settings_exclude_is_told_and_left_alone() {
    let it = shared().test("excluded").await;
    let repo = Repo::new();
    // Without an argocd-cm, the exclusions that come with Argo CD hold.
    repo.commit(&[
        ("app/m.yaml", &config_map("m", "color", "blue")),
        ("app/e.yaml", "apiVersion: v1\nkind: Endpoints\nmetadata: {name: e}\n"),
    ]);
    it.create(&it.automated(&repo)).await;
    let app = it.until_synced().await;
    let told: Vec<(&str, &str)> =
        app.status.conditions.iter().map(|it| (it.type_.as_str(), it.message.as_str())).collect();
    let message = "Resource /Endpoints e is excluded in the settings";
    assert_eq!(told, [("ExcludedResourceWarning", message)]);
    assert_eq!(it.get("v1", "Endpoints", "e").await, None);
}

#[tokio::test]
async fn updates_that_the_settings_ignore_wake_nobody_and_healths_are_kept_where_they_say_so() {
    let world = World::new();
    let it = world.test("ignored").await;
    let settings = |name: &str, data: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": name, "namespace": CONTROL_NAMESPACE}})
    };
    let ignored = "jsonPointers: [/data/counter]";
    let rule = json!({"resource.customizations.ignoreResourceUpdates.ConfigMap": ignored});
    it.create(&settings("argocd-cm", rule)).await;
    let persist = json!({"controller.resource.health.persist": "true"});
    it.create(&settings("argocd-cmd-params-cm", persist)).await;
    world.start_product();
    let repo = Repo::new();
    repo.commit(&[
        ("app/m.yaml", &config_map("m", "counter", "1")),
        ("app/last.yaml", &config_map("last", "a", "1")),
    ]);
    it.create(&it.application(&repo)).await;
    it.sync(1, json!({})).await;
    it.until_synced().await;

    let is_drifted = |app: &api::Application, name: &str| {
        app.status.resources.iter().any(|it| it.name == name && it.status == "OutOfSync")
    };
    // By our own name: that a field gets another owner is a reason to look by itself.
    let patch = ["patch", "configmap", "m", "--namespace=ignored", "--type=merge"];
    let rest = ["--field-manager=argocd-controller", "--patch", r#"{"data": {"counter": "2"}}"#];
    let patched = world.cluster.kubectl(&[patch.as_slice(), &rest].concat()).expect("kubectl");
    assert!(patched.status.success(), "{patched:?}");
    // The watch tells changes of one kind in their order: whoever knows the second knows the first.
    let other = world.test("beside").await;
    let beside = Repo::new();
    beside.commit(&[
        ("app/m.yaml", &config_map("other", "a", "1")),
        // Its controller writes to it when it likes, which wakes its Application.
        ("app/d.yaml", &deployment("web", 0, "web:1")),
    ]);
    other.create(&other.automated(&beside)).await;
    let app = other.until_synced().await;
    let health = |name: &str| {
        let resource = app.status.resources.iter().find(|it| it.name == name);
        resource.expect("its line").health.as_ref().map(|it| it.status.clone())
    };
    assert_eq!((health("web").as_deref(), health("other")), (Some("Healthy"), None));
    assert_eq!(app.status.resource_health_source, "");
    let app = it.until("there", |_| true).await;
    assert!(!is_drifted(&app, "m"), "nobody looked");

    // The next look sees everything.
    it.patch("v1", "ConfigMap", "last", &json!({"data": {"a": "2"}})).await;
    it.until("drifted", |app| is_drifted(app, "last") && is_drifted(app, "m")).await;
}

#[tokio::test]
async fn a_cluster_is_labelled_with_its_version_where_its_secret_asks_for_it() {
    let world = World::audited();
    world.start_product();
    let it = world.test("labelled").await;
    let label = "argocd.argoproj.io/kubernetes-version";
    let server = world.cluster.server_url();
    let mut asking = cluster_secret(&world.cluster, "asking", &server);
    asking["metadata"]["labels"]["argocd.argoproj.io/auto-label-cluster-info"] = json!("true");
    asking["metadata"]["labels"][label] = json!("v1.0.0");
    // The same cluster by another name.
    let mut silent =
        cluster_secret(&world.cluster, "silent", &server.replace("127.0.0.1", "localhost"));
    silent["metadata"]["labels"][label] = json!("v1.0.0");
    it.create(&silent).await;
    it.create(&asking).await;

    let version: Value =
        serde_json::from_str(&world.kubectl(&["get", "--raw", "/version"])).expect("a version");
    let version = version["gitVersion"].as_str().expect("a version");
    let version = version.split(['-', '+']).next().expect("a version");
    let is_labelled = format!(
        "--for=jsonpath={{.metadata.labels.argocd\\.argoproj\\.io/kubernetes-version}}={version}"
    );
    let until_labelled = || {
        let secret = ["wait", "secret/cluster-asking", &is_labelled, "--timeout=60s"];
        world.kubectl(&[&["-n", CONTROL_NAMESPACE], &secret[..]].concat());
    };
    until_labelled();
    let wrong = format!("{label}=v1.0.0");
    let again = ["label", "--overwrite", "secret/cluster-asking", &wrong];
    world.kubectl(&[&["-n", CONTROL_NAMESPACE], &again[..]].concat());
    until_labelled();

    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "version", "1"))]);
    let mut app = it.automated(&repo);
    app["spec"]["destination"] = json!({"server": server, "namespace": it.name});
    it.create(&app).await;
    it.until_synced().await;
    let said = world.said();
    let connected = |name: &str| {
        let name = format!("name=\"{name}\"");
        let lines = said.lines().filter(|it| it.contains("connected to a cluster"));
        lines.filter(|it| it.contains(&name)).count()
    };
    assert_eq!(connected("asking"), 1, "a label is no reason to connect again: {said}");
    assert_eq!(connected("silent"), 1, "it could have been labelled");
    let writes_of = |secret: &str| {
        let requests = world.audit().into_iter().filter(|it| {
            it["verb"] == "patch"
                && it["objectRef"]["name"] == secret
                && it["userAgent"].as_str().is_some_and(|it| it.starts_with("argosy/"))
        });
        requests.map(|it| it["auditID"].to_string()).collect::<BTreeSet<String>>().len()
    };
    assert_eq!(writes_of("cluster-asking"), 2, "what is right is not written");
    assert_eq!(writes_of("cluster-silent"), 0, "it was not asked for");
}
