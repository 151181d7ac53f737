//! The options of `grep` and `search`.

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use sinew::search::{GlobPattern, GrepOptions, Mode};

use crate::handle;

/// The kinds of rows that a search collects.
#[napi(string_enum = "camelCase")]
pub enum GrepMode {
    Content,
    FilesWithMatches,
    Count,
}

/// The options of a search, checked by the TypeScript side; `search` ignores `path` and the fields after it.
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
    /// A text in which commas separate globs, or one glob per item.
    pub glob: Option<Either<String, Vec<String>>>,
    pub r#type: Option<String>,
    pub hidden: Option<bool>,
    pub gitignore: Option<bool>,
    pub cache: Option<bool>,
    pub timeout_ms: Option<u32>,
}

impl GrepRequest {
    /// Converts to the core's options.
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
        let default = GrepOptions::new(pattern, path.unwrap_or_default());
        GrepOptions {
            pattern: default.pattern,
            path: default.path,
            glob: glob.map(|glob| match glob {
                Either::A(text) => GlobPattern::Text(text),
                Either::B(items) => GlobPattern::Items(items),
            }),
            file_type: r#type.or(default.file_type),
            literal: literal.unwrap_or(default.literal),
            ignore_case: ignore_case.unwrap_or(default.ignore_case),
            multiline: multiline.unwrap_or(default.multiline),
            hidden: hidden.unwrap_or(default.hidden),
            gitignore: gitignore.unwrap_or(default.gitignore),
            global_excludes: handle().global_excludes.clone(),
            cache: cache.unwrap_or(default.cache),
            max_count: max_count.or(default.max_count),
            max_count_per_file: max_count_per_file.or(default.max_count_per_file),
            offset: offset.unwrap_or(default.offset),
            context: context.or(default.context),
            context_before: context_before.or(default.context_before),
            context_after: context_after.or(default.context_after),
            max_columns: max_columns.or(default.max_columns),
            mode: mode.map_or(default.mode, Mode::from),
            accept: default.accept,
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
