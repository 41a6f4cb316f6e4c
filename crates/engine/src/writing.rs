//! How a sync writes and deletes: what the operation, the application and the
//! object itself ask for, read once and handed to whoever carries it out.
//!
//! Options are words such as `Replace=true`. They stand in the operation (which
//! copies the application's) and in the `sync-options` annotation of an object;
//! [`SyncOptions`] holds the former, [`SyncOptions::writing`] joins both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Application, ManagedNamespaceMetadata, SyncOperation, names};
use jiff::Timestamp;
use object::{Object, ResourceKey};

use crate::diff::Comparing;
use crate::finding::{Concern, Finding};
use crate::marks;

/// Whose fields a server-side apply takes over unless the application names another.
const CLIENT_SIDE_MANAGER: &str = "kubectl-client-side-apply";

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct SyncOptions {
    /// Delete what git no longer holds.
    pub prune: bool,
    /// Leave pruning to the very end.
    pub prune_last: bool,
    /// May an object be pruned that says nothing about it?
    pub prune_consent: Consent,
    /// The user has confirmed what asks for confirmation.
    pub prune_confirmed: bool,
    /// What becomes of what a deleted object owns.
    pub propagation: Propagation,
    /// Only these objects, without hooks; none means all.
    pub selection: Option<BTreeSet<ResourceKey>>,
    /// Run the hooks?
    pub hooks: bool,
    /// Only ask what would happen: one wave, no hooks, nothing to wait for.
    pub dry_run: bool,
    /// Leave out what is already as git wants it, without a word in the result.
    pub out_of_sync_only: bool,
    /// Write live values into the fields whose differences are ignored.
    pub respect_ignored: bool,
    /// How the objects were compared, which says what is ignored.
    pub comparing: Arc<Comparing>,
    /// Fail when an object is tracked by another application too.
    pub fail_on_shared: bool,
    /// Create or replace instead of applying.
    pub replace: bool,
    /// Delete and create anew where the API server refuses a change.
    pub force: bool,
    /// Apply on the server.
    pub server_side: bool,
    /// The manager whose fields a server-side apply takes over first, if any.
    pub takes_over_from: Option<String>,
    /// Let the API server refuse unknown and repeated fields.
    pub validate: bool,
    /// An object whose kind is not served yet is no reason to refuse the sync.
    pub kinds_may_come: bool,
    /// The namespace to make before anything else.
    pub namespace: Option<NamespaceWish>,
    /// What forbids the sync, by object: the project's word, as a message.
    pub objections: BTreeMap<ResourceKey, String>,
    /// The commit, for the names of hooks that have only a generateName.
    pub revision: String,
    /// When the operation began, likewise.
    pub started_at: Timestamp,
}

/// May something be deleted? The value of `Prune=` and `Delete=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// Yes.
    #[default]
    Given,
    /// Only after the user has confirmed it.
    AfterConfirmation,
    /// No.
    Refused,
}

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// They go first.
    #[default]
    Foreground,
    /// They follow.
    Background,
    /// They stay.
    Orphan,
}

/// The destination namespace, as `CreateNamespace=true` wants it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamespaceWish {
    /// Its name.
    pub name: String,
    /// Labels and annotations that the application manages on it, if it does.
    pub metadata: Option<ManagedNamespaceMetadata>,
    /// Is it there?
    pub exists: bool,
}

/// How one object is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writing {
    /// By which request.
    pub way: Way,
    /// Delete and create anew where the API server refuses a change.
    pub force: bool,
    /// Let the API server refuse unknown and repeated fields.
    pub validate: bool,
}

/// By which request an object is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// As `kubectl apply`: a three-way patch against the last-applied
    /// annotation, which is written along.
    ClientSide,
    /// As `kubectl apply --server-side --force-conflicts`.
    ServerSide {
        /// First make the fields that this manager holds by `Update` ours, so
        /// that what git drops is dropped.
        takes_over_from: Option<String>,
    },
    /// As `kubectl replace`, or `kubectl create` where there is nothing yet.
    /// With force: delete, then create.
    Replace,
    /// Put the manifest in place of the object, which is never deleted for it:
    /// deleting a Namespace or a CRD would take everything in it along.
    Update,
}

