//! What is a difference and what is not, one behaviour a test.

use serde_json::json;

use super::*;
use three_way::LAST_APPLIED;

fn object(value: Value) -> Object {
    Object::from_value(value).expect("a test object")
}

fn config_map(fields: &Value) -> Object {
    let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    for (field, value) in fields.as_object().expect("fields") {
        map[field] = value.clone();
    }
    object(map)
}

fn deployment(container: &Value) -> Object {
    object(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"selector": {}, "template": {"spec": {"containers": [container]}}}}))
}

#[track_caller]
fn check_with(comparing: &Comparing, want: &Object, live: &Object, expect: &[&str]) {
    let found = diff(want, live, comparing);
    let paths: Vec<&str> = found.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, expect, "{found:?}");
}

#[track_caller]
fn check(want: &Object, live: &Object, expect: &[&str]) {
    check_with(&Comparing::default(), want, live, expect);
}

fn applied(mut live: Object, last: &Object) -> Object {
    live.set_annotation(LAST_APPLIED, &last.clone().into_value().to_string());
    live
}

fn ignoring(rule: &Value) -> Comparing {
    let rule = serde_json::from_value(rule.clone()).expect("a rule");
    let (ignoring, findings) = Ignoring::of(&[rule], &[], StatusOf::All);
    assert_eq!(findings, []);
    Comparing { ignoring, ..Comparing::default() }
}

#[test]
fn what_the_cluster_adds_is_no_difference() {
    check(
        &config_map(&json!({"data": {"a": "1"}})),
        &config_map(&json!({"data": {"a": "1", "b": "2"}, "status": {}})),
        &[],
    );
}

#[test]
fn a_changed_and_a_missing_value_are_named_by_path() {
    check(
        &config_map(&json!({"data": {"a": "1", "x/y": "2"}})),
        &config_map(&json!({"data": {"a": "0"}})),
        &["/data/a", "/data/x~1y"],
    );
}

#[test]
fn a_field_that_git_dropped_is_a_difference_if_it_was_applied() {
    let before = config_map(&json!({"data": {"a": "1", "b": "2"}}));
    let want = config_map(&json!({"data": {"a": "1"}}));
    check(&want, &applied(before.clone(), &before), &["/data/b"]);
    check(&want, &before, &[]);
}

#[test]
fn another_spelling_of_a_quantity_is_no_difference() {
    let container = |cpu: &str| json!({"name": "c", "resources": {"limits": {"cpu": cpu}}});
    check(&deployment(&container("1000m")), &deployment(&container("1")), &[]);
}

#[test]
fn a_default_that_git_stated_and_dropped_is_no_difference() {
    let stated =
        deployment(&json!({"name": "c", "ports": [{"containerPort": 1, "protocol": "TCP"}]}));
    let want = deployment(&json!({"name": "c", "ports": [{"containerPort": 1}]}));
    check(&want, &applied(stated.clone(), &stated), &[]);
}

#[test]
fn containers_are_told_apart_by_name() {
    let live = object(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "injected"}, {"name": "c", "image": "a:1"}]}}));
    let want = object(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "a:2"}]}}));
    let found = diff(&want, &live, &Comparing::default());
    let images: Vec<_> = found.iter().filter(|it| it.path.ends_with("/image")).collect();
    assert_eq!(images[0].live, Some(json!("a:1")), "{found:?}");
    let same = object(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "a:1"}]}}));
    assert_eq!(diff(&same, &live, &Comparing::default()), []);
}

#[test]
fn string_data_is_found_in_data() {
    let secret = |field: &str, value: &str| {
        object(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            field: {"k": value}}))
    };
    check(&secret("stringData", "secret"), &secret("data", "c2VjcmV0"), &[]);
    check(&secret("stringData", "other"), &secret("data", "c2VjcmV0"), &["/data/k"]);
}

