//! The functions of ApplicationSets against answers of the Go libraries (`oracle/`, asked by
//! `cargo xtask bless`): sprig 3.3.0, gosimple/slug 1.15.0, sigs.k8s.io/yaml 1.6.0. The render function
//! of Argo CD 3.6 itself, asked once, gave the same answers to all of them.

use std::rc::Rc;

use serde_json::{Value as Json, json};
use template::{Engine, Functions, Limits, MissingKey, Still, Templates, Value};

/// What the oracle puts below the dot.
fn data() -> Json {
    json!({
        "name": "Feature/ABC_1.",
        "branch": "feat/a_really+long_pull_request_name_to_test_argo_slugification_and_branch_name_shortening_feature",
        "server": "https://10.0.0.1:6443",
        "path": {"path": "apps/web", "segments": ["apps", "web"], "basename": "web"},
        "metadata": {"labels": {"env": "prod", "tier": "1"}},
        // Numbers are floats there, as Go's JSON reads them.
        "number": 3, "part": 2.5, "yes": true, "nothing": null, "list": ["b", "a", "c", "a"],
    })
}

fn execute(text: &str) -> Result<String, String> {
    let mut functions = Functions::sprig();
    functions.add_argo();
    let mut templates = Templates::new();
    templates.parse("t", text.as_bytes(), &functions).map_err(|error| error.to_string())?;
    let engine = Engine {
        functions: &functions,
        missing_key: MissingKey::Nothing,
        limits: Limits::default(),
        facts: &Still,
    };
    let output = engine
        .execute(&Rc::new(templates), "t", &Value::from_json(&data()))
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

#[test]
fn templates_give_what_they_give_in_go() {
    let mut differences = Vec::new();
    let lines = include_str!("golden/applicationset.jsonl");
    for line in lines.lines() {
        let golden: Json = serde_json::from_str(line).expect("a line of a golden file");
        let input = golden["input"].as_str().expect("a template");
        let theirs = match golden["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(golden["value"].as_str().expect("a text").to_owned()),
        };
        let ours = execute(input);
        if ours != theirs {
            differences.push(format!("{input}\n   ours: {ours:?}\n theirs: {theirs:?}\n"));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        lines.lines().count(),
        differences.join("\n")
    );
}
