//! Talking to a git server. Everything here blocks.

use std::io::ErrorKind;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gix::bstr::BString;
use gix::error::ErrorExt as _;
use gix::protocol::transport::client::blocking_io::ssh::ProgramKind;
use gix::protocol::transport::client::blocking_io::{Transport, connect, http};
use gix::protocol::transport::{Protocol, Service};
use gix::remote::fetch::{Shallow, Tags};
use gix::{ObjectId, progress};

use crate::credentials::{Reach, SharedBook, Trust};
use crate::http::{Patience, authorize, configured};
use crate::identity::Purpose;
use crate::redirect::{self, Moved};
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
    /// How long a whole fetch may take.
    pub(crate) fetch_timeout: Duration,
    /// Bytes that one object may have.
    pub(crate) max_object: u64,
    pub(crate) book: SharedBook,
    /// Used instead of what the book has, to try them out.
    pub(crate) tried: Option<RepoCredentials>,
    /// Where on its own host the repository says it is.
    pub(crate) moved: Moved,
}

/// Which commits to ask for.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// One commit, by its id, with as much of its history as the repository's `depth` says.
    Commit(ObjectId),
    /// One commit with all of its history.
    History(ObjectId),
    /// Every branch and tag, for servers that give out nothing else.
    AllRefs,
}

/// What a connection needs, as of now.
struct Way {
    /// Where the repository is.
    address: RepoUrl,
    trust: Trust,
    ssh: Option<SshFiles>,
}

impl Remote {
    /// Lists the server's refs.
    pub(crate) fn list(&self) -> Result<RemoteRefs, FetchError> {
        self.on_the_way("listing the refs of", |way| self.list_refs(way))
    }

