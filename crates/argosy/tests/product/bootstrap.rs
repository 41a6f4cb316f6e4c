//! A whole cluster from one Application: it owns Applications in seven waves,
//! each of which begins when the one before is healthy, by scripts of the user.
//! One of them is the installation itself.

use object::Object;
use serde_json::{Value, json};
use testkit::git::Repo;
use testkit::truth::lies_now;

use crate::world::{CONTROL_NAMESPACE, Test, World, api_kind, config_map, deployment, shared};

/// The health of a child is its own word; before it has one, it is on its way.
const CHILD_HEALTH: &str = "\
local health = {status = 'Progressing', message = ''}
if obj.status ~= nil and obj.status.health ~= nil then
  health.status = obj.status.health.status
  health.message = obj.status.health.message or ''
end
return health
";

const POLICY_HEALTH: &str = "\
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == 'Ready' and condition.status == 'True' then
    return {status = 'Healthy', message = condition.message}
  end
end
return {status = 'Progressing', message = 'not ready yet'}
";

const SOURCE_HEALTH: &str = "\
if obj.status ~= nil and obj.status.lastSyncTime ~= nil then
  return {status = 'Healthy', message = 'copied'}
end
return {status = 'Progressing', message = 'never copied yet'}
";

const DESTINATION_HEALTH: &str = "\
if obj.status ~= nil and obj.status.latestImage ~= nil then
  return {status = 'Healthy', message = 'can be restored'}
end
return {status = 'Progressing', message = 'nothing to restore'}
";

/// What the installation is told, before it manages itself and after.
fn settings(polls: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": CONTROL_NAMESPACE},
        "data": {
            "resource.customizations.health.argoproj.io_Application": CHILD_HEALTH,
            "resource.customizations.health.kyverno.io_ClusterPolicy": POLICY_HEALTH,
            "resource.customizations.health.volsync.backube_ReplicationSource": SOURCE_HEALTH,
            "resource.customizations.health.volsync.backube_ReplicationDestination": DESTINATION_HEALTH,
            "resource.server-side-diff": "true",
            "timeout.hard.reconciliation": polls,
        },
    })
}

fn definition(group: &str, kind: &str, plural: &str, scope: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.{group}}}
spec:
  group: {group}
  names: {{kind: {kind}, plural: {plural}}}
  scope: {scope}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"
    )
}

/// The children of the root, with their waves.
const CHILDREN: [(&str, u8); 8] = [
    ("network", 0),
    ("installation", 0),
    ("storage", 1),
    ("backup", 2),
    ("policies", 3),
    ("core", 4),
    ("monitoring", 5),
    ("shop", 6),
];

fn child(repo: &Repo, name: &str, wave: u8) -> String {
    let namespace = if name == "installation" { CONTROL_NAMESPACE } else { "bootstrap" };
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": name, "namespace": CONTROL_NAMESPACE,
            "annotations": {"argocd.argoproj.io/sync-wave": wave.to_string()}},
        "spec": {
            "project": "default",
            "source": {"repoURL": repo.file_url(), "targetRevision": "main", "path": name},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": namespace},
            "syncPolicy": {
                "automated": {"prune": true, "selfHeal": true},
                "syncOptions": ["ServerSideApply=true", "ApplyOutOfSyncOnly=true"],
            },
        },
    })
    .to_string()
}

fn files(repo: &Repo) -> Vec<(String, String)> {
    let custom = |api_version: &str, kind: &str, name: &str| {
        format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{}}\n")
    };
    let mut files: Vec<(String, String)> = CHILDREN
        .iter()
        .map(|(name, wave)| (format!("root/{name}.yaml"), child(repo, name, *wave)))
        .collect();
    let mut add = |path: &str, text: String| files.push((path.to_owned(), text));
    add(
        "network/policies.yaml",
        definition("kyverno.io", "ClusterPolicy", "clusterpolicies", "Cluster"),
    );
    let namespaced = |kind, plural| definition("volsync.backube", kind, plural, "Namespaced");
    add("network/sources.yaml", namespaced("ReplicationSource", "replicationsources"));
    add(
        "network/destinations.yaml",
        namespaced("ReplicationDestination", "replicationdestinations"),
    );
    add("network/cni.yaml", deployment("cni", 0, "cni:1"));
    add("installation/settings.yaml", settings("1h").to_string());
    for (name, text) in api::crds::yaml() {
        add(&format!("installation/{name}"), text.to_owned());
    }
    // An image with an exclamation mark never starts on the dev cluster's node.
    add("storage/driver.yaml", deployment("driver", 0, "driver:!"));
    add("backup/source.yaml", custom("volsync.backube/v1", "ReplicationSource", "photos"));
    add(
        "backup/destination.yaml",
        custom("volsync.backube/v1", "ReplicationDestination", "photos"),
    );
    add("policies/policy.yaml", custom("kyverno.io/v1", "ClusterPolicy", "labelled"));
    add("core/certificates.yaml", deployment("certificates", 0, "certificates:1"));
    add("monitoring/settings.yaml", config_map("monitoring", "scrape", "all"));
    add("shop/web.yaml", deployment("web", 0, "web:1"));
    files
}

