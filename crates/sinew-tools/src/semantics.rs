//! Describes tools: what a call acts on, what it can change, and how it is shown.
//!
//! Permissions, plan mode, compaction, user interfaces, protocols and exports use these descriptions instead of tool
//! names, so that only a tool's own module contains its properties.

use serde_json::Value;

/// The description of a tool's calls.
#[derive(Debug, Clone, Copy)]
pub struct Semantics {
    /// The kind of work, which determines grouping and icons.
    pub kind: ToolKind,
    /// The effects that a call can have on the machine.
    pub effects: Effects,
    /// The most informative argument of a call; empty if there is none.
    pub headline: &'static str,
    /// Returns the subjects of a call. Its arguments may still be streaming, so any JSON is possible.
    pub subjects: fn(&Value) -> Vec<Subject>,
    /// Returns a one-line summary of what a call acts on; `None` if its arguments contain nothing useful.
    pub title: fn(&Value) -> Option<String>,
    /// Returns the file changes that a call proposes, as written in its arguments.
    pub changes: fn(&Value) -> Vec<ProposedChange>,
    /// The arguments that [`Semantics::changes`] reads.
    pub change_arguments: &'static [&'static str],
    /// How calls and their results are shown.
    pub presentation: Presentation,
    /// True if its path can be an address: `artifact://`, `skill://`, `rule://`, `mcp://`.
    pub opens_addresses: bool,
    /// Other names that models use for it.
    pub aliases: &'static [&'static str],
    /// Names of the tool in the permission rules of other agents.
    pub foreign_names: &'static [&'static str],
}

/// The kind of work of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Shows files or directories.
    Read,
    /// Changes files.
    Edit,
    /// Finds files, text or tools.
    Search,
    /// Runs programs.
    Execute,
    /// Fetches something from the network.
    Fetch,
    /// Manages the task list.
    Plan,
    /// Starts another agent.
    Agent,
    /// Asks the user.
    Ask,
    /// Anything else.
    Other,
}

/// The effects that a call can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effects {
    /// Shows the content of files.
    pub reads_files: bool,
    /// Shows the names and sizes of files.
    pub lists_files: bool,
    /// Creates, changes or deletes files.
    pub writes_files: bool,
    /// Starts or terminates programs, which can have any effect.
    pub runs_programs: bool,
    /// Connects to other machines.
    pub network: bool,
    /// Has unknown effects: a tool of a server or of a host program.
    pub unknown: bool,
}

impl Effects {
    /// No effects except the result.
    pub const NONE: Effects = Effects {
        reads_files: false,
        lists_files: false,
        writes_files: false,
        runs_programs: false,
        network: false,
        unknown: false,
    };

    /// Returns true if a call changes no files and starts no programs, so that it may run in plan mode.
    #[must_use]
    pub const fn changes_nothing(self) -> bool {
        !self.writes_files && !self.runs_programs && !self.unknown
    }
}

/// A subject of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A file or directory, as written in the call.
    Path {
        /// The text of the path.
        path: String,
        /// The line that the call refers to, from 1; `None` without one.
        line: Option<u64>,
    },
    /// Another path that a text may mean: `a.rs` for `a.rs:10-20`. Permission rules check it too, but it is not shown.
    OtherPath(String),
    /// A bash command.
    Command {
        /// The command line.
        command: String,
        /// The working directory of the call; `None` for that of the session.
        cwd: Option<String>,
        /// The environment variables of the call.
        env: Vec<(String, String)>,
    },
    /// An address.
    Url(String),
}

/// A file change that a call proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposedChange {
    /// The complete new content of the file.
    Content(String),
    /// A replacement of one text by another.
    Replacement {
        /// The old text.
        old: String,
        /// The new text.
        new: String,
    },
    /// A patch in the tool's own format.
    Patch(String),
    /// Arguments that do not match the schema of the tool.
    Malformed(Value),
}