    /// Protocol version 1 sends them with its greeting: over http, one request
    /// where version 2 takes two.
    fn list_refs(&self, way: &Way) -> Result<RemoteRefs, gix::Error> {
        let mut transport = self.connect(Protocol::V1, way)?;
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

    /// Fetches into `repository` and keeps what arrived reachable.
    pub(crate) fn fetch(
        &self,
        repository: &gix::Repository,
        wanted: &Wanted,
        cancel: &AtomicBool,
    ) -> Result<(), FetchError> {
        self.on_the_way("waiting for an answer of", |way| {
            self.fetch_pack(repository, way, wanted, cancel)
        })
    }

    /// Does something with a connection, at the address that the repository has
    /// moved to if it moved on its own host.
    fn on_the_way<T>(
        &self,
        doing: &'static str,
        work: impl Fn(&Way) -> Result<T, gix::Error>,
    ) -> Result<T, FetchError> {
        let mut way = self.way()?;
        let mut result = work(&way);
        if let Err(error) = &result
            && is_refused_redirect(error)
        {
            way.address = redirect::followed(&self.url, &way.address, &way.trust, self.silence)?;
            self.moved.set(Some(way.address.clone()));
            result = work(&way);
        }
        result.map_err(|error| {
            self.moved.set(None);
            self.classify(&error, &way, doing)
        })
    }

    /// Who we are for the repository and whom we trust, with a token where one
    /// is needed.
    pub(crate) fn trust(&self) -> Result<Trust, FetchError> {
        let book = self.book.current();
        let trust = match &self.tried {
            Some(credentials) => book.trust(&self.url, credentials),
            None => book.for_repo(&self.url),
        };
        self.book.logged_in(&self.url, trust, Purpose::Git, self.silence)
    }

    /// Are its files that are pointers what they point to?
    pub(crate) fn wants_lfs(&self) -> bool {
        self.book.wants_lfs(&self.url)
    }

    fn way(&self) -> Result<Way, FetchError> {
        let trust = self.trust()?;
        let ssh = if self.url.is_ssh() {
            let files = SshFiles::write(&trust, self.silence);
            Some(files.map_err(|error| FetchError::Store {
                repo: self.url.clone(),
                source: Arc::new(error),
            })?)
        } else {
            None
        };
        let address = self.moved.get().unwrap_or_else(|| self.url.clone());
        Ok(Way { address, trust, ssh })
    }

    fn connect(
        &self,
        version: Protocol,
        way: &Way,
    ) -> Result<Box<dyn Transport + Send>, gix::Error> {
        let url = gix::url::parse(way.address.to_connect())?;
        let mut options = connect::Options { version, ..Default::default() };
        if let Some(files) = &way.ssh {
            options.ssh.command = Some(files.command().into());
            options.ssh.kind = Some(ProgramKind::Ssh);
        }
        let mut transport = connect::connect(url, options)?;
        transport.configure(&self.http_options(way))?;
        Ok(transport)
    }

    fn fetch_pack(
        &self,
        repository: &gix::Repository,
        way: &Way,
        wanted: &Wanted,
        cancel: &AtomicBool,
    ) -> Result<(), gix::Error> {
        let remote = repository
            .remote_at(way.address.to_connect())?
            .with_fetch_tags(Tags::None)
            .with_refspecs(wanted.refspecs(), gix::remote::Direction::Fetch)?;
        let transport = self.connect(Protocol::V2, way)?;
        let connection = remote
            .to_connection_with_transport(transport)
            // Without this, gix would start git's credential helpers and prompt.
            .with_credentials(|_| Ok(None))
            // And without this, configure the transport anew, from git's configuration.
            .with_transport_options(Box::new(self.http_options(way)));
        let prepared = connection.prepare_fetch(progress::Discard, Default::default())?;
        let prepared = match (wanted, NonZeroU32::new(way.trust.credentials.depth)) {
            (Wanted::Commit(_), Some(depth)) => {
                prepared.with_shallow(Shallow::DepthAtRemote(depth))
            }
            (Wanted::History(_), _) if repository.is_shallow()? => {
                prepared.with_shallow(Shallow::undo())
            }
            (Wanted::Commit(_) | Wanted::History(_) | Wanted::AllRefs, _) => prepared,
        };
        prepared.receive(progress::Discard, cancel)?;
        Ok(())
    }

    /// Says what went wrong in words for the repository's user.
    fn classify(&self, error: &gix::Error, way: &Way, doing: &'static str) -> FetchError {
        let repo = self.url.clone();
        let Way { address, trust, ssh } = way;
        let credentials = &trust.credentials;
        let mut cause = GitMessage(credentials.hide(&GitMessage::of(&repo, error).0));
        if let Some(complaints) = ssh.as_ref().map(SshFiles::complaints).filter(|it| !it.is_empty())
        {
            cause.0 = format!("{complaints} ({})", cause.0);
        }
        let is_of_pack = cause.0.contains("Failed to consume the pack sent by the remote");
        let refused = error.is_unauthenticated() || cause.0.contains("Permission denied (");
        if cause.0.contains("Host key verification failed") {
            FetchError::HostKeyUnknown { repo }
        } else if refused {
            self.book.forget_token(&repo, trust, Purpose::Git);
            let schemes = match ssh {
                None => redirect::unsupported_schemes(address, trust, self.silence),
                Some(_) => None,
            };
            match schemes {
                Some(schemes) => FetchError::UnsupportedAuthentication { repo, schemes },
                None if credentials.identify() => FetchError::AuthenticationFailed { repo },
                None => FetchError::AuthenticationRequired { repo },
            }
        } else if has_kind(error, &[ErrorKind::StorageFull, ErrorKind::QuotaExceeded]) {
            FetchError::DiskFull { repo }
        } else if has_kind(error, &[ErrorKind::TimedOut]) || is_http_timeout(error) {
            FetchError::Timeout { doing, repo, limit: self.silence }
        } else if cause.0.contains("HTTP status 404") {
            FetchError::RepositoryNotFound { repo }
        } else if cause.0.contains("to indicate 'smart' protocol") {
            FetchError::NotGit { repo }
        } else if refuses_commit_ids(&cause.0) {
            FetchError::Refused { repo, source: Arc::new(cause) }
        } else if error.is_resource_exhausted() {
            FetchError::ObjectTooLarge { repo, limit: self.max_object }
        } else if error.is_corrupted() {
            if is_of_pack {
                cause.0 = format!(
                    "what the server sent is no whole pack; it is asked for again, and where that never helps, `git fsck` there says more: {}",
                    cause.0
                );
            }
            FetchError::Damaged { repo, source: Arc::new(cause) }
        } else if error.is_unsupported() || error.is_validation() {
            FetchError::UnsupportedUrl { repo, source: Arc::new(cause) }
        } else if is_of_pack {
            FetchError::BrokeOff { repo, source: Arc::new(cause) }
        } else {
            FetchError::Unreachable { repo, source: Arc::new(cause) }
        }
    }

    fn http_options(&self, way: &Way) -> http::Options {
        let patience = Patience { silence: self.silence, total: self.fetch_timeout };
        let (url, trust) = (way.address.clone(), way.trust.clone());
        let for_client = trust.clone();
        let backend = http::reqwest::Options {
            configure_client: Some(Box::new(move |_| {
                configured(&for_client, patience).map_err(|error| error.raise())
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
            Self::Commit(id) | Self::History(id) => {
                vec![format!("+{id}:{COMMIT_REFS}/{id}").into()]
            }
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

/// gix follows no redirect of a request that says who we are, because it cannot
/// know whether the other place may be told.
fn is_refused_redirect(error: &gix::Error) -> bool {
    error.iter_errors().any(|it| it.to_string().contains("refusing to follow redirect"))
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
