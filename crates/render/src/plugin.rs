//! A source that a plugin renders: what it is sent, and what it is told.

use std::collections::BTreeMap;

use api::{ApplicationSource, ApplicationSourcePlugin};
use object::Object;

use crate::environment::Environment;
use crate::manifest::{self, Found};
use crate::tree::{Tree, TreePath};
use crate::{Outside, RenderContext, RenderError};

/// A source for a plugin.
pub struct PluginRequest<'p> {
    /// The plugin; empty for the first that wants the source.
    pub name: &'p str,
    /// The repository. Whoever sends it reads it, and what is read is recorded:
    /// a plugin may look at anything.
    pub tree: &'p dyn Tree,
    /// The source's directory.
    pub path: &'p TreePath,
    /// Variables for its commands.
    pub variables: Vec<(String, String)>,
}

/// A parameter that a plugin says it understands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginParameter {
    /// Its name.
    pub name: String,
    /// How users see it.
    pub title: String,
    /// What it is for.
    pub tooltip: String,
    /// Must it be given?
    pub required: bool,
    /// `string`, `number` or `boolean`.
    pub item_type: String,
    /// `string`, `array` or `map`.
    pub collection_type: String,
    /// The value, if it is one text.
    pub string: String,
    /// The value, if it is a list.
    pub array: Vec<String>,
    /// The value, if it is a map.
    pub map: BTreeMap<String, String>,
}

/// Does a plugin find the source to be one of its own?
pub(crate) fn is_wanted(
    tree: &dyn Tree,
    path: &TreePath,
    source: &ApplicationSource,
    context: &RenderContext,
    environment: &Environment<'_>,
    outside: &dyn Outside,
) -> Result<bool, RenderError> {
    if !outside.has_plugins() {
        return Ok(false);
    }
    let request = request(tree, path, source, context, environment);
    // A plugin that cannot be asked does not want it, as in Argo CD.
    Ok(outside.discover_plugin(&request).unwrap_or_default().is_some())
}

/// The objects that the plugin makes of the source.
pub(crate) fn render(
    tree: &dyn Tree,
    path: &TreePath,
    source: &ApplicationSource,
    context: &RenderContext,
    environment: &Environment<'_>,
    outside: &dyn Outside,
) -> Result<Vec<Found<Object>>, RenderError> {
    let request = request(tree, path, source, context, environment);
    let texts = outside
        .run_plugin(&request)
        .map_err(|error| RenderError::Plugin { path: path.clone(), problem: error.to_string() })?;
    let mut found = Vec::new();
    for text in texts {
        found.extend(manifest::from_output(path, &text)?);
    }
    Ok(found)
}

/// The parameters that the plugin announces for the source.
pub(crate) fn announced(
    tree: &dyn Tree,
    path: &TreePath,
    source: &ApplicationSource,
    context: &RenderContext,
    environment: &Environment<'_>,
    outside: &dyn Outside,
) -> Result<Vec<PluginParameter>, RenderError> {
    let request = request(tree, path, source, context, environment);
    outside
        .announced_by_plugin(&request)
        .map_err(|error| RenderError::Plugin { path: path.clone(), problem: error.to_string() })
}

fn request<'p>(
    tree: &'p dyn Tree,
    path: &'p TreePath,
    source: &'p ApplicationSource,
    context: &RenderContext,
    environment: &Environment<'_>,
) -> PluginRequest<'p> {
    let mut variables = environment.all();
    let capabilities = &context.capabilities;
    let version = capabilities.kube_version.trim_start_matches('v');
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    variables.push(("KUBE_VERSION".to_owned(), version[..end].to_owned()));
    variables.push(("KUBE_API_VERSIONS".to_owned(), capabilities.api_versions.join(",")));
    let plugin = source.plugin.as_ref();
    if let Some(plugin) = plugin {
        for entry in &plugin.env {
            let value = environment.substitute_also(&entry.value, &variables);
            variables.push((format!("ARGOCD_ENV_{}", entry.name), value));
        }
        variables.extend(parameters(plugin));
    }
    let name = plugin.map_or("", |it| it.name.as_str());
    PluginRequest { name, tree, path, variables }
}

