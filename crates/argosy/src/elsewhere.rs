//! Joins the controller and the API server to a repo server in another process,
//! ours or Argo CD's. Credentials and the settings of the tools are sent with
//! every request, as Argo CD's controllers do.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use controller::{Freshness, RenderRequest, Rendered, Since, SourceError, Sources};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use object::Object;
use repo_server::client::{ClientOptions, ClientTls, RepoClient};
use repo_server::service::{INACCESSIBLE_HEADER, NEXT_HEADER};
use repo_server::{CommitSha, CredentialBook, SourceRepos, sent};
use settings::SettingsStore;
use wire::message::repo_server::{
    HelmOptions, ManifestRequest, RefTarget, ResolveRevisionRequest, ResolveRevisionResponse,
    UpdateRevisionForPathsRequest, UpdateRevisionForPathsResponse, path,
};
use wire::message::repository::{ManifestResponse, Repository};
use wire::message::settings::KustomizeOptions;
use wire::{Code, Status};

use crate::repositories::{self, RenderSettings};
use crate::touched;

/// Where the repo server is. Flags and variables keep Argo CD's names.
#[derive(Args, Clone)]
pub(crate) struct RepoServerOptions {
    /// The repo server's address (`host:port`); default: this process is its own
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER")]
    repo_server: Option<String>,
    /// Talk to the repo server without TLS
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_PLAINTEXT")]
    repo_server_plaintext: bool,
    /// Check the repo server's certificate
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_STRICT_TLS")]
    repo_server_strict_tls: bool,
    /// Who vouches for the repo server's certificate, which is then checked
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_CA_CERT_PATH")]
    repo_server_ca_cert_path: Option<PathBuf>,
    /// Our certificate for the repo server, if the file is there
    #[arg(
        long,
        env = "ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_CLIENT_CERT_PATH",
        default_value = "/app/config/reposerver/mtls/client.crt"
    )]
    repo_server_client_cert_path: PathBuf,
    /// The key of our certificate for the repo server
    #[arg(
        long,
        env = "ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_CLIENT_CERT_KEY_PATH",
        default_value = "/app/config/reposerver/mtls/client.key"
    )]
    repo_server_client_cert_key_path: PathBuf,
    /// How long the repo server may take for an answer
    #[arg(
        long,
        env = "ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_TIMEOUT_SECONDS",
        default_value_t = 60
    )]
    repo_server_timeout_seconds: u64,
}

/// How long a request may be on its way: two of one poll shall not differ in
/// what is fresh to them because one travelled longer.
const TRAVEL: Duration = Duration::from_secs(1);

/// Where Argo CD's Secret `argocd-repo-server-tls` is mounted.
const AUTHORITY: &str = "/app/config/reposerver/tls/ca.crt";

impl RepoServerOptions {
    /// The repo server elsewhere, if there is one.
    pub(crate) fn client(&self) -> anyhow::Result<Option<RepoClient>> {
        let Some(address) = self.repo_server.clone().filter(|it| !it.is_empty()) else {
            return Ok(None);
        };
        let tls = if self.repo_server_plaintext { None } else { Some(self.tls()?) };
        let timeout = Duration::from_secs(self.repo_server_timeout_seconds);
        Ok(Some(RepoClient::new(ClientOptions { address, tls, timeout })?))
    }

    fn tls(&self) -> anyhow::Result<ClientTls> {
        let read = |path: &PathBuf| {
            std::fs::read(path).with_context(|| format!("could not read {}", path.display()))
        };
        let authority = match &self.repo_server_ca_cert_path {
            Some(path) => Some(path.clone()),
            None => self.repo_server_strict_tls.then(|| AUTHORITY.into()),
        };
        let (chain, key) =
            (&self.repo_server_client_cert_path, &self.repo_server_client_cert_key_path);
        let client = if chain.exists() { Some((read(chain)?, read(key)?)) } else { None };
        Ok(ClientTls { authority: authority.as_ref().map(read).transpose()?, client })
    }
}

/// A repo server in another process.
pub(crate) struct Elsewhere {
    client: RepoClient,
    settings: Mutex<Known>,
    checks_signatures: bool,
}

/// What goes with every request.
#[derive(Clone)]
struct Known {
    book: Arc<CredentialBook>,
    rendering: RenderSettings,
}

impl Known {
    fn of(settings: &SettingsStore) -> Self {
        let settings = settings.current();
        let book = Arc::new(repositories::book(&settings));
        Self { book, rendering: RenderSettings::of(&settings) }
    }
}

impl Elsewhere {
    pub(crate) fn new(
        client: RepoClient,
        settings: &SettingsStore,
        checks_signatures: bool,
    ) -> Self {
        Self { client, settings: Mutex::new(Known::of(settings)), checks_signatures }
    }

