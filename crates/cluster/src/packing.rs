//! Bodies of objects, packed for the store.
//!
//! Objects of one kind say much the same: their field names, defaults and
//! annotations. The first body of a kind becomes its pattern, and every body is
//! kept as LZ4 with the pattern as its dictionary.
//!
//! Only what we packed ourselves is ever unpacked, so it is never in doubt.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use object::GroupKind;

/// Of a longer first body only this much is the pattern.
const LONGEST_PATTERN: usize = 8 * 1024;

/// A body as it is kept. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    packed: Arc<[u8]>,
    pattern: Arc<[u8]>,
}

impl Body {
    fn pack(pattern: Arc<[u8]>, body: &[u8]) -> Self {
        Self { packed: compress_prepend_size_with_dict(body, &pattern).into(), pattern }
    }

    /// The body as it was.
    pub(crate) fn unpack(&self) -> Vec<u8> {
        decompress_size_prepended_with_dict(&self.packed, &self.pattern)
            .expect("we packed it with this pattern")
    }
}

/// The patterns of all kinds, each made when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct Patterns(RwLock<HashMap<GroupKind, Arc<[u8]>>>);

impl Patterns {
    /// Packs a body of a kind; the first one of each becomes its pattern.
    pub(crate) fn pack(&self, kind: &GroupKind, body: &[u8]) -> Body {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(kind).cloned();
        let pattern = known.unwrap_or_else(|| {
            let mut patterns = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let first = || body[..body.len().min(LONGEST_PATTERN)].into();
            Arc::clone(patterns.entry(kind.clone()).or_insert_with(first))
        });
        Body::pack(pattern, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs texts of one kind; returns what each takes.
    #[track_caller]
    fn check(texts: &[&[u8]]) -> Vec<usize> {
        let patterns = Patterns::default();
        let kind = GroupKind::new("", "ConfigMap");
        let pack = |text: &&[u8]| {
            let body = patterns.pack(&kind, text);
            assert_eq!(body.unpack(), *text);
            body.packed.len()
        };
        texts.iter().map(pack).collect()
    }

    #[test]
    fn a_body_is_unpacked_as_it_was() {
        check(&[b"", b"a", b"abc", b"abcd", b"abcde"]);
        check(&[b"abcdabcdabcd", b"abcd", b"dabc", b""]);
        check(&[&[b'a'; 100_000], &[b'a'; 3], b"aaab"]);
    }

    #[test]
    fn what_the_first_body_says_costs_the_others_next_to_nothing() {
        let body = |name: &str| {
            format!(r#"{{"kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"a":"b"}}}}"#)
        };
        let (first, second) = (body("first"), body("other"));
        let sizes = check(&[first.as_bytes(), second.as_bytes()]);
        assert!(sizes[1] < first.len() / 2, "{sizes:?}");
    }
}