/// Which children there are by now.
async fn children(it: &Test<'_>) -> Vec<String> {
    let kind = api_kind("argoproj.io/v1alpha1", "Application");
    let mut there = Vec::new();
    for (name, _) in CHILDREN {
        if it.client.get(&kind, CONTROL_NAMESPACE, name).await.expect("an answer").is_some() {
            there.push(name.to_owned());
        }
    }
    there
}

async fn until_waiting_for(it: &Test<'_>, child: &str, there: &[&str]) {
    let message = format!("waiting for healthy state of argoproj.io/Application/{child}");
    it.until(&message, |app| {
        app.status.operation_state.as_ref().is_some_and(|it| it.message == message)
    })
    .await;
    assert_eq!(children(it).await, there, "later waves have not begun");
}

#[tokio::test]
async fn a_cluster_is_built_from_one_application_in_seven_waves() {
    let world = World::new();
    let it = world.test("bootstrap").await;
    it.create(&settings("0")).await;
    world.start_product();
    let repo = Repo::new();
    let written = files(&repo);
    let borrowed: Vec<(&str, &str)> =
        written.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    repo.commit(&borrowed);
    let mut root = it.automated(&repo);
    root["spec"]["source"]["path"] = "root".into();
    root["spec"]["destination"]["namespace"] = CONTROL_NAMESPACE.into();
    root["spec"]["syncPolicy"]["syncOptions"] = json!(["ServerSideApply=true"]);
    it.create(&root).await;

    until_waiting_for(&it, "storage", &["network", "installation", "storage"]).await;
    let own = it.client.get(&api_kind("v1", "ConfigMap"), CONTROL_NAMESPACE, "argocd-cm").await;
    let own = own.expect("an answer").expect("settings");
    assert_eq!(own.text(&["data", "timeout.hard.reconciliation"]), Some("1h"), "it manages itself");

    repo.commit(&[("storage/driver.yaml", &deployment("driver", 0, "driver:1"))]);
    until_waiting_for(&it, "backup", &["network", "installation", "storage", "backup"]).await;
    let is_there = |object: Option<&Object>| object.is_some();
    let backups = "volsync.backube/v1";
    it.until_object(backups, "ReplicationSource", "photos", is_there).await;
    let copied = json!({"status": {"lastSyncTime": "2026-01-01T00:00:00Z"}});
    it.patch(backups, "ReplicationSource", "photos", &copied).await;
    it.until_object(backups, "ReplicationDestination", "photos", is_there).await;
    let restorable = json!({"status": {"latestImage": {"kind": "VolumeSnapshot", "name": "s"}}});
    it.patch(backups, "ReplicationDestination", "photos", &restorable).await;

    let until_policies = ["network", "installation", "storage", "backup", "policies"];
    until_waiting_for(&it, "policies", &until_policies).await;
    let ready = r#"{"status":{"conditions":[{"type":"Ready","status":"True","message":"ready"}]}}"#;
    world.kubectl(&["wait", "--for=create", "clusterpolicy/labelled", "--timeout=60s"]);
    world.kubectl(&["patch", "clusterpolicy", "labelled", "--type=merge", "--patch", ready]);

    let app = it.until_synced().await;
    assert_eq!(app.status.history.len(), 1, "one sync built it all");
    assert_eq!(children(&it).await, CHILDREN.map(|(name, _)| name));
    assert!(it.get("apps/v1", "Deployment", "web").await.is_some());
    assert_eq!(lies_now(world.cluster.kubectl_path()), []);
}

/// The ConfigMap that was never applied behind a Synced, because what git says of
/// it looked the same to whoever compared.
async fn check_changed_map(name: &'static str, compare_options: &str) {
    let it = shared().test(name).await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "presets.ini", "old"))]);
    let mut app = it.automated(&repo);
    app["metadata"]["annotations"] = json!({"argocd.argoproj.io/compare-options": compare_options});
    app["spec"]["syncPolicy"] = json!({
        "automated": {},
        "syncOptions": ["ServerSideApply=true", "ApplyOutOfSyncOnly=true"],
    });
    it.create(&app).await;
    it.until_synced().await;
    // Somebody else owns the field as well by now.
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
        "data": {"presets.ini": "old"}});
    it.apply_as("somebody", &theirs);

    for content in ["new", "newer", "old"] {
        let commit = repo.commit(&[("app/m.yaml", &config_map("m", "presets.ini", content))]);
        it.until("Synced to the commit", |app| {
            app.status.sync.status == "Synced" && app.status.sync.revision == commit
        })
        .await;
        let live = it.get("v1", "ConfigMap", "m").await.expect("a ConfigMap");
        assert_eq!(live.text(&["data", "presets.ini"]), Some(content));
    }
}

#[tokio::test]
async fn a_changed_map_is_never_left_unapplied_behind_a_synced() {
    check_changed_map("changed-map", "ServerSideDiff=false").await;
}

