//! Several replicas: who looks after which cluster is kept in Leases.
//!
//! A replica has one Lease, which it renews; a cluster has one, in which its
//! owner's name stands and which nobody renews. A name counts for as long as the
//! Lease of that name exists, so one write a heartbeat keeps any number of
//! clusters. The Lease of a replica that was silent for too long is deleted by
//! whoever notices, on condition that it has not changed: either the silent one
//! renewed it first and lives, or it is told so at its next renewal, and has
//! stopped by its own clock long before ([`STOPS_AFTER`]). Times of different
//! machines are never compared.
//!
//! Who should have what is decided in [`engine::shards`]; this file watches and
//! writes.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api::names::IN_CLUSTER_SERVER;
use cluster::{ApiKind, RequestError, Scope, Selector, WatchEvent};
use engine::shards::{Clusters, Move, Peer, Sight, next_moves};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use object::{GroupVersionKind, Object};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::Controller;
use crate::level::Level;
use crate::tenure::Tenure;

/// What a Lease is about, `replica` or `cluster`.
const LABEL: &str = "argosy.dev/lease";
/// The address of the cluster that a Lease is about.
const SERVER: &str = "argosy.dev/cluster-server";
/// The number that a replica announces, for clusters that are pinned to one.
const NUMBER: &str = "argosy.dev/shard";
const FIELD_MANAGER: &str = "argocd-controller";

/// A Lease lasts for so many heartbeats.
const LASTS: u32 = 3;
/// After so many heartbeats without an answer a replica takes it that it has
/// lost its Lease. What is left until others may think so is for requests
/// that are on their way.
const STOPS_AFTER: u32 = 2;
/// Passes under way have so many heartbeats to end before a cluster is handed over.
const PATIENCE: u32 = 6;
/// Where a write failed, it is not tried again at once.
const RETRY: Duration = Duration::from_millis(200);

/// How a replica shares the work with others.
#[derive(Clone, Debug)]
pub struct ReplicaOptions {
    /// What its Lease is named after; need not be unique.
    pub host: String,
    /// The number that clusters may be pinned to.
    pub number: Option<u32>,
    /// How often the Lease is renewed; it lasts for three times this.
    pub heartbeat: Duration,
}

/// Our own Lease.
#[derive(Default)]
pub(crate) struct Membership(Mutex<Option<String>>);

impl Membership {
    fn name(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, name: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = name;
    }
}

/// Takes part, if this replica shares the work. Does not end.
pub(crate) async fn take_part(controller: &Controller) {
    match &controller.options.replica {
        None => std::future::pending().await,
        Some(options) => tokio::join!(renew(controller, options), divide(controller, options)),
    };
}

/// Gives everything back: others need not wait.
pub(crate) async fn leave(controller: &Controller) {
    controller.tenure.lose_everything();
    let Some(name) = controller.membership.name() else { return };
    let namespace = &controller.options.namespace;
    if let Err(error) = controller.control_plane.delete(&lease_kind(), namespace, &name).await {
        let error = error.in_one_line();
        tracing::warn!(error, name, "could not give our Lease back; others wait until it is over");
    }
}

/// Does somebody share the work by Leases in this namespace?
///
/// # Errors
/// When the API server does not tell.
pub async fn are_in_use(client: &cluster::Client, namespace: &str) -> Result<bool, RequestError> {
    let replicas = Selector::labels(&format!("{LABEL}=replica"));
    Ok(!client.list(&lease_kind(), namespace, &replicas).await?.is_empty())
}

/// Keeps our Lease. Does not end.
async fn renew(controller: &Controller, options: &ReplicaOptions) {
    loop {
        let sent = Instant::now();
        let renewed = tokio::time::timeout(options.heartbeat, renew_once(controller, options));
        let wait = match renewed.await {
            Ok(Ok(())) => {
                if controller.tenure.extend(sent + options.heartbeat * STOPS_AFTER) {
                    // What was cut off when the Lease ran out goes on.
                    wake(controller, &controller.tenure.clusters());
                }
                options.heartbeat
            }
            Ok(Err(error)) if error.is_not_found() => {
                tracing::warn!("our Lease was taken away: we were silent for too long");
                controller.tenure.lose_everything();
                controller.membership.set(None);
                continue;
            }
            Ok(Err(error)) => {
                tracing::warn!(error = error.in_one_line(), "could not renew our Lease");
                options.heartbeat / 4
            }
            Err(_) => {
                tracing::warn!("the API server does not answer; our Lease is not renewed");
                Duration::ZERO
            }
        };
        tokio::time::sleep_until(sent + wait).await;
    }
}

