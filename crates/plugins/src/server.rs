//! Runs a plugin for those who ask over its socket.

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use http::{Request as HttpRequest, Response as HttpResponse};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::Instant;
use tonic::body::Body;
use tonic::server::{ClientStreamingService, UnaryService};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::authority::NamedServer;
use crate::messages::{
    ANNOUNCE, AppStreamRequest, CHECK, CheckPluginConfigurationResponse, Empty, GENERATE, MATCH,
    ManifestRequestMetadata, ManifestResponse, ParametersAnnouncementResponse, Piece,
    RepositoryResponse,
};
use crate::{ParameterAnnouncement, PluginConfig, askpass, discovery, process};

/// What a client that says nothing is given.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(90);
/// Time to tell the client that the deadline passed, before it gives up.
const BEFORE_DEADLINE: Duration = Duration::from_millis(100);
/// An archive of a repository.
const MAX_ARCHIVE: usize = 1 << 30;
/// What it may unpack to.
const MAX_UNPACKED: u64 = 4 << 30;
pub(crate) const ACCEPT_RETRY: Duration = Duration::from_millis(100);
const MAX_MESSAGE: usize = 100 << 20;

/// Why a plugin is not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket cannot be made.
    #[error("could not listen on {path}")]
    Listen {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder for repositories cannot be made.
    #[error("could not make the work folder {path}")]
    WorkFolder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A plugin and its socket.
pub struct PluginServer {
    listener: UnixListener,
    service: Service,
}

impl PluginServer {
    /// Listens on the plugin's socket in a folder; repositories are unpacked
    /// below `work`, which is emptied.
    ///
    /// # Errors
    /// When the socket or the folder cannot be made.
    pub fn bind(config: PluginConfig, sockets: &Path, work: &Path) -> Result<Self, ServeError> {
        let path = sockets.join(format!("{}.sock", config.socket_name()));
        let listen = |source| ServeError::Listen { path: path.clone(), source };
        let folder = |source| ServeError::WorkFolder { path: work.to_owned(), source };
        if work.exists() {
            std::fs::remove_dir_all(work).map_err(folder)?;
        }
        std::fs::create_dir_all(work).map_err(folder)?;
        // A socket that an earlier process left behind answers nobody.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(listen(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(listen)?;
        tracing::info!(socket = %path.display(), "the plugin listens");
        let plugin = Plugin { config, work: work.to_owned(), programs: None };
        Ok(Self { listener, service: Service { plugin: Arc::new(plugin) } })
    }

    /// The git of the plugin's commands asks this program for passwords where
    /// its `PATH` has no `argocd`.
    ///
    /// # Errors
    /// When no link to the program can be made in the work folder.
    pub fn answering_git_with(self, program: &Path) -> Result<Self, ServeError> {
        let Plugin { config, work, .. } = &*self.service.plugin;
        let folder = work.join("bin");
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::os::unix::fs::symlink(program, folder.join(askpass::PROGRAM)))
            .map_err(|source| ServeError::WorkFolder { path: folder.clone(), source })?;
        let (config, work) = (config.clone(), work.clone());
        let plugin = Plugin { config, work, programs: Some(folder) };
        Ok(Self { service: Service { plugin: Arc::new(plugin) }, ..self })
    }

    /// Answers until `end`.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let mut end = std::pin::pin!(end);
        loop {
            let accepted = tokio::select! {
                () = &mut end => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => drop(tokio::spawn(serve(stream, self.service.clone()))),
                // Out of file descriptors, mostly: connections that end make room.
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
    }
}

async fn serve(stream: UnixStream, service: Service) {
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(NamedServer::new(stream)), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection broke");
    }
}

#[derive(Clone)]
struct Service {
    plugin: Arc<Plugin>,
}

