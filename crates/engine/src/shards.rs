//! Who of several replicas looks after which cluster.
//!
//! Everybody sees the same leases and asks the same question, so nobody has to
//! be in charge: [`assign`] says who should have what, [`next_moves`] what one
//! replica does about it now. That no cluster ever has two owners is not decided
//! here but by the API server, which lets one of two writers through; what is
//! decided here is never to ask for what somebody living has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Clusters by address, each with the number of the replica it is pinned to.
pub type Clusters = BTreeMap<String, Option<u32>>;
/// Replicas by name, each with the number it announces.
pub type Replicas = BTreeMap<String, Option<u32>>;
/// Replicas' names by cluster.
pub type Owners = BTreeMap<String, String>;

/// Who should own what: every cluster somebody, unless there is nobody.
///
/// A cluster is its pin's, where a replica has that number. All others stay
/// where they are as far as that is even: no replica has two more than another,
/// except by pins.
#[must_use]
pub fn assign(clusters: &Clusters, replicas: &Replicas, owners: &Owners) -> Owners {
    let numbered = numbered(replicas);
    let pinned_to = |pin: &Option<u32>| numbered.get(&(*pin)?).copied();
    let mut shares: BTreeMap<&str, Share<'_>> =
        replicas.keys().map(|it| (it.as_str(), Share::default())).collect();
    let mut homeless = Vec::new();
    for (cluster, pin) in clusters {
        let pinned = pinned_to(pin);
        let owner = pinned.or_else(|| owners.get(cluster).map(String::as_str));
        match owner.and_then(|it| shares.get_mut(it)) {
            Some(share) if pinned.is_some() => share.pinned.push(cluster),
            Some(share) => share.free.push(cluster),
            None => homeless.push(cluster),
        }
    }
    for cluster in homeless {
        if let Some(least) = least(&shares) {
            shares.entry(least).or_default().free.push(cluster);
        }
    }
    while let Some((most, least)) = imbalance(&shares) {
        let moved = shares.entry(most).or_default().free.pop();
        shares.entry(least).or_default().free.extend(moved);
    }
    let owned = shares.into_iter().flat_map(|(replica, share)| {
        let clusters = share.pinned.into_iter().chain(share.free);
        clusters.map(move |cluster| (cluster.to_owned(), replica.to_owned()))
    });
    owned.collect()
}

#[derive(Default)]
struct Share<'c> {
    pinned: Vec<&'c str>,
    free: Vec<&'c str>,
}

impl Share<'_> {
    fn size(&self) -> usize {
        self.pinned.len() + self.free.len()
    }
}

fn least<'r>(shares: &BTreeMap<&'r str, Share<'_>>) -> Option<&'r str> {
    shares.iter().min_by_key(|(name, it)| (it.size(), **name)).map(|(name, _)| *name)
}

/// Who has too many, and who too few.
fn imbalance<'r>(shares: &BTreeMap<&'r str, Share<'_>>) -> Option<(&'r str, &'r str)> {
    let (least, few) = shares.iter().min_by_key(|(name, it)| (it.size(), **name))?;
    let may_give = shares.iter().filter(|(_, it)| !it.free.is_empty());
    let (most, many) = may_give.max_by_key(|(name, it)| (it.size(), **name))?;
    (many.size() > few.size() + 1).then_some((*most, *least))
}

/// Replicas by number: what they announce, the first by name where two announce
/// the same; the others get what is left, from zero.
fn numbered(replicas: &Replicas) -> BTreeMap<u32, &str> {
    let mut numbered: BTreeMap<u32, &str> = BTreeMap::new();
    let mut others = Vec::new();
    for (name, announced) in replicas {
        match announced {
            Some(number) if !numbered.contains_key(number) => {
                numbered.insert(*number, name);
            }
            Some(_) | None => others.push(name),
        }
    }
    let free: Vec<u32> = (0..).filter(|it| !numbered.contains_key(it)).take(others.len()).collect();
    numbered.extend(free.into_iter().zip(others.into_iter().map(String::as_str)));
    numbered
}

/// What one replica sees of the leases.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Its own name.
    pub own: String,
    /// The clusters that the settings name.
    pub clusters: Clusters,
    /// Every replica that has a lease, itself included.
    pub replicas: BTreeMap<String, Peer>,
    /// Whose name stands in the lease of each cluster, alive or not.
    pub owners: Owners,
}

/// A replica as another sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// The number it announces.
    pub number: Option<u32>,
    /// How long its lease has not changed, by the observer's own clock.
    pub silent_for: Duration,
    /// How long its lease lasts.
    pub lasts: Duration,
}

impl Peer {
    fn is_overdue(&self) -> bool {
        self.silent_for >= self.lasts
    }
}

/// One write of a lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Move {
    /// Take a replica's lease away that it has not renewed: it has stopped by now.
    Bury {
        /// Its name.
        replica: String,
    },
    /// Put the own name into the lease of a cluster that has no living owner.
    Claim {
        /// Its address.
        cluster: String,
    },
    /// Finish what is under way, then put another's name into the lease.
    HandOver {
        /// The cluster's address.
        cluster: String,
        /// Who gets it.
        to: String,
    },
    /// Remove the lease of a cluster that nobody names any more.
    Forget {
        /// Its address.
        cluster: String,
    },
}

