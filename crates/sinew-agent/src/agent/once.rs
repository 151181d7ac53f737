//! Things that are said or done once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// An act that happens once.
#[derive(Debug, Default)]
pub(super) struct OnceFlag(AtomicBool);

impl OnceFlag {
    /// Returns whether this is the first call.
    pub(super) fn is_first(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// A warning that the user gets once, however often its cause is found.
#[derive(Debug, Default)]
pub(super) struct OnceWarning {
    text: OnceLock<String>,
    told: OnceFlag,
}

impl OnceWarning {
    /// Sets the text; the first one stands for all.
    pub(super) fn raise(&self, text: String) {
        // A later text is dropped on purpose.
        let _ = self.text.set(text);
    }

    /// The text, for the first who takes it.
    pub(super) fn take(&self) -> Option<String> {
        self.text.get().filter(|_| self.told.is_first()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_first_once() {
        let flag = OnceFlag::default();
        assert_eq!([flag.is_first(), flag.is_first(), flag.is_first()], [true, false, false]);
    }

    #[test]
    fn a_warning_is_taken_once_and_keeps_its_first_text() {
        let warning = OnceWarning::default();
        assert_eq!(warning.take(), None);
        warning.raise("one".into());
        warning.raise("two".into());
        assert_eq!(warning.take().as_deref(), Some("one"));
        warning.raise("three".into());
        assert_eq!(warning.take(), None);
    }
}
