//! A web socket through an extension: what both sides say is carried on as it is,
//! until one of them has said everything, or the user may no longer.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ::settings::extensions::Service;
use api::{AppKey, Application};
use futures::future::{Either, select};
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{MissedTickBehavior, interval, timeout};
use wire::HttpBody;

use super::{About, may};
use crate::methods::Call;
use crate::port::Port;
use crate::sso::dex::passing;
use crate::terminal::asks_for_socket;

/// So many may be open at once: each is two connections.
pub(super) const ROOM: usize = 1000;
const WEB_SOCKET: HeaderValue = HeaderValue::from_static("websocket");
/// How often the rights are asked for again.
const RECHECK: Duration = Duration::from_secs(5);
/// A side that takes nothing for so long is gone; so is one that does not end after the other.
const PATIENCE: Duration = Duration::from_secs(30);
const PIECE: usize = 16 << 10;

/// The client's connection, where a web socket is asked for. Other protocols are not passed on:
/// in HTTP/2, a client could go on with requests that nobody checks.
pub(super) fn asked(request: &mut Request<HttpBody>) -> Option<OnUpgrade> {
    let is_asked = request.version() == Version::HTTP_11 && asks_for_socket(request.headers());
    is_asked.then(|| hyper::upgrade::on(request))
}

/// What asks the service for a web socket, and tells the client that there is one.
pub(super) fn switch(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, WEB_SOCKET);
}

/// Did the service agree, and to this?
pub(super) fn is_agreed(answer: &reqwest::Response) -> bool {
    let protocol = answer.headers().get(UPGRADE);
    protocol.is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(WEB_SOCKET.as_bytes()))
}

/// One web socket, and on whose behalf it is.
pub(super) struct Socket {
    pub(super) port: Arc<Port>,
    pub(super) token: String,
    pub(super) about: About,
    pub(super) app: AppKey,
    pub(super) extension: String,
    pub(super) service: Service,
}

impl Socket {
    /// The answer to the client; what is said goes on after it, and takes its room until the end.
    pub(super) async fn open(
        self,
        client: OnUpgrade,
        answer: reqwest::Response,
        room: OwnedSemaphorePermit,
    ) -> Result<Response<HttpBody>, reqwest::Error> {
        let mut headers = passing(answer.headers());
        switch(&mut headers);
        let service = answer.upgrade().await?;
        tokio::spawn(async move {
            let Ok(client) = client.await else { return };
            let why = self.carry(TokioIo::new(client), service).await;
            let Self { about, extension, .. } = &self;
            tracing::info!(extension, app = about.app, why, "a web socket ends");
            drop(room);
        });
        let mut response = Response::new(HttpBody::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        *response.headers_mut() = headers;
        Ok(response)
    }

    /// Until the end, and why it came.
    async fn carry(
        &self,
        client: impl AsyncRead + AsyncWrite,
        service: impl AsyncRead + AsyncWrite,
    ) -> String {
        let carried = carry(client, service);
        let mut ticks = interval(RECHECK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let refused = async {
            loop {
                ticks.tick().await;
                if let Err(why) = self.still_may().await {
                    return why;
                }
            }
        };
        tokio::select! {
            carried = carried => match carried {
                Ok(()) => "both sides are done".to_owned(),
                Err(error) => error.to_string(),
            },
            why = refused => why,
        }
    }

    /// Asks for what does not need the control plane again: it may be away while the socket is not.
    async fn still_may(&self) -> Result<(), String> {
        let caller = self.port.caller_of(&self.token).await;
        let caller = caller.map_err(|_| "the token is no longer good")?;
        let server = Arc::clone(self.port.server());
        let call = Call { server, caller: Some(caller), method: "/extensions" };
        may(&call, &self.about, &self.extension)?;
        let app = call.server.apps.get(&self.app).ok_or("the Application is gone")?;
        if app.spec.project_name() != self.about.project {
            return Err("the Application went to another project".into());
        }
        self.is_still_served(&call, &app).then_some(()).ok_or("the extension was changed".into())
    }

    fn is_still_served(&self, call: &Call, app: &Application) -> bool {
        let settings = call.server.settings.current();
        let extension = settings.extensions.iter().find(|it| it.name == self.extension);
        let destination = &app.spec.destination;
        let service =
            extension.and_then(|it| it.service_for(&destination.server, &destination.name));
        service.is_some_and(|it| *it == self.service)
    }
}

/// Both ways. A side that has said everything may still listen for a while.
async fn carry(
    one: impl AsyncRead + AsyncWrite,
    other: impl AsyncRead + AsyncWrite,
) -> io::Result<()> {
    let (one_says, one_hears) = tokio::io::split(one);
    let (other_says, other_hears) = tokio::io::split(other);
    let there = pin!(told(one_says, other_hears));
    let back = pin!(told(other_says, one_hears));
    let why = "one side ended and the other did not";
    match select(there, back).await {
        Either::Left((ended, back)) => {
            ended?;
            patiently(why, back).await
        }
        Either::Right((ended, there)) => {
            ended?;
            patiently(why, there).await
        }
    }
}

async fn told(
    mut says: impl AsyncRead + Unpin,
    mut hears: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let count = says.read(&mut piece).await?;
        let Some(said) = piece.get(..count).filter(|it| !it.is_empty()) else {
            return patiently("one side does not end", hears.shutdown()).await;
        };
        let taken = async {
            hears.write_all(said).await?;
            hears.flush().await
        };
        patiently("one side takes nothing", taken).await?;
    }
}

async fn patiently(why: &str, work: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(io::Error::other(why)))
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    #[tokio::test]
    async fn who_has_said_everything_still_hears() {
        let (client, ours) = duplex(64);
        let (theirs, service) = duplex(64);
        let carried = tokio::spawn(carry(ours, theirs));
        let (mut client_hears, mut client_says) = tokio::io::split(client);
        client_says.write_all(b"goodbye").await.expect("said");
        client_says.shutdown().await.expect("ended");
        let (mut service_hears, mut service_says) = tokio::io::split(service);
        let mut heard = String::new();
        service_hears.read_to_string(&mut heard).await.expect("heard to the end");
        service_says.write_all(b"and to you").await.expect("said");
        service_says.shutdown().await.expect("ended");
        let mut answer = String::new();
        client_hears.read_to_string(&mut answer).await.expect("heard to the end");
        assert_eq!((heard.as_str(), answer.as_str()), ("goodbye", "and to you"));
        carried.await.expect("no panic").expect("a good end");
    }

    #[tokio::test(start_paused = true)]
    async fn a_side_that_takes_nothing_is_gone() {
        let (mut client, ours) = duplex(PIECE);
        let (theirs, _service) = duplex(64);
        let carried = tokio::spawn(carry(ours, theirs));
        client.write_all(&[7; 100]).await.expect("said");
        let ended = carried.await.expect("no panic").map_err(|it| it.to_string());
        assert_eq!(ended, Err("one side takes nothing".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_side_that_does_not_end_after_the_other_is_ended() {
        let (client, ours) = duplex(64);
        let (theirs, _service) = duplex(64);
        drop(client);
        let ended = carry(ours, theirs).await.map_err(|it| it.to_string());
        assert_eq!(ended, Err("one side ended and the other did not".to_owned()));
    }
}
