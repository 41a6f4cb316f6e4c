//! The rules of the store, on plain data.
//!
//! A test is a script of events and what the application `web` has afterwards.
//! An object is written `name=version`, with `@uid` where it matters, and
//! `!` after the name where nobody tracks it.

use super::*;
use crate::field_sets::{FieldSetWish, FieldSets};
use crate::packing::Patterns;

struct Script {
    store: Store,
    watch: WatchId,
    begin: Instant,
    told: Vec<String>,
}

fn config_map() -> GroupKind {
    GroupKind::new("", "ConfigMap")
}

fn key(name: &str) -> ResourceKey {
    ResourceKey::new(&config_map(), "n", name)
}

/// Reads `name!=version@uid`.
fn sighting(text: &str) -> Sighting {
    let (text, uid) = text.split_once('@').unwrap_or((text, ""));
    let (name, version) = text.split_once('=').expect("name=version");
    let (name, untracked) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
    let uid = if uid.is_empty() { name } else { uid };
    let body = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","v":{version}}}"#);
    Sighting {
        namespace: "n".into(),
        name: name.into(),
        uid: Uid::parse(uid),
        version: version.parse().expect("a number"),
        generation: 0,
        deleting: false,
        owners: Vec::new(),
        application: (!untracked).then(|| "web".to_owned()),
        body: (!untracked).then(|| Patterns::default().pack(&config_map(), body.as_bytes())),
        wishes: 0,
        images: Box::default(),
    }
}

impl Script {
    fn new() -> Self {
        let mut store = Store::default();
        let watch = store.start_watch(&config_map(), Scope::Everywhere);
        Self { store, watch, begin: Instant::now(), told: Vec::new() }
    }

    /// One event per line.
    fn run(mut self, script: &str) -> Self {
        for line in script.lines().map(str::trim).filter(|it| !it.is_empty()) {
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            let changes = self.event(verb, rest);
            self.told.extend(changes.into_iter().filter_map(|it| match it {
                Change::Object { key, .. } => Some(key.name),
                Change::Kind { .. } => None,
            }));
        }
        self
    }

    fn event(&mut self, verb: &str, rest: &str) -> Vec<Change> {
        let (store, watch, now) = (&mut self.store, self.watch, self.begin);
        match verb {
            "list" => {
                store.restarted(watch);
                Vec::new()
            }
            "listed" => store.synced(watch, rest.parse().expect("a version"), now),
            "applied" => store.applied(watch, sighting(rest)),
            "deleted" => store.deleted(watch, &sighting(rest)),
            "wrote" => store.wrote(&config_map(), sighting(rest)),
            "buried" => {
                let (name, uid) = rest.split_once('@').unwrap_or((rest, rest));
                store.buried(&key(name), uid)
            }
            "interrupted" => {
                store.interrupted(watch, rest.to_owned(), now);
                Vec::new()
            }
            "stopped" => store.stop_watch(watch),
            "quiet" => {
                self.told.clear();
                Vec::new()
            }
            _ => panic!("{verb}?"),
        }
    }

    /// What `web` has, `later` and with a grace.
    fn live(&self, wanted: &[ResourceKey], later: Duration, grace: Duration) -> Live {
        self.store.live("web", wanted, &KeptFieldSets::default(), self.begin + later, grace)
    }

    /// What `web` has, and what was told since the last `quiet`.
    #[track_caller]
    fn check(self, has: &str, told: &str) {
        let live = self.live(&[], Duration::ZERO, Duration::ZERO);
        let has_now =
            live.objects.iter().map(|(key, it)| format!("{}={}", key.name, it.resource_version));
        assert_eq!(has_now.collect::<Vec<_>>().join(" "), has, "what it has");
        assert_eq!(self.told.join(" "), told, "what was told");
    }
}

#[test]
fn a_list_and_what_follows_it() {
    let script = "list\n applied a=1\n applied b=2\n listed 5\n applied a=6\n deleted b=7";
    Script::new().run(script).check("a=6", "a b a b");
}

#[test]
fn a_second_list_replaces_the_first_and_tells_only_the_difference() {
    let first = "list\n applied same=1\n applied gone=2\n applied new=3\n listed 5\n quiet";
    let second = "interrupted x\n list\n applied same=1\n applied new=8\n listed 9";
    Script::new().run(first).run(second).check("new=8 same=1", "new gone");
}

#[test]
fn until_the_list_is_complete_nothing_is_taken_for_gone() {
    let script =
        "list\n applied a=1\n applied b=1\n listed 5\n quiet\n interrupted x\n list\n applied a=1";
    Script::new().run(script).check("a=1 b=1", "");
}

#[test]
fn a_write_counts_at_once_and_the_watch_tells_nothing_new_of_it() {
    Script::new().run("list\n listed 5\n wrote a=6\n quiet\n applied a=6").check("a=6", "");
}

#[test]
fn an_older_state_from_the_watch_does_not_undo_a_write() {
    Script::new()
        .run("list\n applied a=1\n listed 5\n wrote a=7\n applied a=6")
        .check("a=7", "a a");
}

