//! Jsonnet files in directories: variables, imports, mistakes, and the shared
//! cases of the language.

#![expect(clippy::disallowed_methods, reason = "tests read their cases from disk")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use api::ApplicationSource;
use render::tree::MemoryTree;
use render::{EnabledSourceTypes, NothingOutside, RenderContext, Still, World, render};

/// `app` as an Application would render it: names and the field `data.shown`.
fn rendered(tree: &MemoryTree, directory: &str, context: &RenderContext) -> String {
    let text = format!(r#"{{"repoURL":"r","path":"app","directory":{directory}}}"#);
    let source: ApplicationSource = serde_json::from_str(&text).expect("a source");
    let (commit, refs) = ("0123456789", BTreeMap::new());
    let world = World { commit, facts: &Still, outside: &NothingOutside, refs };
    match render(tree, &source, context, &world).0 {
        Ok(manifests) => {
            let shown = manifests
                .objects
                .iter()
                .map(|it| format!("{} {}", it.name(), it.text(&["data", "shown"]).unwrap_or("-")));
            shown.collect::<Vec<_>>().join(", ")
        }
        Err(error) => error.to_string(),
    }
}

fn map(expression: &str) -> String {
    format!(
        "{{apiVersion: 'v1', kind: 'ConfigMap', metadata: {{name: 'm'}}, data: {{shown: {expression}}}}}"
    )
}

#[track_caller]
fn check(content: &str, jsonnet: &str, expect: &str) {
    let tree = MemoryTree::new()
        .file("app/main.jsonnet", content)
        .file("app/near.libsonnet", "'near'")
        .file("app/near.txt", "text")
        .file("vendor/far.libsonnet", "'far'")
        .file("vendor/near.libsonnet", "'shadowed'");
    let directory = format!(r#"{{"jsonnet":{jsonnet}}}"#);
    assert_eq!(rendered(&tree, &directory, &RenderContext::new("guestbook", "web")), expect);
}

#[test]
fn a_file_stands_for_one_object_or_a_list() {
    check(&map("'x'"), "{}", "m x");
    check(&format!("[{}, {}]", map("'x'"), map("'y'")), "{}", "m x, m y");
    check("[]", "{}", "");
}

#[test]
fn external_variables_are_texts_or_code_with_the_environment_filled_in() {
    let asks = map("'%s' % [std.extVar('a')]");
    check(&asks, r#"{"extVars":[{"name":"a","value":"1+1"}]}"#, "m 1+1");
    check(&asks, r#"{"extVars":[{"name":"a","value":"1+1","code":true}]}"#, "m 2");
    check(&asks, r#"{"extVars":[{"name":"a","value":"$ARGOCD_APP_NAME"}]}"#, "m guestbook");
    check(&asks, r#"{"extVars":[{"name":"a","value":"x"},{"name":"a","value":"last"}]}"#, "m last");
}

#[test]
fn arguments_of_the_top_level_function_are_passed_by_name() {
    let function = format!("function(a, b='default') {}", map("'%s %s' % [a, b]"));
    check(&function, r#"{"tlas":[{"name":"a","value":"x"}]}"#, "m x default");
    check(
        &function,
        r#"{"tlas":[{"name":"a","value":"${ARGOCD_APP_NAMESPACE}"},{"name":"b","value":"2*3","code":true}]}"#,
        "m web 6",
    );
    check(&map("'no function'"), r#"{"tlas":[{"name":"a","value":"x"}]}"#, "m no function");
}

#[test]
fn imports_are_found_beside_the_file_and_in_libraries() {
    check(&map("import 'near.libsonnet'"), r#"{"libs":["vendor"]}"#, "m near");
    check(&map("import 'far.libsonnet'"), r#"{"libs":["vendor"]}"#, "m far");
    check(&map("importstr 'near.txt'"), "{}", "m text");
    check(&map("import '../vendor/far.libsonnet'"), "{}", "m far");
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let at = |place: &str| format!("failed to evaluate jsonnet \"app/main.jsonnet\": {place}");
    check(
        "{\n  a: nope,\n}",
        "{}",
        &at("app/main.jsonnet, line 2, column 6: Unknown variable: nope"),
    );
    check("{a: error 'no'}", "{}", &at("app/main.jsonnet, line 1, column 5: RUNTIME ERROR: no"));
    check(
        &map("import '../../etc/passwd'"),
        "{}",
        &at(
            "app/main.jsonnet, line 1, column 76: RUNTIME ERROR: couldn't open import \"../../etc/passwd\": no match locally or in the Jsonnet library paths",
        ),
    );
    check(
        "local f(x) = 1 + f(x); f(1)",
        "{}",
        &at("app/main.jsonnet, line 1, column 18: RUNTIME ERROR: max stack frames exceeded."),
    );
    check(
        "1",
        "{}",
        &at(
            "failed to unmarshal generated json: expected a mapping with apiVersion and kind, found a number",
        ),
    );
    check(
        "{}",
        r#"{"libs":["../out"]}"#,
        "failed to evaluate jsonnet \"app\": file '../out' resolved to outside repository root",
    );
}

#[test]
fn functions_of_the_standard_library_that_are_ours_answer_as_go_jsonnets() {
    check(&map("std.foldl(function(a, b) a + b + '-', 'xyz', '')"), "{}", "m x-y-z-");
    check(&map("std.foldr(function(a, b) b + a + '-', 'xyz', '')"), "{}", "m z-y-x-");
    check(&map("std.foldl(function(a, b) a + b, ['x', 'y'], '')"), "{}", "m xy");
    check(&map("'%s' % [std.xor(true, false)]"), "{}", "m true");
    check(&map("std.strReplace('a.b', '.', std.thisFile)"), "{}", "m aapp/main.jsonnetb");
    let at = |problem: &str| {
        format!(
            "failed to evaluate jsonnet \"app/main.jsonnet\": app/main.jsonnet, line 1, column 1: RUNTIME ERROR: {problem}"
        )
    };
    check("std.xnor('true', false)", "{}", &at("Unexpected type string, expected boolean"));
    check("std.strReplace('a', '', 'b')", "{}", &at("'from' string must not be zero length."));
}

#[test]
fn jsonnet_can_be_switched_off() {
    let tree = MemoryTree::new().file("app/main.jsonnet", map("'x'"));
    let enabled = EnabledSourceTypes { jsonnet: false, ..Default::default() };
    let context = RenderContext { enabled, ..RenderContext::new("", "") };
    assert_eq!(rendered(&tree, "{}", &context), "");
}

/// Cases that the evaluator answers otherwise than go-jsonnet; see docs/shortcomings.md.
/// `function_no_params` cannot be seen through the object that carries it.
const DIFFERENCES: [&str; 5] = [
    "builtin_escapeStringJson",
    "builtin_manifestTomlEx",
    "function_no_params",
    "pow6",
    "tailstrict3",
];

/// Evaluates every case of the shared suite whose result is JSON.
#[test]
fn shared_cases_give_what_go_jsonnet_gives() {
    let Some(cases) = testkit::cases::read("jsonnet/cases.tsv") else { return };
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases");
    let folder =
        std::env::var_os("ARGOSY_CASES").map_or_else(beside, PathBuf::from).join("jsonnet");
    let tree = tree_of(&folder.join("input"));
    let external = external_variables(&folder);
    let (mut right, mut wrong) = (0, Vec::new());
    for line in cases.lines().skip(1) {
        let mut cells = line.split('\t');
        let (name, arguments, expect) =
            (cells.next().unwrap_or_default(), cells.next().unwrap_or_default(), cells.next());
        if arguments.contains("-S") {
            continue;
        }
        let variables = if arguments.contains("EXTVARS") { external.as_str() } else { "[]" };
        let golden = std::fs::read_to_string(folder.join(format!("golden/{name}.golden")));
        let answer = evaluated(&tree, name, variables);
        let is_right = match (&answer, expect) {
            (Ok(json), Some("ok")) => golden.is_ok_and(|golden| {
                let golden: serde_json::Value = serde_json::from_str(&golden).unwrap_or_default();
                *json == golden
            }),
            (Err(_), Some("error")) => true,
            _ => false,
        };
        if is_right || DIFFERENCES.contains(&name) {
            right += usize::from(is_right);
        } else {
            wrong.push(format!("{name}: {answer:?}"));
        }
    }
    testkit::cases::report("jsonnet", right, &wrong);
}

/// What a program evaluates to, seen through an object that carries it.
fn evaluated(tree: &MemoryTree, name: &str, external: &str) -> Result<serde_json::Value, String> {
    let wrapper = format!(
        "{{apiVersion: 'v1', kind: 'ConfigMap', metadata: {{name: 'm'}}, result: import '{name}.jsonnet'}}"
    );
    let tree = tree.clone().file("app/main.jsonnet", wrapper);
    let text = format!(
        r#"{{"repoURL":"r","path":"app","directory":{{"include":"main.jsonnet","jsonnet":{{"libs":["input"],"extVars":{external}}}}}}}"#
    );
    let source: ApplicationSource = serde_json::from_str(&text).expect("a source");
    let world =
        World { commit: "", facts: &Still, outside: &NothingOutside, refs: BTreeMap::new() };
    let context = RenderContext::new("", "");
    let manifests = render(&tree, &source, &context, &world).0.map_err(|it| it.to_string())?;
    let object = manifests.objects.into_iter().next().ok_or("nothing")?;
    Ok(object.into_value()["result"].take())
}

fn external_variables(folder: &Path) -> String {
    let table = std::fs::read_to_string(folder.join("extvars.tsv")).expect("a table");
    let rows = table.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        serde_json::json!({"name": cells[0], "value": cells[2], "code": cells[1] == "code"})
    });
    serde_json::Value::Array(rows.collect()).to_string()
}

fn tree_of(folder: &Path) -> MemoryTree {
    fn add(mut tree: MemoryTree, folder: &Path, below: &str) -> MemoryTree {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = format!("{below}/{}", entry.file_name().to_string_lossy());
            tree = if entry.path().is_dir() {
                add(tree, &entry.path(), &path)
            } else {
                tree.file(&path, std::fs::read(entry.path()).expect("a file"))
            };
        }
        tree
    }
    add(MemoryTree::new(), folder, "input")
}