impl SyncOptions {
    /// Reads what an operation asks for. What must be looked up (selection,
    /// namespace, objections, how objects are compared) is left as it is by default.
    #[must_use]
    pub fn of(
        app: &Application,
        sync: &SyncOperation,
        revision: &str,
        started_at: Timestamp,
    ) -> Self {
        let words: Vec<&str> = sync.sync_options.iter().map(|word| word.trim()).collect();
        let asks = |option: &str| words.contains(&option);
        let strategy = sync.sync_strategy.as_ref();
        let forced = |it: &api::SyncStrategy| {
            it.apply.as_ref().is_some_and(|apply| apply.force)
                || it.hook.as_ref().is_some_and(|hook| hook.sync_strategy_apply.force)
        };
        Self {
            prune: sync.prune,
            prune_last: asks("PruneLast=true"),
            prune_consent: Consent::among(&words, "Prune").unwrap_or_default(),
            prune_confirmed: is_deletion_approved(app, started_at),
            propagation: Propagation::among(&words),
            selection: None,
            hooks: strategy.is_none_or(|it| it.apply.is_none()) && sync.resources.is_empty(),
            dry_run: sync.dry_run,
            out_of_sync_only: asks("ApplyOutOfSyncOnly=true"),
            respect_ignored: asks("RespectIgnoreDifferences=true"),
            comparing: Arc::new(Comparing::default()),
            fail_on_shared: asks("FailOnSharedResource=true"),
            replace: asks("Replace=true"),
            force: strategy.is_some_and(forced),
            server_side: asks("ServerSideApply=true"),
            takes_over_from: (!asks("ClientSideApplyMigration=false")).then(|| {
                let named = app
                    .metadata
                    .annotations
                    .get(names::ANNOTATION_CLIENT_SIDE_APPLY_MIGRATION_MANAGER);
                named.filter(|name| !name.is_empty()).map_or(CLIENT_SIDE_MANAGER, |it| it).into()
            }),
            validate: !asks("Validate=false"),
            kinds_may_come: asks("SkipDryRunOnMissingResource=true"),
            namespace: asks("CreateNamespace=true").then(|| NamespaceWish::of(app)).flatten(),
            objections: BTreeMap::new(),
            revision: revision.to_owned(),
            started_at,
        }
    }

    /// Why the sync must not begin, given what comparing found: with
    /// `FailOnSharedResource`, an object that another application tracks too.
    #[must_use]
    pub fn objection(&self, findings: &[Finding]) -> Option<String> {
        let shared = findings.iter().find(|it| it.concern == Concern::SharedResource)?;
        self.fail_on_shared.then(|| format!("Shared resource found: {}", shared.message))
    }

    /// Is this object part of the sync?
    pub(crate) fn selects(&self, key: &ResourceKey) -> bool {
        self.selection.as_ref().is_none_or(|keys| keys.contains(key))
    }

    /// How to write `want`, given what is live.
    #[must_use]
    pub fn writing(&self, want: &Object, live: Option<&Object>) -> Writing {
        let either = |option: &str| {
            marks::has_sync_option(want, option)
                || live.is_some_and(|live| marks::has_sync_option(live, option))
        };
        let kind = want.group_kind();
        let is_container =
            kind.kind == "Namespace" || kind.is("apiextensions.k8s.io", "CustomResourceDefinition");
        let way = if self.replace || either("Replace=true") {
            if is_container && live.is_some() { Way::Update } else { Way::Replace }
        } else if self.is_server_side(want) {
            Way::ServerSide { takes_over_from: self.takes_over_from.clone() }
        } else {
            Way::ClientSide
        };
        Writing {
            way,
            force: self.force || either("Force=true"),
            validate: self.validate && !marks::has_sync_option(want, "Validate=false"),
        }
    }

