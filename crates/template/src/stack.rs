//! How much of the thread's stack a recursion has used.
//!
//! Templates nest without bound, and a thread that runs out of stack takes the process with it. The
//! distance between two local variables is a good enough measure to stop well before that.

/// The place where a recursion began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackBase(usize);

impl StackBase {
    /// Here.
    #[inline(never)]
    pub(crate) fn here() -> Self {
        Self(address())
    }

    /// Whether more than `bytes` of stack lie between the base and here.
    pub(crate) fn is_exceeded(self, bytes: usize) -> bool {
        self.0.abs_diff(address()) > bytes
    }
}

#[inline(always)]
fn address() -> usize {
    let marker = 0u8;
    std::ptr::from_ref(&marker) as usize
}
