//! What a provider says, once it has proven who it is.
//!
//! Providers are told apart by their headers, in this order: Azure DevOps, Gogs
//! (which also sends GitHub's), GitHub, GitLab, Bitbucket Cloud, Bitbucket
//! Server, GitHub's packages, Harbor. A secret that is not set is not asked
//! for, except Harbor's, which is what tells Harbor from a stranger.

use ::settings::{Secret, Webhooks};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::Value;

/// Something happened elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Push(Push),
    Published(Published),
    /// Nothing that concerns anybody: a ping, a deleted image.
    Nothing,
}

/// Commits or a tag came to a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Push {
    /// Where it can be looked at; some providers name several.
    pub(crate) web_urls: Vec<String>,
    /// The branch or tag.
    pub(crate) revision: String,
    /// Is it the default branch? Bitbucket does not say; then it may be.
    pub(crate) touched_head: bool,
    /// Empty when the provider does not tell.
    pub(crate) changed_files: Vec<String>,
}

/// An image or chart came to a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// Host and path.
    pub(crate) repository: String,
    pub(crate) tag: String,
}

/// Why a request is not listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    UnknownProvider,
    Method,
    Corrupt,
    /// The proof of a git host is missing or wrong.
    Secret,
    /// That of a registry.
    Registry,
    /// An event that was not subscribed to.
    Event,
    /// It does not say what it must.
    Incomplete,
}

type Header<'h> = &'h dyn Fn(&str) -> Option<&'h str>;

pub(crate) fn read(
    is_post: bool,
    header: Header<'_>,
    body: &[u8],
    secrets: &Webhooks,
) -> Result<Event, Refused> {
    let given = |name: &str| header(name).filter(|it| !it.is_empty());
    if given("x-vss-activityid").is_some() {
        check_basic(given("authorization"), secrets)?;
        return azure(&json(is_post, body)?);
    }
    if let Some(event) = given("x-gogs-event") {
        check_event(event, &["push"])?;
        check_hmac(&secrets.gogs, given("x-gogs-signature"), "", body)?;
        return pushed(&json(is_post, body)?, "/repository", "html_url");
    }
    if let Some(event) = given("x-github-event").filter(|it| *it != "package") {
        check_event(event, &["push", "ping"])?;
        check_hmac(&secrets.github, given("x-hub-signature-256"), "sha256=", body)?;
        let payload = json(is_post, body)?;
        return if event == "ping" {
            Ok(Event::Nothing)
        } else {
            pushed(&payload, "/repository", "html_url")
        };
    }
    if let Some(event) = given("x-gitlab-event") {
        check_event(event, &["Push Hook", "Tag Push Hook", "System Hook"])?;
        check_same(&secrets.gitlab, given("x-gitlab-token"))?;
        return gitlab(event, &json(is_post, body)?);
    }
    if let Some(uuid) = given("x-hook-uuid") {
        check_event(given("x-event-key").unwrap_or_default(), &["repo:push"])?;
        check_same(&secrets.bitbucket_uuid, Some(uuid))?;
        return bitbucket(&json(is_post, body)?);
    }
    if let Some(event) = given("x-event-key") {
        check_event(event, &["repo:refs_changed", "diagnostics:ping"])?;
        if event == "diagnostics:ping" {
            return if is_post { Ok(Event::Nothing) } else { Err(Refused::Method) };
        }
        check_hmac(&secrets.bitbucket_server, given("x-hub-signature"), "sha256=", body)?;
        return bitbucket_server(&json(is_post, body)?);
    }
    if given("x-github-event").is_some() {
        check_hmac(&secrets.github, given("x-hub-signature-256"), "sha256=", body)
            .map_err(|_| Refused::Registry)?;
        return Ok(package(&json(is_post, body)?));
    }
    if !secrets.harbor.is_empty() && check_same(&secrets.harbor, given("authorization")).is_ok() {
        return harbor(&json(is_post, body)?);
    }
    Err(Refused::UnknownProvider)
}