async fn renew_once(controller: &Controller, options: &ReplicaOptions) -> Result<(), RequestError> {
    let (client, namespace) = (&controller.control_plane, &controller.options.namespace);
    if let Some(name) = controller.membership.name() {
        let patch = json!({"spec": {"renewTime": now(controller)}});
        return client.merge_patch(&lease_kind(), namespace, &name, None, &patch).await.map(drop);
    }
    let name = replica_name(&options.host, controller.options.random.next());
    let mut lease = lease(&name, "replica", &name);
    lease["spec"]["leaseDurationSeconds"] = json!((options.heartbeat * LASTS).as_secs().max(1));
    lease["spec"]["renewTime"] = json!(now(controller));
    if let Some(number) = options.number {
        lease["metadata"]["annotations"] = json!({NUMBER: number.to_string()});
    }
    client.create(&lease_kind(), namespace, &object(lease), FIELD_MANAGER).await?;
    tracing::info!(name, "takes part in looking after the clusters");
    controller.membership.set(Some(name));
    Ok(())
}

/// Sees to it that every cluster is somebody's. Does not end.
async fn divide(controller: &Controller, options: &ReplicaOptions) {
    let events = controller.control_plane.watch::<Lease>(
        &lease_kind(),
        Scope::Namespace(controller.options.namespace.clone()),
        Selector::labels(LABEL),
        controller.options.random.clone(),
    );
    let mut events = pin!(events);
    let mut settings = controller.settings.subscribe();
    let mut book = Book::default();
    let mut moving = BTreeSet::new();
    let mut underway = FuturesUnordered::new();
    loop {
        let sight = book.sight(controller, Instant::now());
        adopt(controller, &sight);
        let moves = if book.is_listed { next_moves(&sight) } else { Vec::new() };
        for wanted in moves {
            if moving.insert(wanted.clone()) {
                let lease = book.lease_of(&wanted);
                underway.push(carry_out(controller, options, wanted, lease));
            }
        }
        tokio::select! {
            Some(event) = events.next() => book.see(event, Instant::now()),
            Some((done, written)) = underway.next() => {
                moving.remove(&done);
                if let Some(lease) = written {
                    book.put(lease, Instant::now());
                }
            }
            changed = settings.changed() => if changed.is_err() { return },
            () = tokio::time::sleep_until(book.next_end(options.heartbeat)) => {}
        }
    }
}

/// What stands in the Leases is what we have.
fn adopt(controller: &Controller, sight: &Sight) {
    let ours = |it: &(&String, &String)| *it.1 == sight.own && !sight.own.is_empty();
    let ours: BTreeSet<String> =
        sight.owners.iter().filter(ours).map(|(cluster, _)| cluster.clone()).collect();
    for lost in controller.tenure.clusters().difference(&ours) {
        tracing::info!(cluster = lost, "another replica looks after a cluster");
        controller.tenure.lose(lost);
    }
    controller.destinations.attend_to(|server| ours.contains(server));
    let gained: BTreeSet<String> =
        ours.into_iter().filter(|it| controller.tenure.gain(it)).collect();
    if !gained.is_empty() {
        tracing::info!(clusters = ?gained, "looks after clusters");
        wake(controller, &gained);
    }
}

/// Everything on these clusters is looked at anew, by us.
fn wake(controller: &Controller, clusters: &BTreeSet<String>) {
    for app in controller.apps.all() {
        if clusters.contains(&controller.looked_after_with(&app)) {
            let level = Level::asked_by(None, &app).unwrap_or(Level::Polled);
            controller.queue.add(app.key(), level);
        }
    }
}

/// Carries a move out; the Lease as it is then, if it still is.
async fn carry_out(
    controller: &Controller,
    options: &ReplicaOptions,
    wanted: Move,
    lease: Option<Lease>,
) -> (Move, Option<Lease>) {
    let own = controller.membership.name().unwrap_or_default();
    let written = match (&wanted, lease) {
        (Move::Claim { cluster }, None) => claim_new(controller, cluster, &own).await.map(Some),
        (Move::Claim { .. }, Some(lease)) => give(controller, &lease, &own).await.map(Some),
        (Move::HandOver { cluster, to }, Some(lease)) => {
            controller.tenure.finish(cluster, options.heartbeat * PATIENCE).await;
            let given = give(controller, &lease, to).await.map(Some);
            if given.is_err() {
                controller.tenure.stay(cluster);
            }
            given
        }
        (Move::Bury { .. } | Move::Forget { .. }, Some(lease)) => {
            remove(controller, &lease).await.map(|()| None)
        }
        (Move::HandOver { .. } | Move::Bury { .. } | Move::Forget { .. }, None) => Ok(None),
    };
    match written {
        Ok(lease) => {
            tracing::info!(what = ?wanted, own, "divided the clusters");
            (wanted, lease)
        }
        Err(error) => {
            // Somebody was faster, or lives after all: the watch tells.
            let error = error.in_one_line();
            tracing::info!(what = ?wanted, error, "a Lease was not written");
            tokio::time::sleep(RETRY).await;
            (wanted, None)
        }
    }
}

