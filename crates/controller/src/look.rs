//! A look at both sides of an Application: render, observe, compare.
//!
//! Whatever cannot be established becomes a finding; a look always has an
//! answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{
    AppProjectSpec, Application, ApplicationSource, SourceIntegrity, SourceIntegrityGit,
    SourceIntegrityGitPolicy, SourceIntegrityGitPolicyGpg, SourceIntegrityGitPolicyRepo,
    SyncOperationResource,
};
use cluster::{ApiKind, Cluster, Continuity, FieldSetWish, Kinds, Known, Live, RequestError};
use engine::operation::local_manifests;
use engine::project::SourceRepos;
use engine::status::compared_to;
use engine::{
    Answers, Comparing, Comparison, Concern, Facts, Finding, Rules, Scope, TrackedBy, compare,
    defined_scopes, observe, questions, read_otherwise, wanted_keys,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use object::{GroupKind, Object, ResourceKey};
use render::tracking::{Tracking, TrackingMethod};
use runtime::SPANS;
use tracing::Instrument as _;

use crate::Controller;
use crate::acting::acting;
use crate::destinations::{Destination, DestinationError};
use crate::grace::Reading;
use crate::health::KindRules;
use crate::level::Level;
use crate::orphans;
use crate::ports::{Freshness, RefSource, RenderRequest, Rendered, Since};
use crate::projects::Permit;
use crate::settings::Settings;
use crate::watchdog::{Stage, reached};

/// Whoever looks at a cluster of another replica's waits for it for this long.
const FIRST_LISTS: Duration = Duration::from_secs(30);

/// What a look established.
pub(crate) struct Seen {
    pub(crate) revisions: Vec<String>,
    pub(crate) source_types: Vec<String>,
    pub(crate) want: Vec<Object>,
    pub(crate) facts: Facts,
    pub(crate) settings: Arc<Settings>,
    pub(crate) comparing: Comparing,
    /// Where it deploys to; none if that is not known.
    pub(crate) cluster: Option<Cluster>,
    /// The same with the rights that its objects are written with, or why it has none.
    pub(crate) writer: Result<Cluster, String>,
    /// What its project lets it do; none if it may not be deployed at all.
    pub(crate) permit: Option<Permit>,
    pub(crate) comparison: Option<Comparison>,
    /// What its pods run.
    pub(crate) images: BTreeSet<String>,
    /// What lies in its namespace and is nobody's, if the project looks after it.
    pub(crate) orphans: Vec<Known>,
    pub(crate) findings: Vec<Finding>,
    /// How many of the findings are about git's side; they are the first.
    findings_about_sources: usize,
    /// Is all of git's side there?
    is_rendered: bool,
    /// Trying again by itself may help.
    pub(crate) may_pass: bool,
    /// Whether the sources could be read.
    pub(crate) reading: Reading,
    /// The cluster was never seen yet: nothing should be said.
    pub(crate) out_of_sight: bool,
    /// It is out of sight since so short a time that an operation waits for it.
    pub(crate) may_be_back: bool,
    /// What is remembered of earlier looks does not count.
    pub(crate) trusts_nothing: bool,
    /// It is about manifests that a user sent, not about git.
    pub(crate) is_local: bool,
}

impl Seen {
    /// Were both sides established, and does nothing speak against a sync?
    pub(crate) fn is_verified(&self) -> bool {
        !self.findings.iter().any(|finding| finding.concern.forbids_syncs())
    }

    /// Does an object differ from git in a way that counts?
    pub(crate) fn is_out_of_sync(&self) -> bool {
        let mut items = self.comparison.iter().flat_map(|it| it.items.values());
        items.any(engine::Compared::counts_as_out_of_sync)
    }

    /// The objects that an operation names; none when it is about all.
    pub(crate) fn selection(
        &self,
        named: &[SyncOperationResource],
    ) -> Option<BTreeSet<ResourceKey>> {
        let keys = self.comparison.iter().flat_map(|it| it.items.keys());
        (!named.is_empty()).then(|| keys.filter(|key| is_named(key, named)).cloned().collect())
    }
}

fn is_named(key: &ResourceKey, named: &[SyncOperationResource]) -> bool {
    named.iter().any(|it| {
        it.group == key.group
            && it.kind == key.kind
            && it.name == key.name
            && (it.namespace.is_empty() || it.namespace == key.namespace)
    })
}

/// Which commits to look at.
#[derive(Clone, Debug)]
pub(crate) enum At {
    /// What the sources name, as fresh as the level asks.
    Target(Level),
    /// These, one per source.
    Revisions(Vec<String>),
    /// None: these manifests, each an object in JSON, came with a request.
    Manifests(Vec<String>),
}

impl At {
    /// What the Application is compared with: what its sources name, or what a
    /// user sent with its last sync.
    pub(crate) fn compared(app: &Application, level: Level) -> Self {
        let local = local_manifests(app).map(|it| Self::Manifests(it.to_vec()));
        local.unwrap_or(Self::Target(level))
    }
}

/// Renders, observes and compares. It takes much room, and rests most of the time.
pub(crate) fn look<'a>(
    controller: &'a Controller,
    app: &'a Application,
    at: &'a At,
) -> BoxFuture<'a, Seen> {
    seen_of(controller, app, at).boxed()
}

