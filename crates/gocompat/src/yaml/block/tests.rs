//! Texts for the short way, and the law that it gives what the long way gives.

use proptest::prelude::*;

use super::super::load::first_document;
use super::*;

fn both(text: &str, duplicate_keys: DuplicateKeys) -> (Option<Value>, Option<Value>) {
    let limits = Limits::default();
    let long = first_document(text, duplicate_keys, limits).ok();
    (document(text, duplicate_keys, limits), long)
}

/// The short way reads it, and as the long way does.
#[track_caller]
fn check(text: &str) {
    let (short, long) = both(text, DuplicateKeys::Refused);
    assert!(short.is_some(), "takes the long way: {text:?}");
    assert_eq!(short, long, "{text:?}");
}

/// The parser decides.
#[track_caller]
fn check_long(text: &str) {
    assert_eq!(both(text, DuplicateKeys::LastWins).0, None, "{text:?}");
}

#[test]
fn manifests_take_the_short_way() {
    check("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web # ours\ndata:\n  a: \"1\"\n");
    check("---\n# a comment\nspec:\n  ports:\n  - port: 80\n    name: http\n  - port: 443\n");
    check("-");
    check("a:\n  - - 1\n    - 2\n  -\n    b: yes\n  - c:\n      - ~\nd:\ne: -1\n");
    check(
        "command: [\"sh\", '-c', run]\nselector: {app: web, tier: {a: 1}}\nempty: []\nnone: {}\n",
    );
    check("image: registry.example/web:1.2@sha256:00\nurl: http://x/#y\ncron: '*/5 * * * *'\n");
}

#[test]
fn scalars_of_several_lines_take_the_short_way() {
    check("a: |\n  one\n\n    two\n  # three\n\n\nb: |-\n  x\nc: |+\n  y\n\n");
    check("a: >-\n  one\n  two\nb: >\n  three\n");
    check("a: one\n  two # three\nb: one\n\n\n  two\n");
    check("a: 'one\n  it''s\n\n  two'\nb: \"x\\n\\u00e9\\\"\"\n");
    check("- a\n  b\n- |\n c\n");
}

#[test]
fn keys_are_what_they_are_the_long_way() {
    check("1: a\ntrue: b\n\"x y\": c\n'z': d\n1.5: e\nan key: f\nhttp://x: g\n");
}

#[test]
fn what_needs_a_parser_takes_the_long_way() {
    for text in [
        "",
        "# nothing\n",
        "text\n",
        "[a]\n",
        "a: &x 1\nb: *x\n",
        "a: !!str 1\n",
        "<<: {a: 1}\n",
        "? a\n: b\n",
        "a: b: c\n",
        "a: 1\n---\nb: 2\n",
        "a: 1\n...\n",
        "%YAML 1.1\n",
        "a:\tb\n",
        "a: |2\n  x\n",
        "a: [b,\n c]\n",
        "a: \"b\n  c\"\n",
        "a: 'b\nc'\n",
        "a: |\n  no end",
        "~: 1\n",
        "a: 1\n b: 2\n",
        "a: 1\n- b\n",
        "- a\nb: 1\n",
        "a: \"\\/\"\n",
        "a: \"x\"y\n",
        " a: 1\n",
        "a : 1\n",
        "a: \u{2028}\n",
        "a: \u{85}\n",
        "\u{feff}a: 1\n",
        "a: - b\n",
        "a: [b,]\n",
        "a: {b}\n",
        "a: .inf\n",
        "a: {b",
        "a: [b",
        "a: {\"b\"",
        "\"a\"",
        "'a'",
        "a: '",
        "a: \"",
        "a: |",
        "a: >-",
    ] {
        check_long(text);
    }
}

#[test]
fn a_key_that_is_there_twice_is_left_to_the_long_way_where_it_is_refused() {
    let text = "a: 1\na: 2\n";
    let (short, long) = both(text, DuplicateKeys::LastWins);
    assert_eq!(short, long);
    assert_eq!(both(text, DuplicateKeys::Refused), (None, None));
}

#[test]
fn limits_hold() {
    let deep = (0..120).fold(String::new(), |it, depth| it + &" ".repeat(depth) + "a:\n");
    check_long(&deep);
    let limits = Limits { max_values: 4, ..Limits::default() };
    let read = |text: &str| document(text, DuplicateKeys::LastWins, limits);
    assert!(read("a: [1]\n").is_some() && read("a: [1, 2]\n").is_none());
    assert!(first_document("a: [1]\n", DuplicateKeys::LastWins, limits).is_ok());
    assert!(first_document("a: [1, 2]\n", DuplicateKeys::LastWins, limits).is_err());
}

/// Texts put together from what manifests consist of, most of them odd.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        "key: ",
        "key:",
        "- ",
        "-",
        "\n",
        "\n",
        "\n  ",
        "\n    ",
        "\n  - ",
        "\n- ",
        " ",
        "  ",
        ": ",
        ":",
        "#",
        " # c",
        "|",
        "|-",
        "|+",
        ">",
        ">-",
        "|\n  ",
        "'",
        "\"",
        "''",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ",",
        "1",
        "-1",
        "0x1f",
        "1.50",
        "yes",
        "null",
        "~",
        "<<",
        "<<: ",
        "&x ",
        "*x",
        "!t ",
        "%",
        "@",
        "`",
        "?",
        "? ",
        "---",
        "...",
        "\\n",
        "\\u0041",
        "\\",
        "é",
        "\u{a0}",
        "\u{85}",
        "\t",
        "\r\n",
        "a: b\n",
        "  c: d\n",
        "- e: f\n",
        "  g: 'h'\n",
        "i: [j, k]\n",
        "l: {m: n}\n",
        "{a",
        "{\"a\"",
        "['a'",
        "x:\n",
        "    y\n",
        "\n\n",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Texts that are nearly manifests.
fn manifest() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "a",
        "a b",
        "1",
        "'x'",
        "\"y\"",
        "|\n      t\n     u\n",
        "|-\n        t\n\n        u",
        "",
        "[p, q]",
        "{r: s}",
        ">\n        v\n        w",
        "a\n        b",
        "a # c",
        "\"\\\"\"",
        "'\n       '",
        "|+\n\n        z\n\n",
    ]);
    let line = (
        0..5usize,
        prop::bool::ANY,
        prop::sample::select(vec!["k", "l", "m n", "\"o\"", "1"]),
        scalar,
    )
        .prop_map(|(depth, dash, key, scalar)| {
            let dash = if dash { "- " } else { "" };
            format!("{}{dash}{key}: {scalar}\n", "  ".repeat(depth))
        });
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn the_short_way_gives_what_the_long_way_gives(text in prop_oneof![text(), manifest()]) {
        for duplicate_keys in [DuplicateKeys::LastWins, DuplicateKeys::Refused] {
            let (short, long) = both(&text, duplicate_keys);
            if short.is_some() {
                prop_assert_eq!(short, long);
            }
        }
    }
}
