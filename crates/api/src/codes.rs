//! The words of the status, as closed sets.
//!
//! The structs keep these words as text, because a newer version may know more
//! of them and they must survive. Compare a field with a code directly
//! (`status.sync.status == SyncStatusCode::Synced`), set it by `code.into()`, and
//! read it with `parse`, which is `None` for a word we do not know.

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// All of them, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as it stands in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// The code a word stands for, if we know it.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl From<$name> for String {
            fn from(code: $name) -> Self {
                code.as_str().to_owned()
            }
        }

        impl PartialEq<$name> for String {
            fn eq(&self, code: &$name) -> bool {
                self == code.as_str()
            }
        }

        impl PartialEq<$name> for str {
            fn eq(&self, code: &$name) -> bool {
                self == code.as_str()
            }
        }
    };
}

codes! {
    /// How the cluster compares with what the sources want.
    SyncStatusCode {
        /// Not compared, or the comparison failed.
        Unknown = "Unknown",
        /// The cluster has what the sources want.
        Synced = "Synced",
        /// They differ.
        OutOfSync = "OutOfSync",
    }
}

codes! {
    /// How well something does, from best to worst: the greater, the worse.
    HealthStatusCode {
        /// Does its work.
        Healthy = "Healthy",
        /// Waits for somebody on purpose, such as a paused rollout.
        Suspended = "Suspended",
        /// Not there yet, but may still get there.
        Progressing = "Progressing",
        /// Not in the cluster.
        Missing = "Missing",
        /// Failed, or cannot get there in time.
        Degraded = "Degraded",
        /// Could not be told.
        Unknown = "Unknown",
    }
}

codes! {
    /// How far an operation is; also how far one hook is.
    OperationPhase {
        /// Under way.
        Running = "Running",
        /// Asked to stop and stopping.
        Terminating = "Terminating",
        /// Came to its end, but something in it went wrong.
        Failed = "Failed",
        /// Could not be carried out.
        Error = "Error",
        /// Came to its end and all is well.
        Succeeded = "Succeeded",
    }
}

impl OperationPhase {
    /// Whether nothing more will happen.
    pub fn is_completed(self) -> bool {
        match self {
            Self::Running | Self::Terminating => false,
            Self::Failed | Self::Error | Self::Succeeded => true,
        }
    }
}

codes! {
    /// What a sync did with one resource.
    ResultCode {
        /// Applied.
        Synced = "Synced",
        /// Could not be applied or deleted.
        SyncFailed = "SyncFailed",
        /// Deleted, because no source wants it any more.
        Pruned = "Pruned",
        /// Not wanted any more, but left in place.
        PruneSkipped = "PruneSkipped",
    }
}

codes! {
    /// The parts of a sync, in their order; the last only if an earlier one failed.
    SyncPhase {
        /// Before the resources are applied.
        PreSync = "PreSync",
        /// While they are applied.
        Sync = "Sync",
        /// After all of them are healthy.
        PostSync = "PostSync",
        /// After a failure.
        SyncFail = "SyncFail",
    }
}

codes! {
    /// When a hook runs, as its annotation says.
    HookType {
        /// Before the resources are applied.
        PreSync = "PreSync",
        /// While they are applied.
        Sync = "Sync",
        /// After all of them are healthy.
        PostSync = "PostSync",
        /// Never: the resource is left out of the sync.
        Skip = "Skip",
        /// After a failure.
        SyncFail = "SyncFail",
    }
}

codes! {
    /// When a hook's resource is deleted.
    HookDeletePolicy {
        /// Once the hook succeeded.
        HookSucceeded = "HookSucceeded",
        /// Once the hook failed.
        HookFailed = "HookFailed",
        /// Before the next one of the same name is created; the default.
        BeforeHookCreation = "BeforeHookCreation",
    }
}

