//! Talking to a git server. Everything here blocks.

use std::io::ErrorKind;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gix::bstr::BString;
use gix::error::ErrorExt as _;
use gix::protocol::transport::client::blocking_io::ssh::ProgramKind;
use gix::protocol::transport::client::blocking_io::{Transport, connect, http};
use gix::protocol::transport::{Protocol, Service};
use gix::remote::fetch::Tags;
use gix::{ObjectId, progress};

use crate::credentials::{Reach, SharedBook, Trust};
use crate::http::{authorize, configured};
use crate::ssh::SshFiles;
use crate::{FetchError, RemoteRefs, RepoCredentials, RepoUrl};

/// What servers see of us.
const USER_AGENT: &str = concat!("argosy/", env!("CARGO_PKG_VERSION"));

/// How to reach a repository.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) url: RepoUrl,
    /// How long a connection may take, and how long it may stay silent.
    pub(crate) silence: Duration,
    pub(crate) book: SharedBook,
    /// Used instead of what the book has, to try them out.
    pub(crate) tried: Option<RepoCredentials>,
}

/// Which commits to ask for.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// One commit, by its id.
    Commit(ObjectId),
    /// Every branch and tag, for servers that give out nothing else.
    AllRefs,
}

impl Remote {
    /// Lists the server's refs.
    ///
    /// Protocol version 1 sends them with its greeting: over http, one request
    /// where version 2 takes two.
    pub(crate) fn list(&self) -> Result<RemoteRefs, FetchError> {
        let ssh = self.ssh_files()?;
        self.list_refs(ssh.as_ref())
            .map_err(|error| self.classify(&error, ssh.as_ref(), "listing the refs of"))
    }

    fn list_refs(&self, ssh: Option<&SshFiles>) -> Result<RemoteRefs, gix::Error> {
        let mut transport = self.connect(Protocol::V1, ssh)?;
        let mut handshake = gix::protocol::handshake(
            &mut transport,
            Service::UploadPack,
            |_| Ok(None),
            Vec::new(),
            &mut progress::Discard,
        )?;
        if let Some(refs) = handshake.refs.take() {
            return Ok(refs.into_iter().collect());
        }
        // The server insists on version 2, where the listing is a request of its own.
        let agent = ("agent", Some(USER_AGENT.into()));
        let command = gix::protocol::LsRefsCommand::new(None, &handshake.capabilities, agent);
        let refs = command.invoke_blocking(&mut transport, &mut progress::Discard, false)?;
        Ok(refs.into_iter().collect())
    }

    /// What counts now.
    fn trust(&self) -> Trust {
        let book = self.book.current();
        match &self.tried {
            Some(credentials) => book.trust(&self.url, credentials),
            None => book.for_repo(&self.url),
        }
    }

    /// What ssh needs, for an address that is reached by it.
    fn ssh_files(&self) -> Result<Option<SshFiles>, FetchError> {
        if !self.url.is_ssh() {
            return Ok(None);
        }
        SshFiles::write(&self.trust(), self.silence)
            .map(Some)
            .map_err(|error| FetchError::Store { repo: self.url.clone(), source: Arc::new(error) })
    }

    fn connect(
        &self,
        version: Protocol,
        ssh: Option<&SshFiles>,
    ) -> Result<Box<dyn Transport + Send>, gix::Error> {
        let url = gix::url::parse(self.url.to_connect())?;
        let mut options = connect::Options { version, ..Default::default() };
        if let Some(files) = ssh {
            options.ssh.command = Some(files.command().into());
            options.ssh.kind = Some(ProgramKind::Ssh);
        }
        let mut transport = connect::connect(url, options)?;
        transport.configure(&self.http_options(self.trust()))?;
        Ok(transport)
    }

    /// Fetches into `repository` and keeps what arrived reachable.
    pub(crate) fn fetch(
        &self,
        repository: &gix::Repository,
        wanted: &Wanted,
        cancel: &AtomicBool,
    ) -> Result<(), FetchError> {
        let ssh = self.ssh_files()?;
        let fetched = self.fetch_pack(repository, ssh.as_ref(), wanted, cancel);
        fetched.map_err(|error| self.classify(&error, ssh.as_ref(), "waiting for an answer of"))
    }