async fn seen_of(controller: &Controller, app: &Application, at: &At) -> Seen {
    let began = Instant::now();
    let mut seen = Seen {
        revisions: Vec::new(),
        source_types: Vec::new(),
        want: Vec::new(),
        facts: facts(controller, app, None, &[]),
        settings: controller.settings(),
        comparing: Comparing::default(),
        cluster: None,
        writer: Err("the destination is not known".into()),
        permit: None,
        comparison: None,
        images: BTreeSet::new(),
        orphans: Vec::new(),
        findings: Vec::new(),
        findings_about_sources: 0,
        is_rendered: false,
        may_pass: false,
        reading: Reading::Settled,
        out_of_sight: false,
        may_be_back: false,
        trusts_nothing: matches!(at, At::Target(level) if level.at_least_for(app) == Level::Hard),
        is_local: matches!(at, At::Manifests(_)),
    };
    let destination = match controller.destinations.find(&app.spec.destination) {
        Ok(destination) => destination,
        Err(error) => {
            let (concern, may_pass) = match &error {
                DestinationError::NotThere(_) => (Concern::InvalidSpec, false),
                DestinationError::NotConnected { .. } => (Concern::Comparison, true),
            };
            seen.findings.push(Finding::new(concern, error.to_string()));
            seen.may_pass = may_pass;
            return seen;
        }
    };
    let destination = in_sight(controller, app, destination).await;
    match controller.permit(app, &destination) {
        Ok(permit) => {
            let impersonation = seen.settings.impersonation;
            let writer = acting(impersonation, &permit.project, app, &destination);
            seen.writer = writer.map(|it| it.heard_by(controller.metrics.requests_for(app)));
            seen.permit = Some(permit);
        }
        Err(findings) => {
            seen.findings.extend(findings);
            return seen;
        }
    }
    let cluster = destination.cluster;
    let (comparing, unreadable) = Comparing::of(app, &controller.settings().comparing);
    seen.comparing = comparing;
    seen.is_rendered = render(controller, app, &cluster, at, &mut seen).await;
    seen.findings.extend(unreadable);
    seen.findings_about_sources = seen.findings.len();
    seen.facts = facts(controller, app, Some(&cluster), &seen.want);
    seen.cluster = Some(cluster);
    let rendered_after = began.elapsed();
    observe_and_compare(controller, &mut seen).await;
    look_for_orphans(controller, app, &mut seen);
    tracing::debug!(app = %app.key(), took = ?began.elapsed(), ?rendered_after, "looked");
    seen
}