#[test]
fn a_write_that_returns_after_the_watch_has_passed_it_is_too_late() {
    let deleted_meanwhile = "list\n listed 5\n applied a=6\n deleted a=7\n quiet\n wrote a=6";
    Script::new().run(deleted_meanwhile).check("", "");
}

#[test]
fn a_write_during_a_list_survives_it_if_the_list_is_older() {
    Script::new().run("list\n wrote a=6\n listed 5").check("a=6", "a");
}

#[test]
fn a_write_during_a_list_that_should_have_shown_it_was_undone_by_somebody() {
    Script::new().run("list\n wrote a=6\n listed 9").check("", "a a");
}

#[test]
fn the_deletion_of_a_predecessor_does_not_remove_its_successor() {
    let script = "list\n applied a=1@old\n listed 5\n wrote a=8@new\n deleted a=7@old";
    Script::new().run(script).check("a=8", "a a");
}

#[test]
fn a_server_restored_from_a_backup_is_believed_although_its_versions_are_lower() {
    let before = "list\n applied a=500\n applied b=600\n listed 900\n wrote c=901\n applied c=901";
    let after = "quiet\n interrupted x\n list\n applied a=400\n listed 450";
    Script::new().run(before).run(after).check("a=400", "a b c");
}

#[test]
fn a_deletion_of_ours_counts_at_once_and_its_echo_does_not_bring_the_object_back() {
    let script = "list\n applied a=1\n listed 5\n buried a\n applied a=6\n deleted a=7";
    Script::new().run(script).check("", "a a");
}

#[test]
fn a_new_object_in_the_place_of_a_deleted_one_is_a_new_object() {
    let script = "list\n applied a=1@old\n listed 5\n buried a@old\n wrote a=8@new\n deleted a=7@old\n applied a=8@new";
    Script::new().run(script).check("a=8", "a a a");
}

#[test]
fn a_stopped_watch_takes_its_objects_along_and_is_heard_no_more() {
    let script = "list\n applied a=1\n listed 5\n stopped\n applied b=6\n wrote c=7";
    Script::new().run(script).check("", "a a");
}

#[test]
fn an_object_that_nobody_tracks_is_known_by_key_and_told_to_nobody() {
    let script = Script::new().run("list\n applied a!=3\n listed 5");
    let live = script.live(&[key("a"), key("missing")], Duration::ZERO, Duration::ZERO);
    assert_eq!(live.unknown, BTreeSet::from([key("a")]));
    assert_eq!(script.store.known(&key("a")).expect("known").resource_version, "3");
    script.check("", "");
}

#[test]
fn a_body_without_a_field_set_wished_for_since_is_unknown_until_it_was_read_again() {
    let mut script = Script::new().run("list\n applied a=3\n listed 5");
    let sets = FieldSets::of("us".into());
    let wish =
        FieldSetWish { group: "*".into(), kind: "ConfigMap".into(), manager: "scaler".into() };
    sets.wish([wish]);
    let kept = sets.kept();
    let live = |store: &Store| store.live("web", &[], &kept, Instant::now(), Duration::ZERO);
    assert_eq!(live(&script.store).unknown, BTreeSet::from([key("a")]));

    let read = |text: &str| Sighting { wishes: kept.count(), ..sighting(text) };
    script.store.read_again(&config_map(), &read("a=2"));
    assert_eq!(live(&script.store).unknown, BTreeSet::from([key("a")]), "that was another state");
    script.store.read_again(&config_map(), &read("a=3"));
    assert!(live(&script.store).objects.contains_key(&key("a")));
    script.check("a=3", "a");
}

#[test]
fn an_object_that_is_no_longer_tracked_is_told_to_whom_it_was_tracked_by() {
    Script::new().run("list\n applied a=3\n listed 5\n quiet\n applied a!=6").check("", "a");
}

#[test]
fn a_kind_that_is_not_watched_is_unknown_rather_than_missing() {
    let script = Script::new();
    let secret = ResourceKey::new(&GroupKind::new("", "Secret"), "n", "a");
    let live = script.live(std::slice::from_ref(&secret), Duration::ZERO, Duration::ZERO);
    assert_eq!(live.unknown, BTreeSet::from([secret]));
}

/// What is unverified after a script, `later` after an interruption with a grace of three seconds.
#[track_caller]
fn check_doubt(script: &str, later: Duration, expect: Option<&Continuity>) {
    let script = Script::new().run(script);
    let live = script.live(&[key("a")], later, Duration::from_secs(3));
    assert_eq!(live.unverified.first().map(|it| &it.continuity), expect);
}

#[test]
fn before_the_first_list_is_complete_a_kind_is_starting() {
    check_doubt("", Duration::ZERO, Some(&Continuity::Starting));
    check_doubt("list\n applied a=1", Duration::ZERO, Some(&Continuity::Starting));
    check_doubt("list\n applied a=1\n listed 5", Duration::ZERO, None);
}

