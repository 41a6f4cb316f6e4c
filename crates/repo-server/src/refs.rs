//! The branches and tags a server has, at one moment.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::protocol::handshake::Ref;

use crate::CommitSha;

/// One answer of a server to "which refs have you got?".
///
/// Annotated tags stand for the commit they point to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteRefs {
    commits: BTreeMap<String, CommitSha>,
    /// The tag objects of annotated tags, by full name.
    tags: BTreeMap<String, ObjectId>,
}

impl RemoteRefs {
    /// The commit of a full name, such as `HEAD` or `refs/heads/main`.
    #[must_use]
    pub fn commit(&self, full_name: &str) -> Option<&CommitSha> {
        self.commits.get(full_name)
    }

    /// The tag object of a full name, if it is an annotated tag's.
    pub(crate) fn annotated_tag(&self, full_name: &str) -> Option<ObjectId> {
        self.tags.get(full_name).copied()
    }

    /// The names of all branches, without `refs/heads/`.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.below("refs/heads/")
    }

    /// The names of all tags, without `refs/tags/`.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.below("refs/tags/")
    }

    /// The names of the tags that stand for a commit.
    pub fn tags_at<'r>(&'r self, commit: &'r CommitSha) -> impl Iterator<Item = &'r str> {
        self.tags().filter(move |tag| self.commit(&format!("refs/tags/{tag}")) == Some(commit))
    }

    fn below<'r>(&'r self, prefix: &'r str) -> impl Iterator<Item = &'r str> {
        let names = self.commits.range(prefix.to_owned()..);
        names.map_while(move |(name, _)| name.strip_prefix(prefix))
    }
}

/// Names that are not UTF-8 are left out: no Application can ask for them.
impl FromIterator<Ref> for RemoteRefs {
    fn from_iter<I: IntoIterator<Item = Ref>>(refs: I) -> Self {
        let mut known = Self::default();
        for it in refs {
            let (name, object, tag) = match it {
                Ref::Peeled { full_ref_name, object, tag } => (full_ref_name, object, Some(tag)),
                Ref::Direct { full_ref_name, object }
                | Ref::Symbolic { full_ref_name, object, .. } => (full_ref_name, object, None),
                Ref::Unborn { .. } => continue,
            };
            let Ok(name) = String::from_utf8(name.into()) else { continue };
            known.tags.extend(tag.map(|tag| (name.clone(), tag)));
            known.commits.insert(name, CommitSha::from(object));
        }
        known
    }
}

#[cfg(test)]
impl FromIterator<(&'static str, CommitSha)> for RemoteRefs {
    fn from_iter<I: IntoIterator<Item = (&'static str, CommitSha)>>(refs: I) -> Self {
        let commits = refs.into_iter().map(|(name, commit)| (name.to_owned(), commit));
        Self { commits: commits.collect(), tags: BTreeMap::new() }
    }
}
