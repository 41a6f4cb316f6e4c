//! What a target revision stands for right now.
//!
//! [`among`] decides from a listing of refs, without asking anyone; the
//! listing itself is [`crate::RepoServer::resolve`]'s business.

use std::fmt;
use std::time::Instant;

use crate::error::Similar;
use crate::{FetchError, RemoteRefs};

/// A branch, tag, commit or range as the user wrote it: `main`, `v2.*`, empty
/// for the default branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetRevision(pub String);

/// The one commit a [`TargetRevision`] stood for when it was resolved: 40
/// lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitSha(String);

/// How old an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Asked of the server at this moment or later. Everyone who passes the
    /// same moment (the start of a poll, the arrival of a webhook) shares one
    /// request.
    NotBefore(Instant),
    /// Asked of the server after this call.
    Latest,
}

impl CommitSha {
    /// Accepts a full commit id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let full = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        full.then(|| Self(text.to_ascii_lowercase()))
    }

    /// The 40 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn object_id(&self) -> gix::ObjectId {
        gix::ObjectId::from_hex(self.0.as_bytes()).expect("a commit id is 40 hexadecimal digits")
    }
}

impl From<gix::ObjectId> for CommitSha {
    fn from(id: gix::ObjectId) -> Self {
        Self(id.to_string())
    }
}

impl fmt::Display for CommitSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CommitSha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a target revision is, as far as refs tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// This commit.
    Commit(CommitSha),
    /// Possibly the beginning of a commit's id: only the commits can tell.
    MaybeShortSha(String),
}

/// Looks a target revision up in a listing.
///
/// A range of versions stands for the highest tag in it, counting only tags
/// that begin with `tag_prefix`. A full name is taken as it is. A short one is a branch or a tag; if it is
/// both, at different commits, we refuse to guess (Argo CD takes either).
pub(crate) fn among(
    refs: &RemoteRefs,
    target: &TargetRevision,
    tag_prefix: &str,
) -> Result<Resolved, FetchError> {
    let name = if target.0.is_empty() { "HEAD" } else { target.0.as_str() };
    if let Some(commit) = CommitSha::parse(name) {
        return Ok(Resolved::Commit(commit));
    }
    let tags: Vec<&str> = refs.tags().collect();
    let highest = gocompat::semver::highest_tag(name, &tags, tag_prefix);
    let name = highest.as_deref().unwrap_or(name);
    if let Some(commit) = refs.commit(name) {
        return Ok(Resolved::Commit(commit.clone()));
    }
    let branch = refs.commit(&format!("refs/heads/{name}"));
    let tag = refs.commit(&format!("refs/tags/{name}"));
    match (branch, tag, refs.commit(&format!("refs/{name}"))) {
        (Some(branch), Some(tag), _) if branch != tag => {
            Err(FetchError::RevisionAmbiguous { revision: name.to_owned() })
        }
        (Some(commit), _, _) | (_, Some(commit), _) | (_, _, Some(commit)) => {
            Ok(Resolved::Commit(commit.clone()))
        }
        (None, None, None) if is_short_sha(name) => Ok(Resolved::MaybeShortSha(name.to_owned())),
        (None, None, None) => Err(not_found(refs, name)),
    }
}

/// The name of the tag that a range of versions stands for; anything else as it is.
pub(crate) fn tag_of(refs: &RemoteRefs, name: &str, tag_prefix: &str) -> String {
    let tags: Vec<&str> = refs.tags().collect();
    gocompat::semver::highest_tag(name, &tags, tag_prefix).unwrap_or_else(|_| name.to_owned())
}

