//! Talks to a repo server elsewhere, ours or Argo CD's.
//!
//! One connection for all requests, made when it is needed and made anew when
//! it broke. By default the server's certificate is not checked, as with Argo
//! CD: it vouches for itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt as _;
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;
use wire::HttpBody;
use wire::message::repo_server::{
    ManifestFileChunk, ManifestFileMetadata, ManifestRequest, ManifestRequestWithFiles, Part, path,
};
use wire::message::repository::ManifestResponse;

use crate::service::MAX_AGE_HEADER;

/// How long a connection may take, and a server may leave a ping unanswered.
const PATIENCE: Duration = Duration::from_secs(20);
/// No answer is larger; Argo CD's default is half of it.
const MAX_ANSWER: usize = 200 << 20;
const CHUNK: usize = 64 << 10;

/// Where a repo server is, and how to reach it.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// `host:port` (`--repo-server`).
    pub address: String,
    /// `None` to talk in the clear (`--repo-server-plaintext`).
    pub tls: Option<ClientTls>,
    /// How long an answer may take (`--repo-server-timeout-seconds`).
    pub timeout: Duration,
}

/// How the server proves who it is, and we who we are (PEM).
#[derive(Clone, Default)]
pub struct ClientTls {
    /// Who vouches for the server; without, nobody has to.
    pub authority: Option<Vec<u8>>,
    /// Our certificate and its key.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (checks, shows) = (self.authority.is_some(), self.client.is_some());
        write!(f, "ClientTls(checks the server: {checks}, shows a certificate: {shows})")
    }
}

