//! Isolated views: a call that works in a copy of a directory is also judged as if it worked in the directory itself, so
//! that rules about the directory hold in the copy. The stricter answer counts.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use sinew_llm::message::ToolCall;
use sinew_tools::PathCheck;

/// The copies in which agents work.
#[derive(Debug, Default)]
pub struct Views(Mutex<Vec<View>>);

/// A copy of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    path: PathBuf,
    root: PathBuf,
}

impl Views {
    /// Adds the copy `path` of the directory `root`.
    pub fn add(&self, path: &Path, root: &Path) {
        self.0.lock().push(View { path: path.to_path_buf(), root: root.to_path_buf() });
    }

    /// Removes a copy.
    pub fn remove(&self, path: &Path) {
        self.0.lock().retain(|view| view.path != path);
    }

    /// Returns the copies that contain a directory, from the innermost: that of the directory, that of its original in
    /// another copy, and so on.
    pub(super) fn around(&self, cwd: &Path) -> Vec<View> {
        let views = self.0.lock();
        let mut found: Vec<View> = Vec::new();
        let mut at = cwd.to_path_buf();
        while let Some(view) =
            views.iter().filter(|view| at.starts_with(&view.path)).max_by_key(|view| view.path.as_os_str().len())
        {
            if found.contains(view) {
                break;
            }
            at = view.original(&at);
            found.push(view.clone());
        }
        found
    }
}

impl View {
    /// Returns the path in the directory that a path in the copy stands for; another path is returned as it is.
    pub(super) fn original(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.path).map_or_else(|_| path.to_path_buf(), |rest| self.root.join(rest))
    }

    /// Returns the call with the paths of the directory in the place of those of the copy.
    pub(super) fn original_call(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        replace(&mut call.arguments, &self.path.to_string_lossy(), &self.root.to_string_lossy());
        call
    }
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, from, to)),
        _ => {}
    }
}

/// The checks of files in a copy: that of the copy, and those of its originals.
pub(super) struct ViewCheck {
    pub(super) own: Option<Arc<dyn PathCheck>>,
    pub(super) originals: Vec<(View, Arc<dyn PathCheck>)>,
}

impl PathCheck for ViewCheck {
    fn check(&self, path: &Path, facts: Option<&Metadata>) -> Result<(), String> {
        if let Some(own) = &self.own {
            own.check(path, facts)?;
        }
        let mut at = path.to_path_buf();
        for (view, check) in &self.originals {
            at = view.original(&at);
            check.check(&at, facts)?;
        }
        Ok(())
    }
}
