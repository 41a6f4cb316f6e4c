//! What templates find below the dot: Values, Chart, Files, Release and their like.

use serde_json::Value as Json;
use template::{Function, Map, MapClass, NamedMap, Parameter, Text, Value, to_yaml};

use crate::chart::File;
use crate::dependencies::{Node, path_value, table_at};
use crate::metadata::{Dependency, Metadata};

/// Helm's `common.Values`: a map with a few methods.
pub(crate) static VALUES: NamedMap = NamedMap {
    type_name: "common.Values",
    holds_any: true,
    zero: || Value::Nil,
    method: values_method,
};

/// A map seen as `common.Values`.
pub(crate) fn as_values(map: &Map) -> Value {
    Value::Map(map.converted(MapClass::Named(&VALUES)))
}

fn values_method(map: &Map, name: &str) -> Option<Function> {
    // Asked of every key that a template reads.
    if !matches!(name, "AsMap" | "YAML" | "Table" | "PathValue" | "Encode") {
        return None;
    }
    let map = map.converted(MapClass::Any);
    Some(match name {
        "AsMap" => Function::bound(&[], move |_, _| Ok(Value::Map(map.clone()))),
        "YAML" => Function::bound(&[], move |_, _| {
            Ok(Value::string(to_yaml(&Value::Map(map.clone()))? + "\n"))
        }),
        // Nothing that a template has can be written to.
        "Encode" => Function::bound(&[Parameter::Object("io.Writer")], |_, _| Ok(Value::Nil)),
        "Table" => Function::bound(&[Parameter::String], move |_, arguments| {
            let path = arguments[0].as_text().map(Text::to_string).unwrap_or_default();
            match table_at(&map, &path) {
                Some(table) => Ok(as_values(&table)),
                None => {
                    let key = path.rsplit('.').next().unwrap_or_default();
                    Err(template::Error::function(format!("{key:?} is not a table")))
                }
            }
        }),
        "PathValue" => Function::bound(&[Parameter::String], move |_, arguments| {
            let path = arguments[0].as_text().map(Text::to_string).unwrap_or_default();
            path_value(&map, &path).ok_or_else(|| {
                let key = path.rsplit('.').next().unwrap_or_default();
                template::Error::function(format!("{key:?} is not a value"))
            })
        }),
        _ => return None,
    })
}

/// Helm's `engine.files`: contents by path, with methods.
static FILES: NamedMap = NamedMap {
    type_name: "engine.files",
    holds_any: false,
    zero: || Value::Bytes(Text::from("")),
    method: files_method,
};

/// The files of a chart.
pub(crate) fn files(files: &[File]) -> Value {
    let entries = files.iter().map(|file| (file.name.as_str(), Value::Bytes(file.content.clone())));
    Value::Map(Map::with_class(MapClass::Named(&FILES), entries))
}

fn content(map: &Map, path: &Value) -> Option<Text> {
    match map.get(path.as_text()?.as_bytes()) {
        Some(Value::Bytes(content)) => Some(content),
        _ => None,
    }
}

fn files_method(map: &Map, name: &str) -> Option<Function> {
    const PATH: &[Parameter] = &[Parameter::String];
    let map = map.clone();
    Some(match name {
        "Get" => Function::bound(PATH, move |_, a| {
            Ok(Value::String(content(&map, &a[0]).unwrap_or_else(|| Text::from(""))))
        }),
        "GetBytes" => Function::bound(PATH, move |_, a| {
            Ok(Value::Bytes(content(&map, &a[0]).unwrap_or_else(|| Text::from(""))))
        }),
        "Lines" => Function::bound(PATH, move |_, a| {
            let Some(content) = content(&map, &a[0]) else {
                return Ok(Value::strings::<&str>([]));
            };
            if content.is_empty() {
                return Err(template::Error::function("runtime error: index out of range [-1]"));
            }
            let bytes = content.as_bytes();
            let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
            Ok(Value::strings(bytes.split(|byte| *byte == b'\n')))
        }),
        "Glob" => Function::bound(PATH, move |_, a| {
            let pattern = a[0].as_text().map(Text::to_string).unwrap_or_default();
            Ok(Value::Map(globbed(&map, &pattern)))
        }),
        "AsConfig" => Function::bound(&[], move |_, _| {
            by_base_name(&map, |content| Value::String(content.clone()))
        }),
        "AsSecrets" => Function::bound(&[], move |_, _| {
            by_base_name(&map, |content| Value::string(template::base64_encode(content.as_bytes())))
        }),
        _ => return None,
    })
}