impl hyper::service::Service<HttpRequest<Incoming>> for Service {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: HttpRequest<Incoming>) -> Self::Future {
        let plugin = Arc::clone(&self.plugin);
        let deadline = deadline(request.headers());
        async move {
            let path = request.uri().path().to_owned();
            Ok(match path.as_str() {
                CHECK => {
                    let codec: ProstCodec<CheckPluginConfigurationResponse, Empty> =
                        ProstCodec::default();
                    tonic::server::Grpc::new(codec).unary(Check(plugin), request).await
                }
                GENERATE => {
                    let answer: Answer<_> =
                        |plugin, pieces, end| generate(plugin, pieces, end).boxed();
                    streaming(Streamed { plugin, deadline, answer }, request).await
                }
                MATCH => {
                    let answer: Answer<_> =
                        |plugin, pieces, end| matches(plugin, pieces, end).boxed();
                    streaming(Streamed { plugin, deadline, answer }, request).await
                }
                ANNOUNCE => {
                    let answer: Answer<_> =
                        |plugin, pieces, end| announce(plugin, pieces, end).boxed();
                    streaming(Streamed { plugin, deadline, answer }, request).await
                }
                _ => Status::unimplemented(format!("there is no method {path}")).into_http(),
            })
        }
        .boxed()
    }
}

struct Check(Arc<Plugin>);

impl UnaryService<Empty> for Check {
    type Response = CheckPluginConfigurationResponse;
    type Future = BoxFuture<'static, Result<Response<Self::Response>, Status>>;

    fn call(&mut self, _: Request<Empty>) -> Self::Future {
        let spec = &self.0.config.spec;
        let answer = CheckPluginConfigurationResponse {
            is_discovery_configured: self.0.discovers(),
            provide_git_creds: spec.provide_git_creds,
        };
        async move { Ok(Response::new(answer)) }.boxed()
    }
}

type Pieces = Streaming<AppStreamRequest>;

/// What a method answers to a repository, before a moment.
type Answer<A> = fn(Arc<Plugin>, Pieces, Instant) -> BoxFuture<'static, Result<A, Status>>;

/// A method that is sent a repository.
struct Streamed<A> {
    plugin: Arc<Plugin>,
    deadline: Instant,
    answer: Answer<A>,
}

impl<A: Send + 'static> ClientStreamingService<AppStreamRequest> for Streamed<A> {
    type Response = A;
    type Future = BoxFuture<'static, Result<Response<A>, Status>>;

    fn call(&mut self, request: Request<Pieces>) -> Self::Future {
        let answer = (self.answer)(Arc::clone(&self.plugin), request.into_inner(), self.deadline);
        async move { answer.await.map(Response::new) }.boxed()
    }
}

async fn streaming<A: Message + Default + 'static>(
    method: Streamed<A>,
    request: HttpRequest<Incoming>,
) -> HttpResponse<Body> {
    let codec: ProstCodec<A, AppStreamRequest> = ProstCodec::default();
    tonic::server::Grpc::new(codec)
        .apply_max_message_size_config(Some(MAX_MESSAGE), Some(MAX_MESSAGE))
        .client_streaming(method, request)
        .await
}

/// The client's deadline, a moment earlier.
fn deadline(headers: &http::HeaderMap) -> Instant {
    let given = headers.get("grpc-timeout").and_then(|it| timeout(it.to_str().ok()?));
    let given = given.unwrap_or(DEFAULT_TIMEOUT);
    Instant::now() + given.saturating_sub(BEFORE_DEADLINE)
}

/// `90S`, `1500m`: digits and a unit.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number.saturating_mul(3600)),
        "M" => Duration::from_secs(number.saturating_mul(60)),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
    .map(|it: Duration| it.min(Duration::from_secs(24 * 3600)))
}

/// The plugin, and where repositories are unpacked.
struct Plugin {
    config: PluginConfig,
    work: PathBuf,
    /// A folder with the program that git asks for passwords.
    programs: Option<PathBuf>,
}

impl Plugin {
    fn discovers(&self) -> bool {
        let discover = &self.config.spec.discover;
        !discover.file_name.is_empty()
            || !discover.find.glob.is_empty()
            || !discover.find.command.command.is_empty()
    }
}

