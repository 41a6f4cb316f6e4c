//! What holds however replicas come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::shards::{Clusters, Move, Owners, Peer, Replicas, Sight, assign, next_moves};
use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;

const LASTS: Duration = Duration::from_secs(15);

fn clusters() -> impl Strategy<Value = Clusters> {
    btree_map("[a-j]", option::weighted(0.2, 0..4_u32), 0..10)
}

fn replicas() -> impl Strategy<Value = Replicas> {
    btree_map("[u-z]", option::weighted(0.5, 0..4_u32), 0..5)
}

fn owners() -> impl Strategy<Value = Owners> {
    btree_map("[a-j]", "[u-z]", 0..10)
}

fn share(assigned: &Owners, replica: &str) -> usize {
    assigned.values().filter(|it| *it == replica).count()
}

/// The unpinned clusters whose living owner loses them.
fn moved(clusters: &Clusters, replicas: &Replicas, owners: &Owners, assigned: &Owners) -> usize {
    let moved = assigned.iter().filter(|(cluster, now)| {
        let before = owners.get(*cluster).filter(|it| replicas.contains_key(*it));
        clusters[*cluster].is_none() && before.is_some_and(|it| it != *now)
    });
    moved.count()
}

proptest! {
    #[test]
    fn every_cluster_has_one_owner_if_there_is_anybody(
        (clusters, replicas, owners) in (clusters(), replicas(), owners()),
    ) {
        let assigned = assign(&clusters, &replicas, &owners);
        if replicas.is_empty() {
            prop_assert!(assigned.is_empty());
        } else {
            prop_assert!(assigned.keys().eq(clusters.keys()));
            prop_assert!(assigned.values().all(|it| replicas.contains_key(it)));
        }
    }

    #[test]
    fn nobody_has_two_more_than_another_except_by_pins(
        (clusters, replicas, owners) in (clusters(), replicas(), owners()),
    ) {
        let assigned = assign(&clusters, &replicas, &owners);
        let free: BTreeSet<&String> = assigned
            .iter()
            .filter(|(cluster, _)| clusters[*cluster].is_none())
            .map(|(_, owner)| owner)
            .collect();
        for (many, few) in replicas.keys().flat_map(|a| replicas.keys().map(move |b| (a, b))) {
            let is_even = share(&assigned, many) <= share(&assigned, few) + 1;
            prop_assert!(is_even || !free.contains(many), "{many} and {few}: {assigned:?}");
        }
    }

    #[test]
    fn what_is_as_it_should_be_stays(
        (clusters, replicas, owners) in (clusters(), replicas(), owners()),
    ) {
        let assigned = assign(&clusters, &replicas, &owners);
        prop_assert_eq!(&assign(&clusters, &replicas, &assigned), &assigned);
    }

    #[test]
    fn whoever_leaves_moves_only_what_it_had(
        (clusters, replicas) in (clusters(), replicas()),
        owners in owners(),
    ) {
        let clusters: Clusters = clusters.into_keys().map(|it| (it, None)).collect();
        let before = assign(&clusters, &replicas, &owners);
        for gone in replicas.keys() {
            let mut rest = replicas.clone();
            rest.remove(gone);
            let after = assign(&clusters, &rest, &before);
            prop_assert_eq!(moved(&clusters, &rest, &before, &after), 0);
        }
    }

    #[test]
    fn whoever_comes_moves_its_share_and_no_more(
        (clusters, replicas) in (clusters(), replicas()),
        owners in owners(),
    ) {
        let clusters: Clusters = clusters.into_keys().map(|it| (it, None)).collect();
        prop_assume!(!replicas.is_empty());
        let before = assign(&clusters, &replicas, &owners);
        let mut more = replicas.clone();
        more.insert("new".into(), None);
        let after = assign(&clusters, &more, &before);
        prop_assert!(moved(&clusters, &more, &before, &after) <= clusters.len() / more.len());
    }

    /// Replicas act one after the other on what they see, some die, and the API
    /// server lets each write through: in the end everybody has what it should,
    /// and nobody ever took what a living one had.
    #[test]
    fn moves_lead_to_what_was_assigned(
        clusters in clusters(),
        (alive, dead, owners) in (replicas(), replicas(), owners()),
        order in any::<u64>(),
    ) {
        prop_assume!(!alive.is_empty());
        let dead: BTreeSet<String> =
            dead.into_keys().filter(|it| !alive.contains_key(it)).collect();
        let mut world = World { clusters, alive, dead, owners };
        let names: Vec<String> = world.alive.keys().cloned().collect();
        let mut turn = usize::try_from(order % 5).unwrap_or_default();
        for _ in 0..200 {
            turn += 1;
            world.act(&names[turn % names.len()]);
        }
        for name in &names {
            prop_assert_eq!(next_moves(&world.seen_by(name)), vec![]);
        }
        prop_assert!(world.dead.is_empty());
        prop_assert!(world.owners.keys().eq(world.clusters.keys()));
        prop_assert!(world.owners.values().all(|it| world.alive.contains_key(it)));
    }
}

struct World {
    clusters: Clusters,
    alive: Replicas,
    /// They have a lease, and no longer renew it.
    dead: BTreeSet<String>,
    owners: Owners,
}

impl World {
    fn seen_by(&self, own: &str) -> Sight {
        let alive = self.alive.iter().map(|(name, number)| {
            (name.clone(), Peer { number: *number, silent_for: Duration::ZERO, lasts: LASTS })
        });
        let dead = self
            .dead
            .iter()
            .map(|name| (name.clone(), Peer { number: None, silent_for: LASTS, lasts: LASTS }));
        let replicas: BTreeMap<String, Peer> = alive.chain(dead).collect();
        let (clusters, owners) = (self.clusters.clone(), self.owners.clone());
        Sight { own: own.into(), clusters, replicas, owners }
    }

    fn act(&mut self, own: &str) {
        let is_alive = |world: &Self, cluster: &String| {
            let owner = world.owners.get(cluster);
            owner.is_some_and(|it| world.alive.contains_key(it) || world.dead.contains(it))
        };
        for it in next_moves(&self.seen_by(own)) {
            match it {
                Move::Bury { replica } => assert!(self.dead.remove(&replica), "{replica} lives"),
                Move::Claim { cluster } => {
                    assert!(!is_alive(self, &cluster), "{own} takes {cluster}");
                    self.owners.insert(cluster, own.into());
                }
                Move::HandOver { cluster, to } => {
                    assert_eq!(self.owners[&cluster], own);
                    self.owners.insert(cluster, to);
                }
                Move::Forget { cluster } => {
                    assert!(!self.clusters.contains_key(&cluster));
                    self.owners.remove(&cluster);
                }
            }
        }
    }
}
