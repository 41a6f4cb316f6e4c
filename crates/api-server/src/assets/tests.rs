//! What browsers get, from folders on a real disk.

use std::fs;
use std::os::unix::fs::symlink;

use http_body_util::BodyExt as _;
use tempfile::TempDir;

use super::*;

const MAIN: &str = "main.0123456789abcdef0123.js";
const PAGE: &str = "<html><head><base href=\"/\"></head></html>";

/// Two folders of browsers' files, and what lies beside them.
struct Place {
    folder: TempDir,
    web: Web,
    assets: Assets,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (ui, scripts) = (folder.path().join("ui"), folder.path().join("scripts"));
        let web = Web { static_assets: ui, ui_extensions: scripts, ..Web::default() };
        let place = Self { folder, web, assets: Assets::default() };
        files.iter().for_each(|(path, text)| place.write(path, text));
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    async fn get(&self, path: &str, headers: &[(&'static str, &str)]) -> Option<Told> {
        let headers = headers_of(headers);
        let response = self.assets.file(&self.web, &Method::GET, path, &headers).await?;
        Some(Told::of(response).await)
    }

    async fn scripts(&self, headers: &[(&'static str, &str)]) -> Told {
        Told::of(self.assets.scripts(&self.web, &headers_of(headers)).await).await
    }

    async fn text(&self, path: &str, accept: &'static str) -> Option<String> {
        self.get(path, &[("accept", accept)]).await.map(|it| it.text)
    }
}

fn headers_of(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).expect("a header");
    pairs.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))).collect()
}

