//! Charts and other artifacts of OCI registries.
//!
//! A chart is asked for by its version, which is a tag; any other artifact by
//! a tag, a digest or a range of versions, and is known by its digest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;

use crate::credentials::{Reach, Trust};
use crate::http::Patience;
use crate::identity::Purpose;
use crate::listing::Listing;
use crate::packages::{self, Package, PackageKey};
use crate::registry::{self, Descriptor, Manifest, Registry};
use crate::server::Inner;
use crate::{FetchError, Freshness, RepoUrl, TargetRevision, untar};

const HELM_CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const HELM_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
/// Artifacts have one or two, and signatures or attestations beside them.
const MAX_LAYERS: usize = 10;

/// What may come from registries.
#[derive(Clone, Debug)]
pub struct OciLimits {
    /// The kinds of layers that are unpacked (`--oci-layer-media-types`).
    pub layer_media_types: Vec<String>,
    /// What an artifact may unpack to (`--oci-manifest-max-extracted-size`).
    pub max_unpacked: u64,
}

impl Default for OciLimits {
    fn default() -> Self {
        let layers = [
            "application/vnd.oci.image.layer.v1.tar",
            "application/vnd.oci.image.layer.v1.tar+gzip",
            HELM_LAYER,
        ];
        Self { layer_media_types: layers.map(str::to_owned).to_vec(), max_unpacked: 256 << 20 }
    }
}

/// What an artifact says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactMetadata {
    /// When it was made, as it says.
    pub created_at: String,
    /// By whom.
    pub authors: String,
    /// Where it is explained.
    pub docs_url: String,
    /// Where it is made.
    pub source_url: String,
    /// Its version.
    pub version: String,
    /// What it is.
    pub description: String,
}

/// What registries said.
#[derive(Default)]
pub(crate) struct Artifacts {
    tags: Listings<Vec<String>>,
    digests: Listings<Option<String>>,
}

/// Listings by what they are of.
struct Listings<T>(Mutex<HashMap<String, Arc<Listing<T>>>>);

impl<T> Default for Listings<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Send + Sync + 'static> Listings<T> {
    fn of(&self, what: String) -> Arc<Listing<T>> {
        let mut listings = self.0.lock().expect("nobody panics while looking up");
        Arc::clone(listings.entry(what).or_default())
    }
}

impl Inner {
    /// The version of a chart that a version or a range stands for.
    pub(crate) async fn registry_chart_version(
        self: &Arc<Self>,
        chart: &RepoUrl,
        target: &TargetRevision,
        freshness: Freshness,
    ) -> Result<String, FetchError> {
        let tags = self.tags(chart, freshness).await?;
        highest(&tags, target).ok_or_else(|| not_found(chart, target))
    }

    /// The digest that a tag, a digest or a range of versions stands for.
    pub(crate) async fn artifact_digest(
        self: &Arc<Self>,
        repo: &RepoUrl,
        target: &TargetRevision,
        freshness: Freshness,
    ) -> Result<String, FetchError> {
        if registry::is_digest(&target.0) {
            return Ok(target.0.clone());
        }
        if registry::is_tag(&target.0)
            && let Some(digest) = self.digest(repo, &target.0, freshness).await?
        {
            return Ok(digest);
        }
        if !gocompat::semver::is_constraint(&target.0) {
            return Err(not_found(repo, target));
        }
        let tags = self.tags(repo, freshness).await?;
        let version = highest(&tags, target).ok_or_else(|| not_found(repo, target))?;
        let digest = self.digest(repo, &tag_of(&version), freshness).await?;
        digest.ok_or_else(|| not_found(repo, target))
    }

    /// The tags of a repository, as versions.
    pub(crate) async fn tags(
        self: &Arc<Self>,
        repo: &RepoUrl,
        freshness: Freshness,
    ) -> Result<Arc<Vec<String>>, FetchError> {
        let ask = || {
            let (inner, repo) = (Arc::clone(self), repo.clone());
            async move { inner.ask_registry(&repo, "listing the tags of", Registry::tags).await }
                .boxed()
        };
        self.artifacts.tags.of(repo.identity()).get(freshness, ask).await
    }

    async fn digest(
        self: &Arc<Self>,
        repo: &RepoUrl,
        tag: &str,
        freshness: Freshness,
    ) -> Result<Option<String>, FetchError> {
        let ask = || {
            let (inner, repo, tag) = (Arc::clone(self), repo.clone(), tag.to_owned());
            let look = move |registry: &Registry| registry.digest(&tag);
            async move { inner.ask_registry(&repo, "looking up a tag of", look).await }.boxed()
        };
        let listing = self.artifacts.digests.of(format!("{}\n{tag}", repo.identity()));
        listing.get(freshness, ask).await.map(|digest| (*digest).clone())
    }

