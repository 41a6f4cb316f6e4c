//! What readers in other processes are told through Redis, in Argo CD's own keys
//! and format: resource trees, managed resources, clusters.
//!
//! It is done on the side: a pass only says that there may be news. What is the
//! same as what was last stored is not stored again, until it is about to expire.
//! Redis may go away at any time; when it is back it is told everything anew.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use api::{AppKey, Application, ApplicationTree, Time};
use jiff::SignedDuration;
use runtime::redis::{CACHE_VERSION, Redis, RedisError};
use runtime::{Merge, Queue, Shutdown};
use serde::Serialize;
use serde_json::{Value, json};

use crate::destinations::Registered;
use crate::{Controller, ManagedResource};

/// How long Argo CD's readers believe what is said of a cluster.
const CLUSTER_EXPIRES: Duration = Duration::from_secs(600);
const CLUSTER_EVERY: Duration = Duration::from_secs(10);
/// Changes that come within this are told together.
const GATHER: Duration = Duration::from_millis(250);
const RETRY: Duration = Duration::from_secs(10);
const WORKERS: usize = 2;

/// Where things are published, and how long they last.
#[derive(Clone, Debug)]
pub struct Publishing {
    /// The server.
    pub redis: Redis,
    /// `--app-state-cache-expiration`.
    pub expires: Duration,
    /// How many nodes of a tree are stored together (`ARGOCD_APPLICATION_TREE_SHARD_SIZE`); none: all.
    pub tree_piece: Option<NonZeroUsize>,
}

/// Whose news waits to be told, and what was told.
pub(crate) struct Publisher {
    to: Option<Publishing>,
    queue: Queue<AppKey, Asked>,
    told: Mutex<BTreeMap<String, (u64, Instant)>>,
}

/// Does somebody miss what was already told?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    News,
    Everything,
}

impl Merge for Asked {
    fn merge(self, other: Self) -> Self {
        self.max(other)
    }
}

impl Publisher {
    pub(crate) fn new(to: Option<Publishing>) -> Self {
        Self { to, queue: Queue::new(), told: Mutex::default() }
    }

    /// There may be news of an Application; with `was_asked` readers want it told
    /// even if there is none.
    pub(crate) fn may_differ(&self, app: &AppKey, was_asked: bool) {
        if self.to.is_some() {
            let asked = if was_asked { Asked::Everything } else { Asked::News };
            self.queue.add_after(app.clone(), asked, GATHER);
        }
    }

    /// Publishes until shutdown.
    pub(crate) async fn run(&self, controller: &Controller, shutdown: &Shutdown) {
        let Some(to) = &self.to else { return };
        tokio::join!(
            shutdown.or_end(self.tell_clusters(controller, to)),
            shutdown.or_end(self.keep_from_expiring(controller, to)),
            self.queue.work(WORKERS, shutdown, |key, asked| async move {
                if let Err(error) = self.tell(controller, to, &key, asked).await {
                    let error = runtime::Chain(&error).to_string();
                    tracing::debug!(app = %key, error, "could not tell Redis");
                    self.queue.add_after(key, Asked::Everything, RETRY);
                }
            }),
        );
    }

    /// Whoever looks at an Application that nothing happens to finds it all the same.
    async fn keep_from_expiring(&self, controller: &Controller, to: &Publishing) {
        loop {
            tokio::time::sleep(to.expires / 4).await;
            self.tell_all(controller, Asked::News);
        }
    }

    fn tell_all(&self, controller: &Controller, asked: Asked) {
        for app in controller.apps.all() {
            self.queue.add(app.key(), asked);
        }
    }