#[test]
fn ignored_fields_are_not_looked_at() {
    let want = config_map(&json!({"data": {"a": "1", "b": "1"}}));
    let live = config_map(&json!({"data": {"a": "0", "b": "0"}}));
    for rule in [
        json!({"group": "", "kind": "ConfigMap", "jsonPointers": ["/data/a"]}),
        json!({"group": "*", "kind": "*", "jqPathExpressions": [".data.a"]}),
        json!({"kind": "ConfigMap", "name": "m", "jqPathExpressions": [".data | .a"]}),
    ] {
        check_with(&ignoring(&rule), &want, &live, &["/data/b"]);
    }
    let other = json!({"kind": "ConfigMap", "name": "other", "jsonPointers": ["/data/a"]});
    check_with(&ignoring(&other), &want, &live, &["/data/a", "/data/b"]);
}

#[test]
fn fields_of_a_trusted_manager_are_not_looked_at() {
    let want = config_map(&json!({"data": {"a": "1", "b": "1"}}));
    let live = config_map(&json!({"data": {"a": "0", "b": "0"}, "metadata": {"name": "m",
        "managedFields": [{"manager": "scaler", "operation": "Update",
            "fieldsV1": {"f:data": {"f:a": {}}}}]}}));
    let rule = json!({"kind": "ConfigMap", "managedFieldsManagers": ["scaler"]});
    check_with(&ignoring(&rule), &want, &live, &["/data/b"]);
}

#[test]
fn an_unreadable_rule_is_a_finding_and_the_others_hold() {
    let rule = json!({"kind": "ConfigMap", "jsonPointers": ["data", "/data/a"],
        "jqPathExpressions": ["def f: f; f"]});
    let rule = serde_json::from_value(rule).expect("a rule");
    let (ignoring, findings) = Ignoring::of(&[rule], &[], StatusOf::All);
    assert_eq!(findings.len(), 2, "{findings:?}");
    let comparing = Comparing { ignoring, ..Comparing::default() };
    let (want, live) = (json!({"data": {"a": "1"}}), json!({"data": {"a": "0"}}));
    check_with(&comparing, &config_map(&want), &config_map(&live), &[]);
}

fn server_side() -> Comparing {
    Comparing { applies_server_side: true, ..Comparing::default() }
}

fn owned_by(manager: &str, fields: &Value, data: &Value) -> Object {
    config_map(&json!({"data": data, "metadata": {"name": "m", "managedFields": [
        {"manager": manager, "operation": "Apply", "fieldsV1": fields},
    ]}}))
}

#[test]
fn by_ownership_only_what_we_applied_is_dropped() {
    let fields = json!({"f:data": {"f:a": {}, "f:b": {}}});
    let data = json!({"a": "1", "b": "2"});
    let want = config_map(&json!({"data": {"a": "1"}}));
    let ours = owned_by("argocd-controller", &fields, &data);
    check_with(&server_side(), &want, &ours, &["/data/b"]);
    check_with(&server_side(), &want, &owned_by("kubectl", &fields, &data), &[]);
}

#[test]
fn a_map_that_others_write_to_is_not_dropped_with_our_part_of_it() {
    let live = config_map(&json!({"data": {"a": "1", "b": "2"}, "metadata": {"name": "m",
    "managedFields": [
        {"manager": "argocd-controller", "operation": "Apply",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}}},
        {"manager": "other", "operation": "Update", "fieldsV1": {"f:data": {"f:b": {}}}},
    ]}}));
    check_with(&server_side(), &config_map(&json!({})), &live, &["/data/a"]);
}

#[test]
fn a_live_object_that_still_has_the_label_is_taken_for_tracked() {
    let mut want = config_map(&json!({"data": {"a": "1"}}));
    let mut live = want.clone();
    live.set_label(names::LABEL_APP_INSTANCE, "app");
    want.set_annotation(names::ANNOTATION_TRACKING_ID, "app:/ConfigMap:web/m");
    check(&want, &live, &["/metadata/annotations"]);
    let comparing = Comparing {
        instance_label: Some(names::LABEL_APP_INSTANCE.into()),
        ..Comparing::default()
    };
    check_with(&comparing, &want, &live, &[]);
    // What another application left behind must be mended.
    live.set_annotation(names::ANNOTATION_TRACKING_ID, "old-app:/ConfigMap:web/m");
    check_with(
        &comparing,
        &want,
        &live,
        &["/metadata/annotations/argocd.argoproj.io~1tracking-id"],
    );
}