/// A cluster that another replica looks after is watched here only while somebody looks at it.
async fn in_sight(
    controller: &Controller,
    app: &Application,
    destination: Destination,
) -> Destination {
    let cluster = destination.cluster.attended();
    if !controller.is_ours(app) {
        // Where it takes longer, the look says what is not known yet.
        tokio::time::timeout(FIRST_LISTS, cluster.ready()).await.ok();
    }
    Destination { cluster, ..destination }
}

fn look_for_orphans(controller: &Controller, app: &Application, seen: &mut Seen) {
    let (Some(cluster), Some(permit)) = (&seen.cluster, &seen.permit) else { return };
    if let Some(comparison) = &seen.comparison {
        seen.orphans = orphans::orphans(controller, app, permit, cluster, comparison);
        seen.findings.extend(orphans::warning(permit, &seen.orphans));
    }
}

/// Looks at the cluster's side again, after something was written to it.
pub(crate) async fn look_again(controller: &Controller, app: &Application, seen: &mut Seen) {
    if seen.cluster.is_none() {
        return;
    }
    let began = Instant::now();
    seen.findings.truncate(seen.findings_about_sources);
    observe_and_compare(controller, seen).await;
    look_for_orphans(controller, app, seen);
    tracing::debug!(app = %app.key(), took = ?began.elapsed(), "looked again");
}

/// Looks again after a sync of what was seen `there`. What the Application is compared
/// with may be something else since.
pub(crate) async fn look_back(
    controller: &Controller,
    app: &Application,
    seen: &mut Seen,
    there: &Seen,
) {
    if there.is_local || seen.is_local {
        *seen = look(controller, app, &At::compared(app, Level::Polled)).await;
    } else if app.operation.is_none() {
        // What was deployed may be what the branch stands for by now.
        *seen = look(controller, app, &At::compared(app, Level::Latest)).await;
    } else {
        look_again(controller, app, seen).await;
    }
}

async fn observe_and_compare(controller: &Controller, seen: &mut Seen) {
    let (Some(cluster), Some(permit)) = (seen.cluster.clone(), &seen.permit) else { return };
    let exclusions = seen.settings.exclusions_of(permit.server());
    let is_excluded = |it: &Object| exclusions.excludes(&it.group_kind());
    let (excluded, want) = seen.want.iter().cloned().partition::<Vec<Object>, _>(is_excluded);
    seen.findings.extend(excluded.iter().map(excluded_warning));
    reached(Stage::ReadingCluster);
    let wanted = wanted_keys(&want, &seen.facts);
    cluster.keep_field_sets(trusted_field_sets(&seen.comparing));
    let mut live = match live_objects(&cluster, &seen.facts.instance, &wanted).await {
        Ok(live) => live,
        Err(blind) => {
            seen.out_of_sight = blind.at_first;
            seen.may_be_back = blind.lasting < controller.options.cluster_patience;
            seen.may_pass = true;
            seen.findings.push(Finding::new(Concern::Comparison, blind.why));
            return;
        }
    };
    permit.filter(&mut live);
    read_in_gits_versions(controller, &cluster, &want, &mut live, seen).await;
    seen.images = cluster.images(&seen.facts.instance);
    if seen.is_rendered {
        ask_server(controller, &want, &live, seen).await;
    }
    let health = KindRules { settings: &seen.settings, now: controller.now() };
    let rules = Rules { health: &health, comparing: &seen.comparing };
    if !seen.is_rendered {
        seen.comparison = Some(observe(live, rules, &seen.facts));
        return;
    }
    let (mut comparison, findings) = compare(want, live, rules, &seen.facts);
    if let Some(permit) = &seen.permit {
        permit.mark_denied(&mut comparison);
    }
    seen.comparison = Some(comparison);
    seen.findings.extend(findings);
}

