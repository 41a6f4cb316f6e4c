//! The words of policies.

/// What can be asked for.
pub mod resource {
    /// Clusters that Applications deploy to.
    pub const CLUSTERS: &str = "clusters";
    /// AppProjects.
    pub const PROJECTS: &str = "projects";
    /// Applications.
    pub const APPLICATIONS: &str = "applications";
    /// ApplicationSets.
    pub const APPLICATION_SETS: &str = "applicationsets";
    /// Repositories to read from, with their credentials.
    pub const REPOSITORIES: &str = "repositories";
    /// Credentials to write to repositories with.
    pub const WRITE_REPOSITORIES: &str = "write-repositories";
    /// Certificates and host keys of repositories.
    pub const CERTIFICATES: &str = "certificates";
    /// Local accounts.
    pub const ACCOUNTS: &str = "accounts";
    /// Keys that commits are signed with.
    pub const GPG_KEYS: &str = "gpgkeys";
    /// The logs of an Application's pods.
    pub const LOGS: &str = "logs";
    /// A terminal in an Application's pods.
    pub const EXEC: &str = "exec";
    /// Backends of UI extensions.
    pub const EXTENSIONS: &str = "extensions";

    /// All of them.
    pub const ALL: [&str; 12] = [
        CLUSTERS,
        PROJECTS,
        APPLICATIONS,
        APPLICATION_SETS,
        REPOSITORIES,
        WRITE_REPOSITORIES,
        CERTIFICATES,
        ACCOUNTS,
        GPG_KEYS,
        LOGS,
        EXEC,
        EXTENSIONS,
    ];
}

/// What can be done with it. `update`, `delete` and `action` of Applications
/// may go on with `/<group>/<kind>/…`.
pub mod action {
    /// Look.
    pub const GET: &str = "get";
    /// Make a new one.
    pub const CREATE: &str = "create";
    /// Change.
    pub const UPDATE: &str = "update";
    /// Remove.
    pub const DELETE: &str = "delete";
    /// Start a sync.
    pub const SYNC: &str = "sync";
    /// Go back to an earlier deployment.
    pub const ROLLBACK: &str = "rollback";
    /// Sync something else than what git says.
    pub const OVERRIDE: &str = "override";
    /// Run a resource action.
    pub const ACTION: &str = "action";
    /// Call the backend of an extension.
    pub const INVOKE: &str = "invoke";

    /// All of them.
    pub const ALL: [&str; 9] =
        [GET, CREATE, UPDATE, DELETE, SYNC, ROLLBACK, OVERRIDE, ACTION, INVOKE];
}
