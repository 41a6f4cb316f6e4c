//! Does a commit come from where the project wants commits to come from?
//!
//! [`policy`] picks the rule for a repository, [`Inner::integrity`] gathers
//! the signatures that it asks for, [`problems`] judges them.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use api::{SourceIntegrity, SourceIntegrityGitPolicy, SourceIntegrityGitPolicyGpg};
use gix::ObjectId;
use gix::bstr::ByteSlice as _;

use crate::error::Cause;
use crate::fetch;
use crate::job::At;
use crate::repository::Repository;
use crate::server::Inner;
use crate::signatures::{Keyring, Signed, Verdict, split_tag};
use crate::store::Opened;
use crate::{CommitSha, FetchError, Freshness, RemoteRefs, RepoServer, RepoUrl, TargetRevision};

/// What is told at most.
const MAX_PROBLEMS: usize = 10;
/// A commit whose message holds this, signed well, vouches for all before it.
const SEAL: &[u8] = b"argocd-gpg-seal:";

/// The rule for a repository; `None` when nothing is checked.
///
/// # Errors
/// When several rules fit: then nothing may pass.
pub(crate) fn policy<'i>(
    integrity: &'i SourceIntegrity,
    repo_url: &str,
) -> Result<Option<&'i SourceIntegrityGitPolicyGpg>, String> {
    let policies = integrity.git.iter().flat_map(|git| &git.policies);
    let fitting: Vec<_> = policies.filter(|it| fits(it, repo_url)).collect();
    match fitting[..] {
        [] => Ok(None),
        [policy] => Ok(policy.gpg.as_ref().filter(|it| it.mode != "none")),
        _ => Err(format!(
            "multiple ({}) git source integrity policies found for repo URL: {repo_url}",
            fitting.len()
        )),
    }
}

fn fits(policy: &SourceIntegrityGitPolicy, repo_url: &str) -> bool {
    let matches = |pattern: &str| gocompat::glob::matches(pattern, repo_url, &[]);
    let excepted = |it: &str| it.strip_prefix('!').is_some_and(matches);
    let mut urls = policy.repos.iter().map(|it| it.url.as_str());
    !urls.clone().any(excepted) && urls.any(|it| !it.starts_with('!') && matches(it))
}

/// A commit or tag, and how it is signed.
struct Checked {
    /// The commit, or the tag's name.
    revision: String,
    is_commit: bool,
    author: String,
    signed: Signed,
}

/// What speaks against the commit, in Argo CD's words; the newest first.
fn problems(
    keys: &[String],
    checked: impl Iterator<Item = Result<Checked, FetchError>>,
) -> Result<Vec<String>, FetchError> {
    let (mut problems, mut told) = (Vec::new(), BTreeSet::new());
    for checked in checked {
        let Checked { revision, is_commit, author, signed: Signed { verdict, key_id } } = checked?;
        let what = match verdict {
            Verdict::Good if is_listed(keys, &key_id) => continue,
            Verdict::Good => "signed with unallowed key".to_owned(),
            verdict => verdict.to_string(),
        };
        // One key signs many commits; that is one problem.
        if is_commit && !key_id.is_empty() && !told.insert(key_id.clone()) {
            continue;
        }
        problems.push(format!(
            "GIT/GPG: Failed verifying revision {revision} by '{author}': {what} (key_id={key_id})"
        ));
        if problems.len() == MAX_PROBLEMS {
            break;
        }
    }
    Ok(problems)
}

/// Does a rule list this key? It lists OpenPGP keys by the 16 digits of their ids
/// or by fingerprint, and ssh keys by fingerprint, in which case matters.
fn is_listed(keys: &[String], key_id: &str) -> bool {
    keys.iter().any(|listed| {
        listed == key_id || short(listed).is_some_and(|it| it.eq_ignore_ascii_case(key_id))
    })
}

/// The 16 digits of an OpenPGP id or fingerprint; `None` if it is neither.
fn short(key: &str) -> Option<&str> {
    let is_hexadecimal = key.bytes().all(|it| it.is_ascii_hexdigit());
    match key.len() {
        16 if is_hexadecimal => Some(key),
        40 if is_hexadecimal => Some(&key[24..]),
        _ => None,
    }
}

/// An annotated tag that an application names.
#[derive(Clone, Debug)]
pub(crate) struct NamedTag {
    pub(crate) name: String,
    pub(crate) id: ObjectId,
}

impl NamedTag {
    /// The annotated tag of a name that stands for the commit.
    pub(crate) fn find(refs: &RemoteRefs, names: &[&str], commit: &CommitSha) -> Option<Self> {
        names.iter().find_map(|name| {
            let short = name.strip_prefix("refs/tags/").unwrap_or(name);
            let full = format!("refs/tags/{short}");
            let id = refs.annotated_tag(&full)?;
            (refs.commit(&full) == Some(commit)).then(|| Self { name: short.to_owned(), id })
        })
    }
}