/// Reads what git wants in another version than the server prefers in git's. What cannot
/// be read so is compared as it is known, and nobody is told that it is in sync.
async fn read_in_gits_versions(
    controller: &Controller,
    cluster: &Cluster,
    want: &[Object],
    live: &mut BTreeMap<ResourceKey, Object>,
    seen: &mut Seen,
) {
    let wanted = read_otherwise(want, live, &seen.facts);
    if wanted.is_empty() {
        return;
    }
    let at_once = controller.options.parallel_writes;
    for (key, error) in controller.other_versions.read(cluster, wanted, live, at_once).await {
        let why = error.in_one_line();
        let message = format!("could not read {key} in the version that git states: {why}");
        seen.may_pass = true;
        seen.findings.push(Finding::about(Concern::Comparison, key, message));
    }
}

/// Asks what applying would do, where only the API server can tell.
async fn ask_server(
    controller: &Controller,
    want: &[Object],
    live: &BTreeMap<ResourceKey, Object>,
    seen: &mut Seen,
) {
    let questions = questions(want, live, &seen.comparing, &seen.facts);
    let anew = std::mem::take(&mut seen.trusts_nothing);
    let at_once = controller.options.parallel_writes;
    let writer = match &seen.writer {
        Ok(writer) => writer,
        Err(why) if !questions.is_empty() => {
            let message = format!("could not ask the API server what a sync would do: {why}");
            seen.findings.push(Finding::new(Concern::Comparison, message));
            return;
        }
        Err(_) => return,
    };
    reached(Stage::AskingServer);
    let asked = controller.dry_runs.ask(writer, questions, live, anew, at_once).await;
    seen.may_pass |= asked.may_pass;
    seen.facts.answers = asked.answers;
}

/// The field sets that tell what trusted managers set.
fn trusted_field_sets(comparing: &Comparing) -> impl Iterator<Item = FieldSetWish> {
    comparing.ignoring.trusted().map(|it| FieldSetWish {
        group: it.group.to_owned(),
        kind: it.kind.to_owned(),
        manager: it.manager.to_owned(),
    })
}

fn excluded_warning(object: &Object) -> Finding {
    let (kind, name) = (object.group_kind(), object.name());
    let message =
        format!("Resource {}/{} {name} is excluded in the settings", kind.group, kind.kind);
    Finding::about(Concern::ExcludedResource, object.key(), message)
}

/// Fills in what git wants; whether that is all of it.
async fn render(
    controller: &Controller,
    app: &Application,
    destination: &Cluster,
    at: &At,
    seen: &mut Seen,
) -> bool {
    let sources = app.sources();
    let integrity = seen.permit.as_ref().and_then(|it| effective_integrity(&it.project.spec));
    let source_repos = seen.permit.as_ref().map_or_else(SourceRepos::none, Permit::source_repos);
    if let At::Manifests(texts) = at {
        return read_manifests(texts, integrity.as_ref(), &sources, seen);
    }
    if sources.is_empty() {
        let message = "spec.source or spec.sources is required: say where the manifests are";
        seen.findings.push(Finding::new(Concern::InvalidSpec, message));
        return false;
    }
    for (index, source) in sources.iter().enumerate() {
        let request = request(controller, app, destination, source, index, at);
        let (integrity, source_repos) = (integrity.clone(), source_repos.clone());
        let request = RenderRequest { integrity, source_repos, ..request };
        reached(Stage::ReadingSources);
        let span = tracing::info_span!(target: SPANS, "controller.GetRepoObjs", index);
        match controller.sources.render(request).instrument(span).await {
            Ok(Rendered { commit, source_type, objects, problems }) => {
                seen.findings.extend(integrity_finding(&problems, &sources, index));
                seen.revisions.push(commit);
                seen.source_types.push(source_type);
                seen.want.extend(objects);
            }
            Err(error) => {
                seen.may_pass |= error.may_pass;
                if error.may_pass {
                    seen.reading = Reading::Failed;
                }
                let message = format!("Failed to load target state: {}", error.message);
                seen.findings.push(Finding::new(Concern::Comparison, message));
            }
        }
    }
    let complete = seen.revisions.len() == sources.len();
    if !complete {
        seen.revisions.clear();
        seen.want.clear();
    }
    complete
}

