//! Our answers against recorded ones of the Go libraries.
//!
//! `oracle/main.go` asked the libraries (versions in `oracle/go.mod`) and wrote
//! the files in `tests/golden`. A case that they refuse must be refused here;
//! the wording is ours.

use object::GroupVersionKind;
use object::fields::{FieldSet, merge, project, remove};
use object::patch::{merge as json_merge, strategic};
use object::schema::{Schema, Type};
use serde_json::{Map, Value};

type Answer = Result<Value, String>;

#[test]
fn patches_are_those_of_the_library() {
    check_lines(include_str!("golden/strategic.jsonl"), &Schema::default());
}

#[test]
fn field_sets_are_those_of_the_library() {
    let mut widget = Schema::default();
    let document = serde_json::from_str(include_str!("golden/widget.openapi.json")).unwrap();
    widget.add_openapi(&document).unwrap();
    check_lines(include_str!("golden/fields.jsonl"), &widget);
}

#[test]
fn every_pair_and_triple_of_objects_is_patched_as_by_the_library() {
    let variants: Value = serde_json::from_str(include_str!("golden/variants.json")).unwrap();
    let of = type_of(variants["kind"].as_str().unwrap(), Schema::builtin());
    let objects: Vec<Map<String, Value>> =
        variants["objects"].as_array().unwrap().iter().map(map).collect();
    for line in include_str!("golden/variants.answers.jsonl").lines() {
        let expect: Value = serde_json::from_str(line).unwrap();
        let of_objects: Vec<&Map<String, Value>> = expect["of"]
            .as_array()
            .unwrap()
            .iter()
            .map(|index| &objects[usize::try_from(index.as_u64().unwrap()).unwrap()])
            .collect();
        let patch = match of_objects.as_slice() {
            [original, modified] => {
                let patch = strategic::create_two_way(original, modified, of).unwrap();
                let applied = strategic::apply(original, &patch, of).unwrap();
                let expected = without_forgotten_directives(&expect["applied"]);
                assert_eq!(Value::Object(applied), expected, "{}", expect["of"]);
                patch
            }
            [original, modified, current] => {
                strategic::create_three_way(original, modified, current, of).unwrap()
            }
            _ => panic!("a pair or a triple"),
        };
        assert_eq!(Value::Object(patch), expect["patch"], "{}", expect["of"]);
    }
}

#[track_caller]
fn check_lines(lines: &str, custom: &Schema) {
    let mut wrong = Vec::new();
    for line in lines.lines() {
        let case: Value = serde_json::from_str(line).expect("a case per line");
        let expect = match case.get("refused") {
            Some(reason) => Err(reason.to_string()),
            None if case["op"] == "apply" => Ok(without_forgotten_directives(&case["answer"])),
            None => Ok(case["answer"].clone()),
        };
        let found = answer(&case, custom);
        let same = match (&found, &expect) {
            (Ok(found), Ok(expect)) => found == expect,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        if !same {
            wrong.push(format!("{}\n  found  {found:?}\n  expect {expect:?}", case["name"]));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// In values that are new to an object the library leaves some directives
/// standing, and the server drops them as unknown fields; we leave none.
fn without_forgotten_directives(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !name.starts_with('$') || *name == "$patch")
            .map(|(name, value)| (name.clone(), without_forgotten_directives(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(list) => list.iter().map(without_forgotten_directives).collect(),
        scalar => scalar.clone(),
    }
}

fn answer(case: &Value, custom: &Schema) -> Answer {
    let kind = case["kind"].as_str();
    let of = match kind {
        Some(kind) => type_of(kind, custom),
        None => Type::unknown(),
    };
    let (left, right) = (&case["left"], &case["right"]);
    match case["op"].as_str().expect("an operation") {
        "apply" => patched(strategic::apply(&map(&case["original"]), &map(&case["patch"]), of)),
        "two-way" => {
            patched(strategic::create_two_way(&map(&case["original"]), &map(&case["modified"]), of))
        }
        "three-way" => patched(strategic::create_three_way(
            &map(&case["original"]),
            &map(&case["modified"]),
            &map(&case["current"]),
            of,
        )),
        "merge-three-way" => Ok(Value::Object(json_merge::create_three_way(
            &map(&case["original"]),
            &map(&case["modified"]),
            &map(&case["current"]),
        ))),
        "set-of" => FieldSet::of(left, of).map(|set| set.to_json()).map_err(text),
        "union" => Ok(set(left).union(&set(right)).to_json()),
        "intersection" => Ok(set(left).intersection(&set(right)).to_json()),
        "difference" => Ok(set(left).difference(&set(right)).to_json()),
        "difference-with-children" => Ok(set(left).difference_with_children(&set(right)).to_json()),
        "leaves" => Ok(set(left).leaves().to_json()),
        "read" => FieldSet::from_json(left).map(|set| set.to_json()).map_err(text),
        "project" => Ok(project(left, &set(right), of)),
        "remove" => Ok(remove(left, &set(right), of)),
        "merge" => merge(left, right, of).map_err(text),
        other => panic!("unknown operation {other}"),
    }
}

fn patched(result: Result<Map<String, Value>, strategic::PatchError>) -> Answer {
    result.map(Value::Object).map_err(text)
}

fn text(error: impl std::error::Error) -> String {
    error.to_string()
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().expect("a mapping").clone()
}

fn set(value: &Value) -> FieldSet {
    FieldSet::from_json(value).expect("a field set")
}

fn type_of<'s>(kind: &str, custom: &'s Schema) -> Type<'s> {
    let (api_version, kind) = kind.split_once(' ').expect("an apiVersion and a kind");
    let kind = GroupVersionKind::parse(api_version, kind);
    custom.of_kind(&kind).or_else(|| Schema::builtin().of_kind(&kind)).expect("a known kind")
}
