//! Bodies of objects, packed for the store.
//!
//! Objects of one kind say much the same: their field names, defaults and
//! annotations. The first body of a kind becomes its [`Pattern`], and every body
//! is kept as what it adds to the pattern and repeats of it and of itself. A
//! packed body is a row of pieces: so many bytes as they are, then so many
//! copied from so far back, where the pattern lies right before the body.
//!
//! Only what we packed ourselves is ever unpacked, so it is never in doubt.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use object::GroupKind;

/// Of a longer first body only this much is the pattern.
const LONGEST_PATTERN: usize = 8 * 1024;
/// A copy shorter than this would take more room than the bytes.
const SHORTEST_COPY: usize = 4;
/// Half of a piece's first byte: a count from here on goes on behind it.
const FULL: usize = 15;
const TABLE_BITS: u32 = 12;

/// A body as it is kept. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    packed: Arc<[u8]>,
    pattern: Arc<Pattern>,
}

/// What bodies of a kind have in common.
#[derive(Debug)]
pub(crate) struct Pattern {
    text: Box<[u8]>,
    /// Where four bytes were last seen, by their hash.
    seen: Positions,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

/// Positions of which only the last 16 bits are kept: that is as far back as a copy reaches.
type Positions = Box<[u16; 1 << TABLE_BITS]>;

/// The patterns of all kinds, each made when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct Patterns(RwLock<HashMap<GroupKind, Arc<Pattern>>>);

impl Patterns {
    /// Packs a body of a kind; the first one of each becomes its pattern.
    pub(crate) fn pack(&self, kind: &GroupKind, body: &[u8]) -> Body {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(kind).cloned();
        let pattern = known.unwrap_or_else(|| {
            let mut patterns = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let first = || Arc::new(Pattern::of(body));
            Arc::clone(patterns.entry(kind.clone()).or_insert_with(first))
        });
        Body::pack(pattern, body)
    }
}

impl Pattern {
    fn of(body: &[u8]) -> Self {
        let text = Box::<[u8]>::from(&body[..body.len().min(LONGEST_PATTERN)]);
        let mut seen: Positions = Box::new([0; 1 << TABLE_BITS]);
        for at in 0..text.len().saturating_sub(SHORTEST_COPY) {
            seen[slot(four(&text, at))] = low(at);
        }
        Self { text, seen }
    }
}

impl Body {
    fn pack(pattern: Arc<Pattern>, body: &[u8]) -> Self {
        let mut text = Vec::with_capacity(pattern.text.len() + body.len());
        text.extend_from_slice(&pattern.text);
        text.extend_from_slice(body);
        let mut packed = Vec::with_capacity(body.len() / 2);
        push_count(&mut packed, body.len());
        push_pieces(&mut packed, &text, pattern.text.len(), pattern.seen.clone());
        Self { packed: packed.into(), pattern }
    }

