//! Files and directories of a repository as generators ask for them, and
//! manifests of files that are in no repository.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::SourceIntegrity;
use bytes::Bytes;
use gix::bstr::ByteSlice as _;
use gix::glob::wildmatch::Mode;
use render::tree::{EntryKind, MemoryTree, Tree, TreePath, resolve};
use render::{Manifests, RenderError};

use crate::job::{Job, Origin, Trees};
use crate::lfs::{Failed, smudged};
use crate::outside::OtherServers;
use crate::packages::{Package, root_of};
use crate::server::Inner;
use crate::{
    FetchError, Freshness, ManifestQuery, RepoServer, RepoUrl, SourceError, SourceRepos,
    TargetRevision,
};

/// All files of one answer together.
const MAX_BYTES: u64 = 90 << 20;
/// Alternatives that a pattern may unfold to.
const MAX_ALTERNATIVES: usize = 1000;

/// Which commit of which repository.
#[derive(Clone, Debug)]
pub struct FilesQuery {
    /// The repository.
    pub repo: RepoUrl,
    /// The revision.
    pub revision: TargetRevision,
    /// How old the knowledge of the repository's branches may be.
    pub freshness: Freshness,
    /// Do files of submodules count?
    pub submodules: bool,
    /// How the commit must prove where it comes from, if it must.
    pub integrity: Option<SourceIntegrity>,
}

impl RepoServer {
    /// The files that fit a pattern, with their contents. The pattern is git's
    /// (`*` goes beyond directories, a directory stands for all below it), or
    /// with `new_globbing` one in which only `**` goes beyond directories.
    ///
    /// # Errors
    /// When the commit cannot be had, does not prove where it comes from, or
    /// the files are too many.
    pub async fn files(
        &self,
        query: &FilesQuery,
        pattern: &str,
        new_globbing: bool,
    ) -> Result<BTreeMap<String, Bytes>, SourceError> {
        let pattern = Pattern::new(pattern, new_globbing);
        self.look(query, move |tree| {
            let (mut files, mut remaining) = (BTreeMap::new(), MAX_BYTES);
            walk(tree, &TreePath::root(), &mut |path, kind| {
                let is_file = matches!(kind, EntryKind::File | EntryKind::Symlink);
                if is_file && pattern.fits(path.as_str()) {
                    // A link stands for what it leads to, inside the repository.
                    let found = resolve(tree, path).map_err(RenderError::Tree)?;
                    let Some((target, _)) = found else { return Ok(true) };
                    let content = tree.read(&target, remaining).map_err(RenderError::Tree)?;
                    let Some(content) = content else { return Ok(true) };
                    remaining -= content.len() as u64;
                    files.insert(path.as_str().to_owned(), content);
                }
                Ok(true)
            })?;
            Ok(files)
        })
        .await
    }

    /// All directories but the top, each before what is in it; those with a dot
    /// in front and what is below them only where `hidden`.
    ///
    /// # Errors
    /// When the commit cannot be had or does not prove where it comes from.
    pub async fn directories(
        &self,
        query: &FilesQuery,
        hidden: bool,
    ) -> Result<Vec<String>, SourceError> {
        self.look(query, move |tree| {
            let mut paths = Vec::new();
            walk(tree, &TreePath::root(), &mut |path, kind| {
                if kind != EntryKind::Directory {
                    return Ok(true);
                }
                let counts = hidden || !path.name().starts_with('.');
                if counts {
                    paths.push(path.as_str().to_owned());
                }
                Ok(counts)
            })?;
            Ok(paths)
        })
        .await
    }

    /// Does something with the tree of a commit that may be used.
    async fn look<T: Send + 'static>(
        &self,
        query: &FilesQuery,
        work: impl Fn(&dyn Tree) -> Result<T, RenderError> + Clone + Send + 'static,
    ) -> Result<T, SourceError> {
        self.prove(query).await?;
        let at = self.at(&query.repo, &query.revision, "", query.freshness).await?;
        let (repository, submodules) = (Arc::clone(&at.repository), query.submodules);
        let job = Job::without_submodules(Origin::Git(at), BTreeMap::new());
        let job = Job { brought: self.brought.clone(), has_submodules: submodules, ..job };
        let look = move |inner: &Arc<Inner>, _: &Job, trees: &Trees| match &trees.main.opened {
            Some(opened) if !submodules => {
                let tree = repository.tree(opened, trees.main.root);
                let (all, failed) = (SourceRepos::all(), Failed::default());
                work(smudged(tree, inner, &repository, &all, trees.over(), &failed).as_ref())
            }
            _ => work(trees.main.tree.as_ref()),
        };
        Arc::clone(&self.inner).on_trees(Arc::new(job), look).await
    }

    async fn prove(&self, query: &FilesQuery) -> Result<(), FetchError> {
        let FilesQuery { repo, revision, freshness, integrity, .. } = query;
        let Some(integrity) = integrity else { return Ok(()) };
        let problems = self.problems_of(repo, revision, integrity, *freshness).await?;
        match problems.unwrap_or_default().join("; ") {
            problems if problems.is_empty() => Ok(()),
            problems => Err(FetchError::NotProven { repo: repo.clone(), problems }),
        }
    }

    /// Manifests of files that somebody sent.
    ///
    /// # Errors
    /// When they do not render, or a source referred to cannot be had.
    pub async fn manifests_of(
        &self,
        files: MemoryTree,
        query: ManifestQuery,
    ) -> Result<Manifests, SourceError> {
        let refs = self.refs_of(&query).await?;
        let package = Package {
            repo: self.repo(&query.source.repo_url, &query.context.project),
            revision: query.revision.0.clone(),
            root: root_of(&[]),
            tree: files,
            archive: Bytes::new(),
        };
        let ManifestQuery { source, context, source_repos, .. } = query;
        let main = Origin::Packed(Arc::new(package));
        let job = Job::new(main, refs, source, context, source_repos);
        let job = Job { brought: self.brought.clone(), ..job };
        let work = |inner: &Arc<_>, job: &Job, trees: &Trees| {
            let outside = OtherServers::of(inner, job, trees.over());
            let world = trees.world(job, &outside);
            render::render(trees.main.tree.as_ref(), &job.source, &job.context, &world).0
        };
        Arc::clone(&self.inner).on_trees(Arc::new(job), work).await
    }
}

