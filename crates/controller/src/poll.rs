//! Asks repositories, once per poll each, whether their branches moved, and
//! wakes exactly the Applications they moved for.

use std::time::{Duration, Instant};

use api::Application;
use futures::stream::{self, StreamExt as _};
use runtime::Shutdown;

use crate::Controller;
use crate::level::Level;
use crate::ports::Freshness;
use crate::settings::Settings;

const AT_ONCE: usize = 64;

/// Polls until shutdown, unless polling is switched off.
pub(crate) async fn poll(controller: &Controller, shutdown: &Shutdown) {
    loop {
        let options = &controller.options;
        let Some(wait) = options.poll.wait(&controller.settings(), &options.random) else {
            // Switched off, until the settings say otherwise.
            let mut settings = controller.settings.subscribe();
            match shutdown.or_end(settings.changed()).await {
                Some(Ok(())) => continue,
                Some(Err(_)) | None => return,
            }
        };
        if shutdown.or_end(tokio::time::sleep(wait)).await.is_none() {
            return;
        }
        let began = controller.begin_poll();
        stream::iter(controller.apps.all().into_iter().filter(|it| controller.is_ours(it)))
            .for_each_concurrent(AT_ONCE, |app| async move {
                if has_moved(controller, &app, began).await {
                    controller.queue.add(app.key(), Level::Polled);
                } else if controller.looks_after_orphans(&app) {
                    // Objects that are nobody's wake nobody.
                    controller.queue.add(app.key(), Level::Live);
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
        let project = &app.spec.project;
        let now = controller.sources.resolve(source, project, Freshness::NotBefore(poll)).await;
        if compared.status == "Unknown" || now.as_ref() != Ok(last) {
            return true;
        }
    }
    false
}

/// Has every Application looked at with nothing remembered, as often as the settings say, until shutdown.
pub(crate) async fn look_hard(controller: &Controller, shutdown: &Shutdown) {
    let mut settings = controller.settings.subscribe();
    loop {
        let every = controller.options.poll.hard.unwrap_or(settings.borrow_and_update().poll_hard);
        let due = async {
            if every.is_zero() {
                std::future::pending::<()>().await;
            } else {
                tokio::time::sleep(every).await;
            }
        };
        tokio::select! {
            () = due => {
                for app in controller.apps.all().into_iter().filter(|it| controller.is_ours(it)) {
                    controller.queue.add(app.key(), Level::Hard);
                }
            }
            changed = settings.changed() => if changed.is_err() { return },
            () = shutdown.begun() => return,
        }
    }
}

/// How often to poll.
#[derive(Clone, Copy, Debug, Default)]
pub struct PollOptions {
    /// Instead of `timeout.reconciliation`; zero switches polling off.
    pub every: Option<Duration>,
    /// Instead of `timeout.reconciliation.jitter`: up to this much is added each
    /// time, so that many installations do not ask the same server at once.
    pub jitter: Option<Duration>,
    /// Instead of `timeout.hard.reconciliation`; zero switches it off.
    pub hard: Option<Duration>,
}

impl PollOptions {
    fn wait(self, settings: &Settings, random: &cluster::Randomness) -> Option<Duration> {
        let every = self.every.unwrap_or(settings.poll_every);
        let jitter = self.jitter.unwrap_or(settings.poll_jitter);
        (!every.is_zero()).then(|| every + jitter.mul_f64(random.next()))
    }
}