impl RepoServer {
    /// What speaks against where a commit comes from; `None` where no rule is
    /// about the repository.
    ///
    /// # Errors
    /// When the commit cannot be had or read.
    pub async fn problems_of(
        &self,
        repo: &RepoUrl,
        revision: &TargetRevision,
        integrity: &SourceIntegrity,
        freshness: Freshness,
    ) -> Result<Option<Vec<String>>, FetchError> {
        match policy(integrity, &repo.without_credentials()) {
            Ok(None) => Ok(None),
            Ok(Some(policy)) => {
                let at = self.at(repo, revision, "", freshness).await?;
                self.inner.integrity(&at, None, policy).await.map(Some)
            }
            Err(problem) => Ok(Some(vec![problem])),
        }
    }
}

impl Inner {
    /// What speaks against the commit.
    pub(crate) async fn integrity(
        self: &Arc<Self>,
        at: &At,
        tag: Option<NamedTag>,
        policy: &SourceIntegrityGitPolicyGpg,
    ) -> Result<Vec<String>, FetchError> {
        if !self.has(at).await? {
            Arc::clone(self).fetch(&at.repository, &at.commit).await?;
        }
        if let Some(tag) = &tag {
            self.fetch_tag(at, tag).await?;
        }
        if policy.mode == "strict" && self.is_cut_off(at).await? {
            self.fetch_history(at).await?;
        }
        let (at, policy, keyring) = (at.clone(), policy.clone(), self.keyring());
        let limit = self.options.render_timeout;
        let repository = Arc::clone(&at.repository);
        let checked = self.renders.run(limit, move |_| check(&at, tag, &policy, &keyring)).await;
        repository.settle(checked, "checking the signatures of", limit)
    }
}

impl Inner {
    /// Does the store lack a part of the history, because of a `depth`?
    async fn is_cut_off(&self, at: &At) -> Result<bool, FetchError> {
        let limit = self.options.render_timeout;
        let own = Arc::clone(&at.repository);
        // What cannot be told is fetched: it may be missing.
        let look = move |_: &_| {
            Ok(own.store.open()?.repository.to_thread_local().is_shallow().unwrap_or(true))
        };
        at.repository.settle(self.renders.run(limit, look).await, "looking into", limit)
    }

    async fn has(&self, at: &At) -> Result<bool, FetchError> {
        let limit = self.options.render_timeout;
        let own = at.clone();
        let look = move |_: &_| {
            let Repository { store, remote, .. } = &*own.repository;
            Ok(fetch::root_tree(remote, &store.open()?, &own.commit)?.is_some())
        };
        at.repository.settle(self.renders.run(limit, look).await, "looking into", limit)
    }
}

/// Blocks.
fn check(
    at: &At,
    tag: Option<NamedTag>,
    policy: &SourceIntegrityGitPolicyGpg,
    keyring: &Keyring,
) -> Result<Vec<String>, FetchError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
    let history = History {
        at,
        opened: at.repository.store.open()?,
        keyring,
        now: u32::try_from(now).unwrap_or(u32::MAX),
    };
    let tag = tag.map(|tag| history.tag(&tag));
    let head = at.commit.object_id();
    match (policy.mode.as_str(), tag) {
        ("head", Some(tag)) => problems(&policy.keys, [tag].into_iter()),
        ("head", None) => problems(&policy.keys, [history.commit(head)].into_iter()),
        ("strict", tag) => {
            let commits = history.down_to_seals(head)?;
            let commits = commits.into_iter().map(|id| history.commit(id));
            problems(&policy.keys, tag.into_iter().chain(commits))
        }
        (mode, _) => Ok(vec![format!(
            "GIT/GPG: unknown GPG mode {mode:?} configured for GIT source integrity"
        )]),
    }
}

/// The commits of a repository, with their signatures.
struct History<'h> {
    at: &'h At,
    opened: Opened,
    keyring: &'h Keyring,
    now: u32,
}

