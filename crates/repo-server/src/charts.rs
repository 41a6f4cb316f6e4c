//! Chart repositories: an index of charts, and the archives it names.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use reqwest::blocking::Response;
use sha2::{Digest as _, Sha256};

use crate::credentials::{Reach, Trust};
use crate::http::{self, Patience, authorize};
use crate::index::{ChartVersion, Index};
use crate::listing::Listing;
use crate::packages::{Package, PackageKey};
use crate::server::Inner;
use crate::{FetchError, Freshness, RepoUrl};

/// No chart's archive is larger.
const MAX_ARCHIVE: u64 = 100 << 20;

/// The indexes of chart repositories.
#[derive(Default)]
pub(crate) struct Charts {
    indexes: Mutex<HashMap<String, Arc<Listing<Index>>>>,
}

impl Inner {
    /// The index of a repository, asked for unless a fresh one is known.
    pub(crate) async fn index(
        self: &Arc<Self>,
        repo: &RepoUrl,
        freshness: Freshness,
    ) -> Result<Arc<Index>, FetchError> {
        let listing = {
            let mut indexes = self.charts.indexes.lock().expect("nobody panics while looking up");
            Arc::clone(indexes.entry(repo.identity()).or_default())
        };
        let ask = || {
            let (inner, repo) = (Arc::clone(self), repo.clone());
            async move {
                let trust = inner.book.current().for_repo(&repo);
                inner.ask_for_index(&repo, trust).await
            }
            .boxed()
        };
        listing.get(freshness, ask).await
    }

    /// Does the repository have a readable index?
    pub(crate) async fn test_index(&self, repo: &RepoUrl, trust: Trust) -> Result<(), FetchError> {
        self.ask_for_index(repo, trust).await.map(drop)
    }

    async fn ask_for_index(&self, repo: &RepoUrl, trust: Trust) -> Result<Index, FetchError> {
        let limit = self.options.git.fetch_timeout;
        let url = repo.clone();
        let max = self.options.max_index;
        let fetch = move |over: &Arc<AtomicBool>| fetch_index(&url, &trust, max, limit, over);
        let fetched = self.requests.run(limit, fetch).await;
        self.repository(repo).settle(fetched, "reading the index of", limit)
    }

    /// A chart in exactly this version.
    pub(crate) async fn chart(
        self: &Arc<Self>,
        repo: &RepoUrl,
        name: &str,
        version: &str,
        reach: Reach,
    ) -> Result<Arc<Package>, FetchError> {
        let key = PackageKey {
            repo: repo.identity(),
            name: name.to_owned(),
            revision: version.to_owned(),
            reach,
        };
        let fetch = || {
            let (inner, repo, key) = (Arc::clone(self), repo.clone(), key.clone());
            async move { inner.fetch_chart(&repo, &key).await }.boxed()
        };
        self.packages.get(key.clone(), fetch).await
    }

    async fn fetch_chart(
        self: Arc<Self>,
        repo: &RepoUrl,
        key: &PackageKey,
    ) -> Result<Package, FetchError> {
        // A version never changes, so any index that has it will do.
        let any = Instant::now().checked_sub(Duration::from_secs(3600));
        let freshness = any.map_or(Freshness::Latest, Freshness::NotBefore);
        let index = self.index(repo, freshness).await?;
        let found = match index.find(repo, &key.name, &key.revision) {
            Ok(found) => found.clone(),
            Err(_) => {
                let index = self.index(repo, Freshness::Latest).await?;
                index.find(repo, &key.name, &key.revision)?.clone()
            }
        };
        let limit = self.options.git.fetch_timeout;
        let (trust, url) = (self.book.current().for_repo(repo), repo.clone());
        let reach = key.reach;
        let fetched = move |_: &_| fetch_archive(&url, &trust, reach, &found, limit);
        let fetched = self.requests.run(limit, fetched).await;
        self.repository(repo).settle(fetched, "fetching a chart from", limit)
    }
}

fn fetch_index(
    repo: &RepoUrl,
    trust: &Trust,
    max: u64,
    limit: Duration,
    over: &AtomicBool,
) -> Result<Index, FetchError> {
    let address = format!("{}/index.yaml", repo.to_connect().trim_end_matches('/'));
    let answer = ask(repo, trust, Reach::OwnHost, &address, limit)?;
    Index::read(answer, max, over).map_err(|problem| {
        let problem = trust.credentials.hide(&repo.hide_credentials(&problem));
        let source = Arc::new(std::io::Error::other(format!("index.yaml: {problem}")));
        FetchError::Damaged { repo: repo.clone(), source }
    })
}

