//! Which files differ between two commits, and whether any of them matters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{ApplicationSource, clean_path};
use gocompat::glob::filepath_match;
use render::RenderError;
use render::tree::{EntryKind, Tree, TreeError, TreePath};

use crate::job::{At, Job, Origin, Trees};
use crate::{CommitSha, RepoServer, RepoUrl, SourceError};

/// Where so many changed, more may have: then everything matters.
const MAX_CHANGED: usize = 100_000;

impl RepoServer {
    /// The files that differ between two commits of a repository, sorted.
    ///
    /// # Errors
    /// When one of them cannot be had or read.
    pub async fn changed_files(
        &self,
        repo: &RepoUrl,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<Vec<String>, SourceError> {
        let repository = self.inner.repository(repo);
        let at =
            |commit: &CommitSha| At { repository: Arc::clone(&repository), commit: commit.clone() };
        // The other tree comes as if it were a source referred to.
        let refs = BTreeMap::from([(String::new(), at(from))]);
        let job = Job::without_submodules(Origin::Git(at(to)), refs);
        let job = Job { brought: self.brought.clone(), ..job };
        let look = move |_: &Arc<_>, _: &Job, trees: &Trees| {
            let roots = trees.roots();
            let (Some(opened), Some(old)) = (&trees.main.opened, roots.refs.get("")) else {
                return Ok(Vec::new());
            };
            let (old, new) = (repository.tree(opened, *old), repository.tree(opened, roots.main));
            let changes = old.changes_to(&new).map_err(RenderError::Tree)?;
            let mut files = Vec::new();
            for path in &changes.entries {
                for tree in [&old, &new] {
                    below(tree, path, &mut files).map_err(RenderError::Tree)?;
                }
            }
            files.sort();
            files.dedup();
            Ok(files)
        };
        Arc::clone(&self.inner).on_trees(Arc::new(job), look).await
    }
}

/// A repository at two commits.
#[derive(Clone, Debug)]
pub struct Moving {
    /// Its address.
    pub repo_url: String,
    /// The commit that it was at.
    pub from: CommitSha,
    /// The commit that it is at.
    pub to: CommitSha,
}

impl RepoServer {
    /// Does a file that matters differ in one of these repositories, to an Application of
    /// the project? Paths are as in the annotation `manifest-generate-paths`, relative to
    /// the repository; without paths every file matters.
    ///
    /// # Errors
    /// When one of the commits cannot be had or read.
    pub async fn differs(
        &self,
        project: &str,
        moving: &[Moving],
        paths: &[String],
    ) -> Result<bool, SourceError> {
        for Moving { repo_url, from, to } in moving.iter().filter(|it| it.from != it.to) {
            let changed = self.changed_files(&self.repo(repo_url, project), from, to).await?;
            if paths.is_empty() || any_matters(paths, &changed) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// `$name` of each source whose files the parameters of a source refer to.
#[must_use]
pub fn used_refs(source: &ApplicationSource) -> BTreeSet<String> {
    let helm = source.helm.iter();
    let files = helm
        .flat_map(|it| it.value_files.iter().chain(it.file_parameters.iter().map(|it| &it.path)));
    let files = files.filter(|it| it.starts_with('$'));
    files.map(|it| it.split('/').next().unwrap_or(it).to_owned()).collect()
}

/// The file at a path, or all files of the directory there.
fn below(tree: &dyn Tree, path: &TreePath, files: &mut Vec<String>) -> Result<(), TreeError> {
    if files.len() >= MAX_CHANGED {
        return Ok(());
    }
    match tree.entry(path)? {
        None => {}
        Some(entry) if entry.kind == EntryKind::Directory => {
            for (name, kind) in tree.list(path)?.unwrap_or_default() {
                if kind != EntryKind::Unnameable {
                    below(tree, &path.child(&name), files)?;
                }
            }
        }
        Some(_) => files.push(path.as_str().to_owned()),
    }
    Ok(())
}

/// Does any of these files lie in, or fit, one of these paths? Paths are as in
/// the annotation `manifest-generate-paths`, relative to the repository.
pub(crate) fn any_matters(paths: &[String], files: &[String]) -> bool {
    let paths: Vec<String> = paths.iter().map(|it| clean_path(it)).collect();
    files.len() >= MAX_CHANGED
        || files.iter().any(|file| paths.iter().any(|path| matters(path, &clean_path(file))))
}

fn matters(path: &str, file: &str) -> bool {
    path.is_empty()
        || file == path
        || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        || filepath_match(&format!("/{path}"), &format!("/{file}")).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(paths: &[&str], file: &str, expect: bool) {
        let paths: Vec<String> = paths.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(any_matters(&paths, &[file.to_owned()]), expect, "{paths:?} {file}");
    }

    #[test]
    fn what_lies_in_a_path_or_fits_it_matters() {
        check(&["apps/a"], "apps/a/deployment.yaml", true);
        check(&["apps/a"], "apps/ab/deployment.yaml", false);
        check(&["/apps/a"], "apps/a", true);
        check(&["."], "anything", true);
        check(&["apps/*/values.yaml"], "apps/a/values.yaml", true);
        check(&["apps/*/values.yaml"], "apps/a/b/values.yaml", false);
        check(&["apps/a/../b"], "apps/b/x", true);
        check(&[], "apps/a/x", false);
    }

    #[test]
    fn a_list_of_files_that_may_have_been_cut_leaves_nothing_out() {
        let files: Vec<String> = (0..MAX_CHANGED).map(|it| format!("a/{it}")).collect();
        assert!(any_matters(&["b".to_owned()], &files));
        assert!(!any_matters(&["b".to_owned()], &files[1..]));
    }
}