fn globbed(map: &Map, pattern: &str) -> Map {
    let glob = gocompat::glob::Glob::new(pattern, &['/']).ok();
    let entries = map.entries();
    let matching = entries
        .iter()
        .filter(|(name, _)| glob.as_ref().is_none_or(|glob| glob.is_match(&name.as_str())));
    let matching = matching.map(|(name, value)| (name.clone(), value.clone()));
    Map::with_class(MapClass::Named(&FILES), matching)
}

fn by_base_name(map: &Map, show: impl Fn(&Text) -> Value) -> Result<Value, template::Error> {
    let entries = map.entries();
    let entries = entries.iter().filter_map(|(path, value)| match value {
        Value::Bytes(content) => {
            let path = path.as_str().into_owned();
            let base = path.rsplit('/').next().unwrap_or_default().to_owned();
            Some((base, show(content)))
        }
        _ => None,
    });
    Ok(Value::string(to_yaml(&Value::map(entries)).unwrap_or_default()))
}

/// Chart.yaml under the names of Go's fields.
pub(crate) fn chart(node: &Node<'_>, is_root: bool) -> Value {
    let metadata: &Metadata = &node.chart.metadata;
    let text = |text: &str| Value::string(text);
    let texts =
        |texts: &[String]| Value::list(texts.iter().map(|t| Value::string(t.as_str())).collect());
    let maintainers = metadata.maintainers.iter().map(|maintainer| {
        Value::map([
            ("Name", text(&maintainer.name)),
            ("Email", text(&maintainer.email)),
            ("URL", text(&maintainer.url)),
        ])
    });
    let annotations = match &metadata.annotations {
        None => Map::nil(MapClass::Strings),
        Some(annotations) => {
            let entries = annotations.iter();
            let entries = entries.map(|(key, value)| (key.as_str(), text(value)));
            Map::with_class(MapClass::Strings, entries)
        }
    };
    Value::map([
        ("Name", text(node.name())),
        ("Home", text(&metadata.home)),
        ("Sources", texts(&metadata.sources)),
        ("Version", text(&metadata.version)),
        ("Description", text(&metadata.description)),
        ("Keywords", texts(&metadata.keywords)),
        ("Maintainers", Value::list(maintainers.collect())),
        ("Icon", text(&metadata.icon)),
        ("APIVersion", text(&metadata.api_version)),
        ("Condition", text(&metadata.condition)),
        ("Tags", text(&metadata.tags)),
        ("AppVersion", text(&metadata.app_version)),
        ("Deprecated", Value::Bool(metadata.deprecated)),
        ("Annotations", Value::Map(annotations)),
        ("KubeVersion", text(&metadata.kube_version)),
        ("Dependencies", Value::list(node.dependencies.iter().map(dependency).collect())),
        ("Type", text(&metadata.chart_type)),
        ("IsRoot", Value::Bool(is_root)),
    ])
}

fn dependency(dependency: &Dependency) -> Value {
    let text = |text: &str| Value::string(text);
    let tags = dependency.tags.iter().map(|tag| Value::string(tag.as_str()));
    let imports = dependency.import_values.iter().map(|import| match import {
        Json::String(name) => Value::Map(Map::with_class(
            MapClass::Strings,
            [("child", text(&format!("exports.{name}"))), ("parent", text("."))],
        )),
        other => match Value::from_json(other) {
            Value::Map(map) => {
                let shown: Vec<_> = ["child", "parent"]
                    .into_iter()
                    .map(|key| {
                        let value = map.get(key.as_bytes()).unwrap_or(Value::Nil);
                        (key, Value::string(template::print::to_bytes(&value)))
                    })
                    .collect();
                Value::Map(Map::with_class(MapClass::Strings, shown))
            }
            other => other,
        },
    });
    Value::map([
        ("Name", text(&dependency.name)),
        ("Version", text(&dependency.version)),
        ("Repository", text(&dependency.repository)),
        ("Condition", text(&dependency.condition)),
        ("Tags", Value::list(tags.collect())),
        ("Enabled", Value::Bool(dependency.enabled)),
        ("ImportValues", Value::list(imports.collect())),
        ("Alias", text(&dependency.alias)),
    ])
}
