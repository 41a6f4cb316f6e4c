//! Asks plugins. One connection per question: sidecars come and go.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{FutureExt as _, stream};
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use crate::messages::{
    ANNOUNCE, AppStreamRequest, CHECK, CheckPluginConfigurationResponse, Empty, EnvEntry,
    FileChunk, GENERATE, MATCH, ManifestRequestMetadata, ManifestResponse,
    ParametersAnnouncementResponse, Piece, RepositoryResponse,
};
use crate::{Package, ParameterAnnouncement};

/// Larger than Argo CD's 1 KiB: fewer messages, and every server takes it.
const CHUNK: usize = 64 << 10;
/// What a plugin may answer.
const MAX_ANSWER: usize = 100 << 20;

const CMP_SERVER: &str = "cmp-server";

/// The sockets of all plugins.
#[derive(Clone, Debug)]
pub struct Plugins {
    folder: PathBuf,
    timeout: Duration,
}

/// Why there are no manifests of a plugin. Argo CD's words come first.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PluginError {
    /// There is none of that name, or it does not want the source.
    #[error(
        "could not find cmp-server plugin with name {name:?} supporting the given repository{why}"
    )]
    NotFound {
        /// The name.
        name: String,
        /// What stood in the way, if anything did.
        why: String,
    },
    /// None wants the source.
    #[error("could not find plugin supporting the given repository; name one in the source")]
    NoneFits,
    /// The name leads out of the folder of sockets.
    #[error("{name:?} is no name of a plugin")]
    BadName {
        /// The name.
        name: String,
    },
    /// It was asked, and failed.
    #[error("error {doing} in cmp {name}: {why}")]
    Failed {
        /// `generating manifests`, …
        doing: &'static str,
        /// The plugin.
        name: String,
        /// What it said.
        why: String,
    },
}

/// Variables for a plugin's commands.
type Variables = [(String, String)];

impl Plugins {
    /// Plugins whose sockets are in a folder, each asked for at most `timeout`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, timeout: Duration) -> Self {
        Self { folder: folder.into(), timeout }
    }

    /// The names of all plugins, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        use std::os::unix::fs::FileTypeExt as _;
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        let sockets = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_socket()));
        let names = sockets
            .filter_map(|it| it.file_name().to_str()?.strip_suffix(".sock").map(str::to_owned));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The first plugin that finds the source to be one of its own.
    ///
    /// # Errors
    /// When none does, and one could not be asked.
    pub async fn discover(
        &self,
        package: &Package,
        variables: &Variables,
    ) -> Result<Option<String>, PluginError> {
        Ok(self.first(package, variables).await?.map(|it| it.name))
    }

    async fn first(
        &self,
        package: &Package,
        variables: &Variables,
    ) -> Result<Option<Chosen>, PluginError> {
        let mut failure = None;
        for name in self.names() {
            match self.supports(&name, package, variables, Asked::AmongOthers).await {
                Ok(Some(chosen)) => return Ok(Some(chosen)),
                Ok(None) => {}
                Err(status) => failure = Some(failed("checking the repository", &name, &status)),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    /// The plugin for the source: the one of that name, or without a name the
    /// first that wants it.
    ///
    /// # Errors
    /// When there is no such plugin, or it does not want the source.
    pub async fn choose(
        &self,
        name: &str,
        package: &Package,
        variables: &Variables,
    ) -> Result<Chosen, PluginError> {
        if name.is_empty() {
            return self.first(package, variables).await?.ok_or(PluginError::NoneFits);
        }
        if name.contains('/') || name.starts_with('.') {
            return Err(PluginError::BadName { name: name.to_owned() });
        }
        let not_found = |why: String| PluginError::NotFound { name: name.to_owned(), why };
        match self.supports(name, package, variables, Asked::ByName).await {
            Ok(Some(chosen)) => Ok(chosen),
            Ok(None) => Err(not_found(String::new())),
            Err(status) => Err(not_found(format!(": {}", status.message()))),
        }
    }

    /// What a plugin makes of the source.
    ///
    /// # Errors
    /// When it fails.
    pub async fn generate(
        &self,
        plugin: &Chosen,
        package: &Package,
        variables: &Variables,
    ) -> Result<Vec<String>, PluginError> {
        let pieces = pieces(package, variables);
        let answer: Result<ManifestResponse, _> = self.stream(&plugin.name, GENERATE, pieces).await;
        match answer {
            Ok(answer) => Ok(answer.manifests),
            Err(status) => Err(failed("generating manifests", &plugin.name, &status)),
        }
    }

    /// The parameters that a plugin understands.
    ///
    /// # Errors
    /// When it fails.
    pub async fn announcements(
        &self,
        plugin: &Chosen,
        package: &Package,
        variables: &Variables,
    ) -> Result<Vec<ParameterAnnouncement>, PluginError> {
        let pieces = pieces(package, variables);
        let answer: Result<ParametersAnnouncementResponse, _> =
            self.stream(&plugin.name, ANNOUNCE, pieces).await;
        match answer {
            Ok(answer) => Ok(answer.parameter_announcements),
            Err(status) => Err(failed("getting parameter announcements", &plugin.name, &status)),
        }
    }

    async fn supports(
        &self,
        name: &str,
        package: &Package,
        variables: &Variables,
        asked: Asked,
    ) -> Result<Option<Chosen>, Status> {
        let config: CheckPluginConfigurationResponse =
            self.unary(name, CHECK, Empty::default()).await?;
        let chosen =
            || Chosen { name: name.to_owned(), wants_credentials: config.provide_git_creds };
        if !config.is_discovery_configured {
            // One that discovers nothing is for those who name it.
            return Ok((asked == Asked::ByName).then(chosen));
        }
        let answer: RepositoryResponse =
            self.stream(name, MATCH, pieces(package, variables)).await?;
        let for_everything = !answer.is_discovery_enabled && asked == Asked::ByName;
        Ok((answer.is_supported || for_everything).then(chosen))
    }

    async fn unary<Q: Message + 'static, A: Message + Default + 'static>(
        &self,
        name: &str,
        method: &'static str,
        question: Q,
    ) -> Result<A, Status> {
        let connection = Connection::open(&self.socket(name), CMP_SERVER).await?;
        let mut client = client(connection);
        client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let codec: ProstCodec<Q, A> = ProstCodec::default();
        let request = self.request(question);
        let answer = client.unary(request, PathAndQuery::from_static(method), codec).await?;
        Ok(answer.into_inner())
    }

    async fn stream<A: Message + Default + 'static>(
        &self,
        name: &str,
        method: &'static str,
        pieces: Vec<AppStreamRequest>,
    ) -> Result<A, Status> {
        let connection = Connection::open(&self.socket(name), CMP_SERVER).await?;
        let mut client = client(connection);
        client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let codec: ProstCodec<AppStreamRequest, A> = ProstCodec::default();
        let request = self.request(stream::iter(pieces));
        let path = PathAndQuery::from_static(method);
        // The plugin is told the deadline, and has a moment to say that it passed.
        let answer = client.client_streaming(request, path, codec);
        let patience = self.timeout + Duration::from_secs(10);
        match tokio::time::timeout(patience, answer).await {
            Ok(answer) => Ok(answer?.into_inner()),
            Err(_) => Err(Status::deadline_exceeded("it did not answer in time")),
        }
    }

    fn request<T>(&self, what: T) -> Request<T> {
        let mut request = Request::new(what);
        request.set_timeout(self.timeout);
        request
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.sock"))
    }
}

/// The plugin for a source.
#[derive(Clone, Debug)]
pub struct Chosen {
    name: String,
    /// Does its git want to get into the source's repository (`provideGitCreds`)?
    pub wants_credentials: bool,
}

/// How a plugin comes to be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    ByName,
    AmongOthers,
}