/// How the project wants commits to prove where they come from. The older
/// `signatureKeys` count where there is nothing newer.
fn effective_integrity(project: &AppProjectSpec) -> Option<SourceIntegrity> {
    let newer = project.source_integrity.as_ref();
    if project.signature_keys.is_empty() || newer.is_some_and(|it| it.git.is_some()) {
        return newer.cloned();
    }
    let gpg = SourceIntegrityGitPolicyGpg {
        mode: "head".to_owned(),
        keys: project.signature_keys.iter().map(|it| it.key_id.clone()).collect(),
    };
    let everything = SourceIntegrityGitPolicyRepo { url: "*".to_owned() };
    let policy = SourceIntegrityGitPolicy { repos: vec![everything], gpg: Some(gpg) };
    Some(SourceIntegrity { git: Some(SourceIntegrityGit { policies: vec![policy] }) })
}

/// All problems of one source in one finding, with the source's name where
/// there are several.
fn integrity_finding(
    problems: &[String],
    sources: &[ApplicationSource],
    index: usize,
) -> Option<Finding> {
    let name = match sources {
        [_] => String::new(),
        sources if !sources[index].name.is_empty() => format!("source {}: ", sources[index].name),
        sources => format!("source {} of {}: ", index + 1, sources.len()),
    };
    let told = problems.iter().map(|it| match it.split_once(": ") {
        Some((check, problem)) => format!("{check}: {name}{problem}"),
        None => format!("{name}{it}"),
    });
    let told = told.collect::<Vec<_>>().join("\n");
    (!told.is_empty()).then(|| Finding::new(Concern::Integrity, told))
}

fn read_manifests(
    texts: &[String],
    integrity: Option<&SourceIntegrity>,
    sources: &[ApplicationSource],
    seen: &mut Seen,
) -> bool {
    let from_git =
        |it: &ApplicationSource| it.chart.is_empty() && !it.repo_url.starts_with("oci://");
    if integrity.is_some_and(|it| it.git.is_some()) && sources.iter().any(from_git) {
        let message = "Cannot use local manifests when source integrity is enforced";
        seen.findings.push(Finding::new(Concern::Comparison, message));
        return false;
    }
    for text in texts {
        let object = serde_json::from_str(text).ok().and_then(|it| Object::from_value(it).ok());
        let Some(object) = object else {
            let message = "Failed to load target state: a manifest of the request is no object";
            seen.findings.push(Finding::new(Concern::Comparison, message));
            return false;
        };
        seen.want.push(object);
    }
    true
}

fn request(
    controller: &Controller,
    app: &Application,
    destination: &Cluster,
    source: &ApplicationSource,
    index: usize,
    at: &At,
) -> RenderRequest {
    let level = match at {
        At::Target(level) => level.at_least_for(app),
        At::Revisions(_) | At::Manifests(_) => Level::Live,
    };
    RenderRequest {
        source: source.clone(),
        revision: revision(app, source, index, at, level),
        refs: refs(app, at, level),
        freshness: match level {
            Level::Live | Level::Polled => Freshness::NotBefore(controller.last_poll()),
            Level::Latest | Level::Hard => Freshness::Latest,
        },
        instance: controller.instance_name(app),
        project: app.spec.project.clone(),
        namespace: app.spec.destination.namespace.clone(),
        tracking: controller.settings().tracking.clone(),
        kube_version: destination.client().version().git_version.clone(),
        kinds: destination.kinds(),
        source_repos: SourceRepos::none(),
        integrity: None,
        ignore_cache: level == Level::Hard,
        generate_paths: app
            .metadata
            .annotations
            .get(api::names::ANNOTATION_MANIFEST_GENERATE_PATHS)
            .cloned()
            .unwrap_or_default(),
    }
}