#[tokio::test]
async fn a_changed_map_is_applied_with_server_side_diff_as_well() {
    check_changed_map("changed-map-asked", "ServerSideDiff=true").await;
}

/// What operators change is ignored for one application, for a kind, and for all kinds by who changed it.
#[tokio::test]
async fn differences_are_ignored_at_every_scope() {
    let world = World::new();
    let it = world.test("scopes").await;
    it.create(&json!({"apiVersion": "v1", "kind": "ConfigMap",
    "metadata": {"name": "argocd-cm", "namespace": CONTROL_NAMESPACE}, "data": {
        "resource.customizations.ignoreDifferences.apps_Deployment":
            "jqPathExpressions: ['.spec.template.metadata.annotations']",
        "resource.customizations.ignoreDifferences.all": "managedFieldsManagers: [scaler]",
    }}))
    .await;
    world.start_product();
    let repo = Repo::new();
    let both = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {theirs: \"1\", ours: \"1\"}\n";
    repo.commit(&[("app/m.yaml", both), ("app/web.yaml", &deployment("web", 0, "web:1"))]);
    let mut app = it.application(&repo);
    app["spec"]["syncPolicy"] = json!({"syncOptions": ["RespectIgnoreDifferences=true"]});
    app["spec"]["ignoreDifferences"] =
        json!([{"kind": "ConfigMap", "jsonPointers": ["/data/theirs"]}]);
    app["operation"] = json!({"sync": {}});
    it.create(&app).await;
    it.until_synced().await;

    let restarted =
        json!({"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}});
    it.patch("apps/v1", "Deployment", "web", &restarted).await;
    it.apply_as(
        "scaler",
        &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 3}}),
    );
    it.patch("v1", "ConfigMap", "m", &json!({"data": {"theirs": "2"}})).await;
    // Seen after the others, so that those have been judged.
    it.patch("v1", "ConfigMap", "m", &json!({"data": {"ours": "2"}})).await;
    let app = it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    let judged: Vec<(&str, &str)> =
        app.status.resources.iter().map(|it| (it.name.as_str(), it.status.as_str())).collect();
    assert_eq!(judged, [("m", "OutOfSync"), ("web", "Synced")]);

    it.sync(2, json!({"syncOptions": ["RespectIgnoreDifferences=true"]})).await;
    it.until_synced().await;
    let map = it.get("v1", "ConfigMap", "m").await.expect("a ConfigMap");
    let said = |key: &str| map.text(&["data", key]).map(str::to_owned);
    assert_eq!((said("theirs").as_deref(), said("ours").as_deref()), (Some("2"), Some("1")));
    let web = it.get("apps/v1", "Deployment", "web").await.expect("a Deployment");
    assert_eq!(web.integer(&["spec", "replicas"]), Some(3));
    let annotation = ["spec", "template", "metadata", "annotations", "restarted"];
    assert_eq!(web.text(&annotation), Some("now"));
}

/// A default of the schema inside a list is a difference, unless the API server is asked.
#[tokio::test]
async fn the_api_server_is_asked_by_annotation_by_parameter_and_by_setting() {
    let world = World::new();
    world.apply(PIERS);
    world.kubectl(&[
        "wait",
        "--for=condition=Established",
        "crd/piers.harbour.example",
        "--timeout=60s",
    ]);
    world.start_product();
    let it = world.test("asked").await;
    let repo = Repo::new();
    repo.commit(&[(
        "app/pier.yaml",
        "apiVersion: harbour.example/v1\nkind: Pier\nmetadata: {name: one}\nspec: {berths: [{depth: 4}]}\n",
    )]);
    it.create(&it.application(&repo)).await;
    it.sync(1, json!({"syncOptions": ["ServerSideApply=true"]})).await;
    let becomes =
        |status: &'static str| it.until(status, move |app| app.status.sync.status == status);
    becomes("OutOfSync").await;

    let annotation = "argocd.argoproj.io/compare-options";
    it.patch_app(&json!({"metadata": {"annotations": {annotation: "ServerSideDiff=true"}}})).await;
    becomes("Synced").await;
    it.patch_app(&json!({"metadata": {"annotations": {annotation: null}}})).await;
    becomes("OutOfSync").await;
    for (map, key) in [
        ("argocd-cmd-params-cm", "controller.diff.server.side"),
        ("argocd-cm", "resource.server-side-diff"),
    ] {
        it.create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {key: "true"},
            "metadata": {"name": map, "namespace": CONTROL_NAMESPACE}}))
            .await;
        becomes("Synced").await;
        world.kubectl(&["delete", "configmap", map, "--namespace", CONTROL_NAMESPACE]);
        becomes("OutOfSync").await;
    }
}

const PIERS: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: piers.harbour.example}
spec:
  group: harbour.example
  names: {kind: Pier, plural: piers}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              berths:
                type: array
                items:
                  type: object
                  properties:
                    depth: {type: integer}
                    side: {type: string, default: port}
";
