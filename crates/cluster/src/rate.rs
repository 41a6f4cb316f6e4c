//! How fast an API server may be asked, where somebody limits that.
//!
//! Argo CD's variables count (`ARGOCD_K8S_CLIENT_QPS`, `ARGOCD_K8S_CLIENT_BURST`), for
//! each cluster by itself. Without them there is no limit: API servers have their own
//! fairness. Watches are not counted, they have waits of their own.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many requests a second, and so many at once after a rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RateLimit {
    per_second: f64,
    burst: f64,
}

impl RateLimit {
    pub(crate) fn of_environment() -> Option<Self> {
        let read = |name: &str| std::env::var(name).ok();
        Self::read(
            read("ARGOCD_K8S_CLIENT_QPS").as_deref(),
            read("ARGOCD_K8S_CLIENT_BURST").as_deref(),
        )
    }

    /// Without a burst it is twice the rate, as in Argo CD.
    fn read(per_second: Option<&str>, burst: Option<&str>) -> Option<Self> {
        let number = |text: &str| text.trim().parse().ok().filter(|it: &f64| *it > 0.0);
        let per_second = number(per_second?).filter(|it| it.is_finite())?;
        let burst = burst.and_then(number).unwrap_or(per_second * 2.0).max(1.0);
        Some(Self { per_second, burst })
    }
}

/// Hands out turns.
#[derive(Debug)]
pub(crate) struct Turns {
    limit: RateLimit,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Turns that are left; below zero, those that are promised.
    left: f64,
    at: Instant,
}

impl Turns {
    pub(crate) fn new(limit: RateLimit, now: Instant) -> Self {
        Self { limit, state: Mutex::new(State { left: limit.burst, at: now }) }
    }

    /// How long to wait before the next request. Each who asks has a turn of his own.
    pub(crate) fn next(&self, now: Instant) -> Duration {
        let RateLimit { per_second, burst } = self.limit;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let rested = now.saturating_duration_since(state.at).as_secs_f64() * per_second;
        state.left = (state.left + rested).min(burst) - 1.0;
        state.at = now;
        Duration::try_from_secs_f64((-state.left).max(0.0) / per_second).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(per_second: &str, burst: Option<&str>) -> Option<(f64, f64)> {
        RateLimit::read(Some(per_second), burst).map(|it| (it.per_second, it.burst))
    }

    #[test]
    fn a_limit_is_a_number_and_bursts_are_twice_that_unless_told() {
        assert_eq!(limit("50", None), Some((50.0, 100.0)));
        assert_eq!(limit("50", Some("60")), Some((50.0, 60.0)));
        assert_eq!(limit("0.1", None), Some((0.1, 1.0)));
        assert_eq!((limit("0", None), limit("many", None), limit("inf", None)), (None, None, None));
        assert_eq!(RateLimit::read(None, Some("60")), None);
    }

    #[test]
    fn a_burst_passes_at_once_and_the_rest_in_turn() {
        let begin = Instant::now();
        let turns = Turns::new(RateLimit { per_second: 10.0, burst: 2.0 }, begin);
        let waits: Vec<u128> = (0..4).map(|_| turns.next(begin).as_millis()).collect();
        assert_eq!(waits, [0, 0, 100, 200]);
        let later = begin + Duration::from_secs(10);
        assert_eq!(turns.next(later), Duration::ZERO, "a rest brings turns back");
    }
}
