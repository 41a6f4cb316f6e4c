//! Commands in containers, on a terminal.
//!
//! [`Client::terminal`] starts one. What is typed goes into [`Typing`]; what the
//! command says, and how it ends, comes as a stream of [`Said`].

use bytes::{BufMut as _, Bytes, BytesMut};
use futures::stream::{self, BoxStream, SplitSink, StreamExt as _};
use futures::{Sink, SinkExt as _};
use object::GroupVersionKind;
use serde_json::json;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

use crate::ask::{Ask, Query};
use crate::client::Client;
use crate::kinds::ApiKind;
use crate::refusal::{Refusal, RequestError};

/// The channels of one connection, each the first byte of its messages.
mod channel {
    pub(super) const INPUT: u8 = 0;
    pub(super) const OUTPUT: u8 = 1;
    pub(super) const ERRORS: u8 = 2;
    pub(super) const STATUS: u8 = 3;
    pub(super) const SIZE: u8 = 4;
}

/// What comes from a terminal.
#[derive(Debug)]
pub enum Said {
    /// A piece of output. A character may be spread over two.
    Output(Bytes),
    /// The command has ended, well or not. Nothing follows.
    Ended(Result<(), Box<Refusal>>),
}

/// What goes to a terminal.
pub struct Typing(SplitSink<Socket, Message>);

pub(crate) type Socket =
    tokio_tungstenite::WebSocketStream<hyper_util::rt::TokioIo<hyper::upgrade::Upgraded>>;

/// Nobody listens any more: the command has ended, or the way to it is broken.
#[derive(Debug, thiserror::Error)]
#[error("could not write to a terminal")]
pub struct HungUp(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Typing {
    /// Types something.
    ///
    /// # Errors
    /// When the command has ended or cannot be reached.
    pub async fn send(&mut self, typed: &[u8]) -> Result<(), HungUp> {
        send(&mut self.0, channel::INPUT, typed).await
    }

    /// Tells how large the terminal is.
    ///
    /// # Errors
    /// When the command has ended or cannot be reached.
    pub async fn resize(&mut self, columns: u16, rows: u16) -> Result<(), HungUp> {
        let size = json!({"Width": columns, "Height": rows}).to_string();
        send(&mut self.0, channel::SIZE, size.as_bytes()).await
    }
}

async fn send(
    sink: &mut (impl Sink<Message, Error = SocketError> + Unpin),
    channel: u8,
    bytes: &[u8],
) -> Result<(), HungUp> {
    let mut message = BytesMut::with_capacity(bytes.len() + 1);
    message.put_u8(channel);
    message.put_slice(bytes);
    sink.send(Message::Binary(message.freeze())).await.map_err(|error| HungUp(error.into()))
}

impl Client {
    /// Starts a command in a container, on a terminal of its own.
    ///
    /// # Errors
    /// When the server says no or cannot be reached. Whether the command could be started is
    /// told by the stream.
    pub async fn terminal(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        command: &[&str],
    ) -> Result<(Typing, BoxStream<'static, Said>), RequestError> {
        let kind = ApiKind::known(&GroupVersionKind::parse("v1", "Pod"), "pods", true);
        let path = kind.object_path(namespace, pod, Some("exec"));
        let mut query = Query::new(path);
        query.add("container", container);
        for word in command {
            query.add("command", word);
        }
        for name in ["stdin", "stdout", "tty"] {
            query.add(name, "true");
        }
        let socket = self.socket(Ask::get(query.url)).await?;
        let (typing, messages) = socket.split();
        let said = stream::unfold(Some(messages), async |messages| {
            let mut messages = messages?;
            loop {
                match read(messages.next().await) {
                    Some(Said::Ended(how)) => return Some((Said::Ended(how), None)),
                    Some(said) => return Some((said, Some(messages))),
                    None => {}
                }
            }
        });
        Ok((Typing(typing), said.boxed()))
    }
}

/// What a message means; nothing for what keeps the connection alive.
fn read(message: Option<Result<Message, SocketError>>) -> Option<Said> {
    let bytes = match message {
        Some(Ok(Message::Binary(bytes))) => bytes,
        Some(Ok(Message::Text(text))) => Bytes::from(text),
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => return None,
        Some(Ok(Message::Close(_))) | None => return Some(Said::Ended(Err(broken("closed")))),
        Some(Err(error)) => return Some(Said::Ended(Err(broken(&error.to_string())))),
    };
    match bytes.first().copied()? {
        // A channel is opened by an empty message.
        channel::OUTPUT | channel::ERRORS if bytes.len() > 1 => {
            Some(Said::Output(bytes.slice(1..)))
        }
        channel::STATUS => Some(Said::Ended(status(&bytes[1..]))),
        _ => None,
    }
}

fn broken(why: &str) -> Box<Refusal> {
    let message = format!("the connection to the container broke: {why}");
    Box::new(Refusal { reason: "Broken".into(), message, ..Refusal::default() })
}

#[derive(serde::Deserialize)]
struct Status {
    #[serde(default)]
    status: String,
    #[serde(flatten)]
    refusal: Refusal,
}

fn status(text: &[u8]) -> Result<(), Box<Refusal>> {
    match serde_json::from_slice::<Status>(text) {
        Ok(status) if status.status == "Success" => Ok(()),
        Ok(status) => Err(Box::new(status.refusal)),
        Err(error) => Err(broken(&format!("unreadable status: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(channel: u8, text: &str) -> Option<Result<Message, SocketError>> {
        let bytes: Vec<u8> = [&[channel], text.as_bytes()].concat();
        Some(Ok(Message::Binary(bytes.into())))
    }

    #[track_caller]
    fn check_end(text: &str, expect: Result<(), (&str, &str)>) {
        let Some(Said::Ended(how)) = read(binary(channel::STATUS, text)) else {
            panic!("{text} is no end");
        };
        let how = how.map_err(|it| (it.reason, it.message));
        let expect = expect.map_err(|(reason, message)| (reason.to_owned(), message.to_owned()));
        assert_eq!(how, expect);
    }

    #[test]
    fn the_end_says_how_it_went() {
        check_end(r#"{"metadata":{},"status":"Success"}"#, Ok(()));
        check_end(
            r#"{"metadata":{},"status":"Failure","message":"exit code 127","reason":"NonZeroExitCode",
                "details":{"causes":[{"reason":"ExitCode","message":"127"}]}}"#,
            Err(("NonZeroExitCode", "exit code 127")),
        );
    }

    #[test]
    fn nonsense_ends_it_too() {
        assert!(matches!(read(binary(channel::STATUS, "nonsense")), Some(Said::Ended(Err(_)))));
        assert!(matches!(read(None), Some(Said::Ended(Err(_)))));
    }

    #[test]
    fn output_comes_without_its_channel_and_openings_are_not_output() {
        let Some(Said::Output(output)) = read(binary(channel::OUTPUT, "hi")) else {
            panic!("no output");
        };
        assert_eq!(output, "hi");
        assert!(read(binary(channel::OUTPUT, "")).is_none());
        assert!(read(binary(9, "hi")).is_none());
        assert!(read(Some(Ok(Message::Ping(Bytes::new())))).is_none());
    }
}