/// Visits everything below a directory; what a visitor returns says whether to
/// go on below.
fn walk(
    tree: &dyn Tree,
    path: &TreePath,
    visit: &mut dyn FnMut(&TreePath, EntryKind) -> Result<bool, RenderError>,
) -> Result<(), RenderError> {
    for (name, kind) in tree.list(path).map_err(RenderError::Tree)?.unwrap_or_default() {
        if kind == EntryKind::Unnameable {
            continue;
        }
        let child = path.child(&name);
        if visit(&child, kind)? && kind == EntryKind::Directory {
            walk(tree, &child, visit)?;
        }
    }
    Ok(())
}

/// A pattern for paths.
#[derive(Clone)]
enum Pattern {
    /// Git's own.
    Git(String),
    /// Alternatives in which only `**` goes beyond directories.
    New(Vec<String>),
}

impl Pattern {
    fn new(text: &str, new_globbing: bool) -> Self {
        let text = text.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
        let text = if text == "." { "" } else { text };
        if new_globbing { Self::New(alternatives(text)) } else { Self::Git(text.to_owned()) }
    }

    fn fits(&self, path: &str) -> bool {
        let fits = |pattern: &str, mode| {
            gix::glob::wildmatch(pattern.as_bytes().as_bstr(), path.as_bytes().as_bstr(), mode)
        };
        match self {
            Self::Git(pattern) => {
                let is_below = path.strip_prefix(pattern.as_str());
                pattern.is_empty()
                    || is_below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    || fits(pattern, Mode::empty())
            }
            Self::New(patterns) => patterns.iter().any(|it| fits(it, Mode::NO_MATCH_SLASH_LITERAL)),
        }
    }
}

/// `a{b,c}d` is `abd` and `acd`.
fn alternatives(pattern: &str) -> Vec<String> {
    let (mut open, mut done) = (vec![pattern.to_owned()], Vec::new());
    while let Some(text) = open.pop() {
        match first_braces(&text) {
            Some((start, end)) if open.len() + done.len() < MAX_ALTERNATIVES => {
                for part in split_outside_braces(&text[start + 1..end]) {
                    open.push(format!("{}{part}{}", &text[..start], &text[end + 1..]));
                }
            }
            _ => done.push(text),
        }
    }
    done
}

/// Where the first pair of braces opens and closes.
fn first_braces(text: &str) -> Option<(usize, usize)> {
    let start = text.find('{')?;
    let mut depth = 0;
    for (at, char) in text[start..].char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((start, start + at));
        }
    }
    None
}

fn split_outside_braces(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, char) in text.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, git: bool, new: bool) {
        assert_eq!(Pattern::new(pattern, false).fits(path), git, "{pattern} {path}");
        assert_eq!(Pattern::new(pattern, true).fits(path), new, "{pattern} {path}, new");
    }

    #[test]
    fn gits_patterns_go_beyond_directories_and_new_ones_only_with_two_stars() {
        check("apps/*/config.json", "apps/a/config.json", true, true);
        check("apps/*/config.json", "apps/a/b/config.json", true, false);
        check("apps/**/config.json", "apps/a/b/config.json", true, true);
        check("apps/**/config.json", "apps/config.json", false, true);
        check("apps", "apps/a/config.json", true, false);
        check("apps/a.json", "apps/a.json", true, true);
        check("app", "apps/a.json", false, false);
        check(".", "any/file", true, false);
        check("apps/{a,b}.json", "apps/b.json", false, true);
        check("{x,{a,b}/c}.json", "b/c.json", false, true);
        check("apps/[ab].json", "apps/b.json", true, true);
    }

    #[test]
    fn a_pattern_that_unfolds_without_end_is_cut_short() {
        assert!(alternatives(&"{a,b}".repeat(30)).len() <= MAX_ALTERNATIVES + 60);
        assert_eq!(alternatives("{a"), ["{a"]);
    }
}
