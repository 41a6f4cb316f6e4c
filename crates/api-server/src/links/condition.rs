//! Conditions of links, in the expression language that Argo CD uses for them.
//!
//! Understood are texts, numbers, `true`, `false`, `nil`, lists, fields (`a.b`,
//! `a?.b`, `a["b"]`, `a[0]`, `a[1:]`), comparisons, `and`/`&&`, `or`/`||`, `not`/`!`,
//! `in`, `contains`, `startsWith`, `endsWith`, `matches`, `+ - * / %`, `a ? b : c`,
//! `a ?? b`, `a | f()`, the functions that `functions` lists, and those that ask
//! something of each member: `any(list, # == 1)`. Anything else of the language is
//! refused by name: an expression here always ends, and soon.

mod evaluate;
mod functions;
mod read;

use evaluate::{Evaluation, Failure};
use serde_json::{Map, Value};

/// No condition is longer.
const LENGTH_LIMIT: usize = 4_000;

/// Does the condition hold for these objects?
///
/// # Errors
/// What cannot be understood, or does not come to a yes or no.
pub(super) fn holds(condition: &str, objects: &Map<String, Value>) -> Result<bool, String> {
    if condition.len() > LENGTH_LIMIT {
        return Err(format!("the condition is longer than {LENGTH_LIMIT} bytes"));
    }
    match Evaluation::of(objects).value(&read::read(condition)?) {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(other) => Err(format!("comes to {other}, which is neither true nor false")),
        Err(Failure::Told(told)) => Err(told),
        Err(Failure::Nothing) => Err("comes to nil, which is neither true nor false".into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(condition: &str) -> Result<bool, String> {
        let objects = json!({
            "app": {"metadata": {"name": "web", "labels": {"tier": "gold"}}, "spec": {"project": "shop"}},
            "resource": {"kind": "Pod", "spec": {"replicas": 3, "images": ["a", "b"]},
                "ports": [{"name": "ssh", "number": 22}, {"name": "web", "number": 443}]},
        });
        holds(condition, objects.as_object().expect("objects"))
    }

    #[track_caller]
    fn check(condition: &str, expect: bool) {
        assert_eq!(judged(condition), Ok(expect), "{condition}");
    }

    #[test]
    fn fields_are_compared() {
        check(r#"app.spec.project == "shop""#, true);
        check(r#"resource.kind == 'Pod' && resource.spec.replicas >= 3"#, true);
        check(r#"resource.kind != "Pod" or app.metadata.labels["tier"] == "gold""#, true);
        check(r#"app.metadata.labels.other == nil"#, true);
        check(r#"not (resource.spec.replicas < 3)"#, true);
        check("resource.spec.replicas == 3.0", true);
    }

    #[test]
    fn texts_and_lists_are_searched() {
        check(r#"app.metadata.name contains "e" and app.metadata.name startsWith "w""#, true);
        check(r#"app.metadata.name matches "^w.b$""#, true);
        check(r#""a" in resource.spec.images"#, true);
        check(r#""c" not in resource.spec.images"#, true);
        check(r#""tier" in app.metadata.labels"#, true);
        check(r#"app.metadata.name in ["db", "web"]"#, true);
        check(r#"resource.spec.images[1] == "b" && len(resource.spec.images) == 2"#, true);
        check(r#"app.spec.project + "/" + app.metadata.name == "shop/web""#, true);
        check(r#"app.metadata.annotations?.x == nil"#, true);
        check(r#"(app.metadata.annotations?.x ?? "none") == "none""#, true);
        check(r#"resource.kind == "Pod" ? true : false"#, true);
    }

    #[test]
    fn what_is_decided_already_is_not_asked() {
        check(r#"app.status != nil && app.status.sync.status == "Synced""#, false);
        check(r#"app.status == nil || app.status.sync.status == "Synced""#, true);
        check(r#"app.status == nil ? true : app.status.sync.status == "Synced""#, true);
        check(r#"app.status?.sync.status == nil"#, true);
        check(r#"app.status?.["sync"].status == nil"#, true);
    }

    #[test]
    fn members_of_lists_are_asked_one_by_one() {
        check(r##"any(resource.spec.images, # == "b")"##, true);
        check(r##"all(resource.spec.images, {len(#) == 1})"##, true);
        check(r##"none(resource.spec.images, # startsWith "c")"##, true);
        check(r##"one(resource.spec.images, # in ["a"])"##, true);
        check(r##"count(resource.spec.images, true) == 2"##, true);
        check(r##"filter(resource.spec.images, # != "a") == ["b"]"##, true);
        check(r##"map(resource.spec.images, upper(#)) == ["A", "B"]"##, true);
        check(r##"any(resource.ports, .name == "web" && .number > 80)"##, true);
        check(r##"find(resource.ports, .number < 80).name == "ssh""##, true);
        check(r##"any([], #.a.b == 1)"##, false);
    }

    #[test]
    fn functions_and_parts() {
        check(r#"lower("Web") == app.metadata.name"#, true);
        check(r#"app.metadata.name | upper() == "WEB""#, true);
        check(r#"app.metadata.name | upper() | lower() == "web""#, true);
        check(r#"split("a/b/c", "/")[1] == "b" and join(["a", "b"], "-") == "a-b""#, true);
        check(r#"trimPrefix("v1.2", "v") == "1.2" and hasSuffix("v1.2", ".2")"#, true);
        check(r#"replace("a.b.c", ".", "-") == "a-b-c" and trim(" a ") == "a""#, true);
        check(
            r#"string(resource.spec.replicas) == "3" and int("3") == resource.spec.replicas"#,
            true,
        );
        check(r#"resource.spec.images[-1] == "b" and resource.spec.images[:1] == ["a"]"#, true);
        check(r#"app.metadata.name[1:] == "eb" and first(resource.spec.images) == "a""#, true);
        check(r#"indexOf("abc", "c") == 2 and indexOf("abc", "x") == -1"#, true);
        check(
            r#""tier" in keys(app.metadata.labels) and "gold" in values(app.metadata.labels)"#,
            true,
        );
        check("1 + 2 * 3 == 7 and 7 % 4 == 3 and 8 / 2 - 1 == 3", true);
        check("not true == false", true);
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        let told = |condition: &str| judged(condition).expect_err("refused");
        assert_eq!(
            told("duration(resource.spec.images)"),
            "the function duration is not supported"
        );
        assert_eq!(told("lower(1)"), "the function lower does not take (1.0)");
        assert_eq!(told("app.name.trim()"), "the function trim is not supported");
        assert_eq!(told("app.status.sync.status == 1"), "cannot fetch sync from null");
        assert_eq!(told(r#""shop""#), "comes to \"shop\", which is neither true nor false");
        assert_eq!(told("app.metadata.name == "), "the condition ends too soon");
        assert_eq!(told("1 == 1 1"), "unexpected Number(1.0)");
        assert!(judged("'").is_err() && judged("a ; b").is_err() && judged("").is_err());
    }

    #[test]
    fn deep_and_long_conditions_end_soon() {
        assert!(judged(&"(".repeat(3_000)).is_err());
        assert!(judged(&"!".repeat(3_000)).is_err());
        assert!(judged(&"a".repeat(5_000)).is_err());
        let list = format!("[{}]", "1,".repeat(300));
        let nested = format!("any({list}, any({list}, any({list}, # == 2)))");
        assert_eq!(judged(&nested), Err("the condition takes too long".to_owned()));
        let long = format!("len(replace({0:?}, \"a\", {0:?})) > 0", "a".repeat(1_500));
        assert!(judged(&long).is_err());
    }
}
