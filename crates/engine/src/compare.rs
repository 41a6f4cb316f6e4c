//! Compares git with the cluster: [`compare`] is the one answer to "what would
//! a sync change?", for the controller, `app diff` and the tests alike.

use std::collections::{BTreeMap, BTreeSet};

use api::names;
use object::{GroupKind, GroupVersionKind, Object, ResourceKey};

use crate::diff::{self, Comparing, Difference};
use crate::finding::{Concern, Finding};
use crate::health::{Health, HealthRules, health};
use crate::marks::{self, Role, TrackedBy};
use crate::pair::{Pair, pair};

/// What was asked of the world before comparing.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The name the application tracks its objects by (`name` or `namespace_name`).
    pub instance: String,
    /// How objects say whose they are.
    pub tracked_by: TrackedBy,
    /// Where namespaced objects without a namespace of their own go.
    pub destination_namespace: String,
    /// Scope of every kind that occurs. A kind the cluster does not serve is absent.
    pub scopes: BTreeMap<GroupKind, Scope>,
    /// The versions of each kind that the cluster serves, the preferred one
    /// first, for the kinds that occur and those that share a name with them.
    /// Empty when nobody asked; then only a kind without scope is missing.
    pub versions: BTreeMap<GroupKind, Vec<String>>,
    /// Those `group/version`s that occur and are served.
    pub api_versions: BTreeSet<String>,
    /// What the API server answered to the [`questions`].
    pub answers: Answers,
}

/// What the API server would store if git's object were applied, or why it would
/// not.
pub type Answers = BTreeMap<ResourceKey, Result<Object, String>>;

/// What a cluster has in place of a kind that it does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unserved {
    /// The version of the group, without this kind.
    KindMissing,
    /// Another version of the kind, or a kind of the same name in another group.
    Instead(GroupVersionKind),
    /// Nothing of the name.
    Unheard,
}

/// Does a kind live in namespaces?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Its objects live in a namespace.
    Namespaced,
    /// Its objects belong to the cluster as a whole.
    Cluster,
}

/// How to judge.
#[derive(Clone, Copy)]
pub struct Rules<'r> {
    /// Health rules beyond the built-in ones.
    pub health: &'r dyn HealthRules,
    /// How the two sides of a pair are compared.
    pub comparing: &'r Comparing,
}

/// Git and cluster side by side, judged.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Every object of the application but its hooks, once, in key order.
    pub items: BTreeMap<ResourceKey, Compared>,
    /// Hooks that git holds; they are run, not compared.
    pub hooks: Vec<Object>,
    /// Kinds that git wants and the cluster does not serve.
    pub unserved: BTreeMap<GroupVersionKind, Unserved>,
}

/// One object of the application, judged.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Both sides.
    pub pair: Pair,
    /// Do they agree?
    pub verdict: Verdict,
    /// Health of the live object; none if it is missing or its kind has no rule.
    pub health: Option<Health>,
}

/// Do the two sides of a pair agree?
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every field that git states is live and ours.
    Synced,
    /// They differ where differences are ignored, and nowhere else.
    Tolerated,
    /// They differ; the differences say where (none for missing and extra objects).
    OutOfSync(Vec<Difference>),
    /// Git's side is not known at the moment.
    Unknown,
    /// The object does not count: a live hook, `Skip`, or a copied tracking id.
    NotJudged,
}

impl Compared {
    /// Is the object not as git wants it?
    #[must_use]
    pub fn is_out_of_sync(&self) -> bool {
        matches!(self.verdict, Verdict::OutOfSync(_))
    }

    /// Would a sync with pruning delete the object?
    #[must_use]
    pub fn requires_pruning(&self) -> bool {
        self.is_out_of_sync() && matches!(self.pair, Pair::Extra { .. })
    }

    /// Does the object make the whole application OutOfSync?
    #[must_use]
    pub fn counts_as_out_of_sync(&self) -> bool {
        self.is_out_of_sync()
            && !(self.requires_pruning() && marks::ignores_extraneous(self.pair.either()))
    }
}

