//! Versions and constraints as Masterminds/semver v3 understands them.
//!
//! Looser than the specification: `v1.2` is a version, `1.x || >=2.0-0` a
//! constraint. A pre-release satisfies a constraint only if the constraint
//! mentions one. Start with [`Version`] and [`Constraint`]; [`highest_tag`] puts
//! the two together for a target revision.

mod constraint;
mod version;

pub use constraint::{Constraint, ConstraintError};
pub use version::{Version, VersionError};

/// Why a target revision stands for no tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Neither a version nor a constraint nor one of the tags.
    #[error("failed to determine semver constraint: {0}")]
    NotAConstraint(ConstraintError),
    /// A prefix was given, and the revision is no constraint.
    #[error(
        "tagPrefix {prefix:?} requires targetRevision to be a semver constraint, but {revision:?} is not a valid constraint"
    )]
    PrefixNeedsConstraint {
        /// The prefix.
        prefix: String,
        /// The revision.
        revision: String,
    },
    /// A tag that looks like a version and is none.
    #[error("invalid semver version in tags: {0}")]
    InvalidTag(VersionError),
    /// No tag satisfies the constraint.
    #[error("version matching constraint not found in {0} tags")]
    NoMatch(usize),
}

/// Whether `revision` asks for a range of versions rather than naming one.
#[must_use]
pub fn is_constraint(revision: &str) -> bool {
    Version::parse(revision).is_err() && Constraint::parse(revision).is_ok()
}

/// The tag that `revision` stands for: itself if it is a version, otherwise the
/// highest of `tags` that satisfies it. With a `prefix`, only tags that begin
/// with it count, and the rest of their name is the version.
///
/// # Errors
/// If no tag fits.
pub fn highest_tag<S: AsRef<str>>(
    revision: &str,
    tags: &[S],
    prefix: &str,
) -> Result<String, ResolveError> {
    if Version::parse(revision).is_ok() {
        return Ok(format!("{prefix}{revision}"));
    }
    let names: Vec<&str> =
        tags.iter().filter_map(|tag| tag.as_ref().strip_prefix(prefix)).collect();
    let constraint = match Constraint::parse(revision) {
        Ok(constraint) => constraint,
        Err(_) if !prefix.is_empty() => {
            let (prefix, revision) = (prefix.to_owned(), revision.to_owned());
            return Err(ResolveError::PrefixNeedsConstraint { prefix, revision });
        }
        Err(_) if names.contains(&revision) => return Ok(revision.to_owned()),
        Err(error) => return Err(ResolveError::NotAConstraint(error)),
    };
    let mut highest: Option<Version> = None;
    for name in &names {
        let version = match Version::parse(name) {
            Ok(version) => version,
            Err(VersionError::Invalid) => continue,
            Err(error) => return Err(ResolveError::InvalidTag(error)),
        };
        let is_higher = highest.as_ref().is_none_or(|highest| version.precedence(highest).is_gt());
        if is_higher && constraint.check(&version) {
            highest = Some(version);
        }
    }
    match highest {
        Some(version) => Ok(format!("{prefix}{}", version.original())),
        None => Err(ResolveError::NoMatch(names.len())),
    }
}