    /// From now on, works as the settings say.
    pub(crate) fn take_over(&self, settings: &SettingsStore) {
        // Read under the lock: of two who do this, the later has the newer ones.
        let mut known = self.settings.lock().expect("nobody panics while looking up");
        *known = Known::of(settings);
    }

    fn known(&self) -> Known {
        self.settings.lock().expect("nobody panics while looking up").clone()
    }

    /// A repository as an Application of a project reaches it.
    pub(crate) fn repository(&self, address: &str, project: &str) -> Repository {
        sent::repository(&self.known().book, project, address)
    }

    pub(crate) async fn ask<Q, A>(&self, path: &'static str, question: Q) -> Result<A, Status>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        self.client.ask(path, question, None).await
    }

    /// Has files rendered.
    pub(crate) async fn render_files(
        &self,
        asked: ManifestRequest,
        archive: Vec<u8>,
        checksum: String,
    ) -> Result<ManifestResponse, Status> {
        self.client.render_files(asked, archive, checksum).await
    }

    /// Of each list of paths: does a file there differ since a commit from what the source's
    /// revision stands for now? None where the repo server cannot tell.
    pub(crate) async fn touched(
        &self,
        source: &api::ApplicationSource,
        project: &str,
        since: &str,
        paths: &[Vec<String>],
    ) -> Result<Option<Vec<bool>>, SourceError> {
        let revision = self.resolve(source, project, Freshness::Latest).await?;
        // Of what is not in git, a repo server says that nothing changes.
        if CommitSha::parse(&revision).is_none() {
            return Ok(None);
        }
        let asked = UpdateRevisionForPathsRequest {
            repo: Some(self.repository(&source.repo_url, project)),
            application_source: Some(source.clone()),
            synced_revision: since.to_owned(),
            revision,
            ..UpdateRevisionForPathsRequest::default()
        };
        let ask = |paths: Vec<String>| {
            let asked = UpdateRevisionForPathsRequest { paths, ..asked.clone() };
            async move {
                let asked = self.client.ask(path::UPDATE_REVISION_FOR_PATHS, asked, None);
                let answer: UpdateRevisionForPathsResponse = asked.await.map_err(|it| told(&it))?;
                Ok(answer.changes)
            }
            .boxed()
        };
        touched::which(paths, &ask).await
    }

    fn asked(&self, request: RenderRequest) -> ManifestRequest {
        let refs = request.refs.into_iter().map(|it| (it.source, it.revision));
        ManifestRequest {
            revision: request.revision,
            no_cache: request.ignore_cache,
            no_revision_cache: request.freshness == Freshness::Latest,
            app_name: request.instance,
            namespace: request.namespace,
            app_label_key: request.tracking.label_key,
            tracking_method: request.tracking.method.as_str().to_owned(),
            installation_id: request.tracking.installation_id,
            kube_version: request.kube_version,
            api_versions: request.kinds.api_versions(),
            source_integrity: request.integrity.filter(|_| self.checks_signatures),
            annotation_manifest_generate_paths: request.generate_paths,
            ..self.request(request.source, request.project, &request.source_repos, refs)
        }
    }

    /// The request to render a source, but for tracking and the destination.
    pub(crate) fn request(
        &self,
        source: api::ApplicationSource,
        project: String,
        source_repos: &SourceRepos,
        refs: impl IntoIterator<Item = (api::ApplicationSource, String)>,
    ) -> ManifestRequest {
        let Known { book, rendering } = self.known();
        let refs = refs.into_iter().map(|(source, revision)| {
            let repo = sent::repository(&book, &project, &source.repo_url);
            let target = RefTarget { repo, target_revision: revision, chart: source.chart };
            (format!("${}", source.ref_), target)
        });
        let ref_sources: std::collections::BTreeMap<_, _> = refs.collect();
        let enabled = &rendering.enabled;
        let enabled = [
            ("Helm", enabled.helm),
            ("Kustomize", enabled.kustomize),
            ("Directory", enabled.jsonnet),
            ("Plugin", true),
        ];
        ManifestRequest {
            repo: Some(sent::repository(&book, &project, &source.repo_url)),
            repos: sent::others(&book, &project, source_repos, &source.repo_url),
            helm_repo_creds: sent::templates(&book, source_repos),
            kustomize_options: Some(KustomizeOptions {
                build_options: rendering.kustomize_build_options,
                ..KustomizeOptions::default()
            }),
            helm_options: Some(HelmOptions { values_file_schemes: rendering.values_file_schemes }),
            enabled_source_types: enabled.map(|(kind, is)| (kind.to_owned(), is)).into(),
            has_multiple_sources: !ref_sources.is_empty(),
            ref_sources,
            project_name: project,
            project_source_repos: source_repos.entries().to_vec(),
            application_source: Some(source),
            ..ManifestRequest::default()
        }
    }
}

