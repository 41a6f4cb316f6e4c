//! The status of an Application, computed once, in one place.
//!
//! [`status`] is told what was established and what was not; what was not is
//! Unknown, never the last good answer. Writing it is somebody else's job.

use std::collections::BTreeSet;

use api::{
    AppHealthStatus, Application, ApplicationCondition, ApplicationStatus, ApplicationSummary,
    ComparedTo, ResourceStatus, SyncStatus, Time, names,
};
use jiff::Timestamp;
use object::{Object, ResourceKey};
use serde_json::Value;

use crate::cascade::needs_confirmation;
use crate::compare::{Compared, Comparison, Verdict};
use crate::finding::{Concern, Finding};
use crate::health::HealthCode;
use crate::marks::{self, Role};
use crate::operation::local_manifests;
use crate::pair::Pair;
use crate::tree;

const CAUSES_SHOWN: usize = 3;
const CONDITIONS_SHOWN: usize = 20;
const COMPARED_WITH_LOCAL: &str = "compared with the manifests that came with the last sync \
     (--local), not with the source; the next sync goes back to the source";

/// What a look at git and cluster established.
#[derive(Clone, Debug)]
pub struct Established<'e> {
    /// The commits compared with; empty when git could not be had.
    pub revisions: &'e [String],
    /// How each source was rendered.
    pub source_types: &'e [String],
    /// Both sides, or what is live alone.
    pub comparison: Option<&'e Comparison>,
    /// What its pods run.
    pub images: &'e BTreeSet<String>,
    /// What the user must know.
    pub findings: &'e [Finding],
    /// The health of each object is told too, which makes the status large and
    /// its writes many.
    pub keeps_health: bool,
}

/// The status that follows. Operation and history are left as they are.
#[must_use]
pub fn status(app: &Application, seen: &Established<'_>, now: Timestamp) -> ApplicationStatus {
    let old = &app.status;
    let local = local_manifests(app)
        .map(|_| Finding::new(Concern::LocalManifests, COMPARED_WITH_LOCAL.to_owned()));
    let findings: Vec<Finding> = seen.findings.iter().cloned().chain(local).collect();
    let known =
        seen.comparison.filter(|_| !seen.findings.iter().any(|it| it.concern.hides_the_truth()));
    ApplicationStatus {
        sync: sync_status(app, seen, known),
        health: health_status(seen.comparison, &old.health, now),
        resources: seen
            .comparison
            .map_or_else(Vec::new, |it| resources(app, it, known.is_some(), seen.keeps_health)),
        conditions: conditions(&findings, &old.conditions, now),
        source_type: single(app, seen.source_types),
        source_types: several(app, seen.source_types),
        summary: ApplicationSummary {
            images: seen.images.iter().cloned().collect(),
            is_app_of_apps: seen.comparison.is_some_and(is_app_of_apps),
            external_urls: external_urls(app, seen.comparison),
        },
        resource_health_source: if seen.keeps_health { "" } else { "appTree" }.into(),
        reconciled_at: Some(Time::from(now)),
        ..old.clone()
    }
}

/// Is there anything in `new` that a reader of `old` does not know?
///
/// The time of the last look alone is no news: writing it would cost a write
/// per application and poll.
#[must_use]
pub fn is_news(old: &ApplicationStatus, new: &ApplicationStatus) -> bool {
    let same_time = ApplicationStatus { reconciled_at: old.reconciled_at, ..new.clone() };
    *old != same_time
}

fn sync_status(
    app: &Application,
    seen: &Established<'_>,
    known: Option<&Comparison>,
) -> SyncStatus {
    let code = match known {
        None => "Unknown",
        Some(comparison) if comparison.items.values().any(Compared::counts_as_out_of_sync) => {
            "OutOfSync"
        }
        Some(comparison) if comparison.items.values().any(|it| it.verdict == Verdict::Unknown) => {
            "Unknown"
        }
        Some(_) => "Synced",
    };
    let old = &app.status.sync;
    let (revision, revisions) = if local_manifests(app).is_some() {
        Default::default()
    } else if seen.revisions.is_empty() {
        (old.revision.clone(), old.revisions.clone())
    } else {
        (single(app, seen.revisions), several(app, seen.revisions))
    };
    SyncStatus { status: code.into(), compared_to: compared_to(app), revision, revisions }
}

/// What a comparison depends on in the spec; a change of it asks for a new one.
#[must_use]
pub fn compared_to(app: &Application) -> ComparedTo {
    ComparedTo {
        source: if app.spec.sources.is_empty() {
            app.spec.source.clone().unwrap_or_default()
        } else {
            api::ApplicationSource::default()
        },
        sources: app.spec.sources.clone(),
        destination: app.spec.destination.clone(),
        ignore_differences: app.spec.ignore_differences.clone(),
    }
}