    fn is_server_side(&self, want: &Object) -> bool {
        !self.dry_run
            && !marks::has_sync_option(want, "ServerSideApply=false")
            && (self.server_side || marks::has_sync_option(want, "ServerSideApply=true"))
    }

    /// May `live` be pruned? The object's own word beats the application's.
    #[must_use]
    pub fn consent_to_prune(&self, live: &Object) -> Consent {
        match marks::consent(live, "Prune").unwrap_or(self.prune_consent) {
            Consent::AfterConfirmation if self.prune_confirmed => Consent::Given,
            consent => consent,
        }
    }
}

impl Writing {
    /// Is the object written even where nothing would change?
    pub(crate) fn always_writes(&self) -> bool {
        matches!(self.way, Way::Replace | Way::Update)
    }
}

impl Consent {
    /// Reads `Prune=…` or `Delete=…` among option words; the first one counts.
    pub(crate) fn among<S: AsRef<str>>(words: &[S], option: &str) -> Option<Self> {
        let value = words.iter().find_map(|word| {
            word.as_ref().trim().strip_prefix(option)?.strip_prefix('=').map(str::trim)
        })?;
        Some(match value {
            "false" => Self::Refused,
            "confirm" => Self::AfterConfirmation,
            _ => Self::Given,
        })
    }
}

impl Propagation {
    fn among(words: &[&str]) -> Self {
        if words.contains(&"PrunePropagationPolicy=background") {
            Self::Background
        } else if words.contains(&"PrunePropagationPolicy=foreground") {
            Self::Foreground
        } else if words.contains(&"PrunePropagationPolicy=orphan") {
            Self::Orphan
        } else {
            Self::default()
        }
    }
}

impl NamespaceWish {
    fn of(app: &Application) -> Option<Self> {
        let name = app.spec.destination.namespace.clone();
        let policy = app.spec.sync_policy.as_ref();
        let metadata = policy.and_then(|it| it.managed_namespace_metadata.clone());
        (!name.is_empty()).then_some(Self { name, metadata, exists: false })
    }

    /// The manifest, unless the namespace is there and nobody manages it.
    #[must_use]
    pub fn manifest(&self) -> Option<Object> {
        if self.exists && self.metadata.is_none() {
            return None;
        }
        let mut namespace = Object::from_value(serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name},
        }))
        .ok()?;
        for (name, value) in self.metadata.iter().flat_map(|it| &it.labels) {
            namespace.set_label(name, value);
        }
        for (name, value) in self.metadata.iter().flat_map(|it| &it.annotations) {
            namespace.set_annotation(name, value);
        }
        if self.metadata.is_some() {
            // Labels and annotations of others must survive.
            namespace.set_annotation(names::ANNOTATION_SYNC_OPTIONS, "ServerSideApply=true");
        }
        Some(namespace)
    }
}

