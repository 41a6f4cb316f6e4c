//! Joins the controller to the repo server in the same process.

use std::sync::{Arc, Mutex};

use cluster::Kinds;
use controller::{Freshness, RenderRequest, Rendered, Since, SourceError, Sources};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use render::{Capabilities, RenderContext, SourceType};
use repo_server::{
    CommitSha, Disposition, ManifestQuery, Moving, RefSource, RepoServer, TargetRevision,
};
use runtime::Chain;
use settings::SettingsStore;

use crate::repositories::{self, RenderSettings};

/// Destinations whose API versions to remember.
const MAX_DESTINATIONS: usize = 64;

/// The repo server, as the controller and the API server see it.
pub(crate) struct InProcess {
    pub(crate) server: RepoServer,
    /// What a destination serves is long and seldom news.
    served: Mutex<Vec<Served>>,
    settings: Mutex<RenderSettings>,
    /// Are commits asked to prove where they come from?
    checks_signatures: bool,
}

struct Served {
    kinds: Arc<Kinds>,
    capabilities: Arc<Capabilities>,
}

impl InProcess {
    pub(crate) fn new(
        server: RepoServer,
        settings: &SettingsStore,
        checks_signatures: bool,
    ) -> Self {
        let rendering = Mutex::new(RenderSettings::of(&settings.current()));
        let served = Mutex::default();
        let sources = Self { server, served, settings: rendering, checks_signatures };
        sources.take_over(settings);
        sources
    }

    /// From now on, works as the settings say.
    pub(crate) fn take_over(&self, settings: &SettingsStore) {
        // Read under the lock: of two who do this, the later has the newer ones.
        let mut rendering = self.settings.lock().expect("nobody panics while looking up");
        let settings = settings.current();
        self.server.set_credentials(repositories::book(&settings));
        *rendering = RenderSettings::of(&settings);
    }

    /// What a render knows of the application and the settings.
    pub(crate) fn context(&self, instance: String, namespace: String) -> RenderContext {
        let settings = self.settings.lock().expect("nobody panics while looking up").clone();
        RenderContext {
            tracking: settings.tracking,
            enabled: settings.enabled,
            values_file_schemes: settings.values_file_schemes,
            kustomize_build_options: settings.kustomize_build_options,
            ..RenderContext::new(instance, namespace)
        }
    }

    pub(crate) fn capabilities(
        &self,
        kube_version: String,
        kinds: &Arc<Kinds>,
    ) -> Arc<Capabilities> {
        let mut served = self.served.lock().expect("nobody panics while looking up");
        let known = served.iter().find(|it| {
            Arc::ptr_eq(&it.kinds, kinds) && it.capabilities.kube_version == kube_version
        });
        if let Some(known) = known {
            return Arc::clone(&known.capabilities);
        }
        let api_versions = kinds.api_versions();
        let capabilities = Arc::new(Capabilities { kube_version, api_versions });
        if served.len() == MAX_DESTINATIONS {
            served.remove(0);
        }
        served.push(Served { kinds: Arc::clone(kinds), capabilities: Arc::clone(&capabilities) });
        capabilities
    }
}

impl Sources for InProcess {
    fn resolve(
        &self,
        source: &api::ApplicationSource,
        project: &str,
        freshness: Freshness,
    ) -> BoxFuture<'_, Result<String, SourceError>> {
        let (source, project) = (source.clone(), project.to_owned());
        async move {
            let target = TargetRevision(source.target_revision.clone());
            let freshness = translated(freshness);
            let resolved = self.server.resolve_source(&source, &project, &target, freshness);
            resolved.await.map_err(|error| SourceError {
                message: Chain(&error).to_string(),
                may_pass: error.disposition() == Disposition::RetrySoon,
            })
        }
        .boxed()
    }

    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        let capabilities = self.capabilities(request.kube_version, &request.kinds);
        let refs = request.refs.into_iter().map(|it| RefSource {
            name: it.source.ref_,
            repo_url: it.source.repo_url,
            revision: TargetRevision(it.revision),
            tag_prefix: it.source.tag_prefix,
        });
        let query = ManifestQuery {
            source: request.source,
            revision: TargetRevision(request.revision),
            refs: refs.collect(),
            freshness: translated(request.freshness),
            context: RenderContext {
                project: request.project,
                tracking: request.tracking,
                capabilities,
                generate_paths: request.generate_paths,
                ..self.context(request.instance, request.namespace)
            },
            source_repos: request.source_repos,
            integrity: request.integrity.filter(|_| self.checks_signatures),
            ignore_cache: request.ignore_cache,
        };
        async move {
            let rendered = self.server.manifests(query).await.map_err(|error| told(&error))?;
            Ok(Rendered {
                commit: rendered.commit.clone(),
                source_type: rendered.source_type().map_or("", SourceType::as_str).to_owned(),
                objects: rendered.objects(),
                problems: rendered.problems.clone(),
            })
        }
        .boxed()
    }

    fn differs(&self, since: Since) -> BoxFuture<'_, Result<bool, SourceError>> {
        async move {
            let Some(moving) = moving(&since) else { return Ok(true) };
            let (project, paths) = (&since.now.project, since.paths());
            self.server.differs(project, &moving, &paths).await.map_err(|error| told(&error))
        }
        .boxed()
    }
}

/// The repositories that a source is made of; none where a revision is no commit.
fn moving(since: &Since) -> Option<Vec<Moving>> {
    let moving = |source: &api::ApplicationSource, from: &str, to: &str| {
        let (from, to) = (CommitSha::parse(from)?, CommitSha::parse(to)?);
        Some(Moving { repo_url: source.repo_url.clone(), from, to })
    };
    let Since { now, commit, ref_commits } = since;
    let used = repo_server::used_refs(&now.source);
    let refs = now.refs.iter().zip(ref_commits);
    let refs = refs.filter(|(it, _)| used.contains(&format!("${}", it.source.ref_)));
    let refs = refs.map(|(it, commit)| moving(&it.source, commit, &it.revision));
    let is_same = *commit == now.revision;
    let own = (!is_same).then(|| moving(&now.source, commit, &now.revision));
    own.into_iter().chain(refs).collect()
}

fn told(error: &repo_server::SourceError) -> SourceError {
    SourceError {
        message: Chain(error).to_string(),
        may_pass: error.disposition() == Disposition::RetrySoon,
    }
}

fn translated(freshness: Freshness) -> repo_server::Freshness {
    match freshness {
        Freshness::NotBefore(moment) => repo_server::Freshness::NotBefore(moment),
        Freshness::Latest => repo_server::Freshness::Latest,
    }
}