impl Sources for Elsewhere {
    fn resolve(
        &self,
        source: &api::ApplicationSource,
        project: &str,
        freshness: Freshness,
    ) -> BoxFuture<'_, Result<String, SourceError>> {
        let (source, project) = (source.clone(), project.to_owned());
        async move {
            if CommitSha::parse(&source.target_revision).is_some() && source.chart.is_empty() {
                return Ok(source.target_revision);
            }
            let repo = Some(self.repository(&source.repo_url, &project));
            let ambiguous_revision = source.target_revision.clone();
            let mut app = api::Application::default();
            app.spec.project = project;
            app.spec.source = Some(source);
            let asked = ResolveRevisionRequest {
                repo,
                app: Some(app),
                ambiguous_revision,
                no_revision_cache: freshness == Freshness::Latest,
                ..ResolveRevisionRequest::default()
            };
            let asked = self.client.ask(path::RESOLVE_REVISION, asked, max_age(freshness));
            let answer: ResolveRevisionResponse = asked.await.map_err(|it| told(&it))?;
            Ok(answer.revision)
        }
        .boxed()
    }

    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        let freshness = request.freshness;
        let asked = self.asked(request);
        async move {
            let asked = self.client.ask(path::GENERATE_MANIFEST, asked, max_age(freshness));
            let answer: ManifestResponse = asked.await.map_err(|it| told(&it))?;
            let checked = answer.source_integrity_result.as_ref();
            Ok(Rendered {
                problems: checked.map(repo_server::service::problems).unwrap_or_default(),
                objects: objects(&answer)
                    .map_err(|message| SourceError { message, may_pass: false })?,
                commit: answer.revision,
                source_type: answer.source_type,
            })
        }
        .boxed()
    }

    fn differs(&self, since: Since) -> BoxFuture<'_, Result<bool, SourceError>> {
        let paths = since.paths();
        let Since { now, commit, ref_commits } = since;
        let freshness = now.freshness;
        let refs = now.refs.iter().map(|it| it.source.clone()).zip(ref_commits);
        let (source, project) = (now.source.clone(), now.project.clone());
        let synced = self.request(source, project, &now.source_repos, refs.collect::<Vec<_>>());
        let asked = self.asked(now);
        // What a render depends on goes along: Argo CD's repo server says of what it has
        // not kept that it changed.
        let asked = UpdateRevisionForPathsRequest {
            repo: asked.repo,
            app_label_key: asked.app_label_key,
            app_name: asked.app_name,
            namespace: asked.namespace,
            application_source: asked.application_source,
            tracking_method: asked.tracking_method,
            ref_sources: asked.ref_sources,
            kube_version: asked.kube_version,
            api_versions: asked.api_versions,
            has_multiple_sources: asked.has_multiple_sources,
            synced_revision: commit,
            revision: asked.revision,
            paths,
            no_revision_cache: asked.no_revision_cache,
            installation_id: asked.installation_id,
            synced_ref_sources: synced.ref_sources,
            source_integrity: asked.source_integrity,
        };
        async move {
            let asked = self.client.ask(path::UPDATE_REVISION_FOR_PATHS, asked, max_age(freshness));
            let answer: UpdateRevisionForPathsResponse = asked.await.map_err(|it| told(&it))?;
            Ok(answer.changes)
        }
        .boxed()
    }
}

/// What was rendered, parsed.
pub(crate) fn objects(answer: &ManifestResponse) -> Result<Vec<Object>, String> {
    let unreadable =
        |problem: String| format!("the repo server sent a manifest that is none: {problem}");
    let parse = |text: &String| {
        let value = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        Object::from_value(value).map_err(|error| unreadable(error.to_string()))
    };
    answer.manifests.iter().map(parse).collect()
}

fn max_age(freshness: Freshness) -> Option<Duration> {
    match freshness {
        Freshness::NotBefore(moment) => Some(moment.elapsed() + TRAVEL),
        Freshness::Latest => None,
    }
}

/// Argo CD's own repo server says nothing of what to do next: then it may pass.
fn told(status: &Status) -> SourceError {
    let next = status.metadata().get(NEXT_HEADER).map(|it| it.as_bytes());
    let may_pass = match status.code() {
        Code::InvalidArgument | Code::Unimplemented => false,
        _ => next.is_none_or(|it| it == b"retry"),
    };
    SourceError { message: status.message().to_owned(), may_pass }
}

/// Could the repository itself not be read?
pub(crate) fn is_inaccessible(status: &Status) -> bool {
    status.metadata().get(INACCESSIBLE_HEADER).is_some()
        || matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded)
}
