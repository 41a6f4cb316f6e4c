//! Clock and randomness for charts that use them, and whether a render is still wanted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use render::Facts;
use rustls::crypto::SecureRandom;

/// Those of this machine, as long as somebody waits for the render.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TheseFacts<'c> {
    /// Raised when the deadline has passed.
    pub(crate) cancel: &'c AtomicBool,
}

impl Facts for TheseFacts<'_> {
    fn is_over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn now(&self) -> i128 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i128::try_from(since.as_nanos()).unwrap_or_default()
    }

    fn random(&self, buffer: &mut [u8]) {
        let provider = rustls::crypto::ring::default_provider();
        let random: &dyn SecureRandom = provider.secure_random;
        random.fill(buffer).expect("the operating system has randomness");
    }
}
