//! Credentials for the `git` of a plugin, asked for and never handed out: the
//! plugin gets a number that is good for as long as its command runs, git asks
//! a program for a password, the program asks the repo server's socket with
//! that number. Names of variables and the protocol are Argo CD's.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use http::{Request as HttpRequest, Response as HttpResponse};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::server::UnaryService;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::authority::NamedServer;
use crate::client::{Connection, client};
use crate::messages::{ASK_PASS, CredentialsRequest, CredentialsResponse};
use crate::server::ACCEPT_RETRY;

/// Where the repo server listens unless [`SOCKET_VARIABLE`] says otherwise.
pub const ASK_PASS_SOCKET: &str = "/tmp/reposerver-ask-pass.sock";
/// The variable with the socket's path, for the repo server and for git's program.
pub const SOCKET_VARIABLE: &str = "ARGOCD_ASK_PASS_SOCK";
/// The variable with the number.
pub const NONCE_VARIABLE: &str = "ARGOCD_GIT_ASKPASS_NONCE";
/// The variable that says which of its commands the program is.
pub const BINARY_VARIABLE: &str = "ARGOCD_BINARY_NAME";
/// The command that answers git.
pub const ASK_PASS_BINARY: &str = "argocd-git-ask-pass";
/// The program that git starts; it is looked for in the plugin's `PATH`.
pub(crate) const PROGRAM: &str = "argocd";

/// Answers those who know a number. A cheap handle: clones share everything.
#[derive(Clone)]
pub struct AskPass {
    inner: Arc<Inner>,
}

struct Inner {
    socket: PathBuf,
    granted: Granted,
    /// Listens from the first grant on: most plugins want no credentials.
    listener: Mutex<Option<JoinHandle<()>>>,
}

type Granted = Arc<Mutex<HashMap<String, Login>>>;

#[derive(Clone)]
struct Login {
    username: String,
    password: String,
}

impl AskPass {
    /// Will listen on a socket once there is something to tell.
    #[must_use]
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        let inner = Inner {
            socket: socket.into(),
            granted: Granted::default(),
            listener: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Lets whoever knows the grant's number ask for this user and password,
    /// until the grant is dropped. The socket is served on `runtime`.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn grant(&self, username: &str, password: &str, runtime: &Handle) -> io::Result<Grant> {
        self.inner.listen(runtime)?;
        let nonce = nonce()?;
        let login = Login { username: username.to_owned(), password: password.to_owned() };
        logins(&self.inner.granted).insert(nonce.clone(), login);
        Ok(Grant { inner: Arc::clone(&self.inner), nonce })
    }
}

impl fmt::Debug for AskPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AskPass({})", self.inner.socket.display())
    }
}

impl Inner {
    fn listen(&self, runtime: &Handle) -> io::Result<()> {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        let listens = listener.as_ref().is_some_and(|it| !it.is_finished());
        // Somebody may have swept the temporary folder.
        if listens && self.socket.exists() {
            return Ok(());
        }
        match std::fs::remove_file(&self.socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let _entered = runtime.enter();
        let bound = UnixListener::bind(&self.socket)?;
        if let Some(old) = listener.replace(runtime.spawn(serve(bound, Arc::clone(&self.granted))))
        {
            old.abort();
        }
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = listener {
            listener.abort();
            std::fs::remove_file(&self.socket).ok();
        }
    }
}

fn logins(granted: &Granted) -> std::sync::MutexGuard<'_, HashMap<String, Login>> {
    granted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// 128 bits that nobody guesses.
fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    let random = SystemRandom::new();
    random.fill(&mut bytes).map_err(|_| io::Error::other("the machine gives no random numbers"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A user and password that may be asked for; over when it is dropped.
pub struct Grant {
    inner: Arc<Inner>,
    nonce: String,
}

impl Grant {
    /// What git and its program have to be told.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let socket = self.inner.socket.display().to_string();
        [
            ("GIT_ASKPASS", PROGRAM),
            (NONCE_VARIABLE, &self.nonce),
            ("GIT_TERMINAL_PROMPT", "0"),
            (BINARY_VARIABLE, ASK_PASS_BINARY),
            (SOCKET_VARIABLE, &socket),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Grant")
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        logins(&self.inner.granted).remove(&self.nonce);
    }
}

async fn serve(listener: UnixListener, granted: Granted) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(answer(stream, Service(Arc::clone(&granted))))),
            // Out of file descriptors, mostly: connections that end make room.
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

async fn answer(stream: UnixStream, service: Service) {
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(NamedServer::new(stream)), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection broke");
    }
}

#[derive(Clone)]
struct Service(Granted);

impl hyper::service::Service<HttpRequest<Incoming>> for Service {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: HttpRequest<Incoming>) -> Self::Future {
        let service = self.clone();
        async move {
            if request.uri().path() != ASK_PASS {
                return Ok(Status::unimplemented("there is no such method").into_http());
            }
            let codec: ProstCodec<CredentialsResponse, CredentialsRequest> = ProstCodec::default();
            Ok(tonic::server::Grpc::new(codec).unary(service, request).await)
        }
        .boxed()
    }
}