fn failed(doing: &'static str, name: &str, status: &Status) -> PluginError {
    PluginError::Failed { doing, name: name.to_owned(), why: status.message().to_owned() }
}

pub(crate) fn client(connection: Connection) -> tonic::client::Grpc<Connection> {
    let origin = http::Uri::from_static("http://plugin");
    tonic::client::Grpc::with_origin(connection, origin).max_decoding_message_size(MAX_ANSWER)
}

fn pieces(package: &Package, variables: &Variables) -> Vec<AppStreamRequest> {
    let Package { archive, checksum, path } = package;
    let entry =
        |(name, value): &(String, String)| EnvEntry { name: name.clone(), value: value.clone() };
    let metadata = ManifestRequestMetadata {
        app_name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        app_rel_path: path.clone(),
        checksum: checksum.clone(),
        size: i64::try_from(archive.len()).unwrap_or(i64::MAX),
        env: variables.iter().map(entry).collect(),
    };
    let begins = (0..archive.len()).step_by(CHUNK);
    let chunks = begins.map(|at| archive.slice(at..archive.len().min(at + CHUNK)));
    let files = chunks.map(|chunk| Piece::File(FileChunk { chunk }));
    let pieces = [Piece::Metadata(metadata)].into_iter().chain(files);
    pieces.map(|piece| AppStreamRequest { request: Some(piece) }).collect()
}

/// HTTP/2 over a unix socket.
pub(crate) struct Connection {
    sender: SendRequest<Body>,
    driver: JoinHandle<()>,
}

impl Connection {
    pub(crate) async fn open(socket: &Path, whom: &str) -> Result<Self, Status> {
        let refused = |error: &dyn std::error::Error| {
            Status::unavailable(format!("error dialing to {whom}: {error}"))
        };
        let stream = UnixStream::connect(socket).await.map_err(|error| refused(&error))?;
        let (sender, driver) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .map_err(|error| refused(&error))?;
        let driver = tokio::spawn(driver.map(drop));
        Ok(Self { sender, driver })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl tower::Service<http::Request<Body>> for Connection {
    type Response = http::Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.sender.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.sender.send_request(request))
    }
}
