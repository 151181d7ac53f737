//! The binding of `applyPatch`.

use std::path::PathBuf;

use napi::Env;
use napi::bindgen_prelude::{Either, Object, Uint8Array, Utf16String};
use napi_derive::napi;
use sinew::base::{lossy, utf16_text};
use sinew::patch::{self, ApplyOptions, FileReport, HunkPlace, PatchReport};

use crate::abort::{self, Abort};
use crate::task;

/// The options of `applyPatch`.
#[napi(object)]
pub(crate) struct PatchRequest {
    /// The directory below which files may change.
    pub root: String,
    /// Whether to only check the patch, without writing files.
    pub dry_run: Option<bool>,
    /// The maximum number of context lines at each end of a hunk that may differ.
    pub fuzz: Option<u32>,
    /// The time limit in milliseconds.
    pub timeout_ms: Option<u32>,
}

/// The position of an applied hunk.
#[napi(object)]
pub(crate) struct PatchedHunk {
    /// The first line in the new text, from 1.
    pub line: u32,
    /// The number of lines between the position in the hunk header and the actual position.
    pub offset: f64,
    /// The number of context lines at each end that differ.
    pub fuzz: u32,
}

/// The change of one file.
#[napi(object)]
pub(crate) struct PatchedFile {
    /// `"created"`, `"modified"`, `"deleted"`, `"renamed"` or `"copied"`.
    pub action: String,
    /// The path below the root.
    pub path: String,
    /// The path before a rename, or the path of the copied file.
    pub from: Option<String>,
    /// The number of added lines.
    pub added: u32,
    /// The number of removed lines.
    pub removed: u32,
    /// The positions of the applied hunks.
    pub hunks: Vec<PatchedHunk>,
}

fn hunk(place: HunkPlace) -> PatchedHunk {
    let HunkPlace { line, offset, fuzz } = place;
    PatchedHunk { line: line as u32, offset: offset as f64, fuzz: fuzz as u32 }
}

fn file(report: FileReport) -> PatchedFile {
    let FileReport { action, path, from, added, removed, places } = report;
    PatchedFile {
        action: action.as_str().to_owned(),
        path: lossy(&path).into_owned(),
        from: from.map(|from| lossy(&from).into_owned()),
        added: added as u32,
        removed: removed as u32,
        hunks: places.into_iter().map(hunk).collect(),
    }
}

/// Applies a patch to a directory. A text is converted to UTF-8 on the pool; bytes are copied first.
#[napi(
    ts_args_type = "text: string | Uint8Array, options: PatchRequest, abort?: Abort",
    ts_return_type = "Promise<Array<PatchedFile>>"
)]
pub(crate) fn apply_patch<'env>(
    env: &'env Env,
    text: Either<Utf16String, Uint8Array>,
    options: PatchRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let PatchRequest { root, dry_run, fuzz, timeout_ms } = options;
    let cancel = abort::cancel(abort, timeout_ms);
    let default = ApplyOptions::default();
    let options = ApplyOptions {
        dry_run: dry_run.unwrap_or(default.dry_run),
        fuzz: fuzz.map_or(default.fuzz, |lines| lines as usize),
    };
    let text = match text {
        Either::A(text) => Either::A(text),
        Either::B(bytes) => Either::B(bytes.to_vec()),
    };
    let work = move || {
        let text = match text {
            Either::A(text) => utf16_text(&text).into_bytes(),
            Either::B(bytes) => bytes,
        };
        patch::apply_to_directory(&PathBuf::from(root), &text, options, &cancel)
            .map_err(|error| error.within("applyPatch"))
    };
    task::blocking(env, "applyPatch", work, |PatchReport { files }| files.into_iter().map(file).collect::<Vec<_>>())
}
