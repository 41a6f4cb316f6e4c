//! A small HTTP proxy that writes down whom it was asked for.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Passes requests on until it is dropped.
pub struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    stopped: Arc<AtomicBool>,
}

impl Default for Proxy {
    fn default() -> Self {
        Self::start()
    }
}

impl Proxy {
    /// Starts on a free port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let (asked, stopped) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (list, is_stopped) = (Arc::clone(&asked), Arc::clone(&stopped));
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                if is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                let list = Arc::clone(&list);
                thread::spawn(move || drop(pass_on(connection, &list)));
            }
        });
        Self { address, asked, stopped }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The hosts asked for so far, with their ports; the next call begins anew.
    #[must_use]
    pub fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("nobody panics here"))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

fn pass_on(client: TcpStream, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(()) };
    let bare = target.strip_prefix("http://").unwrap_or(target);
    let (host, path) = bare.split_at(bare.find('/').unwrap_or(bare.len()));
    asked.lock().expect("nobody panics here").push(host.to_owned());
    let mut server = TcpStream::connect(host)?;
    let is_tunnel = method == "CONNECT";
    if !is_tunnel {
        server.write_all(format!("{method} {path} HTTP/1.1\r\n").as_bytes())?;
    }
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        if !is_tunnel {
            server.write_all(header.as_bytes())?;
        }
        if header.trim_end().is_empty() {
            break;
        }
    }
    let mut back = client;
    if is_tunnel {
        back.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
    }
    let mut answers = server.try_clone()?;
    let answering = thread::spawn(move || {
        drop(std::io::copy(&mut answers, &mut back));
        drop(back.shutdown(Shutdown::Both));
    });
    drop(std::io::copy(&mut reader, &mut server));
    drop(server.shutdown(Shutdown::Write));
    answering.join().expect("copying does not panic");
    Ok(())
}
