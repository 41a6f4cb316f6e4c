//! The application controller's parameters: what a flag or its variable says, else
//! what `argocd-cmd-params-cm` says, else the default. `docs/operations.md` has the table.

use std::time::Duration;

use clap::Args;
use cluster::{Client, Randomness};
use controller::{
    EventOptions, HealBackoff, MetricsOptions, Overrides, PollOptions, ReplicaOptions,
};
use jiff::SignedDuration;
use settings::Params;

/// How often a replica renews its Lease.
const HEARTBEAT: u64 = 5;
const METHODS: [&str; 3] = ["legacy", "round-robin", "consistent-hashing"];

/// Flags and variables keep Argo CD's names where Argo CD has them.
#[derive(Args)]
pub(crate) struct ControllerFlags {
    /// How often repositories are polled, e.g. 120s; 0 never; default: timeout.reconciliation in argocd-cm
    #[arg(long, env = "ARGOCD_RECONCILIATION_TIMEOUT", value_parser = duration)]
    app_resync: Option<Duration>,
    /// Up to how much is added to that at random; default: timeout.reconciliation.jitter in argocd-cm
    #[arg(long, env = "ARGOCD_RECONCILIATION_JITTER", value_parser = duration)]
    app_resync_jitter: Option<Duration>,
    /// How often everything is looked at with nothing remembered; 0 never; default: timeout.hard.reconciliation in argocd-cm
    #[arg(long, env = "ARGOCD_HARD_RECONCILIATION_TIMEOUT", value_parser = duration)]
    app_hard_resync: Option<Duration>,
    /// The reasons of events that are written, or none; default: all
    #[arg(long, env = "ARGOCD_ENABLE_K8S_EVENT", value_delimiter = ',')]
    enable_k8s_event: Vec<String>,
    /// Keep the health of single objects in the status [default: controller.resource.health.persist]
    #[arg(
        long,
        env = "ARGOCD_APPLICATION_CONTROLLER_PERSIST_RESOURCE_HEALTH",
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    persist_resource_health: Option<bool>,
    /// Ask the API server what a sync would change [default: controller.diff.server.side]
    #[arg(
        long,
        env = "ARGOCD_APPLICATION_CONTROLLER_SERVER_SIDE_DIFF",
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    server_side_diff_enabled: Option<bool>,
    /// Seconds for which a status stands while its sources cannot be read [default: 180]
    #[arg(long, env = "ARGOCD_REPO_ERROR_GRACE_PERIOD_SECONDS")]
    repo_error_grace_period_seconds: Option<u64>,
    /// Applications operated on at the same time [default: 10]
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS")]
    operation_processors: Option<i64>,
    /// Seconds that a sync rests after each wave but the last [default: 0]
    #[arg(long, env = "ARGOCD_SYNC_WAVE_DELAY", hide = true)]
    sync_wave_delay: Option<i64>,
    /// Seconds for which a sync waits for a cluster that is out of sight
    #[arg(long, env = "ARGOSY_CLUSTER_PATIENCE", default_value_t = 60, hide = true)]
    cluster_patience: u64,
    /// Seconds before the second attempt to heal the same drift [default: 2]
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_TIMEOUT_SECONDS")]
    self_heal_backoff_timeout_seconds: Option<i64>,
    /// By how much each further wait before healing grows [default: 3]
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_FACTOR")]
    self_heal_backoff_factor: Option<i64>,
    /// The longest wait before healing, in seconds [default: 300]
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_CAP_SECONDS")]
    self_heal_backoff_cap_seconds: Option<i64>,
    /// Seconds between attempts to heal, where there is no backoff (its timeout is 0) [default: 0]
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_TIMEOUT_SECONDS")]
    self_heal_timeout_seconds: Option<i64>,
    /// Seconds after which a sync is terminated; 0 never [default: 0]
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_SYNC_TIMEOUT")]
    sync_timeout: Option<i64>,
    /// Applications looked at at the same time [default: 20]
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS")]
    status_processors: Option<i64>,
    /// Objects of one Application written at the same time [default: 20]
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_KUBECTL_PARALLELISM_LIMIT")]
    kubectl_parallelism_limit: Option<i64>,
    /// Labels of Applications that argocd_app_labels tells
    #[arg(
        long,
        env = "ARGOCD_APPLICATION_CONTROLLER_METRICS_APPLICATION_LABELS",
        value_delimiter = ','
    )]
    metrics_application_labels: Vec<String>,
    /// Conditions that argocd_app_condition counts
    #[arg(
        long,
        env = "ARGOCD_APPLICATION_CONTROLLER_METRICS_APPLICATION_CONDITIONS",
        value_delimiter = ','
    )]
    metrics_application_conditions: Vec<String>,
    /// Labels of clusters that argocd_cluster_labels tells
    #[arg(
        long,
        env = "ARGOCD_APPLICATION_CONTROLLER_METRICS_CLUSTER_LABELS",
        value_delimiter = ','
    )]
    metrics_cluster_labels: Vec<String>,
    /// legacy, round-robin or consistent-hashing: all three spread clusters evenly over replicas
    #[arg(long, env = "ARGOCD_CONTROLLER_SHARDING_ALGORITHM")]
    sharding_method: Option<String>,
    /// Share the clusters with other replicas, however many there are
    #[arg(
        long,
        env = "ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION",
        default_value_t = false,
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    dynamic_cluster_distribution_enabled: bool,
    /// How many replicas there are meant to be: from two on they share the clusters
    #[arg(long, env = "ARGOCD_CONTROLLER_REPLICAS", default_value_t = 1, hide = true)]
    replicas: u32,
    /// The number of this replica, which clusters may be pinned to; default: that of a StatefulSet's pod
    #[arg(long, env = "ARGOCD_CONTROLLER_SHARD", allow_negative_numbers = true, hide = true)]
    shard: Option<i64>,
    /// Seconds between two renewals of this replica's Lease, which lasts for three times that
    #[arg(
        long,
        env = "ARGOCD_CONTROLLER_HEARTBEAT_TIME",
        default_value_t = HEARTBEAT,
        value_parser = clap::value_parser!(u64).range(1..=3600),
        hide = true
    )]
    heartbeat: u64,
    /// What this replica's Lease is named after; default: the host's name, which is the pod's
    #[arg(long, env = "ARGOSY_REPLICA_NAME", hide = true)]
    replica_name: Option<String>,
}