/// Each source of an Application that has manifests, as it was seen and as it was at
/// other commits. What is only referred to differs with those who refer to it.
pub(crate) fn at_both(
    controller: &Controller,
    app: &Application,
    seen: &Seen,
    before: &[String],
) -> Option<Vec<Since>> {
    let (cluster, permit) = (seen.cluster.as_ref()?, seen.permit.as_ref()?);
    let (now, then) = (At::Revisions(seen.revisions.clone()), At::Revisions(before.to_vec()));
    let has_manifests =
        |it: &ApplicationSource| it.ref_.is_empty() || !it.path.is_empty() || !it.chart.is_empty();
    let sources = app.sources();
    let sources = sources.iter().enumerate().filter(|(_, it)| has_manifests(it));
    let since = sources.map(|(index, source)| {
        let at = |at: &At| request(controller, app, cluster, source, index, at);
        let integrity = effective_integrity(&permit.project.spec);
        let then = at(&then);
        Since {
            now: RenderRequest { integrity, ..at(&now) },
            commit: then.revision,
            ref_commits: then.refs.into_iter().map(|it| it.revision).collect(),
        }
    });
    Some(since.collect())
}

/// The revision of a source to look at.
fn revision(
    app: &Application,
    source: &ApplicationSource,
    index: usize,
    at: &At,
    level: Level,
) -> String {
    let compared = &app.status.sync;
    match at {
        At::Revisions(revisions) => revisions.get(index).cloned().unwrap_or_default(),
        At::Target(_) if level == Level::Live => {
            compared.revisions.get(index).unwrap_or(&compared.revision).clone()
        }
        At::Target(_) | At::Manifests(_) => source.target_revision.clone(),
    }
}

/// The sources that others may refer to.
fn refs(app: &Application, at: &At, level: Level) -> Vec<RefSource> {
    let referable = app.spec.sources.iter().enumerate().filter(|(_, it)| !it.ref_.is_empty());
    let refs = referable.map(|(index, source)| RefSource {
        source: source.clone(),
        revision: revision(app, source, index, at, level),
    });
    refs.collect()
}

/// Was the last comparison about this very spec, and did it name its commits?
pub(crate) fn is_comparable_with_recent(app: &Application) -> bool {
    let compared = &app.status.sync;
    let has_commits = if app.spec.sources.is_empty() {
        !compared.revision.is_empty()
    } else {
        compared.revisions.len() == app.spec.sources.len()
    };
    has_commits && compared.compared_to == compared_to(app)
}

fn facts(
    controller: &Controller,
    app: &Application,
    cluster: Option<&Cluster>,
    want: &[Object],
) -> Facts {
    let kinds = cluster.map(Cluster::kinds).unwrap_or_default();
    let scope = |object: &Object| {
        let kind = kinds.preferred(&object.group_kind())?;
        Some((kind.group_kind(), if kind.namespaced { Scope::Namespaced } else { Scope::Cluster }))
    };
    Facts {
        instance: controller.instance_name(app),
        tracked_by: tracked_by(&controller.settings().tracking),
        destination_namespace: app.spec.destination.namespace.clone(),
        // What is served counts before what is about to be.
        scopes: defined_scopes(want).chain(want.iter().filter_map(scope)).collect(),
        versions: served_versions(&kinds, want),
        api_versions: served_api_versions(&kinds, want),
        answers: Answers::new(),
    }
}

