//! Clock and randomness for charts that use them.

use std::time::{SystemTime, UNIX_EPOCH};

use render::Facts;
use rustls::crypto::SecureRandom;

/// Those of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TheseFacts;

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
}
