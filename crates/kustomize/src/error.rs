//! What can go wrong in a build.
//!
//! Messages carry Kustomize's wording, so that what users find on the web
//! about an error still helps them. A cause is in `source`; [`BuildError::chain`]
//! joins the whole in one line, as Kustomize prints it.

use crate::files::Limit;
use crate::yaml::json::JsonError;
use crate::yaml::parse::ParseError;
use crate::yaml::path::PathError;

/// Why a build has no result.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A step of the build failed because of what it rests on.
    #[error("{step}")]
    Step {
        /// What was being done, and to what.
        step: String,
        /// Why it failed.
        source: Box<Self>,
    },
    /// Something in the tree, or in the overrides, is not as it must be.
    #[error("{0}")]
    Invalid(String),
    /// A file that should be YAML is not.
    #[error("MalformedYAMLError: {0}")]
    MalformedYaml(String),
    /// The remote port could not deliver.
    #[error("could not fetch {url}")]
    Remote {
        /// The address as written in the kustomization.
        url: String,
        /// What the port said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The build is larger than the options allow.
    #[error("build exceeds a limit: {0}")]
    TooLarge(Limit),
    /// A feature that is deliberately not carried out.
    #[error("{0}")]
    Refused(String),
}

impl BuildError {
    /// The message with all its causes, joined by colons.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }

    /// Did reading a YAML text fail, whatever was made of that?
    pub(crate) fn is_malformed_yaml(&self) -> bool {
        match self {
            Self::MalformedYaml(_) => true,
            Self::Step { source, .. } => source.is_malformed_yaml(),
            Self::Invalid(_) | Self::Remote { .. } | Self::TooLarge(_) | Self::Refused(_) => false,
        }
    }

    /// Limits and refusals end a build; no other reading is tried.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::TooLarge(_) | Self::Refused(_) => true,
            Self::Step { source, .. } => source.is_final(),
            Self::Invalid(_) | Self::MalformedYaml(_) | Self::Remote { .. } => false,
        }
    }
}

/// The result of a step of a build.
pub(crate) type Result<T, E = BuildError> = std::result::Result<T, E>;

/// An error without a deeper cause.
pub(crate) fn invalid(message: impl Into<String>) -> BuildError {
    BuildError::Invalid(message.into())
}

/// Says what was being done when an error came up.
pub(crate) trait Context<T> {
    fn context(self, step: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<BuildError>> Context<T> for std::result::Result<T, E> {
    fn context(self, step: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| BuildError::Step { step: step(), source: Box::new(error.into()) })
    }
}

impl From<PathError> for BuildError {
    fn from(error: PathError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl From<JsonError> for BuildError {
    fn from(error: JsonError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl From<ParseError> for BuildError {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Syntax(_)
            | ParseError::UnknownAnchor(_)
            | ParseError::RecursiveAnchor(_)
            | ParseError::ExcessiveAliasing
            | ParseError::TooDeep => Self::MalformedYaml(error.to_string()),
            ParseError::Separator(_)
            | ParseError::MergeOfAlias
            | ParseError::MergeOfNestedSequence
            | ParseError::MergeOfScalar
            | ParseError::DuplicateMergeKey => Self::Invalid(error.to_string()),
        }
    }
}
