//! A new token for one that ends soon, where the settings want that and the provider allows it.

use std::sync::{Arc, PoisonError};

use jiff::Timestamp;

use super::Sso;
use crate::ApiServer;
use crate::caller::Caller;

/// The new token. Of requests that come at once one renews; the others go on with what they have,
/// which is still good: a provider may take a refresh token that is shown twice for a stolen one.
pub(crate) async fn renewed(server: &Arc<ApiServer>, caller: &Caller) -> Option<String> {
    let settings = server.settings.current();
    let provider = server.sso.provider(&settings, &server.options.web).ok()?;
    let before = i64::try_from(provider.client().refresh_before.as_secs()).unwrap_or(i64::MAX);
    let now = Timestamp::now();
    let key = caller.session.clone()?;
    if caller.expires_at?.saturating_sub(now.as_second()) >= before {
        return None;
    }
    let turn = Turn::take(server, &key)?;
    let grant = server.sso.grant(&key).filter(|it| !it.refresh_token.is_empty())?;
    let lasts = i64::try_from(settings.session.lasts.as_secs()).unwrap_or(i64::MAX);
    if now.as_second() - grant.began >= lasts {
        return None;
    }
    // The old refresh token may be good no more, so whoever goes away takes nothing with them.
    let renewing = tokio::spawn(async move {
        let tokens = provider.refresh(&grant.refresh_token).await?;
        let verified = provider.verify_given(&tokens.id_token, now).await;
        turn.server.sso.update(&turn.key, |grant| {
            grant.access_token = tokens.access_token;
            if !tokens.refresh_token.is_empty() {
                grant.refresh_token = tokens.refresh_token;
            }
        });
        verified.map(|_| tokens.id_token)
    });
    match renewing.await.ok()? {
        Ok(token) => Some(token),
        Err(error) => {
            tracing::info!(error = %runtime::Chain(&error), "a login could not be renewed");
            None
        }
    }
}

/// The right to renew a login, for one at a time.
struct Turn {
    server: Arc<ApiServer>,
    key: String,
}

impl Turn {
    fn take(server: &Arc<ApiServer>, key: &str) -> Option<Self> {
        let is_free = renewing(&server.sso).insert(key.to_owned());
        is_free.then(|| Self { server: Arc::clone(server), key: key.to_owned() })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        renewing(&self.server.sso).remove(&self.key);
    }
}

fn renewing(sso: &Sso) -> std::sync::MutexGuard<'_, std::collections::BTreeSet<String>> {
    sso.renewing.lock().unwrap_or_else(PoisonError::into_inner)
}
