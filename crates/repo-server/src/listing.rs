//! What a repository says it has (listed, or an index of charts): asked once,
//! shared by everyone.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};

use crate::{FetchError, Freshness};

type Answer<T> = Result<Arc<T>, FetchError>;
type Flight<T> = Shared<BoxFuture<'static, Answer<T>>>;

/// The last answer, and the request under way.
pub(crate) struct Listing<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    last: Option<(Instant, Arc<T>)>,
    under_way: Option<(Instant, WeakShared<BoxFuture<'static, Answer<T>>>)>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State { last: None, under_way: None })))
    }
}

impl<T: Send + Sync + 'static> Listing<T> {
    /// An answer that is fresh enough: the last one, the one that is on its
    /// way, or a new one.
    pub(crate) async fn get(
        &self,
        freshness: Freshness,
        ask: impl FnOnce() -> BoxFuture<'static, Result<T, FetchError>>,
    ) -> Answer<T> {
        let now = Instant::now();
        let not_before = match freshness {
            Freshness::NotBefore(moment) => moment.min(now),
            Freshness::Latest => now,
        };
        let flight = {
            let mut state = self.0.lock().expect("nobody panics while looking up");
            match state.fresh_enough(not_before) {
                Some(Fresh::Answer(listed)) => return Ok(listed),
                Some(Fresh::Flight(flight)) => flight,
                None => {
                    let flight = self.start(now, ask());
                    state.under_way = flight.downgrade().map(|weak| (now, weak));
                    flight
                }
            }
        };
        flight.await
    }

    fn start(
        &self,
        asked: Instant,
        request: BoxFuture<'static, Result<T, FetchError>>,
    ) -> Flight<T> {
        let state = Arc::clone(&self.0);
        let remember = async move {
            let listed = Arc::new(request.await?);
            let mut state = state.lock().expect("nobody panics while looking up");
            // A request that was overtaken by a later one brings old news.
            if state.last.as_ref().is_none_or(|(last, _)| *last <= asked) {
                state.last = Some((asked, Arc::clone(&listed)));
            }
            Ok(listed)
        };
        remember.boxed().shared()
    }
}

enum Fresh<T> {
    Answer(Arc<T>),
    Flight(Flight<T>),
}

impl<T> State<T> {
    fn fresh_enough(&self, not_before: Instant) -> Option<Fresh<T>> {
        if let Some((asked, listed)) = &self.last
            && *asked >= not_before
        {
            return Some(Fresh::Answer(Arc::clone(listed)));
        }
        let (asked, flight) = self.under_way.as_ref()?;
        let flight = flight.upgrade()?;
        // A finished flight that left no answer has failed: ask again.
        (*asked >= not_before && flight.peek().is_none()).then_some(Fresh::Flight(flight))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::future::join_all;

    use super::*;
    use crate::RemoteRefs;

    /// Asks `listing` and counts the requests that reach the server.
    async fn ask(
        listing: &Listing<RemoteRefs>,
        freshness: Freshness,
        requests: &Arc<AtomicUsize>,
    ) -> Answer<RemoteRefs> {
        let requests = Arc::clone(requests);
        let request = move || {
            async move {
                requests.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                Ok(RemoteRefs::default())
            }
            .boxed()
        };
        listing.get(freshness, request).await
    }

    #[tokio::test]
    async fn everyone_of_one_poll_shares_one_request() {
        let (listing, requests) = (Listing::default(), Arc::default());
        let poll = Freshness::NotBefore(Instant::now());
        join_all((0..100).map(|_| ask(&listing, poll, &requests))).await;
        ask(&listing, poll, &requests).await.unwrap();
        assert_eq!(requests.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn an_answer_from_before_the_moment_is_not_fresh() {
        let (listing, requests) = (Listing::default(), Arc::default());
        let before = Instant::now();
        ask(&listing, Freshness::NotBefore(before), &requests).await.unwrap();
        let after = Freshness::NotBefore(Instant::now());
        ask(&listing, after, &requests).await.unwrap();
        ask(&listing, Freshness::Latest, &requests).await.unwrap();
        assert_eq!(requests.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_failure_is_shared_but_not_remembered() {
        let listing = Listing::<RemoteRefs>::default();
        let poll = Freshness::NotBefore(Instant::now());
        let fail = || {
            async {
                tokio::task::yield_now().await;
                let repo = crate::RepoUrl::new("https://example.com/repo");
                Err(FetchError::Timeout { doing: "listing", repo, limit: Duration::ZERO })
            }
            .boxed()
        };
        let (first, second) = tokio::join!(listing.get(poll, fail), listing.get(poll, || panic!()));
        assert!(first.is_err() && second.is_err());
        let requests = Arc::default();
        ask(&listing, poll, &requests).await.unwrap();
        assert_eq!(requests.load(Ordering::SeqCst), 1);
    }
}
