//! Every kind of source in the running product.

use serde_json::{Value, json};
use testkit::archive;
use testkit::files::FileServer;
use testkit::git::Repo;
use testkit::registry::{Artifact, PASSWORD, Registry, USER};
use testkit::sshd::Sshd;
use testkit::tls::Tls;

use crate::world::{CONTROL_NAMESPACE, Test, World, config_map, shared};

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
const CHART_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  shown: {{ .Values.shown | quote }}\n  version: {{ .Capabilities.KubeVersion.Version | quote }}\n  deployments: {{ .Capabilities.APIVersions.Has \"apps/v1/Deployment\" | quote }}\n";

/// The application with other sources.
fn with_sources(it: &Test<'_>, repo: &Repo, sources: &Value) -> Value {
    let mut app = it.automated(repo);
    let spec = app["spec"].as_object_mut().expect("an Application");
    spec.remove("source");
    spec.insert("sources".to_owned(), sources.clone());
    app
}

#[tokio::test]
async fn a_chart_with_values_of_another_repository_sees_the_destination() {
    let it = shared().test("helm-sources").await;
    let (charts, values) = (Repo::new(), Repo::new());
    let first = charts.commit(&[("web/Chart.yaml", CHART), ("web/templates/map.yaml", CHART_MAP)]);
    let second = values.commit(&[("prod.yaml", "shown: from the other")]);
    let sources = json!([
        {"repoURL": charts.file_url(), "path": "web", "helm": {"valueFiles": ["$values/prod.yaml"]}},
        {"repoURL": values.file_url(), "ref": "values"},
    ]);
    it.create(&with_sources(&it, &charts, &sources)).await;
    let status = it.until_synced().await.status;
    assert_eq!(status.sync.revisions, [first, second]);
    assert_eq!(status.source_types[0], "Helm");
    let live = it.get("v1", "ConfigMap", "helm-sources").await.expect("it was applied");
    assert_eq!(live.text(&["data", "shown"]), Some("from the other"));
    assert_eq!(live.text(&["data", "deployments"]), Some("true"));
    let version = live.text(&["data", "version"]).expect("a version");
    assert!(version.starts_with("v1."), "{version}");
}

#[tokio::test]
async fn a_chart_of_git_brings_its_dependencies_from_a_chart_repository() {
    let it = shared().test("helm-dependencies").await;
    let (charts, repo) = (FileServer::start(), Repo::new());
    let library = "apiVersion: v2\nname: lib\nversion: 0.4.2\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-{{ .Chart.Name }}'}\ndata: {shown: '{{ .Values.shown }}'}\n";
    let files =
        [("Chart.yaml", library), ("values.yaml", "shown: own\n"), ("templates/m.yaml", map)];
    charts.put("/r/lib-0.4.2.tgz", archive::chart("lib", &files));
    charts.put(
        "/r/index.yaml",
        "apiVersion: v1\nentries:\n  lib:\n  - {version: 0.4.2, urls: [lib-0.4.2.tgz]}\n",
    );
    let parent = format!(
        "{CHART}dependencies:\n- {{name: lib, version: ~0.4, repository: \"{}/r\", condition: lib.enabled}}\n",
        charts.url()
    );
    repo.commit(&[
        ("web/Chart.yaml", parent.as_str()),
        ("web/values.yaml", "shown: parent\nlib: {shown: from the parent}\n"),
        ("web/templates/map.yaml", CHART_MAP),
    ]);
    it.create(&with_sources(&it, &repo, &json!([{"repoURL": repo.file_url(), "path": "web"}])))
        .await;
    it.until_synced().await;
    let live = it.get("v1", "ConfigMap", "helm-dependencies-lib").await.expect("it was applied");
    assert_eq!(live.text(&["data", "shown"]), Some("from the parent"));
    let live = it.get("v1", "ConfigMap", "helm-dependencies").await.expect("it was applied");
    assert_eq!(live.text(&["data", "shown"]), Some("parent"));
}

#[tokio::test]
async fn a_remote_base_is_built_with_the_applications_overrides() {
    let it = shared().test("remote-base").await;
    let (bases, repo) = (Repo::new(), Repo::new());
    bases.commit(&[
        ("web/kustomization.yaml", "resources: [map.yaml]\nnamePrefix: base-\n"),
        ("web/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {a: b}\n"),
    ]);
    // Where the repository ends and the folder in it begins, two slashes say.
    let base = format!("{}//web?ref=main", bases.file_url());
    repo.commit(&[("app/kustomization.yaml", &format!("resources: ['{base}']\nnameSuffix: -x\n"))]);
    let patch = "- op: add\n  path: /data/patched\n  value: here\n";
    let kustomize = json!({
        "namePrefix": "my-",
        "commonLabels": {"team": "$ARGOCD_APP_NAME"},
        "commonAnnotations": {"of": "override"},
        "patches": [{"target": {"kind": "ConfigMap"}, "patch": patch}],
    });
    let sources = json!([{"repoURL": repo.file_url(), "path": "app", "kustomize": kustomize}]);
    it.create(&with_sources(&it, &repo, &sources)).await;
    it.until_synced().await;
    let live = it.get("v1", "ConfigMap", "my-base-map-x").await.expect("it was applied");
    assert_eq!(live.text(&["data", "patched"]), Some("here"));
    assert_eq!(live.text(&["metadata", "labels", "team"]), Some("remote-base"));
    assert_eq!(live.text(&["metadata", "annotations", "of"]), Some("override"));
}

#[tokio::test]
async fn charts_in_a_kustomization_are_inflated_once_the_settings_allow_it() {
    let world = World::new();
    world.start_product();
    let it = world.test("kustomize-charts").await;
    let (charts, repo) = (FileServer::start(), Repo::new());
    let far = "apiVersion: v2\nname: far\nversion: 0.4.2\n";
    let files =
        [("Chart.yaml", far), ("values.yaml", "shown: own\n"), ("templates/m.yaml", CHART_MAP)];
    charts.put("/r/far-0.4.2.tgz", archive::chart("far", &files));
    charts.put(
        "/r/index.yaml",
        "apiVersion: v1\nentries:\n  far:\n  - {version: 0.4.2, urls: [far-0.4.2.tgz]}\n",
    );
    let kustomization = format!(
        "namePrefix: my-\nhelmCharts:\n\
         - {{name: web, releaseName: near, valuesInline: {{shown: inline}}}}\n\
         - {{name: far, repo: '{}/r', version: 0.4.2, releaseName: fetched}}\n",
        charts.url()
    );
    repo.commit(&[
        ("app/kustomization.yaml", kustomization.as_str()),
        ("app/charts/web/Chart.yaml", CHART),
        ("app/charts/web/values.yaml", "shown: own\n"),
        ("app/charts/web/templates/map.yaml", CHART_MAP),
    ]);
    it.create(&it.automated(&repo)).await;
    it.until("told what charts need", |app| {
        let conditions = &app.status.conditions;
        conditions.iter().any(|it| it.message.contains("must specify --enable-helm"))
    })
    .await;

    it.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "data": {"kustomize.buildOptions": "--enable-helm"},
        "metadata": {"name": "argocd-cm", "namespace": CONTROL_NAMESPACE},
    }))
    .await;
    it.until_synced().await;
    for (name, shown) in [("my-near", "inline"), ("my-fetched", "own")] {
        let live = it.get("v1", "ConfigMap", name).await.expect("it was applied");
        assert_eq!(live.text(&["data", "shown"]), Some(shown));
        // The chart saw what the destination can do.
        assert_eq!(live.text(&["data", "deployments"]), Some("true"));
    }
}