impl History<'_> {
    fn damaged(&self, source: Cause) -> FetchError {
        FetchError::Damaged { repo: self.at.repository.remote.url.clone(), source }
    }

    fn tag(&self, tag: &NamedTag) -> Result<Checked, FetchError> {
        let repository = self.opened.repository.to_thread_local();
        let object = repository.find_tag(tag.id).map_err(|it| self.damaged(Arc::new(it)))?;
        let read = object.decode().map_err(|it| self.damaged(Arc::new(it)))?;
        let author = match read.tagger() {
            Ok(Some(tagger)) => format!("{} \"<{}>\"", tagger.name, tagger.email),
            _ => String::new(),
        };
        let signed = self
            .keyring
            .check_once(tag.id, self.now, || Ok::<_, FetchError>(split_tag(&object.data)))?;
        Ok(Checked { revision: tag.name.clone(), is_commit: false, author, signed })
    }

    fn commit(&self, id: ObjectId) -> Result<Checked, FetchError> {
        let repository = self.opened.repository.to_thread_local();
        let object = repository.find_commit(id).map_err(|it| self.damaged(Arc::new(it)))?;
        let author = object.author().map_err(|it| self.damaged(Arc::new(it)))?;
        let author = format!("{} <{}>", author.name, author.email);
        let signed = self.keyring.check_once(id, self.now, || {
            let found = object.signature().map_err(|it| self.damaged(Arc::new(it)))?;
            Ok(found
                .map(|(signature, content)| (signature.to_vec(), content.to_bstring().to_vec())))
        })?;
        Ok(Checked { revision: id.to_string(), is_commit: true, author, signed })
    }

    /// The commit and all before it, the newest first, down to seals, which are
    /// the last of their line. What a seal vouches for is not looked at, by
    /// whichever way it is reached.
    fn down_to_seals(&self, head: ObjectId) -> Result<Vec<ObjectId>, FetchError> {
        let mut sealed = HashSet::new();
        let mut seals = Vec::new();
        for (id, _) in self.ancestors(&[head], &HashSet::new())? {
            if self.is_seal(id)? {
                if id == head {
                    return Ok(vec![head]);
                }
                seals.push(id);
            }
        }
        sealed.extend(self.ancestors(&seals, &HashSet::new())?.into_iter().map(|(id, _)| id));
        let mut commits = self.ancestors(&[head], &sealed)?;
        let mut last = Vec::new();
        for (id, _) in &commits {
            last.extend(self.parents(*id)?.0.into_iter().filter(|it| sealed.contains(it)));
        }
        last.sort_unstable();
        last.dedup();
        commits.sort_by_key(|(_, seconds)| std::cmp::Reverse(*seconds));
        Ok(commits.into_iter().map(|(id, _)| id).chain(last).collect())
    }

    fn is_seal(&self, id: ObjectId) -> Result<bool, FetchError> {
        let repository = self.opened.repository.to_thread_local();
        let object = repository.find_commit(id).map_err(|it| self.damaged(Arc::new(it)))?;
        let text = object.data.to_ascii_lowercase();
        Ok(text.find(SEAL).is_some() && self.commit(id)?.signed.verdict == Verdict::Good)
    }

    /// Everything reachable from some commits without passing through others,
    /// with the seconds at which each was committed.
    fn ancestors(
        &self,
        from: &[ObjectId],
        without: &HashSet<ObjectId>,
    ) -> Result<Vec<(ObjectId, i64)>, FetchError> {
        let mut seen: HashSet<ObjectId> = from.iter().copied().collect();
        let mut queue: VecDeque<ObjectId> = from.iter().copied().collect();
        let mut found = Vec::new();
        while let Some(id) = queue.pop_front() {
            let (parents, seconds) = self.parents(id)?;
            found.push((id, seconds));
            for parent in parents {
                if !without.contains(&parent) && seen.insert(parent) {
                    queue.push_back(parent);
                }
            }
        }
        Ok(found)
    }

    fn parents(&self, id: ObjectId) -> Result<(Vec<ObjectId>, i64), FetchError> {
        let repository = self.opened.repository.to_thread_local();
        let object = repository.find_commit(id).map_err(|it| self.damaged(Arc::new(it)))?;
        let seconds = object.time().map_or(0, |it| it.seconds);
        let parents = object.parent_ids().map(|it| it.detach()).collect();
        Ok((parents, seconds))
    }
}

#[cfg(test)]
mod tests {
    use api::{SourceIntegrityGit, SourceIntegrityGitPolicyRepo};

    use super::*;

    fn rule(urls: &[&str], mode: &str) -> SourceIntegrityGitPolicy {
        let repo = |url: &&str| SourceIntegrityGitPolicyRepo { url: (*url).to_owned() };
        let gpg = SourceIntegrityGitPolicyGpg { mode: mode.to_owned(), keys: Vec::new() };
        SourceIntegrityGitPolicy { repos: urls.iter().map(repo).collect(), gpg: Some(gpg) }
    }

    #[track_caller]
    fn check(rules: &[SourceIntegrityGitPolicy], expect: &str) {
        let git = SourceIntegrityGit { policies: rules.to_vec() };
        let integrity = SourceIntegrity { git: Some(git) };
        let found = match policy(&integrity, "https://example.com/org/repo") {
            Ok(found) => found.map_or_else(String::new, |it| it.mode.clone()),
            Err(problem) => problem,
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn one_rule_applies_and_two_let_nothing_pass() {
        check(&[], "");
        check(&[rule(&["*"], "head")], "head");
        check(&[rule(&["https://other.com/*"], "head")], "");
        check(&[rule(&["*", "!https://example.com/*"], "head")], "");
        check(&[rule(&["*"], "none")], "");
        check(
            &[rule(&["*"], "none"), rule(&["https://example.com/*"], "strict")],
            "multiple (2) git source integrity policies found for repo URL: https://example.com/org/repo",
        );
    }

    #[test]
    fn keys_are_named_by_id_or_fingerprint() {
        assert_eq!(short("0123456789ABCDEF"), Some("0123456789ABCDEF"));
        assert_eq!(short(&format!("{}0123456789ABCDEF", "0".repeat(24))), Some("0123456789ABCDEF"));
        assert_eq!(short("57A46444"), None);
        assert_eq!(short("not a hex string"), None);
    }
}
