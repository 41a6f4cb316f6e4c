//! Lets clients in that give the path of the socket as the name of the server.
//!
//! Argo CD's programs do: over a unix socket their `:authority` is something
//! like `/tmp/some.sock`, which is no authority, and our HTTP/2 library ends
//! such a request before we see it. So the headers of requests are read here
//! first, and a name that is none becomes `localhost`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use loona_hpack::Decoder;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What every client begins with.
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
const FRAME_HEADER: usize = 9;
/// The largest frame that we let clients send: HTTP/2's default.
const MAX_FRAME: usize = 16 << 10;
/// Headers of one request.
const MAX_HEADERS: usize = 64 << 10;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// A connection whose requests all name a server.
pub(crate) struct NamedServer<S> {
    stream: S,
    requests: Requests,
}

impl<S> NamedServer<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, requests: Requests::default() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for NamedServer<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.requests.readable.is_empty() {
            let mut bytes = [0; 8 << 10];
            let mut chunk = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.requests.take(chunk.filled())?;
        }
        let count = into.remaining().min(self.requests.readable.len());
        into.put_slice(&self.requests.readable.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for NamedServer<S> {
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
}

/// What a client sends, frame by frame.
#[derive(Default)]
struct Requests {
    /// What came and is no whole frame yet.
    arrived: BytesMut,
    /// What may be read.
    readable: BytesMut,
    began: bool,
    decoder: Decoder<'static>,
    /// Headers that go on in the next frame.
    unfinished: Option<Unfinished>,
}

struct Unfinished {
    stream: [u8; 4],
    flags: u8,
    block: BytesMut,
}

impl Requests {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.arrived.extend_from_slice(bytes);
        if !self.began {
            if self.arrived.len() < PREFACE {
                return Ok(());
            }
            self.readable.extend_from_slice(&self.arrived.split_to(PREFACE));
            self.began = true;
        }
        while let Some(frame) = self.next_frame()? {
            self.pass(frame)?;
        }
        Ok(())
    }

    fn next_frame(&mut self) -> io::Result<Option<Bytes>> {
        let Some(header) = self.arrived.get(..FRAME_HEADER) else { return Ok(None) };
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        if length > MAX_FRAME {
            return Err(invalid("a frame is too large"));
        }
        let whole = FRAME_HEADER + length;
        Ok((self.arrived.len() >= whole).then(|| self.arrived.split_to(whole).freeze()))
    }

    fn pass(&mut self, frame: Bytes) -> io::Result<()> {
        let (kind, flags) = (frame[3], frame[4]);
        let stream = [frame[5], frame[6], frame[7], frame[8]];
        let payload = frame.slice(FRAME_HEADER..);
        let unfinished = match (kind, self.unfinished.take()) {
            (HEADERS, None) => {
                Unfinished { stream, flags, block: BytesMut::from(&fragment(payload, flags)?[..]) }
            }
            (CONTINUATION, Some(mut unfinished)) if unfinished.stream == stream => {
                unfinished.block.extend_from_slice(&payload);
                unfinished.flags |= flags & END_HEADERS;
                unfinished
            }
            (_, None) => {
                self.readable.extend_from_slice(&frame);
                return Ok(());
            }
            (_, Some(_)) => return Err(invalid("headers end in the middle")),
        };
        if unfinished.block.len() > MAX_HEADERS {
            return Err(invalid("headers are too large"));
        }
        if unfinished.flags & END_HEADERS == 0 {
            self.unfinished = Some(unfinished);
            return Ok(());
        }
        let headers = self.decoder.decode(&unfinished.block);
        let headers = headers.map_err(|_| invalid("headers cannot be decoded"))?;
        self.write(&unfinished, &encoded(headers));
        Ok(())
    }

    /// The headers again, in as many frames as they need.
    fn write(&mut self, of: &Unfinished, block: &[u8]) {
        let mut kind = HEADERS;
        let mut parts = block.chunks(MAX_FRAME).peekable();
        while let Some(part) = parts.next() {
            let mut flags = if kind == HEADERS { of.flags & END_STREAM } else { 0 };
            if parts.peek().is_none() {
                flags |= END_HEADERS;
            }
            self.readable.put_uint(part.len() as u64, 3);
            self.readable.put_slice(&[kind, flags]);
            self.readable.put_slice(&of.stream);
            self.readable.put_slice(part);
            kind = CONTINUATION;
        }
    }
}

