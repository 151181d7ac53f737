//! Handles the signal that ends a program that uses several runtimes in sequence.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use sinew_control::sys::signals;
use tokio::sync::Mutex;

/// The first signal that asks the program to end. A signal that arrives between two runtimes, or too late for the
/// first, is reported in the second.
#[derive(Clone)]
pub struct EndSignal {
    signals: Arc<Mutex<Pin<Box<dyn Future<Output = u8> + Send>>>>,
    heard: Arc<OnceLock<u8>>,
}

impl EndSignal {
    /// Starts to listen. Must be called inside a runtime.
    pub fn listen() -> EndSignal {
        EndSignal { signals: Arc::new(Mutex::new(Box::pin(signals()))), heard: Arc::default() }
    }

    /// Resolves like [`signals`], for every caller.
    pub async fn heard(&self) -> u8 {
        let mut signals = self.signals.lock().await;
        match self.heard.get() {
            Some(code) => *code,
            None => {
                let code = signals.as_mut().await;
                *self.heard.get_or_init(|| code)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_between_two_runtimes_is_reported_in_all_later_ones() {
        let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let first = runtime();
        let ending = first.block_on(async { EndSignal::listen() });
        // This task waits, and is dropped with the runtime.
        let waits = ending.clone();
        first.spawn(async move { waits.heard().await });
        first.shutdown_timeout(std::time::Duration::from_secs(60));
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
        assert_eq!(runtime().block_on(ending.heard()), 143);
        assert_eq!(runtime().block_on(ending.heard()), 143);
    }
}