struct Told {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Told {
    async fn of(response: Response<HttpBody>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Self { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
    }
}

#[tokio::test]
async fn files_are_found_and_who_navigates_gets_the_page() {
    let place =
        Place::new(&[("ui/index.html", PAGE), ("ui/a b/x.css", "p {}"), ("ui/empty/y", "")]);
    let check = async |path: &str, accept, expect: Option<&str>| {
        assert_eq!(place.text(path, accept).await.as_deref(), expect, "{path}");
    };
    check("/a%20b/x.css", "*/*", Some("p {}")).await;
    check("/a%20b/x.css", "text/html", Some("p {}")).await;
    for path in ["/", "/index.html"] {
        check(path, "*/*", Some(PAGE)).await;
    }
    for path in ["/applications/argocd/web", "/empty", "/gone.js"] {
        check(path, "application/xhtml+xml, text/html;q=0.9", Some(PAGE)).await;
        check(path, "*/*", None).await;
    }
    check("/api/v1/nothing", "text/html", None).await;
    let post = place.assets.file(&place.web, &Method::POST, "/", &HeaderMap::new()).await;
    assert!(post.is_none());
}

#[tokio::test]
async fn without_a_folder_there_is_no_file() {
    let place = Place::new(&[("beside", "x")]);
    assert!(place.get("/", &[("accept", "text/html")]).await.is_none());
    let web = Web { static_assets: PathBuf::new(), ..place.web.clone() };
    let answer = place.assets.file(&web, &Method::GET, "/etc/passwd", &HeaderMap::new()).await;
    assert!(answer.is_none());
    let place = Place::new(&[("ui/a.txt", "a")]);
    assert!(place.get("/", &[("accept", "text/html")]).await.is_none(), "and without a page none");
}

#[tokio::test]
async fn no_path_leads_out_of_the_folder() {
    let place = Place::new(&[("secret", "s"), ("ui/a/b.txt", "b"), ("ui2/c.txt", "c")]);
    let root = place.path("");
    symlink(root.join("secret"), root.join("ui/link")).expect("a link");
    symlink("../..", root.join("ui/a/up")).expect("a link");
    symlink("a/b.txt", root.join("ui/inner")).expect("a link");
    symlink("loop", root.join("ui/loop")).expect("a link");
    let absolute = format!("/{}", root.join("secret").display());
    for path in [
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/a/../../secret",
        "/a/..%2f..%2fsecret",
        "/../ui2/c.txt",
        "/link",
        "/a/up/secret",
        "/loop",
        "/a/b.txt%00",
        "/a/b.txt/",
        "//a/%FF",
        &absolute,
    ] {
        let found = place.text(path, "*/*").await;
        let is_known = path == "/a/b.txt/";
        assert_eq!(found.is_some(), is_known, "{path}: {found:?}");
    }
    assert_eq!(place.text("/inner", "*/*").await.as_deref(), Some("b"), "inside they may lead");
}

#[tokio::test]
async fn browsers_keep_what_stays_the_same() {
    let main = format!("ui/{MAIN}");
    let place = Place::new(&[("ui/index.html", PAGE), (&main, "1"), ("ui/logo.svg", "<svg/>")]);
    let page = place.get("/x", &[("accept", "text/html")]).await.expect("a page");
    assert_eq!(page.header("cache-control"), "no-cache, private, max-age=0");
    assert_eq!(page.header("x-robots-tag"), "noindex, nofollow");
    let main = place.get(&format!("/{MAIN}"), &[]).await.expect("a script");
    assert_eq!(main.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(main.header("content-type"), "text/javascript; charset=utf-8");
    let logo = place.get("/logo.svg", &[]).await.expect("an image");
    assert_eq!((logo.header("cache-control"), logo.header("content-type")), ("", "image/svg+xml"));
    assert!(logo.header("last-modified").ends_with(" GMT"));
    let tag = logo.header("etag").to_owned();
    let again = place.get("/logo.svg", &[("if-none-match", &format!("\"x\", {tag}"))]).await;
    let again = again.expect("an answer");
    assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", tag.as_str()));
    place.write("ui/logo.svg", "<svg></svg>");
    let changed = place.get("/logo.svg", &[("if-none-match", &tag)]).await.expect("an answer");
    assert_eq!((changed.status, changed.text.as_str()), (200, "<svg></svg>"));
}

#[tokio::test]
async fn large_files_are_sent_smaller_to_those_who_take_it() {
    let place = Place::new(&[("ui/large.css", &"p {}\n".repeat(1000))]);
    let plain = place.get("/large.css", &[]).await.expect("a file");
    assert_eq!((plain.text.len(), plain.header("content-encoding")), (5000, ""));
    let small = place.get("/large.css", &[("accept-encoding", "gzip")]).await.expect("a file");
    assert_eq!(small.header("content-encoding"), "gzip");
    assert!(small.text.len() < 1000);
    assert_eq!(small.header("vary"), "Accept-Encoding");
}

#[tokio::test]
async fn a_file_that_is_too_large_is_told() {
    let place = Place::new(&[("ui/a", "")]);
    let file = File::create(place.path("ui/huge.bin")).expect("a file");
    file.set_len(FILE_LIMIT + 1).expect("a sparse file");
    let told = place.get("/huge.bin", &[]).await.expect("an answer");
    assert_eq!(told.status, 500);
    assert!(told.text.ends_with("huge.bin: it is larger than 32 MiB\n"), "{}", told.text);
}

#[test]
fn the_page_learns_where_it_is() {
    let check = |page: &str, base: &str, expect: &str| {
        assert_eq!(String::from_utf8(with_base(page.as_bytes(), base)).expect("text"), expect);
    };
    check(PAGE, "/", PAGE);
    check("a<base href=\"/\">b", "/argocd/", "a<base href=\"/argocd/\">b");
    check("<base href=\"/\"><base href=\"x\">", "/a/", "<base href=\"/a/\"><base href=\"/a/\">");
    check("a<base href=\"/", "/argocd/", "a<base href=\"/");
    check("<base href=\"/\">", "/\"><script>/", "<base href=\"/&quot;>&lt;script>/\">");
    check("none", "/argocd/", "none");
}

#[tokio::test]
async fn scripts_are_put_together_in_the_order_of_their_names() {
    let place = Place::new(&[
        ("scripts/b/extension-b.js", "two();"),
        ("scripts/a/extension.js", "one(); // no end of line"),
        ("scripts/a/extension.js.map", "{}"),
        ("scripts/a/other.js", "never();"),
        ("scripts/extension-it's.js", "three();"),
        ("outside/extension.js", "outside();"),
    ]);
    symlink(place.path("outside"), place.path("scripts/out")).expect("a link");
    symlink(place.path("outside/extension.js"), place.path("scripts/extension-out.js"))
        .expect("a link");
    let told = place.scripts(&[]).await;
    assert_eq!((told.status, told.header("content-type")), (200, "application/javascript"));
    let expect = "// \"a/extension.js\"\ntry {\none(); // no end of line\n} catch (error) { console.error(\"extension failed:\", \"a/extension.js\", error); }\n\
                  // \"b/extension-b.js\"\ntry {\ntwo();\n} catch (error) { console.error(\"extension failed:\", \"b/extension-b.js\", error); }\n\
                  // \"extension-it's.js\"\ntry {\nthree();\n} catch (error) { console.error(\"extension failed:\", \"extension-it's.js\", error); }\n";
    assert_eq!(told.text, expect);
    let tag = told.header("etag").to_owned();
    assert_eq!(place.scripts(&[("if-none-match", &tag)]).await.status, 304);
    place.write("scripts/c/extension.js", "four();");
    let more = place.scripts(&[("if-none-match", &tag)]).await;
    assert_eq!((more.status, more.text.contains("four();")), (200, true));
}

/// As Kubernetes mounts a ConfigMap: the files are links.
#[tokio::test]
async fn scripts_of_a_mounted_config_map_are_read_once() {
    let place = Place::new(&[("scripts/cm/..2026/extension-a.js", "once();")]);
    symlink("..2026", place.path("scripts/cm/..data")).expect("a link");
    symlink("..data/extension-a.js", place.path("scripts/cm/extension-a.js")).expect("a link");
    assert_eq!(place.scripts(&[]).await.text.matches("once();").count(), 1);
}

#[tokio::test]
async fn without_scripts_there_is_an_empty_one() {
    let told = Place::new(&[]).scripts(&[]).await;
    assert_eq!((told.status, told.text.as_str()), (200, ""));
}

#[tokio::test]
async fn too_many_scripts_are_told() {
    let place = Place::new(&[("scripts/extension-a.js", "")]);
    let file = File::create(place.path("scripts/extension-b.js")).expect("a file");
    file.set_len(17 << 20).expect("a sparse file");
    let told = place.scripts(&[]).await;
    let expect = "could not put the extensions together: they are larger than 16 MiB together: remove some\n";
    assert_eq!((told.status, told.text.as_str()), (500, expect));
    let deep = format!("scripts/{}extension.js", "d/".repeat(20));
    let place = Place::new(&[(&deep, "")]);
    assert_eq!(place.scripts(&[]).await.status, 500);
    let place = Place::new(&[("scripts", "a file")]);
    assert_eq!(place.scripts(&[]).await.status, 500);
}
