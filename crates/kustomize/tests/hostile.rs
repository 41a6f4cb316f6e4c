//! Input that means harm: every build ends in an error that says why, and takes
//! no more memory than its limits allow. Links and forbidden hosts are in
//! `ports.rs`, cycles of bases in the corpus.

use kustomize::{BuildError, Limits, MemoryFiles, NoRemote, Options, Overrides, build};

fn tree(files: &[(&str, &str)]) -> MemoryFiles {
    files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect()
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

/// The build of the directory `app` fails, and the message has these words.
#[track_caller]
fn check(files: &[(&str, &str)], words: &str) {
    let error = build(&tree(files), "app", &Overrides::default(), &Options::default(), &NoRemote)
        .map(|output| output.text)
        .expect_err("the tree is refused");
    assert!(error.chain().contains(words), "{}", error.chain());
}

#[test]
fn components_and_bases_in_a_circle_are_refused() {
    let component = "kind: Component\ncomponents: [../part]\n";
    check(
        &[
            ("app/kustomization.yaml", "components: [../part]\n"),
            ("part/kustomization.yaml", component),
        ],
        "cycle detected: candidate root '/part' contains visited root '/part'",
    );
    check(
        &[
            ("app/kustomization.yaml", "resources: [../one]\n"),
            ("one/kustomization.yaml", "components: [../two]\n"),
            ("two/kustomization.yaml", "kind: Component\nresources: [../one]\n"),
        ],
        "cycle detected",
    );
    check(&[("app/kustomization.yaml", "resources: [..]\n"), ("kustomization.yaml", "")], "cycle");
}

#[test]
fn paths_do_not_lead_out() {
    for field in [
        "resources: [../secret.yaml]",
        "patches: [{path: ../secret.yaml}]",
        "patchesStrategicMerge: [../secret.yaml]",
        "configMapGenerator: [{name: a, files: [../secret.yaml]}]",
        "secretGenerator: [{name: a, envs: [../secret.yaml]}]",
        "replacements: [{path: ../secret.yaml}]",
        "configurations: [../secret.yaml]",
        "crds: [../secret.yaml]",
        "openapi: {path: ../secret.yaml}",
        "transformers: [../secret.yaml]",
    ] {
        check(
            &[("app/kustomization.yaml", field), ("secret.yaml", &config_map("a"))],
            "security; file '/secret.yaml' is not in or below '/app'",
        );
    }
    check(&[("app/kustomization.yaml", "resources: [../../../etc]\n")], "doesn't exist");
}

#[test]
fn patterns_that_would_blow_up_are_refused_or_harmless() {
    let huge = "(a{1000}){1000}";
    let long = "a".repeat(5_000);
    let remove = r#"[{"op": "remove", "path": "/kind"}]"#;
    for field in [
        format!("patches: [{{target: {{name: '{huge}'}}, patch: '{remove}'}}]"),
        format!("images: [{{name: '{huge}', newTag: x}}]"),
    ] {
        let kustomization = format!("resources: [a.yaml]\n{field}\n");
        let files = [
            ("app/kustomization.yaml", kustomization.as_str()),
            ("app/a.yaml", &config_map(&long)),
        ];
        check(&files, "error parsing regexp");
    }
    // Backtracking engines take for ever; ours is done.
    let files = tree(&[
        (
            "app/kustomization.yaml",
            &format!(
                "resources: [a.yaml]\npatches: [{{target: {{name: '(a*)*b'}}, patch: '{remove}'}}]\n"
            ),
        ),
        ("app/a.yaml", &config_map(&long)),
    ]);
    build(&files, "app", &Overrides::default(), &Options::default(), &NoRemote)
        .expect("nothing matches, so nothing is patched");
}

#[test]
fn aliases_and_nesting_are_bounded_wherever_yaml_is_read() {
    let mut bomb = String::from("apiVersion: v1\nkind: A\nmetadata: {name: a}\na: &a [x, x, x]\n");
    for (name, before) in ('b'..='p').zip('a'..) {
        bomb.push_str(&format!("{name}: &{name} [*{before}, *{before}, *{before}, *{before}]\n"));
    }
    let deep = format!("apiVersion: v1\nkind: A\nmetadata: {{name: a}}\na: {}", "[".repeat(5_000));
    let plain = config_map("a");
    for text in [&bomb, &deep] {
        for (field, resource) in [
            ("", text),
            ("patches: [{path: b.yaml}]", &plain),
            ("configurations: [b.yaml]", &plain),
            ("transformers: [b.yaml]", &plain),
        ] {
            let kustomization = format!("resources: [a.yaml]\n{field}\n");
            let files = [
                ("app/kustomization.yaml", kustomization.as_str()),
                ("app/a.yaml", resource),
                ("app/b.yaml", text),
            ];
            check(&files, "");
        }
        check(&[("app/kustomization.yaml", text)], "invalid Kustomization");
    }
}

#[test]
fn what_multiplies_data_is_bounded() {
    let mut kustomization = String::from("resources: [a.yaml]\nreplacements:\n");
    for number in 0..60 {
        kustomization.push_str(&format!(
            "- source: {{kind: A, fieldPath: spec}}\n  targets: [{{select: {{kind: A}}, fieldPaths: \
             [spec.k{number}], options: {{create: true}}}}]\n"
        ));
    }
    let resource = "apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {x: y}\n";
    let files = tree(&[("kustomization.yaml", &kustomization), ("a.yaml", resource)]);
    let limits = Limits { output: 1 << 20, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let error = build(&files, "", &Overrides::default(), &options, &NoRemote)
        .expect_err("it would double sixty times");
    assert!(error.chain().contains("replacements copy more than"), "{}", error.chain());

    let copies: String = (0..60)
        .map(|number| format!("    - {{op: copy, from: /spec, path: /spec/k{number}}}\n"))
        .collect();
    check(
        &[
            (
                "app/kustomization.yaml",
                &format!(
                    "resources: [a.yaml]\npatches:\n- target: {{kind: A}}\n  patch: |-\n{copies}"
                ),
            ),
            ("app/a.yaml", resource),
        ],
        "copy operations copy more than",
    );
}

#[test]
fn thousands_of_resources_with_one_name_are_told_at_the_first() {
    let many = vec![config_map("same"); 5_000].join("---\n");
    check(
        &[("app/kustomization.yaml", "resources: [a.yaml]\n"), ("app/a.yaml", &many)],
        "may not add resource with an already registered id: ConfigMap.v1.[noGrp]/same.[noNs]",
    );
    // Of one name in many namespaces, each is a resource of its own.
    let many: Vec<String> = (0..2_000)
        .map(|number| format!("{}  namespace: n{number}\n", config_map("same")))
        .collect();
    let files = tree(&[
        ("kustomization.yaml", "namePrefix: a-\nresources: [a.yaml]\n"),
        ("a.yaml", &many.join("---\n")),
    ]);
    let output = build(&files, "", &Overrides::default(), &Options::default(), &NoRemote)
        .expect("all are different");
    assert_eq!(output.objects.len(), 2_000);
}

#[test]
fn what_says_it_is_base64_and_is_not_is_refused() {
    check(
        &[
            ("app/kustomization.yaml", "resources: [a.yaml]\n"),
            ("app/a.yaml", &format!("{}binaryData: {{a: !!binary '%%%'}}\n", config_map("a"))),
        ],
        "!!binary value contains invalid base64 data",
    );
}

#[test]
fn a_text_that_is_no_text_is_refused() {
    let mut files = MemoryFiles::default();
    files.insert("kustomization.yaml", "resources: [a.yaml]\n");
    files.insert("a.yaml", &b"apiVersion: v1\nkind: \xff\n"[..]);
    let error = build(&files, "", &Overrides::default(), &Options::default(), &NoRemote)
        .expect_err("the file is refused");
    assert!(error.chain().contains("invalid UTF-8"), "{}", error.chain());
}

#[test]
fn limits_end_a_build() {
    let mut files = MemoryFiles::default();
    for depth in 0..10 {
        let kustomization = format!("resources: [../d{}, cm.yaml]\n", depth + 1);
        files.insert(format!("d{depth}/kustomization.yaml"), kustomization);
        files.insert(format!("d{depth}/cm.yaml"), config_map(&format!("cm{depth}")));
    }
    files.insert("d10/kustomization.yaml", "resources: [cm.yaml]\n");
    files.insert("d10/cm.yaml", config_map("last"));
    let run = |limits| {
        let options = Options { limits, ..Options::default() };
        build(&files, "d0", &Overrides::default(), &options, &NoRemote).map(drop)
    };
    assert!(run(Limits::default()).is_ok());
    for (limits, reason) in [
        (Limits { depth: 5, ..Limits::default() }, "more than 5 kustomizations"),
        (Limits { files: 5, ..Limits::default() }, "more than 5 files"),
        (Limits { bytes: 100, ..Limits::default() }, "more than 100 bytes read"),
        (Limits { resources: 5, ..Limits::default() }, "more than 5 resources"),
        (Limits { output: 50, ..Limits::default() }, "a result of more than 50 bytes"),
    ] {
        let error: BuildError = run(limits).expect_err("the limit is passed");
        assert!(error.chain().contains(reason), "{}", error.chain());
    }
}