fn single(app: &Application, values: &[String]) -> String {
    if app.spec.sources.is_empty() {
        values.first().cloned().unwrap_or_default()
    } else {
        String::new()
    }
}

fn several(app: &Application, values: &[String]) -> Vec<String> {
    if app.spec.sources.is_empty() { Vec::new() } else { values.to_vec() }
}

/// The worst health of all objects that count, and whose it is.
fn health_status(
    comparison: Option<&Comparison>,
    old: &AppHealthStatus,
    now: Timestamp,
) -> AppHealthStatus {
    let (code, message) = comparison.map_or((HealthCode::Unknown, String::new()), aggregate);
    let same = old.status == code.name();
    AppHealthStatus {
        status: code.name().into(),
        message,
        last_transition_time: if same { old.last_transition_time } else { Some(Time::from(now)) },
    }
}

fn aggregate(comparison: &Comparison) -> (HealthCode, String) {
    let members = || comparison.items.iter().filter(|(_, it)| counts_for_health(it));
    if members().next().is_some() && members().all(|(_, it)| it.pair.live().is_none()) {
        return (HealthCode::Missing, String::new());
    }
    let judged = || {
        members()
            .filter(|(_, it)| it.pair.live().is_some_and(|live| !marks::ignores_health(live)))
            .filter_map(|(key, it)| Some((key, it.health.as_ref()?.code)))
    };
    let worst = judged().map(|(_, code)| code).max().unwrap_or(HealthCode::Healthy);
    if worst == HealthCode::Healthy {
        return (worst, String::new());
    }
    let causes: Vec<&ResourceKey> =
        judged().filter(|(_, code)| *code == worst).map(|(key, _)| key).collect();
    (worst, caused_by(&causes))
}

fn counts_for_health(compared: &Compared) -> bool {
    marks::role(compared.pair.either()) == Role::Member
}

fn caused_by(causes: &[&ResourceKey]) -> String {
    let shown: Vec<String> = causes
        .iter()
        .take(CAUSES_SHOWN)
        .map(|key| match key.namespace.as_str() {
            "" => format!("{}:{}", key.group_kind(), key.name),
            namespace => format!("{}:{namespace}/{}", key.group_kind(), key.name),
        })
        .collect();
    let mut text = format!("Caused by {}", shown.join(", "));
    if causes.len() > CAUSES_SHOWN {
        text += &format!(" and {} more", causes.len() - CAUSES_SHOWN);
    }
    text
}

/// The health of one object as its own line tells it.
fn own_health(compared: &Compared) -> Option<api::HealthStatus> {
    if !counts_for_health(compared) {
        return None;
    }
    let Some(live) = compared.pair.live() else {
        let status = HealthCode::Missing.name().into();
        return Some(api::HealthStatus { status, ..Default::default() });
    };
    let health = compared.health.as_ref().filter(|_| !marks::ignores_health(live))?;
    let (status, message) = (health.code.name().into(), health.message.clone());
    Some(api::HealthStatus { status, message, ..Default::default() })
}

fn resources(
    app: &Application,
    comparison: &Comparison,
    verified: bool,
    keeps_health: bool,
) -> Vec<ResourceStatus> {
    comparison
        .items
        .iter()
        .map(|(key, it)| ResourceStatus {
            group: key.group.clone(),
            version: it.pair.either().group_version_kind().version,
            kind: key.kind.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            status: match &it.verdict {
                Verdict::NotJudged => "",
                _ if !verified => "Unknown",
                Verdict::Synced | Verdict::Tolerated => "Synced",
                Verdict::OutOfSync(_) => "OutOfSync",
                Verdict::Unknown => "Unknown",
            }
            .into(),
            health: keeps_health.then(|| own_health(it)).flatten(),
            hook: matches!(marks::role(it.pair.either()), Role::Hook(_)),
            requires_pruning: verified && it.requires_pruning(),
            requires_deletion_confirmation: [it.pair.want(), it.pair.live()]
                .into_iter()
                .flatten()
                .any(|side| needs_confirmation(side, app)),
            sync_wave: i64::from(marks::wave(it.pair.either())),
        })
        .collect()
}

/// One condition a finding; an unchanged one keeps the time it first appeared.
#[must_use]
pub fn conditions(
    findings: &[Finding],
    old: &[ApplicationCondition],
    now: Timestamp,
) -> Vec<ApplicationCondition> {
    let distinct: BTreeSet<(Concern, &str)> =
        findings.iter().map(|it| (it.concern, it.message.as_str())).collect();
    let mut conditions: Vec<ApplicationCondition> = distinct
        .into_iter()
        .take(CONDITIONS_SHOWN)
        .map(|(concern, message)| {
            let type_ = concern.condition_type();
            let before = old.iter().find(|it| it.type_ == type_ && it.message == message);
            ApplicationCondition {
                type_: type_.into(),
                message: message.into(),
                last_transition_time: before
                    .and_then(|it| it.last_transition_time)
                    .or(Some(Time::from(now))),
            }
        })
        .collect();
    conditions.sort_by(|a, b| (&a.type_, &a.message).cmp(&(&b.type_, &b.message)));
    conditions
}