fn fetch_archive(
    repo: &RepoUrl,
    trust: &Trust,
    reach: Reach,
    found: &ChartVersion,
    limit: Duration,
) -> Result<Package, FetchError> {
    let address = absolute(repo, found.urls.first().map_or("", String::as_str));
    let archive = get(repo, trust, reach, &address, MAX_ARCHIVE, limit)?;
    let damaged = |problem: String| FetchError::Damaged {
        repo: repo.clone(),
        source: Arc::new(std::io::Error::other(problem)),
    };
    let digest = Sha256::digest(&archive);
    let shown: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let expected = found.digest.trim_start_matches("sha256:");
    if !expected.is_empty() && expected != shown {
        return Err(damaged(format!("{address} has the digest {shown}, not {expected}")));
    }
    Package::chart(repo, &found.version, archive)
        .map_err(|problem| damaged(format!("{address}: {problem}")))
}

/// An address as an index has it: absolute, or seen from the repository.
fn absolute(repo: &RepoUrl, url: &str) -> String {
    if url.contains("://") {
        return url.to_owned();
    }
    let base = repo.to_connect().trim_end_matches('/');
    match url.strip_prefix('/') {
        Some(path) => {
            let scheme_end = base.find("://").map_or(0, |at| at + 3);
            let host_end = base[scheme_end..].find('/').map_or(base.len(), |at| scheme_end + at);
            format!("{}/{path}", &base[..host_end])
        }
        None => format!("{base}/{url}"),
    }
}

/// What an address answers, within a limit of bytes.
fn get(
    repo: &RepoUrl,
    trust: &Trust,
    reach: Reach,
    address: &str,
    max: u64,
    limit: Duration,
) -> Result<Vec<u8>, FetchError> {
    let answer = ask(repo, trust, reach, address, limit)?;
    let damaged = |problem: String| {
        let problem = trust.credentials.hide(&repo.hide_credentials(&problem));
        let source = Arc::new(std::io::Error::other(problem));
        FetchError::Damaged { repo: repo.clone(), source }
    };
    let mut content = Vec::new();
    let read = answer.take(max + 1).read_to_end(&mut content);
    read.map_err(|error| damaged(format!("{address} broke off: {}", http::with_causes(&error))))?;
    if content.len() as u64 > max {
        return Err(damaged(format!("{address} has more than {max} bytes")));
    }
    Ok(content)
}

/// A good answer of an address.
fn ask(
    repo: &RepoUrl,
    trust: &Trust,
    reach: Reach,
    address: &str,
    limit: Duration,
) -> Result<Response, FetchError> {
    let unreachable = |error: &dyn std::error::Error| {
        let text = trust.credentials.hide(&repo.hide_credentials(&http::with_causes(error)));
        FetchError::Unreachable {
            repo: repo.clone(),
            source: Arc::new(std::io::Error::other(text)),
        }
    };
    let client = http::client(trust, Patience::of(limit)).map_err(|error| unreachable(&error))?;
    let mut request = client.get(address).build().map_err(|error| unreachable(&error))?;
    let is_known = authorize(&mut request, repo, trust, reach);
    let host = request.url().host_str().unwrap_or_default().to_owned();
    let answer = client.execute(request).map_err(|error| unreachable(&error))?;
    let repo = repo.clone();
    match answer.status().as_u16() {
        200..=299 => {}
        401 | 403 if trust.credentials.identify() && !is_known => {
            return Err(FetchError::CredentialsStayHome { repo, host });
        }
        401 | 403 if trust.credentials.identify() => {
            return Err(FetchError::AuthenticationFailed { repo });
        }
        401 | 403 => return Err(FetchError::AuthenticationRequired { repo }),
        404 => return Err(FetchError::RepositoryNotFound { repo }),
        status => {
            let source = Arc::new(std::io::Error::other(format!("HTTP status {status}")));
            return Err(FetchError::Unreachable { repo, source });
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_seen_from_the_repository() {
        let repo = RepoUrl::new("https://example.com/charts/");
        assert_eq!(absolute(&repo, "web-1.tgz"), "https://example.com/charts/web-1.tgz");
        assert_eq!(absolute(&repo, "/x/web-1.tgz"), "https://example.com/x/web-1.tgz");
        assert_eq!(absolute(&repo, "https://cdn.example.com/w"), "https://cdn.example.com/w");
    }
}