    /// What an artifact says of itself.
    pub(crate) async fn artifact_metadata(
        self: &Arc<Self>,
        repo: &RepoUrl,
        digest: &str,
    ) -> Result<ArtifactMetadata, FetchError> {
        let target = TargetRevision(digest.to_owned());
        let digest = digest.to_owned();
        let look = move |registry: &Registry| registry.manifest(&digest);
        let manifest = self.ask_registry(repo, "reading a manifest of", look).await?;
        let manifest = manifest.ok_or_else(|| not_found(repo, &target))?;
        let text = |name: &str| {
            let key = format!("org.opencontainers.image.{name}");
            manifest.annotations.get(&key).cloned().unwrap_or_default()
        };
        Ok(ArtifactMetadata {
            created_at: text("created"),
            authors: text("authors"),
            docs_url: text("documentation"),
            source_url: text("source"),
            version: text("version"),
            description: text("description"),
        })
    }

    /// Does the registry answer?
    pub(crate) async fn ping_registry(
        &self,
        repo: &RepoUrl,
        trust: Trust,
    ) -> Result<(), FetchError> {
        self.ask_registry_as(repo, trust, "asking", Registry::ping).await
    }

    async fn ask_registry<T: Send + 'static>(
        &self,
        repo: &RepoUrl,
        doing: &'static str,
        ask: impl FnOnce(&Registry) -> Result<T, FetchError> + Send + 'static,
    ) -> Result<T, FetchError> {
        let trust = self.book.current().for_registry(repo);
        self.ask_registry_as(repo, trust, doing, ask).await
    }

    async fn ask_registry_as<T: Send + 'static>(
        &self,
        repo: &RepoUrl,
        trust: Trust,
        doing: &'static str,
        ask: impl FnOnce(&Registry) -> Result<T, FetchError> + Send + 'static,
    ) -> Result<T, FetchError> {
        let limit = self.options.git.fetch_timeout;
        let silence = self.options.git.request_timeout;
        let patience = Patience { silence, total: limit };
        let (url, book) = (repo.clone(), self.book.clone());
        let answer = move |_: &_| {
            let trust = book.logged_in(&url, trust, Purpose::Registry, silence)?;
            let answer = ask(&Registry::new(&url, trust.clone(), patience)?);
            if let Err(FetchError::AuthenticationFailed { .. }) = answer {
                book.forget_token(&url, &trust, Purpose::Registry);
            }
            answer
        };
        let answer = self.requests.run(limit, answer).await;
        self.repository(repo).settle(answer, doing, limit)
    }

    /// An artifact by its digest.
    pub(crate) async fn artifact(
        self: &Arc<Self>,
        repo: &RepoUrl,
        digest: &str,
    ) -> Result<Arc<Package>, FetchError> {
        self.package(repo, digest, digest).await
    }

    /// A chart in exactly this version.
    pub(crate) async fn registry_chart(
        self: &Arc<Self>,
        chart: &RepoUrl,
        version: &str,
    ) -> Result<Arc<Package>, FetchError> {
        self.package(chart, &tag_of(version), version).await
    }

    async fn package(
        self: &Arc<Self>,
        repo: &RepoUrl,
        reference: &str,
        revision: &str,
    ) -> Result<Arc<Package>, FetchError> {
        let key = PackageKey {
            repo: repo.identity(),
            name: reference.to_owned(),
            revision: revision.to_owned(),
            reach: Reach::OwnHost,
        };
        let limits = self.options.oci.clone();
        let fetch = || {
            let (inner, repo, key) = (Arc::clone(self), repo.clone(), key.clone());
            async move {
                let url = repo.clone();
                let fetch = move |registry: &Registry| {
                    let PackageKey { name: reference, revision, .. } = &key;
                    fetch_package(registry, &url, reference, revision, &limits)
                };
                inner.ask_registry(&repo, "fetching an artifact from", fetch).await
            }
            .boxed()
        };
        self.packages.get(key.clone(), fetch).await
    }
}