/// The images of a pod, or of the pods that something makes, sorted.
pub(crate) fn images_of(object: &Object) -> BTreeSet<String> {
    let paths = [
        &["spec"] as &[&str],
        &["spec", "template", "spec"],
        &["spec", "jobTemplate", "spec", "template", "spec"],
    ];
    paths.iter().flat_map(|path| images_of_pod(object, path)).collect()
}

fn images_of_pod(object: &Object, path: &[&str]) -> Vec<String> {
    let Some(spec) = object.at(path) else { return Vec::new() };
    ["containers", "initContainers"]
        .into_iter()
        .filter_map(|list| spec.get(list)?.as_array())
        .flatten()
        .filter_map(|container| container.get("image").and_then(Value::as_str))
        .map(str::to_owned)
        .collect()
}

/// Where the application can be reached, and the links that it has.
fn external_urls(app: &Application, comparison: Option<&Comparison>) -> Vec<String> {
    let live =
        comparison.into_iter().flat_map(|it| it.items.values()).filter_map(|it| it.pair.live());
    let of_objects = live.filter_map(tree::networking).flat_map(|it| it.external_urls);
    let annotations = app.metadata.annotations.iter();
    let links = annotations.filter(|(name, _)| name.starts_with(names::ANNOTATION_LINK_PREFIX));
    let links = links.map(|(_, link)| link.clone()).filter(|link| tree::is_web_link(link));
    let all: BTreeSet<String> = of_objects.chain(links).collect();
    all.into_iter().collect()
}

