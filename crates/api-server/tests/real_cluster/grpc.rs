//! The same over gRPC.

use api::{Application, ApplicationList, ApplicationWatchEvent};
use base64::Engine as _;
use serde_json::json;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;
use wire::message::application::{
    ApplicationManifestQueryWithFiles, ApplicationManifestQueryWithFilesWrapper, ApplicationQuery,
    FileChunk, ManifestPart,
};
use wire::message::repository::{
    ManifestResponse, RepoCreateRequest, RepoQuery, RepoResponse, RepoUpdateRequest, Repository,
    RepositoryList,
};
use wire::message::session::{SessionCreateRequest, SessionResponse};
use wire::message::version::{Nothing, VersionMessage};

use crate::client::{Rest, answered, raw, unary};

pub(crate) async fn grpc_says_the_same(rest: &Rest, token: String) {
    let channel = Channel::from_shared(format!("http://{}", rest.address)).expect("an address");
    let mut client = Grpc::new(channel.connect().await.expect("a connection"));
    let version: Result<VersionMessage, _> =
        unary(&mut client, "/version.VersionService/Version", Nothing {}, None).await;
    assert!(version.expect("a version").version.starts_with("v3.6.0"));
    let wrong = SessionCreateRequest {
        username: "admin".into(),
        password: "wrong".into(),
        token: String::new(),
    };
    let refused: Result<SessionResponse, _> =
        unary(&mut client, "/session.SessionService/Create", wrong, None).await;
    let refused = refused.expect_err("a wrong password");
    assert_eq!(
        (refused.code(), refused.message()),
        (wire::Code::Unauthenticated, "Invalid username or password")
    );
    let list = "/application.ApplicationService/List";
    let stranger: Result<ApplicationList, _> =
        unary(&mut client, list, ApplicationQuery::default(), None).await;
    assert_eq!(stranger.expect_err("no token").message(), "no session information");
    let apps: Result<ApplicationList, _> =
        unary(&mut client, list, ApplicationQuery::default(), Some(&token)).await;
    let apps = apps.expect("a list");
    assert_eq!(apps.items.iter().map(|it| &it.metadata.name).collect::<Vec<_>>(), ["web"]);
    let unknown: Result<Application, _> =
        unary(&mut client, "/x.Y/Z", ApplicationQuery::default(), Some(&token)).await;
    assert_eq!(unknown.expect_err("no such method").code(), wire::Code::Unimplemented);

    let query = ApplicationQuery { name: Some("web".into()), ..ApplicationQuery::default() };
    let mut request = tonic::Request::new(query);
    request.metadata_mut().insert("token", token.parse().expect("a header"));
    client.ready().await.expect("a connection");
    let path = http::uri::PathAndQuery::from_static("/application.ApplicationService/Watch");
    let codec: ProstCodec<ApplicationQuery, ApplicationWatchEvent> = ProstCodec::default();
    let stream = client.server_streaming(request, path, codec).await.expect("a stream");
    let event = stream.into_inner().message().await.expect("an event").expect("one at least");
    assert_eq!((event.type_.as_str(), event.application.metadata.name.as_str()), ("ADDED", "web"));
    files_are_sent(&mut client, &token).await;
}

/// Methods of repositories that have two names each.
pub(crate) async fn older_names_mean_the_same(rest: &Rest) {
    let channel = Channel::from_shared(format!("http://{}", rest.address)).expect("an address");
    let mut client = Grpc::new(channel.connect().await.expect("a connection"));
    let token = Some(rest.token.as_str());
    let repo = |username: &str| Repository {
        repo: "https://example.org/older".into(),
        username: username.into(),
        ..Repository::default()
    };
    let create = RepoCreateRequest { repo: Some(repo("ann")), ..RepoCreateRequest::default() };
    let path = "/repository.RepositoryService/Create";
    let made: Result<Repository, _> = unary(&mut client, path, create, token).await;
    assert_eq!(made.expect("a repository").repo, "https://example.org/older");
    let update = RepoUpdateRequest { repo: Some(repo("bob")) };
    let path = "/repository.RepositoryService/Update";
    let changed: Result<Repository, _> = unary(&mut client, path, update, token).await;
    assert_eq!(changed.expect("a repository").repo, "https://example.org/older");
    let list = async |client: &mut Grpc<Channel>| {
        let path = "/repository.RepositoryService/List";
        let all: Result<RepositoryList, _> = unary(client, path, RepoQuery::default(), token).await;
        all.expect("a list").items.iter().any(|it| it.repo == "https://example.org/older")
    };
    assert!(list(&mut client).await);
    let query = RepoQuery { repo: "https://example.org/older".into(), ..RepoQuery::default() };
    let path = "/repository.RepositoryService/Delete";
    let gone: Result<RepoResponse, _> = unary(&mut client, path, query, token).await;
    gone.expect("it is deleted");
    assert!(!list(&mut client).await);
}