/// The versions of the wanted kinds; where a kind is not served, those of its namesakes.
fn served_versions(kinds: &Kinds, want: &[Object]) -> BTreeMap<GroupKind, Vec<String>> {
    let wanted: BTreeSet<GroupKind> = want.iter().map(Object::group_kind).collect();
    let (served, unserved): (Vec<_>, Vec<_>) =
        wanted.into_iter().partition(|kind| kinds.preferred(kind).is_some());
    let is_namesake = |kind: &&Arc<ApiKind>| unserved.iter().any(|it| it.kind == kind.kind);
    let namesakes = kinds.iter().filter(is_namesake).map(|it| it.group_kind());
    let with_versions = served.into_iter().chain(namesakes).map(|kind| {
        let versions = kinds.versions(&kind).iter().map(|it| it.version.clone());
        let versions = versions.collect();
        (kind, versions)
    });
    with_versions.collect()
}

fn served_api_versions(kinds: &Kinds, want: &[Object]) -> BTreeSet<String> {
    let wanted: BTreeSet<&str> = want.iter().map(Object::api_version).collect();
    wanted.into_iter().filter(|it| kinds.serves(it)).map(str::to_owned).collect()
}

/// How this installation marks what is an application's.
pub(crate) fn tracked_by(tracking: &Tracking) -> TrackedBy {
    match tracking.method {
        TrackingMethod::Label => TrackedBy::Label { key: tracking.label_key.clone() },
        TrackingMethod::Annotation | TrackingMethod::AnnotationAndLabel => {
            TrackedBy::Annotation { installation: tracking.installation_id.clone() }
        }
    }
}

/// Why the live side is not known.
pub(crate) struct Blind {
    why: String,
    /// It was never seen yet.
    at_first: bool,
    lasting: Duration,
}

/// What the application tracks and what of `wanted` exists.
pub(crate) async fn live_objects(
    cluster: &Cluster,
    instance: &str,
    wanted: &[ResourceKey],
) -> Result<BTreeMap<ResourceKey, Object>, Blind> {
    let live = cluster.live(instance, wanted);
    if let Some(blind) = blindness(&live) {
        return Err(blind);
    }
    let mut objects: BTreeMap<_, _> =
        live.objects.iter().map(|(key, it)| (key.clone(), it.object())).collect();
    for (key, fetched) in cluster.fetch(live.unknown).await {
        match fetched {
            Ok(Some(found)) => drop(objects.insert(key, found.object())),
            Ok(None) => {}
            Err(error) => {
                let why = format!("could not read {key}: {}", error.in_one_line());
                // Watches will tell how long a server is gone; a no is a no.
                let is_gone = matches!(error, RequestError::Unreachable { .. });
                let lasting = if is_gone { Duration::ZERO } else { Duration::MAX };
                return Err(Blind { why, at_first: false, lasting });
            }
        }
    }
    Ok(objects)
}

fn blindness(live: &Live) -> Option<Blind> {
    let unverified = live.unverified.first()?;
    let (why, at_first, lasting) = match &unverified.continuity {
        Continuity::Verified { .. } => return None,
        Continuity::Starting => ("the first list is not complete", true, Duration::ZERO),
        // The store has waited for as long as a verdict may stand unproven.
        Continuity::Broken { why, lasting } => (why.as_str(), false, *lasting),
    };
    let why = format!(
        "the state of {} in the cluster is not known at the moment: {why}",
        unverified.kind
    );
    Some(Blind { why, at_first, lasting })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_names_objects_exactly_and_their_namespace_if_it_likes() {
        let check = |group: &str, kind: &str, namespace: &str, name: &str| {
            let named = SyncOperationResource {
                group: group.into(),
                kind: kind.into(),
                name: name.into(),
                namespace: namespace.into(),
            };
            let key = ResourceKey::new(&GroupKind::new("apps", "Deployment"), "shop", "web");
            is_named(&key, &[named])
        };
        assert!(check("apps", "Deployment", "shop", "web"));
        assert!(check("apps", "Deployment", "", "web"));
        assert!(!check("apps", "Deployment", "other", "web"));
        assert!(!check("", "Deployment", "shop", "web"));
        assert!(!check("apps", "*", "shop", "web"), "patterns are for whoever asks to expand");
    }
}
