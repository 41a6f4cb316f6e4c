//! A TCP proxy before the API server that can be cut, or made to swallow what it should pass on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How the proxy treats what passes through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Passing,
    /// Connections are closed, and new ones are too.
    Cut,
    /// Connections stay open and nothing passes.
    Swallowing,
}

pub(crate) struct Proxy {
    mood: Arc<watch::Sender<Mood>>,
    pub(crate) kubeconfig: PathBuf,
    _folder: tempfile::TempDir,
}

impl Proxy {
    /// Stands before the server that the kubeconfig names.
    pub(crate) async fn before(kubeconfig: &Path) -> Self {
        let text = std::fs::read_to_string(kubeconfig).expect("a kubeconfig");
        let (_, rest) = text.split_once("https://127.0.0.1:").expect("a server on loopback");
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let server: SocketAddr = format!("127.0.0.1:{port}").parse().expect("an address");

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let folder = tempfile::tempdir().expect("a folder");
        let through = folder.path().join("kubeconfig");
        std::fs::write(
            &through,
            text.replace(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{own}")),
        )
        .expect("written");

        let mood = Arc::new(watch::Sender::new(Mood::Passing));
        tokio::spawn(accept(listener, server, Arc::clone(&mood)));
        Self { mood, kubeconfig: through, _folder: folder }
    }

    pub(crate) fn is(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, mood: Arc<watch::Sender<Mood>>) {
    while let Ok((client, _)) = listener.accept().await {
        if *mood.borrow() == Mood::Cut {
            continue;
        }
        let mood = mood.subscribe();
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(server).await else { return };
            let (client_in, client_out) = client.into_split();
            let (server_in, server_out) = server.into_split();
            let mut cut = mood.clone();
            tokio::select! {
                () = pass(client_in, server_out, mood.clone()) => {}
                () = pass(server_in, client_out, mood) => {}
                _ = cut.wait_for(|it| *it == Mood::Cut) => {}
            }
        });
    }
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mood: watch::Receiver<Mood>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        // What was swallowed stays swallowed: this connection is out of step for good.
        if *mood.borrow() == Mood::Swallowing {
            continue;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
