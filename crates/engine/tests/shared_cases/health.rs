//! The kinds of `health/builtin.tsv`.

use engine::health::{BuiltinOnly, health};
use object::Object;
use testkit::cases;

#[test]
fn builtin_health() {
    let Some(table) = cases::read("health/builtin.tsv") else { return };
    let mut failures = Vec::new();
    let mut passed = 0;
    for row in cases::rows(&table) {
        let Some(text) = cases::read(&format!("health/builtin/{}", row[0])) else { continue };
        let (code, message) = judge(&text);
        if code == row[1] && (row[2] == "*" || message == row[2]) {
            passed += 1;
        } else {
            failures.push(format!("{row:?}\n  found {code} {message:?}"));
        }
    }
    cases::report("health/builtin", passed, &failures);
}

fn judge(text: &str) -> (&'static str, String) {
    let documents = gocompat::yaml::documents(text).expect("YAML");
    let (first, _) = documents.into_iter().next().expect("a document");
    let object = Object::from_value(first).expect("an object");
    match health(&object, &BuiltinOnly) {
        Some(health) => (health.code.name(), health.message),
        None => ("(none)", String::new()),
    }
}
