//! A world in which nothing moves, for tests and for renders that must repeat exactly.

use crate::call::Facts;

/// The clock stands at the epoch and every random byte is zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Still;

impl Facts for Still {
    fn now(&self) -> i128 {
        0
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
}
