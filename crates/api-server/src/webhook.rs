//! `/api/webhook`: a push elsewhere makes Applications look at once.
//!
//! `event` reads what a provider says, `affected` decides whom it concerns;
//! both depend on their arguments alone. `pushed` asks the repository first, so
//! that a push is fetched once, and its files are known. Here the request is taken, and the
//! Applications concerned are marked for a refresh, which is all a webhook can do.

pub(crate) mod affected;
pub(crate) mod event;
mod pushed;

use std::sync::Arc;
use std::time::Duration;

use api::{AppKey, Application};
use futures::FutureExt as _;
use http::{HeaderMap, Method, StatusCode};
use serde_json::json;

use crate::ApiServer;
use crate::store::APPLICATIONS;
use affected::{Refresh, refresh_after_publishing};
use event::{Event, Refused};
use pushed::Question;

/// How long a repository may take to tell what was pushed; then everybody looks.
const PATIENCE: Duration = Duration::from_secs(20);

/// Status and text for the provider.
pub(crate) type Answer = (StatusCode, String);

/// Reads a request and has the Applications refreshed that it concerns, after it is answered.
pub(crate) fn receive(
    server: &Arc<ApiServer>,
    method: &Method,
    headers: &HeaderMap,
    body: &[u8],
) -> Answer {
    let settings = server.settings.current();
    let secrets = &settings.webhooks;
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    match event::read(method == Method::POST, &header, body, secrets) {
        Ok(event) => {
            server.metrics.webhook(true);
            let server = Arc::clone(server);
            tokio::spawn(async move {
                let concerned = concerned(&server, &event).await;
                refresh_all(&server, concerned).await;
            });
            (StatusCode::OK, String::new())
        }
        Err(refused) => {
            server.metrics.webhook(false);
            tracing::info!(why = ?refused, "refused a webhook");
            answer(refused, secrets.max_payload)
        }
    }
}

fn answer(refused: Refused, max_payload: u64) -> Answer {
    match refused {
        Refused::UnknownProvider => (StatusCode::BAD_REQUEST, "Unknown webhook event\n".into()),
        Refused::Method => (StatusCode::METHOD_NOT_ALLOWED, "Webhook processing failed\n".into()),
        Refused::Corrupt => {
            let limit = max_payload >> 20;
            let told = "Webhook processing failed: payload must be valid JSON under";
            (StatusCode::BAD_REQUEST, format!("{told} {limit} MB\n"))
        }
        Refused::Registry => (StatusCode::UNAUTHORIZED, "Unauthorized\n".into()),
        Refused::Secret | Refused::Event | Refused::Incomplete => {
            (StatusCode::BAD_REQUEST, "Webhook processing failed\n".into())
        }
    }
}

async fn concerned(server: &ApiServer, event: &Event) -> Vec<(AppKey, Refresh)> {
    let apps = server.apps.all();
    match event {
        Event::Push(push) => {
            let touched = |question: Question, paths: Vec<Vec<String>>| {
                async move {
                    let (source, sources) = (question.source(), &server.ports.sources);
                    let Question { project, since, .. } = &question;
                    let touched = sources.touched(&source, project, since, &paths);
                    let touched = tokio::time::timeout(PATIENCE, touched).await.ok().flatten()?;
                    let touched = paths.into_iter().zip(touched).filter(|it| it.1);
                    Some(touched.map(|it| it.0).collect())
                }
                .boxed()
            };
            pushed::concerned(&apps, push, &touched).await
        }
        Event::Published(published) => apps
            .iter()
            .filter_map(|app| Some((app.key(), refresh_after_publishing(app, published)?)))
            .collect(),
        Event::Nothing => Vec::new(),
    }
}

/// Past the threshold each waits for a while of its own: a thousand renders at once help nobody.
async fn refresh_all(server: &ApiServer, concerned: Vec<(AppKey, Refresh)>) {
    let webhooks = server.settings.current().webhooks.clone();
    let threshold = usize::try_from(webhooks.jitter_threshold).unwrap_or(usize::MAX);
    let count = concerned.len();
    let refreshes = concerned.into_iter().enumerate().map(|(number, (key, refresh))| {
        let share = if number < threshold { 0.0 } else { server.options.random.next() };
        refresh_one(server, key, refresh, webhooks.jitter.mul_f64(share))
    });
    futures::future::join_all(refreshes).await;
    if count > 0 {
        tracing::info!(applications = count, "refreshed after a webhook");
    }
}

async fn refresh_one(server: &ApiServer, key: AppKey, refresh: Refresh, wait: Duration) {
    tokio::time::sleep(wait).await;
    let mut annotations = json!({ api::names::ANNOTATION_REFRESH: "normal" });
    if refresh == Refresh::AndHydrate {
        annotations[api::names::ANNOTATION_HYDRATE] = "normal".into();
    }
    let patch = json!({ "metadata": { "annotations": annotations } });
    let store = server.store.at(&key.namespace);
    if let Err(error) = store.merge::<Application>(&APPLICATIONS, &key.name, &patch).await {
        tracing::warn!(app = %key, error = %error.in_one_line(), "could not ask for a refresh");
    }
}
