//! A user interface in a folder, and scripts that extend it, over the wire.

use std::fs;

use api_server::Web;
use tempfile::TempDir;

use crate::client::{Rest, header, raw};

const PAGE: &str = "<html><head><base href=\"/\"></head></html>";

/// What browsers may have, and what lies beside it.
pub(crate) struct Folders(TempDir);

impl Folders {
    pub(crate) fn make() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in [
            ("secret", "a secret"),
            ("ui/index.html", PAGE),
            ("ui/api/v1/trap.js", "trap();"),
            ("ui/assets/a.css", "p {}"),
            ("scripts/one/extension-one.js", "one();"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("written");
        }
        Self(folder)
    }

    pub(crate) fn web(&self) -> Web {
        let (static_assets, ui_extensions) =
            (self.0.path().join("ui"), self.0.path().join("scripts"));
        Web { static_assets, ui_extensions, ..Web::default() }
    }
}

pub(crate) async fn files_are_for_everybody_and_methods_stay_methods(rest: &Rest) {
    let stranger = rest.by("");
    let get = async |path: &str, accept: &str| {
        let (status, answer) =
            raw(&stranger, &format!("GET {path} HTTP/1.1\r\nAccept: {accept}"), b"").await;
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (status, header(head, "content-type"), body.to_owned(), head.to_owned())
    };
    let (status, kind, body, head) = get("/assets/a.css", "*/*").await;
    assert_eq!((status, kind.as_str(), body.as_str()), (200, "text/css; charset=utf-8", "p {}"));
    assert_eq!(header(&head, "x-frame-options"), "sameorigin");
    assert_eq!(header(&head, "x-content-type-options"), "nosniff");
    let (status, kind, body, head) = get("/applications/argocd/web?view=tree", "text/html").await;
    assert_eq!((status, kind.as_str(), body.as_str()), (200, "text/html; charset=utf-8", PAGE));
    assert_eq!(header(&head, "cache-control"), "no-cache, private, max-age=0");
    let (status, kind, body, _) = get("/extensions.js", "*/*").await;
    assert_eq!((status, kind.as_str()), (200, "application/javascript"));
    assert!(body.contains("one();"), "{body}");

    for path in ["/../secret", "/assets/../../secret", "/%2e%2e/secret", "/..%2Fsecret"] {
        let (status, kind, body, _) = get(path, "*/*").await;
        assert_eq!((status, kind.as_str()), (404, "application/json"), "{path}: {body}");
        assert!(!body.contains("a secret"), "{path}");
    }
    let (status, kind, ..) = get("/api/v1/trap.js", "text/html").await;
    assert_eq!((status, kind.as_str()), (404, "application/json"), "what is below /api is no file");
    let (status, kind, ..) = get("/api/version", "text/html").await;
    assert_eq!((status, kind.as_str()), (200, "application/json"));
    let (status, answer) = raw(&stranger, "HEAD /assets/a.css HTTP/1.1", b"").await;
    assert_eq!((status, answer.ends_with("\r\n\r\n")), (200, true), "{answer}");
    let (status, _) =
        raw(&stranger, "POST / HTTP/1.1\r\nContent-Type: application/json", b"").await;
    assert_eq!(status, 404);
}
