//! What the API server would make of git's objects: asked once per state.
//!
//! An answer holds for one object of git and one state of the live object. Where
//! neither changed, it is not asked for again, except by a hard refresh: what
//! admission webhooks would say today is not seen before that.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cluster::{ApplyError, ApplyOptions, Cluster, Disposition, Validation};
use engine::Answers;
use futures::FutureExt as _;
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

/// One thing to ask the API server.
#[derive(Debug)]
struct Question {
    key: ResourceKey,
    want: Object,
    live: State,
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
        let (answers, open) = self.divide(server, questions, live, anew);
        let mut asked = Asked { answers, may_pass: false };
        let mut answers = stream::iter(open)
            .map(|question| {
                async move {
                    let answer = dry_run(cluster, &question.want).await;
                    (question, answer)
                }
                .boxed()
            })
            .buffer_unordered(at_once);
        while let Some((question, answer)) = answers.next().await {
            let key = question.key.clone();
            if let Ok(answer) = &answer {
                self.keep(server, question, answer.clone());
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

    /// What is known already, and what is to be asked. What is not live is not
    /// asked about: it would be created, and that needs no answer.
    fn divide(
        &self,
        server: &str,
        questions: BTreeMap<ResourceKey, Object>,
        live: &BTreeMap<ResourceKey, Object>,
        anew: bool,
    ) -> (Answers, Vec<Question>) {
        let (mut answers, mut open) = (Answers::new(), Vec::new());
        for (key, want) in questions {
            let Some(live) = live.get(&key).map(State::of) else { continue };
            match self.kept(server, &key, &want, &live).filter(|_| !anew) {
                Some(answer) => drop(answers.insert(key, Ok(answer))),
                None => open.push(Question { key, want, live }),
            }
        }
        (answers, open)
    }

    fn kept(&self, server: &str, key: &ResourceKey, want: &Object, live: &State) -> Option<Object> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.get(&(server.to_owned(), key.clone()))?;
        (known.live == *live && known.want == *want).then(|| known.answer.clone())
    }

    fn keep(&self, server: &str, question: Question, answer: Object) {
        let Question { key, want, live } = question;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_ANSWERS {
            kept.clear();
        }
        kept.insert((server.to_owned(), key), DryRun { want, live, answer });
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SERVER: &str = "https://one.example";

    fn object(name: &str, data: &str, version: &str, uid: &str) -> Object {
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": data},
            "metadata": {"name": name, "namespace": "n", "resourceVersion": version, "uid": uid}});
        Object::from_value(value).expect("an object")
    }

    fn by_key(objects: impl IntoIterator<Item = Object>) -> BTreeMap<ResourceKey, Object> {
        objects.into_iter().map(|it| (it.key(), it)).collect()
    }

    /// Answers every open question; an answer is what git wants.
    fn answer_all(dry_runs: &DryRuns, want: &Object, live: &Object) {
        let sides = (by_key([want.clone()]), by_key([live.clone()]));
        for question in dry_runs.divide(SERVER, sides.0, &sides.1, false).1 {
            let answer = question.want.clone();
            dry_runs.keep(SERVER, question, answer);
        }
    }

    /// After git's `want` was asked about with `live` in the cluster: is the next
    /// question asked of the server?
    #[track_caller]
    fn check(server: &str, want: &Object, live: &Object, anew: bool, is_asked: bool) {
        let dry_runs = DryRuns::default();
        answer_all(&dry_runs, &object("m", "git", "", ""), &object("m", "live", "7", "u"));
        let sides = (by_key([want.clone()]), by_key([live.clone()]));
        let (answers, open) = dry_runs.divide(server, sides.0, &sides.1, anew);
        assert_eq!((answers.len(), open.len()), if is_asked { (0, 1) } else { (1, 0) });
    }

    #[test]
    fn an_answer_holds_while_both_sides_are_the_same() {
        let (want, live) = (object("m", "git", "", ""), object("m", "live", "7", "u"));
        check(SERVER, &want, &live, false, false);
    }

    #[test]
    fn another_state_of_either_side_is_asked_about() {
        let (want, live) = (object("m", "git", "", ""), object("m", "live", "7", "u"));
        check(SERVER, &object("m", "other", "", ""), &live, false, true);
        check(SERVER, &want, &object("m", "live", "8", "u"), false, true);
        check(SERVER, &want, &object("m", "live", "7", "made anew"), false, true);
    }

    #[test]
    fn one_cluster_does_not_answer_for_another_and_a_hard_refresh_trusts_nothing() {
        let (want, live) = (object("m", "git", "", ""), object("m", "live", "7", "u"));
        check("https://two.example", &want, &live, false, true);
        check(SERVER, &want, &live, true, true);
    }

    #[test]
    fn what_is_not_live_is_not_asked_about() {
        let want = by_key([object("m", "git", "", "")]);
        let (answers, open) = DryRuns::default().divide(SERVER, want, &BTreeMap::new(), false);
        assert!(answers.is_empty() && open.is_empty(), "{open:?}");
    }

    #[test]
    fn answers_are_bounded_in_number() {
        let dry_runs = DryRuns::default();
        for number in 0..=KEPT_ANSWERS {
            let name = format!("m{number}");
            answer_all(&dry_runs, &object(&name, "git", "", ""), &object(&name, "live", "7", "u"));
        }
        assert_eq!(dry_runs.0.lock().expect("nobody panicked").len(), 1);
    }
}