async fn claim_new(
    controller: &Controller,
    server: &str,
    own: &str,
) -> Result<Lease, RequestError> {
    let mut lease = lease(&cluster_name(server), "cluster", own);
    lease["metadata"]["annotations"] = json!({SERVER: server});
    lease["spec"]["acquireTime"] = json!(now(controller));
    let (client, namespace) = (&controller.control_plane, &controller.options.namespace);
    let made = client.create(&lease_kind(), namespace, &object(lease), FIELD_MANAGER).await?;
    Ok(Lease::of(made))
}

/// Puts a name into the Lease of a cluster, unless it has changed since we saw it.
async fn give(controller: &Controller, lease: &Lease, to: &str) -> Result<Lease, RequestError> {
    let patch = json!({
        "metadata": {"resourceVersion": lease.metadata.resource_version},
        "spec": {
            "holderIdentity": to,
            "acquireTime": now(controller),
            "leaseTransitions": lease.spec.lease_transitions + 1,
        },
    });
    let (client, namespace) = (&controller.control_plane, &controller.options.namespace);
    let name = &lease.metadata.name;
    let given = client.merge_patch(&lease_kind(), namespace, name, None, &patch).await?;
    Ok(Lease::of(given))
}

/// Removes a Lease, unless it has changed since we saw it.
async fn remove(controller: &Controller, lease: &Lease) -> Result<(), RequestError> {
    let (client, namespace) = (&controller.control_plane, &controller.options.namespace);
    let Metadata { name, uid, resource_version, .. } = &lease.metadata;
    client.delete_exactly(&lease_kind(), namespace, name, (uid, resource_version)).await.map(drop)
}

/// The Leases as last seen.
#[derive(Default)]
struct Book {
    leases: BTreeMap<String, (Lease, Instant)>,
    listing: BTreeSet<String>,
    is_listed: bool,
}

impl Book {
    fn see(&mut self, event: WatchEvent<Lease>, now: Instant) {
        match event {
            WatchEvent::Restarted => self.listing.clear(),
            WatchEvent::Applied(lease) => {
                self.listing.insert(lease.metadata.name.clone());
                self.put(lease, now);
            }
            WatchEvent::Deleted(lease) => {
                self.listing.remove(&lease.metadata.name);
                self.leases.remove(&lease.metadata.name);
            }
            WatchEvent::Synced => {
                self.leases.retain(|name, _| self.listing.contains(name));
                self.is_listed = true;
            }
            WatchEvent::Unreadable { name, why, .. } => {
                tracing::warn!(name, why, "cannot read a Lease");
            }
            WatchEvent::Interrupted { why } => {
                tracing::warn!(why, "the watch of Leases is interrupted");
            }
        }
    }

    /// Takes a Lease in, unless what is known is newer.
    fn put(&mut self, lease: Lease, now: Instant) {
        let known = self.leases.get(&lease.metadata.name).map(|(it, _)| it);
        if known.is_none_or(|it| it.is_older_than(&lease)) {
            self.leases.insert(lease.metadata.name.clone(), (lease, now));
        }
    }

    fn sight(&self, controller: &Controller, now: Instant) -> Sight {
        let peer = |(lease, seen): &(Lease, Instant)| Peer {
            number: lease.annotation(NUMBER).and_then(|it| it.parse().ok()),
            silent_for: now.saturating_duration_since(*seen),
            lasts: lease.lasts(),
        };
        let replicas = self.leases.iter().filter(|(_, (it, _))| it.is_about("replica"));
        let clusters = self.leases.values().filter(|(it, _)| it.is_about("cluster"));
        Sight {
            own: controller.membership.name().unwrap_or_default(),
            clusters: clusters_of(controller),
            replicas: replicas.map(|(name, it)| (name.clone(), peer(it))).collect(),
            owners: clusters
                .filter_map(|(it, _)| Some((it.annotation(SERVER)?.to_owned(), it.holder())))
                .collect(),
        }
    }

    fn lease_of(&self, wanted: &Move) -> Option<Lease> {
        let name = match wanted {
            Move::Bury { replica } => replica.clone(),
            Move::Claim { cluster } | Move::HandOver { cluster, .. } | Move::Forget { cluster } => {
                cluster_name(cluster)
            }
        };
        self.leases.get(&name).map(|(lease, _)| lease.clone())
    }

