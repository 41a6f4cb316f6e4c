//! The template language itself: what Go's `text/template` 1.26 prints and how it complains.
//! Expected texts were recorded from that version.

use std::rc::Rc;

use template::{
    Engine, Facts, Functions, Limits, Map, MissingKey, Origin, Still, Templates, Value,
};

fn data() -> Value {
    let inner = Value::map([("b", Value::from("deep")), ("nil", Value::Nil)]);
    Value::map([
        ("name", Value::from("world")),
        ("n", Value::Float(3.0)),
        ("i", Value::int(3)),
        ("list", Value::list(vec![Value::int(1), Value::from("two"), Value::Nil])),
        ("strings", Value::strings(["x", "y"])),
        ("empty", Value::list(vec![])),
        ("a", inner),
        ("null", Value::Nil),
        ("yes", Value::Bool(true)),
    ])
}

fn run(text: &str, missing_key: MissingKey, limits: Limits) -> Result<String, String> {
    let functions = Functions::builtin();
    let mut templates = Templates::new();
    templates.parse("t", text.as_bytes(), &functions).map_err(|error| error.to_string())?;
    let engine = Engine { functions: &functions, missing_key, limits, facts: &Still };
    let output = engine.execute(&Rc::new(templates), "t", &data());
    output
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|error| error.to_string())
}

#[track_caller]
fn check(text: &str, expect: &str) {
    assert_eq!(run(text, MissingKey::Zero, Limits::default()).as_deref(), Ok(expect), "{text}");
}

#[track_caller]
fn refuses(text: &str, expect: &str) {
    let result = run(text, MissingKey::Zero, Limits::default());
    assert_eq!(result.as_ref().map_err(String::as_str), Err(expect), "{text}");
}

#[test]
fn text_passes_through_and_trim_markers_eat_space() {
    check("a {{ 1 }} b", "a 1 b");
    check("a \n {{- 1 -}} \n b", "a1b");
    check("a {{/* note */}} b", "a  b");
    check("a {{- /* note */ -}} b", "ab");
    check("{{\"{{\"}}", "{{");
}

#[test]
fn fields_variables_and_chains_are_read() {
    check("{{ .name }} {{ .a.b }} {{ $.name }} {{ (.a).b }}", "world deep world deep");
    check("{{ $x := .a }}{{ $x.b }}{{ $x = .name }}{{ $x }}", "deepworld");
    check("{{ .missing }}|{{ .null }}", "<no value>|<no value>");
    check("{{ $x := .missing }}{{ $x.y.z }}", "<no value>");
    refuses(
        "{{ .missing.x }}",
        "template: t:1:11: executing \"t\" at <.missing.x>: nil pointer evaluating interface {}.x",
    );
    refuses(
        "\n  {{ .name.x }}",
        "template: t:2:10: executing \"t\" at <.name.x>: can't evaluate field x in type interface {}",
    );
    refuses(
        "{{ with .name }}{{ .x }}{{ end }}",
        "template: t:1:19: executing \"t\" at <.x>: can't evaluate field x in type string",
    );
    refuses(
        "{{ .name 1 }}",
        "template: t:1:3: executing \"t\" at <.name>: name is not a method but has arguments",
    );
}

#[test]
fn missing_keys_follow_the_option() {
    let limits = Limits::default();
    assert_eq!(run("{{ .x.y.z }}", MissingKey::Nothing, limits).as_deref(), Ok("<no value>"));
    assert_eq!(
        run("{{ .x }}", MissingKey::Error, limits),
        Err("template: t:1:3: executing \"t\" at <.x>: map has no entry for key \"x\"".into())
    );
}

#[test]
fn if_and_with_choose_by_truth() {
    check("{{ if .yes }}a{{ else }}b{{ end }}", "a");
    check("{{ if .empty }}a{{ else if .yes }}b{{ else }}c{{ end }}", "b");
    check("{{ with .a }}{{ .b }}{{ end }}{{ with .missing }}x{{ else }}y{{ end }}", "deepy");
    check("{{ with .missing }}x{{ else with .name }}{{ . }}{{ end }}", "world");
    check("{{ if and .yes .name }}t{{ end }}{{ if not .empty }}u{{ end }}", "tu");
}

