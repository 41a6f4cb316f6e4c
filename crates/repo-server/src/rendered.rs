//! Results remembered, by what they were made from.
//!
//! A result belongs to a source (where and with which parameters) and a tree.
//! A new tree whose differences to the old one touch nothing the render read
//! has the same result; that is found out by comparing trees, not by rendering.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash as _, Hasher};
use std::sync::{Arc, Mutex};

use api::ApplicationSource;
use gix::ObjectId;
use object::Object;
use render::tree::Reads;
use render::{Capabilities, Manifests, Record, RenderContext, RenderError, SourceType};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{CommitSha, SourceRepos};

/// Trees to remember results for, per source: the current one, and those a
/// rollback or a slow branch returns to.
const TREES_PER_SOURCE: usize = 4;
/// What an entry costs beside its texts.
const ENTRY_OVERHEAD: usize = 512;
/// What one recorded read costs.
const READ_OVERHEAD: usize = 128;

/// A source and every parameter of its render, but neither commit nor tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourceKey([u8; 32]);

impl SourceKey {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn of(
        repo: &str,
        source: &ApplicationSource,
        context: &RenderContext,
        source_repos: &SourceRepos,
    ) -> Self {
        // The commit stands for the revision, and `repo` for all spellings of
        // the address; what the destination can do matters to few, see `Given`.
        let source = ApplicationSource {
            repo_url: String::new(),
            target_revision: String::new(),
            ..source.clone()
        };
        let source = serde_json::to_vec(&source).expect("a source is plain data");
        let context = RenderContext { capabilities: Arc::default(), ..context.clone() };
        let mut digest = Digesting(Sha256::new());
        let bounds = (!source_repos.are_all()).then(|| source_repos.entries());
        (repo, source, context, bounds).hash(&mut digest);
        Self(digest.0.finalize().into())
    }
}

/// What is hashed, digested: no two values run into each other.
struct Digesting(Sha256);

impl Hasher for Digesting {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the digest itself is taken")
    }
}

/// What a source rendered to, as compact texts: a parsed object costs ten times
/// as much and is needed once per comparison.
#[derive(Debug)]
pub(crate) struct Texts {
    pub(crate) manifests: Vec<Box<str>>,
    pub(crate) source_type: Option<SourceType>,
    pub(crate) digest: [u8; 32],
}

impl Texts {
    /// Those of a source that is only referred to.
    pub(crate) fn none() -> Self {
        Self { manifests: Vec::new(), source_type: None, digest: Sha256::digest([]).into() }
    }

    fn of(manifests: Manifests) -> Self {
        let texts = manifests.objects.into_iter().map(text_of);
        Self::new(texts.collect(), Some(manifests.source_type))
    }

    fn new(manifests: Vec<Box<str>>, source_type: Option<SourceType>) -> Self {
        let mut digest = Sha256::new();
        for text in &manifests {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text.as_bytes());
        }
        Self { manifests, source_type, digest: digest.finalize().into() }
    }
}

fn text_of(object: Object) -> Box<str> {
    object.into_value().to_string().into_boxed_str()
}

/// What an outcome is on disk. What was given is there only as far as it was
/// asked for: nothing more is compared, and nothing more leaves the process.
#[derive(Serialize, Deserialize)]
struct Stored<'o> {
    manifests: Cow<'o, [Box<str>]>,
    source_type: Option<SourceType>,
    record: Cow<'o, Record>,
    revision: Option<(String, [u8; 32], String)>,
    capabilities: Option<Arc<Capabilities>>,
    refs: BTreeMap<String, Vec<u8>>,
}

/// What few renders depend on, so that it is compared only where it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Given {
    pub(crate) revision: String,
    /// A digest of it.
    pub(crate) repo_url: [u8; 32],
    pub(crate) target_revision: String,
    pub(crate) refs: BTreeMap<String, CommitSha>,
    pub(crate) capabilities: Arc<Capabilities>,
}

/// The trees of the sources that a source refers to, by their `ref`.
pub(crate) type RefRoots = BTreeMap<String, ObjectId>;

