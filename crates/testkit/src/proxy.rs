//! A way to a server that can be broken: cut, or made to swallow what it should
//! pass on. Knows bytes only, so it stands before TLS as well.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How a proxy treats what passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Everything passes.
    Passing,
    /// Connections are closed, and new ones are too.
    Cut,
    /// Connections stay open, new ones are accepted, and nothing passes.
    Swallowing,
}

/// Listens on a port of its own for as long as it lives.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    state: Mutex<State>,
    opened: AtomicUsize,
}

struct State {
    mood: Mood,
    /// The clients' ends, to cut them.
    clients: Vec<TcpStream>,
    is_over: bool,
}

impl Proxy {
    /// Stands before the server at this address.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = State { mood: Mood::Passing, clients: Vec::new(), is_over: false };
        let shared =
            Arc::new(Shared { server, state: Mutex::new(state), opened: AtomicUsize::new(0) });
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if own.state().is_over {
                    return;
                }
                own.opened.fetch_add(1, Ordering::Relaxed);
                own.accept(client);
            }
        });
        Self { address, shared }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were opened to it, whatever became of them.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.shared.opened.load(Ordering::Relaxed)
    }

    /// Treats everything in this way from now on.
    pub fn is(&self, mood: Mood) {
        let mut state = self.shared.state();
        state.mood = mood;
        if mood == Mood::Cut {
            cut(&mut state.clients);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_over = true;
        cut(&mut state.clients);
        drop(state);
        // Wakes the listener, which then ends.
        TcpStream::connect(self.address).ok();
    }
}

fn cut(clients: &mut Vec<TcpStream>) {
    for client in clients.drain(..) {
        client.shutdown(Shutdown::Both).ok();
    }
}

/// An HTTP proxy that everybody is sent to the same server by, whatever they ask for;
/// returns where it listens, and lives as long as the process.
///
/// # Panics
/// When there is no free port.
#[must_use]
pub fn gateway_to(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let behind = Proxy::before(server);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = behind.address();
            thread::spawn(move || tunnel(client, server).ok());
        }
    });
    address
}

fn tunnel(mut client: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    if !head.starts_with(b"CONNECT ") {
        return client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n");
    }
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let mut server = TcpStream::connect(server)?;
    let (mut answers, mut asker) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        std::io::copy(&mut answers, &mut asker).ok();
        asker.shutdown(Shutdown::Both).ok();
    });
    std::io::copy(&mut client, &mut server)?;
    server.shutdown(Shutdown::Both)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, client: TcpStream) {
        let mut state = self.state();
        if state.mood == Mood::Cut {
            return;
        }
        let Ok(kept) = client.try_clone() else { return };
        state.clients.push(kept);
        drop(state);
        let Ok(server) = TcpStream::connect(self.server) else { return };
        let (Ok(client_in), Ok(server_in)) = (client.try_clone(), server.try_clone()) else {
            return;
        };
        let (there, back) = (Arc::clone(self), Arc::clone(self));
        thread::spawn(move || there.pass(client_in, server));
        thread::spawn(move || back.pass(server_in, client));
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count) = from.read(&mut buffer) {
            // What was swallowed stays swallowed: this connection is out of step for good.
            let swallows = self.state().mood == Mood::Swallowing;
            if count == 0 || (!swallows && to.write_all(&buffer[..count]).is_err()) {
                break;
            }
        }
        from.shutdown(Shutdown::Both).ok();
        to.shutdown(Shutdown::Both).ok();
    }
}
