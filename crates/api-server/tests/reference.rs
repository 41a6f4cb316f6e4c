//! Compares our methods and messages with the tables of Argo CD's: every method with its REST
//! forms, and every field of every message with its number and its name in JSON.
//!
//! A field is set in one form and looked for in the other, so that what is compared is what goes
//! over the wire. The tables lie beside the case folder that `ARGOSY_CASES` names (default
//! `../shared/cases` from the root of the project); without them the tests say so and pass.

use std::collections::{BTreeMap, BTreeSet};

use api_server::forms;
use serde_json::{Value, json};
use testkit::cases;

/// Methods that Argo CD does not have.
const OURS: &[&str] = &["/argosy.DecisionService/GetRecord"];

/// Fields of answers that JSON does not show, and why.
const EXCUSED: &[(&str, &str)] = &[
    ("v1alpha1.ConfigManagementPlugin.", "no Argo CD since 2.8 fills settings with plugins"),
    ("v1alpha1.Command.", "the commands of those plugins"),
    ("v1alpha1.OverrideIgnoreDiff.", "a YAML text in JSON, as in Argo CD"),
];

struct Method {
    path: String,
    request: String,
    response: String,
    /// Verb and path, where the table names one.
    rest: Option<(String, String)>,
}

#[derive(Clone)]
struct Field {
    number: u32,
    json: String,
    kind: String,
    label: String,
}

type Messages = BTreeMap<String, Vec<Field>>;

#[test]
fn every_method_is_there_under_both_names() {
    let Some((methods, _)) = tables() else { return };
    let (ours, operations) = (forms::methods(), forms::operations());
    let mut failures = Vec::new();
    let mut total = 0;
    for method in &methods {
        total += 1;
        if !ours.contains(&method.path.as_str()) {
            failures.push(format!("{} is missing", method.path));
        }
        let Some((verb, path)) = &method.rest else { continue };
        let found = operations.iter().find(|(v, p, _)| v == verb && p == path);
        // An older name of a method shares the operation of the newer one.
        if found.is_none() {
            failures.push(format!("{verb} {path} of {} is missing", method.path));
        }
    }
    let extra = ours.iter().filter(|it| !methods.iter().any(|method| method.path == **it));
    let extra: Vec<_> = extra.filter(|it| !OURS.contains(it)).collect();
    assert!(extra.is_empty(), "not in Argo CD: {extra:?}");
    cases::report("methods", total - failures.len(), &failures);
}

#[test]
fn every_field_has_its_number_and_its_name() {
    let Some((methods, messages)) = tables() else { return };
    let (mut failures, mut total) = (BTreeSet::new(), 0);
    for (is_request, what) in [(true, "request"), (false, "answer")] {
        let mut seen = BTreeSet::new();
        for method in &methods {
            let root = if is_request { &method.request } else { &method.response };
            let mut walk = Walk { messages: &messages, seen: &mut seen, found: Vec::new() };
            walk.message(root, &mut Vec::new());
            for path in walk.found {
                let name = path.last().map(|it| it.name.clone()).unwrap_or_default();
                total += 1;
                let tried = match is_request {
                    true => said(&method.path, &path),
                    false => told(&method.path, &path),
                };
                let is_excused = EXCUSED.iter().any(|(it, _)| name.starts_with(it));
                match tried {
                    Err(why) if !is_excused => {
                        failures.insert(format!("{what} {name}: {why}"));
                    }
                    Ok(()) if is_excused => {
                        failures.insert(format!("{what} {name} is excused although it is there"));
                    }
                    _ => {}
                }
            }
        }
    }
    let failures: Vec<_> = failures.into_iter().collect();
    cases::report("fields", total - failures.len(), &failures);
}

/// One step from a message into a field of it.
#[derive(Clone)]
struct Step {
    /// `message.field`, for people.
    name: String,
    number: u32,
    /// Empty where the fields of the inner message stand among those of the outer one.
    json: String,
    kind: Kind,
}

#[derive(Clone, PartialEq)]
enum Kind {
    Text,
    Number,
    Flag,
    Time,
    Message,
    List(Box<Self>),
    Map(Box<Self>),
}

