//! One copy of what several parts of a process hold.
//!
//! Each of them learns of a value by itself, parsed anew; whoever brings one that another still holds
//! in the same state shares that one, and drops its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// See the module's comment.
pub struct OneCopy<K, V>(Mutex<Held<K, V>>);

struct Held<K, V> {
    latest: BTreeMap<K, Weak<V>>,
    /// When so many are known, those that nobody holds any more are forgotten.
    look_around_at: usize,
}

const FIRST_LOOK_AROUND: usize = 64;

impl<K, V> Default for OneCopy<K, V> {
    fn default() -> Self {
        Self(Mutex::new(Held { latest: BTreeMap::new(), look_around_at: FIRST_LOOK_AROUND }))
    }
}

impl<K: Ord, V> OneCopy<K, V> {
    /// The copy that somebody holds of this value, or this one for others to share.
    pub fn of(&self, key: K, value: V, is_same: impl FnOnce(&V, &V) -> bool) -> Arc<V> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = held.latest.get(&key).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|it| is_same(it, &value)) {
            return known;
        }
        if held.latest.len() >= held.look_around_at {
            held.latest.retain(|_, it| it.strong_count() > 0);
            held.look_around_at = FIRST_LOOK_AROUND.max(held.latest.len() * 2);
        }
        let value = Arc::new(value);
        held.latest.insert(key, Arc::downgrade(&value));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(copies: &OneCopy<&'static str, i32>, key: &'static str, value: i32) -> Arc<i32> {
        copies.of(key, value, |one, other| one == other)
    }

    #[test]
    fn who_brings_the_same_state_shares_it() {
        let copies = OneCopy::default();
        let first = of(&copies, "web", 7);
        assert!(Arc::ptr_eq(&first, &of(&copies, "web", 7)));
        let newer = of(&copies, "web", 8);
        assert_eq!((*first, *newer), (7, 8));
        assert!(Arc::ptr_eq(&newer, &of(&copies, "web", 8)));
        assert!(!Arc::ptr_eq(&newer, &of(&copies, "shop", 8)), "another key is another value");
    }

    #[test]
    fn what_nobody_holds_is_forgotten() {
        let copies = OneCopy::default();
        for value in 0..10_000 {
            drop(copies.of(value, value, |one, other| one == other));
        }
        let known = copies.0.lock().expect("nobody panicked").latest.len();
        assert!(known <= FIRST_LOOK_AROUND, "{known}");
    }
}
