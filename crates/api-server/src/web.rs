//! How the API looks to browsers: where it is, and what they may do with it.

use std::path::PathBuf;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Uri};

/// How the API looks to browsers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Web {
    /// Everything is below this path: empty, or `/argocd`.
    pub root_path: String,
    /// Where browsers think they are; differs from the root path behind a proxy that removes it.
    pub base_href: String,
    /// Where Dex is: `https://argocd-dex-server:5556`.
    pub dex_server: String,
    /// Who vouches for Dex's certificate (PEM); without, it is not checked.
    pub dex_authority: Option<String>,
    /// The header `X-Frame-Options`; empty for none.
    pub frame_options: String,
    /// The header `Content-Security-Policy`; empty for none.
    pub content_security_policy: String,
    /// Are answers compressed for clients that take it?
    pub compresses: bool,
    /// What requests that change something may be; none for anything.
    pub content_types: Vec<String>,
    /// Are requests passed on to extensions?
    pub passes_extensions: bool,
    /// The files of a user interface; a folder that is not there has none.
    pub static_assets: PathBuf,
    /// The scripts that extend a user interface; a folder that is not there has none.
    pub ui_extensions: PathBuf,
}

impl Default for Web {
    fn default() -> Self {
        Self {
            root_path: String::new(),
            base_href: "/".into(),
            dex_server: "https://argocd-dex-server:5556".into(),
            dex_authority: None,
            frame_options: "sameorigin".into(),
            content_security_policy: "frame-ancestors 'self';".into(),
            compresses: true,
            content_types: vec!["application/json".into()],
            passes_extensions: false,
            static_assets: PathBuf::new(),
            ui_extensions: PathBuf::new(),
        }
    }
}

impl Web {
    /// With the root path as it is compared: a slash before it and none after.
    #[must_use]
    pub fn at(self, root_path: &str, base_href: &str) -> Self {
        let slashed = |text: &str| match text.trim_matches('/') {
            "" => String::new(),
            inner => format!("/{inner}"),
        };
        let root_path = slashed(root_path);
        // As Argo CD: who moves the root moves the base with it.
        let base_href = match slashed(base_href) {
            base if base.is_empty() => root_path.clone(),
            base => base,
        };
        Self { root_path, base_href: format!("{base_href}/"), ..self }
    }

    /// Where browsers start.
    pub(crate) fn home(&self) -> String {
        if self.base_href.is_empty() { "/".into() } else { self.base_href.clone() }
    }

    /// The path of cookies.
    pub(crate) fn cookie_path(&self) -> String {
        match self.base_href.trim_end_matches('/') {
            "" => "/".to_owned(),
            path => path.to_owned(),
        }
    }

    /// The address of a request without the root path; none where it is not below it. Paths without
    /// it are answered too: probes inside of a cluster do not know it.
    pub(crate) fn below_root(&self, uri: &Uri) -> Option<Uri> {
        let whole = uri.path_and_query()?.as_str();
        let rest =
            whole.strip_prefix(self.root_path.as_str()).filter(|_| !self.root_path.is_empty())?;
        let rest = match rest.chars().next() {
            Some('/') => rest.to_owned(),
            None | Some('?') => format!("/{rest}"),
            Some(_) => return None,
        };
        rest.parse().ok()
    }

    /// A form of another site can send text, but not JSON: this is what keeps it from acting for a
    /// user.
    pub(crate) fn takes(&self, method: &Method, headers: &HeaderMap) -> bool {
        if *method == Method::GET || self.content_types.is_empty() {
            return true;
        }
        let given = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let given = given.split(';').next().unwrap_or_default().trim();
        self.content_types.iter().any(|it| given.eq_ignore_ascii_case(it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(root: &str, uri: &'static str, expect: Option<&str>) {
        let web = Web::default().at(root, "/");
        let found = web.below_root(&Uri::from_static(uri));
        assert_eq!(found.map(|it| it.to_string()).as_deref(), expect);
    }

    #[test]
    fn the_root_path_is_taken_off() {
        check("argocd", "/argocd/api/version?a=b", Some("/api/version?a=b"));
        check("/argocd/", "/argocd", Some("/"));
        check("/argocd", "/argocd?a=b", Some("/?a=b"));
        check("/argocd", "/argocdx/api", None);
        check("/argocd", "/api/version", None);
        check("", "/api/version", None);
    }

    #[test]
    fn cookies_are_for_the_place_where_browsers_think_they_are() {
        let path = |root, base| Web::default().at(root, base).cookie_path();
        assert_eq!(path("", "/"), "/");
        assert_eq!(path("/argocd", "/"), "/argocd");
        assert_eq!(path("", "/argocd/"), "/argocd");
    }

    #[test]
    fn only_json_may_change_anything() {
        let web = Web::default();
        let check = |verb: Method, kind: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(kind) = kind {
                headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
            }
            web.takes(&verb, &headers)
        };
        assert!(check(Method::GET, None) && check(Method::POST, Some("application/json")));
        assert!(check(Method::PUT, Some("Application/JSON; charset=utf-8")));
        for kind in ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded", ""] {
            assert!(!check(Method::POST, Some(kind)), "{kind}");
        }
        assert!(!check(Method::DELETE, None));
    }
}