impl ControllerFlags {
    /// The parameters of a controller.
    pub(crate) fn options(
        &self,
        namespace: String,
        application_namespaces: Vec<String>,
        params: &Params,
        replica: Option<ReplicaOptions>,
    ) -> controller::Options {
        let number = |flag: Option<i64>, key: &str, default: i64| {
            flag.or_else(|| params.number(key)).filter(|it| *it >= 0).unwrap_or(default)
        };
        let count = |flag, key, default| {
            usize::try_from(number(flag, key, default)).unwrap_or(usize::MAX).max(1)
        };
        let list = |flag: &[String], key: &str| match flag {
            [] => params.list(&format!("controller.metrics.{key}")),
            given => given.to_vec(),
        };
        let sync_timeout = number(self.sync_timeout, "controller.sync.timeout.seconds", 0);
        controller::Options {
            namespace,
            application_namespaces,
            workers: count(self.status_processors, "controller.status.processors", 20),
            operators: count(self.operation_processors, "controller.operation.processors", 10),
            wave_delay: Duration::from_secs(
                u64::try_from(number(
                    self.sync_wave_delay,
                    "controller.sync.wave.delay.seconds",
                    0,
                ))
                .unwrap_or(0),
            ),
            parallel_writes: count(
                self.kubectl_parallelism_limit,
                "controller.kubectl.parallelism.limit",
                20,
            ),
            heal_backoff: self.heal_backoff(params),
            sync_timeout: u64::try_from(sync_timeout)
                .ok()
                .filter(|it| *it > 0)
                .map(Duration::from_secs),
            cluster_patience: Duration::from_secs(self.cluster_patience),
            poll: PollOptions {
                every: self.app_resync,
                jitter: self.app_resync_jitter,
                hard: self.app_hard_resync,
            },
            events: EventOptions::of(&self.enable_k8s_event),
            overrides: Overrides {
                asks_server: self.server_side_diff_enabled,
                source_error_grace: self.repo_error_grace_period_seconds.map(Duration::from_secs),
                keeps_health: self.persist_resource_health,
            },
            replica,
            metrics: MetricsOptions {
                host: host_name(),
                application_labels: list(&self.metrics_application_labels, "application.labels"),
                application_conditions: list(
                    &self.metrics_application_conditions,
                    "application.conditions",
                ),
                cluster_labels: list(&self.metrics_cluster_labels, "cluster.labels"),
            },
            random: Randomness::of_this_process(),
        }
    }

