//! Names that users and other tools know us by: annotations, labels, finalizers,
//! and the defaults that stand for what is not written.

/// On an Application: look again, `normal` or `hard`; removed once done.
pub const ANNOTATION_REFRESH: &str = "argocd.argoproj.io/refresh";
/// On an Application: when the refresh was asked for.
pub const ANNOTATION_REFRESH_TIMESTAMP: &str = "argocd.argoproj.io/refresh-timestamp";
/// On an ApplicationSet: generate again; removed once done.
pub const ANNOTATION_APPLICATION_SET_REFRESH: &str = "argocd.argoproj.io/application-set-refresh";
/// On an Application: hydrate again, `normal` or `hard`.
pub const ANNOTATION_HYDRATE: &str = "argocd.argoproj.io/hydrate";
/// On an Application: when the hydration was asked for.
pub const ANNOTATION_HYDRATE_TIMESTAMP: &str = "argocd.argoproj.io/hydrate-timestamp";
/// On an Application: `true` keeps the controller's hands off it.
pub const ANNOTATION_SKIP_RECONCILE: &str = "argocd.argoproj.io/skip-reconcile";
/// On an Application: the paths whose changes matter to it, separated by `;`.
pub const ANNOTATION_MANIFEST_GENERATE_PATHS: &str = "argocd.argoproj.io/manifest-generate-paths";
/// On an Application: where the installation that manages it is found.
pub const ANNOTATION_MANAGED_BY_URL: &str = "argocd.argoproj.io/managed-by-url";
/// On an Application: since when deletions that need a confirmation are approved.
pub const ANNOTATION_DELETION_APPROVED: &str = "argocd.argoproj.io/deletion-approved";

/// On a managed resource: which application it belongs to.
pub const ANNOTATION_TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
/// On a managed resource: which installation it belongs to.
pub const ANNOTATION_INSTALLATION_ID: &str = "argocd.argoproj.io/installation-id";
/// On a managed resource: in which wave of its phase it is applied; a number, 0 by default.
pub const ANNOTATION_SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";
/// On a managed resource: its own sync options, separated by commas.
pub const ANNOTATION_SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";
/// On a managed resource: how it is compared, separated by commas.
pub const ANNOTATION_COMPARE_OPTIONS: &str = "argocd.argoproj.io/compare-options";
/// On a managed resource: it is a hook, of these types.
pub const ANNOTATION_HOOK: &str = "argocd.argoproj.io/hook";
/// On a hook: when it is deleted.
pub const ANNOTATION_HOOK_DELETE_POLICY: &str = "argocd.argoproj.io/hook-delete-policy";
/// On a managed resource: `true` leaves it out of the application's health.
pub const ANNOTATION_IGNORE_HEALTHCHECK: &str = "argocd.argoproj.io/ignore-healthcheck";
/// On a pod: judge it as if its restart policy did not matter.
pub const ANNOTATION_IGNORE_RESTART_POLICY: &str = "argocd.argoproj.io/ignore-restart-policy";
/// On a resource: changes of it that match the ignore rules start no refresh.
pub const ANNOTATION_IGNORE_RESOURCE_UPDATES: &str = "argocd.argoproj.io/ignore-resource-updates";
/// On a managed resource: the field manager that server-side apply takes over from.
pub const ANNOTATION_CLIENT_SIDE_APPLY_MIGRATION_MANAGER: &str =
    "argocd.argoproj.io/client-side-apply-migration-manager";
/// On an Ingress and such: `true` keeps its own URLs out of the summary.
pub const ANNOTATION_IGNORE_DEFAULT_LINKS: &str = "argocd.argoproj.io/ignore-default-links";
/// Start of annotations that put a link into the UI.
pub const ANNOTATION_LINK_PREFIX: &str = "link.argocd.argoproj.io/";

/// Helm's own mark of a hook.
pub const ANNOTATION_HELM_HOOK: &str = "helm.sh/hook";
/// When Helm deletes a hook.
pub const ANNOTATION_HELM_HOOK_DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
/// The order of hooks in Helm; stands for a sync wave.
pub const ANNOTATION_HELM_HOOK_WEIGHT: &str = "helm.sh/hook-weight";

/// The label that tracks resources unless the settings name another.
pub const LABEL_APP_INSTANCE: &str = "app.kubernetes.io/instance";
/// What a Secret of ours holds; the values follow.
pub const LABEL_SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";
/// A Secret that describes a cluster.
pub const SECRET_TYPE_CLUSTER: &str = "cluster";
/// A Secret that describes a repository.
pub const SECRET_TYPE_REPOSITORY: &str = "repository";
/// A Secret with credentials for all repositories below a URL.
pub const SECRET_TYPE_REPO_CREDS: &str = "repo-creds";
/// A Secret with credentials to push to one repository.
pub const SECRET_TYPE_REPOSITORY_WRITE: &str = "repository-write";
/// A Secret with credentials to push to all repositories below a URL.
pub const SECRET_TYPE_REPO_WRITE_CREDS: &str = "repo-write-creds";
/// A Secret that generators may use against a source code host.
pub const SECRET_TYPE_SCM_CREDS: &str = "scm-creds";
/// On a cluster Secret: keep [`LABEL_KUBERNETES_VERSION`] up to date.
pub const LABEL_AUTO_LABEL_CLUSTER_INFO: &str = "argocd.argoproj.io/auto-label-cluster-info";
/// On a cluster Secret: the version of the cluster.
pub const LABEL_KUBERNETES_VERSION: &str = "argocd.argoproj.io/kubernetes-version";

/// Deleting the Application deletes its resources.
pub const FINALIZER_RESOURCES: &str = "resources-finalizer.argocd.argoproj.io";
/// The same, each resource after those it owns.
pub const FINALIZER_RESOURCES_FOREGROUND: &str =
    "resources-finalizer.argocd.argoproj.io/foreground";
/// The same, leaving what resources own to the garbage collector.
pub const FINALIZER_RESOURCES_BACKGROUND: &str =
    "resources-finalizer.argocd.argoproj.io/background";
/// Hooks run before the resources are deleted; `/` and a stage may follow.
pub const FINALIZER_PRE_DELETE: &str = "pre-delete-finalizer.argocd.argoproj.io";
/// Hooks run after the resources are deleted; `/` and a stage may follow.
pub const FINALIZER_POST_DELETE: &str = "post-delete-finalizer.argocd.argoproj.io";
/// On a hook: it stays until the operation has seen how it ended.
pub const FINALIZER_HOOK: &str = "argocd.argoproj.io/hook-finalizer";

/// The project of an application that names none.
pub const DEFAULT_PROJECT: &str = "default";
/// How many past syncs an application remembers unless it says.
pub const DEFAULT_REVISION_HISTORY_LIMIT: usize = 10;
/// The server URL that means "the cluster we run in".
pub const IN_CLUSTER_SERVER: &str = "https://kubernetes.default.svc";
/// The name of the cluster we run in.
pub const IN_CLUSTER_NAME: &str = "in-cluster";
/// How long to wait before the first retry of a failed sync.
pub const DEFAULT_RETRY_SECONDS: i64 = 5;
/// By how much each further wait grows.
pub const DEFAULT_RETRY_FACTOR: i64 = 2;
/// The longest wait between retries.
pub const DEFAULT_RETRY_MAX_SECONDS: i64 = 180;
