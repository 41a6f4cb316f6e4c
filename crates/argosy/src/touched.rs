//! Which Applications a push touches, asked of a repo server that only says whether any of
//! these paths changed.

use std::ops::Range;

use futures::future::BoxFuture;
use futures::{StreamExt as _, TryStreamExt as _, stream};

/// Past so many questions, whatever is still open counts as touched.
const MAX_QUESTIONS: usize = 256;
/// Questions on their way at the same time.
const AT_ONCE: usize = 8;
/// Argo CD's repo server says of everything it has not rendered itself that it changed, even of
/// this.
const NOWHERE: &str = ".argosy/nothing-is-ever-here";

/// Which of the lists are touched. Few are, mostly: they are found by asking about all, then about
/// halves of what is touched. None where the answers tell nothing.
pub(crate) async fn which<'a, E>(
    lists: &[Vec<String>],
    ask: &(dyn Fn(Vec<String>) -> BoxFuture<'a, Result<bool, E>> + Sync),
) -> Result<Option<Vec<bool>>, E> {
    let mut touched = vec![false; lists.len()];
    if lists.is_empty() || !ask(lists.concat()).await? {
        return Ok(Some(touched));
    }
    if ask(vec![NOWHERE.to_owned()]).await? {
        return Ok(None);
    }
    let mut asked = 2;
    let mut open: Vec<Range<usize>> = halves(0..lists.len());
    while !open.is_empty() {
        asked += open.len();
        if asked > MAX_QUESTIONS {
            open.into_iter().flatten().for_each(|it| touched[it] = true);
            break;
        }
        let answers: Vec<_> = open.iter().map(|it| ask(lists[it.clone()].concat())).collect();
        let answers: Vec<bool> = stream::iter(answers).buffered(AT_ONCE).try_collect().await?;
        let mut next = Vec::new();
        for (range, is_touched) in open.into_iter().zip(answers) {
            match range.len() {
                _ if !is_touched => {}
                1 => touched[range.start] = true,
                _ => next.extend(halves(range)),
            }
        }
        open = next;
    }
    Ok(Some(touched))
}

/// One alone stays whole.
fn halves(range: Range<usize>) -> Vec<Range<usize>> {
    let middle = range.start + range.len() / 2;
    let halves = [range.start..middle, middle..range.end];
    halves.into_iter().filter(|it| !it.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;

    use super::*;

    /// Which of this many lists are touched when these paths changed, and how often was asked?
    fn found(count: usize, changed: &[usize]) -> (Vec<usize>, usize) {
        let lists: Vec<Vec<String>> = (0..count).map(|it| vec![format!("app-{it}")]).collect();
        let changed: Vec<String> = changed.iter().map(|it| format!("app-{it}")).collect();
        let asked = AtomicUsize::new(0);
        let ask = |paths: Vec<String>| {
            asked.fetch_add(1, Ordering::Relaxed);
            ready(Ok::<_, ()>(paths.iter().any(|it| changed.contains(it)))).boxed()
        };
        let answers = futures::executor::block_on(which(&lists, &ask)).expect("no error");
        let answers = answers.expect("an answer that tells").into_iter().enumerate();
        (answers.filter(|it| it.1).map(|it| it.0).collect(), asked.into_inner())
    }

    #[test]
    fn those_that_are_touched_are_found_with_few_questions() {
        assert_eq!(found(0, &[]), (vec![], 0));
        assert_eq!(found(1, &[]), (vec![], 1));
        assert_eq!(found(1, &[0]), (vec![0], 3));
        assert_eq!(found(1000, &[]), (vec![], 1));
        assert_eq!(found(1000, &[999]), (vec![999], 22));
        assert_eq!(found(1000, &[0, 500, 501]).0, [0, 500, 501]);
        assert_eq!(found(7, &[0, 1, 2, 3, 4, 5, 6]).0, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn when_too_much_would_be_asked_the_rest_counts_as_touched() {
        let all: Vec<usize> = (0..1000).collect();
        let (touched, asked) = found(1000, &all);
        assert_eq!(touched, all);
        assert!(asked <= MAX_QUESTIONS, "{asked}");
    }

    #[test]
    fn who_says_that_everything_changed_tells_nothing() {
        let lists = [vec!["a".to_owned()]];
        for (answer, expect) in [(Ok(true), Ok(None)), (Err("broken"), Err("broken"))] {
            let ask = |_: Vec<String>| ready(answer).boxed();
            assert_eq!(futures::executor::block_on(which(&lists, &ask)), expect);
        }
    }
}
