//! The built-in tools: file, shell and web access for models.
//!
//! Each tool is one `Spec`: a name, a schema and a function. [`Host`] contains their shared state. User interfaces show
//! the `details` of a result; the model only sees the text.

mod access;
mod arguments;
mod ask;
mod bash;
pub mod child;
mod confinement;
mod console;
mod document;
mod edit;
mod editor;
mod fetch;
mod file_change;
mod file_patch;
mod find;
mod grep;
mod hashline;
mod host;
mod job;
mod line_patch;
mod ls;
mod notebook;
mod options;
mod pages;
mod patch_edit;
mod paths;
mod preview;
mod question;
mod read;
mod read_tracker;
mod save;
pub mod schema;
mod searches;
pub mod semantics;
mod settings;
mod shell;
mod shells;
mod snapshots;
mod spec;
mod tasks;
mod text_form;
mod todo;
pub mod tool;
mod truncate;
mod undo;
mod undo_log;
mod unicode_form;
#[cfg(any(test, not(unix)))]
mod windows_name;
mod write;
#[cfg(unix)]
mod write_target;
#[cfg(not(unix))]
#[path = "write_target_by_path.rs"]
mod write_target;

use std::sync::Arc;

pub use access::{Access, PathCheck, PathPolicy};
pub use bash::outside::OUTSIDE_PERMISSION;
pub use confinement::Confinement;
pub use console::Console;
pub use editor::Editor;
pub use file_change::FileChange;
pub use host::{Host, Instructions, Job, Notice, ResourceLookup};
pub use ls::list as folder_listing;
pub use options::HostOptions;
pub use paths::spelled;
pub use question::{Approval, ApprovalRequest, Ask, Choice, OpenQuestion, Question, Requester, RuleCheck, RuleScope};
pub use read::picture_block;
pub use searches::Searches;
use semantics::{Effects, Semantics, ToolKind};
pub use settings::{
    EditMode, EditSettings, FileGuard, GuardSettings, ImageSettings, InterceptorSettings, OutsideSandbox, Settings,
};
pub use shells::Shells;
use spec::{Builtin, Spec};
pub use tasks::{Phase, Status, Task};
use tool::Tool;

/// Returns the built-in tools in the order in which models see them, without those that the settings disable.
#[must_use]
pub fn builtin(host: &Arc<Host>) -> Vec<Arc<dyn Tool>> {
    SPECS
        .iter()
        .filter(|spec| (spec.offered)(&host.options))
        .map(|spec| Arc::new(Builtin { host: Arc::clone(host), spec }) as Arc<dyn Tool>)
        .collect()
}

/// Returns the meaning of the built-in tool `name`; [`Semantics::UNKNOWN`] for any other name.
#[must_use]
pub fn semantics_of(name: &str) -> &'static Semantics {
    if name == semantics::TASK_NAME {
        return &semantics::TASK;
    }
    SPECS.iter().find(|spec| spec.name == name).map_or(&Semantics::UNKNOWN, |spec| &spec.semantics)
}

/// Returns the names of the built-in tools of one kind.
pub fn names_of(kind: ToolKind) -> impl Iterator<Item = &'static str> {
    SPECS.iter().filter(move |spec| spec.semantics.kind == kind).map(|spec| spec.name)
}

/// Returns the built-in tool that a model means by `alias`; `None` if there is none.
#[must_use]
pub fn named_by_alias(alias: &str) -> Option<&'static str> {
    SPECS.iter().find(|spec| spec.semantics.aliases.contains(&alias)).map(|spec| spec.name)
}

/// Returns the built-in tool that a permission rule of another agent calls `name`; `None` if there is none.
#[must_use]
pub fn named_by_foreign_rule(name: &str) -> Option<&'static str> {
    SPECS.iter().find(|spec| spec.semantics.foreign_names.contains(&name)).map(|spec| spec.name)
}

/// Returns why a built-in tool is missing in some sessions, and what a model should do instead; `None` if it is a part of
/// every session.
#[must_use]
pub fn why_absent(name: &str) -> Option<&'static str> {
    (name == ask::SPEC.name).then_some(ask::NO_USER)
}

/// Returns the names of the tools whose deny and ask rules also apply to a tool with these effects: a file that may not
/// be read may not be searched, listed or edited, and a file that may not be written may not be edited.
#[must_use]
pub fn restricting_names(effects: Effects) -> Vec<&'static str> {
    let mut names = Vec::new();
    if effects.writes_files {
        names.extend([write::SPEC.name, edit::SPEC.name]);
    }
    if effects.reads_files || effects.lists_files {
        names.push(read::SPEC.name);
    }
    names
}

/// Returns the name of the tool whose allow rules also apply to a tool with these effects, because it can do at least
/// as much; `None` if there is none.
#[must_use]
pub fn allowing_name(effects: Effects) -> Option<&'static str> {
    match effects {
        Effects { writes_files: true, .. } => Some(write::SPEC.name),
        Effects { reads_files: true, .. } | Effects { lists_files: true, .. } => Some(read::SPEC.name),
        _ => None,
    }
}

/// Returns the names of all built-in tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    // All implementations of `edit` share a name, which is listed once.
    let others = [&raw const hashline::SPEC, &raw const patch_edit::SPEC];
    SPECS.iter().filter(move |spec| !others.iter().any(|other| std::ptr::eq(**spec, *other))).map(|spec| spec.name)
}

static SPECS: &[&Spec] = &[
    &read::SPEC,
    &write::SPEC,
    &edit::SPEC,
    &hashline::SPEC,
    &patch_edit::SPEC,
    &undo::SPEC,
    &bash::SPEC,
    &job::SPEC,
    &grep::SPEC,
    &find::SPEC,
    &ls::SPEC,
    &fetch::SPEC,
    &todo::SPEC,
    &ask::SPEC,
];
