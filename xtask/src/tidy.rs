//! `cargo xtask tidy`: rules about the project that the compiler does not check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::codegen::generated;
use crate::shell::{cargo, output, root};

/// What each crate may depend on among ours. Arrows point down only; a crate
/// that is not listed here may not exist.
const ARROWS: [(&str, &[&str]); 23] = [
    ("gocompat", &[]),
    ("object", &["gocompat"]),
    ("api", &[]),
    ("template", &["gocompat"]),
    ("lua", &["gocompat", "object"]),
    ("helm", &["gocompat", "object", "template"]),
    ("kustomize", &["gocompat", "object"]),
    ("render", &["api", "gocompat", "helm", "kustomize", "object"]),
    ("engine", &["api", "gocompat", "lua", "object"]),
    ("rbac", &["gocompat"]),
    ("runtime", &[]),
    ("plugins", &["gocompat"]),
    ("cluster", &["engine", "gocompat", "object", "runtime"]),
    (
        "repo-server",
        &["api", "engine", "gocompat", "object", "plugins", "render", "runtime", "wire"],
    ),
    (
        "controller",
        &["api", "cluster", "engine", "gocompat", "lua", "object", "render", "runtime", "settings"],
    ),
    (
        "argosy",
        &[
            "api",
            "api-server",
            "cluster",
            "controller",
            "gocompat",
            "object",
            "plugins",
            "render",
            "repo-server",
            "runtime",
            "settings",
            "wire",
        ],
    ),
    ("wire", &["api", "gocompat", "object"]),
    (
        "api-server",
        &[
            "api", "cluster", "engine", "gocompat", "lua", "object", "rbac", "render", "runtime",
            "settings", "template", "wire",
        ],
    ),
    ("settings", &["api", "cluster", "gocompat", "object", "rbac"]),
    (
        "fuzz",
        &[
            "api-server",
            "engine",
            "gocompat",
            "helm",
            "kustomize",
            "lua",
            "object",
            "rbac",
            "template",
        ],
    ),
    ("devcluster", &[]),
    ("testkit", &["api", "cluster", "devcluster", "object"]),
    ("xtask", &["api", "devcluster"]),
];

/// Crates whose results depend on their arguments alone.
const PURE: [&str; 10] = [
    "api",
    "engine",
    "gocompat",
    "helm",
    "kustomize",
    "lua",
    "object",
    "rbac",
    "render",
    "template",
];

/// What a pure crate may not reach, however indirectly.
const IMPURE: [&str; 7] = ["tokio", "kube", "kube-client", "reqwest", "hyper", "gix", "tracing"];

/// A second way to do TLS or cryptography; ring is the one.
const SECOND_PROVIDERS: [&str; 6] =
    ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls", "boring-sys"];

/// Licences that ask no more of us than to be named.
const PERMISSIVE: [&str; 14] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "0BSD",
    "CC0-1.0",
    "Unlicense",
    "BSL-1.0",
    "MIT-0",
    "CDLA-Permissive-2.0",
    "Apache-2.0 WITH LLVM-exception",
];

pub(crate) fn run(_: &[String]) -> anyhow::Result<()> {
    let metadata = output(
        cargo(&["metadata", "--format-version", "1", "--locked"]).env("CARGO_TERM_QUIET", "true"),
    )?;
    let metadata: Value =
        serde_json::from_str(&metadata).context("could not read cargo metadata")?;
    let mut complaints = Vec::new();
    check_arrows(&metadata, &mut complaints);
    check_purity(&metadata, &mut complaints);
    check_providers(&metadata, &mut complaints);
    check_licences(&metadata, &mut complaints);
    check_files(&mut complaints)?;
    check_generated(&mut complaints);
    if complaints.is_empty() {
        println!("tidy: all in order");
        return Ok(());
    }
    bail!("{} things are not in order:\n  {}", complaints.len(), complaints.join("\n  "))
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}

/// Our own packages have no source: they are paths.
fn is_ours(package: &Value) -> bool {
    package["source"].is_null()
}