fn is_short_sha(text: &str) -> bool {
    (7..40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// There is nothing of that name; here is what there is.
pub(crate) fn not_found(refs: &RemoteRefs, name: &str) -> FetchError {
    let (branches, tags) = (refs.branches().count(), refs.tags().count());
    let looked_for = if name == "HEAD" {
        "the repository is empty or has no default branch".to_owned()
    } else {
        format!("there is no such branch (of {branches}), tag (of {tags}) or commit")
    };
    FetchError::RevisionNotFound {
        revision: name.to_owned(),
        looked_for,
        similar: Similar(similar_names(refs, name)),
    }
}

/// At most three names a typing mistake away, nearest first.
fn similar_names(refs: &RemoteRefs, name: &str) -> Vec<String> {
    let short = name.rsplit('/').next().unwrap_or(name);
    let allowed = (short.chars().count() / 3).clamp(1, 3);
    let mut near: Vec<(usize, &str)> = refs
        .branches()
        .chain(refs.tags())
        .take(10_000)
        .filter_map(|candidate| {
            let last = candidate.rsplit('/').next().unwrap_or(candidate);
            let distance = edits(&short.to_lowercase(), &last.to_lowercase());
            (distance <= allowed).then_some((distance, candidate))
        })
        .collect();
    near.sort_unstable();
    near.dedup_by_key(|it| it.1);
    near.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// Levenshtein's distance.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.chars().take(100).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(digit: char) -> CommitSha {
        CommitSha::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn refs() -> RemoteRefs {
        [
            ("HEAD", sha('a')),
            ("refs/heads/main", sha('a')),
            ("refs/heads/release/1.0", sha('b')),
            ("refs/heads/both", sha('b')),
            ("refs/heads/same", sha('c')),
            ("refs/tags/both", sha('c')),
            ("refs/tags/same", sha('c')),
            ("refs/tags/v1.0.0", sha('d')),
            ("refs/tags/web-1.2.0", sha('f')),
            ("refs/pull/7/head", sha('e')),
        ]
        .into_iter()
        .collect()
    }

    #[track_caller]
    fn check(target: &str, expect: &str) {
        check_with_prefix(target, "", expect);
    }

    #[track_caller]
    fn check_with_prefix(target: &str, prefix: &str, expect: &str) {
        let answer = match among(&refs(), &TargetRevision(target.to_owned()), prefix) {
            Ok(Resolved::Commit(commit)) => commit.as_str()[..4].to_owned(),
            Ok(Resolved::MaybeShortSha(prefix)) => format!("commit {prefix}…?"),
            Err(error) => error.to_string(),
        };
        assert_eq!(answer, expect);
    }

    #[test]
    fn names_short_and_full_resolve() {
        check("", "aaaa");
        check("HEAD", "aaaa");
        check("main", "aaaa");
        check("release/1.0", "bbbb");
        check("refs/heads/release/1.0", "bbbb");
        check("heads/main", "aaaa");
        check("v1.0.0", "dddd");
        check("refs/pull/7/head", "eeee");
    }

    #[test]
    fn a_range_of_versions_stands_for_the_highest_tag_in_it() {
        check("v1.x", "dddd");
        check(">=1.0.0 <2.0.0", "dddd");
        check("*", "dddd");
        check_with_prefix("1.*", "web-", "ffff");
        check_with_prefix("1.2.0", "web-", "ffff");
        check(
            ">=3",
            "unable to resolve '>=3' to a commit SHA: there is no such branch (of 4), tag (of 4) or commit",
        );
    }

    #[test]
    fn a_full_commit_id_stands_for_itself() {
        check("0123456789ABCDEF0123456789abcdef01234567", "0123");
    }

    #[test]
    fn a_branch_and_a_tag_of_one_name_must_agree() {
        check("same", "cccc");
        check(
            "both",
            "unable to resolve 'both' to a commit SHA: it is both a branch and a tag, at different commits; write refs/heads/both or refs/tags/both",
        );
    }

    #[test]
    fn hexadecimal_digits_may_begin_a_commit_id() {
        check("abcdef1", "commit abcdef1…?");
        check(
            "abcdef",
            "unable to resolve 'abcdef' to a commit SHA: there is no such branch (of 4), tag (of 4) or commit",
        );
    }

    #[test]
    fn a_missing_name_shows_its_neighbours() {
        check(
            "mian",
            "unable to resolve 'mian' to a commit SHA: there is no such branch (of 4), tag (of 4) or commit",
        );
        check(
            "Main2",
            "unable to resolve 'Main2' to a commit SHA: there is no such branch (of 4), tag (of 4) or commit; similar names: main",
        );
        check(
            "v1.0.1",
            "unable to resolve 'v1.0.1' to a commit SHA: there is no such branch (of 4), tag (of 4) or commit; similar names: v1.0.0",
        );
    }

    #[test]
    fn an_empty_repository_says_so() {
        let error = among(&RemoteRefs::default(), &TargetRevision::default(), "").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unable to resolve 'HEAD' to a commit SHA: the repository is empty or has no default branch"
        );
    }
}
