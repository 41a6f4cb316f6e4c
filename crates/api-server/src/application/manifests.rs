//! What git wants, rendered now; and what is known about a commit.

use api::{Application, ApplicationSource, ChartDetails, OciMetadata, RevisionMetadata};
use engine::project::SourceRepos;
use futures::TryStreamExt as _;
use wire::message::application::{
    ApplicationManifestQuery, ApplicationManifestQueryWithFilesWrapper, ManifestPart,
    RevisionMetadataQuery,
};
use wire::message::repository::ManifestResponse;
use wire::{Pieces, Status};

use super::{find, upload};
use crate::methods::Call;
use crate::ports::RenderRequest;
use crate::project;
use crate::secret::Mask;

pub(crate) async fn get(
    call: Call,
    query: ApplicationManifestQuery,
) -> Result<ManifestResponse, Status> {
    if query.name.is_empty() {
        return Err(Status::unknown("invalid request: application name is missing"));
    }
    let name = &query.name;
    let app = find(&call, name, query.app_namespace.as_deref(), query.project.as_deref()).await?;
    let mut answer = ManifestResponse {
        namespace: app.spec.destination.namespace.clone(),
        server: app.spec.destination.server.clone(),
        ..ManifestResponse::default()
    };
    let revision = |index: usize, source: &ApplicationSource| {
        let is_meant = |it: &i64| usize::try_from(*it).is_ok_and(|it| it == index + 1);
        let position = query.source_positions.iter().position(is_meant);
        let asked = position.and_then(|it| query.revisions.get(it)).or(query.revision.as_ref());
        asked.filter(|it| !it.is_empty()).unwrap_or(&source.target_revision).clone()
    };
    for mut request in requests(&call, &app, revision).await? {
        request.ignore_cache = query.no_cache.unwrap_or(false);
        let rendered = call.server.ports.sources.render(request).await;
        let rendered = rendered
            .map_err(|error| Status::unknown(format!("error generating manifests: {error}")))?;
        answer.revision = rendered.commit;
        answer.source_type = rendered.source_type;
        let mask = Mask::of(&call);
        let shown = rendered.objects.into_iter().map(|it| mask.shown(it).to_string());
        answer.manifests.extend(shown);
    }
    Ok(answer)
}

/// What files of the client render to, as if they were the repository of the first source.
pub(crate) async fn with_files(
    call: Call,
    mut pieces: Pieces<ApplicationManifestQueryWithFilesWrapper>,
) -> Result<ManifestResponse, Status> {
    let first = pieces.try_next().await?;
    let Some(ManifestPart::Query(query)) = first.and_then(|it| it.part) else {
        return Err(Status::unknown("error getting query: the first message must be the query"));
    };
    let name = &query.name;
    if name.is_empty() {
        return Err(Status::unknown("invalid request: application name is missing"));
    }
    let app = find(&call, name, query.app_namespace.as_deref(), query.project.as_deref()).await?;
    let archive = upload::archive(pieces, &query.checksum).await?;
    let unpacked = tokio::task::spawn_blocking(move || upload::unpacked(&archive)).await;
    let files = unpacked.map_err(|error| Status::internal(error.to_string()))??;
    let requests = requests(&call, &app, |_, source| source.target_revision.clone()).await?;
    let Some(request) = requests.into_iter().next() else {
        return Err(Status::unknown("error generating manifests: the application has no source"));
    };
    let rendered = call.server.ports.sources.render_files(files, request).await;
    let rendered = rendered
        .map_err(|error| Status::unknown(format!("error generating manifests: {error}")))?;
    let mask = Mask::of(&call);
    Ok(ManifestResponse {
        manifests: rendered.objects.into_iter().map(|it| mask.shown(it).to_string()).collect(),
        namespace: app.spec.destination.namespace.clone(),
        server: app.spec.destination.server.clone(),
        revision: rendered.commit,
        source_type: rendered.source_type,
        ..ManifestResponse::default()
    })
}