    /// When the first Lease could run out that is not renewed.
    fn next_end(&self, heartbeat: Duration) -> Instant {
        let replicas = self.leases.values().filter(|(it, _)| it.is_about("replica"));
        let now = Instant::now();
        let ends = replicas.map(|(it, seen)| *seen + it.lasts()).filter(|it| *it > now);
        ends.min().unwrap_or(now + heartbeat)
    }
}

fn clusters_of(controller: &Controller) -> Clusters {
    let settings = controller.settings();
    let named = settings
        .clusters
        .iter()
        .map(|it| (it.server.clone(), it.shard.and_then(|shard| u32::try_from(shard).ok())));
    std::iter::once((IN_CLUSTER_SERVER.to_owned(), None)).chain(named).collect()
}

/// What we read of a Lease.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Lease {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: String,
    uid: String,
    resource_version: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<u64>,
    lease_transitions: i64,
}

impl Lease {
    fn of(object: Object) -> Self {
        serde_json::from_value(object.into_value()).unwrap_or_default()
    }

    fn is_about(&self, what: &str) -> bool {
        self.metadata.labels.get(LABEL).is_some_and(|it| it == what)
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.get(name).map(String::as_str)
    }

    fn holder(&self) -> String {
        self.spec.holder_identity.clone().unwrap_or_default()
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(self.spec.lease_duration_seconds.unwrap_or(15))
    }

    fn is_older_than(&self, other: &Self) -> bool {
        let version = |it: &Self| it.metadata.resource_version.parse::<u64>().ok();
        self.metadata.uid != other.metadata.uid || version(self) < version(other)
    }
}

fn lease_kind() -> ApiKind {
    ApiKind::known(&GroupVersionKind::parse("coordination.k8s.io/v1", "Lease"), "leases", true)
}

fn lease(name: &str, what: &str, holder: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": name, "labels": {LABEL: what, "app.kubernetes.io/part-of": "argocd"},
        },
        "spec": {"holderIdentity": holder},
    })
}

fn object(value: Value) -> Object {
    Object::from_value(value).expect("a Lease is an object")
}

fn now(controller: &Controller) -> String {
    controller.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// The name of this process's Lease: no two processes share one, and no process
/// has the one of another that was buried.
fn replica_name(host: &str, random: f64) -> String {
    let host: String = host
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' })
        .take(40)
        .collect();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1")]
    let suffix = (random * f64::from(u32::MAX)) as u32 ^ std::process::id();
    format!("argosy-replica-{}-{suffix:08x}", host.trim_matches('-'))
}

fn cluster_name(server: &str) -> String {
    // FNV-1a: the same in every process and version.
    let hash = server.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("argosy-cluster-{hash:016x}")
}

/// How clusters are held: alone, or by leases.
pub(crate) fn tenure(options: Option<&ReplicaOptions>) -> Tenure {
    options.map_or_else(Tenure::of_everything, |_| Tenure::by_leases())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_stable() {
        assert_eq!(
            cluster_name("https://kubernetes.default.svc"),
            cluster_name("https://kubernetes.default.svc")
        );
        assert_ne!(cluster_name("https://a"), cluster_name("https://b"));
        let name = replica_name("Pod_1.example.org-", 0.5);
        assert!(name.starts_with("argosy-replica-pod-1-example-org-"), "{name}");
        assert!(name.len() <= 63);
    }

    fn lease(name: &str, version: &str) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.name = name.into();
        lease.metadata.resource_version = version.into();
        lease
    }

    #[test]
    fn what_is_listed_again_unchanged_is_as_silent_as_before() {
        let (mut book, began) = (Book::default(), Instant::now());
        let after = |seconds| began + Duration::from_secs(seconds);
        book.see(WatchEvent::Applied(lease("a", "7")), began);
        book.see(WatchEvent::Applied(lease("b", "8")), began);
        book.see(WatchEvent::Synced, began);
        book.see(WatchEvent::Restarted, after(5));
        book.see(WatchEvent::Applied(lease("a", "7")), after(5));
        book.see(WatchEvent::Synced, after(5));
        assert_eq!(book.leases["a"].1, began);
        assert!(!book.leases.contains_key("b"), "it went while nobody watched");
        book.see(WatchEvent::Applied(lease("a", "9")), after(6));
        assert_eq!(book.leases["a"].1, after(6));
        book.put(lease("a", "8"), after(7));
        assert_eq!(book.leases["a"].1, after(6), "what is older is no news");
    }
}
