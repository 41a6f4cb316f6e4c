//! A repo server with a folder of its own, and what its users see.

#![allow(dead_code, reason = "each test uses the part that it needs")]

use std::path::PathBuf;
use std::sync::Arc;

use api::ApplicationSource;
use render::RenderContext;
use repo_server::{
    Freshness, ManifestQuery, Options, Rendered, RepoServer, SourceError, SourceRepos,
    TargetRevision,
};
use tempfile::TempDir;

pub(crate) struct Server {
    /// The data directory is in it, and nothing else should be.
    pub(crate) around: TempDir,
    pub(crate) server: RepoServer,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A server whose options differ from the defaults.
    pub(crate) fn with(change: impl FnOnce(&mut Options)) -> Self {
        repo_server::install_crypto_provider();
        let around = tempfile::tempdir().expect("a temporary folder");
        let mut options = Options::new(around.path().join("data"));
        change(&mut options);
        let server = RepoServer::open(options).expect("a data directory");
        Self { around, server }
    }

    /// The same data directory in a new process's eyes.
    pub(crate) fn restarted(self) -> Self {
        let data = self.data();
        let Self { around, server } = self;
        drop(server);
        let server = RepoServer::open(Options::new(data)).expect("a data directory");
        Self { around, server }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.around.path().join("data")
    }

    pub(crate) async fn manifests(
        &self,
        url: &str,
        path: &str,
    ) -> Result<Arc<Rendered>, SourceError> {
        self.server.manifests(query(url, path)).await
    }

    /// The keys of what a path renders to, or the error with its causes.
    pub(crate) async fn keys(&self, url: &str, path: &str) -> String {
        self.keys_of(query(url, path)).await
    }

    /// The keys of what a query renders to, or the error with its causes.
    pub(crate) async fn keys_of(&self, query: ManifestQuery) -> String {
        match self.server.manifests(query).await {
            Ok(rendered) => {
                let objects = rendered.objects();
                let keys: Vec<String> = objects.iter().map(|it| it.key().to_string()).collect();
                keys.join(", ")
            }
            Err(error) => chain(&error),
        }
    }
}

/// The path of a repository at its default branch, as an Application asks for it
/// whose project permits everything.
pub(crate) fn query(url: &str, path: &str) -> ManifestQuery {
    ManifestQuery {
        source: ApplicationSource {
            repo_url: url.to_owned(),
            path: path.to_owned(),
            ..ApplicationSource::default()
        },
        revision: TargetRevision::default(),
        refs: Vec::new(),
        freshness: Freshness::Latest,
        context: RenderContext::new("guestbook", "web"),
        source_repos: SourceRepos::all(),
        integrity: None,
        ignore_cache: false,
    }
}

/// What a project permits.
pub(crate) fn source_repos(entries: &[&str]) -> SourceRepos {
    let entries: Vec<String> = entries.iter().map(|&it| it.to_owned()).collect();
    SourceRepos::new(&entries)
}

/// An error as users see it: with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

pub(crate) fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}
