//! TLS of the port: the certificate of the settings, taken anew when it changes.

use std::sync::{Arc, PoisonError, RwLock};

use ::settings::{ServerCertificate, SettingsStore};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

/// What clients are offered. HTTP/1.1 comes first, as with Argo CD: only those
/// that must have HTTP/2, which is gRPC, get it.
const PROTOCOLS: [&[u8]; 2] = [b"http/1.1", b"h2"];

/// Why a certificate cannot be used. The texts tell nothing of the key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    #[error("tls.crt holds no PEM certificate")]
    Chain,
    #[error("tls.key holds no PEM private key")]
    Key,
    #[error("the private key is of a kind that is not supported")]
    KeyKind(#[source] rustls::Error),
}

/// Takes TLS connections with the certificate of the settings.
pub(crate) fn acceptor(settings: Arc<SettingsStore>) -> TlsAcceptor {
    let resolver = Resolver { settings, current: RwLock::default() };
    let provider = Arc::new(ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring offers both versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = PROTOCOLS.iter().map(|it| it.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

struct Resolver {
    settings: Arc<SettingsStore>,
    current: RwLock<Option<(ServerCertificate, Arc<CertifiedKey>)>>,
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolver")
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.certificate()
    }
}

impl Resolver {
    /// A certificate that cannot be read does not replace one that can.
    fn certificate(&self) -> Option<Arc<CertifiedKey>> {
        let settings = self.settings.current();
        let wanted = settings.certificate.as_ref();
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(wanted) = wanted else { return current.map(|(_, key)| key) };
        if let Some((of, key)) = &current
            && of == wanted
        {
            return Some(Arc::clone(key));
        }
        match certified(wanted) {
            Ok(key) => {
                let key = Arc::new(key);
                tracing::info!(secret = wanted.secret, "using a new certificate");
                let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                *current = Some((wanted.clone(), Arc::clone(&key)));
                Some(key)
            }
            Err(error) => {
                let error = runtime::Chain(&error).to_string();
                tracing::warn!(secret = wanted.secret, error, "cannot use a certificate");
                current.map(|(_, key)| key)
            }
        }
    }
}

fn certified(certificate: &ServerCertificate) -> Result<CertifiedKey, CertificateError> {
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(certificate.chain.bytes()).collect();
    let chain = chain.ok().filter(|it| !it.is_empty()).ok_or(CertificateError::Chain)?;
    let key = PrivateKeyDer::from_pem_slice(certificate.key.bytes());
    let key = key.map_err(|_| CertificateError::Key)?;
    let key = ring::sign::any_supported_type(&key).map_err(CertificateError::KeyKind)?;
    Ok(CertifiedKey::new(chain, key))
}

/// A certificate that we vouch for ourselves, as PEM: chain and key.
pub(crate) fn self_signed(namespace: &str) -> Result<(String, String), rcgen::Error> {
    let service = "argocd-server";
    let names = [
        "localhost".to_owned(),
        service.to_owned(),
        format!("{service}.{namespace}"),
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.cluster.local"),
    ];
    let mut parameters = rcgen::CertificateParams::new(names)?;
    let mut subject = rcgen::DistinguishedName::new();
    subject.push(rcgen::DnType::OrganizationName, "Argo CD");
    parameters.distinguished_name = subject;
    let key = rcgen::KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use ::settings::Sources;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;

    fn secret(version: &str, chain: &str, key: &str) -> Value {
        let data = json!({"tls.crt": STANDARD.encode(chain), "tls.key": STANDARD.encode(key)});
        let metadata = json!({"name": "argocd-secret", "resourceVersion": version});
        json!({"metadata": metadata, "data": data})
    }

    #[test]
    fn a_new_certificate_is_used_at_once_and_a_broken_one_never() {
        let settings = Arc::new(SettingsStore::new(Sources::default()));
        let resolver = Resolver { settings: Arc::clone(&settings), current: RwLock::default() };
        assert!(resolver.certificate().is_none());
        let (chain, key) = self_signed("argocd").expect("a certificate");
        settings.see_secret(&secret("1", &chain, &key));
        let first = resolver.certificate().expect("the first");
        let again = resolver.certificate().expect("the first again");
        assert!(Arc::ptr_eq(&first, &again));
        settings.see_secret(&secret("2", "nonsense", &key));
        assert!(Arc::ptr_eq(&first, &resolver.certificate().expect("still the first")));
        let (chain, key) = self_signed("argocd").expect("another");
        settings.see_secret(&secret("3", &chain, &key));
        assert!(!Arc::ptr_eq(&first, &resolver.certificate().expect("the second")));
    }

    #[test]
    fn what_is_wrong_with_a_certificate_is_told() {
        let (chain, key) = self_signed("argocd").expect("a certificate");
        let told = |chain: &str, key: &str| {
            let certificate =
                ServerCertificate { chain: chain.into(), key: key.into(), secret: String::new() };
            certified(&certificate).err().map(|it| it.to_string()).unwrap_or_default()
        };
        assert_eq!(told(&chain, &key), "");
        assert_eq!(told("", &key), "tls.crt holds no PEM certificate");
        assert_eq!(told(&chain, "x"), "tls.key holds no PEM private key");
    }
}
