//! Jsonnet, evaluated by a process that can be stopped.
//!
//! The language can loop for ever and fill any memory, and its evaluator
//! cannot be interrupted. So a program of a repository runs in a process of
//! its own ([`serve_jsonnet`]), which asks us for the files that it imports,
//! and which we end when it takes too long or too much ([`JsonnetProgram`]).

use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use render::{JsonnetImports, JsonnetTask};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How often an evaluation is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// No message is larger.
const MAX_MESSAGE: u32 = 512 << 20;

/// Who evaluates Jsonnet: a program that calls [`serve_jsonnet`].
#[derive(Clone, Debug)]
pub struct JsonnetProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Bytes of memory that an evaluation may take.
    pub max_memory: u64,
}

/// What an evaluation says.
#[derive(Serialize, Deserialize)]
enum Said {
    /// It wants a file.
    Import { importing: String, path: String },
    /// It is done; the result is beside it.
    Done { is_good: bool },
}

/// What it is told about a file, whose content is beside it.
#[derive(Serialize, Deserialize)]
struct Imported {
    found: Result<String, String>,
}

/// Why an evaluation was ended.
#[derive(Clone, Copy)]
enum Ended {
    TooLong,
    TooLarge,
    NobodyWaits,
}

impl JsonnetProgram {
    /// Our own program, called with an argument that means [`serve_jsonnet`].
    ///
    /// # Errors
    /// When it cannot be told where that is.
    pub fn this_one(argument: &str) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self { program, arguments: vec![argument.to_owned()], max_memory: 1 << 30 })
    }

    /// Evaluates until a moment. Blocks.
    pub(crate) fn evaluate(
        &self,
        task: &JsonnetTask,
        imports: &mut dyn JsonnetImports,
        until: Instant,
        over: &AtomicBool,
    ) -> Result<String, String> {
        let begun = Instant::now();
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("could not start {}: {error}", self.program.display()))?;
        let input = child.stdin.take().expect("it is piped");
        let output = child.stdout.take().expect("it is piped");
        let child = Mutex::new(child);
        let (done, is_done) = mpsc::channel::<()>();
        let (result, ended) = thread::scope(|scope| {
            let watch = scope.spawn(|| self.watch(&child, until, over, is_done));
            let result = converse(input, output, task, imports);
            drop(done);
            (result, watch.join().unwrap_or(None))
        });
        let mut child = child.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop(child.kill());
        let status = child.wait();
        match (result, ended) {
            (Ok(result), _) => result,
            (Err(_), Some(Ended::TooLong)) => {
                let seconds = begun.elapsed().as_secs();
                Err(format!("it did not end within {seconds} seconds; does it loop?"))
            }
            (Err(_), Some(Ended::TooLarge)) => {
                Err(format!("it needs more than {} MiB of memory", self.max_memory >> 20))
            }
            (Err(_), Some(Ended::NobodyWaits)) => Err("nobody waits for it any more".to_owned()),
            (Err(error), None) => Err(format!(
                "the evaluation broke off: {error} ({})",
                status.map_or_else(|error| error.to_string(), |it| it.to_string())
            )),
        }
    }

    /// Ends the evaluation when it takes too long or too much; until it is done.
    fn watch(
        &self,
        child: &Mutex<Child>,
        until: Instant,
        over: &AtomicBool,
        is_done: mpsc::Receiver<()>,
    ) -> Option<Ended> {
        let id = child.lock().unwrap_or_else(PoisonError::into_inner).id();
        loop {
            if !matches!(is_done.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout)) {
                return None;
            }
            let ended = if Instant::now() >= until {
                Ended::TooLong
            } else if resident(id).is_some_and(|bytes| bytes > self.max_memory) {
                Ended::TooLarge
            } else if over.load(Ordering::Relaxed) {
                Ended::NobodyWaits
            } else {
                continue;
            };
            drop(child.lock().unwrap_or_else(PoisonError::into_inner).kill());
            return Some(ended);
        }
    }
}

/// Bytes that a process has in memory, where the system tells.
fn resident(id: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kibibytes << 10)
}

/// Hands over the task and answers questions; the result.
fn converse(
    input: impl Write,
    output: impl Read,
    task: &JsonnetTask,
    imports: &mut dyn JsonnetImports,
) -> io::Result<Result<String, String>> {
    let (mut input, mut output) = (BufWriter::new(input), BufReader::new(output));
    write_message(&mut input, task, &task.content)?;
    loop {
        let (said, content) = read_message::<Said>(&mut output)?;
        match said {
            Said::Import { importing, path } => {
                let (found, content) = match imports.find(&importing, &path) {
                    Ok((file, content)) => (Ok(file), content),
                    Err(problem) => (Err(problem), Bytes::new()),
                };
                write_message(&mut input, &Imported { found }, &content)?;
            }
            Said::Done { is_good } => {
                let text = String::from_utf8(content).map_err(io::Error::other)?;
                return Ok(if is_good { Ok(text) } else { Err(text) });
            }
        }
    }
}

/// Evaluates one task that comes from `input`, and says the result to `output`.
///
/// # Errors
/// When the other side goes away.
pub fn serve_jsonnet(input: impl Read, output: impl Write) -> io::Result<()> {
    let mut asked = Asking {
        input: BufReader::new(input),
        output: BufWriter::new(output),
        known: BTreeMap::new(),
    };
    let (task, content) = read_message::<JsonnetTask>(&mut asked.input)?;
    let task = JsonnetTask { content: content.into(), ..task };
    let result = task.evaluate(&mut asked);
    let is_good = result.is_ok();
    let text = result.unwrap_or_else(|problem| problem);
    write_message(&mut asked.output, &Said::Done { is_good }, text.as_bytes())
}

/// Asks the one who gave us the task.
struct Asking<R, W: Write> {
    input: R,
    output: W,
    /// A file is sent once, however often it is imported.
    known: BTreeMap<(String, String), (String, Bytes)>,
}

impl<R: Read, W: Write> JsonnetImports for Asking<R, W> {
    fn find(&mut self, importing: &str, path: &str) -> Result<(String, Bytes), String> {
        let key = (importing.to_owned(), path.to_owned());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let said = Said::Import { importing: importing.to_owned(), path: path.to_owned() };
        let answered = write_message(&mut self.output, &said, &[])
            .and_then(|()| read_message::<Imported>(&mut self.input));
        let (Imported { found }, content) = answered.map_err(|error| error.to_string())?;
        let found = (found?, Bytes::from(content));
        self.known.insert(key, found.clone());
        Ok(found)
    }
}

/// A message is what is said, and bytes beside it; both with their lengths before.
fn write_message(out: &mut impl Write, what: &impl Serialize, content: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(what)?;
    for part in [&head[..], content] {
        let length = u32::try_from(part.len()).map_err(io::Error::other)?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(part)?;
    }
    out.flush()
}

fn read_message<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<(T, Vec<u8>)> {
    let mut part = || {
        let mut length = [0; 4];
        input.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_MESSAGE {
            return Err(io::Error::other(format!("{length} bytes in one message")));
        }
        let mut content = Vec::new();
        input.take(length.into()).read_to_end(&mut content)?;
        if content.len() < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(content)
    };
    let (head, content) = (part()?, part()?);
    Ok((serde_json::from_slice(&head)?, content))
}
