//! A repository moved to another commit: whom does that concern?
//!
//! Every source that was rendered from a repository follows it, by the name of
//! its Application. When a push is announced, one fetch and one comparison of
//! trees tell for all of them whether a file changed that was read. What was
//! rendered of the others counts for the new commit from then on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::ApplicationSource;
use gix::ObjectId;
use render::RenderError;
use render::tree::Changes;

use crate::changed::any_matters;
use crate::job::{Job, Origin, Trees};
use crate::rendered::{Outcome, SourceKey};
use crate::repository::Repository;
use crate::server::{Inner, Place};
use crate::store::Opened;
use crate::{CommitSha, Freshness, RepoServer, SourceError, TargetRevision};

/// Sources of all repositories together; beyond, we begin anew and know of
/// fewer until they are rendered again.
const MAX_FOLLOWERS: usize = 500_000;

/// What a push changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// What the revision stands for now; empty for what is not in git.
    pub commit: String,
    /// Applications that follow the revision and of which the push changed a
    /// file that was read, or of which nothing is remembered.
    pub touched: BTreeSet<String>,
    /// Applications whose manifests are the same at the new commit.
    pub untouched: BTreeSet<String>,
}

/// Who follows which repository.
#[derive(Default)]
pub(crate) struct Followers(Mutex<HashMap<String, HashMap<SourceKey, Follower>>>);

/// One source of an Application.
#[derive(Clone, Debug)]
struct Follower {
    app_name: String,
    target_revision: String,
    tag_prefix: String,
}

impl Followers {
    /// Remembers that a source was rendered.
    pub(crate) fn add(&self, job: &Job) {
        let Origin::Git(at) = &job.main else { return };
        let mut repositories = self.lock();
        let known = repositories.get(&at.repository.identity);
        if known.is_some_and(|it| it.get(&job.key).is_some_and(|it| it.is_of(job))) {
            return;
        }
        if repositories.values().map(HashMap::len).sum::<usize>() >= MAX_FOLLOWERS {
            repositories.clear();
        }
        let follower = Follower {
            app_name: job.context.app_name.clone(),
            target_revision: job.source.target_revision.clone(),
            tag_prefix: job.source.tag_prefix.clone(),
        };
        let identity = at.repository.identity.clone();
        repositories.entry(identity).or_default().insert(job.key, follower);
    }

