//! Who has an eye on a cluster: it is watched for as long as somebody attends to it, and a while longer.
//!
//! A cluster that nobody attends to rests: it is connected, and what it serves is
//! known, but it has no watches and its store is empty. Whoever attends to it
//! again waits for the first lists.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Resting,
    /// Somebody attends to it; the watches have not all begun.
    Waking,
    Watching,
}

pub(crate) struct Attention {
    state: Mutex<State>,
    changed: Notify,
    /// How long it is watched after the last one has turned away: who looked may look again.
    lingers: Duration,
}

struct State {
    phase: Phase,
    attendants: usize,
    /// When the last one turned away.
    left: Instant,
}

impl Attention {
    /// Of a cluster that somebody attends to from the start, or nobody does.
    pub(crate) fn new(is_attended: bool, lingers: Duration) -> Self {
        let phase = if is_attended { Phase::Waking } else { Phase::Resting };
        let state = State { phase, attendants: 0, left: Instant::now() };
        Self { state: Mutex::new(state), changed: Notify::new(), lingers }
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.state().phase == Phase::Resting
    }

    pub(crate) fn is_watching(&self) -> bool {
        self.state().phase == Phase::Watching
    }

    /// One more attends. `wakes` is called if the cluster was resting, before anybody can take it for awake.
    pub(crate) fn come(&self, wakes: impl FnOnce()) {
        let mut state = self.state();
        state.attendants += 1;
        if state.phase == Phase::Resting {
            state.phase = Phase::Waking;
            wakes();
        }
        drop(state);
        self.changed.notify_one();
    }

    /// One has turned away.
    pub(crate) fn go(&self) {
        let mut state = self.state();
        state.attendants -= 1;
        state.left = Instant::now();
        drop(state);
        self.changed.notify_one();
    }

    /// All watches have begun.
    pub(crate) fn begun(&self) {
        let mut state = self.state();
        if state.phase == Phase::Waking {
            state.phase = Phase::Watching;
        }
    }

    /// Lets the cluster rest if it was left for long enough. `rests` is called then, before anybody can attend to it.
    pub(crate) fn rest(&self, rests: impl FnOnce()) {
        let mut state = self.state();
        let is_due = self.rests_at(&state).is_some_and(|it| it <= Instant::now());
        if state.phase == Phase::Watching && is_due {
            state.phase = Phase::Resting;
            rests();
        }
    }

    /// Ends when the watches should begin, or end.
    pub(crate) async fn turned(&self) {
        loop {
            let changed = self.changed.notified();
            let (phase, rests_at) = {
                let state = self.state();
                (state.phase, self.rests_at(&state))
            };
            match (phase, rests_at) {
                (Phase::Waking, _) => return,
                (Phase::Watching, Some(at)) if at <= Instant::now() => return,
                (Phase::Watching, Some(at)) => drop(tokio::time::timeout_at(at, changed).await),
                (Phase::Watching, None) | (Phase::Resting, _) => changed.await,
            }
        }
    }

    fn rests_at(&self, state: &State) -> Option<Instant> {
        (state.attendants == 0).then(|| state.left + self.lingers)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures::FutureExt as _;

    use super::*;

    const LINGERS: Duration = Duration::from_secs(300);

    fn watching() -> Attention {
        let attention = Attention::new(true, LINGERS);
        attention.come(|| unreachable!("it was awake"));
        attention.begun();
        attention
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_attended_to_never_rests() {
        let attention = watching();
        tokio::time::advance(LINGERS * 100).await;
        assert!(attention.turned().now_or_never().is_none());
        attention.rest(|| unreachable!("somebody is there"));
        assert!(attention.is_watching());
    }

    #[tokio::test(start_paused = true)]
    async fn a_while_after_the_last_has_turned_away_it_rests() {
        let (attention, began) = (watching(), Instant::now());
        attention.come(|| unreachable!("it was awake"));
        attention.go();
        attention.go();
        attention.turned().await;
        assert_eq!(began.elapsed(), LINGERS);
        let rested = Cell::new(false);
        attention.rest(|| rested.set(true));
        assert!(rested.get() && attention.is_resting());
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_back_in_time_finds_it_awake() {
        let attention = watching();
        attention.go();
        tokio::time::advance(LINGERS - Duration::from_secs(1)).await;
        attention.come(|| unreachable!("it was awake"));
        tokio::time::advance(LINGERS).await;
        assert!(attention.turned().now_or_never().is_none());
        attention.go();
        assert!(attention.turned().now_or_never().is_none(), "the time begins anew");
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_who_comes_wakes_it() {
        let (attention, woken) = (Attention::new(false, LINGERS), Cell::new(0));
        assert!(attention.turned().now_or_never().is_none());
        attention.come(|| woken.set(woken.get() + 1));
        attention.come(|| woken.set(woken.get() + 1));
        assert_eq!(woken.get(), 1);
        assert!(attention.turned().now_or_never().is_some());
        assert!(!attention.is_watching(), "not before the watches have begun");
        attention.begun();
        assert!(attention.is_watching());
    }
}
