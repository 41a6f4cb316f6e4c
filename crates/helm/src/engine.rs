//! Renders the templates of a chart and of all its subcharts.

use std::collections::BTreeMap;
use std::rc::Rc;

use template::{
    Engine, Error as TemplateError, Facts, Function, Functions, Limits, Map, MissingKey, Parameter,
    Templates, Text, Value, print,
};

use crate::chart;
use crate::dependencies::{Node, table_at};
use crate::error::Error;
use crate::exec_error::{self, END, START};
use crate::objects;

/// How often a template may stand inside itself. Helm allows 1,000; nothing real comes near either.
const MAX_RECURSION: usize = 200;

/// One template with what its dot is.
struct Renderable<'c> {
    template: &'c chart::Template,
    dot: Map,
    base_path: String,
}

/// The outputs of all templates that are not partials, by full name.
pub(crate) fn render(
    root: &Node<'_>,
    values: &Map,
    release: &Value,
    capabilities: &Value,
    limits: Limits,
    facts: &dyn Facts,
) -> Result<BTreeMap<String, String>, Error> {
    let mut renderables = BTreeMap::new();
    let shared = Shared { release, capabilities };
    collect(root, None, values, &shared, &mut renderables);
    // Outermost last, so that a chart can redefine what its subcharts define.
    let mut names: Vec<&String> = renderables.keys().collect();
    names.sort_by_key(|name| std::cmp::Reverse((name.matches('/').count(), name.as_str())));

    let functions = FUNCTIONS.with(Rc::clone);
    let mut templates = Templates::new();
    for name in &names {
        let parsed = renderables[*name].template.parsed(name, &functions);
        let parsed =
            parsed.map_err(|error| Error::Template(exec_error::parse_error(name, &error)))?;
        templates.add(&parsed);
    }
    let templates = Rc::new(templates);
    let engine = Engine { functions: &functions, missing_key: MissingKey::Zero, limits, facts };
    let run = engine.start();
    let mut outputs = BTreeMap::new();
    for name in names {
        if name.rsplit('/').next().is_some_and(|base| base.starts_with('_')) {
            continue;
        }
        let renderable = &renderables[name];
        let about = Map::new([
            ("Name", Value::string(name.as_str())),
            ("BasePath", Value::string(renderable.base_path.as_str())),
        ]);
        renderable.dot.set("Template", objects::as_values(&about));
        let dot = objects::as_values(&renderable.dot);
        let output = run
            .execute(&templates, name, &dot)
            .map_err(|error| Error::Template(exec_error::execution_error(name, &error)))?;
        outputs.insert(name.clone(), without_no_value(output));
    }
    Ok(outputs)
}

fn without_no_value(output: Vec<u8>) -> String {
    const NO_VALUE: &str = "<no value>";
    let text = String::from_utf8(output)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if text.contains(NO_VALUE) { text.replace(NO_VALUE, "") } else { text }
}

struct Shared<'a> {
    release: &'a Value,
    capabilities: &'a Value,
}

/// Gathers the templates of a chart and those below it; returns the chart's dot.
fn collect<'c>(
    node: &Node<'c>,
    parent_path: Option<&str>,
    values: &Map,
    shared: &Shared<'_>,
    renderables: &mut BTreeMap<String, Renderable<'c>>,
) -> Map {
    let path = match parent_path {
        None => node.name().to_owned(),
        Some(parent) => format!("{parent}/charts/{}", node.name()),
    };
    let subcharts = Map::new::<&str>([]);
    let dot = Map::new([
        ("Chart", objects::chart(node, parent_path.is_none())),
        ("Files", objects::files(&node.chart.files)),
        ("Release", shared.release.clone()),
        ("Capabilities", shared.capabilities.clone()),
        ("Values", objects::as_values(values)),
        ("Subcharts", Value::Map(subcharts.clone())),
    ]);
    for child in &node.children {
        let inner = table_at(values, child.name()).unwrap_or_else(|| Map::new::<&str>([]));
        let below = collect(child, Some(&path), &inner, shared, renderables);
        subcharts.set(child.name(), Value::Map(below));
    }
    for template in &node.chart.templates {
        let base = template.name.rsplit('/').next().unwrap_or_default();
        if node.chart.metadata.is_library() && !base.starts_with('_') {
            continue;
        }
        let renderable =
            Renderable { template, dot: dot.clone(), base_path: format!("{path}/templates") };
        renderables.insert(format!("{path}/{}", template.name), renderable);
    }
    dot
}

thread_local! {
    /// The functions of charts: building the table takes as long as a small template.
    static FUNCTIONS: Rc<Functions> = Rc::new(functions());
}

/// The names of all functions that charts may call, in order.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    functions().names().collect::<Vec<_>>().into_iter()
}

/// Sprig without what touches the machine, and Helm's own.
pub(crate) fn functions() -> Functions {
    let mut functions = Functions::sprig();
    functions.add_helm_formats();
    functions.add("include", Function::new(&[Parameter::String, Parameter::Any], include));
    functions.add("tpl", Function::new(&[Parameter::String, Parameter::Any], tpl));
    functions.add("required", Function::new(&[Parameter::String, Parameter::Any], required));
    functions.add(
        "fail",
        Function::new(&[Parameter::String], |_, arguments| {
            Err(TemplateError::function(wrapped(&arguments[0])))
        }),
    );
    // No cluster is asked while rendering.
    functions
        .add("lookup", Function::new(&[Parameter::String; 4], |_, _| Ok(Value::map::<&str>([]))));
    functions
        .add("getHostByName", Function::new(&[Parameter::String], |_, _| Ok(Value::string(""))));
    functions
}

fn include(call: &mut template::Call<'_>, arguments: &[Value]) -> Result<Value, TemplateError> {
    let Some(name) = arguments[0].as_text() else { return Ok(Value::string("")) };
    let name = name.as_str();
    if call.nesting(&name) > MAX_RECURSION {
        return Err(TemplateError::function(format!(
            "rendering template has a nested reference name: {name}: unable to execute template"
        )));
    }
    call.execute(&name, &arguments[1]).map(Value::string)
}

fn wrapped(message: &Value) -> String {
    let message = message.as_text().map(Text::to_string).unwrap_or_default();
    format!("{START}{message}{END}")
}

fn tpl(call: &mut template::Call<'_>, arguments: &[Value]) -> Result<Value, TemplateError> {
    let Some(text) = arguments[0].as_text() else { return Ok(Value::string("")) };
    let shown = || {
        let quoted = print::format(b"%q", &arguments[..1]);
        String::from_utf8_lossy(&quoted).into_owned()
    };
    let executed = call.execute_text("gotpl", text.as_bytes(), &arguments[1]).map_err(|error| {
        TemplateError::wrapping(format!("cannot parse template {}: {error}", shown()), error)
    })?;
    let output = executed.map_err(|error| {
        let message = format!("error during tpl function execution for {}: {error}", shown());
        TemplateError::wrapping(message, error)
    })?;
    if output.windows(10).any(|window| window == b"<no value>") {
        return Ok(Value::string(without_no_value(output)));
    }
    Ok(Value::string(output))
}

fn required(_: &mut template::Call<'_>, arguments: &[Value]) -> Result<Value, TemplateError> {
    let value = &arguments[1];
    let is_empty_text = value.as_text().is_some_and(Text::is_empty);
    if value.is_nil() || is_empty_text {
        return Err(TemplateError::function(wrapped(&arguments[0])));
    }
    Ok(value.clone())
}
