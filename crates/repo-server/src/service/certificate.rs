//! The certificate of the port: what the operator mounted, or our own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio_rustls::TlsAcceptor;

use super::TlsOptions;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file is there and cannot be read.
    #[error("could not read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("{path} holds no PEM {wanted}")]
    Content {
        /// The file.
        path: PathBuf,
        /// `certificate` or `private key`.
        wanted: &'static str,
    },
    /// Key and certificate are of no use, or do not belong together.
    #[error("could not use the certificate of {path}")]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// Why not.
        source: rustls::Error,
    },
    /// Whom to trust cannot be told.
    #[error("could not use the client authority {path}: {problem}")]
    Authority {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// We could not make our own.
    #[error("could not make a certificate")]
    Make(#[from] rcgen::Error),
}

/// Takes TLS connections.
pub(super) fn acceptor(options: &TlsOptions) -> Result<TlsAcceptor, CertificateError> {
    let (chain, key) = match mounted(&options.folder)? {
        Some(mounted) => mounted,
        None => own()?,
    };
    let provider = Arc::new(ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring offers both versions");
    let authority = options.client_authority.as_ref().filter(|it| it.exists());
    let builder = match authority {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let told =
                |problem: String| CertificateError::Authority { path: path.clone(), problem };
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| told(error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| told(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let path = options.folder.clone();
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|source| CertificateError::Unusable { path, source })?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

type Certified = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// `tls.crt` and `tls.key` of a folder, if both are there.
fn mounted(folder: &Path) -> Result<Option<Certified>, CertificateError> {
    let (chain, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    if !chain.exists() || !key.exists() {
        return Ok(None);
    }
    let certificates = certificates(&chain)?;
    let pem = read(&key)?;
    let key = PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|_| CertificateError::Content { path: key, wanted: "private key" })?;
    Ok(Some((certificates, key)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let pem = read(path)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let content = || CertificateError::Content { path: path.to_owned(), wanted: "certificate" };
    read.ok().filter(|it| !it.is_empty()).ok_or_else(content)
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    std::fs::read(path).map_err(|source| CertificateError::Read { path: path.to_owned(), source })
}

/// One that nobody vouches for, with Argo CD's names.
fn own() -> Result<Certified, CertificateError> {
    let names = ["localhost", "reposerver"].map(str::to_owned);
    let mut parameters = rcgen::CertificateParams::new(names)?;
    let mut subject = rcgen::DistinguishedName::new();
    subject.push(rcgen::DnType::OrganizationName, "Argo CD");
    parameters.distinguished_name = subject;
    let key = rcgen::KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Ok((vec![certificate.der().clone()], key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(folder: &Path) -> String {
        let options = TlsOptions { folder: folder.to_owned(), client_authority: None };
        acceptor(&options).err().map(|it| it.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_mounted_certificate_is_used_and_a_broken_one_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        assert_eq!(told(path), "", "our own");
        std::fs::write(path.join("tls.crt"), "nonsense").expect("a file");
        std::fs::write(path.join("tls.key"), "nonsense").expect("a file");
        assert!(told(path).ends_with("tls.crt holds no PEM certificate"), "{}", told(path));
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("one");
        std::fs::write(path.join("tls.crt"), made.cert.pem()).expect("a file");
        assert!(told(path).ends_with("tls.key holds no PEM private key"), "{}", told(path));
        std::fs::write(path.join("tls.key"), made.signing_key.serialize_pem()).expect("a file");
        assert_eq!(told(path), "");
    }
}
