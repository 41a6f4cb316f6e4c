//! What renders need of other servers: value files, remote bases.

use std::cell::Cell;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use plugins::{Package, ParameterAnnouncement, Plugins};
use render::tree::Tree;
use render::{
    ChartAddress, JsonnetImports, JsonnetTask, Outside, OutsideError, PluginParameter,
    PluginRequest, RemoteBase,
};
use tokio::runtime::Handle;

use crate::credentials::{Reach, Trust};
use crate::fetch;
use crate::http::{self, Patience};
use crate::job::{Job, Origin};
use crate::lent::Lent;
use crate::packing;
use crate::repository::Repository;
use crate::server::Inner;
use crate::{
    FetchError, Freshness, RepoCredentials, RepoServer, RepoUrl, SourceRepos, TargetRevision,
};

/// No value file or manifest is larger.
const MAX_FILE: u64 = 64 << 20;

/// How long before its deadline a render ends what it started, to have a moment
/// to say so.
const BEFORE_DEADLINE: Duration = Duration::from_secs(1);

/// Asks other servers on behalf of a render, whose thread waits.
pub(crate) struct OtherServers {
    server: RepoServer,
    /// The project of the Application, whose own credentials go first.
    project: String,
    /// The repositories whose credentials may be used.
    source_repos: SourceRepos,
    plugins: Plugins,
    handle: Handle,
    timeout: Duration,
    was_asked: Cell<bool>,
    until: Instant,
    /// Raised when nobody waits for the render any more.
    over: Arc<AtomicBool>,
    /// The annotation that says which part of it a plugin needs.
    generate_paths: String,
    /// The repository that is rendered, if it is one of git.
    repository: Option<Arc<Repository>>,
}

impl OtherServers {
    /// Call it on a thread of the runtime.
    pub(crate) fn of(inner: &Arc<Inner>, job: &Job, over: &Arc<AtomicBool>) -> Self {
        Self {
            server: RepoServer { inner: Arc::clone(inner), brought: job.brought.clone() },
            project: job.context.project.clone(),
            source_repos: job.source_repos.clone(),
            plugins: Plugins::new(
                &inner.options.plugins.sockets,
                inner.options.render_timeout.saturating_sub(BEFORE_DEADLINE),
            ),
            handle: Handle::current(),
            timeout: inner.options.git.fetch_timeout,
            was_asked: Cell::new(false),
            until: Instant::now() + inner.options.render_timeout.saturating_sub(BEFORE_DEADLINE),
            over: Arc::clone(over),
            generate_paths: job.context.generate_paths.clone(),
            repository: match &job.main {
                Origin::Git(at) => Some(Arc::clone(&at.repository)),
                Origin::Packed(_) => None,
            },
        }
    }

    /// Does what the render came to depend on others, who may answer otherwise
    /// the next time?
    pub(crate) fn was_asked(&self) -> bool {
        self.was_asked.get()
    }
}

