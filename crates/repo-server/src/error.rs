//! Why there are no manifests, in words that tell the user what to do, and
//! whether trying again by itself makes sense.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use render::RenderError;
use render::tree::TreeError;

use crate::{CommitSha, RepoUrl, http};

/// The cause under one of our errors. Shared, because one failed request is
/// the answer to everyone who waited for it.
pub(crate) type Cause = Arc<dyn Error + Send + Sync>;

/// What should happen after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It may pass by itself: a network, a server, a deadline.
    RetrySoon,
    /// Someone has to change the repository, the application or a credential.
    WaitForUser,
}

/// Why a revision could not be resolved or a commit not be fetched.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FetchError {
    /// No answer from the server, or one that is no git server's.
    #[error("could not reach the repository {repo}")]
    Unreachable {
        /// The repository.
        repo: RepoUrl,
        /// What git code said.
        source: Cause,
    },
    /// The server went away in the middle.
    #[error(
        "the answer of {repo} broke off; it is asked for again, and where that never helps, look at the server and at proxies before it"
    )]
    BrokeOff {
        /// The repository.
        repo: RepoUrl,
        /// What git code said.
        source: Cause,
    },
    /// The server answered, but does not give out what we asked for.
    #[error("{repo} refuses to send the commit")]
    Refused {
        /// The repository.
        repo: RepoUrl,
        /// What the server said.
        source: Cause,
    },
    /// What the server sent, or what we had stored, is damaged.
    #[error("the data of {repo} is damaged")]
    Damaged {
        /// The repository.
        repo: RepoUrl,
        /// What git code said.
        source: Cause,
    },
    /// The server wants to know who asks, or does not like the answer.
    #[error(
        "authentication required: {repo} does not answer anonymous requests; add credentials for it, or check that it exists"
    )]
    AuthenticationRequired {
        /// The repository.
        repo: RepoUrl,
    },
    /// The server does not like who we say we are.
    #[error("authentication failed: {repo} refuses the credentials configured for it; check them")]
    AuthenticationFailed {
        /// The repository.
        repo: RepoUrl,
    },
    /// Another host has the chart, and the credentials are not for it.
    #[error(
        "authentication required: the index of {repo} leads to {host}, which gets no credentials of the repository; set helm.passCredentials if it may have them"
    )]
    CredentialsStayHome {
        /// The repository.
        repo: RepoUrl,
        /// Where the chart is.
        host: String,
    },
    /// The server wants to be told who asks in a way that we cannot.
    #[error(
        "authentication failed: {repo} asks for {schemes}, which is not supported; configure a password, a token or a client certificate that it takes"
    )]
    UnsupportedAuthentication {
        /// The repository.
        repo: RepoUrl,
        /// What it asks for.
        schemes: String,
    },
    /// Nobody issues a token for the repository.
    #[error("no token for {repo} with its {identity}: {problem}")]
    TokenRefused {
        /// The repository.
        repo: RepoUrl,
        /// What we are.
        identity: &'static str,
        /// Why not.
        problem: String,
    },
    /// The server sends us to another one.
    #[error(
        "{repo} redirects to {to}, and its credentials are for {host} alone; if that address is right, configure the repository with it"
    )]
    Redirected {
        /// The repository.
        repo: RepoUrl,
        /// Where to.
        to: String,
        /// Whom the credentials are for.
        host: String,
    },
    /// An ssh server that we have no reason to trust.
    #[error(
        "knownhosts: key is unknown: the host key of {repo} is not among the known ones; add it with argocd cert add-ssh, or set insecure for the repository"
    )]
    HostKeyUnknown {
        /// The repository.
        repo: RepoUrl,
    },
    /// The server knows no such repository.
    #[error("repository not found: {repo}; check the address")]
    RepositoryNotFound {
        /// The repository.
        repo: RepoUrl,
    },
    /// Somebody else answers: a page to log in, a web site.
    #[error(
        "{repo} answers, but not as a git server; check the address, and whether it wants a login"
    )]
    NotGit {
        /// The repository.
        repo: RepoUrl,
    },
    /// A kind of address we cannot connect to.
    #[error("cannot use the repository address {repo}")]
    UnsupportedUrl {
        /// The repository.
        repo: RepoUrl,
        /// Why not.
        source: Cause,
    },
    /// No such branch, tag or commit. Argo CD's words come first.
    #[error("unable to resolve '{revision}' to a commit SHA: {looked_for}{similar}")]
    RevisionNotFound {
        /// What was asked for.
        revision: String,
        /// Where we looked.
        looked_for: String,
        /// Names the user may have meant.
        similar: Similar,
    },
    /// A branch and a tag of this name point to different commits.
    #[error(
        "unable to resolve '{revision}' to a commit SHA: it is both a branch and a tag, at different commits; write refs/heads/{revision} or refs/tags/{revision}"
    )]
    RevisionAmbiguous {
        /// What was asked for.
        revision: String,
    },
    /// The repository has no such chart. Argo CD's words come first.
    #[error("chart '{chart}' not found in index of {repo}")]
    ChartNotFound {
        /// The repository.
        repo: RepoUrl,
        /// The chart.
        chart: String,
    },
    /// The chart has no such version.
    #[error("chart {chart} has no version that fits '{version}' in {repo}; check targetRevision")]
    ChartVersionNotFound {
        /// The repository.
        repo: RepoUrl,
        /// The chart.
        chart: String,
        /// The version or range.
        version: String,
    },
    /// The registry has no such artifact. Argo CD's words come first.
    #[error(
        "cannot get digest for revision {revision}: {repo} has no such tag, digest or version; check targetRevision"
    )]
    ArtifactNotFound {
        /// The repository of the registry.
        repo: RepoUrl,
        /// What was asked for.
        revision: String,
    },
    /// The artifact is here, but nothing that could be rendered.
    #[error("cannot extract contents of oci image with revision {revision} of {repo}: {problem}")]
    ArtifactUnusable {
        /// The repository of the registry.
        repo: RepoUrl,
        /// The digest, or the chart's version.
        revision: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The server has no such commit, or does not give it out.
    #[error("commit {commit} is not in {repo}; was the branch force-pushed?")]
    CommitNotFound {
        /// The repository.
        repo: RepoUrl,
        /// The commit.
        commit: CommitSha,
    },
    /// It was reached without the credentials that others have for it.
    #[error(
        "{told} (the project {project} does not permit this repository in its sourceRepos, so credentials for it are not used; add it there if they may be)"
    )]
    NotPermitted {
        /// The project.
        project: String,
        /// What a stranger is told, with its causes.
        told: String,
        /// What should happen next.
        disposition: Disposition,
    },
    /// The commit does not prove where it comes from.
    #[error("{repo} may not be used: {problems}")]
    NotProven {
        /// The repository.
        repo: RepoUrl,
        /// What speaks against the commit.
        problems: String,
    },
    /// A file, of any directory, that does not fit into our memory.
    #[error(
        "{repo} has a file of more than {limit} bytes in the commit or its history, which is not fetched; take it out or keep it outside of git"
    )]
    ObjectTooLarge {
        /// The repository.
        repo: RepoUrl,
        /// What a file may have.
        limit: u64,
    },
    /// Submodules inside submodules without end.
    #[error("the submodules of {repo} are nested too deeply; does one contain itself?")]
    TooManySubmodules {
        /// The innermost repository.
        repo: RepoUrl,
    },
    /// The deadline passed.
    #[error("{doing} {repo} took longer than {limit:?}")]
    Timeout {
        /// `listing the refs of`, `fetching from`.
        doing: &'static str,
        /// The repository.
        repo: RepoUrl,
        /// The deadline.
        limit: Duration,
    },
    /// The disk is full.
    #[error("no space left in the data directory while storing {repo}; make room or enlarge it")]
    DiskFull {
        /// The repository.
        repo: RepoUrl,
    },
    /// Our own copy of the repository is unusable.
    #[error("could not use the local copy of {repo}")]
    Store {
        /// The repository.
        repo: RepoUrl,
        /// What failed.
        source: Cause,
    },
}

