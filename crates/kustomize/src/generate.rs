//! The generators: ConfigMaps and Secrets from literals and files, and the
//! service accounts of the IAM generator.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base64::encode_in_lines;
use crate::error::{BuildError, Context as _, Result, invalid};
use crate::helm::Inflation;
use crate::kustomization::charts::{HelmChart, HelmGlobals};
use crate::kustomization::decode::{Mode, Place, string};
use crate::kustomization::parts::{Generator, GeneratorOptions};
use crate::loader::Loader;
use crate::resource::{Behavior, Resource};
use crate::schema::Schemas;
use crate::yaml::json::to_value;
use crate::yaml::path::set_field;
use crate::yaml::{Kind, Node, Tag};

/// Go reads environment files with lines no longer than this.
const LINE_LIMIT: usize = 64 * 1024;

/// Makes a ConfigMap.
pub(crate) fn config_map(generator: &Generator, loader: &Loader<'_>) -> Result<Resource> {
    let mut node = base("ConfigMap", generator)?;
    for (key, value) in contents(generator, loader)? {
        match String::from_utf8(value) {
            Ok(text) => put(&mut node, "data", &key, text),
            Err(error) => {
                put(&mut node, "binaryData", &key, encode_in_lines(error.as_bytes()));
            }
        }
    }
    finish(node, generator)
}

/// Makes a Secret.
pub(crate) fn secret(generator: &Generator, loader: &Loader<'_>) -> Result<Resource> {
    let mut node = base("Secret", generator)?;
    let secret_type =
        if generator.secret_type.is_empty() { "Opaque" } else { &generator.secret_type };
    set_field(&mut node, "type", Node::string(secret_type))?;
    node.put("data", Node::empty(Kind::Mapping));
    for (key, value) in contents(generator, loader)? {
        put(&mut node, "data", &key, encode_in_lines(&value));
    }
    finish(node, generator)
}

fn put(node: &mut Node, field: &str, key: &str, text: String) {
    if node.field(field).is_none() {
        node.put(field, Node::empty(Kind::Mapping));
    }
    if let Some(map) = node.field_mut(field) {
        map.put(key, Node::string(text));
    }
}

fn base(kind: &str, generator: &Generator) -> Result<Node> {
    if generator.name.is_empty() {
        return Err(invalid("a configmap must have a name"));
    }
    let mut metadata = Node::empty(Kind::Mapping);
    set_field(&mut metadata, "name", Node::string(generator.name.as_str()))?;
    if !generator.namespace.is_empty() {
        set_field(&mut metadata, "namespace", Node::string(generator.namespace.as_str()))?;
    }
    let mut node = Node::empty(Kind::Mapping);
    node.put("apiVersion", Node::string("v1"));
    node.put("kind", Node::string(kind));
    node.put("metadata", metadata);
    Ok(node)
}

fn finish(mut node: Node, generator: &Generator) -> Result<Resource> {
    if generator.options.as_ref().is_some_and(|options| options.immutable) {
        node.put("immutable", Node::typed("true", Tag::Bool));
    }
    let mut resource = Resource::new(node);
    let mut needs_hash = true;
    if let Some(GeneratorOptions { labels, annotations, disable_name_suffix_hash, .. }) =
        &generator.options
    {
        resource.set_labels(labels)?;
        resource.set_annotations(annotations)?;
        needs_hash = !disable_name_suffix_hash;
    }
    resource.history.needs_hash = needs_hash;
    resource.history.behavior = Some(Behavior::parse(&generator.behavior));
    Ok(resource)
}

/// The entries of a generated resource, sorted by key.
fn contents(generator: &Generator, loader: &Loader<'_>) -> Result<BTreeMap<String, Vec<u8>>> {
    let pairs = pairs(generator, loader).context(|| "loading KV pairs".to_owned())?;
    let mut contents = BTreeMap::new();
    for (key, value) in pairs {
        if contents.insert(key.clone(), value).is_some() {
            return Err(invalid(format!(
                "configmap {} illegally repeats the key `{key}`",
                generator.name
            )));
        }
    }
    Ok(contents)
}

type Pair = (String, Vec<u8>);

fn pairs(generator: &Generator, loader: &Loader<'_>) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    let shown = |list: &[String]| format!("[{}]", list.join(" "));
    for path in &generator.envs {
        let more = loader.load(path).and_then(|bytes| from_env_file(&bytes));
        pairs.extend(more.context(|| format!("env source files: {}", shown(&generator.envs)))?);
    }
    for literal in &generator.literals {
        let pair = from_literal(literal);
        pairs.push(pair.context(|| format!("literal sources {}", shown(&generator.literals)))?);
    }
    for source in &generator.files {
        let pair = split_file_source(source)
            .and_then(|(key, path)| Ok((key.to_owned(), loader.load(path)?.to_vec())));
        pairs.push(pair.context(|| format!("file sources: {}", shown(&generator.files)))?);
    }
    Ok(pairs)
}

