//! Charts and other artifacts of a real OCI registry.

use api::ApplicationSource;
use flate2::Compression;
use flate2::write::GzEncoder;
use render::RenderContext;
use repo_server::{
    CredentialBook, Freshness, ManifestQuery, Options, RepoCredentials, RepoKind, RepoServer,
    RepoUrl, TargetRevision,
};
use tar::EntryType;
use testkit::archive;
use testkit::files::FileServer;
use testkit::git::Repo;
use testkit::registry::{Artifact, PASSWORD, Registry, USER};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Chart.Name }}'}\ndata: {shown: '{{ .Chart.Version }} {{ .Values.shown }}'}\n";
const PLAIN: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {shown: by artifact}\n";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

fn chart(name: &str, version: &str) -> Vec<u8> {
    let about = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    archive::chart(
        name,
        &[
            ("Chart.yaml", about.as_str()),
            ("values.yaml", "shown: default\n"),
            ("templates/map.yaml", MAP),
        ],
    )
}

fn push_plain(registry: &Registry, tag: &str) -> String {
    let layer = archive::packed(&[("./maps/map.yaml", PLAIN)]);
    let config_type = "application/vnd.oci.empty.v1+json";
    registry.push(&Artifact {
        repository: "team/plain",
        tag,
        config_type,
        layer_type: LAYER,
        layer: &layer,
    })
}

/// Credentials for everything below the registry's address.
fn book(address: &str, credentials: RepoCredentials) -> CredentialBook {
    CredentialBook {
        repositories: vec![(address.to_owned(), credentials)],
        ..CredentialBook::default()
    }
}

fn plain_http(kind: RepoKind) -> RepoCredentials {
    RepoCredentials { kind, force_http: true, ..RepoCredentials::default() }
}

fn server(book: CredentialBook) -> (tempfile::TempDir, RepoServer) {
    repo_server::install_crypto_provider();
    let data = tempfile::tempdir().expect("a temporary folder");
    let mut options = Options::new(data.path());
    options.oci.max_unpacked = 1 << 20;
    let server = RepoServer::open(options).expect("a data directory");
    server.set_credentials(book);
    (data, server)
}

fn query(source: &str) -> ManifestQuery {
    let source: ApplicationSource = serde_json::from_str(source).expect("a source");
    ManifestQuery {
        revision: TargetRevision(source.target_revision.clone()),
        source,
        refs: Vec::new(),
        freshness: Freshness::Latest,
        context: RenderContext::new("guestbook", "web"),
        source_repos: repo_server::SourceRepos::all(),
        integrity: None,
        ignore_cache: false,
    }
}

/// The revision and what the objects show, or the error with its causes.
async fn shown(server: &RepoServer, source: &str) -> String {
    match server.manifests(query(source)).await {
        Ok(rendered) => {
            let objects = rendered.objects();
            let shown = objects.iter().filter_map(|it| it.text(&["data", "shown"]));
            format!("{}: {}", rendered.commit, shown.collect::<Vec<_>>().join(", "))
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|it| format!(": {it}"));
            format!("{error}{}", cause.unwrap_or_default())
        }
    }
}

