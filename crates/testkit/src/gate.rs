//! A gate before a server that speaks plain HTTP/1.1: lets so many writes
//! through and holds the next, so that whoever wrote it can be killed there.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Listens on a port of its own for as long as the process lives.
pub struct Gate {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// Does a write count? Asked with its method and path.
pub type Counts = Box<dyn Fn(&str, &str) -> bool + Send>;

struct Shared {
    server: SocketAddr,
    watch: Mutex<Option<Watch>>,
    watches: Mutex<Watches>,
    released: Condvar,
}

/// How requests that watch are treated.
#[derive(Default)]
struct Watches {
    seconds: Option<u32>,
    held: Option<Sender<String>>,
}

struct Watch {
    counts: Counts,
    /// How many more may pass.
    left: usize,
    held: Sender<String>,
}

impl Gate {
    /// Stands before the server at this address, open.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            server,
            watch: Mutex::new(None),
            watches: Mutex::default(),
            released: Condvar::new(),
        });
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let own = Arc::clone(&own);
                thread::spawn(move || own.serve(client).ok());
            }
        });
        Self { address, shared }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets `count` more writes through; what is asked after them never reaches
    /// the server. Each is told to the receiver, by method and path.
    #[must_use]
    pub fn hold_after(&self, count: usize, counts: Counts) -> Receiver<String> {
        let (held, receiver) = channel();
        *self.shared.watch() = Some(Watch { counts, left: count, held });
        receiver
    }

    /// Lets everything through that is asked from now on.
    pub fn open(&self) {
        *self.shared.watch() = None;
    }

    /// The server is asked to end each watch after so many seconds, whatever the client wished.
    pub fn shorten_watches(&self, seconds: u32) {
        self.shared.watches().seconds = Some(seconds);
    }

    /// Watches that begin from now on wait. Each is told to the receiver, by its path.
    #[must_use]
    pub fn hold_watches(&self) -> Receiver<String> {
        let (held, receiver) = channel();
        self.shared.watches().held = Some(held);
        receiver
    }

    /// Watches that wait go on, and no others wait.
    pub fn let_watches_go(&self) {
        self.shared.watches().held = None;
        self.shared.released.notify_all();
    }
}

/// The first lines of a request.
struct Head {
    text: Vec<u8>,
    method: String,
    path: String,
    length: u64,
}

impl Shared {
    fn watch(&self) -> MutexGuard<'_, Option<Watch>> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits if watches do, and returns the request as it is to be asked.
    fn pass_watch(&self, head: Head) -> Head {
        let mut watches = self.watches();
        if let Some(held) = &watches.held {
            held.send(head.path.clone()).ok();
        }
        while watches.held.is_some() {
            watches = self.released.wait(watches).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(seconds) = watches.seconds else { return head };
        let text = String::from_utf8_lossy(&head.text).into_owned();
        let Some((before, after)) = text.split_once("timeoutSeconds=") else { return head };
        let after = after.trim_start_matches(|it: char| it.is_ascii_digit());
        Head { text: format!("{before}timeoutSeconds={seconds}{after}").into_bytes(), ..head }
    }

    fn serve(&self, client: TcpStream) -> std::io::Result<()> {
        let mut server = TcpStream::connect(self.server)?;
        let (mut answers, mut asker) = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || {
            std::io::copy(&mut answers, &mut asker).ok();
            asker.shutdown(Shutdown::Both).ok();
        });
        let mut requests = BufReader::new(client);
        while let Some(head) = read_head(&mut requests)? {
            let mut body = Vec::new();
            requests.by_ref().take(head.length).read_to_end(&mut body)?;
            if self.holds(&head) {
                // Nothing is answered, and the connection stays: whoever waits here is killed.
                std::io::copy(&mut requests, &mut std::io::sink())?;
                break;
            }
            let head = if head.path.contains("watch=true") { self.pass_watch(head) } else { head };
            server.write_all(&head.text)?;
            server.write_all(&body)?;
        }
        server.shutdown(Shutdown::Both)
    }

    fn holds(&self, head: &Head) -> bool {
        let mut watch = self.watch();
        let Some(watch) = watch
            .as_mut()
            .filter(|it| head.method != "GET" && (it.counts)(&head.method, &head.path))
        else {
            return false;
        };
        if watch.left > 0 {
            watch.left -= 1;
            return false;
        }
        watch.held.send(format!("{} {}", head.method, head.path)).ok();
        true
    }
}

fn read_head(requests: &mut BufReader<TcpStream>) -> std::io::Result<Option<Head>> {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        if requests.read_until(b'\n', &mut text)? == 0 {
            return Ok(None);
        }
    }
    let words = String::from_utf8_lossy(&text).into_owned();
    let mut first = words.split(' ');
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let length = words.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let (method, path) = (method.to_owned(), path.to_owned());
    Ok(Some(Head { text, method, path, length: length.unwrap_or(0) }))
}
