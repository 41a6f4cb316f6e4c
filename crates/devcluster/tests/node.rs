//! The played node does what README.md says, as seen through the API server.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use devcluster::DevCluster;

/// One cluster for this file. It ends with the test process.
fn cluster() -> &'static DevCluster {
    static CLUSTER: OnceLock<DevCluster> = OnceLock::new();
    CLUSTER.get_or_init(|| DevCluster::start().expect("a cluster starts"))
}

/// A namespace of its own for each test.
struct Namespace(&'static str);

impl Namespace {
    fn create(name: &'static str) -> Self {
        let namespace = Self(name);
        namespace.kubectl(&["create", "namespace", name]);
        // Pods are refused until the real controller has made it.
        namespace.kubectl(&["wait", "--for=create", "serviceaccount/default", "--timeout=60s"]);
        namespace
    }

    #[track_caller]
    fn kubectl(&self, arguments: &[&str]) -> String {
        let arguments = [&["-n", self.0], arguments].concat();
        let output = cluster().kubectl(&arguments).expect("kubectl runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[track_caller]
    fn apply(&self, manifests: &str) {
        let mut kubectl = Command::new(cluster().kubectl_path())
            .args(["-n", self.0, "apply", "-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("kubectl runs");
        let mut input = kubectl.stdin.take().expect("it was piped");
        input.write_all(manifests.as_bytes()).expect("kubectl reads its input");
        drop(input);
        assert!(kubectl.wait().expect("it ends").success(), "apply {manifests}");
    }

    #[track_caller]
    fn wait(&self, object: &str, condition: &str) {
        self.kubectl(&["wait", object, &format!("--for={condition}"), "--timeout=60s"]);
    }

    fn read(&self, object: &str, path: &str) -> String {
        self.kubectl(&["get", object, "-o", &format!("jsonpath={path}")])
    }
}

fn pod(name: &str, policy: &str, container: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: \"{name}\"}}\n\
         spec: {{restartPolicy: {policy}, containers: [{{name: main, {container}}}]}}\n---\n"
    )
}

#[test]
fn a_pod_ends_as_its_command_says() {
    let namespace = Namespace::create("commands");
    let cases = [
        // name, policy, container, phase, exit code
        ("true", "Never", r#"image: x, command: ["true"]"#, "Succeeded", "0"),
        ("false", "Never", r#"image: x, command: ["/bin/false"]"#, "Failed", "1"),
        ("script", "Never", r#"image: x, command: [sh, -c, "false"]"#, "Failed", "1"),
        ("exit", "Never", r#"image: x, command: [sh, -c, "echo no; exit 42"]"#, "Failed", "42"),
        ("nap", "Never", r#"image: x, command: [sleep, "0.3"]"#, "Succeeded", "0"),
        ("nap-fails", "OnFailure", r#"image: x, args: [sleep 0.1 && exit 0]"#, "Succeeded", "0"),
        ("other", "Never", "image: x, command: [make, coffee]", "Succeeded", "0"),
        ("nothing", "Never", "image: x", "Succeeded", "0"),
    ];
    namespace.apply(&cases.map(|(name, policy, run, ..)| pod(name, policy, run)).concat());
    for (name, _, _, phase, exit_code) in cases {
        let object = format!("pod/{name}");
        namespace.wait(&object, &format!("jsonpath={{.status.phase}}={phase}"));
        let terminated = ".status.containerStatuses[0].state.terminated.exitCode";
        assert_eq!(namespace.read(&object, &format!("{{{terminated}}}")), exit_code, "{name}");
    }
}

#[test]
fn a_pod_that_is_restarted_for_ever_runs_and_is_ready() {
    let namespace = Namespace::create("servers");
    let cases = [
        ("plain", "image: x"),
        ("sleeps", r#"image: x, command: [sleep, "1"]"#),
        ("succeeds", r#"image: x, command: ["true"]"#),
        ("probed", "image: x, readinessProbe: {httpGet: {path: /healthz, port: 80}}"),
    ];
    namespace.apply(&cases.map(|(name, run)| pod(name, "Always", run)).concat());
    for (name, _) in cases {
        namespace.wait(&format!("pod/{name}"), "condition=Ready");
    }
}

#[test]
fn a_pod_that_cannot_become_ready_says_why() {
    let namespace = Namespace::create("trouble");
    let state = ".status.containerStatuses[0].state";
    let unready = "image: x, readinessProbe: {httpGet: {path: /does-not-exist, port: 80}}";
    let cases = [
        ("image", "image: 'no!'", "Pending", ".waiting.reason", "InvalidImageName"),
        (
            "crash",
            r#"image: x, command: ["false"]"#,
            "Running",
            ".waiting.reason",
            "CrashLoopBackOff",
        ),
    ];
    namespace.apply(&cases.map(|(name, run, ..)| pod(name, "Always", run)).concat());
    namespace.apply(&pod("probe", "Always", unready));
    for (name, _, phase, path, reason) in cases {
        let object = format!("pod/{name}");
        namespace.wait(&object, &format!("jsonpath={{{state}{path}}}={reason}"));
        assert_eq!(namespace.read(&object, "{.status.phase}"), phase, "{name}");
    }
    namespace.wait("pod/probe", "jsonpath={.status.phase}=Running");
    let ready = r#"{.status.conditions[?(@.type=="Ready")].status}"#;
    assert_eq!(namespace.read("pod/probe", ready), "False");
}

#[test]
fn workloads_become_ready_through_their_real_controllers() {
    let namespace = Namespace::create("workloads");
    let kinds = [
        ("Deployment", "replicas: 3,", "deployment/deployment"),
        ("StatefulSet", "replicas: 2, serviceName: db,", "statefulset/statefulset"),
        ("DaemonSet", "", "daemonset/daemonset"),
    ];
    for (kind, spec, _) in kinds {
        let name = kind.to_lowercase();
        namespace.apply(&format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}}}\n\
             spec:\n  {{{spec} selector: {{matchLabels: {{app: {name}}}}}, template: {{\
             metadata: {{labels: {{app: {name}}}}}, spec: {{initContainers: [{{name: first, image: x}}], \
             containers: [{{name: main, image: x}}]}}}}}}\n"
        ));
    }
    for (_, _, object) in kinds {
        namespace.kubectl(&["rollout", "status", object, "--timeout=60s"]);
    }
}

#[test]
fn jobs_complete_and_fail() {
    let namespace = Namespace::create("jobs");
    let cases = [
        ("succeeds", "Never", "\"true\"", "Complete"),
        ("fails", "Never", "\"false\"", "Failed"),
        ("fails-in-place", "OnFailure", "\"false\"", "Failed"),
    ];
    for (name, policy, command, _) in cases {
        namespace.apply(&format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}}}\n\
             spec: {{backoffLimit: 0, template: {{spec: {{restartPolicy: {policy}, \
             containers: [{{name: main, image: x, command: [{command}]}}]}}}}}}\n"
        ));
    }
    for (name, _, _, condition) in cases {
        namespace.wait(&format!("job/{name}"), &format!("condition={condition}"));
    }
}

#[test]
fn a_deleted_pod_goes_away_unless_a_finalizer_holds_it() {
    let namespace = Namespace::create("deletion");
    namespace
        .apply(&[pod("free", "Always", "image: x"), pod("held", "Always", "image: x")].concat());
    let finalizers = |list: &str| format!(r#"{{"metadata":{{"finalizers":{list}}}}}"#);
    let hold = finalizers(r#"["example.com/hold"]"#);
    namespace.kubectl(&["patch", "pod/held", "--type=merge", "-p", &hold]);
    namespace.wait("pod/free", "condition=Ready");
    namespace.wait("pod/held", "condition=Ready");

    namespace.kubectl(&["delete", "pod/free", "pod/held", "--wait=false"]);
    namespace.wait("pod/free", "delete");
    namespace.wait("pod/held", "jsonpath={.status.phase}=Failed");

    let release = finalizers("null");
    namespace.kubectl(&["patch", "pod/held", "--type=merge", "-p", &release]);
    namespace.wait("pod/held", "delete");
}

#[test]
fn logs_are_what_the_pod_says_it_wrote() {
    let namespace = Namespace::create("logs");
    namespace.apply(
        "apiVersion: v1\nkind: Pod\n\
         metadata: {name: talks, annotations: {devcluster.argosy.dev/log: \"one\\ntwo\\nthree\"}}\n\
         spec: {restartPolicy: Never, containers: [{name: main, image: x, command: [\"true\"]}]}\n",
    );
    namespace.apply(&pod("quiet", "Always", "image: x"));
    namespace.wait("pod/talks", "jsonpath={.status.phase}=Succeeded");
    namespace.wait("pod/quiet", "condition=Ready");
    assert_eq!(namespace.kubectl(&["logs", "talks"]), "one\ntwo\nthree\n");
    assert_eq!(namespace.kubectl(&["logs", "talks", "--tail=1"]), "three\n");
    assert_eq!(namespace.kubectl(&["logs", "talks", "--follow"]), "one\ntwo\nthree\n");
    assert_eq!(namespace.kubectl(&["logs", "quiet"]), "Hi\n");
    let stamped = namespace.kubectl(&["logs", "quiet", "--timestamps"]);
    let (stamp, line) = stamped.split_once(' ').expect("a time and a line");
    assert_eq!(line, "Hi\n");
    assert!(stamp.contains('T') && stamp.ends_with('Z'), "{stamp}");
}

#[test]
fn claims_services_and_ingresses_get_what_a_cloud_would_give() {
    let namespace = Namespace::create("cloud");
    namespace.apply(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: disk}\n\
         spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n\
         ---\n\
         apiVersion: v1\nkind: Service\nmetadata: {name: front}\n\
         spec: {type: LoadBalancer, ports: [{port: 80}]}\n\
         ---\n\
         apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: front}\n\
         spec: {defaultBackend: {service: {name: front, port: {number: 80}}}}\n",
    );
    namespace.wait("pvc/disk", "jsonpath={.status.phase}=Bound");
    for object in ["service/front", "ingress/front"] {
        namespace.wait(object, "jsonpath={.status.loadBalancer.ingress[0].ip}=192.0.2.10");
    }
    let volume = format!("pv/{}", namespace.read("pvc/disk", "{.spec.volumeName}"));
    namespace.kubectl(&["delete", "pvc/disk"]);
    namespace.wait(&volume, "delete");
}

#[test]
fn a_command_runs_in_a_container_and_its_end_is_told() {
    let namespace = Namespace::create("exec");
    namespace.apply(&pod("shell", "Always", "image: x, command: [sleep, 1d]"));
    namespace.wait("pod/shell", "condition=Ready");
    let mut kubectl = Command::new(cluster().kubectl_path())
        .args([
            "-n",
            "exec",
            "exec",
            "-i",
            "shell",
            "--",
            "sh",
            "-c",
            "read x; echo got $x; exit 3",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl runs");
    let mut input = kubectl.stdin.take().expect("it was piped");
    input.write_all(b"this\n").expect("kubectl reads its input");
    drop(input);
    let output = kubectl.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "got this\n");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}