/// The same pieces one after the other in a body.
pub(crate) async fn files_come_over_rest_too(rest: &Rest) {
    let archive = archive(&[("web/map.yaml", "kind: ConfigMap")]);
    let query = json!({"query": {"name": "web", "checksum": checksum(&archive)}});
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let chunks = archive.chunks(7).map(|it| json!({"chunk": {"chunk": encode(it)}}));
    let body: String = std::iter::once(query).chain(chunks).map(|it| format!("{it}\n")).collect();
    let path = "/api/v1/applications/manifestsWithFiles";
    let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json");
    let (status, told) = raw(rest, &head, body.as_bytes()).await;
    assert_eq!(status, 200, "{told}");
    assert!(told.contains(r#""sourceType":"Directory""#), "{told}");
    answered("POST", path);
    for torn in [&body[..body.len() - 9], "{\"query\":", "[]", "7", ""] {
        let (status, told) = raw(rest, &head, torn.as_bytes()).await;
        assert!(matches!(status, 400 | 500), "{torn:?}: {told}");
    }
}

/// `app manifests --local`: an archive in pieces, with its checksum.
async fn files_are_sent(client: &mut Grpc<Channel>, token: &str) {
    let archive = archive(&[("web/map.yaml", "kind: ConfigMap")]);
    let manifests = send(client, token, &archive, &checksum(&archive)).await.expect("manifests");
    assert_eq!((manifests.manifests.len(), manifests.source_type.as_str()), (1, "Directory"));
    let torn = send(client, token, &archive[1..], &checksum(&archive)).await;
    assert_eq!(torn.expect_err("torn").code(), wire::Code::InvalidArgument);
    let nonsense = send(client, token, b"nonsense", &checksum(b"nonsense")).await;
    assert_eq!(nonsense.expect_err("no archive").code(), wire::Code::InvalidArgument);
}

async fn send(
    client: &mut Grpc<Channel>,
    token: &str,
    archive: &[u8],
    checksum: &str,
) -> Result<ManifestResponse, wire::Status> {
    let query = ApplicationManifestQueryWithFiles {
        name: "web".into(),
        checksum: checksum.to_owned(),
        ..ApplicationManifestQueryWithFiles::default()
    };
    let parts = std::iter::once(ManifestPart::Query(query))
        .chain(archive.chunks(7).map(|it| ManifestPart::Chunk(FileChunk { chunk: it.to_vec() })))
        .map(|it| ApplicationManifestQueryWithFilesWrapper { part: Some(it) });
    let mut request = tonic::Request::new(futures::stream::iter(parts.collect::<Vec<_>>()));
    request.metadata_mut().insert("token", token.parse().expect("a header"));
    client.ready().await.expect("a connection");
    let path = "/application.ApplicationService/GetManifestsWithFiles";
    let codec: ProstCodec<ApplicationManifestQueryWithFilesWrapper, ManifestResponse> =
        ProstCodec::default();
    let target = http::uri::PathAndQuery::from_static(path);
    let answer = client.client_streaming(request, target, codec).await?.into_inner();
    answered("gRPC", path);
    Ok(answer)
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len().try_into().expect("short"));
        header.set_mode(0o644);
        archive.append_data(&mut header, path, content.as_bytes()).expect("in memory");
    }
    archive.into_inner().and_then(flate2::write::GzEncoder::finish).expect("in memory")
}

fn checksum(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
