//! One cluster: started whole or not at all, and gone without a trace.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::binary::{BuildError, Progress, control_plane_binary};
use crate::component::Component;
use crate::{flags, storage};

/// A start takes seconds; a machine that is busy compiling takes longer.
const START_LIMIT: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(50);
/// A free port can be taken by someone else before the API server listens.
const ATTEMPTS: u32 = 5;
/// Names the folder that a child removes when it finds that we were killed.
const SWEEP: &str = "DEVCLUSTER_SWEEP";

/// A running cluster. Dropping it ends the processes and removes the folder;
/// so does the end of this process, even by `kill -9`, so a `static` will do.
pub struct DevCluster {
    binary: PathBuf,
    port: u16,
    options: Options,
    components: Mutex<Components>,
    folder: TempDir,
}

/// How a cluster differs from the plain one.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Write every request to [`DevCluster::audit_log_path`].
    pub audit_log: bool,
    /// Further flags of kube-apiserver, each as `--name=value`.
    pub api_server_flags: Vec<String>,
    /// Where the cluster's folder is made; without it, in memory if the system
    /// has a place for that.
    pub parent_folder: Option<PathBuf>,
    /// Called while the control plane is being built, which happens once per
    /// machine and takes minutes.
    pub progress: Option<fn(&Progress)>,
}

/// Why there is no cluster. Nothing is left of the attempt.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no binary to run.
    #[error("could not build the control plane")]
    Build(#[source] BuildError),
    /// The folder, the certificates or a process could not be made.
    #[error("could not make the cluster's {what}")]
    Prepare {
        /// What was being made.
        what: String,
        /// Why not.
        source: io::Error,
    },
    /// A process ended that should run for as long as the cluster.
    #[error("{component} of the cluster ended with {status}; its last words:{log}")]
    ComponentEnded {
        /// The program's name.
        component: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// Its last lines of log, each on a line of its own.
        log: String,
    },
    /// Nothing failed, but the cluster was not ready in time.
    #[error(
        "the cluster was not ready after {} s, waiting for {waiting_for}; \
         is the machine overloaded? last words of {waiting_for}:{log}",
        START_LIMIT.as_secs()
    )]
    TooSlow {
        /// The program that had not yet done its part.
        waiting_for: &'static str,
        /// Its last lines of log, each on a line of its own.
        log: String,
    },
}

impl StartError {
    /// Somebody took the port between our look and the API server's.
    fn is_lost_port(&self) -> bool {
        matches!(self, Self::ComponentEnded { log, .. } if log.contains("address already in use"))
    }
}

impl DevCluster {
    /// Starts a plain cluster and returns when pods can be created in it.
    pub fn start() -> Result<Self, StartError> {
        Self::start_with(&Options::default())
    }

