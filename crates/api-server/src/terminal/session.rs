//! One terminal session, from the first prompt to the end.
//!
//! The rights are asked for again before everything that is typed, and with
//! every sign of life: who loses them, or whose token ends, loses the terminal.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ::cluster::{Client, Said, Typing};
use futures::stream::{BoxStream, SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::message::{Characters, Heard, RECONNECT, heard, output};
use super::{Wanted, may};
use crate::methods::Call;
use crate::port::Port;

/// Keeps what lies between from closing a silent connection.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// A browser that takes nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Session {
    pub(super) port: Arc<Port>,
    pub(super) token: String,
    /// What policies call the Application.
    pub(super) object: String,
    pub(super) wanted: Wanted,
    pub(super) client: Client,
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// What is typed before any shell has said a word may be so long; it is for the one that does.
const EARLY_LIMIT: usize = 64 << 10;

/// The browser's end.
struct Browser {
    says: SplitStream<Socket>,
    hears: SplitSink<Socket, Message>,
    size: Option<(u16, u16)>,
    typed: Typed,
}

/// What was typed into the shell that is tried.
#[derive(Default)]
struct Typed {
    /// Whether the shell has said anything.
    is_answered: bool,
    /// What was typed before it did.
    early: String,
}

/// How a shell ended for the session.
enum Shell {
    /// The session is over with it.
    Over,
    /// It could not be started; perhaps another one can.
    Missing,
}

impl Session {
    pub(super) async fn run(self, socket: Socket) {
        let (hears, says) = socket.split();
        let mut browser = Browser { says, hears, size: None, typed: Typed::default() };
        let shells = self.shells();
        for (number, shell) in shells.iter().enumerate() {
            let is_last = number + 1 == shells.len();
            match self.shell(shell, &mut browser, is_last).await {
                Shell::Over => break,
                Shell::Missing => {}
            }
        }
        drop(timeout(PATIENCE, browser.hears.send(Message::Close(None))).await);
    }

    /// The shell asked for, if it is allowed; else all that are.
    fn shells(&self) -> Vec<String> {
        let settings = self.port.server().settings.current();
        let allowed = &settings.server.exec_shells;
        match allowed.iter().find(|it| **it == self.wanted.shell) {
            Some(shell) => vec![shell.clone()],
            None => allowed.clone(),
        }
    }

    async fn shell(&self, shell: &str, browser: &mut Browser, is_last: bool) -> Shell {
        let Wanted { namespace, pod, container, .. } = &self.wanted;
        let started = self.client.terminal(namespace, pod, container, &[shell]).await;
        let (mut typing, mut said) = match started {
            Ok(started) => started,
            Err(error) => {
                let why =
                    error.refusal().map_or_else(|| error.in_one_line(), |it| it.message.clone());
                return browser.failed(&why, is_last).await;
            }
        };
        browser.typed.is_answered = false;
        // A shell that ends at once tells so by the stream.
        if let Some((columns, rows)) = browser.size {
            drop(typing.resize(columns, rows).await);
        }
        if !browser.typed.early.is_empty() {
            drop(typing.send(browser.typed.early.as_bytes()).await);
        }
        let mut ticks = interval(SIGN_OF_LIFE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut characters = Characters::default();
        loop {
            let step = tokio::select! {
                heard = browser.says.next() => self.heard(heard, browser, &mut typing).await,
                said = next(&mut said) => match said {
                    Said::Output(bytes) => {
                        browser.typed.is_answered = true;
                        browser.tell(output(&characters.read(&bytes))).await
                    }
                    Said::Ended(Ok(())) => return Shell::Over,
                    Said::Ended(Err(why)) => return browser.failed(&why.message, is_last).await,
                },
                _ = ticks.tick() => self.still_may(browser).await,
            };
            if step.is_break() {
                return Shell::Over;
            }
        }
    }

    async fn heard(
        &self,
        message: Option<Result<Message, tokio_tungstenite::tungstenite::Error>>,
        browser: &mut Browser,
        typing: &mut Typing,
    ) -> ControlFlow<()> {
        let text = match message {
            Some(Ok(Message::Text(text))) => bytes::Bytes::from(text),
            Some(Ok(Message::Binary(bytes))) => bytes,
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                return ControlFlow::Continue(());
            }
            Some(Ok(Message::Close(_)) | Err(_)) | None => return ControlFlow::Break(()),
        };
        self.still_may(browser).await?;
        let sent = match heard(&text) {
            Ok(Heard::Typed(typed)) => {
                if !browser.typed.is_answered && browser.typed.early.len() < EARLY_LIMIT {
                    browser.typed.early.push_str(&typed);
                }
                typing.send(typed.as_bytes()).await
            }
            Ok(Heard::Resized { columns, rows }) => {
                browser.size = Some((columns, rows));
                typing.resize(columns, rows).await
            }
            Err(why) => {
                tracing::debug!(why, "a terminal was sent what it does not know");
                return ControlFlow::Break(());
            }
        };
        // How the command ended is still to come from the other side.
        drop(sent);
        ControlFlow::Continue(())
    }

    /// Asks for the rights again, with what is known by now; also a sign of life.
    async fn still_may(&self, browser: &mut Browser) -> ControlFlow<()> {
        let Ok(caller) = self.port.caller_of(&self.token).await else {
            browser.tell(output("\nReconnect because the token was refreshed...\n")).await?;
            browser.tell(RECONNECT.to_owned()).await?;
            return ControlFlow::Break(());
        };
        let server = Arc::clone(self.port.server());
        let is_on = server.settings.current().server.exec_enabled;
        let call = Call { server, caller: Some(caller), method: "/terminal" };
        if !is_on || may(&call, &self.object).is_err() {
            browser.tell(output("Permission denied")).await?;
            return ControlFlow::Break(());
        }
        browser.send(Message::Ping("ping".into())).await
    }
}

/// A stream that ends without saying how is broken: it says so itself.
async fn next(said: &mut BoxStream<'static, Said>) -> Said {
    said.next().await.unwrap_or(Said::Ended(Ok(())))
}

impl Browser {
    /// A shell failed. One that never said a word was not there: another one may be.
    async fn failed(&mut self, why: &str, is_last: bool) -> Shell {
        if self.typed.is_answered {
            return Shell::Over;
        }
        if !is_last {
            return Shell::Missing;
        }
        let told = self.tell(output(&format!("Failed to exec container: {why}\r\n")));
        // Whoever is gone needs not be told.
        _ = told.await;
        Shell::Over
    }

    async fn tell(&mut self, text: String) -> ControlFlow<()> {
        self.send(Message::Text(text.into())).await
    }

    async fn send(&mut self, message: Message) -> ControlFlow<()> {
        match timeout(PATIENCE, self.hears.send(message)).await {
            Ok(Ok(())) => ControlFlow::Continue(()),
            Ok(Err(_)) | Err(_) => ControlFlow::Break(()),
        }
    }
}
