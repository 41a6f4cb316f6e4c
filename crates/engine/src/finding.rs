//! What we tell the user: a finding is a fact with its subject and its reason.
//!
//! The core never fails because one object is wrong; it returns its findings
//! beside the result. [`crate::status`] turns them into Application conditions,
//! and nothing else does.

use object::ResourceKey;

/// One thing the user should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Which condition it becomes.
    pub concern: Concern,
    /// The object it is about; none when it is about the whole application.
    pub subject: Option<ResourceKey>,
    /// What is wrong and what to do, as one sentence.
    pub message: String,
}

/// The condition types of an Application, as Argo CD names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concern {
    /// The spec itself cannot be carried out.
    InvalidSpec,
    /// Want or live could not be established.
    Comparison,
    /// A commit does not come from where the project wants commits to come from.
    /// It is compared, but not deployed.
    Integrity,
    /// A sync could not be started or is held back by a failure.
    Sync,
    /// A cascade delete could not go on.
    Deletion,
    /// Something of ours failed in a way that has no better name.
    Unknown,
    /// The same object stands in git more than once.
    RepeatedResource,
    /// The object is tracked by another application.
    SharedResource,
    /// Git holds an object that the settings exclude.
    ExcludedResource,
    /// There are objects in the application's namespace that are nobody's.
    OrphanedResource,
    /// The application is compared with manifests that a user sent, not with git.
    LocalManifests,
}

impl Concern {
    /// The condition's type as users see it.
    #[must_use]
    pub fn condition_type(self) -> &'static str {
        match self {
            Self::InvalidSpec => "InvalidSpecError",
            Self::Comparison | Self::Integrity => "ComparisonError",
            Self::Sync => "SyncError",
            Self::Deletion => "DeletionError",
            Self::Unknown => "UnknownError",
            Self::RepeatedResource => "RepeatedResourceWarning",
            Self::SharedResource => "SharedResourceWarning",
            Self::ExcludedResource => "ExcludedResourceWarning",
            Self::OrphanedResource => "OrphanedResourceWarning",
            Self::LocalManifests => "LocalManifestsWarning",
        }
    }

    /// Does it make the comparison worthless?
    ///
    /// Warnings stand beside a verdict; these replace it by Unknown.
    #[must_use]
    pub fn hides_the_truth(self) -> bool {
        matches!(self, Self::InvalidSpec | Self::Comparison | Self::Unknown)
    }

    /// Must nothing be deployed as long as it stands?
    #[must_use]
    pub fn forbids_syncs(self) -> bool {
        self.hides_the_truth() || self == Self::Integrity
    }
}

impl Finding {
    /// A finding about the application as a whole.
    pub fn new(concern: Concern, message: impl Into<String>) -> Self {
        Self { concern, subject: None, message: message.into() }
    }

    /// A finding about one object.
    pub fn about(concern: Concern, subject: ResourceKey, message: impl Into<String>) -> Self {
        Self { concern, subject: Some(subject), message: message.into() }
    }
}