impl OtherServers {
    /// Did the render reach its deadline, or the end of all patience?
    pub(crate) fn ran_out_of_time(&self) -> bool {
        self.over.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

impl Outside for OtherServers {
    fn file(&self, url: &str) -> Result<Bytes, OutsideError> {
        self.was_asked.set(true);
        // A file of another server is not a repository: it gets no credentials.
        let trusted = self.server.inner.book.current().for_repo(&RepoUrl::new(url));
        let trust = Trust { credentials: RepoCredentials::default(), ..trusted };
        let client =
            http::client(&trust, Patience::of(self.timeout)).map_err(|error| failed(&error))?;
        let answer = client.get(url).send().map_err(|error| failed(&error))?;
        if !answer.status().is_success() {
            return Err(OutsideError::Status(answer.status().as_u16()));
        }
        let mut content = Vec::new();
        answer.take(MAX_FILE + 1).read_to_end(&mut content).map_err(|error| failed(&error))?;
        if content.len() as u64 > MAX_FILE {
            return Err(OutsideError::Failed(format!("it has more than {MAX_FILE} bytes")));
        }
        Ok(content.into())
    }

    fn chart(&self, chart: &ChartAddress) -> Result<Bytes, OutsideError> {
        self.was_asked.set(true);
        let ChartAddress { repository, name, version, pass_credentials } = chart;
        let alias = repository.strip_prefix('@').or_else(|| repository.strip_prefix("alias:"));
        let book = self.server.inner.book.current();
        let brought = self.server.brought.as_ref();
        let names = brought.map_or(&book.names, |it| &it.book.names);
        let repository = match alias {
            None => repository,
            Some(alias) => names.get(alias).ok_or_else(|| {
                OutsideError::Failed(format!(
                    "there is no repository with the name {alias}; add it"
                ))
            })?,
        };
        let repo = self.reached(repository);
        let target = TargetRevision(version.clone());
        let fetched = if repo.is_registry() || book.is_chart_registry(&repo) {
            let chart = repo.in_registry().below(name);
            self.handle.block_on(async {
                let version =
                    self.server.registry_chart_version(&chart, &target, Freshness::Latest).await?;
                self.server.inner.registry_chart(&chart, &version).await
            })
        } else {
            self.handle.block_on(async {
                let index = self.server.inner.index(&repo, Freshness::Latest).await?;
                let version = index.resolve(&repo, name, &target)?;
                let reach = Reach::of(*pass_credentials);
                self.server.inner.chart(&repo, name, &version, reach).await
            })
        };
        fetched.map(|chart| chart.archive.clone()).map_err(|error| self.told(&repo, error))
    }

    fn repository(&self, base: &RemoteBase) -> Result<Box<dyn Tree>, OutsideError> {
        self.was_asked.set(true);
        let url = self.reached(&base.clone_url);
        let target = TargetRevision(base.reference.clone());
        let inner = &self.server.inner;
        let resolved = self.server.resolve(&url, &target, Freshness::Latest);
        let commit = self.handle.block_on(resolved).map_err(|error| self.told(&url, error))?;
        let repository = inner.repository(&url);
        let root = || {
            let opened = repository.store.open()?;
            Ok((fetch::root_tree(&repository.remote, &opened, &commit)?, opened))
        };
        let mut found = root().map_err(|error: FetchError| failed(&error))?;
        if found.0.is_none() {
            let fetched = Arc::clone(inner).fetch(&repository, &commit);
            self.handle.block_on(fetched).map_err(|error| self.told(&url, error))?;
            found = root().map_err(|error| failed(&error))?;
        }
        let (root, opened) = found;
        let root =
            root.ok_or_else(|| OutsideError::Failed(format!("the commit {commit} is missing")))?;
        Ok(Box::new(repository.tree(&opened, root)))
    }

    fn evaluate_jsonnet(
        &self,
        task: &JsonnetTask,
        imports: &mut dyn JsonnetImports,
    ) -> Result<String, String> {
        let options = &self.server.inner.options;
        let Some(program) = &options.jsonnet else { return task.evaluate(imports) };
        program.evaluate(task, imports, self.until, &self.over)
    }

    fn has_plugins(&self) -> bool {
        !self.plugins.names().is_empty()
    }

    fn discover_plugin(&self, request: &PluginRequest<'_>) -> Result<Option<String>, OutsideError> {
        self.was_asked.set(true);
        let package = self.packed(request)?;
        let discovered = self.plugins.discover(&package, &request.variables);
        self.handle.block_on(discovered).map_err(|error| failed(&error))
    }

    fn announced_by_plugin(
        &self,
        request: &PluginRequest<'_>,
    ) -> Result<Vec<PluginParameter>, OutsideError> {
        let package = self.packed(request)?;
        let announced = async {
            let chosen = self.plugins.choose(request.name, &package, &request.variables).await?;
            self.plugins.announcements(&chosen, &package, &request.variables).await
        };
        let announced = self.handle.block_on(announced).map_err(|error| failed(&error))?;
        Ok(announced.into_iter().map(parameter).collect())
    }

    fn run_plugin(&self, request: &PluginRequest<'_>) -> Result<Vec<String>, OutsideError> {
        self.was_asked.set(true);
        let package = self.packed(request)?;
        let chosen = self.plugins.choose(request.name, &package, &request.variables);
        let chosen = self.handle.block_on(chosen).map_err(|error| failed(&error))?;
        let lent = if chosen.wants_credentials { self.lent()? } else { Lent::default() };
        let variables = [&request.variables[..], &lent.variables].concat();
        let generated = self.plugins.generate(&chosen, &package, &variables);
        self.handle.block_on(generated).map_err(|error| {
            // A plugin may complain with what it was told.
            OutsideError::Failed(lent.hide(&http::with_causes(&error)))
        })
    }
}

impl OtherServers {
    /// Another repository, as an Application of the project reaches it.
    fn reached(&self, address: &str) -> RepoUrl {
        let RepoServer { inner, brought } = &self.server;
        let url = RepoUrl::new(address);
        inner.reached(brought.as_ref(), &self.project, &self.source_repos, &url)
    }

    /// Why another repository could not be used.
    fn told(&self, repo: &RepoUrl, error: FetchError) -> OutsideError {
        failed(&if repo.is_stranger() { error.for_stranger(&self.project) } else { error })
    }

    /// The credentials of the repository, for a plugin's git.
    fn lent(&self) -> Result<Lent, OutsideError> {
        let Some(repository) = &self.repository else { return Ok(Lent::default()) };
        let trust = repository.remote.trust().map_err(|error| failed(&error))?;
        Lent::of(&trust, &self.server.inner.ask_pass, &self.handle).map_err(|error| {
            let problem = format!("failed to retrieve git creds environment variables: {error}");
            OutsideError::Failed(problem)
        })
    }

    fn packed(&self, request: &PluginRequest<'_>) -> Result<Package, OutsideError> {
        let excluded = &self.server.inner.options.plugins.excluded;
        packing::pack(request, &self.generate_paths, excluded).map_err(OutsideError::Failed)
    }
}

fn parameter(announced: ParameterAnnouncement) -> PluginParameter {
    let ParameterAnnouncement {
        name,
        title,
        tooltip,
        required,
        item_type,
        collection_type,
        string,
        array,
        map,
    } = announced;
    PluginParameter {
        name,
        title,
        tooltip,
        required,
        item_type,
        collection_type,
        string,
        array,
        map,
    }
}

fn failed(error: &dyn std::error::Error) -> OutsideError {
    OutsideError::Failed(http::with_causes(error))
}