    /// Those who follow a revision of a repository.
    fn of(
        &self,
        repository: &Repository,
        target: &str,
        tag_prefix: &str,
    ) -> Vec<(SourceKey, String)> {
        let repositories = self.lock();
        let followers = repositories.get(&repository.identity).into_iter().flatten();
        followers
            .filter(|(_, it)| it.target_revision == target && it.tag_prefix == tag_prefix)
            .map(|(key, it)| (*key, it.app_name.clone()))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HashMap<SourceKey, Follower>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Follower {
    fn is_of(&self, job: &Job) -> bool {
        self.app_name == job.context.app_name
            && self.target_revision == job.source.target_revision
            && self.tag_prefix == job.source.tag_prefix
    }
}

impl RepoServer {
    /// Fetches what a source's revision stands for now, and moves on to it what
    /// is remembered of all Applications that it does not change.
    ///
    /// # Errors
    /// When the revision cannot be had or read.
    pub async fn moved(
        &self,
        source: &ApplicationSource,
        project: &str,
        freshness: Freshness,
    ) -> Result<Moved, SourceError> {
        let Place::Git(repo) = self.place(source, project) else { return Ok(Moved::default()) };
        let target = TargetRevision(source.target_revision.clone());
        let at = self.at(&repo, &target, &source.tag_prefix, freshness).await?;
        let (repository, commit) = (Arc::clone(&at.repository), at.commit.as_str().to_owned());
        let job = Job::without_submodules(Origin::Git(at), BTreeMap::new());
        let job = Job { brought: self.brought.clone(), source: source.clone(), ..job };
        let look = move |inner: &Arc<Inner>, job: &Job, trees: &Trees| {
            let (target, prefix) = (&job.source.target_revision, &job.source.tag_prefix);
            let commit = commit.clone();
            let Some(opened) = &trees.main.opened else {
                return Ok(Moved { commit, ..Moved::default() });
            };
            let mut move_on = MoveOn::to(trees.main.root, &repository, opened);
            let followers = inner.followers.of(&repository, target, prefix);
            let (untouched, touched): (Vec<_>, Vec<_>) =
                followers.into_iter().partition(|(key, _)| inner.moves_on(*key, &mut move_on));
            if let Some(disk) = &inner.disk {
                disk.moved(move_on.moved, trees.main.root);
            }
            let names = |those: Vec<(SourceKey, String)>| those.into_iter().map(|it| it.1);
            let touched: BTreeSet<String> = names(touched).collect();
            // An Application of several sources is touched by one of them.
            let untouched = names(untouched).filter(|it| !touched.contains(it)).collect();
            Ok::<_, RenderError>(Moved { commit, touched, untouched })
        };
        Arc::clone(&self.inner).on_trees(Arc::new(job), look).await
    }

    /// Of each list of paths: does a file there differ since a commit from what a source's
    /// revision stands for now? Nothing where the source is not in git. Moves on what does not
    /// change, see [`Self::moved`].
    ///
    /// # Errors
    /// When one of the commits cannot be had or read.
    pub async fn touched(
        &self,
        source: &ApplicationSource,
        project: &str,
        since: &CommitSha,
        paths: &[Vec<String>],
        freshness: Freshness,
    ) -> Result<Option<Vec<bool>>, SourceError> {
        let moved = self.moved(source, project, freshness).await?;
        let Some(commit) = CommitSha::parse(&moved.commit) else { return Ok(None) };
        let repo = self.repo(&source.repo_url, project);
        let changed = self.changed_files(&repo, since, &commit).await?;
        Ok(Some(paths.iter().map(|it| any_matters(it, &changed)).collect()))
    }
}

/// The way of many sources to a new tree; most come from the same old one.
struct MoveOn<'r> {
    root: ObjectId,
    repository: &'r Repository,
    opened: &'r Opened,
    /// Where the last old tree differs from the new one; `None` if it is gone.
    changes: Option<(ObjectId, Option<Arc<Changes>>)>,
    /// What counts for the new tree from now on, and for which it did.
    moved: Vec<(SourceKey, ObjectId)>,
}

impl<'r> MoveOn<'r> {
    fn to(root: ObjectId, repository: &'r Repository, opened: &'r Opened) -> Self {
        Self { root, repository, opened, changes: None, moved: Vec::new() }
    }

    /// Where a tree differs from the new one.
    fn changes(&mut self, old: ObjectId) -> Option<Arc<Changes>> {
        match &self.changes {
            Some((known, changes)) if *known == old => changes.clone(),
            _ => {
                let changes = self.repository.changes(self.opened, old, self.root);
                self.changes.insert((old, changes)).1.clone()
            }
        }
    }
}

impl Inner {
    /// Does what is remembered of a source count for a new tree? Then it does
    /// from now on.
    fn moves_on(&self, key: SourceKey, move_on: &mut MoveOn<'_>) -> bool {
        let Some((old_root, outcome)) = self.cache.newest(key) else { return false };
        if old_root == move_on.root {
            return true;
        }
        // It was told the commit, which is another one now.
        if outcome.record.revision
            || !move_on.changes(old_root).is_some_and(|changes| holds(&outcome, &changes))
        {
            return false;
        }
        self.cache.also_for(key, move_on.root, outcome);
        move_on.moved.push((key, old_root));
        true
    }
}

/// Is nothing different in a new tree that was read of an old one?
pub(crate) fn holds(outcome: &Outcome, changes: &Changes) -> bool {
    !outcome.record.reads.are_touched_by(changes)
}
