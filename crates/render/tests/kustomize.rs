//! Kustomize sources: what an Application may change, and what comes out.

use std::collections::BTreeMap;

use api::ApplicationSource;
use object::Object;
use render::tree::MemoryTree;
use render::{NothingOutside, RenderContext, RenderError, Still, World, render};

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - {name: web, image: nginx:1.0}\n";

fn tree() -> MemoryTree {
    MemoryTree::new()
        .file("apps/web/kustomization.yaml", "resources: [deployment.yaml]\n")
        .file("apps/web/deployment.yaml", DEPLOYMENT)
        .file("apps/part/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {part: there}\n")
}

fn render_with(
    tree: &MemoryTree,
    kustomize: &str,
    build_options: &str,
) -> Result<Vec<Object>, RenderError> {
    let text = format!(r#"{{"repoURL":"r","path":"apps/web","kustomize":{kustomize}}}"#);
    let source: ApplicationSource = serde_json::from_str(&text).expect("a source");
    let context = RenderContext {
        kustomize_build_options: build_options.to_owned(),
        ..RenderContext::new("", "prod")
    };
    let (commit, refs) = ("0123456789abcdef", BTreeMap::new());
    let world = World { commit, facts: &Still, outside: &NothingOutside, refs };
    render(tree, &source, &context, &world).0.map(|it| it.objects)
}

/// One field of the one object, or the error.
#[track_caller]
fn check(kustomize: &str, pointer: &str, expect: &str) {
    check_tree(&tree(), kustomize, "", pointer, expect);
}

#[track_caller]
fn check_tree(
    tree: &MemoryTree,
    kustomize: &str,
    build_options: &str,
    pointer: &str,
    expect: &str,
) {
    let answer = match render_with(tree, kustomize, build_options) {
        Ok(objects) => {
            assert_eq!(objects.len(), 1);
            let value = objects.into_iter().next().expect("one").into_value();
            value.pointer(pointer).map_or_else(|| "absent".to_owned(), ToString::to_string)
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(answer, expect);
}

#[test]
fn an_application_changes_names_namespace_images_and_replicas() {
    check(r#"{"namePrefix":"a-","nameSuffix":"-z"}"#, "/metadata/name", r#""a-web-z""#);
    check(r#"{"namespace":"elsewhere"}"#, "/metadata/namespace", r#""elsewhere""#);
    let image = "/spec/template/spec/containers/0/image";
    check(r#"{"images":["nginx:2.0"]}"#, image, r#""nginx:2.0""#);
    check(r#"{"images":["nginx=ng:${ARGOCD_APP_REVISION_SHORT}"]}"#, image, r#""ng:0123456""#);
    check(r#"{"replicas":[{"name":"web","count":3}]}"#, "/spec/replicas", "3");
    check(r#"{"replicas":[{"name":"web","count":"4"}]}"#, "/spec/replicas", "4");
}

#[test]
fn labels_and_annotations_are_added_and_replace_only_by_force() {
    let labels = r#"{"commonLabels":{"team":"$ARGOCD_APP_NAMESPACE"}}"#;
    check(labels, "/metadata/labels/team", r#""prod""#);
    check(labels, "/spec/selector/matchLabels/team", r#""prod""#);
    let only = r#"{"commonLabels":{"team":"x"},"labelWithoutSelector":true}"#;
    check(only, "/metadata/labels/team", r#""x""#);
    check(only, "/spec/selector/matchLabels/team", "absent");
    check(only, "/spec/template/metadata/labels/team", "absent");
    let templates =
        r#"{"commonLabels":{"team":"x"},"labelWithoutSelector":true,"labelIncludeTemplates":true}"#;
    check(templates, "/spec/template/metadata/labels/team", r#""x""#);
    let plain = r#"{"commonAnnotations":{"ns":"$ARGOCD_APP_NAMESPACE"}}"#;
    check(plain, "/metadata/annotations/ns", r#""$ARGOCD_APP_NAMESPACE""#);
    let substituted =
        r#"{"commonAnnotations":{"ns":"$ARGOCD_APP_NAMESPACE"},"commonAnnotationsEnvsubst":true}"#;
    check(substituted, "/metadata/annotations/ns", r#""prod""#);
    let labelled = tree().file(
        "apps/web/kustomization.yaml",
        "resources: [deployment.yaml]\ncommonLabels: {a: b}\n",
    );
    let label = "/metadata/labels/a";
    check_tree(
        &labelled,
        r#"{"commonLabels":{"a":"c"}}"#,
        "",
        label,
        "kustomize build apps/web failed: Error: label a already in kustomization file. Use --force to override.",
    );
    check_tree(
        &labelled,
        r#"{"commonLabels":{"a":"c"},"forceCommonLabels":true}"#,
        "",
        label,
        r#""c""#,
    );
}

#[test]
fn patches_and_components_are_added() {
    let patch = r#"{"patches":[{"target":{"kind":"Deployment"},"patch":"- {op: replace, path: /spec/replicas, value: 9}"}]}"#;
    check(patch, "/spec/replicas", "9");
    let annotation = "/metadata/annotations/part";
    check(r#"{"components":["../part"]}"#, annotation, r#""there""#);
    check(
        r#"{"components":["../part","../gone"],"ignoreMissingComponents":true}"#,
        annotation,
        r#""there""#,
    );
}

#[test]
fn what_is_missing_is_told_in_the_words_of_a_build_on_disk() {
    let broken = tree().file("apps/web/kustomization.yaml", "resources: [nope.yaml]\n");
    let answer = render_with(&broken, "{}", "").unwrap_err().to_string();
    assert!(answer.contains("open apps/web/nope.yaml: no such file or directory"), "{answer}");
}

#[test]
fn build_options_open_what_they_open_and_unknown_ones_are_refused() {
    let outside = tree()
        .file(
            "apps/web/kustomization.yaml",
            "resources: [deployment.yaml]\npatches: [{path: ../p.yaml}]\n",
        )
        .file(
            "apps/p.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5}\n",
        );
    let refused = render_with(&outside, "{}", "").unwrap_err().to_string();
    assert!(
        refused.contains("security; file '/apps/p.yaml' is not in or below '/apps/web'"),
        "{refused}"
    );
    for options in [
        "--load-restrictor LoadRestrictionsNone",
        "--enable-helm --load-restrictor=LoadRestrictionsNone",
        "--load_restrictor none",
    ] {
        check_tree(&outside, "{}", options, "/spec/replicas", "5");
    }
    check_tree(
        &tree(),
        "{}",
        "--output x",
        "",
        "kustomize build apps/web failed: Error: kustomize.buildOptions: --output is not supported; remove it from argocd-cm",
    );
}

#[test]
fn only_the_built_in_version_can_be_asked_for() {
    check(r#"{"version":"v5.8.1"}"#, "/metadata/name", r#""web""#);
    check(
        r#"{"version":"v4.0.0"}"#,
        "",
        "kustomize build apps/web failed: Error: kustomize version v4.0.0 is not registered: v5.8.1 is built in; remove kustomize.version from the source",
    );
}

#[test]
fn a_link_out_of_the_repository_is_refused_and_not_read() {
    let evil = tree().link("apps/web/deployment.yaml", "../../../etc/passwd");
    let answer = render_with(&evil, "{}", "").unwrap_err().to_string();
    assert!(answer.starts_with("repository contains out-of-bounds symlinks"), "{answer}");
}
