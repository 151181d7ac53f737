//! `edit` by patches: a unified diff, or the `*** Begin Patch` form, for any number of files.

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::base::{CancelToken, ErrorCode};
use sinew::patch::{FileMode, FileName, FilePatch, Form, Operation, Patch, apply_to_text};

use super::settings::{EditMode, FileGuard};
use super::spec::{Outcome, PLAIN, Run, Spec};
use super::{Host, HostOptions, arguments, edit, paths, save, truncate};
use crate::document::Document;
use crate::file_change::FileChange;
use crate::file_patch::{ARGUMENT, spelled};
use crate::notebook;
use crate::read_tracker::FileState;
use crate::semantics::Semantics;
use crate::text_form::TextForm;
use crate::tool::{Call, Concurrency, ToolError, ToolFlags, ToolOutput};
use crate::unicode_form;

pub(super) static SPEC: Spec = Spec {
    name: "edit",
    description: "Change files with a patch: *** Begin Patch, then *** Add File: path, *** Update File: path (with \
                  *** Move to: path to rename it) or *** Delete File: path, then *** End Patch; or a unified diff. Paths \
                  are relative. All changes are made or none.",
    parameters,
    guidelines: &["In a patch copy context lines from the file as it is now, with just enough of them to be unique."],
    concurrency: Concurrency::Exclusive,
    flags: ToolFlags { non_abortable: true, ..PLAIN },
    semantics: Semantics { headline: ARGUMENT, ..edit::SEMANTICS },
    offered: |options| options.settings.edit.mode == EditMode::Patch,
    reject_early: None,
    preview: Some(preview),
    run: Run::Blocking(run),
};