/// Messages that JSON shows as something else than an object of their fields.
const OPAQUE: &[&str] = &[
    "metav1.MicroTime",
    "metav1.FieldsV1",
    "runtime.RawExtension",
    "apiextv1.JSON",
    "intstr.IntOrString",
    "v1alpha1.OptionalMap",
    "v1alpha1.OptionalArray",
];

fn kind_of(name: &str, messages: &Messages) -> Option<Kind> {
    if let Some(inner) = name.strip_prefix("map<string,") {
        return Some(Kind::Map(Box::new(kind_of(inner.trim_end_matches('>'), messages)?)));
    }
    match name {
        "string" => Some(Kind::Text),
        "bool" => Some(Kind::Flag),
        "int64" | "int32" | "uint32" => Some(Kind::Number),
        "metav1.Time" => Some(Kind::Time),
        other if OPAQUE.contains(&other) => None,
        other if messages.contains_key(other) => Some(Kind::Message),
        _ => None,
    }
}

/// Every field of a message and of what it holds, each message once.
struct Walk<'a> {
    messages: &'a Messages,
    seen: &'a mut BTreeSet<String>,
    found: Vec<Vec<Step>>,
}

impl Walk<'_> {
    fn message(&mut self, name: &str, path: &mut Vec<Step>) {
        if !self.seen.insert(name.to_owned()) {
            return;
        }
        for field in self.messages.get(name).cloned().unwrap_or_default() {
            let Some(mut kind) = kind_of(&field.kind, self.messages) else { continue };
            if field.label == "repeated" {
                kind = Kind::List(Box::new(kind));
            }
            let inner = field.kind.trim_start_matches("map<string,").trim_end_matches('>');
            let is_message = self.messages.contains_key(inner) && inner != "metav1.Time";
            let json = match field.json.as_str() {
                "(inlined)" => String::new(),
                other => other.to_owned(),
            };
            path.push(Step {
                name: format!("{name}.{}", field.json),
                number: field.number,
                json,
                kind,
            });
            if is_message {
                self.message(inner, path);
            } else {
                self.found.push(path.clone());
            }
            path.pop();
        }
    }
}

const TIME: &str = "2026-01-02T03:04:05Z";
const SECONDS: u64 = 1_767_323_045;

/// A request with this field alone, from JSON: is the number right?
fn said(method: &str, path: &[Step]) -> Result<(), String> {
    let message = json_of(path).to_string();
    let bytes = forms::request(method, &message).map_err(|it| format!("{message}: {it}"))?;
    match find(&bytes, path) {
        true => Ok(()),
        false => Err(format!("{message} is {bytes:?} to {method}")),
    }
}

/// An answer with this field alone, from protobuf: is the name right?
fn told(method: &str, path: &[Step]) -> Result<(), String> {
    let told = forms::told(method, &bytes_of(path)).map_err(|it| it.to_string())?;
    let value: Value = serde_json::from_str(&told).map_err(|it| it.to_string())?;
    match holds(&value, path) {
        true => Ok(()),
        false => Err(format!("not in {told} of {method}")),
    }
}

fn json_of(path: &[Step]) -> Value {
    let Some((step, rest)) = path.split_first() else { return json!({}) };
    let inner = json_value(&step.kind, rest);
    if step.json.is_empty() { inner } else { json!({ step.json.as_str(): inner }) }
}

fn json_value(kind: &Kind, rest: &[Step]) -> Value {
    match kind {
        Kind::Text => json!("x"),
        Kind::Number => json!(7),
        Kind::Flag => json!(true),
        Kind::Time => json!(TIME),
        Kind::Message => json_of(rest),
        Kind::List(inner) => json!([json_value(inner, rest)]),
        Kind::Map(inner) => json!({"k": json_value(inner, rest)}),
    }
}

/// Is the value of the path's end at its place? Lists and maps have one member.
fn holds(value: &Value, path: &[Step]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    let value = if step.json.is_empty() { value } else { &value[step.json.as_str()] };
    value_holds(value, &step.kind, rest)
}

fn value_holds(value: &Value, kind: &Kind, rest: &[Step]) -> bool {
    match kind {
        Kind::Message => holds(value, rest),
        Kind::List(inner) => value_holds(&value[0], inner, rest),
        Kind::Map(inner) => value_holds(&value["k"], inner, rest),
        other => *value == json_value(other, rest),
    }
}

fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(number & 0x7f).expect("seven bits");
        number >>= 7;
        bytes.push(if number == 0 { low } else { low | 0x80 });
        if number == 0 {
            return;
        }
    }
}

fn field_bytes(number: u32, kind: &Kind, rest: &[Step]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let content = match kind {
        Kind::Number | Kind::Flag => {
            varint(u64::from(number) << 3, &mut bytes);
            varint(if *kind == Kind::Flag { 1 } else { 7 }, &mut bytes);
            return bytes;
        }
        Kind::List(inner) => return field_bytes(number, inner, rest),
        Kind::Text => b"x".to_vec(),
        Kind::Time => {
            let mut time = vec![8];
            varint(SECONDS, &mut time);
            time
        }
        Kind::Message => bytes_of(rest),
        Kind::Map(inner) => [b"\x0a\x01k".to_vec(), field_bytes(2, inner, rest)].concat(),
    };
    varint(u64::from(number) << 3 | 2, &mut bytes);
    varint(content.len() as u64, &mut bytes);
    bytes.extend(content);
    bytes
}

fn bytes_of(path: &[Step]) -> Vec<u8> {
    let Some((step, rest)) = path.split_first() else { return Vec::new() };
    field_bytes(step.number, &step.kind, rest)
}

/// Is the value of the path's end at its place, among whatever else is written?
fn find(bytes: &[u8], path: &[Step]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    number_holds(bytes, step.number, &step.kind, rest)
}

fn number_holds(bytes: &[u8], number: u32, kind: &Kind, rest: &[Step]) -> bool {
    let Some(fields) = fields_of(bytes) else { return false };
    let mut own = fields.into_iter().filter(|(it, _)| *it == number).map(|(_, value)| value);
    own.any(|value| match (kind, value) {
        (Kind::List(inner), _) => number_holds(bytes, number, inner, rest),
        (Kind::Number, Found::Number(7)) | (Kind::Flag, Found::Number(1)) => true,
        (Kind::Text, Found::Bytes(text)) => text == b"x",
        (Kind::Time, Found::Bytes(time)) => {
            fields_of(time).is_some_and(|it| it.contains(&(1, Found::Number(SECONDS))))
        }
        (Kind::Message, Found::Bytes(inner)) => find(inner, rest),
        (Kind::Map(inner), Found::Bytes(entry)) => number_holds(entry, 2, inner, rest),
        _ => false,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Found<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn fields_of(mut bytes: &[u8]) -> Option<Vec<(u32, Found<'_>)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = take_varint(&mut bytes)?;
        let number = u32::try_from(key >> 3).ok()?;
        let found = match key & 7 {
            0 => Found::Number(take_varint(&mut bytes)?),
            2 => {
                let length = usize::try_from(take_varint(&mut bytes)?).ok()?;
                let (content, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Found::Bytes(content)
            }
            _ => return None,
        };
        fields.push((number, found));
    }
    Some(fields)
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..10 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn tables() -> Option<(Vec<Method>, Messages)> {
    let methods = cases::rows(&cases::read("../reference/api-rpcs.tsv")?);
    let fields = cases::rows(&cases::read("../reference/api-fields.tsv")?);
    let methods = methods.into_iter().filter(|it| it[0] == "public").map(|row| Method {
        path: row[4].clone(),
        request: row[5].clone(),
        response: row[6].clone(),
        rest: Some((row[8].clone(), row[9].clone())).filter(|(verb, _)| !verb.is_empty()),
    });
    let mut messages = Messages::new();
    for row in fields.into_iter().filter(|it| it[0] == "public") {
        let fields = messages.entry(row[1].clone()).or_default();
        // A message without fields has one row that says so.
        let Ok(number) = row[3].parse() else { continue };
        let json = if row[8] == "(not in JSON)" { &row[4] } else { &row[8] };
        let (json, kind, label) = (json.clone(), row[5].clone(), row[6].clone());
        fields.push(Field { number, json, kind, label });
    }
    Some((methods.collect(), messages))
}
