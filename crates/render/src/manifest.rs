//! One manifest file to the objects in it.

use bytes::Bytes;
use gocompat::yaml::Position;
use object::Object;
use serde_json::Value;

use crate::RenderError;
use crate::tree::TreePath;

/// Something with the place in a file where it was found.
#[derive(Debug)]
pub(crate) struct Found<T> {
    pub(crate) what: T,
    pub(crate) file: TreePath,
    pub(crate) position: Option<Position>,
}

/// The objects of a YAML file: none if it is some other kind of YAML.
///
/// A file is some other kind of YAML when its first document is no object and
/// its text does not even look like a manifest; the rest of it is then not
/// read. After a first good object, or in a text with `apiVersion:`, `kind:`
/// and `metadata:`, whatever cannot be read is a mistake. The rule is Argo CD's.
pub(crate) fn from_yaml(
    file: &TreePath,
    content: &Bytes,
) -> Result<Vec<Found<Object>>, RenderError> {
    let text = text_of(file, content)?;
    let documents = match gocompat::yaml::documents(&text) {
        Ok(documents) => documents,
        Err(_) if !looks_like_a_manifest(&text) => return Ok(Vec::new()),
        Err(error) => return Err(wrong(file, error.position, error.problem.to_string())),
    };
    let mut objects = Vec::with_capacity(documents.len());
    for (value, line) in documents {
        let position = Some(position(line, 1));
        match Object::from_value(value) {
            Ok(what) => objects.push(Found { what, file: file.clone(), position }),
            Err(_) if objects.is_empty() && !looks_like_a_manifest(&text) => return Ok(objects),
            Err(error) => return Err(wrong(file, position, error.to_string())),
        }
    }
    Ok(objects)
}

/// The objects of a text that a tool made: whatever is no object is a mistake.
pub(crate) fn from_output(file: &TreePath, text: &str) -> Result<Vec<Found<Object>>, RenderError> {
    let documents = gocompat::yaml::documents(text)
        .map_err(|error| wrong(file, error.position, error.problem.to_string()))?;
    let objects = documents.into_iter().filter(|(value, _)| !value.is_null());
    let objects = objects.map(|(value, line)| match Object::from_value(value) {
        Ok(what) => Ok(Found { what, file: file.clone(), position: None }),
        Err(error) => Err(wrong(file, Some(position(line, 1)), error.to_string())),
    });
    objects.collect()
}

/// The one object of a JSON file.
pub(crate) fn from_json(file: &TreePath, content: &Bytes) -> Result<Found<Object>, RenderError> {
    let text = text_of(file, content)?;
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let value = values.next().unwrap_or(Ok(Value::Null)).map_err(|error| {
        wrong(file, Some(position(error.line(), error.column())), json_problem(&error))
    })?;
    if values.next().is_some() {
        let problem = "found multiple objects; only single objects are allowed in JSON files";
        return Err(wrong(file, None, problem.to_owned()));
    }
    let what = Object::from_value(value).map_err(|error| wrong(file, None, error.to_string()))?;
    Ok(Found { what, file: file.clone(), position: None })
}

/// Replaces every list by its items.
///
/// A list is what has `items`, whatever it calls itself; `items: null` without
/// spec and status is an empty one (`kind: ConfigMapList`, as printed by Go).
pub(crate) fn flatten_lists(found: Vec<Found<Object>>) -> Result<Vec<Found<Object>>, RenderError> {
    let mut flat = Vec::with_capacity(found.len());
    for Found { mut what, file, position } in found {
        match what.fields().get("items") {
            Some(Value::Array(_)) => {
                let Some(Value::Array(items)) = what.fields_mut().remove("items") else {
                    continue;
                };
                for (index, item) in items.into_iter().enumerate() {
                    let what = Object::from_value(item).map_err(|error| {
                        wrong(&file, position, format!("items[{index}]: {error}"))
                    })?;
                    flat.push(Found { what, file: file.clone(), position });
                }
            }
            Some(Value::Null)
                if !what.fields().contains_key("spec") && !what.fields().contains_key("status") => {
            }
            _ => flat.push(Found { what, file, position }),
        }
    }
    Ok(flat)
}

fn looks_like_a_manifest(text: &str) -> bool {
    ["apiVersion:", "kind:", "metadata:"].iter().all(|word| text.contains(word))
}

/// The text of a file in UTF-8, or in UTF-16 with a byte order mark.
pub(crate) fn text_of(file: &TreePath, content: &Bytes) -> Result<String, RenderError> {
    let utf16 = |from: fn([u8; 2]) -> u16| {
        let units = content[2..].chunks(2).map(|pair| match pair {
            [first, second] => from([*first, *second]),
            _ => 0xFFFD,
        });
        char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match content.as_ref() {
        [0xFF, 0xFE, ..] => Ok(utf16(u16::from_le_bytes)),
        [0xFE, 0xFF, ..] => Ok(utf16(u16::from_be_bytes)),
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(file, rest),
        plain => utf8(file, plain),
    }
}

fn utf8(file: &TreePath, content: &[u8]) -> Result<String, RenderError> {
    String::from_utf8(content.to_vec()).map_err(|error| {
        let good = &content[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = good.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        wrong(file, Some(position(line, column)), "the text is not UTF-8".to_owned())
    })
}

/// serde_json appends the position to its message; ours stands in front.
fn json_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split(" at line ").next().unwrap_or(&text) {
        // Said of what the reader's stack is made for.
        "recursion limit exceeded" => "nested deeper than 127 levels; flatten it".to_owned(),
        problem => problem.to_owned(),
    }
}

/// Files are far shorter than the largest number here; a longer one would only
/// be shown a wrong place.
fn position(line: usize, column: usize) -> Position {
    let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
    Position { line: number(line), column: number(column) }
}

fn wrong(file: &TreePath, position: Option<Position>, problem: String) -> RenderError {
    RenderError::Manifest { file: file.clone(), position, problem }
}