#[test]
fn an_interruption_is_a_doubt_once_it_outlasts_the_grace_and_until_the_next_list_is_complete() {
    let broken = "list\n applied a=1\n listed 5\n interrupted first\n interrupted second";
    check_doubt(broken, Duration::from_secs(2), None);
    let lasting = Duration::from_secs(4);
    let doubt = Continuity::Broken { lasting, why: "second".into() };
    check_doubt(broken, lasting, Some(&doubt));
    check_doubt(&format!("{broken}\n list\n applied a=1"), lasting, Some(&doubt));
    check_doubt(&format!("{broken}\n list\n applied a=1\n listed 7"), lasting, None);
}

#[test]
fn a_store_is_settled_when_each_watch_has_listed_or_failed() {
    assert!(!Script::new().store.is_settled());
    assert!(Script::new().run("interrupted forbidden").store.is_settled());
    assert!(Script::new().run("list\n listed 5").store.is_settled());
}

#[test]
fn a_change_is_followed_up_the_owners_and_a_circle_of_owners_ends() {
    let mut store = Store::default();
    let watch = store.start_watch(&config_map(), Scope::Everywhere);
    store.restarted(watch);
    let owned =
        |text: &str, owner: &str| Sighting { owners: vec![Uid::parse(owner)], ..sighting(text) };
    store.applied(watch, sighting("top=1"));
    store.applied(watch, owned("middle!=1", "top"));
    let told = store.applied(watch, owned("bottom!=1", "middle"));
    let applications = BTreeSet::from(["web".into()]);
    let expect = Change::Object { key: key("bottom"), applications, tracked: false, update: None };
    assert_eq!(told, [expect]);
    assert_eq!(store.children("top").len(), 1);

    store.applied(watch, owned("one!=1", "two"));
    assert_eq!(store.applied(watch, owned("two!=1", "one")), []);
}

#[test]
fn a_watch_of_one_namespace_leaves_the_others_alone() {
    let mut store = Store::default();
    let here = store.start_watch(&config_map(), Scope::Namespace("n".into()));
    let there = store.start_watch(&config_map(), Scope::Namespace("m".into()));
    for watch in [here, there] {
        store.restarted(watch);
    }
    store.applied(here, sighting("a=1"));
    store.applied(there, Sighting { namespace: "m".into(), ..sighting("a=1") });
    let now = Instant::now();
    store.synced(here, 5, now);
    store.synced(there, 5, now);
    store.stop_watch(there);
    assert_eq!(store.len(), 1);
    assert!(store.known(&key("a")).is_some());
}

#[test]
fn images_are_those_of_the_pods_below_an_application() {
    let mut script = Script::new().run("list\n applied web=1@root");
    let pod = |text: &str, owner: &str, image: &str| Sighting {
        owners: vec![Uid::parse(owner)],
        images: [image.into()].into(),
        ..sighting(text)
    };
    for pod in [
        pod("set!=2@set", "root", "not a pod's, but who knows"),
        pod("one!=3@one", "set", "web:1"),
        pod("two!=4@two", "set", "web:2"),
        pod("three!=5@three", "another", "other:1"),
    ] {
        script.store.applied(script.watch, pod);
    }
    let images: Vec<String> = script.store.images("web").into_iter().collect();
    assert_eq!(images, ["not a pod's, but who knows", "web:1", "web:2"]);
}

/// How one more sight of a known object is told.
fn how(first: Sighting, second: Sighting) -> Option<String> {
    let mut store = Store::default();
    let watch = store.start_watch(&config_map(), Scope::Everywhere);
    store.applied(watch, sighting("top=1"));
    store.applied(watch, first);
    let told = store.applied(watch, second);
    let [Change::Object { update, .. }] = &told[..] else { panic!("{told:?}") };
    update.as_deref().map(|it| match it {
        Update::Body { before, after } => {
            format!("{} -> {}", before.resource_version, after.resource_version)
        }
        Update::Unkept => "unkept".into(),
    })
}

#[test]
fn an_update_of_a_tracked_object_tells_both_states() {
    assert_eq!(how(sighting("a=1"), sighting("a=2")).as_deref(), Some("1 -> 2"));
}

#[test]
fn an_update_of_what_nobody_tracks_tells_whether_anything_kept_changed() {
    let owned = |text: &str| Sighting { owners: vec![Uid::parse("top")], ..sighting(text) };
    let running = |text: &str| Sighting { images: Box::new(["web:2".into()]), ..owned(text) };
    assert_eq!(how(owned("a!=1"), owned("a!=2")).as_deref(), Some("unkept"));
    assert_eq!(how(owned("a!=1"), running("a!=2")), None);
    assert_eq!(how(owned("a!=1"), sighting("a!=2")), None);
}

#[test]
fn an_object_made_anew_or_about_to_go_or_tracked_by_another_is_no_mere_update() {
    assert_eq!(how(sighting("a=1"), sighting("a=2@other")), None);
    assert_eq!(how(sighting("a=1"), Sighting { deleting: true, ..sighting("a=2") }), None);
    let moved = Sighting { application: Some("shop".into()), ..sighting("a=2") };
    assert_eq!(how(sighting("a=1"), moved), None);
}