fn json(is_post: bool, body: &[u8]) -> Result<Value, Refused> {
    if !is_post {
        return Err(Refused::Method);
    }
    let value: Value = serde_json::from_slice(body).map_err(|_| Refused::Corrupt)?;
    if value.is_object() { Ok(value) } else { Err(Refused::Corrupt) }
}

fn check_event(event: &str, known: &[&str]) -> Result<(), Refused> {
    if known.contains(&event) { Ok(()) } else { Err(Refused::Event) }
}

/// In constant time: what differs is not told by how long it takes.
fn check_same(secret: &Secret, given: Option<&str>) -> Result<(), Refused> {
    if secret.is_empty() {
        return Ok(());
    }
    let given = given.ok_or(Refused::Secret)?;
    // Hashed first, so that not even the length is told.
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"webhook");
    let expected = hmac::sign(&key, secret.bytes());
    hmac::verify(&key, given.as_bytes(), expected.as_ref()).map_err(|_| Refused::Secret)
}

fn check_hmac(
    secret: &Secret,
    given: Option<&str>,
    prefix: &str,
    body: &[u8],
) -> Result<(), Refused> {
    if secret.is_empty() {
        return Ok(());
    }
    let given = given.and_then(|it| it.strip_prefix(prefix)).ok_or(Refused::Secret)?;
    let signature = unhex(given).ok_or(Refused::Secret)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.bytes());
    hmac::verify(&key, body, &signature).map_err(|_| Refused::Secret)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let digits = std::str::from_utf8(pair).ok().filter(|it| it.len() == 2)?;
        u8::from_str_radix(digits, 16).ok()
    };
    pairs.map(byte).collect()
}

fn check_basic(given: Option<&str>, secrets: &Webhooks) -> Result<(), Refused> {
    let (user, password) = (&secrets.azure_username, &secrets.azure_password);
    if user.is_empty() && password.is_empty() {
        return Ok(());
    }
    let encoded = given.and_then(|it| it.strip_prefix("Basic ")).ok_or(Refused::Secret)?;
    let decoded = STANDARD.decode(encoded.trim()).map_err(|_| Refused::Secret)?;
    let decoded = String::from_utf8(decoded).map_err(|_| Refused::Secret)?;
    let expected = format!("{}:{}", user.text(), password.text());
    check_same(&Secret::from(expected.as_str()), Some(&decoded))
}

fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// `refs/heads/a/b` is `a/b`; so is what stands after the second slash of anything else.
pub(crate) fn short_name(reference: &str) -> &str {
    reference.splitn(3, '/').last().unwrap_or_default()
}

/// GitHub, GitLab and Gogs tell a push alike.
fn pushed(payload: &Value, repository: &str, url: &str) -> Result<Event, Refused> {
    let web_url = text(payload, &format!("{repository}/{url}"));
    if web_url.is_empty() {
        return Err(Refused::Incomplete);
    }
    let revision = short_name(text(payload, "/ref")).to_owned();
    let default_branch = text(payload, &format!("{repository}/default_branch"));
    let commits = payload["commits"].as_array().into_iter().flatten();
    let files = commits.flat_map(|commit| {
        ["added", "modified", "removed"].into_iter().flat_map(|kind| {
            let files = commit[kind].as_array().into_iter().flatten();
            files.filter_map(Value::as_str).map(str::to_owned)
        })
    });
    Ok(Event::Push(Push {
        web_urls: vec![web_url.to_owned()],
        touched_head: default_branch == revision,
        changed_files: files.collect(),
        revision,
    }))
}

/// A system hook tells events of all kinds; the body says which.
fn gitlab(event: &str, payload: &Value) -> Result<Event, Refused> {
    if event == "System Hook" {
        let kind = match text(payload, "/object_kind") {
            "" => text(payload, "/event_name"),
            kind => kind,
        };
        check_event(kind, &["push", "tag_push"])?;
    }
    pushed(payload, "/project", "web_url")
}