codes! {
    /// What an application condition is about. Names ending in `Error` keep the
    /// application from syncing by itself; the others only warn.
    ApplicationConditionType {
        /// The application could not be deleted.
        DeletionError = "DeletionError",
        /// The specification cannot be worked with.
        InvalidSpecError = "InvalidSpecError",
        /// Sources and cluster could not be compared.
        ComparisonError = "ComparisonError",
        /// A sync that started by itself failed.
        SyncError = "SyncError",
        /// Something went wrong that has no better name.
        UnknownError = "UnknownError",
        /// Another application has the same resource.
        SharedResourceWarning = "SharedResourceWarning",
        /// The sources have the same resource twice.
        RepeatedResourceWarning = "RepeatedResourceWarning",
        /// The sources have a resource that the settings exclude.
        ExcludedResourceWarning = "ExcludedResourceWarning",
        /// The destination namespace has resources that belong to no application.
        OrphanedResourceWarning = "OrphanedResourceWarning",
    }
}

impl ApplicationConditionType {
    /// Whether the condition is an error rather than a warning.
    pub fn is_error(self) -> bool {
        self.as_str().ends_with("Error")
    }
}

codes! {
    /// What makes manifests of a source.
    ApplicationSourceType {
        /// A Helm chart.
        Helm = "Helm",
        /// A kustomization.
        Kustomize = "Kustomize",
        /// Plain manifests and Jsonnet in a folder.
        Directory = "Directory",
        /// A config management plugin.
        Plugin = "Plugin",
    }
}

codes! {
    /// How far the hydrator is with a commit.
    HydrateOperationPhase {
        /// Under way.
        Hydrating = "Hydrating",
        /// Ended with an error.
        Failed = "Failed",
        /// Rendered and pushed.
        Hydrated = "Hydrated",
    }
}

codes! {
    /// How thoroughly to look again.
    RefreshType {
        /// Resolve the revision again; rendered manifests may come from the cache.
        Normal = "normal",
        /// Render again as well.
        Hard = "hard",
    }
}

codes! {
    /// What an ApplicationSet may do to the applications it generates.
    ApplicationsSyncPolicy {
        /// Create them, then leave them alone.
        CreateOnly = "create-only",
        /// Create and update, but not delete.
        CreateUpdate = "create-update",
        /// Create and delete, but not update.
        CreateDelete = "create-delete",
        /// All three; the default.
        Sync = "sync",
    }
}

codes! {
    /// What an ApplicationSet condition is about.
    ApplicationSetConditionType {
        /// Something went wrong.
        ErrorOccurred = "ErrorOccurred",
        /// The generators gave their parameters.
        ParametersGenerated = "ParametersGenerated",
        /// The applications are as generated.
        ResourcesUpToDate = "ResourcesUpToDate",
        /// A rollout in steps is under way.
        RolloutProgressing = "RolloutProgressing",
        /// The steps of the rollout make no sense.
        InvalidRolloutConfig = "InvalidRolloutConfig",
    }
}

codes! {
    /// Where an application is in a rollout in steps.
    ProgressiveSyncStatusCode {
        /// Its step has not come.
        Waiting = "Waiting",
        /// Its step has come; the sync has not started.
        Pending = "Pending",
        /// Syncing or not healthy yet.
        Progressing = "Progressing",
        /// Done.
        Healthy = "Healthy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back() {
        for code in ApplicationConditionType::ALL {
            assert_eq!(ApplicationConditionType::parse(code.as_str()), Some(*code));
        }
        assert_eq!(SyncStatusCode::parse("Later"), None);
    }

    #[test]
    fn a_field_compares_with_a_code() {
        let status = String::from("OutOfSync");
        assert!(status == SyncStatusCode::OutOfSync);
        assert!(status != SyncStatusCode::Synced);
        assert_eq!(String::from(SyncStatusCode::OutOfSync), status);
    }

    #[test]
    fn worse_health_is_greater() {
        assert_eq!(
            [HealthStatusCode::Missing, HealthStatusCode::Degraded, HealthStatusCode::Healthy]
                .into_iter()
                .max(),
            Some(HealthStatusCode::Degraded)
        );
    }
}
