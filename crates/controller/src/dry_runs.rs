//! What the API server would make of git's objects: asked once per state.
//!
//! An answer holds for one object of git and one state of the live object. Where
//! neither changed, it is not asked for again, except by a hard refresh: what
//! admission webhooks would say today is not seen before that.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cluster::{ApplyError, ApplyOptions, Cluster, Disposition, Validation};
use engine::Answers;
use futures::stream::{self, StreamExt as _};
use object::{Object, ResourceKey};

/// How many answers are remembered; past that, all are forgotten.
const KEPT_ANSWERS: usize = 4096;

/// Answers, by cluster and object.
#[derive(Default)]
pub(crate) struct DryRuns(Mutex<BTreeMap<(String, ResourceKey), DryRun>>);

struct DryRun {
    want: Object,
    live: State,
    answer: Object,
}

/// One state of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    uid: String,
    version: String,
}

/// What was asked, and whether asking again may help where there was no answer.
pub(crate) struct Asked {
    pub(crate) answers: Answers,
    pub(crate) may_pass: bool,
}

impl DryRuns {
    /// Asks what is not known yet; with `anew`, everything. `at_once` requests at a time.
    pub(crate) async fn ask(
        &self,
        cluster: &Cluster,
        questions: BTreeMap<ResourceKey, Object>,
        live: &BTreeMap<ResourceKey, Object>,
        anew: bool,
        at_once: usize,
    ) -> Asked {
        let server = cluster.client().server();
        let mut asked = Asked { answers: Answers::new(), may_pass: false };
        let mut unknown = Vec::new();
        for (key, want) in questions {
            let Some(live) = live.get(&key).map(State::of) else { continue };
            match self.kept(server, &key, &want, &live).filter(|_| !anew) {
                Some(answer) => drop(asked.answers.insert(key, Ok(answer))),
                None => unknown.push((key, want, live)),
            }
        }
        let mut answers = stream::iter(unknown)
            .map(|(key, want, live)| async move {
                let answer = dry_run(cluster, &want).await;
                (key, want, live, answer)
            })
            .buffer_unordered(at_once);
        while let Some((key, want, live, answer)) = answers.next().await {
            if let Ok(answer) = &answer {
                self.keep(server, &key, DryRun { want, live, answer: answer.clone() });
            }
            if let Err(error) = &answer {
                let next = error.disposition();
                asked.may_pass |=
                    matches!(next, Disposition::RetrySoon | Disposition::RetryAfter(_));
            }
            asked.answers.insert(key, answer.map_err(|error| error.in_one_line()));
        }
        asked
    }

    fn kept(&self, server: &str, key: &ResourceKey, want: &Object, live: &State) -> Option<Object> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.get(&(server.to_owned(), key.clone()))?;
        (known.live == *live && known.want == *want).then(|| known.answer.clone())
    }

    fn keep(&self, server: &str, key: &ResourceKey, answered: DryRun) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_ANSWERS {
            kept.clear();
        }
        kept.insert((server.to_owned(), key.clone()), answered);
    }
}

impl State {
    fn of(live: &Object) -> Self {
        let text = |field| live.text(&["metadata", field]).unwrap_or_default().to_owned();
        Self { uid: text("uid"), version: text("resourceVersion") }
    }
}

async fn dry_run(cluster: &Cluster, want: &Object) -> Result<Object, ApplyError> {
    let options = ApplyOptions {
        dry_run: true,
        // The sync itself will complain about fields that the server does not know.
        validation: Validation::Ignore,
        ..ApplyOptions::default()
    };
    cluster.apply(want, &options).await.map(|applied| applied.object)
}