#[tokio::test]
async fn a_kustomization_and_jsonnet_are_rendered_with_the_applications_parameters() {
    let it = shared().test("tool-sources").await;
    let repo = Repo::new();
    let jsonnet = "function(name) {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'by-jsonnet'}, data: {shown: name}}";
    repo.commit(&[
        ("kustomize/kustomization.yaml", "resources: [map.yaml]\n"),
        (
            "kustomize/map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: by-kustomize}\ndata: {shown: x}\n",
        ),
        ("jsonnet/map.jsonnet", jsonnet),
    ]);
    let url = repo.file_url();
    let tlas = json!([{"name": "name", "value": "$ARGOCD_APP_NAME"}]);
    let sources = json!([
        {"repoURL": url, "path": "kustomize", "kustomize": {"namePrefix": "my-"}},
        {"repoURL": url, "path": "jsonnet", "directory": {"jsonnet": {"tlas": tlas}}},
    ]);
    it.create(&with_sources(&it, &repo, &sources)).await;
    let status = it.until_synced().await.status;
    assert_eq!(status.source_types, ["Kustomize", "Directory"]);
    assert!(it.get("v1", "ConfigMap", "my-by-kustomize").await.is_some());
    let live = it.get("v1", "ConfigMap", "by-jsonnet").await.expect("it was applied");
    assert_eq!(live.text(&["data", "shown"]), Some("tool-sources"));
}