    /// Starts a cluster and returns when pods can be created in it.
    pub fn start_with(options: &Options) -> Result<Self, StartError> {
        let report = options.progress.unwrap_or(|_| ());
        let binary = control_plane_binary(&report).map_err(StartError::Build)?;
        let mut attempt = 1;
        loop {
            match Self::attempt(&binary, options) {
                Err(error) if error.is_lost_port() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    /// The administrator's kubeconfig. It holds its certificates, so a copy
    /// works as well.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.path("kubeconfig")
    }

    /// The multi-call binary: etcd, the components and kubectl.
    pub fn binary_path(&self) -> &Path {
        &self.binary
    }

    /// A script that is kubectl for this cluster.
    pub fn kubectl_path(&self) -> PathBuf {
        self.path("kubectl")
    }

    /// Where the API server listens.
    pub fn server_url(&self) -> String {
        server_url(self.port)
    }

    /// The audit log, one JSON event per line, if the options asked for it.
    pub fn audit_log_path(&self) -> PathBuf {
        self.path("audit.log")
    }

    /// The folder of everything above, and of each program's log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs kubectl as the administrator.
    pub fn kubectl<S: AsRef<OsStr>>(&self, arguments: &[S]) -> io::Result<Output> {
        Command::new(self.kubectl_path()).args(arguments).output()
    }

    /// Process ids, by program.
    pub fn processes(&self) -> Vec<(&'static str, u32)> {
        self.components().all().map(|component| (component.name, component.id())).collect()
    }

    /// Ends the API server at once, as a crash would. The rest goes on.
    pub fn stop_api_server(&self) {
        self.components().api_server = None;
    }

    /// Starts the API server again, where it was and with the data it had, and
    /// returns when it is ready.
    ///
    /// The controllers and the scheduler are started anew, as they are in
    /// production, where they end when they lose their lease. The old ones
    /// would look again only after a minute or more.
    pub fn start_api_server(&self) -> Result<(), StartError> {
        let mut components = self.components();
        components.api_server = Some(self.spawn_api_server()?);
        let deadline = Instant::now() + START_LIMIT;
        while !self.is_serving() {
            components.check_alive()?;
            if Instant::now() > deadline {
                return Err(components.too_slow("kube-apiserver"));
            }
            thread::sleep(POLL);
        }
        self.start_clients(&mut components)
    }

    /// [`Self::stop_api_server`], then [`Self::start_api_server`].
    pub fn restart_api_server(&self) -> Result<(), StartError> {
        self.stop_api_server();
        self.start_api_server()
    }

    /// Returns when a program of this cluster has ended by itself, with its
    /// name and last words.
    pub fn wait_for_failure(&self) -> StartError {
        loop {
            if let Err(error) = self.components().check_alive() {
                return error;
            }
            thread::sleep(POLL);
        }
    }

    /// Ends the cluster, and says whether its folder could be removed.
    pub fn stop(self) -> io::Result<()> {
        let Self { components, folder, binary: _, port: _, options: _ } = self;
        drop(components);
        match folder.close() {
            // The node was quicker.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    fn attempt(binary: &Path, options: &Options) -> Result<Self, StartError> {
        let folder = tempfile::Builder::new()
            .prefix("devcluster-")
            .tempdir_in(options.parent_folder.clone().unwrap_or_else(storage::cluster_parent))
            .map_err(prepare("folder"))?;
        let cluster = Self {
            binary: binary.to_owned(),
            port: free_port().map_err(prepare("port"))?,
            options: options.clone(),
            components: Mutex::default(),
            folder,
        };
        cluster.write_files()?;
        cluster.start_components()?;
        Ok(cluster)
    }

    fn write_files(&self) -> Result<(), StartError> {
        self.write_certificates()?;
        fs::write(self.path("audit-policy.yaml"), flags::AUDIT_POLICY)
            .map_err(prepare("audit policy"))?;
        self.write_kubectl().map_err(prepare("kubectl script"))
    }

    /// Also writes the kubeconfig.
    fn write_certificates(&self) -> Result<(), StartError> {
        let mut command = self.program("pki");
        command.arg(self.folder()).arg(self.server_url()).env(SWEEP, self.folder());
        let mut pki = Component::spawn("pki", command, &self.log_path("pki"))
            .map_err(prepare("certificates"))?;
        let status = pki.wait().map_err(prepare("certificates"))?;
        match status.success() {
            true => Ok(()),
            false => Err(ended(&pki, status)),
        }
    }

    /// kubectl as on a machine where it was never used: the user's settings
    /// are not read, and its cache is in our folder.
    fn write_kubectl(&self) -> io::Result<()> {
        let script = format!(
            "#!/bin/sh\nexport KUBECONFIG={} KUBECACHEDIR={} KUBERC=off\nexec {} kubectl \"$@\"\n",
            shell_quoted(&self.kubeconfig_path()),
            shell_quoted(&self.path("kubectl-cache")),
            shell_quoted(&self.binary),
        );
        fs::write(self.kubectl_path(), script)?;
        fs::set_permissions(self.kubectl_path(), fs::Permissions::from_mode(0o700))
    }

    fn start_components(&self) -> Result<(), StartError> {
        let components = &mut *self.components();
        let (node, reports) = self.spawn_node()?;
        components.node = Some(node);
        components.etcd = Some(self.spawn("etcd", flags::etcd(self.folder()))?);
        components.api_server = Some(self.spawn_api_server()?);

        let deadline = Instant::now() + START_LIMIT;
        components.wait_for("serving", "kube-apiserver", &reports, deadline)?;
        self.start_clients(components)?;
        components.wait_for("ready", "kube-controller-manager", &reports, deadline)
    }

    /// Those that give up when there is no API server to be found for a while,
    /// and so are not started before there is one.
    fn start_clients(&self, components: &mut Components) -> Result<(), StartError> {
        let controllers = flags::controller_manager(self.folder());
        components.controller_manager = Some(self.spawn("kube-controller-manager", controllers)?);
        let scheduler = flags::scheduler(self.folder());
        components.scheduler = Some(self.spawn("kube-scheduler", scheduler)?);
        Ok(())
    }

    /// The node is the child that removes the folder if we are killed, and so
    /// is the first of those that stay.
    fn spawn_node(&self) -> Result<(Component, Receiver<String>), StartError> {
        let mut command = self.program("node");
        command.arg(self.folder()).env(SWEEP, self.folder());
        let (node, output) = Component::spawn_reporting("node", command, &self.log_path("node"))
            .map_err(prepare("node process"))?;
        let (sender, reports) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines();
            // Nobody listens after the start; the pipe is read on all the same,
            // because a full one would stop the node.
            lines.map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        Ok((node, reports))
    }

    fn spawn_api_server(&self) -> Result<Component, StartError> {
        let policy = self.path("audit-policy.yaml");
        let policy = self.options.audit_log.then_some(policy.as_path());
        let mut flags = flags::api_server(self.folder(), self.port, policy);
        flags.extend(self.options.api_server_flags.iter().cloned());
        self.spawn("kube-apiserver", flags)
    }

    fn spawn(&self, name: &'static str, flags: Vec<String>) -> Result<Component, StartError> {
        let mut command = self.program(name);
        command.args(flags);
        Component::spawn(name, command, &self.log_path(name))
            .map_err(prepare(&format!("{name} process")))
    }

    /// The binary as one of its programs, in a folder and an environment in
    /// which it finds nothing of the user's.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg(name).current_dir(self.folder()).env_remove("KUBECONFIG");
        command
    }

    fn is_serving(&self) -> bool {
        self.kubectl(&["get", "--raw", "/readyz"]).is_ok_and(|output| output.status.success())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn log_path(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.log"))
    }

    fn components(&self) -> MutexGuard<'_, Components> {
        // A panic elsewhere leaves the list of children as true as it was.
        self.components.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The children. `None` is one that was not started yet or was stopped.
#[derive(Default)]
struct Components {
    node: Option<Component>,
    etcd: Option<Component>,
    api_server: Option<Component>,
    controller_manager: Option<Component>,
    scheduler: Option<Component>,
}

impl Components {
    fn all(&self) -> impl Iterator<Item = &Component> {
        let Self { node, etcd, api_server, controller_manager, scheduler } = self;
        [node, etcd, api_server, controller_manager, scheduler].into_iter().flatten()
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Component> {
        let Self { node, etcd, api_server, controller_manager, scheduler } = self;
        [node, etcd, api_server, controller_manager, scheduler].into_iter().flatten()
    }

    fn wait_for(
        &mut self,
        report: &str,
        of: &'static str,
        reports: &Receiver<String>,
        deadline: Instant,
    ) -> Result<(), StartError> {
        loop {
            match reports.recv_timeout(POLL) {
                Ok(line) if line == report => return Ok(()),
                Ok(_) | Err(RecvTimeoutError::Timeout) => (),
                // The node has closed its output, so it is ending.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL),
            }
            self.check_alive()?;
            if Instant::now() > deadline {
                return Err(self.too_slow(of));
            }
        }
    }

    fn check_alive(&mut self) -> Result<(), StartError> {
        for component in self.all_mut() {
            if let Some(status) = component.exit_status() {
                return Err(ended(component, status));
            }
        }
        Ok(())
    }

    fn too_slow(&self, waiting_for: &'static str) -> StartError {
        let log = self.all().find(|component| component.name == waiting_for);
        let log = log.map(Component::last_log_lines).unwrap_or_default();
        StartError::TooSlow { waiting_for, log }
    }
}

impl Drop for Components {
    fn drop(&mut self) {
        self.all_mut().for_each(Component::ask_to_end);
        self.all_mut().for_each(Component::end);
    }
}

fn ended(component: &Component, status: ExitStatus) -> StartError {
    let log = component.last_log_lines();
    StartError::ComponentEnded { component: component.name, status, log }
}

fn shell_quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn server_url(port: u16) -> String {
    format!("https://127.0.0.1:{port}")
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn prepare(what: &str) -> impl FnOnce(io::Error) -> StartError {
    let what = what.to_owned();
    |source| StartError::Prepare { what, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_means_itself_to_the_shell() {
        let path = Path::new("/it's $HOME/a \"b\"");
        let script = format!("printf %s {}", shell_quoted(path));
        let output = Command::new("sh").args(["-c", &script]).output().expect("sh runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), path.display().to_string());
    }
}