impl FetchError {
    /// The same of a repository that a project does not permit, where its
    /// credentials might have helped.
    pub(crate) fn for_stranger(self, project: &str) -> Self {
        match self {
            Self::Unreachable { .. }
            | Self::Refused { .. }
            | Self::AuthenticationRequired { .. }
            | Self::AuthenticationFailed { .. }
            | Self::CredentialsStayHome { .. }
            | Self::UnsupportedAuthentication { .. }
            | Self::HostKeyUnknown { .. }
            | Self::RepositoryNotFound { .. }
            | Self::NotGit { .. }
            | Self::ArtifactNotFound { .. }
            | Self::CommitNotFound { .. } => Self::NotPermitted {
                project: project.to_owned(),
                told: http::with_causes(&self),
                disposition: self.disposition(),
            },
            other => other,
        }
    }

    /// Retry by itself, or wait for someone?
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Unreachable { .. }
            | Self::BrokeOff { .. }
            | Self::Refused { .. }
            | Self::Damaged { .. }
            | Self::Timeout { .. }
            | Self::DiskFull { .. }
            | Self::Store { .. } => Disposition::RetrySoon,
            Self::AuthenticationRequired { .. }
            | Self::AuthenticationFailed { .. }
            | Self::CredentialsStayHome { .. }
            | Self::UnsupportedAuthentication { .. }
            | Self::TokenRefused { .. }
            | Self::Redirected { .. }
            | Self::HostKeyUnknown { .. }
            | Self::RepositoryNotFound { .. }
            | Self::NotGit { .. }
            | Self::UnsupportedUrl { .. }
            | Self::RevisionNotFound { .. }
            | Self::RevisionAmbiguous { .. }
            | Self::NotProven { .. }
            | Self::ObjectTooLarge { .. }
            | Self::TooManySubmodules { .. }
            | Self::ChartNotFound { .. }
            | Self::ChartVersionNotFound { .. }
            | Self::ArtifactNotFound { .. }
            | Self::ArtifactUnusable { .. }
            | Self::CommitNotFound { .. } => Disposition::WaitForUser,
            Self::NotPermitted { disposition, .. } => *disposition,
        }
    }
}

