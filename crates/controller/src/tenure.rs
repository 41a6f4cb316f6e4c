//! Which clusters this replica looks after, and until when.
//!
//! Every pass asks here first, and ends here: when a cluster is lost, or our
//! lease could run out before we hear that it was renewed, the pass is cut off
//! where it is, as a crash would, and whoever comes next goes on from what is
//! stored. Whoever runs alone has everything, for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

pub(crate) struct Tenure {
    held: watch::Sender<Held>,
    /// How many passes each cluster has under way.
    busy: Mutex<BTreeMap<String, usize>>,
    ended: Notify,
}

#[derive(Clone, Debug)]
enum Held {
    Everything,
    Leased {
        until: Instant,
        clusters: BTreeSet<String>,
        /// About to be handed over: what is under way goes on, nothing begins.
        leaving: BTreeSet<String>,
        /// About to be handed over, and what was under way took too long.
        cut_off: BTreeSet<String>,
    },
}

impl Held {
    fn may_go_on(&self, cluster: &str, now: Instant) -> bool {
        match self {
            Self::Everything => true,
            Self::Leased { until, clusters, cut_off, .. } => {
                now < *until && clusters.contains(cluster) && !cut_off.contains(cluster)
            }
        }
    }

    fn may_begin(&self, cluster: &str, now: Instant) -> bool {
        let is_leaving = matches!(self, Self::Leased { leaving, .. } if leaving.contains(cluster));
        !is_leaving && self.may_go_on(cluster, now)
    }

    fn until(&self) -> Option<Instant> {
        match self {
            Self::Everything => None,
            Self::Leased { until, .. } => Some(*until),
        }
    }
}

impl Tenure {
    /// Of a replica that runs alone.
    pub(crate) fn of_everything() -> Self {
        Self::new(Held::Everything)
    }

    /// Of a replica that has to hold leases, and holds none yet.
    pub(crate) fn by_leases() -> Self {
        Self::new(Held::Leased {
            until: Instant::now(),
            clusters: BTreeSet::new(),
            leaving: BTreeSet::new(),
            cut_off: BTreeSet::new(),
        })
    }

    fn new(held: Held) -> Self {
        Self { held: watch::Sender::new(held), busy: Mutex::default(), ended: Notify::new() }
    }

    /// May others look after some of the clusters?
    pub(crate) fn is_shared(&self) -> bool {
        matches!(*self.held.borrow(), Held::Leased { .. })
    }

    /// Is this cluster ours at the moment?
    pub(crate) fn has(&self, cluster: &str) -> bool {
        self.held.borrow().may_go_on(cluster, Instant::now())
    }