    /// The body as it was.
    pub(crate) fn unpack(&self) -> Vec<u8> {
        let mut rest = &*self.packed;
        let before = &self.pattern.text;
        let whole = before.len() + take_count(&mut rest);
        let mut text = Vec::with_capacity(whole);
        text.extend_from_slice(before);
        while text.len() < whole {
            let head = usize::from(take_byte(&mut rest));
            let count = take_rest(&mut rest, head >> 4);
            let (plain, behind) = rest.split_at(count);
            text.extend_from_slice(plain);
            rest = behind;
            if text.len() < whole {
                let back =
                    usize::from(u16::from_le_bytes([take_byte(&mut rest), take_byte(&mut rest)]));
                let count = take_rest(&mut rest, head & FULL) + SHORTEST_COPY;
                repeat(&mut text, back, count);
            }
        }
        text.drain(..before.len());
        text
    }
}

/// Writes what follows `begin` in `text` as pieces.
fn push_pieces(packed: &mut Vec<u8>, text: &[u8], begin: usize, mut seen: Positions) {
    let (mut at, mut plain_from) = (begin, begin);
    while at + SHORTEST_COPY <= text.len() {
        let here = four(text, at);
        let last = std::mem::replace(&mut seen[slot(here)], low(at));
        let back = usize::from(low(at).wrapping_sub(last));
        if back == 0 || back > at || four(text, at - back) != here {
            // What does not repeat for a while will not for a while longer.
            at += 1 + ((at - plain_from) >> 6);
            continue;
        }
        let count =
            SHORTEST_COPY + common(&text[at - back + SHORTEST_COPY..], &text[at + SHORTEST_COPY..]);
        push_piece(packed, &text[plain_from..at], Some((back, count)));
        at += count;
        plain_from = at;
    }
    if plain_from < text.len() {
        push_piece(packed, &text[plain_from..], None);
    }
}

fn push_piece(packed: &mut Vec<u8>, plain: &[u8], copy: Option<(usize, usize)>) {
    let more = copy.map_or(0, |(_, count)| count - SHORTEST_COPY);
    let head = plain.len().min(FULL) << 4 | more.min(FULL);
    packed.push(u8::try_from(head).expect("two halves of a byte"));
    push_rest(packed, plain.len());
    packed.extend_from_slice(plain);
    if let Some((back, _)) = copy {
        packed.extend_from_slice(&low(back).to_le_bytes());
        push_rest(packed, more);
    }
}

/// What of a count did not fit into its half of a byte.
fn push_rest(packed: &mut Vec<u8>, count: usize) {
    if count >= FULL {
        push_count(packed, count - FULL);
    }
}

fn take_rest(rest: &mut &[u8], half: usize) -> usize {
    if half < FULL { half } else { FULL + take_count(rest) }
}

/// Seven bits a byte; all but the last have the eighth.
fn push_count(packed: &mut Vec<u8>, mut count: usize) {
    while count >= 0x80 {
        packed.push(0x80 | lowest(count));
        count >>= 7;
    }
    packed.push(lowest(count));
}

fn take_count(rest: &mut &[u8]) -> usize {
    let (mut count, mut shift) = (0, 0);
    loop {
        let byte = usize::from(take_byte(rest));
        count |= (byte & 0x7f) << shift;
        if byte < 0x80 {
            return count;
        }
        shift += 7;
    }
}

fn take_byte(rest: &mut &[u8]) -> u8 {
    let (first, behind) = rest.split_first().expect("we packed it to its end");
    *rest = behind;
    *first
}

/// Appends `count` bytes of what begins `back` bytes before the end, and may reach beyond it.
fn repeat(text: &mut Vec<u8>, back: usize, count: usize) {
    let from = text.len() - back;
    let mut left = count;
    while left > 0 {
        let chunk = left.min(text.len() - from);
        text.extend_from_within(from..from + chunk);
        left -= chunk;
    }
}

/// How many bytes two texts have in common at their begin.
fn common(one: &[u8], other: &[u8]) -> usize {
    let eights = one.chunks_exact(8).zip(other.chunks_exact(8));
    let same = 8 * eights.take_while(|(one, other)| one == other).count();
    let rest = one[same..].iter().zip(&other[same..]);
    same + rest.take_while(|(one, other)| one == other).count()
}

fn four(text: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(text[at..at + 4].try_into().expect("four bytes"))
}

fn slot(four: u32) -> usize {
    (four.wrapping_mul(2_654_435_761) >> (u32::BITS - TABLE_BITS)) as usize
}

fn low(position: usize) -> u16 {
    let [one, two, ..] = position.to_le_bytes();
    u16::from_le_bytes([one, two])
}

fn lowest(count: usize) -> u8 {
    count.to_le_bytes()[0]
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

    /// Bytes without any order, the same every time.
    fn noise(count: usize, mut state: u32) -> Vec<u8> {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_body_is_unpacked_as_it_was() {
        check(&[b"", b"a", b"abc", b"abcd", b"abcde"]);
        check(&[b"abcdabcdabcd", b"abcd", b"dabc", b""]);
        check(&[&[b'a'; 100_000], &[b'a'; 3], b"aaab"]);
    }

    #[test]
    fn every_length_around_the_limits_of_a_count_is_unpacked_as_it_was() {
        for length in (0..40).chain(140..160).chain(16_500..16_520) {
            let plain = noise(length, 1);
            let copied = vec![b'x'; length];
            check(&[&plain, &copied, &[plain.clone(), copied.clone(), plain.clone()].concat()]);
        }
    }

    #[test]
    fn what_lies_farther_back_than_a_copy_reaches_is_unpacked_as_it_was() {
        let (block, gap) = (noise(300, 7), noise(65_536 - 300, 8));
        for shift in 0..4 {
            let text = [&block[..], &gap[shift..], &block, &block].concat();
            check(&[b"something else", &text]);
            check(&[&text, &text]);
        }
    }

    #[test]
    fn what_the_first_body_says_costs_the_others_next_to_nothing() {
        let body = |name: &str| {
            format!(r#"{{"kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"a":"b"}}}}"#)
        };
        let (first, second) = (body("first"), body("other"));
        let sizes = check(&[first.as_bytes(), second.as_bytes()]);
        assert!(sizes[1] < 20, "{sizes:?}");
    }

    #[test]
    fn what_does_not_repeat_grows_by_a_few_bytes_at_most() {
        let text = noise(10_000, 3);
        let sizes = check(&[b"pattern", &text]);
        assert!(sizes[1] < text.len() + 10, "{sizes:?}");
    }
}
