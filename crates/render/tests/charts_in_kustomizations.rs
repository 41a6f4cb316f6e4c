//! `helmCharts` of kustomizations, with the answers of Kustomize 5.8.1 and
//! Helm 4.2.4.

#![allow(clippy::print_stdout, reason = "the suite reports its score")]

use std::collections::BTreeMap;
use std::path::Path;

use api::ApplicationSource;
use object::Object;
use render::tree::MemoryTree;
use render::{NothingOutside, RenderContext, Still, World, render};
use testkit::kustomize::{Answer, Case, check_all};

#[test]
fn charts_are_inflated_as_kustomize_and_helm_do_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/charts_in_kustomizations");
    check_all(&folder, ours, |_| Vec::new());
}

fn ours(case: &Case) -> Answer {
    let tree = case.files.iter().fold(MemoryTree::new(), |tree, (name, text)| {
        tree.file(name, String::from_utf8_lossy(text).into_owned())
    });
    let path = &case.directory;
    let text = format!(r#"{{"repoURL":"r","path":"{path}","kustomize":{{}}}}"#);
    let source: ApplicationSource = serde_json::from_str(&text).expect("a source");
    let context = RenderContext {
        kustomize_build_options: case.flags.join(" "),
        ..RenderContext::new("", "")
    };
    let refs = BTreeMap::new();
    let world = World { commit: "", facts: &Still, outside: &NothingOutside, refs };
    match render(&tree, &source, &context, &world).0 {
        Ok(manifests) => Answer::Manifests(printed(manifests.objects)),
        Err(error) => Answer::Error(error.to_string()),
    }
}

/// A render returns values; Kustomize's text of them has sorted keys too.
fn printed(objects: Vec<Object>) -> String {
    let documents: Vec<String> =
        objects.into_iter().map(|it| gocompat::yaml::from_value(&it.into_value())).collect();
    documents.join("---\n")
}
