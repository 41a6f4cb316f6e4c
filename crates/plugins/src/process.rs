//! A plugin's command: in a process group of its own, which ends with it, at
//! the deadline at the latest, and within a limit of what it may print.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;
use tokio::time::Instant;

use crate::config::Command;

/// What a command may print; what a client takes.
const MAX_OUTPUT: u64 = 100 << 20;
/// What of its complaints is shown.
const MAX_COMPLAINTS: u64 = 64 << 10;
/// How long a command has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a command; what it printed, without a line feed at the end.
///
/// # Errors
/// What went wrong, in Argo CD's words, with the command's own complaints.
pub(crate) async fn run(
    command: &Command,
    folder: &Path,
    variables: &[(String, String)],
    deadline: Instant,
) -> Result<String, String> {
    let Some(program) = command.command.first() else { return Err("Command is empty".to_owned()) };
    let arguments: Vec<&String> = command.command[1..].iter().chain(&command.args).collect();
    let shown = || {
        let words = arguments.iter().map(|it| it.as_str());
        [program.as_str()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
    };
    let failed = |why: &str, complaints: &str| match complaints.trim() {
        "" => format!("`{}` failed {why}", shown()),
        complaints => format!("`{}` failed {why}: {complaints}", shown()),
    };
    let mut process = tokio::process::Command::new(program);
    process.args(&arguments).current_dir(folder).envs(variables.iter().cloned());
    process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    process.process_group(0).kill_on_drop(true);
    let mut child = process.spawn().map_err(|error| failed(&error.to_string(), ""))?;
    let group = Group::of(&child);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let printed = async {
        let (out, err) = tokio::join!(
            read(out, MAX_OUTPUT, Rest::Refuse),
            read(err, MAX_COMPLAINTS, Rest::Drop)
        );
        (out, err.unwrap_or_default())
    };
    let ended = async {
        let (out, complaints) = printed.await;
        match out {
            Some(out) => Ok((child.wait().await, out, complaints)),
            None => Err(format!("it printed more than {MAX_OUTPUT} bytes")),
        }
    };
    let ended = tokio::time::timeout_at(deadline, ended).await;
    match ended {
        Ok(Ok((Ok(status), out, complaints))) => {
            group.kill();
            if !status.success() {
                return Err(failed(&told(status), &complaints));
            }
            Ok(out.strip_suffix('\n').map_or_else(|| out.clone(), str::to_owned))
        }
        Ok(Ok((Err(error), _, complaints))) => Err(failed(&error.to_string(), &complaints)),
        Ok(Err(too_much)) => {
            group.kill();
            Err(failed(&too_much, ""))
        }
        Err(_) => {
            group.end(&mut child).await;
            Err(failed("signal: terminated: the deadline passed", ""))
        }
    }
}

fn told(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal: {signal}"),
        (None, None) => status.to_string(),
    }
}

/// What happens to more than the limit.
#[derive(Clone, Copy)]
enum Rest {
    Refuse,
    Drop,
}

/// All that is printed; `None` when that is more than is allowed.
async fn read(source: Option<impl AsyncRead + Unpin>, max: u64, rest: Rest) -> Option<String> {
    let mut source = source?;
    let mut bytes = Vec::new();
    (&mut source).take(max + 1).read_to_end(&mut bytes).await.ok()?;
    if bytes.len() as u64 > max {
        match rest {
            Rest::Refuse => return None,
            Rest::Drop => drop(tokio::io::copy(&mut source, &mut tokio::io::sink()).await),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The processes of one command: itself and its children. Whatever way we
/// leave, none of them is left.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|it| i32::try_from(it).ok());
        Self(id.and_then(Pid::from_raw))
    }

    /// Asks them to end, and ends them.
    async fn end(&self, child: &mut Child) {
        if let Some(group) = self.0 {
            kill_process_group(group, Signal::TERM).ok();
            drop(tokio::time::timeout(GRACE, child.wait()).await);
        }
        self.kill();
        child.wait().await.ok();
    }

    fn kill(&self) {
        if let Some(group) = self.0 {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sh(script: &str, seconds: u64) -> Result<String, String> {
        let command = Command {
            command: vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()],
            args: Vec::new(),
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let variables = [("GREETING".to_owned(), "hello".to_owned())];
        let deadline = Instant::now() + Duration::from_secs(seconds);
        run(&command, folder.path(), &variables, deadline).await
    }

    #[tokio::test]
    async fn what_is_printed_is_the_answer_and_complaints_are_the_error() {
        assert_eq!(sh("echo $GREETING", 60).await.as_deref(), Ok("hello"));
        assert_eq!(
            sh("echo no >&2; exit 3", 60).await,
            Err("`sh -c echo no >&2; exit 3` failed exit status 3: no".to_owned())
        );
    }

    #[tokio::test]
    async fn nothing_outlives_the_deadline() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let lifeline = folder.path().join("lifeline");
        let made = std::process::Command::new("mkfifo").arg(&lifeline).status();
        assert!(made.expect("mkfifo starts").success());
        // Parent and child both refuse to end when asked; the child holds the lifeline as long as it lives.
        let script = format!(
            "trap '' TERM; sh -c \"trap '' TERM; exec 3> {}; sleep 600\" & wait; sleep 600",
            lifeline.display()
        );
        let child_is_gone = tokio::task::spawn_blocking(move || std::fs::read(lifeline));
        let error = sh(&script, 3).await.expect_err("a deadline");
        assert!(error.contains("the deadline passed"), "{error}");
        let patience = Duration::from_secs(60);
        let gone = tokio::time::timeout(patience, child_is_gone).await.expect("the child ends");
        gone.expect("a reader").expect("a lifeline to read");
    }

    #[tokio::test]
    async fn endless_output_is_cut_off() {
        let error = sh("yes", 120).await.expect_err("a limit");
        assert_eq!(error, "`sh -c yes` failed it printed more than 104857600 bytes");
    }
}
