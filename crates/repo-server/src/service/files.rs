//! Files of a repository, and manifests of files that come with a request.

use futures::StreamExt as _;
use render::SourceType;
use sha2::{Digest as _, Sha256};
use tonic::Streaming;
use wire::Status;
use wire::message::repo_server::{
    GitDirectoriesRequest, GitDirectoriesResponse, GitFilesRequest, GitFilesResponse,
    ManifestRequest, ManifestRequestWithFiles, Part,
};
use wire::message::repository::ManifestResponse;

use super::{Call, manifests, refused, request};
use crate::{Freshness, TargetRevision, untar};

/// `GetGitFiles`.
pub(super) async fn git_files(
    call: Call,
    asked: GitFilesRequest,
) -> Result<GitFilesResponse, Status> {
    let repo = request::repository(asked.repo.as_ref())?;
    let _pending = call.service.metrics.pending(&repo.repo);
    let server = call.service.server.with(request::brought([repo], &[]));
    let query = crate::FilesQuery {
        repo: server.repo(&repo.repo, &repo.project),
        revision: TargetRevision(asked.revision),
        freshness: call.freshness(asked.no_revision_cache),
        submodules: asked.submodule_enabled,
        integrity: asked.source_integrity.filter(|_| call.service.options.checks_signatures),
    };
    let files = server.files(&query, &asked.path, asked.new_git_file_globbing_enabled).await;
    let files = files.map_err(|error| refused(&error))?;
    Ok(GitFilesResponse {
        map: files.into_iter().map(|(path, content)| (path, content.to_vec())).collect(),
    })
}

/// `GetGitDirectories`.
pub(super) async fn git_directories(
    call: Call,
    asked: GitDirectoriesRequest,
) -> Result<GitDirectoriesResponse, Status> {
    let repo = request::repository(asked.repo.as_ref())?;
    let _pending = call.service.metrics.pending(&repo.repo);
    let server = call.service.server.with(request::brought([repo], &[]));
    let query = crate::FilesQuery {
        repo: server.repo(&repo.repo, &repo.project),
        revision: TargetRevision(asked.revision),
        freshness: call.freshness(asked.no_revision_cache),
        submodules: asked.submodule_enabled,
        integrity: asked.source_integrity.filter(|_| call.service.options.checks_signatures),
    };
    let paths = server.directories(&query, call.service.options.hidden_directories).await;
    Ok(GitDirectoriesResponse { paths: paths.map_err(|error| refused(&error))? })
}

/// `GenerateManifestWithFiles`: what is asked, what the archive is, the archive.
pub(super) async fn generate(
    call: Call,
    mut parts: Streaming<ManifestRequestWithFiles>,
) -> Result<ManifestResponse, Status> {
    let Some(Part::Request(asked)) = next(&mut parts).await? else {
        return Err(Status::invalid_argument("the first part must be the request"));
    };
    let Some(Part::Metadata(metadata)) = next(&mut parts).await? else {
        return Err(Status::invalid_argument("the second part must say what the archive is"));
    };
    let max = call.service.options.max_archive;
    let mut archive = Vec::new();
    while let Some(part) = next(&mut parts).await? {
        let Part::Chunk(piece) = part else {
            return Err(Status::invalid_argument("only pieces of the archive may follow"));
        };
        if (archive.len() + piece.chunk.len()) as u64 > max {
            return Err(Status::invalid_argument(format!(
                "the archive has more than {max} bytes; enlarge --streamed-manifest-max-tar-size"
            )));
        }
        archive.extend(piece.chunk);
    }
    let digest: String = Sha256::digest(&archive).iter().map(|it| format!("{it:02x}")).collect();
    if !metadata.checksum.eq_ignore_ascii_case(&digest) {
        return Err(Status::invalid_argument(
            "the archive is not what its checksum says; send it again",
        ));
    }
    rendered(call, asked, archive).await
}

async fn next(parts: &mut Streaming<ManifestRequestWithFiles>) -> Result<Option<Part>, Status> {
    match parts.next().await {
        None => Ok(None),
        Some(part) => Ok(part?.part),
    }
}

async fn rendered(
    call: Call,
    asked: ManifestRequest,
    archive: Vec<u8>,
) -> Result<ManifestResponse, Status> {
    let query = request::query(&asked, Freshness::Latest, &call.service.options)?;
    let max = call.service.options.max_unpacked;
    let tree = tokio::task::spawn_blocking(move || untar::unpack(&archive, max)).await;
    let tree = tree.map_err(|error| Status::internal(error.to_string()))?;
    let tree = tree.map_err(|problem| {
        Status::invalid_argument(format!("could not unpack the files: {problem}"))
    })?;
    let server = call.service.server.with(manifests::brought_by(&asked));
    let manifests = server.manifests_of(tree, query).await.map_err(|error| refused(&error))?;
    Ok(ManifestResponse {
        manifests: manifests.objects.into_iter().map(|it| it.into_value().to_string()).collect(),
        namespace: asked.namespace,
        revision: asked.revision,
        source_type: SourceType::as_str(manifests.source_type).to_owned(),
        ..ManifestResponse::default()
    })
}
