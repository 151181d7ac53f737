//! The built-in tools: what a model can do to files, the shell and the web.
//!
//! Each tool is one `Spec`: a name, a schema and a function. What they share lives in [`Host`]; whoever draws a
//! call looks at the `details` of its output, the model sees only the text.

mod access;
mod arguments;
mod ask;
mod bash;
pub mod child;
mod console;
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
#[cfg(unix)]
mod place;
#[cfg(not(unix))]
#[path = "place_by_path.rs"]
mod place;
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
#[cfg(any(test, not(unix)))]
mod windows_name;
mod write;

use std::sync::Arc;

pub use access::{Access, PathCheck, PathPolicy};
pub use console::Console;
pub use editor::Editor;
pub use file_change::FileChange;
pub use host::{Host, Job, Notice, ResourceLookup};
pub use ls::list as folder_listing;
pub use options::HostOptions;
pub use paths::spelled;
pub use question::{Approval, ApprovalRequest, Ask, Choice, Question, RuleCheck, RuleScope};
pub use read::picture_block;
pub use searches::Searches;
use semantics::{Effects, Semantics, ToolKind};
pub use settings::{EditMode, EditSettings, FileGuard, GuardSettings, ImageSettings, InterceptorSettings, Settings};
pub use shells::Shells;
use spec::{Builtin, Spec};
pub use tasks::{Phase, Status, Task};
use tool::Tool;

/// The built-in tools in the order in which models see them. Those that the settings switch off are left out.
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
    SPECS.iter().find(|spec| spec.name == name).map_or(&Semantics::UNKNOWN, |spec| &spec.semantics)
}

/// Returns the names of the built-in tools of one kind.
pub fn names_of(kind: ToolKind) -> impl Iterator<Item = &'static str> {
    SPECS.iter().filter(move |spec| spec.semantics.kind == kind).map(|spec| spec.name)
}

/// Returns the built-in tool that a model means by `alias`.
#[must_use]
pub fn named_by_alias(alias: &str) -> Option<&'static str> {
    SPECS.iter().find(|spec| spec.semantics.aliases.contains(&alias)).map(|spec| spec.name)
}

/// Returns the built-in tool that a permission rule of another agent calls `name`.
#[must_use]
pub fn named_by_foreign_rule(name: &str) -> Option<&'static str> {
    SPECS.iter().find(|spec| spec.semantics.foreign_names.contains(&name)).map(|spec| spec.name)
}

/// Returns the names of tools whose rules also deny, or ask about, a tool with these effects: what may not be read may not
/// be searched, listed or edited, and what may not be written may not be edited.
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

/// Returns the name of the tool whose rules also allow a tool with these effects: the one that does at least as much.
#[must_use]
pub fn allowing_name(effects: Effects) -> Option<&'static str> {
    match effects {
        Effects { writes_files: true, .. } => Some(write::SPEC.name),
        Effects { reads_files: true, .. } | Effects { lists_files: true, .. } => Some(read::SPEC.name),
        _ => None,
    }
}

/// The names of all built-in tools, for a flag that lists some of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    // The ways to edit share a name; one of them counts.
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
