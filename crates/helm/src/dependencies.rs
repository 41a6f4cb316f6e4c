//! Which subcharts take part, under which names, and what they lend to their parent's values.
//!
//! A [`Node`] is a chart as one render sees it: enabled dependencies only, aliases applied, values
//! imported. The loaded chart behind it is shared and untouched.

use gocompat::semver::{Constraint, Version};
use serde_json::Value as Json;
use template::{Map, Value, print};

use crate::chart::Chart;
use crate::coalesce::{self, Nulls};
use crate::error::Error;
use crate::metadata::Dependency;

/// A chart within one render.
#[derive(Clone)]
pub(crate) struct Node<'c> {
    pub(crate) chart: &'c Chart,
    name: String,
    /// Default values, with what was imported.
    pub(crate) values: Map,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) children: Vec<Self>,
}

impl<'c> Node<'c> {
    /// The chart and its subcharts as loaded.
    fn new(chart: &'c Chart) -> Self {
        let entries = chart.values.iter();
        let values = Map::new(entries.map(|(key, value)| (key.as_str(), Value::from_json(value))));
        Self {
            chart,
            name: chart.name().to_owned(),
            values,
            dependencies: chart.metadata.dependencies.clone(),
            children: chart.subcharts.iter().map(Self::new).collect(),
        }
    }

    /// The chart's name here: its alias, if it has one.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Decides about all dependencies, given the user's values.
pub(crate) fn resolve<'c>(chart: &'c Chart, given: &Map) -> Result<Node<'c>, Error> {
    let mut node = Node::new(chart);
    enable(&mut node, given, "")?;
    import_all(&mut node)?;
    Ok(node)
}

/// Whether a version is within a range; false too if either is malformed.
pub(crate) fn is_compatible(range: &str, version: &str) -> bool {
    match (Version::parse(version), Constraint::parse(range)) {
        (Ok(version), Ok(range)) => range.check(&version),
        _ => false,
    }
}

fn enable(node: &mut Node<'_>, given: &Map, path: &str) -> Result<(), Error> {
    if node.dependencies.is_empty() {
        return Ok(());
    }
    apply_aliases(node);
    for dependency in &mut node.dependencies {
        dependency.enabled = true;
    }
    let values = coalesce::coalesce_values(node, given, Nulls::Delete)?;
    apply_tags(&mut node.dependencies, &values);
    apply_conditions(&mut node.dependencies, &values, path);
    let disabled: Vec<String> = node
        .dependencies
        .iter()
        .filter(|dependency| !dependency.enabled)
        .map(|dependency| dependency.name.clone())
        .collect();
    node.children.retain(|child| !disabled.contains(&child.name));
    node.dependencies.retain(|dependency| !disabled.contains(&dependency.name));
    for child in &mut node.children {
        let path = format!("{path}{}.", child.name);
        enable(child, &values, &path)?;
    }
    Ok(())
}

/// One copy of a chart for each dependency that asks for it, and those nobody asks for, first.
fn apply_aliases(node: &mut Node<'_>) {
    let wanted_by = |child: &Node<'_>, dependency: &Dependency| {
        child.name == dependency.name
            && is_compatible(&dependency.version, &child.chart.metadata.version)
    };
    let mut children: Vec<Node<'_>> = node
        .children
        .iter()
        .filter(|child| !node.dependencies.iter().any(|wanted| wanted_by(child, wanted)))
        .cloned()
        .collect();
    for dependency in &mut node.dependencies {
        if let Some(child) = node.children.iter().find(|child| wanted_by(child, dependency)) {
            let mut child = child.clone();
            if !dependency.alias.is_empty() {
                child.name.clone_from(&dependency.alias);
            }
            children.push(child);
        }
        if !dependency.alias.is_empty() {
            dependency.name.clone_from(&dependency.alias);
        }
    }
    node.children = children;
}

/// A dependency whose tags are all false is off.
fn apply_tags(dependencies: &mut [Dependency], values: &Map) {
    let Some(Value::Map(tags)) = values.get(b"tags") else { return };
    for dependency in dependencies {
        let (mut any_true, mut any_false) = (false, false);
        for tag in &dependency.tags {
            if let Some(Value::Bool(truth)) = tags.get(tag.as_bytes()) {
                any_true |= truth;
                any_false |= !truth;
            }
        }
        dependency.enabled = any_true || !any_false;
    }
}

/// The first condition that has a boolean decides, whatever the tags say.
fn apply_conditions(dependencies: &mut [Dependency], values: &Map, path: &str) {
    for dependency in dependencies {
        for condition in dependency.condition.trim().split(',') {
            if condition.is_empty() {
                continue;
            }
            if let Some(Value::Bool(truth)) = path_value(values, &format!("{path}{condition}")) {
                dependency.enabled = truth;
                break;
            }
        }
    }
}

/// The value at a dotted path, if it is no table.
pub(crate) fn path_value(values: &Map, path: &str) -> Option<Value> {
    let (tables, key) = match path.rsplit_once('.') {
        Some((tables, key)) => (Some(tables), key),
        None => (None, path),
    };
    let table = match tables {
        Some(tables) => table_at(values, tables)?,
        None => values.clone(),
    };
    table.get(key.as_bytes()).filter(|value| !matches!(value, Value::Map(_)))
}

/// The table at a dotted path.
pub(crate) fn table_at(values: &Map, path: &str) -> Option<Map> {
    let mut table = values.clone();
    for part in path.split('.') {
        match table.get(part.as_bytes()) {
            Some(Value::Map(inner)) => table = inner,
            _ => return None,
        }
    }
    Some(table)
}

fn import_all(node: &mut Node<'_>) -> Result<(), Error> {
    for child in &mut node.children {
        import_all(child)?;
    }
    import_values(node)
}

fn import_values(node: &mut Node<'_>) -> Result<(), Error> {
    if node.dependencies.is_empty() {
        return Ok(());
    }
    let values = coalesce::coalesce_values(node, &Map::new::<&str>([]), Nulls::Keep)?;
    let imported = Map::new::<&str>([]);
    for dependency in &node.dependencies {
        for import in &dependency.import_values {
            let (child, parent) = match import {
                Json::String(name) => (format!("exports.{name}"), ".".to_owned()),
                Json::Object(pair) => {
                    let text = |key: &str| {
                        let value = pair.get(key).map_or(Value::Nil, Value::from_json);
                        String::from_utf8_lossy(&print::to_bytes(&value)).into_owned()
                    };
                    (text("child"), text("parent"))
                }
                _ => continue,
            };
            let Some(table) = table_at(&values, &format!("{}.{child}", dependency.name)) else {
                continue;
            };
            coalesce::coalesce_tables(&imported, &wrapped(&parent, table), Nulls::Keep);
        }
    }
    let own = coalesce::copy_map(&values);
    coalesce::coalesce_tables(&own, &imported, Nulls::Keep);
    node.values = own;
    Ok(())
}

/// The table as it hangs below a dotted path.
fn wrapped(path: &str, table: Map) -> Map {
    if path == "." {
        return table;
    }
    path.rsplit('.').fold(table, |inner, part| Map::new([(part, Value::Map(inner))]))
}
