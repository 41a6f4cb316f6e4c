//! Passwords and their hashes, worked on beside everything else.
//!
//! bcrypt takes a processor for a tenth of a second on purpose. That happens on
//! a few threads of their own, whose work waits for everybody else's: whoever
//! tries passwords slows down other logins, and no other request.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// What a new hash costs; as Argo CD's.
pub(crate) const COST: u32 = 10;
/// A tenth of a processor where all of them are busy, so that a login still comes to its end.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Work for one of the threads.
type Work = Box<dyn FnOnce() + Send>;

/// Threads that know about passwords. They end with this.
pub(crate) struct Passwords(Sender<Work>);

impl Passwords {
    /// Half of the processors are left to others altogether.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::on((processors / 2).max(1))
    }

    fn on(threads: usize) -> Self {
        let (sender, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..threads {
            let receiver = Arc::clone(&receiver);
            let thread = std::thread::Builder::new().name("passwords".into());
            if let Err(error) = thread.spawn(move || work(&receiver)) {
                tracing::error!(%error, "could not start a thread for passwords: logins may fail");
            }
        }
        Self(sender)
    }

    /// Is the hash one of this password?
    pub(crate) async fn is_hash_of(&self, password: String, hash: String) -> bool {
        let compare = move || bcrypt::verify(password, &hash).unwrap_or(false);
        self.done(compare).await.unwrap_or(false)
    }

    /// A hash of a new password.
    ///
    /// # Errors
    /// When the password cannot be hashed.
    pub(crate) async fn hash(&self, password: String) -> Result<String, String> {
        let hashed = self.done(move || bcrypt::hash(password, COST)).await;
        let hashed = hashed.ok_or("the threads for passwords are gone")?;
        hashed.map_err(|error| error.to_string())
    }

    /// Waits for the work; whoever stops to wait has it left undone.
    async fn done<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let work = move || {
            if !answer.is_closed() {
                answer.send(work()).ok();
            }
        };
        self.0.send(Box::new(work)).ok()?;
        answered.await.ok()
    }
}

fn work(works: &Mutex<Receiver<Work>>) {
    // A promise to others that need not be kept: without it logins are only less polite.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the threads for passwords are as important as others");
    }
    loop {
        let next = works.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(next) = next else { return };
        if catch_unwind(AssertUnwindSafe(next)).is_err() {
            tracing::error!("a password could not be looked at");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn a_hash_is_that_of_its_password_alone() {
        let passwords = Passwords::new();
        let hash = passwords.hash("secret".into()).await.expect("a hash");
        assert!(hash.starts_with("$2b$10$"));
        assert!(passwords.is_hash_of("secret".into(), hash.clone()).await);
        assert!(!passwords.is_hash_of("other".into(), hash).await);
        assert!(!passwords.is_hash_of("secret".into(), "no hash".into()).await);
    }

    #[tokio::test]
    async fn work_that_panics_is_nobody_elses() {
        let passwords = Passwords::new();
        assert_eq!(passwords.done(|| -> u8 { panic!("on purpose") }).await, None);
        assert_eq!(passwords.done(|| 7).await, Some(7));
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_left_undone() {
        let passwords = Passwords::on(1);
        let (release, released) = channel::<()>();
        let mut first = pin!(passwords.done(move || released.recv().is_ok()));
        assert!(poll!(first.as_mut()).is_pending());
        let is_done = Arc::new(AtomicBool::new(false));
        {
            let is_done = Arc::clone(&is_done);
            let given_up = passwords.done(move || is_done.store(true, Ordering::Relaxed));
            assert!(poll!(pin!(given_up)).is_pending());
        }
        release.send(()).expect("the thread waits for it");
        assert_eq!(first.await, Some(true));
        assert_eq!(passwords.done(|| 7).await, Some(7));
        assert!(!is_done.load(Ordering::Relaxed));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn other_threads_go_first() {
        let niceness = || rustix::process::getpriority_process(None).expect("a priority");
        let before = niceness();
        let passwords = Passwords::new();
        assert_eq!(passwords.done(niceness).await, Some(before.max(NICENESS)));
        assert_eq!(niceness(), before);
    }
}