/// Pairs, diffs and judges. A wrong object becomes a finding and leaves the
/// others' verdicts intact.
#[must_use]
pub fn compare(
    want: Vec<Object>,
    live: BTreeMap<ResourceKey, Object>,
    rules: Rules<'_>,
    facts: &Facts,
) -> (Comparison, Vec<Finding>) {
    let mut findings = Vec::new();
    let unserved = unserved_kinds(&want, facts);
    let (members, hooks) = sort_by_role(want, facts, &mut findings);
    let live = live
        .into_iter()
        .filter(|(key, object)| members.contains_key(key) || is_root_of(object, facts))
        .collect();
    let live = without_twins(live, &members);
    let items = pair(members, live)
        .into_iter()
        .map(|(key, pair)| {
            warn_if_shared(&key, &pair, facts, &mut findings);
            let compared = Compared {
                verdict: judge(&key, &pair, rules.comparing, facts, &mut findings),
                health: pair.live().and_then(|live| health(live, rules.health)),
                pair,
            };
            (key, compared)
        })
        .collect();
    (Comparison { items, hooks, unserved }, findings)
}

fn unserved_kinds(want: &[Object], facts: &Facts) -> BTreeMap<GroupVersionKind, Unserved> {
    let kinds: BTreeSet<GroupVersionKind> = want.iter().map(Object::group_version_kind).collect();
    let unserved = kinds.into_iter().filter(|kind| !facts.serves(kind)).map(|kind| {
        let instead = facts.served_instead_of(&kind);
        (kind, instead)
    });
    unserved.collect()
}

impl Facts {
    fn serves(&self, kind: &GroupVersionKind) -> bool {
        let group_kind = kind.group_kind();
        match self.versions.get(&group_kind) {
            Some(versions) => versions.contains(&kind.version),
            None => self.versions.is_empty() && self.scopes.contains_key(&group_kind),
        }
    }

    fn served_instead_of(&self, kind: &GroupVersionKind) -> Unserved {
        if self.api_versions.contains(&kind.api_version()) {
            return Unserved::KindMissing;
        }
        let same_group = self.versions.get_key_value(&kind.group_kind());
        let same_name = || self.versions.iter().find(|(it, _)| it.kind == kind.kind);
        let instead = same_group.or_else(same_name).and_then(|(served, versions)| {
            Some(GroupVersionKind {
                group: served.group.clone(),
                version: versions.first()?.clone(),
                kind: served.kind.clone(),
            })
        });
        instead.map_or(Unserved::Unheard, Unserved::Instead)
    }
}

/// What there is, when git's side cannot be had: nothing is judged, but health
/// is still the health of what runs.
#[must_use]
pub fn observe(live: BTreeMap<ResourceKey, Object>, rules: Rules<'_>, facts: &Facts) -> Comparison {
    let judged = |live: Object| Compared {
        health: health(&live, rules.health),
        verdict: match marks::role(&live) {
            Role::Member => Verdict::Unknown,
            Role::Hook(_) | Role::Skipped | Role::Bystander => Verdict::NotJudged,
        },
        pair: Pair::Extra { live },
    };
    let tracked = live
        .into_iter()
        .filter(|(key, object)| marks::belongs_to(object, key, &facts.instance, &facts.tracked_by));
    let items = tracked.map(|(key, live)| (key, judged(live))).collect();
    Comparison { items, ..Comparison::default() }
}

/// What the API server must be asked before comparing: the objects of git, as
/// they would be applied, whose effect is not plain.
#[must_use]
pub fn questions(
    want: &[Object],
    live: &BTreeMap<ResourceKey, Object>,
    comparing: &Comparing,
    facts: &Facts,
) -> BTreeMap<ResourceKey, Object> {
    if comparing.asks_server.is_none() {
        return BTreeMap::new();
    }
    let members = want.iter().filter(|it| marks::role(it) == Role::Member);
    let unsettled = members.filter_map(|object| {
        let key = scoped_key(object, facts);
        let live = live.get(&key)?;
        let mut object = object.clone();
        place(&mut object, &key, facts);
        (!diff::is_settled(&object, live, comparing)).then_some((key, object))
    });
    unsettled.collect()
}