    async fn tell(
        &self,
        controller: &Controller,
        to: &Publishing,
        key: &AppKey,
        asked: Asked,
    ) -> Result<(), RedisError> {
        let instance = Application::named(&key.namespace, &key.name);
        let instance = controller.instance_name(&instance);
        let managed_key = format!("app|managed-resources|{instance}");
        let tree_key = format!("app|resources-tree|{instance}");
        let Some(app) = controller.apps.get(key) else {
            for key in self.stored_below(&tree_key).into_iter().chain([managed_key, tree_key]) {
                self.forget(&key);
                to.redis.delete(&versioned(&key)).await?;
            }
            return Ok(());
        };
        if !controller.is_ours(&app) {
            return Ok(());
        }
        if asked == Asked::Everything {
            for key in self.stored_below(&tree_key).iter().chain([&managed_key, &tree_key]) {
                self.forget(key);
            }
        }
        let compared = controller.compared(&app).await;
        let managed: Vec<_> = compared.resources.iter().map(ManagedResource::to_api).collect();
        let managed_is_new = self.store(to, &managed_key, &managed, to.expires).await?;
        let Ok(tree) = controller.tree(&app).await else { return Ok(()) };
        let mut tree_is_new = false;
        for (number, piece) in pieces(tree, to.tree_piece).iter().enumerate() {
            let key = piece_key(&tree_key, number);
            tree_is_new |= self.store(to, &key, piece, to.expires).await?;
        }
        if tree_is_new || managed_is_new {
            // Argo CD's readers listen under this name for both.
            to.redis.publish(&versioned(&managed_key)).await?;
        }
        Ok(())
    }

    /// Tells of clusters again and again, as Argo CD does, and so notices when Redis
    /// is back after it was away.
    async fn tell_clusters(&self, controller: &Controller, to: &Publishing) {
        let mut was_away = false;
        loop {
            let mut is_away = false;
            for cluster in controller.destinations.registered() {
                if controller.tenure.is_shared() && !controller.tenure.has(&cluster.server) {
                    continue;
                }
                let key = versioned(&format!("cluster|info|{}", cluster.server));
                let info = bytes(&cluster_info(controller, cluster));
                if let Err(error) = to.redis.set(&key, &info, CLUSTER_EXPIRES).await {
                    let error = runtime::Chain(&error).to_string();
                    tracing::debug!(error, "could not tell Redis about a cluster");
                    is_away = true;
                }
            }
            if is_away != was_away {
                tracing::info!(is_away, "Redis went away or came back");
            }
            if was_away && !is_away {
                self.tell_all(controller, Asked::Everything);
            }
            was_away = is_away;
            tokio::time::sleep(CLUSTER_EVERY).await;
        }
    }

    /// Stores a value that is new or would expire; says whether it is new.
    async fn store(
        &self,
        to: &Publishing,
        key: &str,
        value: &impl Serialize,
        expires: Duration,
    ) -> Result<bool, RedisError> {
        let value = bytes(value);
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        let hash = hasher.finish();
        let known = self.told().get(key).copied();
        let is_new = known.is_none_or(|(it, _)| it != hash);
        if !is_new && known.is_some_and(|(_, at)| at.elapsed() < expires / 2) {
            return Ok(false);
        }
        to.redis.set(&versioned(key), &value, expires).await?;
        self.told().insert(key.to_owned(), (hash, Instant::now()));
        Ok(is_new)
    }

    /// The further pieces of what is stored under a key.
    fn stored_below(&self, key: &str) -> Vec<String> {
        let prefix = piece_key(key, 1).trim_end_matches('1').to_owned();
        self.told().keys().filter(|it| it.starts_with(&prefix)).cloned().collect()
    }

    fn forget(&self, key: &str) {
        self.told().remove(key);
    }