    /// Begins a pass over an Application of the cluster; none if it is not ours.
    pub(crate) fn begin(&self, cluster: &str) -> Option<Turn<'_>> {
        // Counted before it is asked: who hands the cluster over sees one or the other.
        *self.busy().entry(cluster.to_owned()).or_default() += 1;
        let turn = Turn { tenure: self, cluster: cluster.to_owned() };
        self.held.borrow().may_begin(cluster, Instant::now()).then_some(turn)
    }

    /// Our lease is good until then. Says whether it had run out before.
    pub(crate) fn extend(&self, new: Instant) -> bool {
        let mut had_lapsed = false;
        self.change(|held| {
            let Held::Leased { until, .. } = held else { return };
            had_lapsed = *until <= Instant::now();
            *until = new;
        });
        had_lapsed
    }

    /// Takes a cluster in; whether it is new.
    pub(crate) fn gain(&self, cluster: &str) -> bool {
        let mut is_new = false;
        self.change(|held| {
            let Held::Leased { clusters, .. } = held else { return };
            is_new = clusters.insert(cluster.to_owned());
        });
        is_new
    }

    pub(crate) fn lose(&self, cluster: &str) {
        self.change(|held| {
            let Held::Leased { clusters, leaving, cut_off, .. } = held else { return };
            for it in [clusters, leaving, cut_off] {
                it.remove(cluster);
            }
        });
    }

    pub(crate) fn lose_everything(&self) {
        self.change(|held| {
            let Held::Leased { clusters, leaving, cut_off, .. } = held else { return };
            for it in [clusters, leaving, cut_off] {
                it.clear();
            }
        });
    }

    /// All clusters that were not lost, whether our lease is good or not.
    pub(crate) fn clusters(&self) -> BTreeSet<String> {
        match &*self.held.borrow() {
            Held::Everything => BTreeSet::new(),
            Held::Leased { clusters, .. } => clusters.clone(),
        }
    }

    /// Begins nothing more on the cluster and waits until nothing is under way;
    /// after `patience` what still is gets cut off.
    pub(crate) async fn finish(&self, cluster: &str, patience: Duration) {
        self.change(|held| {
            let Held::Leased { leaving, .. } = held else { return };
            leaving.insert(cluster.to_owned());
        });
        if tokio::time::timeout(patience, self.idle(cluster)).await.is_err() {
            self.change(|held| {
                let Held::Leased { cut_off, .. } = held else { return };
                cut_off.insert(cluster.to_owned());
            });
            self.idle(cluster).await;
        }
    }

    async fn idle(&self, cluster: &str) {
        loop {
            let ended = self.ended.notified();
            let mut ended = pin!(ended);
            ended.as_mut().enable();
            if !self.busy().contains_key(cluster) {
                return;
            }
            ended.await;
        }
    }

    /// The cluster stays ours after all.
    pub(crate) fn stay(&self, cluster: &str) {
        self.change(|held| {
            let Held::Leased { leaving, cut_off, .. } = held else { return };
            leaving.remove(cluster);
            cut_off.remove(cluster);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Held)) {
        self.held.send_modify(change);
    }

    fn busy(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pass under way.
pub(crate) struct Turn<'t> {
    tenure: &'t Tenure,
    cluster: String,
}

impl Turn<'_> {
    /// Does the work as long as it may go on; none if it was cut off. The clock is
    /// read before every step, so that a process that was stopped for a while does
    /// not take another one first.
    pub(crate) async fn unless_lost<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let (mut lost, mut work) = (pin!(self.lost()), pin!(work));
        poll_fn(|context| {
            let is_lost = !self.tenure.has(&self.cluster);
            if is_lost || lost.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    }

    /// Ends when the pass may not go on.
    async fn lost(&self) {
        let mut held = self.tenure.held.subscribe();
        loop {
            let until = {
                let held = held.borrow_and_update();
                if !held.may_go_on(&self.cluster, Instant::now()) {
                    return;
                }
                held.until()
            };
            // The sender is in `self.tenure`: it does not go before us.
            match until {
                Some(until) => drop(tokio::time::timeout_at(until, held.changed()).await),
                None => std::future::pending().await,
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut busy = self.tenure.busy();
        if let Some(count) = busy.get_mut(&self.cluster) {
            *count -= 1;
            if *count == 0 {
                busy.remove(&self.cluster);
            }
        }
        drop(busy);
        self.tenure.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const LEASE: Duration = Duration::from_secs(10);

    fn holding(clusters: &[&str]) -> Tenure {
        let tenure = Tenure::by_leases();
        tenure.extend(Instant::now() + LEASE);
        for cluster in clusters {
            assert!(tenure.gain(cluster));
        }
        tenure
    }

    #[tokio::test(start_paused = true)]
    async fn who_runs_alone_has_everything_for_ever() {
        let tenure = Tenure::of_everything();
        let turn = tenure.begin("a").expect("everything is ours");
        tokio::time::advance(LEASE * 1000).await;
        assert!(turn.lost().now_or_never().is_none() && tenure.has("b"));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_begins_without_a_lease_or_after_it() {
        let tenure = holding(&["a"]);
        assert!(tenure.begin("a").is_some() && tenure.begin("b").is_none());
        tokio::time::advance(LEASE).await;
        assert!(tenure.begin("a").is_none());
        assert!(tenure.extend(Instant::now() + LEASE), "it had run out");
        assert!(!tenure.extend(Instant::now() + LEASE));
        assert!(tenure.begin("a").is_some(), "nobody else has taken it meanwhile");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_is_cut_off_when_the_lease_ends_and_not_when_it_is_renewed() {
        let tenure = holding(&["a"]);
        let began = Instant::now();
        let turn = tenure.begin("a").expect("ours");
        tenure.extend(began + LEASE * 2);
        turn.lost().await;
        assert_eq!(began.elapsed(), LEASE * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_is_cut_off_when_its_cluster_is_lost() {
        let tenure = holding(&["a", "b"]);
        let (a, b) = (tenure.begin("a").expect("ours"), tenure.begin("b").expect("ours"));
        tenure.lose("a");
        a.lost().await;
        assert!(b.lost().now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_under_way_is_finished_before_a_cluster_is_handed_over() {
        let tenure = holding(&["a"]);
        let turn = tenure.begin("a").expect("ours");
        let finish = tenure.finish("a", LEASE);
        let mut finish = std::pin::pin!(finish);
        assert!(finish.as_mut().now_or_never().is_none());
        assert!(tenure.begin("a").is_none(), "nothing new begins");
        assert!(turn.lost().now_or_never().is_none(), "what is under way goes on");
        drop(turn);
        assert!(finish.now_or_never().is_some());
        tenure.stay("a");
        assert!(tenure.begin("a").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_finish_in_time_is_cut_off() {
        let tenure = holding(&["a"]);
        tenure.extend(Instant::now() + LEASE * 10);
        let turn = tenure.begin("a").expect("ours");
        let work = async {
            turn.lost().await;
            drop(turn);
        };
        let began = Instant::now();
        tokio::join!(tenure.finish("a", LEASE), work);
        assert_eq!(began.elapsed(), LEASE);
    }
}
