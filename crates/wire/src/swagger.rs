//! The REST operations of a table as a Swagger 2.0 document.
//!
//! Everything in it is read off the table and its types, so it cannot tell
//! otherwise than what is answered.

mod names;

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::method::{Route, Table};
use crate::rest::Body;
use names::Names;

/// Fields of messages in messages are parameters of a query down to this depth.
const DEPTH: usize = 4;

/// The schemas of a method's request and answer.
pub struct Shapes {
    pub(crate) asked: Value,
    pub(crate) answer: Value,
    pub(crate) is_stream: bool,
}

impl Shapes {
    pub(crate) fn of<Asked: JsonSchema, Answer: JsonSchema>(
        generator: &mut SchemaGenerator,
        is_stream: bool,
    ) -> Self {
        Self {
            asked: generator.subschema_for::<Asked>().to_value(),
            answer: generator.subschema_for::<Answer>().to_value(),
            is_stream,
        }
    }
}

impl<C: Clone + Send + Sync + 'static> Table<C> {
    /// The document; `version` is that of the API.
    #[must_use]
    pub fn swagger(&self, title: &str, version: &str) -> Value {
        let settings = SchemaSettings::draft07()
            .with(|settings| settings.definitions_path = "/definitions".into());
        let mut generator = settings.into_generator();
        let routes: Vec<(&Route<C>, Shapes)> = self
            .routes()
            .filter_map(|route| Some((route, route.endpoint.shapes(&mut generator)?)))
            .collect();
        let mut definitions: Map<String, Value> = generator.take_definitions(true);
        let names = Names::of(&mut definitions);
        definitions.values_mut().for_each(plain);
        let mut definitions = names.rename(definitions);
        definitions.insert("runtimeError".into(), error_schema());
        let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        let mut ways: BTreeMap<&str, usize> = BTreeMap::new();
        for (route, mut shapes) in routes {
            names.refer(&mut shapes.asked);
            names.refer(&mut shapes.answer);
            let verb = route.verb.as_str().to_lowercase();
            let way = ways.entry(route.endpoint.path()).or_default();
            *way += 1;
            let operation = operation(route, *way, shapes, &definitions);
            paths.entry(shown(route.template.text())).or_default().insert(verb, operation);
        }
        let paths = json!(paths);
        let definitions = names::used(definitions, &paths);
        json!({
            "swagger": "2.0",
            "info": {"title": title, "version": version},
            "consumes": ["application/json"],
            "produces": ["application/json"],
            "paths": paths,
            "definitions": definitions,
        })
    }
}

/// The first way to a method has its name, others have a number too.
fn operation<C>(
    route: &Route<C>,
    way: usize,
    mut shapes: Shapes,
    definitions: &Map<String, Value>,
) -> Value {
    plain(&mut shapes.asked);
    plain(&mut shapes.answer);
    let (service, method) = name_of(route.endpoint.path());
    let number = if way > 1 { way.to_string() } else { String::new() };
    let (description, answer) = if shapes.is_stream {
        let properties =
            json!({"result": shapes.answer, "error": {"$ref": "#/definitions/runtimeError"}});
        let title = format!("Stream result of {}", name_of_reference(&shapes.answer));
        let answer = json!({"type": "object", "title": title, "properties": properties});
        ("Messages as they come.", answer)
    } else {
        ("The answer.", shapes.answer.clone())
    };
    json!({
        "tags": [service],
        "operationId": format!("{service}_{method}{number}"),
        "parameters": parameters(route, &shapes.asked, definitions),
        "responses": {
            "200": {"description": description, "schema": answer},
            "default": {"description": "Why not.", "schema": {"$ref": "#/definitions/runtimeError"}},
        },
    })
}

fn name_of_reference(schema: &Value) -> &str {
    schema["$ref"].as_str().and_then(|it| it.rsplit('/').next()).unwrap_or_default()
}

/// Service and method of a path such as `/account.AccountService/CanI`.
fn name_of(path: &str) -> (&str, &str) {
    let (service, method) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
    (service.rsplit('.').next().unwrap_or(service), method)
}

/// `{name=**}` is `{name}` to readers.
fn shown(template: &str) -> String {
    template.replace("=**}", "}")
}

fn parameters<C>(route: &Route<C>, asked: &Value, definitions: &Map<String, Value>) -> Vec<Value> {
    let variables: Vec<&str> = route.template.variables().collect();
    let mut parameters: Vec<Value> = variables
        .iter()
        .map(|name| {
            let mut parameter = json!({"name": name, "in": "path", "required": true});
            as_text(&field(asked, name, definitions), &mut parameter);
            parameter
        })
        .collect();
    let body = match route.body {
        Body::None => None,
        Body::Whole | Body::Pieces => Some(asked.clone()),
        Body::Field(name) => Some(field(asked, name, definitions)),
    };
    if let Some(schema) = body {
        parameters.push(json!({"name": "body", "in": "body", "required": true, "schema": schema}));
    }
    if !matches!(route.body, Body::Whole | Body::Pieces) {
        let in_body = match route.body {
            Body::Field(name) => name,
            Body::None | Body::Whole | Body::Pieces => "",
        };
        let mut found = Vec::new();
        query(asked, "", definitions, DEPTH, &mut found);
        parameters.extend(found.into_iter().filter(|it| {
            let name = it["name"].as_str().unwrap_or_default();
            let is_in_body = !in_body.is_empty() && name.split('.').next() == Some(in_body);
            !is_in_body && !variables.contains(&name)
        }));
    }
    parameters
}

