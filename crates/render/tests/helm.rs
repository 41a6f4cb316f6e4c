//! Helm sources: what an Application may say about a chart, and what comes out.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::ApplicationSource;
use render::tree::{MemoryTree, Tree};
use render::{Capabilities, NothingOutside, Record, RenderContext, Still, World, render};

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
/// Shows one value.
const SHOWS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\ndata:\n  shown: {{ .Values.shown | toJson | quote }}\n";

fn chart() -> MemoryTree {
    MemoryTree::new()
        .file("apps/web/Chart.yaml", CHART)
        .file("apps/web/values.yaml", "shown: chart\n")
        .file("apps/web/templates/map.yaml", SHOWS)
        .file("apps/web/values-a.yaml", "shown: a\n")
        .file("apps/web/envs/b.yaml", "shown: b\n")
        .file("apps/web/envs/c.yaml", "shown: c\n")
        .file("apps/web/envs/deep/d.yaml", "shown: d\n")
        .file("apps/web/notes.txt", "from a file")
        .file("common/guestbook.yaml", "shown: common\n")
}

fn render_with(
    tree: &dyn Tree,
    helm: &str,
    refs: BTreeMap<String, &dyn Tree>,
    context: &RenderContext,
) -> (String, Record) {
    let text = format!(r#"{{"repoURL":"https://example.com/r","path":"apps/web","helm":{helm}}}"#);
    let source: ApplicationSource = serde_json::from_str(&text).expect("a source");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let world = World { commit, facts: &Still, outside: &NothingOutside, refs };
    let (result, record) = render(tree, &source, context, &world);
    let shown = match result {
        Ok(manifests) => {
            let shown = manifests.objects.iter().map(|it| {
                let key = it.key().to_string();
                format!("{key} {}", it.text(&["data", "shown"]).unwrap_or("-"))
            });
            shown.collect::<Vec<_>>().join(", ")
        }
        Err(error) => error.to_string(),
    };
    (shown, record)
}

fn context() -> RenderContext {
    RenderContext { project: "shop".to_owned(), ..RenderContext::new("argocd_guestbook", "prod") }
}

#[track_caller]
fn check_tree(tree: &MemoryTree, helm: &str, expect: &str) {
    let (shown, _) = render_with(tree, helm, BTreeMap::new(), &context());
    assert_eq!(shown, expect);
}

/// What the chart's one value is in the end.
#[track_caller]
fn check(helm: &str, expect: &str) {
    check_tree(&chart(), helm, &format!("ConfigMap prod/guestbook {expect}"));
}

#[track_caller]
fn check_error(helm: &str, expect: &str) {
    check_tree(&chart(), helm, expect);
}

#[test]
fn later_values_win_files_then_inline_then_parameters() {
    check("{}", r#""chart""#);
    check(r#"{"valueFiles":["values-a.yaml"]}"#, r#""a""#);
    check(r#"{"valueFiles":["values-a.yaml","envs/b.yaml"]}"#, r#""b""#);
    check(r#"{"valueFiles":["values-a.yaml"],"values":"shown: inline"}"#, r#""inline""#);
    check(r#"{"values":"shown: inline","valuesObject":{"shown":{"x":1}}}"#, r#"{"x":1}"#);
    check(r#"{"values":"shown: inline","parameters":[{"name":"shown","value":"7"}]}"#, "7");
}

#[test]
fn parameters_are_taken_as_helm_set_takes_them() {
    let parameter = |value: &str| {
        format!(r#"{{"parameters":[{{"name":"shown","value":{}}}]}}"#, serde_json::json!(value))
    };
    check(&parameter("true"), "true");
    check(&parameter("a,b"), r#""a,b""#);
    check(&parameter(r"a\,b"), r#""a,b""#);
    check(&parameter("{a,b}"), r#"["a","b"]"#);
    check(&parameter("$ARGOCD_APP_PROJECT_NAME"), r#""shop""#);
    check(r#"{"parameters":[{"name":"shown","value":"1","forceString":true}]}"#, r#""1""#);
    check(r#"{"parameters":[{"name":"shown","value":"1"},{"name":"shown","value":"2"}]}"#, "2");
    check(r#"{"fileParameters":[{"name":"shown","path":"notes.txt"}]}"#, r#""from a file""#);
}

#[test]
fn release_and_namespace_are_the_applications_unless_the_source_says_otherwise() {
    check_tree(
        &chart(),
        r#"{"releaseName":"other","namespace":"elsewhere"}"#,
        r#"ConfigMap elsewhere/other "chart""#,
    );
}

#[test]
fn a_release_name_is_a_template_and_the_version_of_helm_is_one_of_those_that_count() {
    check_tree(
        &chart(),
        r#"{"releaseName":"{{ lower \"WEB\" }}-{{ add 1 2 }}","version":"v3"}"#,
        r#"ConfigMap prod/web-3 "chart""#,
    );
    check_error(
        r#"{"version":"v2"}"#,
        "failed to execute helm template command: apps/web: helm version 'v2' is not supported",
    );
}

#[test]
fn value_files_are_found_from_the_chart_or_from_the_top() {
    check(r#"{"valueFiles":["/common/guestbook.yaml"]}"#, r#""common""#);
    check(r#"{"valueFiles":["../../common/guestbook.yaml"]}"#, r#""common""#);
    check(
        r#"{"valueFiles":["/common/${ARGOCD_APP_SOURCE_PATH}.yaml"],"ignoreMissingValueFiles":true}"#,
        r#""chart""#,
    );
}

#[test]
fn patterns_stand_for_files_in_order_and_a_named_file_keeps_its_place() {
    check(r#"{"valueFiles":["envs/*.yaml"]}"#, r#""c""#);
    check(r#"{"valueFiles":["envs/**/*.yaml"]}"#, r#""d""#);
    check(r#"{"valueFiles":["envs/[a-b].yaml"]}"#, r#""b""#);
    check(r#"{"valueFiles":["envs/b.yaml","envs/*.yaml"]}"#, r#""c""#);
    check(r#"{"valueFiles":["envs/*.yaml","envs/b.yaml"]}"#, r#""b""#);
    check(r#"{"valueFiles":["no/*.yaml"],"ignoreMissingValueFiles":true}"#, r#""chart""#);
}

#[test]
fn a_missing_value_file_is_told_in_the_words_users_search_for() {
    check_error(
        r#"{"valueFiles":["nope.yaml"]}"#,
        "error resolving helm value files: Error: open apps/web/nope.yaml: no such file or directory",
    );
    check(r#"{"valueFiles":["nope.yaml"],"ignoreMissingValueFiles":true}"#, r#""chart""#);
    check_error(
        r#"{"valueFiles":["no/*.yaml"]}"#,
        "error resolving helm value files: values file glob \"no/*.yaml\" matched no files",
    );
}

#[test]
fn value_files_never_lead_out_of_the_repository() {
    check_error(
        r#"{"valueFiles":["../../../etc/passwd"]}"#,
        "error resolving helm value files: file '../../../etc/passwd' resolved to outside repository root",
    );
    check_error(
        r#"{"valueFiles":["file:///etc/passwd"]}"#,
        "error resolving helm value files: the URL scheme 'file' is not allowed",
    );
    let tree = chart().link("apps/web/evil.yaml", "/etc/passwd");
    let (shown, _) =
        render_with(&tree, r#"{"valueFiles":["evil.yaml"]}"#, BTreeMap::new(), &context());
    assert!(shown.starts_with("repository contains out-of-bounds symlinks"), "{shown}");
}

#[test]
fn files_of_another_source_are_referred_to_by_its_name() {
    let values = MemoryTree::new().file("prod/guestbook.yaml", "shown: referred\n");
    let refs = || BTreeMap::from([("values".to_owned(), &values as &dyn Tree)]);
    for helm in [
        r#"{"valueFiles":["$values/prod/guestbook.yaml"]}"#,
        r#"{"valueFiles":["$values/prod/*.yaml"]}"#,
        r#"{"fileParameters":[{"name":"x","path":"$values/prod/guestbook.yaml"}],"values":"shown: referred"}"#,
    ] {
        let (shown, record) = render_with(&chart(), helm, refs(), &context());
        assert_eq!(shown, r#"ConfigMap prod/guestbook "referred""#);
        let reads = &record.refs["values"];
        assert!(reads.hold_in(&values).unwrap());
        let changed = MemoryTree::new().file("prod/guestbook.yaml", "shown: changed\n");
        assert!(!reads.hold_in(&changed).unwrap(), "the file was read");
    }
    let (shown, _) =
        render_with(&chart(), r#"{"valueFiles":["$values/../x.yaml"]}"#, refs(), &context());
    assert_eq!(
        shown,
        "error resolving helm value files: file '/../x.yaml' resolved to outside repository root"
    );
}

#[test]
fn charts_see_the_destination_or_what_the_source_says_of_it() {
    let tree = chart().file(
        "apps/web/templates/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  shown: '{{ .Capabilities.KubeVersion }} {{ .Capabilities.APIVersions.Has \"my/v1/Kind\" }}'\n",
    );
    let capabilities = Arc::new(Capabilities {
        kube_version: "v1.33.2-gke.100".to_owned(),
        api_versions: vec!["my/v1/Kind".to_owned()],
    });
    let context = RenderContext { capabilities, ..context() };
    let (shown, record) = render_with(&tree, "{}", BTreeMap::new(), &context);
    assert_eq!(shown, "ConfigMap a v1.33.2 true");
    assert!(record.capabilities);
    let (shown, _) = render_with(
        &tree,
        r#"{"kubeVersion":"999.999.999","apiVersions":["x/v1"]}"#,
        BTreeMap::new(),
        &context,
    );
    assert_eq!(shown, "ConfigMap a v999.999.999 false");
    let (shown, _) = render_with(&tree, r#"{"kubeVersion":"latest"}"#, BTreeMap::new(), &context);
    assert!(shown.starts_with("could not parse kubernetes version latest: "), "{shown}");
}

#[test]
fn crds_tests_and_schemas_are_left_out_on_request() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n";
    let test =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n";
    let tree = chart()
        .file("apps/web/crds/x.yaml", crd)
        .file("apps/web/templates/tests/t.yaml", test)
        .file("apps/web/values.schema.json", r#"{"properties":{"shown":{"type":"string"}}}"#);
    check_tree(
        &tree,
        "{}",
        "apiextensions.k8s.io/CustomResourceDefinition x -, ConfigMap prod/guestbook \"chart\", Pod t -",
    );
    check_tree(
        &tree,
        r#"{"skipCrds":true,"skipTests":true}"#,
        "ConfigMap prod/guestbook \"chart\"",
    );
    let wrong = r#"{"skipCrds":true,"skipTests":true,"values":"shown: 1"}"#;
    let (shown, _) = render_with(&tree, wrong, BTreeMap::new(), &context());
    assert!(shown.contains("values don't meet the specifications of the schema"), "{shown}");
    check_tree(
        &tree,
        r#"{"skipCrds":true,"skipTests":true,"skipSchemaValidation":true,"values":"shown: 1"}"#,
        "ConfigMap prod/guestbook 1",
    );
}

#[test]
fn dependencies_come_from_charts_or_from_the_repository() {
    let parent = format!(
        "{CHART}dependencies:\n- {{name: lib, version: 1.x.x, repository: \"file://../lib\"}}\n"
    );
    let sub = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\ndata: {shown: '{{ .Values.of }}'}\n";
    let lib = "apiVersion: v2\nname: lib\nversion: 1.2.0\n";
    let shown = "ConfigMap sub parent, ConfigMap prod/guestbook \"chart\"";
    for folder in ["apps/web/charts/lib", "apps/lib"] {
        let tree = chart()
            .file("apps/web/Chart.yaml", parent.clone())
            .file(&format!("{folder}/Chart.yaml"), lib)
            .file(&format!("{folder}/templates/s.yaml"), sub);
        check_tree(&tree, r#"{"values":"lib: {of: parent}"}"#, shown);
    }
    let remote = parent.replace("file://../lib", "https://charts.example.com");
    check_tree(
        &chart().file("apps/web/Chart.yaml", remote),
        "{}",
        "failed to execute helm template command: apps/web: Error: the dependency lib is found in Chart.yaml, but missing in charts/ directory, and could not be fetched: https://charts.example.com cannot be fetched during a render; copy what is needed into the repository",
    );
}

#[test]
fn what_a_template_makes_must_be_objects_and_the_template_is_named() {
    let broken = chart().file("apps/web/templates/map.yaml", "kind: {{ .Values.nope.nope }}\n");
    let (shown, _) = render_with(&broken, "{}", BTreeMap::new(), &context());
    assert!(
        shown.starts_with("failed to execute helm template command: apps/web: Error: ")
            && shown.contains("web/templates/map.yaml:1:"),
        "{shown}"
    );
    let no_object = chart().file("apps/web/templates/map.yaml", "kind: ConfigMap\nx: 1\n");
    check_tree(
        &no_object,
        "{}",
        "apps/web/templates/map.yaml, line 1, column 1: the field \"apiVersion\" is missing or not a string",
    );
}

#[test]
fn only_what_a_render_read_decides_about_the_next_commit() {
    let helm = r#"{"valueFiles":["values-a.yaml"]}"#;
    let (_, record) = render_with(&chart(), helm, BTreeMap::new(), &context());
    assert!(record.reads.hold_in(&chart().file("common/guestbook.yaml", "new")).unwrap());
    assert!(!record.reads.hold_in(&chart().file("apps/web/values-a.yaml", "new")).unwrap());
    assert!(!record.reads.hold_in(&chart().file("apps/web/templates/new.yaml", "")).unwrap());
    assert!(!record.revision);
    let asked = r#"{"parameters":[{"name":"shown","value":"$ARGOCD_APP_REVISION_SHORT"}]}"#;
    let (shown, record) = render_with(&chart(), asked, BTreeMap::new(), &context());
    assert_eq!(shown, r#"ConfigMap prod/guestbook "0123456""#);
    assert!(record.revision);
}

#[test]
fn parameters_beside_the_chart_change_the_source() {
    let tree = chart()
        .file("apps/web/.argocd-source.yaml", "helm: {parameters: [{name: shown, value: beside}]}");
    check_tree(&tree, "{}", "ConfigMap prod/guestbook \"beside\"");
}

#[test]
fn a_chart_that_depends_on_its_own_folder_is_taken_once_more_and_no_further() {
    let metadata = format!(
        "{CHART}dependencies:\n- {{name: web, version: 1.0.0, repository: \"file://.\"}}\n"
    );
    let tree = MemoryTree::new()
        .file("apps/web/Chart.yaml", metadata)
        .file("apps/web/values.yaml", "shown: chart\nweb: {shown: below}\n")
        .file("apps/web/templates/map.yaml", SHOWS);
    let both = r#"ConfigMap prod/guestbook "below", ConfigMap prod/guestbook "chart""#;
    check_tree(&tree, "{}", both);
}
