//! A plugin's `plugin.yaml`.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::ParameterAnnouncement;

const FILE: &str = "plugin.yaml";
const KIND: &str = "ConfigManagementPlugin";

/// What a plugin is, and which commands it has.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PluginConfig {
    kind: String,
    metadata: Metadata,
    pub(crate) spec: Spec,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Spec {
    version: String,
    pub(crate) init: Command,
    pub(crate) generate: Command,
    pub(crate) discover: Discover,
    pub(crate) parameters: Parameters,
    pub(crate) preserve_file_mode: bool,
    pub(crate) provide_git_creds: bool,
}

/// A program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Command {
    pub(crate) command: Vec<String>,
    pub(crate) args: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Discover {
    pub(crate) file_name: String,
    pub(crate) find: Find,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Find {
    pub(crate) glob: String,
    #[serde(flatten)]
    pub(crate) command: Command,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Parameters {
    #[serde(rename = "static")]
    pub(crate) fixed: Vec<ParameterAnnouncement>,
    pub(crate) dynamic: Command,
}

/// Why there is no plugin. Argo CD's words where it has some.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there.
    #[error("could not read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is no YAML, or a field is of the wrong kind.
    #[error("could not understand {path}: {problem}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Something is missing.
    #[error("invalid plugin configuration file. {0}")]
    Invalid(String),
}

impl PluginConfig {
    /// Reads the `plugin.yaml` of a folder.
    ///
    /// # Errors
    /// When it is not there or describes no plugin.
    pub fn read(folder: &Path) -> Result<Self, ConfigError> {
        let path = folder.join(FILE);
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ConfigError::Read { path: path.clone(), source })?;
        Self::parse(&text).map_err(|problem| match problem {
            Problem::Malformed(problem) => ConfigError::Malformed { path, problem },
            Problem::Invalid(problem) => ConfigError::Invalid(problem),
        })
    }

    fn parse(text: &str) -> Result<Self, Problem> {
        let value =
            gocompat::yaml::to_value(text).map_err(|it| Problem::Malformed(it.to_string()))?;
        let config: Self =
            serde_json::from_value(value).map_err(|it| Problem::Malformed(it.to_string()))?;
        let invalid = |text: String| Err(Problem::Invalid(text));
        if config.metadata.name.is_empty() {
            return invalid("metadata.name should be non-empty".to_owned());
        }
        if config.kind != KIND {
            return invalid(format!("kind should be {KIND}, found {}", config.kind));
        }
        if config.spec.generate.command.is_empty() {
            return invalid("spec.generate command should be non-empty".to_owned());
        }
        Ok(config)
    }

    /// The name of its socket, without the ending: how Applications name it.
    #[must_use]
    pub fn socket_name(&self) -> String {
        match self.spec.version.as_str() {
            "" => self.metadata.name.clone(),
            version => format!("{}-{version}", self.metadata.name),
        }
    }
}

enum Problem {
    Malformed(String),
    Invalid(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let said = match PluginConfig::parse(text) {
            Ok(config) => config.socket_name(),
            Err(Problem::Malformed(problem) | Problem::Invalid(problem)) => problem,
        };
        assert_eq!(said, expect);
    }

    #[test]
    fn a_plugin_has_a_name_and_a_command() {
        let spec = "spec: {version: v1.0, generate: {command: [sh, -c], args: [x]}}";
        check(&format!("kind: ConfigManagementPlugin\nmetadata: {{name: a}}\n{spec}"), "a-v1.0");
        check(
            &format!("kind: ConfigManagementPlugin\n{spec}"),
            "metadata.name should be non-empty",
        );
        check(
            &format!("kind: Plugin\nmetadata: {{name: a}}\n{spec}"),
            "kind should be ConfigManagementPlugin, found Plugin",
        );
        check(
            "kind: ConfigManagementPlugin\nmetadata: {name: a}\n",
            "spec.generate command should be non-empty",
        );
    }

    #[test]
    fn discovery_is_by_name_glob_or_command() {
        let text = "kind: ConfigManagementPlugin\nmetadata: {name: a}\nspec:\n  generate: {command: [a]}\n  discover: {find: {glob: '**/x', command: [sh], args: [z]}}\n";
        let Ok(config) = PluginConfig::parse(text) else { panic!("it is one") };
        let find = &config.spec.discover.find;
        assert_eq!((find.glob.as_str(), find.command.command.len()), ("**/x", 1));
    }
}