fn parameters(_: &HostOptions) -> Value {
    let example = "*** Begin Patch\n*** Update File: a.txt\n@@\n context\n-old\n+new\n*** End Patch";
    json!({
        "type": "object",
        "properties": {"patch": {"type": "string", "description": example}},
        "required": ["patch"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    patch: String,
}

/// A file that the patch changes.
struct Draft {
    target: save::Target,
    name: String,
    /// The bytes after the changes so far; `None` if the file does not exist.
    content: Option<Vec<u8>>,
    executable: bool,
    notes: Vec<String>,
}

impl Draft {
    fn is_changed(&self) -> bool {
        self.content != self.target.content || self.executable
    }

    /// Returns the texts before and after the changes, as `read` shows them.
    fn texts(&self) -> [Vec<u8>; 2] {
        [&self.target.content, &self.content]
            .map(|content| Document::open(&self.target.path, content.as_deref().unwrap_or_default()).text().to_vec())
    }
}

/// The files of a patch, in the order of their first change.
struct Drafts<'a> {
    host: &'a Host,
    /// `None` in a preview, for which rules are not checked.
    call: Option<&'a Call>,
    form: Form,
    files: Vec<Draft>,
}

impl Drafts<'_> {
    /// Returns the file with this name, in its state after the changes so far.
    fn find(&mut self, name: &FileName, must_exist: bool) -> Result<usize, ToolError> {
        let at = self.open(&name.path)?;
        let Some(whole) = name.unstripped.as_ref().filter(|_| must_exist && self.files[at].content.is_none()) else {
            return Ok(at);
        };
        let other = self.open(whole)?;
        Ok(if self.files[other].content.is_some() { other } else { at })
    }

    fn open(&mut self, path: &[u8]) -> Result<usize, ToolError> {
        let text = spelled(path);
        if std::str::from_utf8(path).is_err() {
            return Err(ToolError::Failed(format!("Cannot write {text}: its name is not UTF-8. Use bash.")));
        }
        let host = self.host;
        let (path, cwd, id) = match self.call {
            Some(call) => (paths::resolve(host, call, &text)?, &call.cwd, Some(&*call.id)),
            None => (paths::resolve_from(host, &host.options.cwd, &text), &host.options.cwd, None),
        };
        let name = paths::shown(cwd, &path);
        let target =
            save::look(&path, &name, &host.access(SPEC.name, SPEC.semantics.effects, id, cwd))?.with_unsaved(host);
        if let Some(at) = self.files.iter().position(|file| file.target.path == target.path) {
            return Ok(at);
        }
        let content = target.content.clone();
        self.files.push(Draft { target, name, content, executable: false, notes: Vec::new() });
        Ok(self.files.len() - 1)
    }

    /// Applies the change of one file; `plain` is the same change with plain lines.
    fn add(&mut self, file: &FilePatch<'_>, plain: Option<&FilePatch<'_>>) -> Result<(), ToolError> {
        let fail = |text: String| Err(ToolError::Failed(text));
        let is_link = [file.old_mode, file.new_mode].contains(&Some(FileMode::Link));
        if is_link {
            return fail(format!("Cannot edit {}: it is a link. Use bash.", file.path));
        }
        let at = self.find(&file.path, matches!(file.operation, Operation::Update | Operation::Delete))?;
        let from = match (&file.from, file.operation) {
            (Some(from), Operation::Rename | Operation::Copy) => self.find(from, true)?,
            _ => at,
        };
        let source = self.files[from].content.clone();
        let is_new = match file.operation {
            Operation::Create => true,
            Operation::UpdateOrCreate => source.is_none(),
            _ => false,
        };
        if is_new || from != at {
            self.check_replaced(at)?;
        }
        let old = match source {
            _ if is_new => Vec::new(),
            Some(content) => content,
            None => return fail(format!("File not found: {}", self.files[from].name)),
        };
        if file.operation == Operation::Delete && self.form == Form::BeginPatch {
            self.check_replaced(at)?;
        }
        let replaced = self.files[at].content.take_if(|_| is_new);
        let (content, note) = match replaced {
            Some(replaced) => {
                let new = apply_to_text(file, b"", 0, &CancelToken::never());
                let new = new.map_err(|error| self.refusal(from, error.message()))?.text;
                let (Draft { target, name, .. }, new) = (&self.files[at], String::from_utf8_lossy(&new));
                if let Some(refusal) = notebook::refusal(&target.path, name, &new) {
                    return fail(refusal);
                }
                TextForm::of(&replaced).adopt(&replaced, &new)
            }
            None => self.applied(file, plain, from, &old)?,
        };
        self.files[at].notes.extend(note);
        if self.is_stale(from) && !is_new {
            let note = "The file changed on disk since it was read; the lines of the patch were still there.";
            self.files[from].notes.push(note.into());
        }
        if matches!(file.operation, Operation::Rename) && from != at {
            self.files[from].content = None;
        }
        let draft = &mut self.files[at];
        draft.executable |= file.new_mode == Some(FileMode::Executable);
        draft.content = match file.operation {
            Operation::Delete if self.form == Form::Unified && !content.is_empty() => {
                return fail(format!("{}: the file has lines that its deletion does not show.", draft.name));
            }
            Operation::Delete => None,
            _ => Some(content),
        };
        Ok(())
    }

    /// Returns the bytes of the file `from` after a change of its text, and a note about the match. For a deletion it
    /// returns the text that is left.
    fn applied(
        &self,
        file: &FilePatch<'_>,
        plain: Option<&FilePatch<'_>>,
        from: usize,
        old: &[u8],
    ) -> Result<(Vec<u8>, Option<String>), ToolError> {
        let Draft { target, name, .. } = &self.files[from];
        let document = Document::open(&target.path, old);
        let fault = || document.fault().map(|fault| format!("Cannot edit {name}: {fault}. Use bash."));
        let (text, note) = match apply_to_text(file, document.text(), 0, &CancelToken::never()) {
            Ok(applied) => (applied.text, None),
            Err(error) => match plain.and_then(|file| apply_plain(file, document.text())) {
                Some(text) => {
                    let note = "The file has these lines with other line ends or in another Unicode form (NFC or NFD), \
                                which it keeps.";
                    (text, Some(note.to_string()))
                }
                None => return Err(fault().map_or_else(|| self.refusal(from, error.message()), ToolError::Failed)),
            },
        };
        // A file that `read` cannot show may still be renamed or deleted.
        if file.operation == Operation::Delete {
            return Ok((text, note));
        }
        if text == document.text() {
            return Ok((old.to_vec(), note));
        }
        if let Some(fault) = fault() {
            return Err(ToolError::Failed(fault));
        }
        let content = document.with_text(&text);
        Ok((content.map_err(|text| ToolError::Failed(format!("{name}: {text}")))?, note))
    }

    /// Refuses to replace or delete a file whose content the model has not seen.
    fn check_replaced(&mut self, at: usize) -> Result<(), ToolError> {
        let Draft { target, name, content, .. } = &self.files[at];
        if content.is_none() {
            return Ok(());
        }
        if self.form == Form::Unified {
            return Err(ToolError::Failed(format!("File exists: {name}")));
        }
        let note = save::guard_write(self.host, target, name)?;
        self.files[at].notes.extend(note);
        Ok(())
    }

    /// Returns true if the guard is enabled and the file changed since the model saw it.
    fn is_stale(&self, at: usize) -> bool {
        let target = &self.files[at].target;
        let standing = target.content.as_deref().map(|content| self.host.seen.standing(&target.path, content));
        self.host.options.settings.file_guard != FileGuard::Off
            && matches!(standing, Some(FileState::Changed | FileState::ChangedElsewhere))
    }

    fn refusal(&self, at: usize, reason: &str) -> ToolError {
        let name = &self.files[at].name;
        ToolError::Failed(if self.is_stale(at) { save::changed(name) } else { reason.to_string() })
    }
}

/// Applies the change of one file, with plain lines, to a text with other line ends or in another Unicode form. The other
/// lines keep their bytes.
fn apply_plain(file: &FilePatch<'_>, old: &[u8]) -> Option<Vec<u8>> {
    let old = std::str::from_utf8(old).ok()?;
    let plain = unicode_form::plain_lines(old);
    let applied = apply_to_text(file, plain.as_bytes(), 0, &CancelToken::never()).ok()?;
    let new = String::from_utf8(applied.text).ok()?;
    Some(unicode_form::respelled_lines(old, &new).into_bytes())
}

/// Applies a patch to the current files in memory, without writing anything.
fn draft(host: &Host, call: Option<&Call>, text: &str) -> Result<Vec<Draft>, ToolError> {
    let patch = Patch::parse(text.as_bytes()).map_err(|error| {
        let hint = match error.code() {
            ErrorCode::PermissionDenied => " Use paths below the working directory.",
            _ => "",
        };
        ToolError::Failed(format!("{}{hint}", error.message()))
    })?;
    let plain = unicode_form::plain_lines(text);
    let plain = Patch::parse(plain.as_bytes()).ok();
    let mut drafts = Drafts { host, call, form: patch.form, files: Vec::new() };
    for (index, file) in patch.files.iter().enumerate() {
        drafts.add(file, plain.as_ref().and_then(|plain| plain.files.get(index)))?;
    }
    let changed: Vec<Draft> = drafts.files.into_iter().filter(Draft::is_changed).collect();
    match changed.is_empty() {
        true => Err(ToolError::Failed("No changes made: the patch leaves every file as it is.".into())),
        false => Ok(changed),
    }
}

fn run(host: &Host, call: &Call) -> Outcome {
    let Arguments { patch } = arguments::parse(call)?;
    let drafts = draft(host, Some(call), &patch)?;
    let (mut blocks, mut files) = (Vec::new(), Vec::new());
    for (at, draft) in drafts.iter().enumerate() {
        let Draft { target, name, content, executable, notes } = draft;
        let written = match content {
            Some(content) => target.write(host, name, content, *executable),
            None => target.remove(host, name),
        };
        if let Err(ToolError::Failed(text)) = written {
            return Err(ToolError::Failed(format!("{text}\n{}", take_back(host, &drafts[..at]))));
        }
        let [old, new] = draft.texts();
        let (diff, first) = edit::diff(name, &old, &new);
        let verb = match (&target.content, content) {
            (None, _) => "Created",
            (_, None) => "Deleted",
            _ => "Changed",
        };
        let mut block = format!("{verb} {name}.");
        notes.iter().for_each(|note| block.push_str(&format!("\n[{}]", note.trim_matches(['[', ']']))));
        blocks.extend([Some(block), target.parted()].into_iter().flatten());
        files.push(json!({"path": name, "diff": diff, "firstChangedLine": first}));
    }
    let text = blocks.join("\n");
    let cut = truncate::head(&text, truncate::LINES, truncate::BYTES);
    Ok(ToolOutput::text(cut.text.trim_end().to_string()).with_details(json!({"files": files})))
}

/// Restores the files that were written before one failed. Returns a text about it for the model.
fn take_back(host: &Host, written: &[Draft]) -> String {
    let mut left = Vec::new();
    for Draft { target, name, .. } in written {
        let done = match &target.content {
            Some(content) => target.restore(host, name, content),
            None => target.remove(host, name),
        };
        if done.is_err() {
            left.push(name.as_str());
        }
    }
    match left.is_empty() {
        true => "Nothing was changed.".into(),
        false => format!("These files were changed and could not be restored: {}.", left.join(", ")),
    }
}

/// Returns the changes that a call would make; `None` if it would fail.
pub(super) fn preview(host: &Host, arguments: &Value) -> Option<Vec<FileChange>> {
    let text = arguments.get(ARGUMENT)?.as_str()?;
    let drafts = draft(host, None, text).ok()?;
    let change = |file: &Draft| {
        let [old, new] = file.texts();
        edit::change(&file.name, &old, &new)
    };
    Some(drafts.iter().map(change).collect())
}
