//! What users are shown of a source beside its manifests.

use std::collections::BTreeMap;

use api::ApplicationSource;
use render::tree::MemoryTree;
use render::{
    EnabledSourceTypes, NothingOutside, RenderContext, SourceDetails, Still, World, details,
    discover_all,
};

fn tree() -> MemoryTree {
    MemoryTree::new()
        .file("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\ndescription: a web\nhome: https://web.example\nmaintainers: [{name: Ann, email: ann@web.example}, {name: Bob}, {email: nobody@web.example}]\n")
        .file("web/values.yaml", "image: {tag: v1}\nports: [80, {name: http}]\nactive: true\nnone: ~\nempty: {}\n")
        .file("web/values-prod.yml", "image: {tag: v2}\n")
        .file("web/sub/my-values.yaml", "")
        .file("web/config.yaml", "")
        .file("app/kustomization.yaml", "resources: [pod.yaml]\nimages: [{name: a, newTag: v9}]\n")
        .file("app/pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: b, image: b:1}, {name: a, image: a}]\n  initContainers: [{name: c, image: c}]\n")
        .file("plain/cm.yaml", "")
}

fn ask(source: &str) -> SourceDetails {
    let source: ApplicationSource = serde_json::from_str(source).expect("a source");
    let refs = BTreeMap::new();
    let world = World { commit: "", facts: &Still, outside: &NothingOutside, refs };
    details(&tree(), &source, &RenderContext::new("", ""), &world).expect("details")
}

#[test]
fn a_chart_offers_its_value_files_and_every_single_value() {
    let SourceDetails::Helm(helm) =
        ask(r#"{"repoURL":"r","path":"web","helm":{"valueFiles":["values-prod.yml"]}}"#)
    else {
        panic!("a chart");
    };
    assert_eq!(helm.value_files, ["sub/my-values.yaml", "values-prod.yml", "values.yaml"]);
    let parameters: Vec<_> =
        helm.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        parameters,
        ["active=true", "image.tag=v2", "none=<nil>", "ports[0]=80", "ports[1].name=http"]
    );
    assert!(helm.values.starts_with("image: {tag: v1}"));
}

#[test]
fn a_chart_says_what_it_is_and_who_looks_after_it() {
    let SourceDetails::Helm(helm) = ask(r#"{"repoURL":"r","path":"web"}"#) else {
        panic!("a chart");
    };
    assert_eq!((helm.description.as_str(), helm.home.as_str()), ("a web", "https://web.example"));
    assert_eq!(helm.maintainers, ["Ann <ann@web.example>", "Bob", "<nobody@web.example>"]);
}

#[test]
fn a_kustomization_offers_the_images_it_builds() {
    let SourceDetails::Kustomize(kustomize) = ask(r#"{"repoURL":"r","path":"app"}"#) else {
        panic!("a kustomization");
    };
    assert_eq!(kustomize.images, ["a:v9", "b:1", "c"]);
}

#[test]
fn plain_files_offer_nothing() {
    assert_eq!(ask(r#"{"repoURL":"r","path":"plain"}"#), SourceDetails::Directory);
}

#[test]
fn charts_and_kustomizations_are_found_all_over_a_repository() {
    let found = discover_all(&tree(), EnabledSourceTypes::default()).unwrap();
    let found: Vec<_> = found.iter().map(|(path, it)| format!("{path}: {it}")).collect();
    assert_eq!(found, ["app: Kustomize", "web: Helm"]);
    let no_helm = EnabledSourceTypes { helm: false, ..Default::default() };
    assert_eq!(discover_all(&tree(), no_helm).unwrap().len(), 1);
}