/// The outcome of one render, a failure included: the same reads fail again.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) result: Result<Arc<Texts>, RenderError>,
    pub(crate) record: Arc<Record>,
    /// A failure that depends on others; not remembered.
    pub(crate) may_pass: bool,
    given: Given,
    refs: RefRoots,
    bytes: usize,
}

impl Outcome {
    pub(crate) fn new(
        result: Result<Manifests, RenderError>,
        record: Record,
        given: Given,
        refs: RefRoots,
    ) -> Self {
        let result = result.map(|manifests| Arc::new(Texts::of(manifests)));
        Self::made(result, record, given, refs)
    }

    fn made(
        result: Result<Arc<Texts>, RenderError>,
        record: Record,
        given: Given,
        refs: RefRoots,
    ) -> Self {
        let texts =
            result.as_ref().map_or(0, |texts| texts.manifests.iter().map(|it| it.len()).sum());
        let reads = record.reads.len() + record.refs.values().map(Reads::len).sum::<usize>();
        let bytes = texts + reads * READ_OVERHEAD + ENTRY_OVERHEAD;
        Self { result, record: Arc::new(record), may_pass: false, given, refs, bytes }
    }

    /// The same outcome for other trees of the sources referred to.
    pub(crate) fn with_refs(&self, refs: RefRoots) -> Self {
        let (result, record) = (self.result.clone(), Arc::clone(&self.record));
        let may_pass = self.may_pass;
        Self { result, record, may_pass, given: self.given.clone(), refs, bytes: self.bytes }
    }

    /// Writes it for the disk behind what is in `out`; failures are not kept there.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) -> Option<()> {
        let texts = self.result.as_ref().ok()?;
        let Given { revision, repo_url, target_revision, capabilities, .. } = &self.given;
        let revision = || (revision.clone(), *repo_url, target_revision.clone());
        let refs = self.refs.iter().map(|(name, root)| (name.clone(), root.as_slice().to_vec()));
        let stored = Stored {
            manifests: Cow::Borrowed(&texts.manifests),
            source_type: texts.source_type,
            record: Cow::Borrowed(&self.record),
            revision: self.record.revision.then(revision),
            capabilities: self.record.capabilities.then(|| Arc::clone(capabilities)),
            refs: refs.collect(),
        };
        serde_json::to_writer(out, &stored).ok()
    }

    /// What it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What was on disk.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let stored: Stored<'_> = serde_json::from_slice(bytes).ok()?;
        let (revision, repo_url, target_revision) = stored.revision.unwrap_or_default();
        let refs = stored.refs.into_iter();
        let refs = refs.map(|(name, root)| Some((name, ObjectId::try_from(&root[..]).ok()?)));
        let given = Given {
            revision,
            repo_url,
            target_revision,
            refs: BTreeMap::new(),
            capabilities: stored.capabilities.unwrap_or_default(),
        };
        let texts = Arc::new(Texts::new(stored.manifests.into_owned(), stored.source_type));
        Some(Self::made(Ok(texts), stored.record.into_owned(), given, refs.collect::<Option<_>>()?))
    }

    /// Was it made from what is given now, as far as it asked?
    pub(crate) fn was_given(&self, now: &Given) -> bool {
        let then = &self.given;
        let same_revision = || {
            (&then.revision, &then.repo_url, &then.target_revision)
                == (&now.revision, &now.repo_url, &now.target_revision)
        };
        (!self.record.revision || same_revision())
            && (!self.record.capabilities || then.capabilities == now.capabilities)
    }
}

