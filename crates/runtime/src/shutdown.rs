//! One signal that everything listens to: stop what you are doing, cleanly.

use tokio_util::sync::CancellationToken;

/// Cheap to clone; all clones stop together.
#[derive(Clone, Debug, Default)]
pub struct Shutdown(CancellationToken);

impl Shutdown {
    /// A shutdown that nobody has asked for yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A shutdown that Ctrl-C and SIGTERM ask for. A second Ctrl-C ends the
    /// process at once.
    ///
    /// # Errors
    /// When the process may not listen to signals.
    pub fn on_signals() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let shutdown = Self::new();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let asked = shutdown.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            asked.begin();
        });
        Ok(shutdown)
    }

    /// Asks everybody to stop.
    pub fn begin(&self) {
        self.0.cancel();
    }

    /// Has somebody asked?
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until somebody asks.
    pub async fn begun(&self) {
        self.0.cancelled().await;
    }

    /// Runs `work` until it ends or somebody asks to stop.
    pub async fn or_end<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.0.run_until_cancelled(work).await
    }
}
