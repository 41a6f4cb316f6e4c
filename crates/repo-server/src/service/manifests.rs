//! Manifests of a source at a revision, and whether a revision changes them.

use std::collections::BTreeSet;
use std::sync::Arc;

use render::SourceType;
use wire::Status;
use wire::message::repo_server::{
    ManifestRequest, RefTarget, UpdateRevisionForPathsRequest, UpdateRevisionForPathsResponse,
};
use wire::message::repository::{ManifestResponse, Repository};

use super::shared::{Keyed, Shared};
use super::{Call, integrity, not_fetched, refused, request};
use crate::{Brought, Freshness, ManifestQuery, Rendered, RepoServer, TargetRevision};

/// `GenerateManifest`.
pub(super) async fn generate(
    call: Call,
    asked: ManifestRequest,
) -> Result<ManifestResponse, Status> {
    let _pending = call.service.metrics.pending(&asked_repo(&asked));
    let freshness = call.freshness(asked.no_revision_cache);
    let query = request::query(&asked, freshness, &call.service.options)?;
    let server = call.service.server.with(brought_by(&asked));
    let shared = shared(&call, &server, &asked, &query).await;
    if let Some((shared, key)) = &shared
        && !asked.no_cache
        && !server.remembers(&query).await
        && let Some(answer) = shared.get(key).await
    {
        return Ok(answer);
    }
    let rendered = server.manifests(query).await.map_err(|error| refused(&error))?;
    let answer = response(&asked, &rendered);
    if let Some((shared, key)) = &shared
        && rendered.is_new
    {
        shared.set(key, &answer).await;
    }
    Ok(answer)
}

/// Where others keep the answer, if it can be shared and the revision is known.
async fn shared<'c>(
    call: &'c Call,
    server: &RepoServer,
    asked: &ManifestRequest,
    query: &ManifestQuery,
) -> Option<(&'c Shared, String)> {
    let shared = call.service.shared.as_ref()?;
    let keyed = Keyed::of(asked)?;
    let ManifestQuery { source, revision, freshness, context, .. } = query;
    let revision = server.resolve_source(source, &context.project, revision, *freshness).await;
    Some((shared, keyed.key(&revision.ok()?)))
}

pub(super) fn brought_by(asked: &ManifestRequest) -> Arc<Brought> {
    let refs = asked.ref_sources.values().map(|it| &it.repo);
    let repos = asked.repo.iter().chain(refs).chain(&asked.repos);
    request::brought(repos, &asked.helm_repo_creds)
}

fn asked_repo(asked: &ManifestRequest) -> String {
    asked.repo.as_ref().map_or(String::new(), |it| it.repo.clone())
}

/// What was rendered, as Argo CD tells it.
fn response(asked: &ManifestRequest, rendered: &Rendered) -> ManifestResponse {
    ManifestResponse {
        manifests: rendered.manifests().map(str::to_owned).collect(),
        namespace: asked.namespace.clone(),
        revision: rendered.commit.clone(),
        source_type: rendered.source_type().map_or("", SourceType::as_str).to_owned(),
        source_integrity_result: rendered.is_checked.then(|| integrity::result(&rendered.problems)),
        ..ManifestResponse::default()
    }
}

/// `UpdateRevisionForPaths`: does a new revision change any file that matters?
/// Where it does not, what was rendered counts for the new revision too: that
/// is found by the files that were read, so only what others share is moved.
pub(super) async fn update_revision(
    call: Call,
    asked: UpdateRevisionForPathsRequest,
) -> Result<UpdateRevisionForPathsResponse, Status> {
    let repo = request::repository(asked.repo.as_ref())?;
    let _pending = call.service.metrics.pending(&repo.repo);
    let source = asked.application_source.clone().unwrap_or_default();
    let is_git = source.chart.is_empty()
        && !source.repo_url.starts_with("oci://")
        && matches!(repo.type_.as_str(), "" | "git");
    // Without paths everything matters.
    if asked.paths.is_empty() {
        return Ok(UpdateRevisionForPathsResponse { changes: true, ..Default::default() });
    }
    if !is_git && asked.ref_sources.is_empty() {
        return Ok(UpdateRevisionForPathsResponse::default());
    }
    let refs = asked.ref_sources.values().chain(asked.synced_ref_sources.values());
    let server = call
        .service
        .server
        .with(request::brought(std::iter::once(repo).chain(refs.map(|it| &it.repo)), &[]));
    let freshness = call.freshness(asked.no_revision_cache);
    let matters = Matters { server: &server, freshness, paths: &asked.paths };
    let (mut revision, mut changes) = (asked.revision.clone(), false);
    if is_git && asked.revision != asked.synced_revision {
        (revision, changes) =
            matters.compare(repo, &asked.synced_revision, &asked.revision).await?;
    }
    if changes {
        return Ok(UpdateRevisionForPathsResponse { changes, revision });
    }
    for name in names_of_used_refs(&asked) {
        let (Some(synced), Some(now)) =
            (asked.synced_ref_sources.get(&name), asked.ref_sources.get(&name))
        else {
            let problem =
                format!("source referenced {name:?}, but no source has a 'ref' field defined");
            return Err(Status::unknown(problem));
        };
        if matters.compare_refs(synced, now).await? {
            return Ok(UpdateRevisionForPathsResponse { changes: true, revision });
        }
    }
    if let (Some(shared), Some(keyed)) = (&call.service.shared, Keyed::of_update(&asked))
        && revision != asked.synced_revision
    {
        shared.rename(&keyed.key(&asked.synced_revision), &keyed.key(&revision)).await;
    }
    Ok(UpdateRevisionForPathsResponse { changes: false, revision })
}

/// The sources that this one refers to; one alone has none to refer to.
fn names_of_used_refs(asked: &UpdateRevisionForPathsRequest) -> BTreeSet<String> {
    let source = asked.application_source.iter().filter(|_| asked.has_multiple_sources);
    source.flat_map(crate::used_refs).collect()
}

/// What a change must touch to matter.
struct Matters<'m> {
    server: &'m RepoServer,
    freshness: Freshness,
    paths: &'m [String],
}

impl Matters<'_> {
    /// The new commit, and whether it changes a file that matters.
    async fn compare(
        &self,
        repo: &Repository,
        synced: &str,
        now: &str,
    ) -> Result<(String, bool), Status> {
        let url = self.server.repo(&repo.repo, "");
        let resolve = async |revision: &str| {
            let revision = TargetRevision(revision.to_owned());
            self.server.resolve(&url, &revision, self.freshness).await
        };
        let now = resolve(now).await.map_err(|error| not_fetched(&error))?;
        let synced = resolve(synced).await.map_err(|error| not_fetched(&error))?;
        if now == synced {
            return Ok((now.as_str().to_owned(), false));
        }
        let changed = self.server.changed_files(&url, &synced, &now).await;
        let changed = changed.map_err(|error| refused(&error))?;
        Ok((now.as_str().to_owned(), crate::changed::any_matters(self.paths, &changed)))
    }

    async fn compare_refs(&self, synced: &RefTarget, now: &RefTarget) -> Result<bool, Status> {
        if synced.target_revision == now.target_revision {
            return Ok(false);
        }
        let (_, changes) =
            self.compare(&synced.repo, &synced.target_revision, &now.target_revision).await?;
        Ok(changes)
    }
}