async fn generate(
    plugin: Arc<Plugin>,
    pieces: Pieces,
    deadline: Instant,
) -> Result<ManifestResponse, Status> {
    let received = Received::receive(&plugin, pieces, deadline).await?;
    let spec = &plugin.config.spec;
    let failed = |error| Status::unknown(format!("error generating manifests: {error}"));
    if !spec.init.command.is_empty() {
        received.run(&spec.init, deadline).await.map_err(failed)?;
    }
    let printed = received.run(&spec.generate, deadline).await.map_err(failed)?;
    let documents = gocompat::yaml::documents(&printed).map_err(|it| failed(it.to_string()))?;
    // JSON is YAML, and says the same to every reader.
    let manifests = documents.into_iter().map(|(document, _)| document.to_string()).collect();
    Ok(ManifestResponse { manifests, source_type: String::new() })
}

async fn matches(
    plugin: Arc<Plugin>,
    pieces: Pieces,
    deadline: Instant,
) -> Result<RepositoryResponse, Status> {
    let received = Received::receive(&plugin, pieces, deadline).await?;
    let discover = &plugin.config.spec.discover;
    let (folder, find) = (received.path.clone(), &discover.find);
    let is_supported = if !discover.file_name.is_empty() {
        discovery::has_file(&folder, &discover.file_name)
    } else if !find.glob.is_empty() {
        discovery::has_match(&folder, &find.glob)
    } else if !find.command.command.is_empty() {
        let printed = received.run(&find.command, deadline).await.map_err(|error| {
            Status::unknown(format!("match repository error: error running find command: {error}"))
        })?;
        !printed.is_empty()
    } else {
        false
    };
    Ok(RepositoryResponse { is_supported, is_discovery_enabled: plugin.discovers() })
}

async fn announce(
    plugin: Arc<Plugin>,
    pieces: Pieces,
    deadline: Instant,
) -> Result<ParametersAnnouncementResponse, Status> {
    let received = Received::receive(&plugin, pieces, deadline).await?;
    let parameters = &plugin.config.spec.parameters;
    let mut announced: Vec<ParameterAnnouncement> = Vec::new();
    let failed =
        |error: String| Status::unknown(format!("get parameters announcement error: {error}"));
    if !parameters.dynamic.command.is_empty() {
        let printed = received.run(&parameters.dynamic, deadline).await.map_err(|error| {
            failed(format!("error executing dynamic parameter output command: {error}"))
        })?;
        announced = serde_json::from_str(&printed).map_err(|error| {
            failed(format!("the dynamic command did not print a list of parameters: {error}"))
        })?;
    }
    // The fixed ones come later and so go before the others.
    announced.extend(parameters.fixed.iter().cloned());
    Ok(ParametersAnnouncementResponse { parameter_announcements: announced })
}

/// A repository that was sent, unpacked until this is dropped.
struct Received {
    _folder: TempDir,
    /// The source's directory.
    path: PathBuf,
    variables: Vec<(String, String)>,
}

impl Received {
    async fn receive(plugin: &Plugin, pieces: Pieces, deadline: Instant) -> Result<Self, Status> {
        let late = |_| Status::deadline_exceeded("the repository did not arrive in time");
        let arrived = tokio::time::timeout_at(deadline, arrived(pieces));
        let (metadata, archive) = arrived.await.map_err(late)??;
        let digest = Sha256::digest(&archive);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        if digest != metadata.checksum {
            return Err(Status::unknown(
                "error receiving tgz file: file checksum validation error",
            ));
        }
        let broken =
            |error: String| Status::unknown(format!("error decompressing tgz file: {error}"));
        let folder = TempDir::new_in(&plugin.work).map_err(|it| broken(it.to_string()))?;
        let (target, keeps_modes) =
            (folder.path().to_owned(), plugin.config.spec.preserve_file_mode);
        let unpacked =
            tokio::task::spawn_blocking(move || unpack(&archive, &target, keeps_modes)).await;
        unpacked.map_err(|it| broken(it.to_string()))?.map_err(broken)?;
        let path = inside(folder.path(), &metadata.app_rel_path)
            .ok_or_else(|| Status::unknown("illegal appPath: out of workDir bound"))?;
        let variables = metadata.env.into_iter().filter(|it| !it.name.is_empty());
        let mut variables: Vec<(String, String)> =
            variables.map(|it| (it.name, it.value)).collect();
        if let Some(programs) = &plugin.programs
            && variables.iter().any(|(name, _)| name == "GIT_ASKPASS")
        {
            let given = std::env::var("PATH").unwrap_or_default();
            variables.push(("PATH".to_owned(), format!("{given}:{}", programs.display())));
        }
        Ok(Self { _folder: folder, path, variables })
    }

