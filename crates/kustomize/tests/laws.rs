//! What holds for every input: a build ends, in a result or an error, and says
//! the same each time.

use kustomize::{MemoryFiles, NoRemote, Options, Overrides, build};
use proptest::prelude::*;

/// Pieces that make up YAML worth reading.
const PIECES: [&str; 32] = [
    "resources: [a.yaml]\n",
    "patches:\n- path: p.yaml\n",
    "- target: {kind: .*}\n  patch: |\n    ",
    "apiVersion: v1\n",
    "kind: Deployment\n",
    "metadata: {name: x}\n",
    "metadata:\n",
    "  name: y\n",
    "spec: {template: {spec: {containers: [{name: a}, {image: b}]}}}\n",
    "namePrefix: 1\n",
    "namespace: n\n",
    "commonLabels: {a: b}\n",
    "images: [{name: '(', newTag: x}]\n",
    "replacements: [{source: {kind: Deployment}, targets: [{select: {}, fieldPaths: [a.0.'*']}]}]\n",
    "configMapGenerator: [{name: c, literals: [a=b, '=']}]\n",
    "vars: [{name: V, objref: {kind: Deployment, name: x}}]\n",
    "openapi: {path: a.yaml}\n",
    "---\n",
    "&a ",
    "*a ",
    "<<: *a\n",
    "$patch: delete\n",
    "[{\"op\": \"add\", \"path\": \"/-1\"}]\n",
    "- ",
    "{",
    "}",
    "[",
    ": ",
    "\"\\u0000",
    "|\n  ",
    "\t",
    "é\u{2028}😀",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 0..12);
    pieces.prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_build_ends_and_is_repeatable(kustomization in text(), resource in text(), patch in text()) {
        let tree: MemoryFiles =
            [("kustomization.yaml", kustomization), ("a.yaml", resource), ("p.yaml", patch)]
                .into_iter()
                .collect();
        let run = || {
            build(&tree, "", &Overrides::default(), &Options::default(), &NoRemote)
                .map_or_else(|error| error.chain(), |output| output.text)
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn building_the_result_again_changes_nothing(resource in text()) {
        let build_one = |text: String| {
            let tree: MemoryFiles =
                [("kustomization.yaml", "resources: [a.yaml]\n".to_owned()), ("a.yaml", text)]
                    .into_iter()
                    .collect();
            build(&tree, "", &Overrides::default(), &Options::default(), &NoRemote)
        };
        if let Ok(first) = build_one(resource)
            && !first.text.is_empty()
        {
            let second = build_one(first.text.clone());
            prop_assert_eq!(second.map_err(|error| error.chain()).map(|it| it.text), Ok(first.text));
        }
    }
}