impl UnaryService<CredentialsRequest> for Service {
    type Response = CredentialsResponse;
    type Future = BoxFuture<'static, Result<Response<Self::Response>, Status>>;

    fn call(&mut self, request: Request<CredentialsRequest>) -> Self::Future {
        let nonce = request.into_inner().nonce;
        let answer = match logins(&self.0).get(&nonce).cloned() {
            _ if nonce.is_empty() => Err(Status::invalid_argument("missing nonce")),
            Some(Login { username, password }) => {
                Ok(Response::new(CredentialsResponse { username, password }))
            }
            None => Err(Status::not_found("unknown nonce")),
        };
        async move { answer }.boxed()
    }
}

/// Why git gets no answer. Argo CD's words where it has some.
#[derive(Debug, thiserror::Error)]
pub enum AskPassError {
    /// Whoever started git gave it no number.
    #[error("{NONCE_VARIABLE} is not set")]
    NoNonce,
    /// The repo server did not answer, or does not know the number (any more).
    #[error("could not get credentials for git from {socket}: {why}")]
    Refused {
        /// The repo server's socket.
        socket: PathBuf,
        /// What it said.
        why: String,
    },
    /// Git wants to know something else.
    #[error("unknown credential type '{0}'")]
    UnknownQuestion(String),
}

/// The answer to a question of git, such as `Password for 'https://…': `.
///
/// # Errors
/// When there is none.
pub async fn answer_git(
    question: &str,
    nonce: Option<String>,
    socket: &Path,
) -> Result<String, AskPassError> {
    let nonce = nonce.filter(|it| !it.is_empty()).ok_or(AskPassError::NoNonce)?;
    let refused = |status: Status| AskPassError::Refused {
        socket: socket.to_owned(),
        why: status.message().to_owned(),
    };
    let answer = ask(nonce, socket).await.map_err(refused)?;
    if question.starts_with("Username") {
        Ok(answer.username)
    } else if question.starts_with("Password") {
        Ok(answer.password)
    } else {
        Err(AskPassError::UnknownQuestion(question.to_owned()))
    }
}

async fn ask(nonce: String, socket: &Path) -> Result<CredentialsResponse, Status> {
    let mut client = client(Connection::open(socket, "the repo server").await?);
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let codec: ProstCodec<CredentialsRequest, CredentialsResponse> = ProstCodec::default();
    let request = Request::new(CredentialsRequest { nonce });
    let answer = client.unary(request, PathAndQuery::from_static(ASK_PASS), codec).await?;
    Ok(answer.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'v>(variables: &'v [(String, String)], name: &str) -> &'v str {
        variables.iter().find(|(it, _)| it == name).map_or("", |(_, value)| value)
    }

    #[tokio::test]
    async fn a_number_is_good_until_its_grant_ends() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join("ask.sock");
        let ask_pass = AskPass::new(&socket);
        assert!(!socket.exists(), "nobody listens before there is something to tell");
        let grant = ask_pass.grant("me", "s3cret-word", &Handle::current()).expect("a grant");
        let variables = grant.variables();
        assert_eq!(of(&variables, "GIT_ASKPASS"), "argocd");
        assert_eq!(of(&variables, "ARGOCD_BINARY_NAME"), "argocd-git-ask-pass");
        let shown = format!("{variables:?} {ask_pass:?} {grant:?}");
        assert!(!shown.contains("s3cret-word"), "{shown}");
        let nonce = of(&variables, NONCE_VARIABLE).to_owned();
        let ask = async |question: &str| {
            answer_git(question, Some(nonce.clone()), &socket).await.map_err(|it| it.to_string())
        };
        assert_eq!(ask("Username for 'https://x': ").await.as_deref(), Ok("me"));
        assert_eq!(ask("Password for 'https://me@x': ").await.as_deref(), Ok("s3cret-word"));
        assert_eq!(
            ask("Passphrase? ").await,
            Err("unknown credential type 'Passphrase? '".to_owned())
        );
        drop(grant);
        assert_eq!(
            ask("Username for 'https://x': ").await,
            Err(format!(
                "could not get credentials for git from {}: unknown nonce",
                socket.display()
            ))
        );
        let unset = answer_git("Username", None, &socket).await.map_err(|it| it.to_string());
        assert_eq!(unset, Err("ARGOCD_GIT_ASKPASS_NONCE is not set".to_owned()));
        drop(ask_pass);
        assert!(!socket.exists(), "nothing is left behind");
    }
}