/// Parameters as one JSON text, and each as variables of its own.
fn parameters(plugin: &ApplicationSourcePlugin) -> Vec<(String, String)> {
    let json = match plugin.parameters.as_slice() {
        [] => "null".to_owned(),
        parameters => serde_json::to_string(parameters).expect("parameters are plain data"),
    };
    let mut variables = vec![("ARGOCD_APP_PARAMETERS".to_owned(), json)];
    for parameter in &plugin.parameters {
        let name = format!("PARAM_{}", escaped(&parameter.name));
        if let Some(text) = &parameter.string {
            variables.push((name.clone(), text.clone()));
        }
        for (key, value) in parameter.map.iter().flat_map(|it| &it.map) {
            variables.push((format!("{name}_{}", escaped(key)), value.clone()));
        }
        for (index, value) in parameter.array.iter().flat_map(|it| &it.array).enumerate() {
            variables.push((format!("{name}_{index}"), value.clone()));
        }
    }
    variables
}

fn escaped(name: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
    name.to_uppercase().chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use bytes::Bytes;

    use super::*;
    use crate::tree::MemoryTree;
    use crate::{ChartAddress, OutsideError, RemoteBase, SourceType, Still, World};

    /// A plugin that wants everything and says what it was told.
    #[derive(Default)]
    struct Told(RefCell<Vec<(String, String)>>);

    impl Outside for Told {
        fn file(&self, _: &str) -> Result<Bytes, OutsideError> {
            Err(OutsideError::Status(404))
        }

        fn chart(&self, _: &ChartAddress) -> Result<Bytes, OutsideError> {
            Err(OutsideError::Status(404))
        }

        fn repository(&self, _: &RemoteBase) -> Result<Box<dyn Tree>, OutsideError> {
            Err(OutsideError::Status(404))
        }

        fn has_plugins(&self) -> bool {
            true
        }

        fn discover_plugin(&self, _: &PluginRequest<'_>) -> Result<Option<String>, OutsideError> {
            Ok(Some("a".to_owned()))
        }

        fn run_plugin(&self, request: &PluginRequest<'_>) -> Result<Vec<String>, OutsideError> {
            *self.0.borrow_mut() = request.variables.clone();
            Ok(vec!["apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n".to_owned()])
        }
    }

    fn told(source: &str) -> (SourceType, Vec<String>) {
        let source: ApplicationSource = serde_json::from_str(source).unwrap();
        let tree = MemoryTree::new().file("app/x.yaml", "kind: x");
        let outside = Told::default();
        let world = World {
            commit: "0123456789",
            facts: &Still,
            outside: &outside,
            refs: Default::default(),
        };
        let (result, record) = crate::render(&tree, &source, &crate::test_context(), &world);
        let source_type = result.unwrap().source_type;
        assert_eq!(record.revision, source_type == SourceType::Plugin);
        let told = outside.0.into_inner();
        let told = told.iter().filter(|(name, _)| !name.starts_with("KUBE_API"));
        (source_type, told.map(|(name, value)| format!("{name}={value}")).collect())
    }

    #[test]
    fn a_plugin_that_wants_the_source_goes_before_detection() {
        assert_eq!(told(r#"{"path": "app"}"#).0, SourceType::Plugin);
        assert_eq!(
            told(r#"{"path": "app", "directory": {"recurse": true}}"#).0,
            SourceType::Directory
        );
    }

    #[test]
    fn variables_tell_the_application_the_environment_and_the_parameters() {
        let source = r#"{"path": "app", "plugin": {
            "env": [{"name": "A", "value": "$ARGOCD_APP_NAME!"}, {"name": "EMPTY", "value": ""}],
            "parameters": [{"name": "my-text", "string": "x"}, {"name": "l", "array": ["a", "b"]}, {"name": "m", "map": {"k.1": "v"}}]
        }}"#;
        let (_, told) = told(source);
        for expect in [
            "ARGOCD_APP_NAME=guestbook",
            "ARGOCD_APP_REVISION=0123456789",
            "ARGOCD_ENV_A=guestbook!",
            "ARGOCD_ENV_EMPTY=",
            "PARAM_MY_TEXT=x",
            "PARAM_L_0=a",
            "PARAM_L_1=b",
            "PARAM_M_K_1=v",
        ] {
            assert!(told.iter().any(|it| it == expect), "{expect} in {told:?}");
        }
        assert!(told.iter().any(|it| it.starts_with("ARGOCD_APP_PARAMETERS=[{")), "{told:?}");
    }
}