/// Remembered outcomes within a budget of bytes; the longest unused go first.
#[derive(Debug)]
pub(crate) struct RenderedCache {
    budget: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sources: HashMap<SourceKey, Source>,
    by_use: BTreeMap<u64, SourceKey>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Source {
    /// Newest last.
    outcomes: Vec<(ObjectId, Arc<Outcome>)>,
    used: u64,
}

impl RenderedCache {
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, state: Mutex::default() }
    }

    /// The outcome for this source and these trees.
    pub(crate) fn get(
        &self,
        key: SourceKey,
        root: ObjectId,
        given: &Given,
        refs: &RefRoots,
    ) -> Option<Arc<Outcome>> {
        let mut state = self.state.lock().expect("nobody panics while looking up");
        state.touch(key);
        let outcomes = &state.sources.get(&key)?.outcomes;
        let fits = |(tree, outcome): &&(ObjectId, Arc<Outcome>)| {
            *tree == root && outcome.refs == *refs && outcome.was_given(given)
        };
        outcomes.iter().find(fits).map(|(_, outcome)| Arc::clone(outcome))
    }

    /// The newest outcome for this source, whatever its tree.
    pub(crate) fn newest(&self, key: SourceKey) -> Option<(ObjectId, Arc<Outcome>)> {
        let state = self.state.lock().expect("nobody panics while looking up");
        state.sources.get(&key)?.outcomes.last().cloned()
    }

    /// Remembers an outcome, the same one for several trees if need be.
    pub(crate) fn insert(&self, key: SourceKey, root: ObjectId, outcome: Arc<Outcome>) {
        if outcome.bytes > self.budget {
            return;
        }
        let mut state = self.state.lock().expect("nobody panics while looking up");
        state.put(key, root, outcome);
        state.touch(key);
        state.shrink_to(self.budget);
    }

    /// The newest outcome of a source counts for one more tree. Nobody uses it
    /// by that: when it has to go stays as it was.
    pub(crate) fn also_for(&self, key: SourceKey, root: ObjectId, outcome: Arc<Outcome>) {
        let mut state = self.state.lock().expect("nobody panics while looking up");
        let newest = state.sources.get(&key).and_then(|it| it.outcomes.last());
        // Otherwise somebody rendered another one in the meantime, or it is forgotten.
        if newest.is_some_and(|(_, newest)| Arc::ptr_eq(newest, &outcome)) {
            state.put(key, root, outcome);
        }
    }

    /// Forgets a source: a hard refresh.
    pub(crate) fn remove(&self, key: SourceKey) {
        self.state.lock().expect("nobody panics while looking up").remove(key);
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.state.lock().unwrap().bytes
    }
}

impl Source {
    /// An outcome shared by several trees counts once.
    fn bytes(&self) -> usize {
        let is_new = |(at, (_, outcome)): &(usize, &(ObjectId, Arc<Outcome>))| {
            !self.outcomes[..*at].iter().any(|(_, earlier)| Arc::ptr_eq(earlier, outcome))
        };
        let counted = self.outcomes.iter().enumerate().filter(is_new);
        counted.map(|(_, (_, outcome))| outcome.bytes).sum()
    }
}

impl State {
    fn put(&mut self, key: SourceKey, root: ObjectId, outcome: Arc<Outcome>) {
        let source =
            self.sources.entry(key).or_insert_with(|| Source { outcomes: vec![], used: 0 });
        self.bytes -= source.bytes();
        source.outcomes.retain(|(tree, _)| *tree != root);
        if source.outcomes.len() == TREES_PER_SOURCE {
            source.outcomes.remove(0);
        }
        source.outcomes.push((root, outcome));
        self.bytes += source.bytes();
    }

    fn touch(&mut self, key: SourceKey) {
        let Some(source) = self.sources.get_mut(&key) else { return };
        self.by_use.remove(&source.used);
        self.clock += 1;
        source.used = self.clock;
        self.by_use.insert(self.clock, key);
    }

    fn shrink_to(&mut self, budget: usize) {
        while self.bytes > budget {
            let Some((_, key)) = self.by_use.first_key_value() else { return };
            self.remove(*key);
        }
    }

