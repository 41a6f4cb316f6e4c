//! TLS for the servers of tests: an authority of their own, a server's
//! certificate, and a client's.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// A certificate with its key, in PEM.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

/// An authority, and what a server at 127.0.0.1 shows.
pub struct Tls {
    authority: String,
    server: Pair,
    client: Pair,
    wants_client: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Self::new()
    }
}

impl Tls {
    /// A new authority that nobody knows yet.
    #[must_use]
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names are good names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&key).expect("a certificate").pem();
        let issuer = Issuer::new(params, key);
        let signed = |names: &[&str], usage: ExtendedKeyUsagePurpose| {
            let key = KeyPair::generate().expect("a key");
            let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
            let mut params = CertificateParams::new(names).expect("names");
            params.extended_key_usages = vec![usage];
            let certificate = params.signed_by(&key, &issuer).expect("a certificate").pem();
            Pair { certificate, key: key.serialize_pem() }
        };
        let server = signed(&["127.0.0.1", "localhost"], ExtendedKeyUsagePurpose::ServerAuth);
        let client = signed(&["a-client"], ExtendedKeyUsagePurpose::ClientAuth);
        Self { authority, server, client, wants_client: false }
    }

    /// The same, for a server that lets in only those with [`Tls::client`]'s certificate.
    #[must_use]
    pub fn for_clients_with_certificates(self) -> Self {
        Self { wants_client: true, ..self }
    }

    /// The authority's certificate (PEM).
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// What the server shows.
    #[must_use]
    pub fn server(&self) -> &Pair {
        &self.server
    }

    /// What a client shows.
    #[must_use]
    pub fn client(&self) -> &Pair {
        &self.client
    }

    pub(crate) fn acceptor(&self) -> Acceptor {
        let certificate =
            CertificateDer::from_pem_slice(self.server.certificate.as_bytes()).expect("our own");
        let key = PrivateKeyDer::from_pem_slice(self.server.key.as_bytes()).expect("our own");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("ring has them");
        let builder = if self.wants_client {
            let mut roots = RootCertStore::empty();
            let authority =
                CertificateDer::from_pem_slice(self.authority.as_bytes()).expect("our own");
            roots.add(authority).expect("our own");
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.expect("our own"))
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(vec![certificate], key).expect("our own");
        Acceptor(Arc::new(config))
    }
}

/// Turns connections into encrypted ones.
pub(crate) struct Acceptor(Arc<ServerConfig>);

impl Acceptor {
    pub(crate) fn accept(
        &self,
        connection: TcpStream,
    ) -> io::Result<StreamOwned<ServerConnection, TcpStream>> {
        let session = ServerConnection::new(Arc::clone(&self.0)).map_err(io::Error::other)?;
        Ok(StreamOwned::new(session, connection))
    }
}