    fn heal_backoff(&self, params: &Params) -> HealBackoff {
        let seconds = |flag: Option<i64>, key: &str, default: i64| {
            let seconds = flag.or_else(|| params.number(&format!("controller.self.heal.{key}")));
            SignedDuration::from_secs(seconds.filter(|it| *it >= 0).unwrap_or(default))
        };
        let first = seconds(self.self_heal_backoff_timeout_seconds, "backoff.timeout.seconds", 2);
        if first.is_zero() {
            let always = seconds(self.self_heal_timeout_seconds, "timeout.seconds", 0);
            return HealBackoff { first: always, factor: 1, most: always };
        }
        let factor = self
            .self_heal_backoff_factor
            .or_else(|| params.number("controller.self.heal.backoff.factor"));
        HealBackoff {
            first,
            factor: factor.and_then(|it| i32::try_from(it).ok()).unwrap_or(3),
            most: seconds(self.self_heal_backoff_cap_seconds, "backoff.cap.seconds", 300),
        }
    }

    /// How the clusters are shared, if they are: where somebody said so, and where
    /// somebody else already does.
    pub(crate) async fn replica(
        &self,
        params: &Params,
        client: &Client,
        namespace: &str,
    ) -> Option<ReplicaOptions> {
        self.check_method(params);
        let asked = self.dynamic_cluster_distribution_enabled || self.replicas > 1;
        if !asked && !others_share(client, namespace).await {
            return None;
        }
        let host = self.replica_name.clone().unwrap_or_else(host_name);
        Some(ReplicaOptions {
            number: self.number(&host),
            host,
            heartbeat: Duration::from_secs(self.heartbeat),
        })
    }

    /// The number that was given, or that of a StatefulSet's pod.
    fn number(&self, host: &str) -> Option<u32> {
        let given = self.shard.and_then(|it| u32::try_from(it).ok());
        let of_pod = || {
            let (_, ordinal) = host.rsplit_once('-')?;
            ordinal.parse().ok().filter(|it| *it < self.replicas)
        };
        given.or_else(of_pod)
    }

    fn check_method(&self, params: &Params) {
        let method = self.sharding_method.as_deref();
        let method = method.or_else(|| params.text("controller.sharding.algorithm"));
        if let Some(unknown) = method.filter(|it| !METHODS.contains(it)) {
            tracing::warn!(method = unknown, "no such sharding method; clusters are spread evenly");
        }
    }
}

/// Whoever works beside others that share must share too.
async fn others_share(client: &Client, namespace: &str) -> bool {
    match controller::leases_are_in_use(client, namespace).await {
        Ok(are_in_use) => are_in_use,
        Err(error) => {
            // Who may not even read Leases cannot share, and never has.
            tracing::debug!(error = error.in_one_line(), "could not look for other replicas");
            false
        }
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A Go duration, or a bare number of seconds, as Argo CD's settings have it.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.trim().parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let read = gocompat::duration::Duration::parse(text).map_err(|error| error.to_string())?;
    read.to_std().ok_or_else(|| format!("{text} is negative"))
}
