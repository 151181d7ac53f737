//! The configuration of the embedded interpreter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brush_core::extensions::{ErrorFormatter, ShellExtensionsImpl};
use brush_core::{ErrorKind, ShellExtensions};

pub(super) type BrushExtensions = ShellExtensionsImpl<Words>;

pub(super) type Shell = brush_core::Shell<BrushExtensions>;

/// Formats error messages like bash. Records whether the last one was about an expansion that ends a script.
#[derive(Clone, Default)]
pub(super) struct Words {
    pub(super) fatal: Arc<AtomicBool>,
}

impl ErrorFormatter for Words {
    fn format_error(&self, error: &brush_core::Error, _: &brush_core::Shell<impl ShellExtensions>) -> String {
        let fatal = matches!(error.kind(), ErrorKind::ExpandingUnsetVariable(_) | ErrorKind::CheckedExpansionError(_));
        self.fatal.store(fatal, Ordering::Relaxed);
        format!("bash: {error:#}\n")
    }
}