/// The headers of a frame, without what may stand around them.
fn fragment(mut payload: Bytes, flags: u8) -> io::Result<Bytes> {
    let cut = || invalid("a frame is cut off");
    let mut padding = 0;
    if flags & PADDED != 0 {
        padding = usize::from(*payload.first().ok_or_else(cut)?);
        payload.advance(1);
    }
    if flags & PRIORITY != 0 {
        if payload.len() < 5 {
            return Err(cut());
        }
        payload.advance(5);
    }
    let length = payload.len().checked_sub(padding).ok_or_else(cut)?;
    Ok(payload.slice(..length))
}

/// Each header as it is, so that nobody has to remember anything.
fn encoded(headers: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        let is_no_authority =
            name == b":authority" && http::uri::Authority::try_from(&value[..]).is_err();
        let value = if is_no_authority { &b"localhost"[..] } else { &value };
        block.push(0);
        for text in [&name[..], value] {
            write_length(text.len(), &mut block);
            block.extend_from_slice(text);
        }
    }
    block
}

/// A number with a prefix of seven bits, as HPACK writes it.
fn write_length(length: usize, block: &mut Vec<u8>) {
    let low = |number: usize| u8::try_from(number & 0x7f).expect("seven bits");
    let Some(mut rest) = length.checked_sub(0x7f) else {
        block.push(low(length));
        return;
    };
    block.push(0x7f);
    while rest >= 0x80 {
        block.push(low(rest) | 0x80);
        rest >>= 7;
    }
    block.push(low(rest));
}

fn invalid(problem: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = BytesMut::new();
        frame.put_uint(payload.len() as u64, 3);
        frame.put_slice(&[kind, flags, 0, 0, 0, 1]);
        frame.put_slice(payload);
        frame.to_vec()
    }

    type Headers = Vec<(Vec<u8>, Vec<u8>)>;

    fn headers(path: &str) -> Headers {
        let long = "x".repeat(300);
        [(":method", "POST"), (":authority", path), ("x-long", &long)]
            .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
            .into()
    }

    /// What is readable after the preface, decoded: kind, flags, headers.
    fn read(requests: &Requests) -> (u8, u8, Headers) {
        let frame = &requests.readable[PREFACE..];
        let headers = Decoder::new().decode(&frame[FRAME_HEADER..]).expect("headers");
        (frame[3], frame[4], headers)
    }

    #[test]
    fn a_path_becomes_a_name_and_a_name_stays() {
        for (said, expect) in [("/tmp/a b.sock", "localhost"), ("plugin:80", "plugin:80")] {
            let mut encoder = loona_hpack::Encoder::new();
            let said = headers(said);
            let block = encoder.encode(said.iter().map(|(name, value)| (&name[..], &value[..])));
            let (first, second) = block.split_at(7);
            let mut padded = vec![2];
            padded.extend_from_slice(first);
            padded.extend_from_slice(b"..");
            let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
            bytes.extend(frame(HEADERS, END_STREAM | PADDED, &padded));
            bytes.extend(frame(CONTINUATION, END_HEADERS, second));
            let mut requests = Requests::default();
            for byte in bytes {
                requests.take(&[byte]).expect("whole frames");
            }
            let read = read(&requests);
            assert_eq!(read, (HEADERS, END_STREAM | END_HEADERS, headers(expect)));
        }
    }

    #[test]
    fn what_is_no_http_is_an_error_and_no_panic() {
        for bad in [
            frame(HEADERS, PADDED, &[9]),
            frame(HEADERS, PRIORITY, &[0; 3]),
            frame(HEADERS, END_HEADERS, &[0xff; 9]),
            [frame(HEADERS, 0, &[]), frame(0, 0, &[])].concat(),
            vec![0xff; FRAME_HEADER],
        ] {
            let mut requests = Requests { began: true, ..Requests::default() };
            requests.take(&bad).expect_err("no HTTP/2");
        }
    }
}
