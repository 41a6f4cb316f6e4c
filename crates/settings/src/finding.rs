//! What is wrong with the settings.

use std::fmt;

/// A setting that could not be used as it is written. What it falls back to is
/// always the careful choice or the default.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The ConfigMap or Secret.
    pub object: String,
    /// The key in it; empty when it is about the whole.
    pub key: String,
    /// What is wrong. Values of Secrets are never repeated here.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.object, self.key, self.message)
    }
}