/// The schema of one field of a message, or of a field of a field.
fn field(message: &Value, name: &str, definitions: &Map<String, Value>) -> Value {
    let mut schema = message;
    for part in name.split('.') {
        schema = &resolved(schema, definitions)["properties"][part];
    }
    schema.clone()
}

/// A value in an address. Argo CD's document calls large numbers texts there, and so do the
/// functions of clients that are generated from it.
fn as_text(schema: &Value, parameter: &mut Value) {
    let format = schema["format"].as_str().unwrap_or_default();
    parameter["type"] = match (schema["type"].as_str(), format) {
        (Some("integer"), "int64" | "uint64") | (None, _) => "string".into(),
        (Some(kind), _) => kind.into(),
    };
    if matches!(format, "int32" | "int64" | "uint32" | "uint64" | "date-time") {
        parameter["format"] = format.into();
    }
}

fn resolved<'a>(schema: &'a Value, definitions: &'a Map<String, Value>) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/definitions/"));
    name.and_then(|it| definitions.get(it)).unwrap_or(schema)
}

/// The fields of a message that fit into a query: texts, numbers, flags and lists of them.
fn query(
    message: &Value,
    prefix: &str,
    definitions: &Map<String, Value>,
    depth: usize,
    found: &mut Vec<Value>,
) {
    let Some(properties) = resolved(message, definitions)["properties"].as_object() else { return };
    for (name, schema) in properties {
        let name = format!("{prefix}{name}");
        let is_scalar = |it: &Value| {
            matches!(it["type"].as_str(), Some("string" | "integer" | "number" | "boolean"))
        };
        let mut parameter = json!({"name": name, "in": "query"});
        if let Some(text) = schema.get("description") {
            parameter["description"] = text.clone();
        }
        let plain = resolved(schema, definitions);
        if is_scalar(plain) {
            as_text(plain, &mut parameter);
            found.push(parameter);
        } else if schema["type"] == "array" && is_scalar(&schema["items"]) {
            parameter["type"] = "array".into();
            parameter["items"] = json!({});
            as_text(&schema["items"], &mut parameter["items"]);
            parameter["collectionFormat"] = "multi".into();
            found.push(parameter);
        } else if depth > 0 {
            query(schema, &format!("{name}."), definitions, depth - 1, found);
        }
    }
}

fn error_schema() -> Value {
    json!({"type": "object", "properties": {
        "error": {"type": "string"},
        "code": {"type": "integer", "format": "int32"},
        "message": {"type": "string"},
    }})
}

/// A schema as Swagger 2.0 knows them: a field that may be absent is its type and not "or null",
/// and nothing stands beside a reference.
fn plain(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        if schema.is_boolean() {
            *schema = json!({});
        }
        return;
    };
    for key in ["$schema", "default", "title", "minimum"] {
        fields.remove(key);
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|it| it != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            fields.insert("type".into(), only);
        }
    }
    for key in ["anyOf", "allOf", "oneOf"] {
        let Some(Value::Array(choices)) = fields.get_mut(key) else { continue };
        choices.retain(|it| it["type"] != "null");
        if let [only] = &choices[..] {
            let only = only.clone();
            fields.remove(key);
            if let Value::Object(only) = only {
                fields.extend(only);
            }
        } else {
            // Several types at once have no name here.
            fields.remove(key);
        }
    }
    if fields.contains_key("$ref") {
        fields.retain(|key, _| key == "$ref");
        return;
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(key)
            && inner.is_object()
        {
            plain(inner);
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        // A field whose schema is `true` can hold anything.
        properties.values_mut().for_each(plain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::application::{ApplicationQuery, ApplicationSyncRequest};
    use crate::message::version::{Nothing, VersionMessage};
    use crate::{Status, get, post};

    async fn list((): (), _: ApplicationQuery) -> Result<VersionMessage, Status> {
        Ok(VersionMessage::default())
    }

    async fn sync((): (), _: ApplicationSyncRequest) -> Result<Nothing, Status> {
        Ok(Nothing {})
    }

    fn document() -> Value {
        let mut table: Table<()> = Table::default();
        table.unary("/a.Service/List", [get("/things")], list);
        table.unary("/a.Service/Sync", [post("/things/{name}/sync")], sync);
        table.swagger("Test", "1")
    }

    #[test]
    fn an_operation_has_its_parameters_and_its_answer() {
        let document = document();
        let list = &document["paths"]["/things"]["get"];
        assert_eq!(list["operationId"], "Service_List");
        let parameters = list["parameters"].as_array().expect("a list");
        let named = |name: &str| parameters.iter().find(|it| it["name"] == name).expect("there");
        let limit = named("limit");
        assert_eq!((&limit["type"], &limit["format"]), (&"string".into(), &"int64".into()));
        assert_eq!(limit["in"], "query");
        assert_eq!(named("projects")["collectionFormat"], "multi");
        let answer = list["responses"]["200"]["schema"]["$ref"].as_str().expect("a reference");
        let name = answer.strip_prefix("#/definitions/").expect("a definition");
        assert!(document["definitions"][name]["properties"]["Version"].is_object(), "{document}");
    }

    #[test]
    fn a_body_is_the_message() {
        let document = document();
        let parameters = document["paths"]["/things/{name}/sync"]["post"]["parameters"].clone();
        let parameters = parameters.as_array().expect("a list");
        assert_eq!(parameters.len(), 2, "{parameters:?}");
        assert_eq!((&parameters[0]["in"], &parameters[1]["in"]), (&"path".into(), &"body".into()));
    }

    #[test]
    fn nothing_in_it_is_unknown_to_swagger() {
        let text = document().to_string();
        for word in ["\"null\"", "anyOf", "oneOf", "$defs", "[\"string\""] {
            assert!(!text.contains(word), "{word}");
        }
    }
}
