//! A cluster starts whole, survives what tests do to it, and leaves nothing.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use devcluster::{DevCluster, Options, StartError};

/// How long anything here may take before the test fails. Nothing is asserted
/// about being faster.
const LIMIT: Duration = Duration::from_secs(60);
/// Tells the test binary that it is the program that will be killed.
const HOLDER: &str = "DEVCLUSTER_TEST_HOLDS";

fn start() -> DevCluster {
    DevCluster::start().expect("a cluster starts")
}

#[track_caller]
fn kubectl(cluster: &DevCluster, arguments: &[&str]) -> String {
    let output = cluster.kubectl(arguments).expect("kubectl runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kubectl {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < deadline, "still waiting until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A process that has ended but was not yet collected by its new parent does
/// not count.
fn is_running(process: u32) -> bool {
    if Path::new("/proc/self/stat").exists() {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        return stat.rsplit(')').next().is_some_and(|rest| {
            rest.trim_start().chars().next().is_some_and(|state| !"ZX".contains(state))
        });
    }
    let ask = format!("kill -0 {process} 2>/dev/null");
    Command::new("sh").args(["-c", &ask]).status().expect("sh runs").success()
}

#[test]
fn a_stopped_cluster_leaves_no_process_and_no_folder() {
    let cluster = start();
    let folder = cluster.folder().to_owned();
    let processes = cluster.processes();
    let names: Vec<_> = processes.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        ["node", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]
    );
    assert!(processes.iter().all(|(_, process)| is_running(*process)));

    cluster.stop().expect("the folder can be removed");

    assert!(!folder.exists());
    assert!(!processes.iter().any(|(_, process)| is_running(*process)));
}

#[test]
fn a_cluster_ends_when_its_starter_is_killed() {
    let mut holder = Command::new(std::env::current_exe().expect("we run"))
        .args(["--exact", "hold_a_cluster_until_killed", "--ignored", "--nocapture"])
        .env(HOLDER, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test binary runs again");
    let output = BufReader::new(holder.stdout.take().expect("it was piped"));
    let mut facts = output
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.split_once("held: ").map(|(_, fact)| fact.to_owned()));
    let folder = PathBuf::from(facts.next().expect("the holder names its folder"));
    let processes: Vec<u32> =
        (0..5).map(|_| facts.next().expect("five processes").parse().expect("an id")).collect();
    assert!(folder.exists());
    assert!(processes.iter().all(|process| is_running(*process)));

    holder.kill().expect("it runs"); // SIGKILL: no clean-up of its own
    holder.wait().expect("it was our child");

    wait_until("all processes are gone", || !processes.iter().any(|it| is_running(*it)));
    wait_until("the folder is gone", || !folder.exists());
}

/// Not a test: the program that the one above kills.
#[test]
#[ignore = "runs only inside a_cluster_ends_when_its_starter_is_killed"]
#[expect(clippy::print_stdout, reason = "the starter reads it")]
fn hold_a_cluster_until_killed() {
    if std::env::var_os(HOLDER).is_none() {
        return;
    }
    let cluster = start();
    println!("\nheld: {}", cluster.folder().display());
    cluster.processes().iter().for_each(|(_, process)| println!("held: {process}"));
    thread::sleep(LIMIT);
}

#[test]
fn two_clusters_at_once_know_nothing_of_each_other() {
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(start);
        let second = scope.spawn(start);
        (first.join().expect("no panic"), second.join().expect("no panic"))
    });
    kubectl(&first, &["create", "configmap", "mine"]);
    assert!(kubectl(&first, &["get", "configmaps", "-o", "name"]).contains("configmap/mine"));
    assert!(!kubectl(&second, &["get", "configmaps", "-o", "name"]).contains("configmap/mine"));
    assert_ne!(first.server_url(), second.server_url());
}

#[test]
fn a_restarted_api_server_has_its_data_and_its_node() {
    let cluster = start();
    kubectl(&cluster, &["create", "configmap", "before"]);

    cluster.stop_api_server();
    let refused = cluster.kubectl(&["get", "configmaps"]).expect("kubectl runs");
    assert!(!refused.status.success());

    cluster.start_api_server().expect("it starts again");
    kubectl(&cluster, &["get", "configmap", "before"]);
    kubectl(&cluster, &["run", "after", "--image=web"]);
    kubectl(&cluster, &["wait", "pod/after", "--for=condition=Ready", "--timeout=60s"]);
}

#[test]
fn a_component_that_ends_at_start_is_named_with_its_last_words_and_nothing_is_left() {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let options = Options {
        api_server_flags: vec!["--no-such-flag=1".into()],
        parent_folder: Some(parent.path().to_owned()),
        ..Options::default()
    };
    let error = DevCluster::start_with(&options).err().expect("the flag is unknown");
    let StartError::ComponentEnded { component, log, .. } = &error else { panic!("{error}") };
    assert_eq!(*component, "kube-apiserver");
    assert!(log.contains("unknown flag: --no-such-flag"), "{log}");
    assert_eq!(fs::read_dir(parent.path()).expect("it exists").count(), 0, "nothing is left");
}

#[test]
fn a_port_that_stays_taken_is_an_error_and_not_a_loop() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = taken.local_addr().expect("it is bound").port();
    let options =
        Options { api_server_flags: vec![format!("--secure-port={port}")], ..Options::default() };
    let error = DevCluster::start_with(&options).err().expect("the port is ours");
    assert!(error.to_string().contains("address already in use"), "{error}");
}

#[test]
fn the_audit_log_has_every_request() {
    let options = Options { audit_log: true, ..Options::default() };
    let cluster = DevCluster::start_with(&options).expect("a cluster starts");
    kubectl(&cluster, &["create", "configmap", "counted-once"]);
    let creations = || {
        let log = fs::read_to_string(cluster.audit_log_path()).unwrap_or_default();
        let of_ours = log.lines().filter(|line| line.contains("counted-once"));
        of_ours.filter(|line| line.contains(r#""verb":"create""#)).count()
    };
    wait_until("the request is logged", || creations() == 1);
}
