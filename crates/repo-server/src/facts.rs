//! Clock and randomness for charts that use them, and whether time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use render::Facts;
use rustls::crypto::SecureRandom;

/// Those of this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct TheseFacts {
    /// Raised when nobody waits for the render any more.
    pub(crate) over: Arc<AtomicBool>,
}

impl Facts for TheseFacts {
    fn now(&self) -> i128 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i128::try_from(since.as_nanos()).unwrap_or_default()
    }

    fn random(&self, buffer: &mut [u8]) {
        let provider = rustls::crypto::ring::default_provider();
        let random: &dyn SecureRandom = provider.secure_random;
        random.fill(buffer).expect("the operating system has randomness");
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}