/// What there is to render of an Application: every source, at the revision that `revision` says.
pub(super) async fn requests(
    call: &Call,
    app: &Application,
    revision: impl Fn(usize, &ApplicationSource) -> String,
) -> Result<Vec<RenderRequest>, Status> {
    let project = project::of(call, app).await?;
    let source_repos = SourceRepos::new(&project.spec.source_repos);
    let destination = call.server.ports.control.destination(&app.spec.destination);
    let destination = destination.map_err(|why| {
        Status::unknown(format!("error getting application cluster config: {why}"))
    })?;
    let sources = app.sources();
    let referable = sources.iter().enumerate().filter(|(_, it)| !it.ref_.is_empty());
    let refs: Vec<_> =
        referable.map(|(index, source)| (source.clone(), revision(index, source))).collect();
    let requests = sources.iter().enumerate().map(|(index, source)| RenderRequest {
        source: source.clone(),
        revision: revision(index, source),
        instance: app.instance_name(&call.server.options.namespace),
        namespace: app.spec.destination.namespace.clone(),
        refs: refs.clone(),
        project: app.spec.project.clone(),
        source_repos: source_repos.clone(),
        cluster: destination.cluster.clone(),
        ignore_cache: false,
    });
    Ok(requests.collect())
}

pub(crate) async fn revision_metadata(
    call: Call,
    query: RevisionMetadataQuery,
) -> Result<RevisionMetadata, Status> {
    let app = asked(&call, &query).await?;
    let source = source(&app, &query)?;
    let known = call.server.ports.sources.revision_metadata(&source, &query.revision).await;
    known.map_err(|error| Status::unknown(error.message))
}

pub(crate) async fn chart_details(
    call: Call,
    query: RevisionMetadataQuery,
) -> Result<ChartDetails, Status> {
    let app = asked(&call, &query).await?;
    let source = source(&app, &query)?;
    if source.chart.is_empty() {
        return Err(Status::unknown(format!("no chart found for application: {}", query.name)));
    }
    let source = ApplicationSource { target_revision: query.revision, ..source };
    let project = project::of(&call, &app).await?;
    let details = call.server.ports.sources.details(&source, &project).await;
    Ok(details.map_err(|error| Status::unknown(error.message))?.about)
}

pub(crate) async fn oci_metadata(
    call: Call,
    query: RevisionMetadataQuery,
) -> Result<OciMetadata, Status> {
    let app = asked(&call, &query).await?;
    let source = source(&app, &query)?;
    let sources = &call.server.ports.sources;
    let known = sources.oci_metadata(&source.repo_url, &query.revision).await;
    known.map_err(|error| Status::unknown(error.message))
}

async fn asked(call: &Call, query: &RevisionMetadataQuery) -> Result<Application, Status> {
    let namespace = query.app_namespace.as_deref();
    find(call, &query.name, namespace, query.project.as_deref()).await
}

/// The source a revision is of: of an entry of the history, or of now.
fn source(app: &Application, query: &RevisionMetadataQuery) -> Result<ApplicationSource, Status> {
    let unknown = |message: String| Err(Status::unknown(message));
    let sources = match query.version_id.filter(|it| *it >= 0) {
        None => app.sources().into_owned(),
        Some(_) if app.status.history.is_empty() && query.version_id != Some(0) => {
            let id = query.version_id.unwrap_or_default();
            return unknown(format!(
                "error getting source by version ID: version ID {id} not found because the app has no history"
            ));
        }
        Some(id) => {
            let entry = app.status.history.iter().find(|it| it.id == i64::from(id));
            match entry {
                Some(entry) if !entry.sources.is_empty() => entry.sources.clone(),
                Some(entry) => vec![entry.source.clone()],
                // The UI names version 0 where there is no history yet.
                None if id == 0 => app.sources().into_owned(),
                None => {
                    return unknown(format!(
                        "error getting source by version ID: revision history not found for version ID {id}"
                    ));
                }
            }
        }
    };
    let index = usize::try_from(query.source_index.unwrap_or(0)).unwrap_or(0);
    match sources.get(index) {
        Some(source) => Ok(source.clone()),
        None if sources.len() == 1 => {
            unknown(format!("source index {index} not found because there is only 1 source"))
        }
        None => unknown(format!(
            "source index {index} not found because there are only {} sources",
            sources.len()
        )),
    }
}
