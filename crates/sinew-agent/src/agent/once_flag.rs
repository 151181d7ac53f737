//! Flags and warnings that are used once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is set once.
#[derive(Debug, Default)]
pub(super) struct OnceFlag(AtomicBool);

impl OnceFlag {
    /// Returns whether this is the first call.
    pub(super) fn is_first(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// A warning that the user sees once, however often its cause occurs.
#[derive(Debug, Default)]
pub(super) struct OnceWarning {
    text: OnceLock<String>,
    told: OnceFlag,
}

impl OnceWarning {
    /// Sets the text; later texts are ignored.
    pub(super) fn raise(&self, text: String) {
        // Only the first text is kept.
        let _ = self.text.set(text);
    }

    /// Returns the text, on the first call only.
    pub(super) fn take(&self) -> Option<String> {
        self.text.get().filter(|_| self.told.is_first()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_call_of_a_flag_is_true() {
        let flag = OnceFlag::default();
        assert_eq!([flag.is_first(), flag.is_first(), flag.is_first()], [true, false, false]);
    }

    #[test]
    fn a_warning_is_returned_once_with_its_first_text() {
        let warning = OnceWarning::default();
        assert_eq!(warning.take(), None);
        warning.raise("one".into());
        warning.raise("two".into());
        assert_eq!(warning.take().as_deref(), Some("one"));
        warning.raise("three".into());
        assert_eq!(warning.take(), None);
    }
}