/// `key=value`, with one pair of quotes around the value removed.
fn from_literal(text: &str) -> Result<Pair> {
    let problem = || invalid(format!("invalid literal source {text}, expected key=value"));
    let (key, value) = text.split_once('=').ok_or_else(problem)?;
    if key.is_empty() {
        return Err(problem());
    }
    let unquoted = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote).and_then(|value| value.strip_suffix(*quote)));
    Ok((key.to_owned(), unquoted.unwrap_or(value).as_bytes().to_vec()))
}

/// `path` or `key=path`.
fn split_file_source(source: &str) -> Result<(&str, &str)> {
    match source.split('=').collect::<Vec<_>>().as_slice() {
        [path] => {
            let trimmed = path.trim_end_matches('/');
            Ok((trimmed.rsplit('/').next().unwrap_or(trimmed), path))
        }
        ["", path] => {
            Err(invalid(format!("missing key name for file path {path:?} in source {source:?}")))
        }
        [key, ""] => {
            Err(invalid(format!("missing file path for key name {key:?} in source {source:?}")))
        }
        [key, path] => Ok((key, path)),
        _ => Err(invalid(format!("source {source:?} key name or file path contains '='"))),
    }
}

/// One `key=value` per line; blank lines and comments are skipped.
fn from_env_file(bytes: &[u8]) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.len() >= LINE_LIMIT {
            // Go's scanner stops here without a word.
            break;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Ok(line) = std::str::from_utf8(line) else {
            return Err(invalid(format!(
                "line {number} has invalid utf8 bytes : {}",
                String::from_utf8_lossy(line)
            )));
        };
        let line = if number == 0 { line.trim_start_matches('\u{feff}') } else { line };
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if !key.is_empty() {
            pairs.push((key.to_owned(), value.as_bytes().to_vec()));
        }
    }
    Ok(pairs)
}

/// Runs the generator that a resource configures.
pub(crate) fn from_resource(
    config: &Resource,
    schemas: &Schemas,
    loader: &Loader<'_>,
) -> Result<Vec<Resource>> {
    if config.api_version() != "builtin" {
        let error = BuildError::Refused(format!(
            "external plugins disabled; unable to load external plugin '{}'",
            config.kind()
        ));
        return Err(error).context(|| "failed to load generator".to_owned());
    }
    let value = to_value(&config.node)?;
    let place = Place::root(Mode::Lenient, "Plugin");
    let id = config.original_id(&schemas.scopes);
    let named = |mut generator: Generator| {
        if generator.name.is_empty() {
            config.name().clone_into(&mut generator.name);
        }
        if generator.namespace.is_empty() {
            config.namespace().clone_into(&mut generator.namespace);
        }
        generator
    };
    let configured = |error| BuildError::Step {
        step: format!("plugin {id} fails configuration"),
        source: Box::new(error),
    };
    match config.kind() {
        "ConfigMapGenerator" => {
            let generator = Generator::read_config_map(&value, &place).map_err(configured)?;
            Ok(vec![config_map(&named(generator), loader)?])
        }
        "SecretGenerator" => {
            let generator = Generator::read_secret(&value, &place).map_err(configured)?;
            Ok(vec![secret(&named(generator), loader)?])
        }
        "IAMPolicyGenerator" => Ok(vec![iam_service_account(&value, &place)?]),
        "HelmChartInflationGenerator" => {
            let chart = HelmChart::read(&value, &place).map_err(configured)?;
            let globals = HelmGlobals::read(&value, &place).map_err(configured)?;
            let inflation = Inflation::configure(chart, &globals, loader).map_err(configured)?;
            inflation.run(loader, schemas)
        }
        kind if kind.ends_with("Transformer") => {
            Err(invalid(format!("plugin {id} not a generator")))
                .context(|| "failed to load generator".to_owned())
        }
        _ => Err(BuildError::Refused(format!("unable to load builtin {}", config.gvk()))),
    }
}

fn iam_service_account(value: &Value, place: &Place<'_>) -> Result<Resource> {
    let text = |path: [&str; 2]| {
        let found = value.get(path[0]).and_then(|value| value.get(path[1]));
        string(found.unwrap_or(&Value::Null), place)
    };
    let cloud = string(value.get("cloud").unwrap_or(&Value::Null), place)?;
    if cloud != "gke" {
        return Err(invalid(format!("cloud provider {cloud} not supported yet")));
    }
    let account = text(["serviceAccount", "name"])?;
    let project = text(["serviceAccount", "projectId"])?;
    let generator = Generator {
        name: text(["kubernetesService", "name"])?,
        namespace: text(["kubernetesService", "namespace"])?,
        ..Generator::default()
    };
    let mut resource = Resource::new(base("ServiceAccount", &generator)?);
    let email = format!("{account}@{project}.iam.gserviceaccount.com");
    resource.set_annotation("iam.gke.io/gcp-service-account", &email)?;
    Ok(resource)
}