#[tokio::test]
async fn a_chart_and_an_artifact_of_a_private_registry_are_deployed() {
    let Some(registry) = Registry::start_private() else { return };
    let it = shared().test("registry-sources").await;
    let chart = archive::chart("web", &[("Chart.yaml", CHART), ("templates/map.yaml", CHART_MAP)]);
    registry.push_chart("charts/web", "1.0.0", &chart);
    let plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: by-artifact}\n";
    let digest = registry.push(&Artifact {
        repository: "team/plain",
        tag: "1.2.0",
        config_type: "application/vnd.oci.empty.v1+json",
        layer_type: "application/vnd.oci.image.layer.v1.tar+gzip",
        layer: &archive::packed(&[("maps/map.yaml", plain)]),
    });
    let address = registry.address();
    let charts = format!("{address}/charts");
    let artifact = format!("oci://{address}/team/plain");
    for (name, url, kind) in [("charts", &charts, "helm"), ("artifact", &artifact, "oci")] {
        it.create(&json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": format!("registry-sources-{name}"), "namespace": CONTROL_NAMESPACE,
                "labels": {"argocd.argoproj.io/secret-type": "repository"},
            },
            "stringData": {
                "url": url, "type": kind, "enableOCI": (kind == "helm").to_string(),
                "insecureOCIForceHttp": "true", "username": USER, "password": PASSWORD,
            },
        }))
        .await;
    }
    let parameters = json!([{"name": "shown", "value": "from a registry"}]);
    let sources = json!([
        {"repoURL": charts, "chart": "web", "targetRevision": "1.*", "helm": {"parameters": parameters}},
        {"repoURL": artifact, "path": "maps", "targetRevision": "1.2.0"},
    ]);
    it.create(&with_sources(&it, &Repo::new(), &sources)).await;
    let status = it.until_synced().await.status;
    assert_eq!(status.sync.revisions, ["1.0.0".to_owned(), digest]);
    let live = it.get("v1", "ConfigMap", "registry-sources").await.expect("it was applied");
    assert_eq!(live.text(&["data", "shown"]), Some("from a registry"));
    assert!(it.get("v1", "ConfigMap", "by-artifact").await.is_some());
}

