//! Expressions, what they are put to and what is left.

use serde_json::json;

use super::*;

#[track_caller]
fn check(expression: &str, value: Value, expect: Value) {
    let expression = PathExpression::parse(expression).expect("a readable expression");
    assert_eq!(delete(&value, &expression), Ok(expect));
}

fn containers() -> Value {
    json!({"spec": {"containers": [
        {"name": "app", "image": "a:1", "env": [{"name": "A", "value": "1"}]},
        {"name": "sidecar", "image": "s:1"},
    ]}})
}

#[test]
fn a_path_names_a_field() {
    check(".a.b", json!({"a": {"b": 1, "c": 2}}), json!({"a": {"c": 2}}));
    check(r#"."a"["b"]"#, json!({"a": {"b": 1}}), json!({"a": {}}));
    check(".a.missing.too", json!({"a": {}}), json!({"a": {}}));
    check(
        r#".metadata.annotations."a/b""#,
        json!({"metadata": {"annotations": {"a/b": "1"}}}),
        json!({"metadata": {"annotations": {}}}),
    );
}

#[test]
fn all_elements_or_some_of_them_can_be_meant() {
    check(".a[]", json!({"a": [1, 2, 3]}), json!({"a": []}));
    check(".a[1]", json!({"a": [1, 2, 3]}), json!({"a": [1, 3]}));
    check(".a[-1]", json!({"a": [1, 2, 3]}), json!({"a": [1, 2]}));
    check(".a[1:]", json!({"a": [1, 2, 3]}), json!({"a": [1]}));
    check(".a[] | select(. > 1)", json!({"a": [1, 2, 3]}), json!({"a": [1]}));
}

#[test]
fn conditions_choose_among_elements() {
    let without_sidecar = json!({"spec": {"containers": [containers()["spec"]["containers"][0]]}});
    check(
        r#".spec.containers[] | select(.name == "sidecar")"#,
        containers(),
        without_sidecar.clone(),
    );
    check(
        r#".spec.containers[] | select(.name | startswith("side"))"#,
        containers(),
        without_sidecar.clone(),
    );
    check(
        r#".spec.containers[] | select(.name | test("^side.*r$"))"#,
        containers(),
        without_sidecar.clone(),
    );
    check(
        r#".spec.containers[] | select(.name != "app" and (.env | not))"#,
        containers(),
        without_sidecar.clone(),
    );
    check(r#".spec.containers[] | select(has("env") | not)"#, containers(), without_sidecar);
    check(
        r#".spec.containers[].env[]? | select(.name == "A") | .value"#,
        json!({"spec": {"containers": [{"env": [{"name": "A", "value": "1"}]}]}}),
        json!({"spec": {"containers": [{"env": [{"name": "A"}]}]}}),
    );
}

#[test]
fn several_paths_can_be_named_at_once() {
    check(".a, .b", json!({"a": 1, "b": 2, "c": 3}), json!({"c": 3}));
    check(".. | .x?", json!({"x": 1, "a": {"x": 2}, "b": [{"x": 3}]}), json!({"a": {}, "b": [{}]}));
}

#[test]
fn what_does_not_fit_is_an_error_and_not_a_guess() {
    let expression = PathExpression::parse(".a[]").expect("readable");
    assert_eq!(
        delete(&json!({"a": 1}), &expression),
        Err(RunError::WrongType { what: "iterate over", kind: "number" })
    );
    let values = PathExpression::parse("1").expect("readable");
    assert_eq!(delete(&json!({}), &values), Err(RunError::NoPath));
}

#[test]
fn what_could_run_for_ever_is_not_read() {
    for hostile in [
        "def f: f; f",
        "reduce range(9) as $i (0; 1)",
        "recurse(.)",
        "until(false; .)",
        "input",
        "repeat(.)",
    ] {
        assert!(PathExpression::parse(hostile).is_err(), "{hostile}");
    }
    let deep = ["(", "[", "try ", "if . then . elif ", "first("];
    for deep in deep.map(|it| it.repeat(9_900 / it.len())) {
        assert!(PathExpression::parse(&deep).is_err());
    }
    for chain in [".a", ",.a", "//.a", " or .a", "|.a", "[0]", "?"] {
        let chain = format!(".a{}", chain.repeat(9_000 / chain.len()));
        assert_eq!(PathExpression::parse(&chain), Err(ParseError::TooLarge), "{chain:.20}");
    }
}

#[test]
fn nothing_of_the_host_is_within_reach() {
    for curious in [
        "env.HOME",
        "$ENV.HOME",
        "$__loc__",
        "now",
        "input_filename",
        "$home",
        "debug",
        "input_line_number",
    ] {
        assert!(PathExpression::parse(curious).is_err(), "{curious}");
    }
}

#[test]
fn elements_are_chosen_by_what_they_hold() {
    let annotated = |annotations: Value| json!({"metadata": {"annotations": annotations}, "spec": {"replicas": 3}});
    let stripped =
        |annotations: Value| json!({"metadata": {"annotations": annotations}, "spec": {}});
    let (yes, no) = (json!({"scale/by": "hpa"}), json!({"owner": "ann"}));
    for condition in [
        r#"(.metadata.annotations // {}) | has("scale/by")"#,
        r#".metadata.annotations | to_entries | any(.key | startswith("scale/"))"#,
        r#"[.metadata.annotations | keys[] | select(test("^SCALE/"; "i"))] | length > 0"#,
        r#".metadata.annotations | keys | index("scale/by") != null"#,
        r#"any(.metadata.annotations[]; . == "hpa")"#,
        r#".metadata.annotations["scale/by"] | IN("hpa", "keda")"#,
        r#".metadata.annotations | map(.) | ["hpa"] | inside(["hpa", "keda"])"#,
        r#"(.metadata.annotations | with_entries(select(.key | endswith("/by"))) | length) == 1"#,
        r#".metadata.annotations | .["scale/by"] as $by | $by == "hpa" and ($by | type == "string")"#,
        r#"[.metadata.annotations[] | strings | split("p") | join("-")] | first == "h-a""#,
        r#".metadata.annotations | keys | map(ltrimstr("scale/")) | unique == ["by"]"#,
        r#"try (.metadata.annotations["scale/by"] | tonumber) // "no number" | . == "no number""#,
    ] {
        let expression = format!("select({condition}) | .spec.replicas");
        check(&expression, annotated(yes.clone()), stripped(yes.clone()));
        let is_about_others = condition.contains("inside") || condition.contains("tonumber");
        if !is_about_others {
            check(&expression, annotated(no.clone()), annotated(no.clone()));
        }
    }
}

#[test]
fn branches_and_names_lead_to_fields() {
    let value = json!({"kind": "Rollout", "spec": {"replicas": 3, "size": 1}});
    let without = |name: &str| {
        let mut value = value.clone();
        value["spec"].as_object_mut().expect("a mapping").remove(name);
        value
    };
    check(
        r#".kind as $kind | if $kind == "Rollout" then .spec.replicas elif . then .kind else empty end"#,
        value.clone(),
        without("replicas"),
    );
    check(r#"getpath(["spec", "size"])"#, value.clone(), without("size"));
    check("first(.spec.size, .spec.replicas)", value.clone(), without("size"));
    check("last(.spec.size, .spec.replicas)", value.clone(), without("replicas"));
    check("first", json!([1, 2, 3]), json!([2, 3]));
    check("last", json!([1, 2, 3]), json!([1, 2]));
    check(".[] | numbers", json!([1, "a", {}]), json!(["a", {}]));
    check(".[] | iterables", json!([1, "a", {}]), json!([1, "a"]));
    check(".a, .b as $b | .c", json!({"a": 1, "b": 2, "c": 3, "d": 4}), json!({"b": 2, "d": 4}));
}

#[test]
fn what_is_made_is_paid_for() {
    let doubling = format!("[.]{} | .a", " | [.[], .[]]".repeat(60));
    let expression = PathExpression::parse(&doubling).expect("readable");
    assert_eq!(delete(&json!({"a": 1}), &expression), Err(RunError::TooLong));
    let pairs = PathExpression::parse("select(contains(.)) | .a").expect("readable");
    let large: Value = (0..2_000).map(Value::from).collect();
    assert_eq!(delete(&large, &pairs), Err(RunError::TooLong));
}

#[test]
fn many_steps_are_too_many() {
    let expression = PathExpression::parse(".. | .. | .. | .. | .. | .a?").expect("readable");
    let nested = (0..60).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(delete(&nested, &expression), Err(RunError::TooLong));
}

#[test]
fn conditions_may_count_and_put_texts_together() {
    let value =
        json!({"a": 7, "b": "web", "list": [3, 1, 2], "nested": {"x": {"y": 1}}, "gone": 0});
    let without = {
        let mut value = value.clone();
        value.as_object_mut().expect("a mapping").remove("gone");
        value
    };
    for condition in [
        ".a + 1 == 8",
        ".a - 2 * 3 == 1",
        "(.a - 2) * 3 == 15",
        "-.a + 7 == 0",
        ".a - -1 == 8",
        ".a/2 == 3.5",
        ".a / 7 | tostring == \"1\"",
        ".a % 4 == 3 and -7 % 4 == -3",
        "1e3 == 1000 and 1.5e+1 == 15",
        ".b + \"-\" + \"x\" == \"web-x\"",
        "2 * .b == \"webweb\" and (.b * 0 == \"\") and (.b * -1 == null)",
        r#""\(.b)-\(.a + 1)" == "web-8""#,
        r#""\(.list[0])\("a\("b")")" == "3ab""#,
        "\"a,b\" / \",\" == [\"a\", \"b\"]",
        ".list + [4] == [3, 1, 2, 4] and .list - [1] == [3, 2]",
        "null + .a == .a and .a + null == .a",
        "{a: 1} + {b: 2, a: 3} == {a: 3, b: 2}",
        ".nested * {x: {z: 2}} == {x: {y: 1, z: 2}}",
        r#"{a, "b": .b, (.b): 1, "k\(.a)": 2} == {"a": 7, "b": "web", "web": 1, "k7": 2}"#,
        ".a as $a | {$a} == {a: 7}",
        "[{n: (1, 2)}] == [{n: 1}, {n: 2}]",
        "{a: .list | length} == {a: 3}",
        "(.list | add) == 6 and (.list | min) == 1 and (.list | max) == 3",
        "(.list | sort_by(-.)) == [3, 2, 1] and (.list | max_by(. % 3)) == 2",
        "([{k: 1, v: 1}, {k: 1, v: 2}] | group_by(.k) | map(length)) == [2]",
        "([{k: 1, v: 1}, {k: 1, v: 2}] | unique_by(.k) | length) == 1",
        "([range(3)] == [0, 1, 2]) and ([range(5; 1; -2)] == [5, 3])",
        "[limit(2; .list[])] == [3, 1] and nth(1; .list[]) == 1",
        "[path(.nested.x)] == [[\"nested\", \"x\"]]",
        "([paths] | length) == 10 and [paths(type == \"object\")] == [[\"nested\"], [\"nested\", \"x\"]]",
        "(.list | map_values(. + 1)) == [4, 2, 3] and ({a: 1, b: 2} | map_values(select(. > 1))) == {b: 2}",
        "(.b | sub(\"(?<first>.)\"; \"<\\(.first)>\")) == \"<w>eb\" and (\"aXbX\" | gsub(\"x\"; \"\"; \"i\")) == \"ab\"",
        "([[1, [2]], 3] | flatten) == [1, 2, 3] and ([[1, [2]]] | flatten(1)) == [1, [2]]",
        "(.list | reverse) == [2, 1, 3] and (.a / 2 | floor) == 3 and (\" x \" | trim) == \"x\"",
        "(\"[1]\" | fromjson) == [1] and ([1] | tojson) == \"[1]\" and (.a | @text) == \"7\"",
        "isempty(empty) and (isempty(.a) | not)",
    ] {
        let expression = format!("select({condition}) | .gone");
        let read = PathExpression::parse(&expression);
        let read = read.unwrap_or_else(|error| panic!("{condition}: {error}"));
        assert_eq!(delete(&value, &read).as_ref(), Ok(&without), "{condition}");
    }
}

#[test]
fn what_cannot_be_counted_says_why() {
    let failing = |expression: &str| {
        let read = PathExpression::parse(expression).expect("readable");
        delete(&json!({"a": {}, "list": []}), &read).expect_err("a failure").to_string()
    };
    assert_eq!(failing("select(.a + 1)"), "cannot add number");
    assert_eq!(failing("select(.a - 1)"), "cannot subtract from object");
    assert_eq!(failing("select(1 / 0)"), "cannot divide by zero");
    assert_eq!(failing("select(1 % 0)"), "cannot divide by zero");
    assert_eq!(failing("select({(.a): 1})"), "cannot make a key of object");
    assert_eq!(failing("range(0; 9; 0)"), "cannot count by zero");
}

#[test]
fn what_changes_something_or_loops_is_refused_by_name() {
    let refused = |expression: &str| PathExpression::parse(expression).unwrap_err().to_string();
    assert_eq!(
        refused("reduce .[] as $x (0; . + $x)"),
        "reduce/0 is not among the jq functions that may be used for paths"
    );
    assert_eq!(
        refused("@base32d"),
        "@base32d/0 is not among the jq functions that may be used for paths"
    );
    for assigning in [".a = 1", ".a |= 1", ".a += 1", ".a -= 1", ".a *= 1", ".a /= 1", ".a //= 1"] {
        assert!(refused(assigning).contains("was not expected"), "{assigning}");
    }
}

#[test]
fn what_grows_is_paid_for() {
    for growing in [
        "select(\"a\" * 1000000000) | .a",
        "[range(1e9)] | .a",
        "select([range(1000)] - [range(1000)]) | .a",
        &format!("\"aaaaaaaa\"{} | .a", " | . + .".repeat(60)),
        &format!("{{a: 1}}{} | .a", " | {a: ., b: .}".repeat(40)),
        &format!("\"a\"{} | .a", r#" | "\(.)\(.)""#.repeat(60)),
        &format!(
            "{{{}}} | .a",
            (0..30).map(|it| format!("k{it}: (1, 2)")).collect::<Vec<_>>().join(", ")
        ),
        "[range(100000) | [.]] | add | add | .a",
    ] {
        let expression = PathExpression::parse(growing).expect("readable");
        assert_eq!(delete(&json!({"a": 1}), &expression), Err(RunError::TooLong), "{growing:.60}");
    }
}
