//! The health of Kubernetes' own kinds: `health.txt` is the list of cases.

use engine::health::{BuiltinOnly, health};
use object::{Object, patch};
use serde_json::{Value, json};

#[test]
fn kubernetes_own_kinds_are_judged_as_told() {
    let mut kind = ("", "");
    let mut wrong = Vec::new();
    for line in include_str!("health.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(named) = line.strip_prefix("= ") {
            kind = named.split_once(' ').expect("apiVersion and kind");
        } else if let Some((change, expect)) = line.split_once(" => ") {
            let found = judged(kind, change);
            if found != expect {
                wrong.push(format!("{} {change}\n  told  {expect}\n  found {found}", kind.1));
            }
        } else {
            assert!(line.is_empty(), "not a case: {line}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn judged((api_version, kind): (&str, &str), change: &str) -> String {
    let change: Value = serde_json::from_str(change).expect("JSON");
    let bare = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "it"}});
    let object = Object::from_value(patch::merge::apply(&bare, &change)).expect("an object");
    match health(&object, &BuiltinOnly) {
        None => "none".to_owned(),
        Some(it) if it.message.is_empty() => it.code.name().to_owned(),
        Some(it) => format!("{}: {}", it.code.name(), it.message),
    }
}
