//! What is asked of a repo server, and what it answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{ApplicationSource, SourceIntegrity};
use object::Object;
use render::{RenderContext, SourceType};

use crate::rendered::Texts;
use crate::{Freshness, SourceRepos, TargetRevision};

/// What to render.
#[derive(Clone, Debug)]
pub struct ManifestQuery {
    /// The source: repository, path, parameters.
    pub source: ApplicationSource,
    /// The revision to render, which a sync may choose apart from the source's own.
    pub revision: TargetRevision,
    /// The application's sources that others may refer to; empty for an
    /// application with a single source.
    pub refs: Vec<RefSource>,
    /// How old the knowledge of the repository's branches may be.
    pub freshness: Freshness,
    /// The application's side of it.
    pub context: RenderContext,
    /// What the Application's project permits: credentials of other
    /// repositories that the source leads to are not used.
    pub source_repos: SourceRepos,
    /// How commits must prove where they come from, if they must.
    pub integrity: Option<SourceIntegrity>,
    /// Render even if the result is known: a hard refresh.
    pub ignore_cache: bool,
}

/// A source whose files other sources may refer to as `$name/…`.
#[derive(Clone, Debug)]
pub struct RefSource {
    /// Its `ref`.
    pub name: String,
    /// Its repository.
    pub repo_url: String,
    /// Its revision.
    pub revision: TargetRevision,
    /// Its `tagPrefix`.
    pub tag_prefix: String,
}

impl ManifestQuery {
    /// Is the source there only to be referred to?
    pub(crate) fn is_only_referred_to(&self) -> bool {
        let ApplicationSource { ref_, path, chart, .. } = &self.source;
        !self.refs.is_empty() && !ref_.is_empty() && path.is_empty() && chart.is_empty()
    }

    /// The sources that its parameters really refer to.
    pub(crate) fn used_refs(&self) -> Vec<&RefSource> {
        let Some(helm) = &self.source.helm else { return Vec::new() };
        let files = helm.file_parameters.iter().map(|it| &it.path);
        let mut names = helm.value_files.iter().chain(files).filter_map(|it| it.strip_prefix('$'));
        let names: BTreeSet<&str> =
            names.by_ref().map(|it| it.split('/').next().unwrap_or(it)).collect();
        self.refs.iter().filter(|it| names.contains(it.name.as_str())).collect()
    }
}

/// What a source rendered to.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The commit the revision stood for, or the version of the chart.
    pub commit: String,
    /// What speaks against where the commit comes from. Manifests with problems
    /// may be looked at, but not be deployed.
    pub problems: Vec<String>,
    /// Was that looked for? It is where a rule is about the repository.
    pub is_checked: bool,
    /// Was it rendered for this request, or one at the same time?
    pub(crate) is_new: bool,
    pub(crate) texts: Arc<Texts>,
}

impl Rendered {
    /// The kind of source it turned out to be; none for one that is only
    /// referred to.
    #[must_use]
    pub fn source_type(&self) -> Option<SourceType> {
        self.texts.source_type
    }

    /// Each object as compact JSON, keys sorted.
    pub fn manifests(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.manifests.iter().map(AsRef::as_ref)
    }

    /// Each object, parsed for the occasion: trees are large, do not keep them.
    #[must_use]
    pub fn objects(&self) -> Vec<Object> {
        let parse = |text| {
            let value = serde_json::from_str(text).expect("we printed it ourselves");
            Object::from_value(value).expect("it was an object before it was printed")
        };
        self.manifests().map(parse).collect()
    }

    /// A digest of all manifests: equal digests, equal manifests.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.texts.digest
    }
}
