//! Blocking work on a bounded number of threads, with a deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

/// A bounded number of threads for blocking work.
#[derive(Clone, Debug)]
pub(crate) struct BlockingPool {
    permits: Arc<Semaphore>,
}

/// Why blocking work has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// The deadline passed, waiting for a thread included.
    TimedOut,
    /// The work panicked.
    Panicked,
}

impl BlockingPool {
    pub(crate) fn new(threads: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(threads.max(1))) }
    }

    /// Runs `work` on a thread. When the deadline passes, or nobody waits any
    /// longer, the flag it was given is raised; its thread is free for others
    /// once it has noticed.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        deadline: Duration,
        work: impl FnOnce(&Arc<AtomicBool>) -> T + Send + 'static,
    ) -> Result<T, Interrupted> {
        let cancel = RaiseOnDrop(Arc::new(AtomicBool::new(false)));
        let flag = Arc::clone(&cancel.0);
        let run = async {
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            let permit = permit.expect("the semaphore is never closed");
            tokio::task::spawn_blocking(move || {
                let result = work(&flag);
                drop(permit);
                result
            })
            .await
        };
        match tokio::time::timeout(deadline, run).await {
            Err(_) => Err(Interrupted::TimedOut),
            Ok(Err(_)) => Err(Interrupted::Panicked),
            Ok(Ok(result)) => Ok(result),
        }
    }
}

/// Tells the thread that nobody waits for it any more.
struct RaiseOnDrop(Arc<AtomicBool>);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_outlives_its_deadline_is_told_to_stop() {
        let pool = BlockingPool::new(1);
        let (seen, stopped) = tokio::sync::oneshot::channel();
        let result = pool
            .run(Duration::from_millis(1), move |cancel| {
                while !cancel.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                seen.send(()).expect("the test waits for it");
            })
            .await;
        assert_eq!(result, Err(Interrupted::TimedOut));
        stopped.await.expect("the work saw the flag");
    }

    #[tokio::test]
    async fn a_panic_is_its_own_works_and_frees_the_thread() {
        let pool = BlockingPool::new(1);
        let long = Duration::from_secs(60);
        let crashed = pool.run(long, |_| panic!("a bug")).await;
        assert_eq!(crashed, Err::<(), _>(Interrupted::Panicked));
        assert_eq!(pool.run(long, |_| 7).await, Ok(7));
    }
}