/// What this replica does now. Nothing where all is as it should be.
#[must_use]
pub fn next_moves(sight: &Sight) -> Vec<Move> {
    let own = &sight.own;
    if !sight.replicas.contains_key(own) {
        // Whoever has no lease has no say.
        return Vec::new();
    }
    let (dead, living): (BTreeMap<_, _>, BTreeMap<_, _>) =
        sight.replicas.iter().partition(|(name, it)| *name != own && it.is_overdue());
    let mut moves: Vec<Move> =
        dead.keys().map(|it| Move::Bury { replica: (*it).clone() }).collect();
    let replicas: Replicas =
        living.into_iter().map(|(name, it)| (name.clone(), it.number)).collect();
    let should = assign(&sight.clusters, &replicas, &sight.owners);
    for (cluster, wanted) in &should {
        match sight.owners.get(cluster).filter(|it| sight.replicas.contains_key(*it)) {
            None if wanted == own => moves.push(Move::Claim { cluster: cluster.clone() }),
            Some(owner) if owner == own && wanted != own => {
                moves.push(Move::HandOver { cluster: cluster.clone(), to: wanted.clone() });
            }
            // Also what a dead replica has, until its lease is gone.
            None | Some(_) => {}
        }
    }
    let named: BTreeSet<&String> = sight.clusters.keys().collect();
    let unnamed = sight.owners.iter().filter(|(cluster, _)| !named.contains(cluster));
    let ours = unnamed.filter(|(_, owner)| *owner == own || !sight.replicas.contains_key(*owner));
    moves.extend(ours.map(|(cluster, _)| Move::Forget { cluster: cluster.clone() }));
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs<T>(text: &str, read: impl Fn(&str) -> T) -> BTreeMap<String, T> {
        let words = text.split_whitespace();
        words
            .map(|it| it.split_once('=').unwrap_or((it, "")))
            .map(|(a, b)| (a.into(), read(b)))
            .collect()
    }

    /// `c=1` pins a cluster, `r=1` numbers a replica, `c=r` is who has what.
    #[track_caller]
    fn check(clusters: &str, replicas: &str, owners: &str, expect: &str) {
        let number = |it: &str| it.parse().ok();
        let assigned = assign(
            &pairs(clusters, number),
            &pairs(replicas, number),
            &pairs(owners, str::to_owned),
        );
        let assigned: Vec<String> = assigned.iter().map(|(a, b)| format!("{a}={b}")).collect();
        assert_eq!(assigned.join(" "), expect);
    }

    #[test]
    fn clusters_are_spread_evenly() {
        check("a b c d", "x y", "", "a=x b=y c=x d=y");
        check("a b c", "x", "", "a=x b=x c=x");
        check("a b", "", "a=x", "");
    }

    #[test]
    fn what_a_replica_had_goes_to_the_others_and_nothing_else_moves() {
        check("a b c d", "x z", "a=x b=y c=z d=x", "a=x b=z c=z d=x");
    }

    #[test]
    fn a_newcomer_gets_its_share() {
        check("a b c d", "x y", "a=x b=x c=x d=x", "a=x b=x c=y d=y");
    }

    #[test]
    fn a_pin_is_kept_where_a_replica_has_that_number() {
        check("a=1 b=1 c=1 d", "x=0 y=1", "", "a=y b=y c=y d=x");
        check("a=1 b=1", "x y", "a=x b=x", "a=y b=y");
        check("a=7 b", "x=0 y=1", "", "a=x b=y");
    }

    #[test]
    fn two_who_announce_the_same_number_are_told_apart() {
        check("a=0 b=1", "x=0 y=0", "", "a=x b=y");
    }

    /// `r` is alive, `r!` has been silent for too long; `moves` of the replica `x`.
    #[track_caller]
    fn check_moves(clusters: &str, replicas: &str, owners: &str, expect: &[Move]) {
        let peer = |name: &str| {
            let silent_for = Duration::from_secs(if name.ends_with('!') { 15 } else { 14 });
            let peer = Peer { number: None, silent_for, lasts: Duration::from_secs(15) };
            (name.trim_end_matches('!').to_owned(), peer)
        };
        let sight = Sight {
            own: "x".into(),
            clusters: pairs(clusters, |_| None),
            replicas: replicas.split_whitespace().map(peer).collect(),
            owners: pairs(owners, str::to_owned),
        };
        assert_eq!(next_moves(&sight), expect);
    }

    fn claim(cluster: &str) -> Move {
        Move::Claim { cluster: cluster.into() }
    }

    #[test]
    fn what_nobody_has_is_claimed_by_whom_it_should_be() {
        check_moves("a b", "x y", "", &[claim("a")]);
        check_moves("a b", "x", "", &[claim("a"), claim("b")]);
        check_moves("a b", "x y", "a=x b=y", &[]);
    }

    #[test]
    fn a_silent_replica_is_buried_before_anything_of_it_is_taken() {
        let bury = Move::Bury { replica: "y".into() };
        check_moves("a b", "x y!", "a=x b=y", &[bury]);
        check_moves("a b", "x", "a=x b=y", &[claim("b")]);
    }

    #[test]
    fn nobody_buries_itself_and_who_has_no_lease_does_nothing() {
        check_moves("a", "x!", "a=x", &[]);
        check_moves("a", "y", "", &[]);
    }

    #[test]
    fn a_newcomer_is_given_and_does_not_take() {
        let give = Move::HandOver { cluster: "b".into(), to: "y".into() };
        check_moves("a b", "x y", "a=x b=x", &[give]);
        check_moves("a b", "x w", "a=w b=w", &[]);
    }

    #[test]
    fn leases_of_clusters_that_are_gone_go_too() {
        let forget = |it: &str| Move::Forget { cluster: it.into() };
        check_moves("a", "x y", "a=x b=x c=y d=dead", &[forget("b"), forget("d")]);
    }
}
