//! One child process of the cluster: its lifeline, its log, its end.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use std::os::unix::process::CommandExt as _;

/// How long a child that was told to end may take before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);
const SHOWN_LINES: usize = 15;

/// A running child. It ends when this value goes, and when this process does:
/// its standard input is a pipe only we hold, and it ends when that closes.
pub(crate) struct Component {
    pub(crate) name: &'static str,
    log: PathBuf,
    child: Child,
    lifeline: Option<ChildStdin>,
}

impl Component {
    pub(crate) fn spawn(name: &'static str, mut command: Command, log: &Path) -> io::Result<Self> {
        let output = File::options().create(true).append(true).open(log)?;
        command.stdout(output.try_clone()?).stderr(output);
        Self::spawn_with_output(name, command, log)
    }

    /// Like [`Self::spawn`], for the child whose standard output we read.
    pub(crate) fn spawn_reporting(
        name: &'static str,
        mut command: Command,
        log: &Path,
    ) -> io::Result<(Self, ChildStdout)> {
        command.stdout(Stdio::piped()).stderr(File::options().create(true).append(true).open(log)?);
        let mut component = Self::spawn_with_output(name, command, log)?;
        let output = component.child.stdout.take().expect("standard output was piped");
        Ok((component, output))
    }

    fn spawn_with_output(name: &'static str, mut command: Command, log: &Path) -> io::Result<Self> {
        // Its own process group: Ctrl-C in a terminal goes to the whole group,
        // and the child that clears up must outlive us by a moment.
        command.env("DEVCLUSTER_LIFELINE", "1").stdin(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let lifeline = child.stdin.take();
        Ok(Self { name, log: log.to_owned(), child, lifeline })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// For a child that ends by itself.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    pub(crate) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Asks the child to end; [`Self::end`] makes sure that it does. Apart, so
    /// that all children can be asked before the first is waited for.
    pub(crate) fn ask_to_end(&mut self) {
        self.lifeline = None;
    }

    pub(crate) fn end(&mut self) {
        self.ask_to_end();
        let deadline = Instant::now() + PATIENCE;
        while self.exit_status().is_none() {
            if Instant::now() > deadline {
                // Both fail only for a child that has ended.
                self.child.kill().ok();
                self.child.wait().ok();
                return;
            }
            thread::sleep(POLL);
        }
    }

    pub(crate) fn last_log_lines(&self) -> String {
        last_lines(&fs::read(&self.log).unwrap_or_default())
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last lines that say something, each indented and cut to a readable
/// length. A usage text after an error is not what a reader looks for.
fn last_lines(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    shown.iter().map(|line| format!("\n  {}", line.chars().take(400).collect::<String>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_shown_by_its_last_lines() {
        let log: String = (0..40).map(|number| format!("line {number}\n\n")).collect();
        let shown = last_lines(log.as_bytes());
        assert_eq!(shown.lines().filter(|line| !line.is_empty()).count(), SHOWN_LINES);
        assert!(shown.ends_with("\n  line 39"), "{shown}");
    }
}
