//! Asks repositories, once per poll each, whether their branches moved, and
//! wakes exactly the Applications they moved for.

use std::time::{Duration, Instant};

use api::Application;
use futures::stream::{self, StreamExt as _};
use runtime::Shutdown;

use crate::Controller;
use crate::level::Level;
use crate::ports::Freshness;

const AT_ONCE: usize = 64;

/// Polls until shutdown, unless polling is switched off.
pub(crate) async fn poll(controller: &Controller, shutdown: &Shutdown) {
    while let Some(wait) = controller.options.poll.wait(&controller.options.random) {
        if shutdown.or_end(tokio::time::sleep(wait)).await.is_none() {
            return;
        }
        let began = controller.begin_poll();
        stream::iter(controller.apps.all())
            .for_each_concurrent(AT_ONCE, |app| async move {
                if has_moved(controller, &app, began).await {
                    controller.queue.add(app.key(), Level::Polled);
                }
            })
            .await;
    }
}

/// Does a source now stand for another commit, or is the last answer no answer?
async fn has_moved(controller: &Controller, app: &Application, poll: Instant) -> bool {
    let compared = &app.status.sync;
    for (index, source) in app.sources().iter().enumerate() {
        let last = compared.revisions.get(index).unwrap_or(&compared.revision);
        let now = controller.ports.sources.resolve(source, Freshness::NotBefore(poll)).await;
        if compared.status == "Unknown" || now.as_ref() != Ok(last) {
            return true;
        }
    }
    false
}

/// How often to poll.
#[derive(Clone, Copy, Debug)]
pub struct PollOptions {
    /// `timeout.reconciliation`; zero switches polling off.
    pub every: Duration,
    /// `timeout.reconciliation.jitter`: up to this much is added each time, so
    /// that many installations do not ask the same server at once.
    pub jitter: Duration,
}

impl PollOptions {
    fn wait(self, random: &cluster::Randomness) -> Option<Duration> {
        (!self.every.is_zero()).then(|| self.every + self.jitter.mul_f64(random.next()))
    }
}