    fn fetch_pack(
        &self,
        repository: &gix::Repository,
        ssh: Option<&SshFiles>,
        wanted: &Wanted,
        cancel: &AtomicBool,
    ) -> Result<(), gix::Error> {
        let remote = repository
            .remote_at(self.url.to_connect())?
            .with_fetch_tags(Tags::None)
            .with_refspecs(wanted.refspecs(), gix::remote::Direction::Fetch)?;
        let transport = self.connect(Protocol::V2, ssh)?;
        let connection = remote
            .to_connection_with_transport(transport)
            // Without this, gix would start git's credential helpers and prompt.
            .with_credentials(|_| Ok(None))
            // And without this, configure the transport anew, from git's configuration.
            .with_transport_options(Box::new(self.http_options(self.trust())));
        let prepared = connection.prepare_fetch(progress::Discard, Default::default())?;
        prepared.receive(progress::Discard, cancel)?;
        Ok(())
    }

    /// Says what went wrong in words for the repository's user.
    fn classify(
        &self,
        error: &gix::Error,
        ssh: Option<&SshFiles>,
        doing: &'static str,
    ) -> FetchError {
        let repo = self.url.clone();
        let credentials = self.trust().credentials;
        let mut cause = GitMessage(credentials.hide(&GitMessage::of(&repo, error).0));
        if let Some(complaints) = ssh.map(SshFiles::complaints).filter(|it| !it.is_empty()) {
            cause.0 = format!("{complaints} ({})", cause.0);
        }
        let refused = error.is_unauthenticated() || cause.0.contains("Permission denied (");
        if cause.0.contains("Host key verification failed") {
            FetchError::HostKeyUnknown { repo }
        } else if refused && credentials.identify() {
            FetchError::AuthenticationFailed { repo }
        } else if refused {
            FetchError::AuthenticationRequired { repo }
        } else if has_kind(error, &[ErrorKind::StorageFull, ErrorKind::QuotaExceeded]) {
            FetchError::DiskFull { repo }
        } else if has_kind(error, &[ErrorKind::TimedOut]) || is_http_timeout(error) {
            FetchError::Timeout { doing, repo, limit: self.silence }
        } else if cause.0.contains("HTTP status 404") {
            FetchError::RepositoryNotFound { repo }
        } else if refuses_commit_ids(&cause.0) {
            FetchError::Refused { repo, source: Arc::new(cause) }
        } else if error.is_corrupted() {
            FetchError::Damaged { repo, source: Arc::new(cause) }
        } else if error.is_unsupported() || error.is_validation() {
            FetchError::UnsupportedUrl { repo, source: Arc::new(cause) }
        } else {
            FetchError::Unreachable { repo, source: Arc::new(cause) }
        }
    }

    fn http_options(&self, trust: Trust) -> http::Options {
        let (silence, url) = (self.silence, self.url.clone());
        let for_client = trust.clone();
        let backend = http::reqwest::Options {
            configure_client: Some(Box::new(move |builder| {
                configured(builder, &for_client, silence).map_err(|error| error.raise())
            })),
            configure_request: if trust.credentials.authorization().is_some() {
                Some(Box::new(move |request| {
                    authorize(request, &url, &trust, Reach::OwnHost);
                    Ok(())
                }))
            } else {
                None
            },
        };
        http::Options {
            user_agent: Some(USER_AGENT.to_owned()),
            backend: Some(Arc::new(Mutex::new(backend))),
            ..Default::default()
        }
    }
}

impl Wanted {
    fn refspecs(&self) -> Vec<BString> {
        match self {
            Self::Commit(id) => vec![format!("+{id}:{COMMIT_REFS}/{id}").into()],
            Self::AllRefs => vec![
                "+refs/heads/*:refs/argosy/heads/*".into(),
                "+refs/tags/*:refs/argosy/tags/*".into(),
            ],
        }
    }
}

/// Where refs to commits fetched by id stand. They are what the next fetch
/// tells the server it need not send again.
pub(crate) const COMMIT_REFS: &str = "refs/argosy/commits";

fn has_kind(error: &gix::Error, kinds: &[ErrorKind]) -> bool {
    let io_errors = error.iter_errors().filter_map(|it| it.downcast_ref::<std::io::Error>());
    io_errors.into_iter().any(|io| kinds.contains(&io.kind()))
}

fn is_http_timeout(error: &gix::Error) -> bool {
    error
        .iter_errors()
        .any(|it| it.downcast_ref::<reqwest::Error>().is_some_and(|it| it.is_timeout()))
}

/// Servers have no code for it, only these words.
fn refuses_commit_ids(text: &str) -> bool {
    ["not our ref", "unadvertised object"].iter().any(|words| text.contains(words))
}

/// What git code said, in one line, without the credentials that may stand in
/// the address it quotes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct GitMessage(String);

impl GitMessage {
    fn of(repo: &RepoUrl, error: &gix::Error) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for cause in error.iter_errors() {
            let text = repo.hide_credentials(&cause.to_string());
            if texts.iter().all(|earlier| !earlier.contains(&text)) {
                texts.push(text);
            }
        }
        Self(texts.join(": "))
    }
}