fn azure(payload: &Value) -> Result<Event, Refused> {
    check_event(text(payload, "/eventType"), &["git.push"])?;
    let web_url = text(payload, "/resource/repository/remoteUrl");
    let reference = text(payload, "/resource/refUpdates/0/name");
    if web_url.is_empty() || reference.is_empty() {
        return Err(Refused::Incomplete);
    }
    Ok(Event::Push(Push {
        web_urls: vec![web_url.to_owned()],
        revision: short_name(reference).to_owned(),
        touched_head: reference == text(payload, "/resource/repository/defaultBranch"),
        changed_files: Vec::new(),
    }))
}

fn bitbucket(payload: &Value) -> Result<Event, Refused> {
    let web_url = text(payload, "/repository/links/html/href");
    if web_url.is_empty() {
        return Err(Refused::Incomplete);
    }
    Ok(Event::Push(Push {
        web_urls: vec![web_url.to_owned()],
        revision: text(payload, "/push/changes/0/new/name").to_owned(),
        touched_head: true,
        changed_files: Vec::new(),
    }))
}

fn bitbucket_server(payload: &Value) -> Result<Event, Refused> {
    let links = payload.pointer("/repository/links/clone").and_then(Value::as_array);
    let links = links.into_iter().flatten();
    let links = links.filter(|it| matches!(text(it, "/name"), "http" | "ssh"));
    let web_urls: Vec<String> =
        links.map(|it| text(it, "/href").to_owned()).filter(|it| !it.is_empty()).collect();
    if web_urls.is_empty() {
        return Err(Refused::Incomplete);
    }
    Ok(Event::Push(Push {
        web_urls,
        revision: short_name(text(payload, "/changes/0/ref/id")).to_owned(),
        touched_head: true,
        changed_files: Vec::new(),
    }))
}

/// A package of GitHub: only published images count.
fn package(payload: &Value) -> Event {
    let tag = text(payload, "/package/package_version/container_metadata/tag/name");
    let is_image = text(payload, "/package/package_type").eq_ignore_ascii_case("container");
    if text(payload, "/action") != "published" || !is_image || tag.is_empty() {
        return Event::Nothing;
    }
    let (owner, name) = (text(payload, "/package/owner/login"), text(payload, "/package/name"));
    let repository = format!("ghcr.io/{owner}/{name}");
    Event::Published(Published { repository, tag: tag.to_owned() })
}

fn harbor(payload: &Value) -> Result<Event, Refused> {
    if text(payload, "/type") != "PUSH_ARTIFACT" {
        return Ok(Event::Nothing);
    }
    let resources = payload.pointer("/event_data/resources").and_then(Value::as_array);
    // What has no tag was pushed by its digest, which nobody follows.
    let tagged = resources.into_iter().flatten().find_map(|it| {
        let (tag, url) = (text(it, "/tag"), text(it, "/resource_url"));
        let (host, path) = url.rsplit("://").next()?.split_once('/')?;
        (!tag.is_empty() && !host.is_empty() && !path.is_empty()).then_some((host, tag))
    });
    let Some((host, tag)) = tagged else { return Ok(Event::Nothing) };
    let full = text(payload, "/event_data/repository/repo_full_name");
    let namespace = text(payload, "/event_data/repository/namespace");
    let name = text(payload, "/event_data/repository/name");
    let repository = match (full, namespace, name) {
        ("", "", _) | ("", _, "") => return Err(Refused::Incomplete),
        ("", namespace, name) => format!("{host}/{namespace}/{name}"),
        (full, ..) => format!("{host}/{full}"),
    };
    Ok(Event::Published(Published { repository, tag: tag.to_owned() }))
}

#[cfg(test)]
mod tests;