/// Fetches and unpacks the one layer that has the content. Blocks.
fn fetch_package(
    registry: &Registry,
    repo: &RepoUrl,
    reference: &str,
    revision: &str,
    limits: &OciLimits,
) -> Result<Package, FetchError> {
    let unusable = |problem: String| FetchError::ArtifactUnusable {
        repo: repo.clone(),
        revision: revision.to_owned(),
        problem,
    };
    let manifest = registry
        .manifest(reference)?
        .ok_or_else(|| not_found(repo, &TargetRevision(revision.to_owned())))?;
    let is_chart = manifest.config.media_type == HELM_CONFIG;
    let layer = content_layer(&manifest, &limits.layer_media_types).map_err(&unusable)?;
    let archive = registry.blob(layer, limits.max_unpacked)?;
    if is_chart {
        return Package::chart(repo, revision, archive).map_err(unusable);
    }
    Ok(Package {
        repo: repo.clone(),
        revision: revision.to_owned(),
        root: packages::root_of(&archive),
        tree: untar::unpack(&archive, limits.max_unpacked).map_err(unusable)?,
        archive: bytes::Bytes::new(),
    })
}

/// The only layer with content; signatures and attestations are none. Argo
/// CD's words, which users search for.
fn content_layer<'m>(manifest: &'m Manifest, allowed: &[String]) -> Result<&'m Descriptor, String> {
    let Manifest { layers, config, .. } = manifest;
    if manifest.is_index() {
        return Err("it is an index of images, not an artifact; write the digest of one".to_owned());
    }
    if layers.len() > MAX_LAYERS {
        return Err(format!("expected no more than {MAX_LAYERS} oci layers, got {}", layers.len()));
    }
    let has_content = |layer: &&Descriptor| match config.media_type.as_str() {
        HELM_CONFIG => layer.media_type == HELM_LAYER,
        _ => ["tar+gzip", "tar.gzip", "tar"].iter().any(|it| layer.media_type.ends_with(it)),
    };
    let content: Vec<&Descriptor> = layers.iter().filter(has_content).collect();
    if let Some(layer) = content.iter().find(|it| !allowed.contains(&it.media_type)) {
        let media_type = &layer.media_type;
        return Err(format!(
            "oci layer media type {media_type} is not in the list of allowed media types"
        ));
    }
    match content[..] {
        [layer] => Ok(layer),
        _ => Err(format!("expected only a single oci content layer, got {}", content.len())),
    }
}

/// A plus is not allowed in tags, and by convention an underscore there.
fn tag_of(version: &str) -> String {
    version.replace('+', "_")
}

fn highest(tags: &[String], target: &TargetRevision) -> Option<String> {
    let versions: Vec<String> = tags.iter().map(|tag| tag.replace('_', "+")).collect();
    let wanted = if target.0.is_empty() { "*" } else { &target.0 };
    gocompat::semver::highest_tag(wanted, &versions, "").ok()
}

fn not_found(repo: &RepoUrl, target: &TargetRevision) -> FetchError {
    FetchError::ArtifactNotFound { repo: repo.clone(), revision: target.0.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(config: &str, layers: &[&str], expect: Result<&str, &str>) {
        let descriptor = |media_type: &str| Descriptor {
            media_type: media_type.to_owned(),
            ..Descriptor::default()
        };
        let layers = layers.iter().map(|it| descriptor(it)).collect();
        let manifest = Manifest { config: descriptor(config), layers, ..Manifest::default() };
        let found = content_layer(&manifest, &OciLimits::default().layer_media_types);
        let found = found.map(|it| it.media_type.as_str());
        assert_eq!(found, expect.map_err(str::to_owned));
    }

    #[test]
    fn one_layer_has_the_content_and_the_others_have_none() {
        let tar = "application/vnd.oci.image.layer.v1.tar+gzip";
        let docker = "application/vnd.docker.image.rootfs.diff.tar.gzip";
        check("", &[tar], Ok(tar));
        check("", &["application/vnd.in-toto+json", tar], Ok(tar));
        check(HELM_CONFIG, &[HELM_LAYER, tar], Ok(HELM_LAYER));
        check("", &[], Err("expected only a single oci content layer, got 0"));
        check("", &[tar, tar], Err("expected only a single oci content layer, got 2"));
        check("", &["x"; 11], Err("expected no more than 10 oci layers, got 11"));
        check(
            "",
            &[docker],
            Err(
                "oci layer media type application/vnd.docker.image.rootfs.diff.tar.gzip is not in the list of allowed media types",
            ),
        );
    }

    #[test]
    fn versions_are_tags_with_a_plus() {
        let tags = ["1.0.0", "1.1.0_build", "latest"].map(str::to_owned);
        let target = TargetRevision("1.*".to_owned());
        assert_eq!(highest(&tags, &target).as_deref(), Some("1.1.0+build"));
        assert_eq!(tag_of("1.1.0+build"), "1.1.0_build");
    }
}