#[test]
fn range_visits_lists_maps_and_counts() {
    check("{{ range .list }}[{{ . }}]{{ end }}", "[1][two][<no value>]");
    check("{{ range $i, $v := .strings }}{{ $i }}={{ $v }};{{ end }}", "0=x;1=y;");
    check("{{ range $k, $v := .a }}{{ $k }}={{ $v }};{{ end }}", "b=deep;nil=<no value>;");
    check("{{ range .empty }}x{{ else }}none{{ end }}", "none");
    check("{{ range 3 }}{{ . }}{{ end }}{{ range $i := .i }}{{ $i }}{{ end }}", "012012");
    check("{{ range .strings }}{{ if eq . \"y\" }}{{ break }}{{ end }}{{ . }}{{ end }}", "x");
    check(
        "{{ range $i, $_ := .list }}{{ if eq $i 1 }}{{ continue }}{{ end }}{{ $i }}{{ end }}",
        "02",
    );
    check("{{ $x := 0 }}{{ range .strings }}{{ $x = . }}{{ end }}{{ $x }}", "y");
    refuses(
        "{{ range .name }}{{ end }}",
        "template: t:1:9: executing \"t\" at <.name>: range can't iterate over world",
    );
    refuses(
        "{{ range .n }}{{ end }}",
        "template: t:1:9: executing \"t\" at <.n>: range can't iterate over 3",
    );
}

#[test]
fn templates_call_each_other_without_sharing_variables() {
    check(
        "{{ define \"x\" }}<{{ . }}>{{ end }}{{ template \"x\" .name }}{{ template \"x\" }}",
        "<world><<no value>>",
    );
    check("{{ block \"b\" .a }}{{ .b }}{{ end }}", "deep");
    refuses(
        "{{ template \"none\" }}",
        "template: t:1:12: executing \"t\" at <{{template \"none\"}}>: template \"none\" not defined",
    );
}

#[test]
fn pipelines_give_their_value_as_the_last_argument() {
    check("{{ \"x\" | printf \"%s-%s\" \"a\" }}", "a-x");
    check("{{ 1 | printf \"%d %d\" 2 | len }}", "3");
    check("{{ printf \"%v\" (index .list 1) }}", "two");
}

#[test]
fn comparisons_have_gos_types() {
    check(
        "{{ eq 1 1 }} {{ eq .n 3.0 }} {{ lt 1 2 }} {{ ge \"b\" \"a\" }} {{ ne .name \"x\" }}",
        "true true true true true",
    );
    check("{{ eq .missing nil }} {{ eq .name nil }}", "true false");
    refuses(
        "{{ eq .n 3 }}",
        "template: t:1:3: executing \"t\" at <eq .n 3>: error calling eq: incompatible types for comparison: float64 and int",
    );
    refuses(
        "{{ lt true false }}",
        "template: t:1:3: executing \"t\" at <lt true false>: error calling lt: invalid type for comparison",
    );
}

#[test]
fn and_or_evaluate_only_as_far_as_they_must() {
    check("{{ or .yes (index .empty 5) }}", "true");
    check("{{ and .missing (index .empty 5) | printf \"%v\" }}", "<nil>");
    check("{{ and 1 0 2 }} {{ or 0 \"\" \"x\" }}", "0 x");
}

#[test]
fn arguments_are_checked_against_declared_types() {
    refuses("{{ printf 5 }}", "template: t:1:10: executing \"t\" at <5>: expected string; found 5");
    refuses(
        "{{ printf .n }}",
        "template: t:1:10: executing \"t\" at <.n>: wrong type for value; expected string; got float64",
    );
    refuses(
        "{{ printf .missing }}",
        "template: t:1:10: executing \"t\" at <.missing>: wrong type for value; expected string; got interface {}",
    );
    refuses(
        "{{ len }}",
        "template: t:1:3: executing \"t\" at <len>: wrong number of args for len: want 1 got 0",
    );
    refuses(
        "{{ len 3 }}",
        "template: t:1:3: executing \"t\" at <len 3>: error calling len: len of type int",
    );
    refuses("{{ nil }}", "template: t:1:3: executing \"t\" at <nil>: nil is not a command");
    refuses(
        "{{ 1 2 }}",
        "template: t:1:3: executing \"t\" at <1>: can't give argument to non-function 1",
    );
}