fn is_app_of_apps(comparison: &Comparison) -> bool {
    comparison.items.iter().any(|(key, it)| {
        key.group_kind().is(api::GROUP, "Application") && !matches!(it.pair, Pair::Extra { .. })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::compare::{Facts, Rules, Scope, compare};
    use crate::health::BuiltinOnly;

    fn object(kind: &str, name: &str, status: &Value) -> Object {
        let version = if kind == "Job" { "batch/v1" } else { "v1" };
        Object::from_value(json!({
            "apiVersion": version, "kind": kind, "status": status,
            "metadata": {"name": name, "namespace": "web"},
        }))
        .expect("a test object")
    }

    fn compared(want: &[Object], live: &[Object]) -> Comparison {
        let facts = Facts {
            tracked_by: crate::marks::TrackedBy::default(),
            instance: "app".into(),
            destination_namespace: "web".into(),
            scopes: [("", "ConfigMap"), ("batch", "Job")]
                .map(|(group, kind)| (object::GroupKind::new(group, kind), Scope::Namespaced))
                .into(),
            ..Facts::default()
        };
        let live: BTreeMap<_, _> = live.iter().map(|it| (it.key(), it.clone())).collect();
        let rules = Rules { health: &BuiltinOnly, comparing: &crate::diff::Comparing::default() };
        compare(want.to_vec(), live, rules, &facts).0
    }

    fn app() -> Application {
        let mut app = Application::named("argocd", "app");
        app.spec.source = Some(api::ApplicationSource::default());
        app
    }

    fn seen(comparison: Option<&Comparison>, findings: &[Finding]) -> ApplicationStatus {
        told(comparison, findings, false)
    }

    fn told(
        comparison: Option<&Comparison>,
        findings: &[Finding],
        keeps_health: bool,
    ) -> ApplicationStatus {
        let revisions = ["c1".to_owned()];
        let seen = Established {
            revisions: &revisions,
            source_types: &[],
            comparison,
            images: &BTreeSet::new(),
            findings,
            keeps_health,
        };
        status(&app(), &seen, Timestamp::UNIX_EPOCH)
    }

    #[track_caller]
    fn check(want: &[Object], live: &[Object], sync: &str, health: &str) {
        let status = seen(Some(&compared(want, live)), &[]);
        assert_eq!((status.sync.status.as_str(), status.health.status.as_str()), (sync, health));
    }

    #[test]
    fn an_application_without_objects_is_synced_and_healthy() {
        check(&[], &[], "Synced", "Healthy");
    }

    #[test]
    fn nothing_live_yet_is_missing() {
        check(&[object("Job", "a", &json!({}))], &[], "OutOfSync", "Missing");
    }

    #[test]
    fn a_missing_object_does_not_degrade_the_others() {
        let job = object("Job", "a", &json!({"conditions": [{"type": "Complete"}]}));
        check(&[job.clone(), object("Job", "b", &json!({}))], &[job], "OutOfSync", "Healthy");
    }

    #[test]
    fn links_of_an_application_lead_to_web_pages_only() {
        let mut app = app();
        for (name, link) in [("a", "Docs|https://docs.example"), ("b", "x|javascript:alert(1)")] {
            let name = format!("{}{name}", names::ANNOTATION_LINK_PREFIX);
            app.metadata.annotations.insert(name, link.into());
        }
        assert_eq!(external_urls(&app, None), ["Docs|https://docs.example"]);
    }

    #[test]
    fn what_is_not_to_count_for_health_does_not() {
        let mut failed = object("Job", "bad", &json!({"conditions": [{"type": "Failed"}]}));
        failed.set_annotation(names::ANNOTATION_IGNORE_HEALTHCHECK, "true");
        let done = object("Job", "good", &json!({"conditions": [{"type": "Complete"}]}));
        check(&[failed.clone(), done.clone()], &[failed, done], "Synced", "Healthy");
    }

    #[test]
    fn an_extra_object_that_may_be_there_does_not_count_but_its_own_status_does() {
        let mut extra = object("ConfigMap", "extra", &json!({}));
        extra.set_annotation(names::ANNOTATION_TRACKING_ID, "app:/ConfigMap:web/extra");
        check(&[], &[extra.clone()], "OutOfSync", "Healthy");
        extra.set_annotation(names::ANNOTATION_COMPARE_OPTIONS, "IgnoreExtraneous");
        let status = seen(Some(&compared(&[], &[extra])), &[]);
        assert_eq!(
            (status.sync.status.as_str(), status.resources[0].status.as_str()),
            ("Synced", "OutOfSync")
        );
    }

    #[test]
    fn the_worst_object_decides_and_is_named() {
        let failed = object("Job", "bad", &json!({"conditions": [{"type": "Failed"}]}));
        let running = object("Job", "good", &json!({}));
        let status =
            seen(Some(&compared(&[failed.clone(), running.clone()], &[failed, running])), &[]);
        assert_eq!(status.health.status, "Degraded");
        assert_eq!(status.health.message, "Caused by batch/Job:web/bad");
    }

    #[test]
    fn an_error_makes_the_verdict_unknown_but_keeps_health() {
        let job = object("Job", "a", &json!({"conditions": [{"type": "Complete"}]}));
        let comparison = compared(std::slice::from_ref(&job), std::slice::from_ref(&job));
        let finding = Finding::new(Concern::Comparison, "the branch is gone");
        let status = seen(Some(&comparison), &[finding]);
        assert_eq!(
            (status.sync.status.as_str(), status.health.status.as_str()),
            ("Unknown", "Healthy")
        );
        assert_eq!(status.resources[0].status, "Unknown");
        assert_eq!(status.conditions[0].type_, "ComparisonError");
    }

    #[test]
    fn the_health_of_each_object_is_kept_where_that_was_asked_for() {
        let job = object("Job", "a", &json!({"conditions": [{"type": "Complete"}]}));
        let map = object("ConfigMap", "b", &json!({}));
        let missing = object("Job", "c", &json!({}));
        let comparison = compared(&[job.clone(), map.clone(), missing], &[job, map]);
        let healths = |keeps_health| {
            let status = told(Some(&comparison), &[], keeps_health);
            let resources = status.resources.into_iter();
            let healths: Vec<_> = resources.map(|it| it.health.map(|it| it.status)).collect();
            (healths, status.resource_health_source)
        };
        let (healthy, missing) = (Some("Healthy".to_owned()), Some("Missing".to_owned()));
        assert_eq!(healths(true), (vec![None, healthy, missing], String::new()));
        assert_eq!(healths(false), (vec![None, None, None], "appTree".to_owned()));
    }

    #[test]
    fn nothing_established_is_unknown() {
        let status = seen(None, &[]);
        assert_eq!(
            (status.sync.status.as_str(), status.health.status.as_str()),
            ("Unknown", "Unknown")
        );
    }

    #[test]
    fn a_condition_keeps_the_time_it_first_appeared() {
        let finding = [Finding::new(Concern::Comparison, "same")];
        let first = conditions(&finding, &[], Timestamp::UNIX_EPOCH);
        let later = Timestamp::from_second(60).expect("a time");
        assert_eq!(conditions(&finding, &first, later), first);
    }

    #[test]
    fn the_time_of_the_look_is_no_news() {
        let old = seen(None, &[]);
        let mut new = old.clone();
        new.reconciled_at = None;
        assert!(!is_news(&old, &new));
        new.sync.status = "Synced".into();
        assert!(is_news(&old, &new));
    }
}