/// How the calls of a tool are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presentation {
    /// The verb of a sentence about a call, in the third person (`Runs`); empty for `Calls <name>`.
    pub verb: &'static str,
    /// How a result is shown.
    pub output: OutputView,
}

/// How the result of a call is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputView {
    /// The last lines.
    Tail,
    /// The last lines of a program's terminal output.
    Terminal,
    /// One row, shared with adjacent calls of the same tool.
    Row {
        /// The noun for several calls: `files`.
        plural: &'static str,
    },
    /// A diff of the changed files.
    Diff,
}

/// The name of the tool that starts other agents. Programs add it themselves, because they run the agents.
pub const TASK_NAME: &str = "task";

/// The description of that tool. Its effects are those of the programs that its agents run; every call of an agent is
/// checked separately.
pub static TASK: Semantics = Semantics {
    kind: ToolKind::Agent,
    effects: Effects { runs_programs: true, ..Effects::NONE },
    headline: "agent",
    subjects: |_| Vec::new(),
    title: task_title,
    presentation: Presentation { verb: "Starts", ..Semantics::UNKNOWN.presentation },
    ..Semantics::UNKNOWN
};

/// Returns the agent and the tasks of its children, as far as the arguments are known.
fn task_title(arguments: &Value) -> Option<String> {
    let agent = arguments.get("agent")?.as_str()?;
    let tasks = arguments.get("tasks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |task: &Value, key: &str| task.get(key).and_then(Value::as_str).map(str::to_string);
    let described = |task| text(task, "description").or_else(|| text(task, "id")).or_else(|| text(task, "assignment"));
    match tasks {
        [] => Some(agent.to_string()),
        [task] => Some(described(task).map_or_else(|| agent.to_string(), |task| format!("{agent}: {task}"))),
        tasks => Some(format!("{agent}: {} tasks", tasks.len())),
    }
}

impl Semantics {
    /// The description of an unknown tool.
    pub const UNKNOWN: Semantics = Semantics {
        kind: ToolKind::Other,
        effects: Effects { unknown: true, ..Effects::NONE },
        headline: "",
        subjects: paths,
        title: first_named,
        changes: |_| Vec::new(),
        change_arguments: &[],
        presentation: Presentation { verb: "", output: OutputView::Tail },
        opens_addresses: false,
        aliases: &[],
        foreign_names: &[],
    };

    /// Returns true if a call shows the unmodified content of a file.
    #[must_use]
    pub fn shows_content(&self) -> bool {
        self.kind == ToolKind::Read && self.effects.reads_files
    }

    /// Returns the verb of a sentence about a call of the tool `name`.
    #[must_use]
    pub fn verb(&self, name: &str) -> String {
        match self.presentation.verb {
            "" => format!("Calls {name}"),
            verb => verb.to_string(),
        }
    }

    /// Returns the displayed files of a call.
    #[must_use]
    pub fn files(&self, arguments: &Value) -> Vec<String> {
        let subjects = (self.subjects)(arguments).into_iter();
        subjects
            .filter_map(|subject| if let Subject::Path { path, .. } = subject { Some(path) } else { None })
            .collect()
    }
}

/// Returns the text of an argument; `None` if it is missing or empty.
pub(crate) fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Returns the paths of a call from the argument `path`.
pub(crate) fn paths(arguments: &Value) -> Vec<Subject> {
    let path = |text: &str| Subject::Path { path: text.to_string(), line: None };
    match arguments.get("path") {
        Some(Value::String(text)) if !text.is_empty() => vec![path(text)],
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).filter(|text| !text.is_empty()).map(path).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the paths of a search: its root, by default the session's directory, and the path that `pattern` leads to.
pub(crate) fn searched(arguments: &Value, pattern: &str) -> Vec<Subject> {
    let mut found = paths(arguments);
    if found.is_empty() {
        found.push(Subject::OtherPath(".".into()));
    }
    let Some(pattern) = text(arguments, pattern) else { return found };
    // Both separators are used on Windows.
    let pattern = if cfg!(windows) { pattern.replace('\\', "/") } else { pattern.to_string() };
    let plain: Vec<&str> = pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
    let folder = plain.join("/");
    if pattern.starts_with(['/', '~']) || std::path::Path::new(&pattern).is_absolute() {
        found.push(Subject::OtherPath(if folder.is_empty() { "/".into() } else { folder }));
    } else if !folder.is_empty() {
        let below = |subject: &Subject| match subject {
            Subject::Path { path, .. } | Subject::OtherPath(path) => {
                Some(Subject::OtherPath(format!("{}/{folder}", path.trim_end_matches('/'))))
            }
            _ => None,
        };
        let below: Vec<Subject> = found.iter().filter_map(below).collect();
        found.extend(below);
    }
    found
}

/// Returns the first of the arguments that usually describe a call; for a search also its directory.
pub(crate) fn first_named(arguments: &Value) -> Option<String> {
    let named = ["command", "pattern", "path", "url", "query", "title", "plan"]
        .into_iter()
        .find_map(|key| text(arguments, key));
    match (named, text(arguments, "path"), arguments) {
        (Some(pattern), Some(path), _) if pattern != path => Some(format!("{pattern} in {path}")),
        (Some(named), ..) => Some(named.to_string()),
        (None, _, Value::String(text)) if !text.is_empty() => Some(text.clone()),
        _ => None,
    }
}

/// Returns the combined unified diff of all changes in the details of a result; `None` if there is none.
#[must_use]
pub fn diff_of(details: Option<&Value>) -> Option<String> {
    let details = details?;
    let one = |value: &Value| value.get("diff").and_then(Value::as_str).map(str::to_string);
    let several = || details.get("files")?.as_array().map(|files| files.iter().filter_map(one).collect::<String>());
    one(details).or_else(several).filter(|diff| !diff.is_empty())
}

/// Returns the first changed line of each changed file in a result; `None` for a file whose line is unknown.
#[must_use]
pub fn changed_lines(details: Option<&Value>) -> Vec<Option<u64>> {
    let line = |value: &Value| value.get("firstChangedLine").and_then(Value::as_u64);
    match details.and_then(|details| details.get("files")).and_then(Value::as_array) {
        Some(files) => files.iter().map(line).collect(),
        None => vec![details.and_then(line)],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::semantics_of;

    /// Compares the paths that rules check, with hidden ones in brackets; then the title.
    #[track_caller]
    fn check(tool: &str, arguments: Value, paths: &[&str], title: Option<&str>) {
        let semantics = semantics_of(tool);
        let named = (semantics.subjects)(&arguments).into_iter().map(|subject| match subject {
            Subject::Path { path, line: None } => path,
            Subject::Path { path, line: Some(line) } => format!("{path} line {line}"),
            Subject::OtherPath(path) => format!("({path})"),
            Subject::Command { command, cwd, env } => format!("$ {command} {cwd:?} {env:?}"),
            Subject::Url(url) => url,
        });
        assert_eq!(named.collect::<Vec<_>>(), paths, "{tool} {arguments}");
        assert_eq!((semantics.title)(&arguments).as_deref(), title, "{tool} {arguments}");
    }

    #[test]
    fn calls_report_the_files_that_they_act_on() {
        check("read", json!({"path": "a.rs"}), &["a.rs"], Some("a.rs"));
        check("read", json!({"path": "a.rs:3-5"}), &["a.rs line 3", "(a.rs:3-5)"], Some("a.rs:3-5"));
        check("read", json!({"path": "a.rs", "offset": 3, "limit": 2}), &["a.rs line 3"], Some("a.rs:3-4"));
        check("write", json!({"path": "a", "content": "b"}), &["a"], Some("a"));
        check("edit", json!({"path": "a", "oldText": "b", "newText": "c"}), &["a"], Some("a"));
        let patch = "@a#0123abcd\nreplace 1..1\n|@b#new\n@c d#new\ninsert start\n|x";
        check("edit", json!({"input": patch}), &["a", "c d"], Some("a, c d"));
        let patch =
            "*** Begin Patch\n*** Update File: a\n*** Move to: @b\n@@\n-x\n+y\n*** Delete File: c\n*** End Patch";
        check("edit", json!({"patch": patch}), &["a", "./@b", "c"], Some("a, ./@b, c"));
        check("edit", json!({"patch": "*** Begin Patch\n*** Add File: a b\n+"}), &["a b"], Some("a b"));
        let diff = "--- src/a\n+++ src/a\n@@ -1 +1 @@\n-x\n+y\n";
        check("edit", json!({"patch": diff}), &["a", "(src/a)"], Some("a"));
        check("undo_edit", json!({"path": "a"}), &["a"], Some("a"));
        check("grep", json!({"pattern": "x"}), &["(.)"], Some("x"));
        check("grep", json!({"pattern": "x", "path": "a, b"}), &["a, b", "(a)", "(b)"], Some("x in a, b"));
        check(
            "grep",
            json!({"pattern": "x", "path": ["a", "b"], "glob": "c/*"}),
            &["a", "b", "(a/c)", "(b/c)"],
            Some("x"),
        );
        check("find", json!({"pattern": "src/**", "path": "a/"}), &["a/", "(a/src)"], Some("src/** in a/"));
        check("find", json!({"pattern": "/etc/*"}), &["(.)", "(/etc)"], Some("/etc/*"));
        check("ls", json!({}), &["(.)"], None);
        let command = json!({"command": "ls", "cwd": "a", "env": {"B": "c"}});
        check("bash", command, &["$ ls Some(\"a\") [(\"B\", \"c\")]"], Some("ls"));
        check("fetch", json!({"url": "http://a/"}), &["http://a/"], Some("http://a/"));
        check("todo", json!({"ops": []}), &[], None);
        check("mcp_a_b", json!({"path": "a", "query": "b"}), &["a"], Some("a"));
    }

    #[test]
    fn arguments_of_any_shape_are_accepted() {
        for tool in crate::names().chain(["mcp_a_b"]) {
            let semantics = semantics_of(tool);
            for odd in
                [json!(null), json!([1]), json!("x"), json!({"path": {}, "command": [], "edits": 1, "input": "@"})]
            {
                let _ = ((semantics.subjects)(&odd), (semantics.title)(&odd), (semantics.changes)(&odd));
            }
        }
    }

    #[test]
    fn read_and_write_rules_restrict_every_tool_that_reads_or_writes() {
        let restricted = |name: &str| crate::restricting_names(semantics_of(name).effects);
        assert_eq!(restricted("edit"), ["write", "edit", "read"]);
        assert_eq!(restricted("undo_edit"), ["write", "edit", "read"]);
        assert_eq!(restricted("write"), ["write", "edit"]);
        for tool in ["read", "grep", "find", "ls"] {
            assert_eq!(restricted(tool), ["read"], "{tool}");
        }
        for tool in ["bash", "job", "fetch", "todo", "ask", "mcp_a_b"] {
            assert!(restricted(tool).is_empty(), "{tool}");
            assert_eq!(crate::allowing_name(semantics_of(tool).effects), None, "{tool}");
        }
        assert_eq!(crate::allowing_name(semantics_of("undo_edit").effects), Some("write"));
        assert_eq!(crate::allowing_name(semantics_of("ls").effects), Some("read"));
    }

    #[test]
    fn plan_mode_offers_only_read_only_tools() {
        let names = crate::names().filter(|name| semantics_of(name).effects.changes_nothing());
        assert_eq!(names.collect::<Vec<_>>(), ["read", "grep", "find", "ls", "fetch", "todo", "ask"]);
    }
}
