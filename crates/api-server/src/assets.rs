//! Files for browsers: a user interface that lies in a folder (`--staticassets`),
//! and the scripts that extend it (`/extensions.js`, in `scripts.rs`).
//!
//! Anybody may ask for them. Nothing outside of the two folders is ever read.

mod kept;
mod scripts;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LAST_MODIFIED, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use wire::HttpBody;

use crate::compress;
use crate::port::plain;
use crate::web::Web;
use kept::{Asset, Kept, Stamp};

pub(crate) const SCRIPTS: &str = "/extensions.js";
const INDEX: &str = "index.html";
/// No file of a user interface is larger.
const FILE_LIMIT: u64 = 32 << 20;
/// Pages that are asked for again each time: they name the scripts of one version.
const NOT_TO_BE_KEPT: [(&str, &str); 4] = [
    ("cache-control", "no-cache, private, max-age=0"),
    ("expires", "Thu, 01 Jan 1970 00:00:00 GMT"),
    ("pragma", "no-cache"),
    ("x-accel-expires", "0"),
];

/// What was read, and how it is told.
#[derive(Default)]
pub(crate) struct Assets {
    kept: Kept,
}

/// A file below the folder.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    modified: Option<SystemTime>,
    size: u64,
}

impl Assets {
    /// The file that a path names, or the page that finds its way from it. None where there is
    /// neither.
    pub(crate) async fn file(
        &self,
        web: &Web,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Option<Response<HttpBody>> {
        let is_read = *method == Method::GET || *method == Method::HEAD;
        if !is_read || path.starts_with("/api/") || web.static_assets.as_os_str().is_empty() {
            return None;
        }
        let wanted = wire::unescaped_path(path);
        let wanted = wanted.trim_matches('/').to_owned();
        let is_page = wanted.is_empty() || wanted == INDEX;
        let folder = web.static_assets.clone();
        let takes_pages = takes_pages(headers);
        let found = tokio::task::spawn_blocking(move || {
            let file = if is_page { None } else { find(&folder, &wanted) };
            let page = || find(&folder, INDEX).filter(|_| is_page || takes_pages);
            file.map(|it| (it, false)).or_else(|| page().map(|it| (it, true)))
        });
        let (found, is_page) = found.await.ok().flatten()?;
        Some(self.answer(web, found, is_page, headers).await)
    }

    async fn answer(
        &self,
        web: &Web,
        found: Found,
        is_page: bool,
        headers: &HeaderMap,
    ) -> Response<HttpBody> {
        let Found { path, modified, size } = found;
        let stamp: Stamp = vec![(path.clone(), modified, size)];
        let base = web.base_href.clone();
        let read = path.clone();
        let asset = self.kept.get(path.clone(), stamp, move || {
            let content = read_limited(&read, FILE_LIMIT)?;
            Ok(if is_page { with_base(&content, &base) } else { content })
        });
        let asset = match asset.await {
            Ok(asset) => asset,
            Err(error) => return failed(&format!("could not read {}", path.display()), &error),
        };
        let mut response = told(web, &asset, content_type(&path), headers);
        let told = response.headers_mut();
        told.insert("x-xss-protection", HeaderValue::from_static("1"));
        told.insert("x-robots-tag", HeaderValue::from_static("noindex, nofollow"));
        if is_page {
            for (name, value) in NOT_TO_BE_KEPT {
                told.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            return response;
        }
        if let Some(date) = modified.and_then(http_date) {
            told.insert(LAST_MODIFIED, date);
        }
        if is_named_by_its_content(&path) {
            let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
            told.insert(CACHE_CONTROL, forever);
        }
        response
    }

    /// All scripts of the folder in one.
    pub(crate) async fn scripts(&self, web: &Web, headers: &HeaderMap) -> Response<HttpBody> {
        let folder = web.ui_extensions.clone();
        let listed = tokio::task::spawn_blocking(move || scripts::list(&folder)).await;
        let listed = listed.unwrap_or_else(|error| Err(io::Error::other(error)));
        let made = match listed {
            Ok(stamp) => {
                let (folder, files) = (web.ui_extensions.clone(), stamp.clone());
                let make = move || scripts::joined(&folder, &files);
                self.kept.get(web.ui_extensions.clone(), stamp, make).await
            }
            Err(error) => Err(error),
        };
        let asset = match made {
            Ok(asset) => asset,
            Err(error) => return failed("could not put the extensions together", &error),
        };
        let mut response = told(web, &asset, "application/javascript", headers);
        let again = HeaderValue::from_static("private, no-cache");
        response.headers_mut().insert(CACHE_CONTROL, again);
        response
    }
}

/// The content, or that the browser has it already.
fn told(web: &Web, asset: &Asset, kind: &'static str, headers: &HeaderMap) -> Response<HttpBody> {
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    let mut known = known.flat_map(|it| it.split(',')).map(str::trim);
    let mut response = if known.any(|it| it == "*" || it == asset.tag()) {
        let mut response = Response::new(HttpBody::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let gzip = asset.gzip().filter(|_| web.compresses && compress::is_accepted(headers));
        let body = gzip.unwrap_or_else(|| asset.plain());
        let mut response = Response::new(HttpBody::new(Full::new(body.clone())));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if gzip.is_some() {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    };
    let told = response.headers_mut();
    told.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Ok(tag) = HeaderValue::from_str(asset.tag()) {
        told.insert(ETAG, tag);
    }
    response
}

fn failed(what: &str, error: &io::Error) -> Response<HttpBody> {
    tracing::warn!(%error, "{what}");
    let told = format!("{what}: {error}\n").into_bytes();
    plain(StatusCode::INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", told)
}

/// A file below the folder; links may lead to others, but not out of it.
fn find(folder: &Path, wanted: &str) -> Option<Found> {
    let wanted = Path::new(wanted);
    let is_inside = |it: Component<'_>| matches!(it, Component::Normal(_));
    if !wanted.components().all(is_inside) || wanted.as_os_str().as_encoded_bytes().contains(&0) {
        return None;
    }
    let folder = folder.canonicalize().ok()?;
    let path = folder.join(wanted).canonicalize().ok()?;
    let about = path.starts_with(&folder).then(|| path.metadata().ok()).flatten()?;
    let (modified, size) = (about.modified().ok(), about.len());
    about.is_file().then_some(Found { path, modified, size })
}

fn read_limited(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {} MiB", limit >> 20)));
    }
    Ok(content)
}

/// Somebody who navigates, and no script that asks for a file.
fn takes_pages(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let mut kinds = lines.flat_map(|it| it.split(','));
    kinds.any(|it| matches!(it.split(';').next().unwrap_or_default().trim(), "text/html" | "html"))
}

/// A page that knows where browsers think it is.
fn with_base(page: &[u8], base: &str) -> Vec<u8> {
    if matches!(base, "" | "/") {
        return page.to_vec();
    }
    let base = base.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let (start, end) = ("<base href=\"", "\">");
    let page = String::from_utf8_lossy(page);
    let mut rest = page.as_ref();
    let mut made = String::with_capacity(page.len() + base.len());
    while let Some((before, after)) = rest.split_once(start) {
        let Some((_, after)) = after.split_once(end) else { break };
        made.push_str(&[before, start, &base, end].concat());
        rest = after;
    }
    made.push_str(rest);
    made.into_bytes()
}

/// `main.<20 hexadecimal digits>.js`: another content has another name.
fn is_named_by_its_content(path: &Path) -> bool {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let hash = name.strip_prefix("main.").and_then(|it| it.strip_suffix(".js"));
    let is_digit = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
    hash.is_some_and(|it| it.len() == 20 && it.bytes().all(is_digit))
}

/// Browsers are told not to guess.
fn content_type(path: &Path) -> &'static str {
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "txt" | "md" => "text/plain; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "xml" => "text/xml; charset=utf-8",
        "wasm" => "application/wasm",
        "pdf" => "application/pdf",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "otf" => "font/otf",
        "eot" => "application/vnd.ms-fontobject",
        _ => "application/octet-stream",
    }
}

fn http_date(at: SystemTime) -> Option<HeaderValue> {
    let at = Timestamp::try_from(at).ok()?;
    let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok()?;
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests;