#[tokio::test]
async fn private_repositories_of_git_and_of_charts_are_deployed_once_their_secrets_are_there() {
    let Some(sshd) = Sshd::start() else { return };
    // Trust in authorities and host keys is the whole product's.
    let world = World::new();
    world.start_product();
    let it = world.test("private-sources").await;
    let (by_https, by_ssh, charts, tls) =
        (Repo::new(), Repo::new(), FileServer::start(), Tls::new());
    let first = by_https.commit(&[("app/map.yaml", &config_map("by-https", "a", "1"))]);
    let second = by_ssh.commit(&[("app/map.yaml", &config_map("by-ssh", "a", "1"))]);
    let https = by_https.serve_https(&tls);
    // user:s3cret
    let basic = "Basic dXNlcjpzM2NyZXQ=";
    https.require_authorization(basic);
    charts.require_authorization(basic);
    let chart = archive::chart("web", &[("Chart.yaml", CHART), ("templates/map.yaml", CHART_MAP)]);
    charts.put("/r/web-1.0.0.tgz", chart);
    charts.put(
        "/r/index.yaml",
        "apiVersion: v1\nentries:\n  web:\n  - {version: 1.0.0, urls: [web-1.0.0.tgz]}\n",
    );
    let (ssh_url, charts_url) = (sshd.url(by_ssh.path()), format!("{}/r", charts.url()));
    let parameters = json!([{"name": "shown", "value": "from a chart repository"}]);
    let sources = json!([
        {"repoURL": https.url(), "path": "app"},
        {"repoURL": ssh_url, "path": "app"},
        {"repoURL": charts_url, "chart": "web", "targetRevision": "1.*", "helm": {"parameters": parameters}},
    ]);
    it.create(&with_sources(&it, &by_https, &sources)).await;
    it.until("told that it may not read the repository", |app| {
        app.status.conditions.iter().any(|it| it.type_ == "ComparisonError")
    })
    .await;
    let trust = [
        ("argocd-tls-certs-cm", json!({"127.0.0.1": tls.authority()})),
        ("argocd-ssh-known-hosts-cm", json!({"ssh_known_hosts": sshd.known_host()})),
    ];
    for (name, data) in trust {
        it.create(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": name, "namespace": CONTROL_NAMESPACE},
        }))
        .await;
    }
    let user = json!({"username": "user", "password": "s3cret"});
    for (name, url, kind, secret) in [
        ("https", https.url(), "git", user.clone()),
        ("ssh", ssh_url, "git", json!({"sshPrivateKey": sshd.key("user")})),
        ("charts", charts_url, "helm", user),
    ] {
        let mut data = json!({"url": url, "type": kind});
        data.as_object_mut().expect("data").extend(secret.as_object().expect("data").clone());
        it.create(&json!({
            "apiVersion": "v1", "kind": "Secret", "stringData": data,
            "metadata": {
                "name": format!("private-sources-{name}"), "namespace": CONTROL_NAMESPACE,
                "labels": {"argocd.argoproj.io/secret-type": "repository"},
            },
        }))
        .await;
    }
    // A failure that waits for the user is looked at again when he asks.
    it.patch_app(&json!({"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}))
        .await;
    let status = it.until_synced().await.status;
    assert_eq!(status.sync.revisions, [first, second, "1.0.0".to_owned()]);
    for name in ["by-https", "by-ssh"] {
        assert!(it.get("v1", "ConfigMap", name).await.is_some(), "{name}");
    }
    let live = it.get("v1", "ConfigMap", "private-sources").await.expect("it was applied");
    assert_eq!(live.text(&["data", "shown"]), Some("from a chart repository"));
}

#[tokio::test]
async fn an_unsigned_commit_is_compared_and_told_but_not_deployed() {
    let it = shared().test("unsigned").await;
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", &config_map("map", "a", "1"))]);
    it.create(&json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
        "metadata": {"name": "signed", "namespace": CONTROL_NAMESPACE},
        "spec": {
            "sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}],
            "signatureKeys": [{"keyID": "D56C4FCA57A46444"}],
        },
    }))
    .await;
    let mut app = it.application(&repo);
    app["spec"]["project"] = json!("signed");
    it.create(&app).await;
    let told = |app: &api::Application| {
        app.status
            .conditions
            .iter()
            .any(|it| it.type_ == "ComparisonError" && it.message.contains(": unsigned (key_id=)"))
    };
    let seen = it.until("compared and told", |app| app.status.sync.status == "OutOfSync").await;
    assert!(told(&seen), "{:?}", seen.status.conditions);
    // Of a revision that is named, or it would be of what was just looked at.
    it.patch_app(&json!({"operation": {"sync": {"revision": "main"}}})).await;
    let ended = |app: &api::Application| {
        app.status.operation_state.as_ref().is_some_and(|it| it.phase == "Error")
    };
    let seen = it.until("through with the sync", ended).await;
    assert!(told(&seen), "{:?}", seen.status.conditions);
    assert_eq!(seen.status.sync.status, "OutOfSync");
    assert!(it.get("v1", "ConfigMap", "map").await.is_none());
}