fn check_arrows(metadata: &Value, complaints: &mut Vec<String>) {
    let ours: BTreeSet<&str> = packages(metadata).filter(|it| is_ours(it)).map(name).collect();
    for package in packages(metadata).filter(|it| is_ours(it)) {
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name(package)) else {
            complaints.push(format!(
                "the crate {} is not in the table of arrows (xtask/src/tidy.rs): say what it may depend on",
                name(package)
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = name(dependency);
            let is_for_tests = dependency["kind"] == "dev";
            if ours.contains(target) && !is_for_tests && !allowed.contains(&target) {
                complaints.push(format!("{} must not depend on {target}", name(package)));
            }
        }
    }
}

fn check_purity(metadata: &Value, complaints: &mut Vec<String>) {
    let names: BTreeMap<&str, &str> =
        packages(metadata).map(|it| (it["id"].as_str().unwrap_or_default(), name(it))).collect();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|node| (node["id"].as_str().unwrap_or_default(), node))
        .collect();
    for package in packages(metadata).filter(|it| is_ours(it) && PURE.contains(&name(it))) {
        let mut reached = BTreeSet::new();
        let mut pending = vec![package["id"].as_str().unwrap_or_default()];
        while let Some(id) = pending.pop() {
            if reached.insert(id) {
                pending
                    .extend(nodes.get(id).into_iter().flat_map(|node| normal_dependencies(node)));
            }
        }
        for id in reached {
            if IMPURE.contains(&names[id]) {
                complaints.push(format!(
                    "{} is pure and must not reach {}",
                    name(package),
                    names[id]
                ));
            }
        }
        let banned = root().join("crates").join(name(package)).join("clippy.toml");
        if !banned.is_file() {
            complaints
                .push(format!("{} is pure and needs a clippy.toml that says so", name(package)));
        }
    }
}

fn normal_dependencies(node: &Value) -> impl Iterator<Item = &str> {
    let edges = node["deps"].as_array().into_iter().flatten();
    edges
        .filter(|edge| {
            edge["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
        })
        .filter_map(|edge| edge["pkg"].as_str())
}

fn check_providers(metadata: &Value, complaints: &mut Vec<String>) {
    let resolved: BTreeSet<&str> = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|node| node["id"].as_str())
        .collect();
    for package in packages(metadata) {
        let used = resolved.contains(package["id"].as_str().unwrap_or_default());
        if used && SECOND_PROVIDERS.contains(&name(package)) {
            complaints.push(format!(
                "{} is in the tree; ring is the one crypto provider (cargo tree -i {})",
                name(package),
                name(package)
            ));
        }
    }
}

fn check_licences(metadata: &Value, complaints: &mut Vec<String>) {
    for package in packages(metadata) {
        let licence = package["license"].as_str().unwrap_or_default();
        let by_file = package["license_file"].as_str();
        let is_fine = is_permissive(licence)
            || (licence.is_empty() && by_file.is_some_and(|it| is_mit(package, it)));
        if !is_fine {
            complaints.push(format!(
                "{} has the licence {licence:?}, which is not on the list",
                name(package)
            ));
        }
    }
}

/// An alternative is enough; every part of a conjunction is needed.
fn is_permissive(licence: &str) -> bool {
    let licence = licence.replace('/', " OR ").replace(['(', ')'], " ");
    !licence.trim().is_empty()
        && licence
            .split(" AND ")
            .all(|part| part.split(" OR ").any(|choice| PERMISSIVE.contains(&choice.trim())))
}

fn is_mit(package: &Value, file: &str) -> bool {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let text = manifest.parent().and_then(|folder| std::fs::read_to_string(folder.join(file)).ok());
    text.is_some_and(|it| it.contains("MIT License") || it.contains("Permission is hereby granted"))
}

/// Every source file says first what it is for.
fn check_files(complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let files = output(Command::new("git").args(["ls-files", "*.rs", "*.go"]).current_dir(root()))?;
    for file in files.lines() {
        let Ok(text) = std::fs::read_to_string(root().join(file)) else { continue };
        let opens_well =
            if file.ends_with(".go") { text.starts_with("//") } else { text.starts_with("//!") };
        if !opens_well {
            complaints
                .push(format!("{file} does not open with a comment that says what it is for"));
        }
    }
    Ok(())
}

fn check_generated(complaints: &mut Vec<String>) {
    for (path, content) in generated() {
        if std::fs::read_to_string(&path).ok().as_deref() != Some(content.as_str()) {
            complaints.push(format!("{} is stale: run cargo xtask codegen", path.display()));
        }
    }
}
