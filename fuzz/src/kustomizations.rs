//! Kustomizations: a file, a patch, a replacement, the path of a field. Every
//! build ends, within its limits, and says the same each time.

use kustomize::{Limits, MemoryFiles, NoRemote, Options, Overrides, build};

use crate::text;

const WORKLOAD: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: web}}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - {name: web, image: 'nginx:1.0', env: [{name: A, value: 'yes'}], ports: [{containerPort: 80}]}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b, json: '{\"x\": [1, 2]}'}\n";

fn check(files: &[(&str, &str)]) {
    let tree: MemoryFiles = files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
    let limits = Limits { depth: 8, files: 100, bytes: 1 << 20, resources: 200, output: 1 << 20 };
    let options = Options { limits, ..Options::default() };
    let run = || {
        build(&tree, "", &Overrides::default(), &options, &NoRemote)
            .map_or_else(|error| error.chain(), |output| output.text)
    };
    assert_eq!(run(), run());
}

/// The file itself, with what it may name beside it.
pub(crate) fn kustomization(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    check(&[
        ("kustomization.yaml", text),
        ("a.yaml", WORKLOAD),
        ("p.yaml", "[{op: add, path: /metadata/annotations, value: {a: b}}]"),
        ("base/kustomization.yaml", "resources: [m.yaml]\nnamePrefix: base-\n"),
        ("base/m.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"),
        ("part/kustomization.yaml", "kind: Component\nnameSuffix: -part\n"),
        ("e.env", "A=1\nB=two\n"),
    ]);
}

/// A patch of either form, for the resource it names and for all.
pub(crate) fn patch(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    for kustomization in [
        "resources: [a.yaml]\npatches: [{path: p.yaml}]\n",
        "resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: .*}, options: {allowNameChange: true, allowKindChange: true}}]\n",
    ] {
        check(&[("kustomization.yaml", kustomization), ("a.yaml", WORKLOAD), ("p.yaml", text)]);
    }
}

/// Replacements in a file.
pub(crate) fn replacement(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let kustomization = "resources: [a.yaml]\nreplacements: [{path: r.yaml}]\n";
    check(&[("kustomization.yaml", kustomization), ("a.yaml", WORKLOAD), ("r.yaml", text)]);
}

/// The path of a field: where a replacement reads and writes, and where a
/// transformer's configuration points.
pub(crate) fn field_path(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let path = serde_json::Value::from(text);
    let kustomization = format!(
        "resources: [a.yaml]\nconfigurations: [c.yaml]\ncommonLabels: {{l: m}}\nnamePrefix: p-\nreplacements:\n\
         - source: {{kind: Deployment, fieldPath: {path}}}\n  targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [{path}], options: {{create: true}}}}]\n\
         - source: {{kind: ConfigMap}}\n  targets: [{{select: {{kind: Deployment}}, fieldPaths: [{path}]}}]\n"
    );
    let configuration = format!(
        "commonLabels: [{{path: {path}, create: true}}]\nnamePrefix: [{{path: {path}}}]\n\
         nameReference: [{{kind: ConfigMap, fieldSpecs: [{{path: {path}}}]}}]\n"
    );
    check(&[
        ("kustomization.yaml", &kustomization),
        ("a.yaml", WORKLOAD),
        ("c.yaml", &configuration),
    ]);
    // Without the source, which seldom exists.
    check(&[
        (
            "kustomization.yaml",
            "resources: [a.yaml]\nconfigurations: [c.yaml]\ncommonLabels: {l: m}\nnamePrefix: p-\n",
        ),
        ("a.yaml", WORKLOAD),
        ("c.yaml", &configuration),
    ]);
}
