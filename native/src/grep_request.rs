//! What is asked of `grep` and `search`.

use napi_derive::napi;
use sinew::search::{GrepOptions, Mode};

use crate::handle;

/// What a search collects.
#[napi(string_enum = "camelCase")]
pub enum GrepMode {
    Content,
    FilesWithMatches,
    Count,
}

/// What to search, checked by the TypeScript side; `search` has no use for `path` and what follows it.
#[napi(object)]
pub(crate) struct GrepRequest {
    pub pattern: String,
    pub literal: Option<bool>,
    pub ignore_case: Option<bool>,
    pub multiline: Option<bool>,
    pub max_count: Option<u32>,
    pub max_count_per_file: Option<u32>,
    pub offset: Option<u32>,
    pub context: Option<u32>,
    pub context_before: Option<u32>,
    pub context_after: Option<u32>,
    pub max_columns: Option<u32>,
    pub mode: Option<GrepMode>,
    pub path: Option<String>,
    pub glob: Option<String>,
    pub r#type: Option<String>,
    pub hidden: Option<bool>,
    pub gitignore: Option<bool>,
    pub cache: Option<bool>,
    pub timeout_ms: Option<u32>,
}

impl GrepRequest {
    /// The core's options.
    pub(crate) fn into_core(self) -> GrepOptions {
        let GrepRequest {
            pattern,
            literal,
            ignore_case,
            multiline,
            max_count,
            max_count_per_file,
            offset,
            context,
            context_before,
            context_after,
            max_columns,
            mode,
            path,
            glob,
            r#type,
            hidden,
            gitignore,
            cache,
            timeout_ms: _,
        } = self;
        GrepOptions {
            pattern,
            path: path.unwrap_or_default().into(),
            glob,
            file_type: r#type,
            literal: literal.unwrap_or(false),
            ignore_case: ignore_case.unwrap_or(false),
            multiline: multiline.unwrap_or(false),
            hidden: hidden.unwrap_or(true),
            gitignore: gitignore.unwrap_or(true),
            global_excludes: handle().global_excludes.clone(),
            cache: cache.unwrap_or(false),
            max_count,
            max_count_per_file,
            offset: offset.unwrap_or(0),
            context,
            context_before,
            context_after,
            max_columns,
            mode: mode.map_or(Mode::Content, Mode::from),
            accept: None,
        }
    }
}

impl From<GrepMode> for Mode {
    fn from(mode: GrepMode) -> Mode {
        match mode {
            GrepMode::Content => Mode::Content,
            GrepMode::FilesWithMatches => Mode::FilesWithMatches,
            GrepMode::Count => Mode::Count,
        }
    }
}
