//! A commit into the repository's object store. Everything here blocks.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gix::ObjectId;
use gix::prelude::FindExt as _;

use crate::error::Cause;
use crate::remote::{Remote, Wanted};
use crate::store::{Opened, Store};
use crate::{CommitSha, FetchError};

/// Is the commit in the store, with everything below it?
///
/// Packs appear whole, after all they build on, so the commit itself is enough
/// to ask for.
///
/// # Errors
/// When it should be there and cannot be read.
pub(crate) fn root_tree(
    remote: &Remote,
    opened: &Opened,
    commit: &CommitSha,
) -> Result<Option<ObjectId>, FetchError> {
    let damaged = |source: Cause| FetchError::Damaged { repo: remote.url.clone(), source };
    let repository = opened.repository.to_thread_local();
    let found = repository.try_find_object(commit.object_id());
    let Some(object) = found.map_err(|error| damaged(Arc::new(error)))? else { return Ok(None) };
    let commit = object.try_into_commit().map_err(|error| damaged(Arc::new(error)))?;
    let tree = commit.tree_id().map_err(|error| damaged(Arc::new(error)))?;
    Ok(Some(tree.detach()))
}

/// What a commit says of itself.
pub(crate) struct CommitText {
    pub(crate) author: String,
    pub(crate) date: i64,
    pub(crate) message: String,
}

/// Reads the commit itself.
pub(crate) fn read_commit(
    remote: &Remote,
    opened: &Opened,
    commit: &CommitSha,
) -> Result<CommitText, FetchError> {
    let damaged = |source: Cause| FetchError::Damaged { repo: remote.url.clone(), source };
    let repository = opened.repository.to_thread_local();
    let object =
        repository.find_commit(commit.object_id()).map_err(|error| damaged(Arc::new(error)))?;
    let text = object.decode().map_err(|error| damaged(Arc::new(error)))?;
    let author = text.author().map_err(|error| damaged(Arc::new(error)))?;
    let date = author.time().map_err(|error| damaged(Arc::new(error)))?;
    Ok(CommitText {
        author: format!("{} <{}>", author.name, author.email),
        date: date.seconds,
        message: text.message.to_string().trim().to_owned(),
    })
}

/// Fetches one commit: by its id, or, from a server that refuses that, with
/// all branches and tags.
pub(crate) fn fetch_commit(
    store: &Store,
    remote: &Remote,
    commit: &CommitSha,
    cancel: &AtomicBool,
) -> Result<(), FetchError> {
    match fetch_into(store, remote, &Wanted::Commit(commit.object_id()), cancel) {
        Err(FetchError::Refused { .. }) => fetch_into(store, remote, &Wanted::AllRefs, cancel)?,
        other => other?,
    }
    let opened = store.reload()?;
    match root_tree(remote, &opened, commit)? {
        Some(_) => Ok(()),
        None => {
            let (repo, commit) = (remote.url.clone(), commit.clone());
            Err(FetchError::CommitNotFound { repo, commit })
        }
    }
}

/// Fetches an annotated tag, which is where a ref points to and so always given out.
pub(crate) fn fetch_tag(
    store: &Store,
    remote: &Remote,
    tag: ObjectId,
    cancel: &AtomicBool,
) -> Result<(), FetchError> {
    if store.open()?.repository.to_thread_local().find_tag(tag).is_ok() {
        return Ok(());
    }
    fetch_into(store, remote, &Wanted::Commit(tag), cancel)?;
    store.reload().map(drop)
}

/// Fetches the history of a commit that a `depth` cut off.
pub(crate) fn fetch_history(
    store: &Store,
    remote: &Remote,
    commit: ObjectId,
    cancel: &AtomicBool,
) -> Result<(), FetchError> {
    fetch_into(store, remote, &Wanted::History(commit), cancel)?;
    store.reload().map(drop)
}

/// Fetches all branches and tags.
pub(crate) fn fetch_all(
    store: &Store,
    remote: &Remote,
    cancel: &AtomicBool,
) -> Result<Opened, FetchError> {
    fetch_into(store, remote, &Wanted::AllRefs, cancel)?;
    store.reload()
}

fn fetch_into(
    store: &Store,
    remote: &Remote,
    wanted: &Wanted,
    cancel: &AtomicBool,
) -> Result<(), FetchError> {
    let opened = store.open()?;
    remote.fetch(&opened.repository.to_thread_local(), wanted, cancel)
}

/// The one commit whose id begins with `prefix`, if the store has it.
pub(crate) fn commit_by_prefix(opened: &Opened, prefix: &str) -> Option<CommitSha> {
    let repository = opened.repository.to_thread_local();
    let prefix = gix::hash::Prefix::from_hex(prefix).ok()?;
    let id = repository.objects.lookup_prefix(prefix, None).ok()??.ok()?;
    let mut buffer = Vec::new();
    repository.objects.find_commit(&id, &mut buffer).ok()?;
    Some(CommitSha::from(id))
}
