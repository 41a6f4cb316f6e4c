//! How fast builds are: `cargo bench -p kustomize`.
//!
//! Prints builds per second for a small overlay, and the time of large builds
//! of growing size, which should grow with the number of resources.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark needs a clock"
)]

use std::time::Instant;

use kustomize::{MemoryFiles, NoRemote, Options, Overrides, build};

fn main() {
    let small = overlay(12, 3, 0);
    let rounds = 2_000;
    let start = Instant::now();
    for _ in 0..rounds {
        run(&small);
    }
    let rate = f64::from(rounds) / start.elapsed().as_secs_f64();
    println!("base of 12 resources, overlay with 3 patches, images and labels: {rate:.0} builds/s");
    for count in [100, 1_000, 5_000] {
        let large = overlay(count, 50, 20);
        run(&large);
        let start = Instant::now();
        run(&large);
        let time = start.elapsed();
        println!("{count} resources, 50 patches, 20 replacements: {time:.1?}");
    }
}

fn run(tree: &MemoryFiles) {
    let output = build(tree, "overlay", &Overrides::default(), &Options::default(), &NoRemote);
    let output = output.expect("the overlay builds");
    assert!(!output.text.is_empty());
}

fn overlay(resources: usize, patches: usize, replacements: usize) -> MemoryFiles {
    let mut tree = MemoryFiles::default();
    let mut base = String::from("resources:\n");
    for number in 0..resources {
        base.push_str(&format!("- r{number}.yaml\n"));
        let text = if number % 3 == 2 { service(number) } else { deployment(number) };
        tree.insert(format!("base/r{number}.yaml"), text);
    }
    base.push_str("configMapGenerator:\n- {name: settings, literals: [a=b]}\n");
    tree.insert("base/kustomization.yaml", base);
    let mut overlay = String::from(
        "resources: [../base]\nnamespace: shop\nnamePrefix: prod-\n\
         labels: [{pairs: {env: prod}, includeSelectors: true}]\n\
         images: [{name: registry.example.com/web, newTag: v2}]\npatches:\n",
    );
    let deployments: Vec<usize> = (0..resources).filter(|number| number % 3 != 2).collect();
    for number in 0..patches {
        let target = deployments[number % deployments.len()];
        overlay.push_str(&format!("- path: p{number}.yaml\n"));
        tree.insert(
            format!("overlay/p{number}.yaml"),
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: r{target}}}\nspec:\n  \
                 template: {{spec: {{containers: [{{name: web, env: [{{name: N{number}, value: x}}]}}]}}}}\n"
            ),
        );
    }
    if replacements > 0 {
        overlay.push_str("replacements:\n");
    }
    for number in 0..replacements {
        let source = deployments[number % deployments.len()];
        overlay.push_str(&format!(
            "- source: {{kind: Deployment, name: r{source}}}\n  targets:\n  - select: {{kind: \
             Service}}\n    fieldPaths: [metadata.annotations.n{number}]\n    options: {{create: true}}\n"
        ));
    }
    tree.insert("overlay/kustomization.yaml", overlay);
    tree
}

fn deployment(number: usize) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: r{number}\n  labels:\n    app: \
         r{number}\nspec:\n  replicas: 2\n  selector:\n    matchLabels:\n      app: r{number}\n  \
         template:\n    metadata:\n      labels:\n        app: r{number}\n    spec:\n      \
         containers:\n      - name: web\n        image: registry.example.com/web:1.0\n        \
         env:\n        - name: A\n          value: \"1\"\n        - name: B\n          valueFrom:\n            \
         configMapKeyRef:\n              name: settings\n              key: a\n        ports:\n        \
         - containerPort: 8080\n      volumes:\n      - name: data\n        emptyDir: {{}}\n"
    )
}

fn service(number: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: r{number}\nspec:\n  selector:\n    app: \
         r{number}\n  ports:\n  - port: 80\n    targetPort: 8080\n"
    )
}