/// Has the user approved deletions, by an annotation that names a time at or
/// after `since`?
#[must_use]
pub fn is_deletion_approved(app: &Application, since: Timestamp) -> bool {
    let approved = app.metadata.annotations.get(names::ANNOTATION_DELETION_APPROVED);
    approved.and_then(|time| time.parse::<Timestamp>().ok()).is_some_and(|time| time >= since)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options(words: &[&str]) -> SyncOptions {
        let sync = SyncOperation {
            sync_options: words.iter().map(|it| (*it).to_owned()).collect(),
            ..SyncOperation::default()
        };
        let mut app = Application::named("argocd", "web");
        app.spec.destination.namespace = "prod".into();
        SyncOptions::of(&app, &sync, "c1", Timestamp::UNIX_EPOCH)
    }

    fn object(kind: &str, option: &str) -> Object {
        let api_version =
            if kind == "CustomResourceDefinition" { "apiextensions.k8s.io/v1" } else { "v1" };
        Object::from_value(json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": "a", "annotations": {names::ANNOTATION_SYNC_OPTIONS: option}}}))
        .expect("an object")
    }

    #[track_caller]
    fn check_way(words: &[&str], want: &Object, live: Option<&Object>, expect: &Way) {
        assert_eq!(options(words).writing(want, live).way, *expect);
    }

    #[test]
    fn replacing_beats_applying_on_the_server() {
        let map = object("ConfigMap", "");
        check_way(&["Replace=true", "ServerSideApply=true"], &map, None, &Way::Replace);
        check_way(&[], &map, Some(&object("ConfigMap", "Replace=true")), &Way::Replace);
    }

    #[test]
    fn what_holds_other_objects_is_updated_and_never_replaced() {
        for kind in ["Namespace", "CustomResourceDefinition"] {
            let live = object(kind, "");
            check_way(&["Replace=true"], &live, Some(&live), &Way::Update);
            check_way(&["Replace=true"], &live, None, &Way::Replace);
        }
    }

    #[test]
    fn an_object_may_opt_out_of_applying_on_the_server() {
        let server_side = Way::ServerSide { takes_over_from: Some(CLIENT_SIDE_MANAGER.to_owned()) };
        check_way(&["ServerSideApply=true"], &object("ConfigMap", ""), None, &server_side);
        let out = object("ConfigMap", "ServerSideApply=false");
        check_way(&["ServerSideApply=true"], &out, None, &Way::ClientSide);
    }

    #[test]
    fn the_manager_that_fields_are_taken_over_from_can_be_named() {
        let taken_over_from = |word: &str, manager: &str| {
            let sync = SyncOperation {
                sync_options: vec!["ServerSideApply=true".into(), word.into()],
                ..SyncOperation::default()
            };
            let mut app = Application::named("argocd", "web");
            let annotation = names::ANNOTATION_CLIENT_SIDE_APPLY_MIGRATION_MANAGER.to_owned();
            app.metadata.annotations.insert(annotation, manager.into());
            SyncOptions::of(&app, &sync, "c1", Timestamp::UNIX_EPOCH).takes_over_from
        };
        assert_eq!(taken_over_from("", "").as_deref(), Some(CLIENT_SIDE_MANAGER));
        assert_eq!(taken_over_from("", "helm").as_deref(), Some("helm"));
        assert_eq!(taken_over_from("ClientSideApplyMigration=false", "helm"), None);
    }

    #[test]
    fn an_option_that_says_no_is_like_one_that_is_not_there() {
        let map = object("ConfigMap", "Replace=false");
        check_way(&["Replace=false", "ApplyOutOfSyncOnly=false"], &map, None, &Way::ClientSide);
        assert!(!options(&["ApplyOutOfSyncOnly=false"]).out_of_sync_only);
    }

    #[test]
    fn the_objects_word_about_pruning_beats_the_applications() {
        let asked = options(&["Prune=confirm"]);
        assert_eq!(asked.consent_to_prune(&object("ConfigMap", "")), Consent::AfterConfirmation);
        assert_eq!(asked.consent_to_prune(&object("ConfigMap", "Prune=true")), Consent::Given);
        assert_eq!(asked.consent_to_prune(&object("ConfigMap", "Prune=false")), Consent::Refused);
    }

    #[test]
    fn a_managed_namespace_keeps_what_others_put_on_it() {
        let mut wish = options(&["CreateNamespace=true"]).namespace.expect("a wish");
        assert_eq!(wish.manifest().expect("a manifest").name(), "prod");
        wish.exists = true;
        assert_eq!(wish.manifest(), None);
        wish.metadata = Some(ManagedNamespaceMetadata {
            labels: [("team".to_owned(), "a".to_owned())].into(),
            ..ManagedNamespaceMetadata::default()
        });
        let manifest = wish.manifest().expect("it is managed");
        assert_eq!(manifest.label("team"), Some("a"));
        assert!(marks::has_sync_option(&manifest, "ServerSideApply=true"));
    }

    #[test]
    fn a_shared_object_is_an_objection_only_where_that_was_asked_for() {
        let found = [Finding::new(Concern::SharedResource, "a is part of two")];
        assert_eq!(options(&[]).objection(&found), None);
        assert_eq!(
            options(&["FailOnSharedResource=true"]).objection(&found).as_deref(),
            Some("Shared resource found: a is part of two")
        );
    }
}