#[test]
fn respected_fields_keep_their_live_values() {
    let want = object(json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d"}, "spec": {"replicas": 1, "paused": true}}));
    let live = object(json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d"}, "spec": {"replicas": 5}, "status": {"replicas": 5}}));
    let rule = json!({"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]});
    let written = respecting(&want, &live, &ignoring(&rule));
    assert_eq!(written.at(&["spec"]), Some(&json!({"replicas": 5, "paused": true})));
    assert_eq!(written.at(&["status"]), None);
}

#[test]
fn an_application_is_compared_by_its_own_rules_and_those_of_the_settings() {
    let rule = |pointer: &str| ResourceIgnoreDifferences {
        kind: "ConfigMap".into(),
        json_pointers: vec![pointer.into()],
        ..ResourceIgnoreDifferences::default()
    };
    let mut app = Application::named("argocd", "web");
    app.spec.ignore_differences = vec![rule("/data/a")];
    let settings = CompareSettings { ignore: vec![rule("/data/b")], ..CompareSettings::default() };
    let (comparing, findings) = Comparing::of(&app, &settings);
    assert_eq!(findings, []);
    let want = config_map(&json!({"data": {"a": "1", "b": "1", "c": "1"}}));
    let live = config_map(&json!({"data": {"a": "0", "b": "0", "c": "0"}}));
    check_with(&comparing, &want, &live, &["/data/c"]);
}

#[test]
fn a_field_of_a_known_type_is_compared_by_value() {
    let ship = |cpu: &str| {
        object(json!({"apiVersion": "ships.io/v1", "kind": "Ship", "metadata": {"name": "s"},
            "spec": {"holds": [{"cpu": cpu}]}}))
    };
    let known = KnownType {
        kind: GroupKind::new("ships.io", "Ship"),
        field: "spec.holds".into(),
        type_name: "core/v1/ResourceList".into(),
    };
    let comparing = Comparing { known_types: vec![known], ..Comparing::default() };
    check_with(&comparing, &ship("1000m"), &ship("1"), &[]);
    check_with(&comparing, &ship("1000m"), &ship("2"), &["/spec/holds/0/cpu"]);
    check(&ship("1000m"), &ship("1"), &["/spec/holds/0/cpu"]);
}

#[test]
fn what_the_server_puts_into_claim_templates_is_no_difference() {
    let set = |claim: Value| {
        object(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"},
            "spec": {"serviceName": "s", "selector": {}, "template": {"spec": {"containers": []}},
                "volumeClaimTemplates": [claim]}}))
    };
    let storage = |size: &str| {
        json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}}}})
    };
    let want = set(storage("1Gi"));
    let mut filled = storage("1Gi");
    filled["spec"]["storageClassName"] = json!("fast");
    filled["status"] = json!({"phase": "Pending"});
    check(&want, &applied(set(filled), &want), &[]);
    let live = applied(set(storage("1Gi")), &want);
    let found = diff(&set(storage("2Gi")), &live, &Comparing::default());
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn what_others_add_to_a_custom_resource_is_no_difference_unless_it_is_an_element() {
    let ship = |holds: Value| {
        object(json!({"apiVersion": "ships.io/v1", "kind": "Ship", "metadata": {"name": "s"},
            "spec": {"holds": holds}}))
    };
    let want = ship(json!([{"name": "a"}]));
    let filled = ship(json!([{"name": "a", "added": 1}]));
    check(&want, &applied(filled, &want), &[]);
    let longer = ship(json!([{"name": "a"}, {"name": "b"}]));
    check(&want, &applied(longer, &want), &["/spec/holds"]);
}