    async fn run(
        &self,
        command: &crate::config::Command,
        deadline: Instant,
    ) -> Result<String, String> {
        process::run(command, &self.path, &self.variables, deadline).await
    }
}

async fn arrived(mut pieces: Pieces) -> Result<(ManifestRequestMetadata, Vec<u8>), Status> {
    let first = pieces.next().await.transpose()?.and_then(|it| it.request);
    let Some(Piece::Metadata(metadata)) = first else {
        return Err(Status::unknown("error getting stream metadata: metadata is nil"));
    };
    let mut archive = Vec::new();
    while let Some(piece) = pieces.next().await.transpose()? {
        let Some(Piece::File(file)) = piece.request else {
            return Err(Status::unknown("stream request file is nil"));
        };
        if archive.len() + file.chunk.len() > MAX_ARCHIVE {
            return Err(Status::resource_exhausted("the repository is too large for the plugin"));
        }
        archive.extend_from_slice(&file.chunk);
    }
    Ok((metadata, archive))
}

/// Unpacks files and links that stay inside. Blocks.
fn unpack(archive: &[u8], target: &Path, keeps_modes: bool) -> Result<(), String> {
    let told = |error: io::Error| error.to_string();
    let mut archive = tar::Archive::new(MultiGzDecoder::new(archive).take(MAX_UNPACKED));
    archive.set_preserve_permissions(keeps_modes);
    for entry in archive.entries().map_err(told)? {
        let mut entry = entry.map_err(told)?;
        let path = entry.path().map_err(told)?.into_owned();
        let kind = entry.header().entry_type();
        if !(kind.is_file() || kind.is_dir() || kind.is_symlink()) {
            return Err(format!("{} is neither file, directory nor link", path.display()));
        }
        if let Some(link) = entry.link_name().map_err(told)? {
            let from = path.parent().unwrap_or(Path::new("")).join(&link);
            if link.is_absolute() || inside(target, &from.to_string_lossy()).is_none() {
                return Err(format!("illegal filepath in symlink: {}", link.display()));
            }
        }
        if !entry.unpack_in(target).map_err(told)? {
            return Err(format!("illegal filepath in archive: {}", path.display()));
        }
        if kind.is_file() && !keeps_modes {
            let mode = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(target.join(&path), mode).map_err(told)?;
        }
    }
    Ok(())
}

/// The path below a folder; `None` when it leads out of it.
fn inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut found = folder.to_owned();
    let mut depth = 0_usize;
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => {
                depth += 1;
                found.push(name);
            }
            Component::ParentDir => {
                depth = depth.checked_sub(1)?;
                found.pop();
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_read_as_clients_write_them() {
        assert_eq!(timeout("90S"), Some(Duration::from_secs(90)));
        assert_eq!(timeout("1500m"), Some(Duration::from_millis(1500)));
        assert_eq!(timeout("S"), None);
        assert_eq!(timeout(""), None);
        assert_eq!(timeout("5x"), None);
    }

    #[test]
    fn a_path_stays_inside() {
        let folder = Path::new("/folder");
        assert_eq!(inside(folder, "a/../b").as_deref(), Some(Path::new("/folder/b")));
        assert_eq!(inside(folder, "."), Some(folder.to_owned()));
        assert_eq!(inside(folder, "../x"), None);
        assert_eq!(inside(folder, "/etc"), None);
    }
}
