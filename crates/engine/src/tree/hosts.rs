//! The machines that an application's pods run on, and how full they are.

use std::collections::BTreeMap;

use api::{HostInfo, HostResourceInfo, NodeSystemInfo};
use object::Object;

use super::pod;

/// Resources worth showing, in the order they are shown.
const SHOWN: [&str; 3] = ["cpu", "memory", "storage"];

/// One entry for each machine that runs a pod of the application. `pods` are all
/// pods of the cluster with whether they are the application's.
#[must_use]
pub fn hosts(
    machines: &[Object],
    pods: &[(Object, bool)],
    shown_labels: &[String],
) -> Vec<HostInfo> {
    let mut by_machine = BTreeMap::<&str, Vec<(&Object, bool)>>::new();
    for (pod, is_ours) in pods {
        by_machine.entry(pod::node_name(pod)).or_default().push((pod, *is_ours));
    }
    let host = |machine: &Object| {
        let pods = by_machine.get(machine.name())?;
        pods.iter().any(|(_, is_ours)| *is_ours).then(|| host(machine, pods, shown_labels))
    };
    machines.iter().filter_map(host).collect()
}

fn host(machine: &Object, pods: &[(&Object, bool)], shown_labels: &[String]) -> HostInfo {
    let label = |name: &String| Some((name.clone(), machine.label(name)?.to_owned()));
    let system = machine.at(&["status", "nodeInfo"]).cloned().unwrap_or_default();
    HostInfo {
        name: machine.name().into(),
        resources_info: SHOWN.iter().filter_map(|it| share(machine, pods, it)).collect(),
        system_info: serde_json::from_value::<NodeSystemInfo>(system).unwrap_or_default(),
        labels: shown_labels.iter().filter_map(label).collect(),
    }
}

fn share(machine: &Object, pods: &[(&Object, bool)], resource: &str) -> Option<HostResourceInfo> {
    let capacity = pod::milli(machine.at(&["status", "capacity", resource])?);
    let asked = |ours: bool| {
        let counted = pods.iter().filter(|(pod, is_ours)| {
            // A neighbour that has ended has given back what it had.
            *is_ours == ours && (ours || !pod::is_over(pod))
        });
        counted.map(|(pod, _)| pod::requested(pod, resource)).sum()
    };
    (capacity > 0).then(|| HostResourceInfo {
        resource_name: resource.into(),
        requested_by_app: asked(true),
        requested_by_neighbors: asked(false),
        capacity,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(machine: &str, cpu: &str) -> Object {
        Object::from_value(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"nodeName": machine,
                "containers": [{"resources": {"requests": {"cpu": cpu}}}]}}))
        .expect("a pod")
    }

    #[test]
    fn a_machine_without_our_pods_is_not_shown_and_neighbours_are_counted_apart() {
        let machine = |name: &str| {
            Object::from_value(json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {"zone": "z", "other": "o"}},
                "status": {"capacity": {"cpu": "4"}, "nodeInfo": {"architecture": "amd64"}}}))
            .expect("a node")
        };
        let pods = [(pod("a", "1"), true), (pod("a", "500m"), false), (pod("b", "1"), false)];
        let hosts = hosts(&[machine("a"), machine("b")], &pods, &["zone".into()]);
        assert_eq!(hosts.len(), 1);
        let cpu = &hosts[0].resources_info[0];
        assert_eq!(
            (cpu.requested_by_app, cpu.requested_by_neighbors, cpu.capacity),
            (1000, 500, 4000)
        );
        assert_eq!(hosts[0].system_info.architecture, "amd64");
        assert_eq!(hosts[0].labels.keys().collect::<Vec<_>>(), ["zone"]);
    }
}
