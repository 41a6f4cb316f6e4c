//! Repositories that say they are somewhere else, and servers that want to be
//! told who asks in their own way. Everything here blocks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use reqwest::blocking::Response;
use reqwest::header::{LOCATION, WWW_AUTHENTICATE};
use reqwest::redirect::Policy;

use crate::credentials::{Reach, Trust};
use crate::http::{self, Patience, authorize, configured};
use crate::{FetchError, RepoUrl};

/// What git asks first.
const GREETING: &str = "/info/refs?service=git-upload-pack";
/// From http to https, to another name, and back once.
const MAX_HOPS: usize = 5;

/// Where on its own host a repository says it is; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moved(Arc<Mutex<Option<RepoUrl>>>);

impl Moved {
    pub(crate) fn get(&self) -> Option<RepoUrl> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, address: Option<RepoUrl>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }
}

/// Where the repository at `from` says it is, as long as that is on its own
/// host: credentials follow nowhere else.
///
/// # Errors
/// When it is not, or the server does not answer.
pub(crate) fn followed(
    repo: &RepoUrl,
    from: &RepoUrl,
    trust: &Trust,
    silence: Duration,
) -> Result<RepoUrl, FetchError> {
    let unreachable = |problem: String| FetchError::Unreachable {
        repo: repo.clone(),
        source: Arc::new(std::io::Error::other(
            trust.credentials.hide(&repo.hide_credentials(&problem)),
        )),
    };
    let mut at = from.clone();
    for _ in 0..MAX_HOPS {
        let answer = greeted(&at, trust, silence).map_err(&unreachable)?;
        let Some(target) = target_of(&answer) else { return Ok(at) };
        let next = Url::parse(at.to_connect())
            .ok()
            .and_then(|here| next_address(&here, &target, trust.credentials.insecure));
        let Some(next) = next else {
            let shown = RepoUrl::new(target.as_str()).without_credentials();
            let to = shown.split('?').next().unwrap_or(&shown);
            let to = to.strip_suffix("/info/refs").unwrap_or(to).to_owned();
            let host = repo.authority().unwrap_or_default();
            return Err(FetchError::Redirected { repo: repo.clone(), to, host });
        };
        at = at.moved_to(next.as_str());
    }
    Err(unreachable("it redirects in circles".to_owned()))
}

/// The kinds of authentication that the server asks for, if we know none of them.
pub(crate) fn unsupported_schemes(
    at: &RepoUrl,
    trust: &Trust,
    silence: Duration,
) -> Option<String> {
    let answer = greeted(at, trust, silence).ok()?;
    let offers = answer.headers().get_all(WWW_AUTHENTICATE).iter();
    let schemes: Vec<String> = offers
        .filter_map(|it| it.to_str().ok()?.split(' ').next().map(str::to_owned))
        .filter(|it| !it.is_empty() && it.len() < 40)
        .take(5)
        .collect();
    let is_known =
        |it: &String| ["basic", "bearer"].iter().any(|known| it.eq_ignore_ascii_case(known));
    (!schemes.is_empty() && !schemes.iter().any(is_known)).then(|| schemes.join(", "))
}

fn greeted(at: &RepoUrl, trust: &Trust, silence: Duration) -> Result<Response, String> {
    let builder = configured(trust, Patience::of(silence)).map_err(|it| it.to_string())?;
    let client = builder.redirect(Policy::none()).build().map_err(|it| http::with_causes(&it))?;
    let address = format!("{}{GREETING}", at.to_connect().trim_end_matches('/'));
    let mut request = client.get(address).build().map_err(|it| http::with_causes(&it))?;
    authorize(&mut request, at, trust, Reach::OwnHost);
    client.execute(request).map_err(|it| http::with_causes(&it))
}

/// Where an answer sends us.
fn target_of(answer: &Response) -> Option<Url> {
    let location = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection())?;
    answer.url().join(location.to_str().ok()?).ok()
}

/// The repository's address after a redirect, if credentials may follow there:
/// to the same host and port, or to TLS on the same host, whose certificate
/// proves that it is the same.
fn next_address(here: &Url, target: &Url, insecure: bool) -> Option<Url> {
    let is_same_place = (here.scheme(), here.port_or_known_default())
        == (target.scheme(), target.port_or_known_default());
    let is_proven = !insecure || (here.port(), target.port()) == (None, None);
    let is_safer = here.scheme() == "http" && target.scheme() == "https" && is_proven;
    if here.host_str() != target.host_str() || !(is_same_place || is_safer) {
        return None;
    }
    let path = target.as_str().strip_suffix(GREETING)?;
    Url::parse(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, target: &str, expect: Option<&str>) {
        let target = Url::parse(&format!("{target}{GREETING}")).unwrap();
        let next = next_address(&Url::parse(from).unwrap(), &target, false);
        assert_eq!(next.as_ref().map(Url::as_str), expect, "{from} to {target}");
    }

    #[test]
    fn credentials_follow_on_their_own_host_only() {
        let https = "https://example.com/org/repo.git";
        check("https://example.com/org/repo", https, Some(https));
        check("http://example.com/org/repo.git", https, Some(https));
        check(
            "http://example.com/r",
            "https://example.com:8443/r",
            Some("https://example.com:8443/r"),
        );
        check("https://example.com/r", "https://example.com:8443/r", None);
        check("http://example.com/r", "http://example.com:8080/r", None);
        check("https://example.com/r", "http://example.com/r", None);
        check("https://example.com/r", "https://other.com/r", None);
        check("https://example.com/r", "https://example.com.evil.org/r", None);
    }

    #[test]
    fn an_unchecked_certificate_proves_nothing() {
        let (from, to) = ("http://example.com/r", "https://example.com:8443/r");
        let target = Url::parse(&format!("{to}{GREETING}")).unwrap();
        assert_eq!(next_address(&Url::parse(from).unwrap(), &target, true), None);
    }
}