#[test]
fn no_rules_and_empty_rules_of_a_role_are_one() {
    let role = |rules: Value| {
        object(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "r"}, "rules": rules}))
    };
    check(&role(json!([])), &role(json!(null)), &[]);
    check(&role(json!(null)), &role(json!([])), &[]);
    check(&role(json!([{"verbs": ["get"]}])), &role(json!(null)), &["/rules"]);
}

#[test]
fn rules_of_an_aggregated_role_are_the_clusters_where_that_was_asked_for() {
    let role = |rules: Value| {
        object(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "r"}, "rules": rules,
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}))
    };
    let (want, live) = (role(json!([])), role(json!([{"verbs": ["get"]}])));
    let live = applied(live, &role(json!([{"verbs": ["list"]}])));
    let asked = Comparing { ignores_aggregated_roles: true, ..Comparing::default() };
    check_with(&asked, &want, &live, &[]);
    assert!(!diff(&want, &live, &Comparing::default()).is_empty());
}

#[test]
fn order_and_the_usual_protocol_mean_nothing_in_endpoints() {
    let endpoints = |addresses: Value, port: Value| {
        object(json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"},
            "subsets": [{"addresses": addresses, "ports": [port]}]}))
    };
    let want = endpoints(json!([{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]), json!({"port": 80}));
    let live = |ip: &str| {
        let addresses = json!([{"ip": "10.0.0.2"}, {"ip": ip}]);
        endpoints(addresses, json!({"port": 80, "protocol": "TCP"}))
    };
    check(&want, &live("10.0.0.1"), &[]);
    assert!(!diff(&want, &live("10.0.0.3"), &Comparing::default()).is_empty());
}

#[test]
fn a_status_counts_where_the_settings_say_so() {
    let with = |status: StatusOf| {
        let settings = CompareSettings { status, ..CompareSettings::default() };
        Comparing::of(&Application::named("argocd", "web"), &settings).0
    };
    let want = config_map(&json!({"status": {"a": 1}}));
    let live = config_map(&json!({"status": {"a": 2}}));
    check_with(&with(StatusOf::All), &want, &live, &[]);
    check_with(&with(StatusOf::Definitions), &want, &live, &["/status/a"]);
    check_with(&with(StatusOf::None), &want, &live, &["/status/a"]);
    let definition = |status: i64| {
        object(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "d"}, "spec": {"group": "a"}, "status": {"a": status}}))
    };
    check_with(&with(StatusOf::Definitions), &definition(1), &definition(2), &[]);
}

#[test]
fn the_pods_of_a_rollout_are_compared_as_pods() {
    let rollout = |cpu: &str| {
        object(
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "r"},
            "spec": {"template": {"spec": {"containers": [
                {"name": "web", "image": "web", "resources": {"limits": {"cpu": cpu}}}]}}}}),
        )
    };
    check(&rollout("1000m"), &rollout("1"), &[]);
}

#[test]
fn a_new_image_drops_nothing_but_a_new_name_may() {
    let container = json!({"name": "c", "image": "a:1", "resources": {"limits": {"cpu": "1"}},
        "env": [{"name": "A", "value": "1"}], "args": ["x"]});
    let check = |place: &str, value: Value, expect: bool| {
        let mut want = container.clone();
        *want.pointer_mut(place).expect("a field") = value;
        let live = applied(deployment(&container), &deployment(&container));
        assert_eq!(three_way::dropped_nothing(&deployment(&want), &live), expect, "{place}");
    };
    check("/image", json!("a:2"), true);
    check("/env/0/value", json!("2"), true);
    check("/image", json!(""), false);
    check("/name", json!("d"), false);
    check("/env/0/name", json!("B"), false);
    check("/resources/limits/cpu", json!("no quantity"), false);
    check("/args/0", json!("y"), false);
    check("/args", json!([]), false);
}

#[test]
fn of_a_kind_without_a_type_nothing_is_plain() {
    let widget = |colour: &str| {
        object(json!({"apiVersion": "example.org/v1", "kind": "Widget",
            "metadata": {"name": "w"}, "spec": {"colour": colour}}))
    };
    let live = applied(widget("red"), &widget("red"));
    assert!(!three_way::dropped_nothing(&widget("blue"), &live));
}
