//! Bodies that must keep coming.
//!
//! Whoever sends nothing for a while, or a byte now and then, holds a connection
//! and gives nothing for it: the body ends with an error.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};
use wire::{HttpBody, Status};

/// A client that sends nothing for so long is gone, or up to no good.
const PAUSE: Duration = Duration::from_secs(30);
/// So long nobody asks how fast it comes.
const GRACE: Duration = Duration::from_secs(60);
/// After that it comes faster than this on the whole; slower is no network but a trick.
const BYTES_A_SECOND: u64 = 1024;

/// A body, and our patience with it.
pub(crate) struct Patient {
    body: HttpBody,
    began: Instant,
    received: u64,
    pause: Pin<Box<Sleep>>,
}

impl Patient {
    pub(crate) fn with(body: HttpBody) -> Self {
        Self { body, began: Instant::now(), received: 0, pause: Box::pin(sleep(PAUSE)) }
    }

    /// Is what came so far less than it should be by now?
    fn is_too_slow(&self, now: Instant) -> bool {
        let counted = now.duration_since(self.began).saturating_sub(GRACE);
        self.received < counted.as_secs().saturating_mul(BYTES_A_SECOND)
    }
}

impl Body for Patient {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            ready!(self.pause.as_mut().poll(context));
            let told = format!("nothing came for {} s", PAUSE.as_secs());
            return Poll::Ready(Some(Err(Status::deadline_exceeded(told))));
        };
        let now = Instant::now();
        self.pause.as_mut().reset(now + PAUSE);
        if let Some(data) = frame.as_ref().and_then(|it| it.as_ref().ok()?.data_ref()) {
            self.received += data.remaining() as u64;
        }
        if frame.is_some() && self.is_too_slow(now) {
            let told = format!("the body comes slower than {BYTES_A_SECOND} bytes a second");
            return Poll::Ready(Some(Err(Status::deadline_exceeded(told))));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{StreamExt as _, stream};
    use http_body_util::{BodyExt as _, StreamBody};

    use super::*;

    /// Pieces of this many bytes, one every so many seconds; then the end, if it has one.
    fn body(pieces: usize, size: usize, seconds: u64, ends: bool) -> HttpBody {
        let coming = stream::iter(0..pieces).then(move |_| async move {
            sleep(Duration::from_secs(seconds)).await;
            Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; size])))
        });
        match ends {
            true => HttpBody::new(StreamBody::new(coming.boxed())),
            false => HttpBody::new(StreamBody::new(coming.chain(stream::pending()).boxed())),
        }
    }

    async fn outcome(body: HttpBody) -> Result<usize, String> {
        let collected = Patient::with(body).collect().await;
        collected.map(|it| it.to_bytes().len()).map_err(|it| it.message().to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn what_keeps_coming_is_taken() {
        assert_eq!(outcome(body(0, 0, 0, true)).await, Ok(0));
        assert_eq!(outcome(body(3, 10, 20, true)).await, Ok(30));
        assert_eq!(outcome(body(100, 25 << 10, 20, true)).await, Ok(100 * (25 << 10)));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_it() {
        let began = Instant::now();
        let told = outcome(body(2, 10, 10, false)).await;
        assert_eq!(told, Err("nothing came for 30 s".to_owned()));
        assert_eq!(began.elapsed().as_secs(), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_now_and_then_ends_it() {
        let began = Instant::now();
        let told = outcome(body(1000, 1, 20, true)).await;
        assert_eq!(told, Err("the body comes slower than 1024 bytes a second".to_owned()));
        assert_eq!(began.elapsed().as_secs(), 80);
    }
}
