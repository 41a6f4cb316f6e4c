//! A connection that remembers when it last heard something.
//!
//! Between pings a peer that is gone looks like one that has nothing to say. When a
//! connection ends, this tells since when what it showed was no longer proven.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};

/// When something was last read.
#[derive(Debug)]
pub(crate) struct LastHeard {
    begin: Instant,
    /// Milliseconds since then.
    at: AtomicU64,
}

impl Default for LastHeard {
    fn default() -> Self {
        Self { begin: Instant::now(), at: AtomicU64::new(0) }
    }
}

impl LastHeard {
    pub(crate) fn now(&self) {
        let at = u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.at.store(at, Ordering::Relaxed);
    }

    pub(crate) fn ago(&self) -> Duration {
        let at = Duration::from_millis(self.at.load(Ordering::Relaxed));
        self.begin.elapsed().saturating_sub(at)
    }
}

/// A stream whose reads are noted.
pub(crate) struct Listened<S> {
    pub(crate) stream: S,
    pub(crate) heard: std::sync::Arc<LastHeard>,
}

impl<S: Read + Unpin> Read for Listened<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if matches!(read, Poll::Ready(Ok(()))) {
            self.heard.now();
        }
        read
    }
}

impl<S: Write + Unpin> Write for Listened<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }
}

impl<S: Connection> Connection for Listened<S> {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}