    fn remove(&mut self, key: SourceKey) {
        if let Some(source) = self.sources.remove(&key) {
            self.by_use.remove(&source.used);
            self.bytes -= source.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> SourceKey {
        SourceKey(Sha256::digest(name).into())
    }

    fn tree(digit: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[digit; 20])
    }

    fn given(digit: char) -> Given {
        Given {
            revision: digit.to_string(),
            repo_url: [0; 32],
            target_revision: String::new(),
            refs: BTreeMap::new(),
            capabilities: Arc::default(),
        }
    }

    fn outcome() -> Arc<Outcome> {
        outcome_of(Record::default())
    }

    fn outcome_of(record: Record) -> Arc<Outcome> {
        let manifests = Manifests { objects: Vec::new(), source_type: SourceType::Directory };
        Arc::new(Outcome::new(Ok(manifests), record, given('a'), RefRoots::new()))
    }

    fn get(cache: &RenderedCache, name: &str, digit: u8) -> Option<Arc<Outcome>> {
        cache.get(key(name), tree(digit), &given('b'), &RefRoots::new())
    }

    #[test]
    fn what_was_asked_for_must_be_the_same_and_nothing_else() {
        let cache = RenderedCache::new(10 * ENTRY_OVERHEAD);
        cache.insert(key("any"), tree(1), outcome());
        let asked = Record { revision: true, ..Record::default() };
        cache.insert(key("asked"), tree(1), outcome_of(asked));
        assert!(get(&cache, "any", 1).is_some());
        assert!(get(&cache, "asked", 1).is_none(), "another commit, and it was asked for");
        assert!(cache.get(key("asked"), tree(1), &given('a'), &RefRoots::new()).is_some());
        let other = RefRoots::from([("values".to_owned(), tree(2))]);
        assert!(cache.get(key("any"), tree(1), &given('a'), &other).is_none());
    }

    #[test]
    fn the_longest_unused_source_goes_first() {
        let cache = RenderedCache::new(2 * ENTRY_OVERHEAD);
        cache.insert(key("a"), tree(1), outcome());
        cache.insert(key("b"), tree(1), outcome());
        get(&cache, "a", 1).unwrap();
        cache.insert(key("c"), tree(1), outcome());
        assert!(get(&cache, "a", 1).is_some());
        assert!(get(&cache, "b", 1).is_none());
        assert_eq!(cache.bytes(), 2 * ENTRY_OVERHEAD);
    }

    #[test]
    fn what_counts_for_one_more_tree_was_not_used_by_that() {
        let cache = RenderedCache::new(2 * ENTRY_OVERHEAD);
        let first = outcome();
        cache.insert(key("a"), tree(1), Arc::clone(&first));
        cache.insert(key("b"), tree(1), outcome());
        cache.also_for(key("a"), tree(2), first);
        assert_eq!(cache.bytes(), 2 * ENTRY_OVERHEAD);
        cache.insert(key("c"), tree(1), outcome());
        assert!(get(&cache, "a", 2).is_none());
        assert!(get(&cache, "b", 1).is_some());
    }

    #[test]
    fn only_what_is_still_the_newest_counts_for_one_more_tree() {
        let cache = RenderedCache::new(10 * ENTRY_OVERHEAD);
        let first = outcome();
        cache.insert(key("a"), tree(1), Arc::clone(&first));
        cache.also_for(key("a"), tree(2), Arc::clone(&first));
        assert!(get(&cache, "a", 2).is_some());
        cache.insert(key("a"), tree(3), outcome());
        cache.also_for(key("a"), tree(4), Arc::clone(&first));
        assert!(get(&cache, "a", 4).is_none(), "another one was rendered");
        cache.remove(key("a"));
        cache.also_for(key("a"), tree(5), first);
        assert!(get(&cache, "a", 5).is_none(), "it is forgotten");
    }

    #[test]
    fn an_outcome_shared_by_trees_counts_once() {
        let cache = RenderedCache::new(10 * ENTRY_OVERHEAD);
        let shared = outcome();
        for digit in 0..10 {
            cache.insert(key("a"), tree(digit), Arc::clone(&shared));
        }
        assert_eq!(cache.bytes(), ENTRY_OVERHEAD);
        assert!(get(&cache, "a", 0).is_none(), "only the newest trees are kept");
        cache.remove(key("a"));
        assert_eq!(cache.bytes(), 0);
    }
}