/// Names close to the one asked for; prints nothing when there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Similar(pub Vec<String>);

impl std::fmt::Display for Similar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [] => Ok(()),
            names => write!(f, "; similar names: {}", names.join(", ")),
        }
    }
}

/// Why a source gives no manifests.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SourceError {
    /// Its commit could not be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Its commit is here, but does not render.
    #[error("could not render {path} of {repo} at {revision}")]
    Render {
        /// The repository.
        repo: RepoUrl,
        /// The commit, or the chart's version.
        revision: String,
        /// The path inside it.
        path: String,
        /// What is wrong there.
        source: Box<RenderError>,
    },
    /// It failed so often that it is left alone for a while; Argo CD's words.
    #[error("{error}; a hard refresh tries again at once")]
    Paused {
        /// What it failed with.
        error: String,
    },
    /// The render ran into a bug of ours; other sources are unaffected.
    #[error("rendering {path} of {repo} at {revision} crashed; please report it")]
    Crashed {
        /// The repository.
        repo: RepoUrl,
        /// The commit, or the chart's version.
        revision: String,
        /// The path inside it.
        path: String,
    },
}

impl SourceError {
    /// Retry by itself, or wait for someone?
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Fetch(error) => error.disposition(),
            Self::Render { source, .. } => match **source {
                RenderError::Tree(TreeError::Store { .. }) => Disposition::RetrySoon,
                _ => Disposition::WaitForUser,
            },
            Self::Paused { .. } | Self::Crashed { .. } => Disposition::WaitForUser,
        }
    }
}