    fn told(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, (u64, Instant)>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first piece has the name of the whole.
fn piece_key(key: &str, number: usize) -> String {
    if number == 0 { key.to_owned() } else { format!("{key}|{number}") }
}

/// A tree in pieces of so many nodes, orphans and hosts together; the first says how many there are.
fn pieces(tree: ApplicationTree, size: Option<NonZeroUsize>) -> Vec<ApplicationTree> {
    let Some(size) = size.map(NonZeroUsize::get) else { return vec![tree] };
    let ApplicationTree { nodes, orphaned_nodes, hosts, .. } = tree;
    let total = nodes.len() + orphaned_nodes.len() + hosts.len();
    let count = total.div_ceil(size).max(1);
    let mut pieces = vec![ApplicationTree::default(); count];
    for (at, node) in nodes.into_iter().enumerate() {
        pieces[at / size].nodes.push(node);
    }
    let before = pieces.iter().map(|it| it.nodes.len()).sum::<usize>();
    for (at, node) in orphaned_nodes.into_iter().enumerate() {
        pieces[(before + at) / size].orphaned_nodes.push(node);
    }
    let before = before + pieces.iter().map(|it| it.orphaned_nodes.len()).sum::<usize>();
    for (at, host) in hosts.into_iter().enumerate() {
        pieces[(before + at) / size].hosts.push(host);
    }
    if total > 0 {
        pieces[0].shards_count = i64::try_from(count).unwrap_or(i64::MAX);
    }
    pieces
}

fn versioned(key: &str) -> String {
    format!("{key}|{CACHE_VERSION}")
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("API types have string keys and finite numbers")
}

/// What Argo CD's readers want to know of a cluster.
fn cluster_info(controller: &Controller, registered: Registered) -> Value {
    let is_there = |app: &Application| {
        controller.destinations.keeper_of(&app.spec.destination) == registered.server
    };
    let applications = controller.apps.all().iter().filter(|it| is_there(it)).count();
    let now = controller.now();
    let state = |status: &str, message: &str| json!({"status": status, "message": message, "attemptedAt": Time::from(now)});
    match &registered.connection {
        Err(why) => json!({
            "connectionState": state("Failed", why),
            "cacheInfo": {},
            "applicationsCount": applications,
        }),
        Ok(cluster) => {
            let health = cluster.health();
            let synced = health.listed_ago.and_then(|it| SignedDuration::try_from(it).ok());
            let synced = synced.map(|ago| Time::from(now - ago));
            let connection = match (&health.trouble, health.is_reached) {
                (_, true) => state("Successful", ""),
                (Some(why), false) => state("Failed", why),
                (None, false) => state("Unknown", ""),
            };
            let versions: Vec<String> = cluster.kinds().api_versions().into_iter().collect();
            json!({
                "connectionState": connection,
                "serverVersion": health.version.git_version,
                "cacheInfo": {
                    "resourcesCount": health.objects,
                    "apisCount": health.kinds,
                    "lastCacheSyncTime": synced,
                },
                "applicationsCount": applications,
                "apiVersions": versions,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use api::{HostInfo, ResourceNode};

    use super::*;

    /// A tree of so many nodes, orphans and hosts, in pieces: `nodes+orphans+hosts of count`.
    #[track_caller]
    fn check(counts: [usize; 3], size: usize, expect: &[&str]) {
        let [nodes, orphans, hosts] = counts;
        let tree = ApplicationTree {
            nodes: vec![ResourceNode::default(); nodes],
            orphaned_nodes: vec![ResourceNode::default(); orphans],
            hosts: vec![HostInfo::default(); hosts],
            ..ApplicationTree::default()
        };
        let pieces = pieces(tree, NonZeroUsize::new(size));
        let told = |it: &ApplicationTree| {
            let (nodes, orphans, hosts) = (it.nodes.len(), it.orphaned_nodes.len(), it.hosts.len());
            format!("{nodes}+{orphans}+{hosts} of {}", it.shards_count)
        };
        assert_eq!(pieces.iter().map(told).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_tree_is_stored_in_pieces_of_which_the_first_says_how_many_there_are() {
        check([5, 2, 1], 0, &["5+2+1 of 0"]);
        check([5, 2, 1], 3, &["3+0+0 of 3", "2+1+0 of 0", "0+1+1 of 0"]);
        check([5, 2, 1], 100, &["5+2+1 of 1"]);
        check([0, 0, 0], 3, &["0+0+0 of 0"]);
    }
}