#[tokio::test]
async fn a_chart_is_found_by_version_or_range_with_and_without_a_scheme() {
    let Some(registry) = Registry::start() else { return };
    registry.push_chart("charts/web", "1.0.0", &chart("web", "1.0.0"));
    registry.push_chart("charts/web", "1.1.0+b2", &chart("web", "1.1.0+b2"));
    let address = format!("{}/charts", registry.address());
    let (_data, server) = server(book(&address, plain_http(RepoKind::HelmRegistry)));
    for (url, revision, expect) in [
        (address.clone(), "1.0.0", "1.0.0: 1.0.0 default"),
        (address.clone(), "1.*", "1.1.0+b2: 1.1.0+b2 default"),
        (format!("oci://{address}"), "<1.1", "1.0.0: 1.0.0 default"),
    ] {
        let source =
            format!(r#"{{"repoURL":"{url}","chart":"web","targetRevision":"{revision}"}}"#);
        assert_eq!(shown(&server, &source).await, expect);
    }
    let source = format!(r#"{{"repoURL":"{address}","chart":"web","targetRevision":"9.9.9"}}"#);
    assert_eq!(
        shown(&server, &source).await,
        format!(
            "cannot get digest for revision 9.9.9: oci://{address}/web has no such tag, digest or version; check targetRevision"
        )
    );
}

#[tokio::test]
async fn a_chart_in_git_depends_on_a_chart_of_a_registry() {
    let Some(registry) = Registry::start() else { return };
    registry.push_chart("charts/lib", "0.1.0", &chart("lib", "0.1.0"));
    let address = format!("{}/charts", registry.address());
    let (_data, server) = server(book(&address, plain_http(RepoKind::HelmRegistry)));
    let repo = Repo::new();
    let parent = format!(
        "apiVersion: v2\nname: parent\nversion: 2.0.0\ndependencies: [{{name: lib, version: 0.x, repository: 'oci://{address}'}}]\n"
    );
    let commit = repo.commit(&[("Chart.yaml", parent.as_str())]);
    let source = format!(r#"{{"repoURL":"{}","path":"."}}"#, repo.file_url());
    assert_eq!(shown(&server, &source).await, format!("{commit}: 0.1.0 default"));
}

#[tokio::test]
async fn an_artifact_is_found_by_tag_digest_and_range_and_known_by_its_digest() {
    let Some(registry) = Registry::start() else { return };
    let first = push_plain(&registry, "1.0.0");
    let url = format!("oci://{}/team/plain", registry.address());
    let (_data, server) = server(book(&url, plain_http(RepoKind::Oci)));
    let source = |path: &str, revision: &str| {
        format!(r#"{{"repoURL":"{url}","path":"{path}","targetRevision":"{revision}"}}"#)
    };
    let expect = format!("{first}: by artifact");
    for revision in ["1.0.0", &first, "1.*", ">=1.0.0"] {
        assert_eq!(shown(&server, &source("maps", revision)).await, expect);
    }
    let recursive = source("maps", "1.0.0")
        .replace("maps", ".")
        .replace('}', r#","directory":{"recurse":true}}"#);
    assert_eq!(shown(&server, &recursive).await, expect);
    for revision in ["2.0.0", "2.*", "nope", ""] {
        assert_eq!(
            shown(&server, &source("maps", revision)).await,
            format!(
                "cannot get digest for revision {revision}: {url} has no such tag, digest or version; check targetRevision"
            )
        );
    }
    let repo = RepoUrl::new(&url);
    assert_eq!(server.oci_tags(&repo).await.expect("tags"), ["1.0.0"]);
    let metadata = server.oci_metadata(&repo, &TargetRevision(first)).await.expect("metadata");
    assert_eq!((metadata.version.as_str(), metadata.description.as_str()), ("1.0.0", "for a test"));
}

#[tokio::test]
async fn a_chart_may_be_an_artifact_and_a_moved_tag_is_noticed() {
    let Some(registry) = Registry::start() else { return };
    let first = registry.push_chart("web", "stable", &chart("web", "1.0.0"));
    let url = format!("oci://{}/web", registry.address());
    let (_data, server) = server(book(&url, plain_http(RepoKind::Oci)));
    let source = format!(r#"{{"repoURL":"{url}","path":".","targetRevision":"stable"}}"#);
    assert_eq!(shown(&server, &source).await, format!("{first}: 1.0.0 default"));
    let second = registry.push_chart("web", "stable", &chart("web", "1.0.1"));
    assert_eq!(shown(&server, &source).await, format!("{second}: 1.0.1 default"));
}

#[tokio::test]
async fn a_private_registry_is_read_with_its_credentials_and_not_without() {
    let Some(registry) = Registry::start_private() else { return };
    registry.push_chart("charts/web", "1.0.0", &chart("web", "1.0.0"));
    let address = format!("{}/charts", registry.address());
    let known = RepoCredentials {
        username: USER.to_owned(),
        password: PASSWORD.to_owned(),
        ..plain_http(RepoKind::HelmRegistry)
    };
    let wrong = RepoCredentials { password: "wr0ng".to_owned(), ..known.clone() };
    let (_data, server) = server(CredentialBook::default());
    let source = format!(r#"{{"repoURL":"{address}","chart":"web","targetRevision":"1.*"}}"#);
    for (credentials, expect) in [
        (
            plain_http(RepoKind::HelmRegistry),
            format!(
                "authentication required: oci://{address}/web does not answer anonymous requests; add credentials for it, or check that it exists"
            ),
        ),
        (
            wrong.clone(),
            format!(
                "authentication failed: oci://{address}/web refuses the credentials configured for it; check them"
            ),
        ),
        (known.clone(), "1.0.0: 1.0.0 default".to_owned()),
    ] {
        server.set_credentials(book(&address, credentials));
        assert_eq!(shown(&server, &source).await, expect);
    }
    let repo = RepoUrl::new(&address);
    assert!(server.test_access_with(&repo, &known).await.is_ok());
    let error = server.test_access_with(&repo, &wrong).await.expect_err("a wrong password");
    assert!(error.to_string().starts_with("authentication failed"), "{error}");
}

#[tokio::test]
async fn a_token_is_fetched_from_where_the_registry_says() {
    let registry = FileServer::start();
    let address = registry.url().trim_start_matches("http://").to_owned();
    registry.put("/v2/web/tags/list?n=1000", r#"{"name":"web","tags":["1.0.0"]}"#);
    registry.put("/token?service=shop&scope=repository%3Aweb%3Apull", r#"{"token":"t0ken"}"#);
    registry.require_authorization("Bearer t0ken");
    registry.challenge_with(&format!(
        r#"Bearer realm="http://{address}/token",service="shop",scope="repository:web:pull""#
    ));
    let (_data, server) = server(book(&address, plain_http(RepoKind::Oci)));
    let repo = RepoUrl::new(&format!("oci://{address}/web"));
    assert_eq!(server.oci_tags(&repo).await.expect("tags"), ["1.0.0"]);
}

#[tokio::test]
async fn hostile_artifacts_are_refused_by_what_is_wrong_with_them() {
    let Some(registry) = Registry::start() else { return };
    let url = format!("oci://{}/team/hostile", registry.address());
    let (_data, server) = server(book(&url, plain_http(RepoKind::Oci)));
    let entry = |name: &str, kind: EntryType, size: usize| {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(size as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, vec![b'0'; size].as_slice()).expect("an entry");
        tar.into_inner().expect("an archive").finish().expect("an archive")
    };
    let docker = "application/vnd.docker.image.rootfs.diff.tar.gzip";
    for (tag, layer_type, layer, expect) in [
        (
            "bomb",
            LAYER,
            entry("a", EntryType::Regular, 100 << 20),
            "the archive unpacks to more than 1048576 bytes",
        ),
        (
            "above",
            LAYER,
            entry("../../etc/cron.d/x", EntryType::Regular, 1),
            "illegal filepath in archive: ../../etc/cron.d/x",
        ),
        (
            "device",
            LAYER,
            entry("null", EntryType::Char, 0),
            "null is neither file, directory nor link (Char)",
        ),
        (
            "docker",
            docker,
            entry("a", EntryType::Regular, 1),
            "oci layer media type application/vnd.docker.image.rootfs.diff.tar.gzip is not in the list of allowed media types",
        ),
        (
            "none",
            "application/json",
            b"{}".to_vec(),
            "expected only a single oci content layer, got 0",
        ),
    ] {
        let config_type = "application/vnd.oci.empty.v1+json";
        let artifact =
            Artifact { repository: "team/hostile", tag, config_type, layer_type, layer: &layer };
        let digest = registry.push(&artifact);
        let source = format!(r#"{{"repoURL":"{url}","path":".","targetRevision":"{tag}"}}"#);
        assert_eq!(
            shown(&server, &source).await,
            format!(
                "cannot extract contents of oci image with revision {digest} of {url}: {expect}"
            )
        );
    }
    let large = vec![7; (1 << 20) + 1];
    let artifact = Artifact {
        repository: "team/hostile",
        tag: "large",
        config_type: "x/y",
        layer_type: LAYER,
        layer: &large,
    };
    registry.push(&artifact);
    let source = format!(r#"{{"repoURL":"{url}","path":".","targetRevision":"large"}}"#);
    let said = shown(&server, &source).await;
    assert!(said.contains("has 1048577 bytes, of 1048576 allowed"), "{said}");
}
