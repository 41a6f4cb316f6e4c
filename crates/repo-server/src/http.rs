//! HTTP clients for repositories: who we are, whom we trust, which way we go.

use std::time::Duration;

use reqwest::blocking::{Client, ClientBuilder, Request};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Certificate, Identity, NoProxy, Proxy};

use crate::RepoUrl;
use crate::credentials::{Reach, Trust};

/// Why a client cannot be made.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unusable(String);

/// How long a server may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// To connect, and between two pieces of an answer.
    pub(crate) silence: Duration,
    /// For a whole answer, however it comes: a server that sends single bytes
    /// is never silent.
    pub(crate) total: Duration,
}

impl Patience {
    /// For short answers.
    pub(crate) fn of(limit: Duration) -> Self {
        Self { silence: limit, total: limit }
    }
}

/// A builder with certificates, proxy and time limits.
pub(crate) fn configured(trust: &Trust, patience: Patience) -> Result<ClientBuilder, Unusable> {
    let credentials = &trust.credentials;
    let Patience { silence, total } = patience;
    let builder = reqwest::ClientBuilder::new()
        .connect_timeout(silence)
        .timeout(total)
        .http1_title_case_headers();
    // The blocking client's own limit is between two reads.
    let mut builder = ClientBuilder::from(builder).timeout(silence);
    if !trust.certificates.is_empty() {
        let certificates = Certificate::from_pem_bundle(trust.certificates.as_bytes())
            .map_err(|_| unusable("a certificate of argocd-tls-certs-cm is not PEM"))?;
        builder = builder.tls_certs_merge(certificates);
    }
    if credentials.insecure {
        builder = builder.tls_danger_accept_invalid_certs(true);
    }
    if !credentials.tls_client_cert.is_empty() {
        let pem = format!("{}\n{}", credentials.tls_client_cert, credentials.tls_client_key);
        let identity = Identity::from_pem(pem.as_bytes())
            .map_err(|_| unusable("tlsClientCertData and tlsClientCertKey are no pair in PEM"))?;
        builder = builder.identity(identity);
    }
    if !credentials.proxy.is_empty() {
        let proxy = Proxy::all(&credentials.proxy)
            .map_err(|_| unusable("the proxy of the repository is no address"))?;
        builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&credentials.no_proxy)));
    }
    Ok(builder)
}

fn unusable(text: &str) -> Unusable {
    Unusable(text.to_owned())
}

/// Says who we are, as far as the credentials may go, and tells whether that was said.
pub(crate) fn authorize(request: &mut Request, url: &RepoUrl, trust: &Trust, reach: Reach) -> bool {
    if request.headers().contains_key(AUTHORIZATION) {
        return true;
    }
    let Some(authorization) = trust.credentials.authorization() else { return false };
    let same = |it: &reqwest::Url| {
        // Not in the clear what is meant for TLS.
        if url.to_connect().split_once("://").is_none_or(|(scheme, _)| scheme != it.scheme()) {
            return false;
        }
        let port = it.port().map_or_else(String::new, |port| format!(":{port}"));
        it.host_str().map(|host| format!("{host}{port}").to_ascii_lowercase()) == url.authority()
    };
    if reach == Reach::OwnHost && !same(request.url()) {
        return false;
    }
    let Ok(mut value) = HeaderValue::from_str(&authorization) else { return false };
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    true
}

/// A client of its own for one repository.
pub(crate) fn client(trust: &Trust, patience: Patience) -> Result<Client, Unusable> {
    let builder = configured(trust, patience)?;
    builder.build().map_err(|error| Unusable(error.to_string()))
}

/// The error with its causes, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