/// Why we cannot even begin.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A PEM file holds something else.
    #[error("the {0} for the repo server is no PEM file of one")]
    Pem(&'static str),
    /// Certificate and key are of no use.
    #[error("could not use the certificate for the repo server")]
    Certificate(#[source] rustls::Error),
}

/// A repo server elsewhere. Cheap to share.
pub struct RepoClient {
    options: ClientOptions,
    tls: Option<TlsConnector>,
    connection: Mutex<Option<SendRequest<HttpBody>>>,
}

impl RepoClient {
    /// Connects at the first request.
    ///
    /// # Errors
    /// When certificates cannot be used.
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let tls = options.tls.as_ref().map(connector).transpose()?;
        Ok(Self { options, tls, connection: Mutex::default() })
    }

    /// Asks one question.
    ///
    /// # Errors
    /// What the server said, or that it did not answer.
    pub async fn ask<Q, A>(
        &self,
        method: &'static str,
        question: Q,
        max_age: Option<Duration>,
    ) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut request = self.request(question);
        if let Some(max_age) = max_age {
            let header = max_age.as_millis().to_string().parse();
            request.metadata_mut().insert(MAX_AGE_HEADER, header.expect("digits are a header"));
        }
        let codec: ProstCodec<Q, A> = ProstCodec::default();
        let asked = async {
            let mut client = self.client().await?;
            client.ready().await.map_err(|error| self.away(&error))?;
            client.unary(request, PathAndQuery::from_static(method), codec).await
        };
        self.settled(tokio::time::timeout(self.options.timeout, asked).await)
    }

    /// Has files rendered: an archive (`tar.gz`) and what its SHA-256 is.
    ///
    /// # Errors
    /// What the server said, or that it did not answer.
    pub async fn render_files(
        &self,
        asked: ManifestRequest,
        archive: Vec<u8>,
        checksum: String,
    ) -> Result<ManifestResponse, Status> {
        let size = i64::try_from(archive.len()).unwrap_or(i64::MAX);
        let metadata = ManifestFileMetadata { checksum, size };
        let chunks: Vec<_> = archive
            .chunks(CHUNK)
            .map(|it| Part::Chunk(ManifestFileChunk { chunk: it.to_vec() }))
            .collect();
        let parts = [Part::Request(asked), Part::Metadata(metadata)].into_iter().chain(chunks);
        let parts = parts.map(|part| ManifestRequestWithFiles { part: Some(part) });
        let request = self.request(futures::stream::iter(parts));
        let codec: ProstCodec<ManifestRequestWithFiles, ManifestResponse> = ProstCodec::default();
        let method = PathAndQuery::from_static(path::GENERATE_MANIFEST_WITH_FILES);
        let asked = async {
            let mut client = self.client().await?;
            client.ready().await.map_err(|error| self.away(&error))?;
            client.client_streaming(request, method, codec).await
        };
        self.settled(tokio::time::timeout(self.options.timeout, asked).await)
    }

    fn request<T>(&self, what: T) -> Request<T> {
        let mut request = Request::new(what);
        request.set_timeout(self.options.timeout);
        request
    }

    fn settled<A>(
        &self,
        answer: Result<Result<tonic::Response<A>, Status>, tokio::time::error::Elapsed>,
    ) -> Result<A, Status> {
        match answer {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            // The connection broke: tonic has no better name for it.
            Ok(Err(status)) => match std::error::Error::source(&status) {
                Some(error) if error.is::<hyper::Error>() => Err(self.away(error)),
                _ => Err(status),
            },
            Err(_) => Err(Status::deadline_exceeded(format!(
                "the repo server at {} did not answer within {:?}; look at its log, or allow more with --repo-server-timeout-seconds",
                self.options.address, self.options.timeout
            ))),
        }
    }

    fn away(&self, error: &dyn std::error::Error) -> Status {
        let told = runtime::Chain(error);
        let address = &self.options.address;
        Status::unavailable(format!("could not reach the repo server at {address}: {told}"))
    }

    async fn client(&self) -> Result<tonic::client::Grpc<Connection>, Status> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://{}", self.options.address).parse();
        let origin = origin.map_err(|error: http::uri::InvalidUri| self.away(&error))?;
        let connection = Connection(self.connection().await?);
        let client = tonic::client::Grpc::with_origin(connection, origin);
        Ok(client.max_decoding_message_size(MAX_ANSWER).max_encoding_message_size(MAX_ANSWER))
    }

    async fn connection(&self) -> Result<SendRequest<HttpBody>, Status> {
        let known = self.lock().clone();
        if let Some(connection) = known.filter(|it| !it.is_closed()) {
            return Ok(connection);
        }
        let connected = tokio::time::timeout(PATIENCE, self.connect()).await;
        let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
        let connection = connected.map_err(|_| self.away(&late))??;
        *self.lock() = Some(connection.clone());
        Ok(connection)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<SendRequest<HttpBody>>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<SendRequest<HttpBody>, Status> {
        let address = &self.options.address;
        let stream = TcpStream::connect(address).await.map_err(|error| self.away(&error))?;
        stream.set_nodelay(true).ok();
        let Some(tls) = &self.tls else { return self.greet(stream).await };
        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(|error| self.away(&error))?;
        let stream = tls.connect(name, stream).await.map_err(|error| self.away(&error))?;
        self.greet(stream).await
    }

    async fn greet(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<SendRequest<HttpBody>, Status> {
        let (sender, driver) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(Some(PATIENCE))
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.away(&error))?;
        tokio::spawn(driver.map(drop));
        Ok(sender)
    }
}

/// A connection as tonic uses it.
struct Connection(SendRequest<HttpBody>);

impl tower::Service<http::Request<HttpBody>> for Connection {
    type Response = http::Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<HttpBody>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

fn connector(tls: &ClientTls) -> Result<TlsConnector, ClientError> {
    let provider = Arc::new(ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring offers both versions");
    let builder = match &tls.authority {
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(authority)? {
                roots.add(certificate).map_err(ClientError::Certificate)?;
            }
            builder.with_root_certificates(roots)
        }
        None => {
            let anybody = Arc::new(Anybody(provider));
            builder.dangerous().with_custom_certificate_verifier(anybody)
        }
    };
    let mut config = match &tls.client {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key);
            let key = key.map_err(|_| ClientError::Pem("client key"))?;
            let chain = certificates(chain)?;
            builder.with_client_auth_cert(chain, key).map_err(ClientError::Certificate)?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    read.ok().filter(|it| !it.is_empty()).ok_or(ClientError::Pem("certificate"))
}

/// Takes any certificate: Argo CD's repo servers vouch for themselves.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