/// The scopes of the kinds that custom resource definitions among `want` define,
/// for kinds that the cluster will serve only once these are applied.
pub fn defined_scopes(want: &[Object]) -> impl Iterator<Item = (GroupKind, Scope)> {
    let is_definition =
        |it: &&Object| it.group_kind().is("apiextensions.k8s.io", "CustomResourceDefinition");
    want.iter().filter(is_definition).filter_map(|definition| {
        let kind = GroupKind::new(
            definition.text(&["spec", "group"])?,
            definition.text(&["spec", "names", "kind"])?,
        );
        let is_namespaced = definition.text(&["spec", "scope"])? == "Namespaced";
        Some((kind, if is_namespaced { Scope::Namespaced } else { Scope::Cluster }))
    })
}

/// The keys that git wants, scoped as [`compare`] will scope them: what to ask
/// the cluster about.
#[must_use]
pub fn wanted_keys(want: &[Object], facts: &Facts) -> Vec<ResourceKey> {
    want.iter()
        .map(|object| scoped_key(object, facts))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

fn scoped_key(object: &Object, facts: &Facts) -> ResourceKey {
    let kind = object.group_kind();
    // Most kinds live in namespaces, so one that nobody knows is taken for such a kind.
    let namespace = match facts.scopes.get(&kind) {
        Some(Scope::Cluster) => "",
        Some(Scope::Namespaced) | None if !object.namespace().is_empty() => object.namespace(),
        Some(Scope::Namespaced) | None => &facts.destination_namespace,
    };
    ResourceKey::new(&kind, namespace, object.name())
}

/// Members by key, hooks in git's order. Bystanders are dropped; what is to be
/// skipped is not, or its live side would seem to be extra.
fn sort_by_role(
    want: Vec<Object>,
    facts: &Facts,
    findings: &mut Vec<Finding>,
) -> (BTreeMap<ResourceKey, Object>, Vec<Object>) {
    let mut members = BTreeMap::new();
    let mut hooks = Vec::new();
    let mut repeated = BTreeMap::<ResourceKey, usize>::new();
    for mut object in want {
        let key = scoped_key(&object, facts);
        place(&mut object, &key, facts);
        match marks::role(&object) {
            Role::Bystander => {}
            Role::Hook(_) => hooks.push(object),
            Role::Member if object.name().is_empty() => findings.push(nameless(&object, key)),
            Role::Member | Role::Skipped => {
                if members.insert(key.clone(), object).is_some() {
                    *repeated.entry(key).or_insert(1) += 1;
                }
            }
        }
    }
    findings.extend(repeated.into_iter().map(|(key, times)| {
        let message = format!(
            "Resource {}/{}/{}/{} appeared {times} times among application resources.",
            key.group, key.kind, key.namespace, key.name
        );
        Finding::about(Concern::RepeatedResource, key, message)
    }));
    (members, hooks)
}

/// Gives the object the namespace that it is compared and applied in.
fn place(object: &mut Object, key: &ResourceKey, facts: &Facts) {
    if !key.namespace.is_empty() {
        object.set_namespace(&key.namespace);
        return;
    }
    let stated = object.namespace().to_owned();
    if let Some(metadata) = object.fields_mut().get_mut("metadata")
        && let Some(metadata) = metadata.as_object_mut()
    {
        metadata.remove("namespace");
    }
    if !stated.is_empty() {
        track_without(&stated, object, key, facts);
    }
}

/// An object of the cluster as a whole is tracked by the destination's namespace,
/// whatever namespace its manifest states.
fn track_without(stated: &str, object: &mut Object, key: &ResourceKey, facts: &Facts) {
    let id = |namespace: &str| {
        let ResourceKey { group, kind, name, .. } = key;
        format!("{}:{group}/{kind}:{namespace}/{name}", facts.instance)
    };
    if object.annotation(names::ANNOTATION_TRACKING_ID) == Some(id(stated).as_str()) {
        object.set_annotation(names::ANNOTATION_TRACKING_ID, &id(&facts.destination_namespace));
    }
}

fn nameless(object: &Object, key: ResourceKey) -> Finding {
    let kind = key.group_kind();
    let message = match object.at(&["metadata", "name"]).filter(|it| !it.is_null()) {
        Some(name) if !name.is_string() => format!(
            "metadata.name of a {kind} is {name}, not a text; quote it (YAML reads n, y, no, yes, on \
             and off as booleans)"
        ),
        _ if object.text(&["metadata", "generateName"]).is_some() => format!(
            "a {kind} with metadata.generateName but no metadata.name gets a new name at every sync; \
             only hooks may have that, give it a name or make it a hook"
        ),
        _ => format!("a {kind} has no metadata.name; give it one"),
    };
    Finding::about(Concern::Comparison, key, message)
}

/// One object that two API groups serve counts once: as git has it, if git does.
fn without_twins(
    live: BTreeMap<ResourceKey, Object>,
    members: &BTreeMap<ResourceKey, Object>,
) -> BTreeMap<ResourceKey, Object> {
    let (wanted, extra): (Vec<_>, Vec<_>) =
        live.into_iter().partition(|(key, _)| members.contains_key(key));
    let mut met = BTreeSet::new();
    let mut is_new = |object: &Object| match object.text(&["metadata", "uid"]) {
        None | Some("") => true,
        Some(uid) => met.insert(uid.to_owned()),
    };
    wanted.into_iter().chain(extra).filter(|(_, object)| is_new(object)).collect()
}

/// Tracked by the application and nobody's child: what git may have an opinion on.
fn is_root_of(live: &Object, facts: &Facts) -> bool {
    live.list(&["metadata", "ownerReferences"]).is_empty()
        && marks::tracking(live, &facts.tracked_by)
            .is_some_and(|tracking| tracking.instance == facts.instance)
}

fn warn_if_shared(key: &ResourceKey, pair: &Pair, facts: &Facts, findings: &mut Vec<Finding>) {
    let Pair::Both { live, .. } = pair else { return };
    let Some(tracking) = marks::tracking(live, &facts.tracked_by) else { return };
    if tracking.instance != facts.instance && tracking.is_for(key) {
        let message = format!(
            "{}/{} is part of applications {} and {}",
            key.kind, key.name, facts.instance, tracking.instance
        );
        findings.push(Finding::about(Concern::SharedResource, key.clone(), message));
    }
}

fn judge(
    key: &ResourceKey,
    pair: &Pair,
    comparing: &Comparing,
    facts: &Facts,
    findings: &mut Vec<Finding>,
) -> Verdict {
    match pair {
        Pair::Missing { want } | Pair::Both { want, .. } if marks::role(want) == Role::Skipped => {
            Verdict::NotJudged
        }
        Pair::Missing { .. } => Verdict::OutOfSync(Vec::new()),
        Pair::Both { want, live } => {
            let answer = facts.answers.get(key);
            judge_both(want, live, answer, comparing).unwrap_or_else(|why| {
                let message = format!(
                    "Failed to compare desired state to live state: server-side diff of {key}: {why}"
                );
                findings.push(Finding::about(Concern::Comparison, key.clone(), message));
                Verdict::Unknown
            })
        }
        // A copied tracking id adopts nothing: a controller that clones an
        // object's annotations must not get its clone deleted.
        Pair::Extra { live }
            if !marks::tracking(live, &facts.tracked_by).is_some_and(|it| it.is_for(key)) =>
        {
            Verdict::NotJudged
        }
        Pair::Extra { live } if marks::role(live) != Role::Member => Verdict::NotJudged,
        Pair::Extra { .. } => Verdict::OutOfSync(Vec::new()),
    }
}

/// Both sides judged, or why the API server's answer is of no use.
fn judge_both(
    want: &Object,
    live: &Object,
    answer: Option<&Result<Object, String>>,
    comparing: &Comparing,
) -> Result<Verdict, String> {
    if diff::is_settled(want, live, comparing) {
        return Ok(Verdict::Synced);
    }
    let sides = |comparing: &Comparing| match (answer, comparing.asks_server) {
        (Some(answer), Some(webhooks)) => {
            let answer = answer.as_ref().map_err(String::clone)?;
            diff::answered_sides(answer, live, webhooks, comparing).map_err(|it| it.to_string())
        }
        _ => Ok(diff::sides(want, live, comparing)),
    };
    let differences = sides(comparing)?.differences();
    if !differences.is_empty() {
        return Ok(Verdict::OutOfSync(differences));
    }
    let is_tolerant = match comparing.strictly() {
        Some(strictly) => sides(&strictly)?.differ(),
        None => false,
    };
    Ok(if is_tolerant { Verdict::Tolerated } else { Verdict::Synced })
}

#[cfg(test)]
mod tests {
    use object::fields::FieldSet;
    use object::schema::Schema;
    use serde_json::{Value, json};

    use super::*;
    use crate::diff::ignore::{Ignoring, StatusOf};
    use crate::diff::server_side::Webhooks;
    use crate::health::BuiltinOnly;

    fn facts() -> Facts {
        let scopes = [("ConfigMap", Scope::Namespaced), ("Namespace", Scope::Cluster)];
        Facts {
            instance: "app".into(),
            tracked_by: TrackedBy::default(),
            destination_namespace: "web".into(),
            scopes: scopes.map(|(kind, scope)| (GroupKind::new("", kind), scope)).into(),
            ..Facts::default()
        }
    }

    fn object(value: Value) -> Object {
        Object::from_value(value).expect("a test object")
    }

    fn config_map(name: &str, tracking_id: &str) -> Object {
        object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": name, "namespace": "web",
            "annotations": {"argocd.argoproj.io/tracking-id": tracking_id},
        }}))
    }

    fn compared(want: Vec<Object>, live: Vec<Object>) -> (Comparison, Vec<Finding>) {
        let live = live.into_iter().map(|it| (it.key(), it)).collect();
        let rules = Rules { health: &BuiltinOnly, comparing: &Comparing::default() };
        compare(want, live, rules, &facts())
    }

    #[track_caller]
    fn check(live: Object, expect: &[Verdict]) {
        let (comparison, findings) = compared(vec![], vec![live]);
        let verdicts: Vec<Verdict> = comparison.items.into_values().map(|it| it.verdict).collect();
        assert_eq!(verdicts, expect);
        assert_eq!(findings, []);
    }

    #[test]
    fn what_git_no_longer_holds_is_extra() {
        check(config_map("a", "app:/ConfigMap:web/a"), &[Verdict::OutOfSync(vec![])]);
    }

    #[test]
    fn an_object_of_the_cluster_is_tracked_by_the_destination_whatever_it_states() {
        let namespace = |stated: &str, tracked: &str| {
            object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": "n", "namespace": stated,
                "annotations": {"argocd.argoproj.io/tracking-id": format!("app:/Namespace:{tracked}/n")},
            }}))
        };
        let want = vec![namespace("one", "one"), namespace("two", "two")];
        let (comparison, _) = compared(want, vec![]);
        let wanted: Vec<&Object> =
            comparison.items.values().filter_map(|it| it.pair.want()).collect();
        let ids: Vec<_> =
            wanted.iter().map(|it| it.annotation(names::ANNOTATION_TRACKING_ID)).collect();
        assert_eq!(ids, [Some("app:/Namespace:web/n")]);
    }

    #[test]
    fn what_git_says_to_skip_is_neither_compared_nor_extra() {
        let live = config_map("a", "app:/ConfigMap:web/a");
        let mut want = live.clone();
        want.set_annotation("argocd.argoproj.io/hook", "Skip");
        for (live, sides) in [(vec![live], "both"), (vec![], "git's alone")] {
            let (comparison, findings) = compared(vec![want.clone()], live);
            let verdicts: Vec<_> = comparison.items.into_values().map(|it| it.verdict).collect();
            assert_eq!((verdicts, findings), (vec![Verdict::NotJudged], vec![]), "{sides}");
        }
    }

    #[test]
    fn hooks_are_no_part_of_the_comparison() {
        let mut hook = config_map("a", "app:/ConfigMap:web/a");
        hook.set_annotation(api::names::ANNOTATION_HOOK, "PostSync");
        check(hook.clone(), &[Verdict::NotJudged]);
        let (comparison, _) = compared(vec![hook], vec![]);
        assert_eq!((comparison.items.len(), comparison.hooks.len()), (0, 1));
    }

    #[test]
    fn a_copied_tracking_id_adopts_nothing() {
        check(config_map("copy", "app:/ConfigMap:web/a"), &[Verdict::NotJudged]);
    }

    #[test]
    fn a_label_tracks_where_the_settings_say_so() {
        let mut labelled = config_map("a", "another:/ConfigMap:web/a");
        labelled.set_label("instance", "app");
        let by_label = Facts { tracked_by: TrackedBy::Label { key: "instance".into() }, ..facts() };
        let comparing = Comparing::default();
        let rules = Rules { health: &BuiltinOnly, comparing: &comparing };
        let live = || BTreeMap::from([(labelled.key(), labelled.clone())]);
        let (comparison, _) = compare(Vec::new(), live(), rules, &by_label);
        let verdicts: Vec<Verdict> = comparison.items.into_values().map(|it| it.verdict).collect();
        assert_eq!(verdicts, [Verdict::OutOfSync(vec![])]);
        let (comparison, _) = compare(Vec::new(), live(), rules, &facts());
        assert!(comparison.items.is_empty());
    }

    #[test]
    fn an_object_that_two_groups_serve_counts_once() {
        let served_as = |group: &str| {
            object(json!({"apiVersion": format!("{group}/v1"), "kind": "Ingress", "metadata": {
                "name": "i", "namespace": "web", "uid": "0d9a", "annotations": {
                    "argocd.argoproj.io/tracking-id": "app:new.io/Ingress:web/i"}}}))
        };
        let live = vec![served_as("old.io"), served_as("new.io")];
        let (comparison, _) = compared(vec![served_as("new.io")], live.clone());
        let found: Vec<_> = comparison
            .items
            .iter()
            .map(|(key, it)| (key.group.as_str(), it.is_out_of_sync()))
            .collect();
        assert_eq!(found, [("new.io", false)]);
        assert_eq!(compared(vec![], live).0.items.len(), 1);
    }

    #[test]
    fn what_a_controller_made_is_its_own() {
        let mut child = config_map("a", "app:/ConfigMap:web/a");
        child.fields_mut()["metadata"]["ownerReferences"] = json!([{"uid": "1"}]);
        check(child, &[]);
    }

    #[test]
    fn other_applications_objects_are_not_seen() {
        check(config_map("a", "other:/ConfigMap:web/a"), &[]);
    }

    #[test]
    fn a_wanted_object_that_another_application_tracks_is_shared() {
        let (_, findings) = compared(
            vec![config_map("a", "app:/ConfigMap:web/a")],
            vec![config_map("a", "other:/ConfigMap:web/a")],
        );
        assert_eq!(findings[0].concern, Concern::SharedResource);
        assert_eq!(findings[0].message, "ConfigMap/a is part of applications app and other");
    }

    #[test]
    fn the_last_of_a_repeated_object_counts_and_is_told() {
        let (comparison, findings) = compared(
            vec![config_map("a", "app:/ConfigMap:web/a"), config_map("a", "app:/ConfigMap:web/a")],
            vec![],
        );
        assert_eq!(comparison.items.len(), 1);
        let expected = "Resource /ConfigMap/web/a appeared 2 times among application resources.";
        assert_eq!(findings[0].message, expected);
    }

    #[test]
    fn objects_get_the_namespace_their_kind_allows() {
        let (comparison, _) = compared(
            vec![
                object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})),
                object(
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "namespace": "x"}}),
                ),
            ],
            vec![],
        );
        let keys: Vec<String> = comparison.items.keys().map(ToString::to_string).collect();
        assert_eq!(keys, ["ConfigMap web/a", "Namespace b"]);
    }

    #[test]
    fn a_nameless_object_is_told_and_hides_nothing() {
        let nameless = object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}));
        let (comparison, findings) =
            compared(vec![nameless, config_map("a", "app:/ConfigMap:web/a")], vec![]);
        assert_eq!(comparison.items.len(), 1);
        assert_eq!(findings[0].message, "a ConfigMap has no metadata.name; give it one");
    }

    #[track_caller]
    fn check_unserved(api_version: &str, expect: &Unserved) {
        let facts = Facts {
            versions: [(GroupKind::new("shipping.io", "Crate"), vec!["v2".into(), "v1".into()])]
                .into(),
            api_versions: ["shipping.io/v1alpha1".to_owned()].into(),
            ..facts()
        };
        let want =
            object(json!({"apiVersion": api_version, "kind": "Crate", "metadata": {"name": "c"}}));
        let kind = want.group_version_kind();
        let rules = Rules { health: &BuiltinOnly, comparing: &Comparing::default() };
        let (comparison, _) = compare(vec![want], BTreeMap::new(), rules, &facts);
        assert_eq!(comparison.unserved.get(&kind), Some(expect));
    }

    #[test]
    fn what_is_served_instead_of_an_unserved_kind_is_named() {
        let served = Unserved::Instead(GroupVersionKind::parse("shipping.io/v2", "Crate"));
        check_unserved("shipping.io/v3", &served);
        check_unserved("wrong.io/v1", &served);
        check_unserved("shipping.io/v1alpha1", &Unserved::KindMissing);
    }

    #[test]
    fn what_differs_only_where_that_is_ignored_is_tolerated() {
        let map = |value: &str| {
            let mut map = config_map("a", "app:/ConfigMap:web/a");
            map.fields_mut().insert("data".into(), json!({"k": value}));
            map
        };
        let rule = json!({"kind": "ConfigMap", "jsonPointers": ["/data/k"]});
        let rule = serde_json::from_value(rule).expect("a rule");
        let (ignoring, _) = Ignoring::of(&[rule], &[], StatusOf::All);
        let comparing = Comparing { ignoring, ..Comparing::default() };
        let judged = |live: &Object| judge_both(&map("1"), live, None, &comparing);
        assert_eq!(judged(&map("2")), Ok(Verdict::Tolerated));
        assert_eq!(judged(&map("1")), Ok(Verdict::Synced));
    }

    /// Judges a ConfigMap whose live value is `live`, git's is `1`, and whose
    /// value after a dry run would be `answer`.
    #[track_caller]
    fn check_answer(live: &str, answer: Option<Result<&str, &str>>, expect: Result<&str, &str>) {
        let map = |value: &str| {
            let mut map = config_map("a", "app:/ConfigMap:web/a");
            map.fields_mut().insert("data".into(), json!({"k": value}));
            map
        };
        let comparing = Comparing { asks_server: Some(Webhooks::Included), ..Comparing::default() };
        let mut live = map(live);
        let of = Schema::builtin().of_kind(&live.group_version_kind()).expect("a core kind");
        let owned = FieldSet::applied(&live.clone().into_value(), of);
        live.fields_mut()["metadata"]["managedFields"] = json!([{"manager": comparing.manager,
            "operation": "Apply", "fieldsV1": owned.expect("a set").to_json()}]);
        let live = BTreeMap::from([(live.key(), live)]);
        let asked = questions(&[map("1")], &live, &comparing, &facts());
        assert_eq!(asked.contains_key(&map("1").key()), answer.is_some(), "is it asked?");
        let answer = answer.map(|it| it.map(map).map_err(str::to_owned));
        let facts = Facts {
            answers: answer.map(|it| (map("1").key(), it)).into_iter().collect(),
            ..facts()
        };
        let rules = Rules { health: &BuiltinOnly, comparing: &comparing };
        let (comparison, findings) = compare(vec![map("1")], live, rules, &facts);
        let verdict = &comparison.items[&map("1").key()].verdict;
        let found = match findings.first() {
            Some(finding) => Err(finding.message.as_str()),
            None => Ok(match verdict {
                Verdict::Synced => "Synced",
                Verdict::OutOfSync(_) => "OutOfSync",
                _ => "otherwise",
            }),
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn the_server_is_asked_only_where_it_is_not_plain_that_nothing_changes() {
        check_answer("1", None, Ok("Synced"));
    }

    #[test]
    fn what_the_server_answers_is_what_counts() {
        check_answer("2", Some(Ok("1")), Ok("OutOfSync"));
        check_answer("2", Some(Ok("2")), Ok("Synced"));
    }

    #[test]
    fn an_object_that_the_server_refuses_is_not_known_to_be_synced() {
        let message = "Failed to compare desired state to live state: server-side diff of \
                       ConfigMap web/a: it is immutable";
        check_answer("2", Some(Err("it is immutable")), Err(message));
    }
}