#[test]
fn malformed_templates_name_the_line() {
    refuses("{{ bad }}", "template: t:1: function \"bad\" not defined");
    refuses("a\n{{ if }}x{{ end }}", "template: t:2: missing value for if");
    refuses("{{ if .x }}", "template: t:1: unexpected EOF");
    refuses("{{ end }}", "template: t:1: unexpected {{end}}");
    refuses("{{ .x", "template: t:1: unclosed action");
    refuses("{{ .x\n", "template: t:2: unclosed action started at t:1");
    refuses("{{ \"abc }}", "template: t:1: unterminated quoted string");
    refuses("{{ $x }}", "template: t:1: undefined variable \"$x\"");
    refuses("{{ (1 }}", "template: t:1: unclosed left paren");
    refuses("{{ 1 | 2 }}", "template: t:1: non executable command in pipeline stage 2");
    refuses("{{ break }}", "template: t:1: {{break}} outside {{range}}");
    refuses("{{ .x$ }}", "template: t:1: bad character U+0024 '$'");
    refuses("{{ template x }}", "template: t:1: unexpected \"x\" in template clause");
    refuses("{{ 1.x }}", "template: t:1: bad number syntax: \"1.x\"");
    refuses("{{/* x }}", "template: t:1: unclosed comment");
    refuses(
        "{{ if .a }}{{ else }}{{ else }}{{ end }}",
        "template: t:1: expected end; found {{else}}",
    );
    refuses("{{ \"a\".b }}", "template: t:1: unexpected . after term \"\\\"a\\\"\"");
}

#[test]
fn numbers_keep_the_type_their_spelling_gives_them() {
    check("{{ printf \"%T %T %T %T\" 1 1.0 0x10 'a' }}", "int float64 int int");
    check(
        "{{ 1e3 }} {{ 1234567.0 }} {{ 0x1F }} {{ 010 }} {{ 1_000 }}",
        "1000 1.234567e+06 31 8 1000",
    );
}

#[test]
fn endless_templates_stop_at_a_limit() {
    let limits = Limits { depth: 50, steps: 10_000, output: 1 << 16, ..Limits::default() };
    let message = |text: &str| run(text, MissingKey::Zero, limits).expect_err("must be refused");
    assert!(
        message("{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" . }}")
            .ends_with("exceeded maximum template depth (50)")
    );
    assert!(message("{{ range 1000000000 }}{{ end }}").ends_with("more than 10000 steps"));
    assert!(
        message("{{ range 1000 }}{{ printf \"%1000d\" 1 }}{{ end }}")
            .ends_with("longer than 65536 bytes")
    );
}

#[test]
fn maps_are_shared_between_the_names_that_hold_them() {
    let map = Map::new([("a", Value::int(1))]);
    let other = map.clone();
    other.set("b", Value::int(2));
    assert_eq!(map.entries().len(), 2);
}

/// A world in which nobody waits any more.
struct Over;

impl Facts for Over {
    fn now(&self) -> i128 {
        0
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn is_over(&self) -> bool {
        true
    }
}

#[test]
fn a_run_ends_when_its_time_is_over() {
    let functions = Functions::builtin();
    let mut templates = Templates::new();
    templates.parse("t", b"{{ range 1000000 }}{{ end }}", &functions).expect("a template");
    let (missing_key, limits) = (MissingKey::Zero, Limits::default());
    let engine = Engine { functions: &functions, missing_key, limits, facts: &Over };
    let error = engine.execute(&Rc::new(templates), "t", &data()).expect_err("must end");
    assert_eq!(error.origin(), Origin::Limit);
    assert!(error.to_string().ends_with("template takes too long"), "{error}");
}
