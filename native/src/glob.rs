//! The binding of `glob`.

use napi::Env;
use napi::bindgen_prelude::{Either, Float64Array, Object, Uint8Array, Uint32Array};
use napi_derive::napi;
use sinew::search::{self, GlobColumns, GlobOptions, GlobPattern, GlobResult};
use sinew::walk::FileType;

use crate::abort::{self, Abort};
use crate::column_text::{ColumnText, column_text};
use crate::handle;
use crate::task;

/// The options of `glob`, checked by the TypeScript side.
#[napi(object)]
pub(crate) struct GlobRequest {
    /// A text in which commas separate patterns, or one pattern per item.
    pub pattern: Option<Either<String, Vec<String>>>,
    pub ignore: Option<Vec<String>>,
    pub path: String,
    pub file_type: Option<u32>,
    pub recursive: Option<bool>,
    pub hidden: Option<bool>,
    pub gitignore: Option<bool>,
    pub cache: Option<bool>,
    pub max_results: Option<u32>,
    pub sort_by_mtime: Option<bool>,
    pub follow_links: Option<bool>,
    pub max_depth: Option<u32>,
    pub include_node_modules: Option<bool>,
    pub timeout_ms: Option<u32>,
}

/// The matches as columns; `sinew_search::GlobColumns` describes them.
#[napi(object, object_from_js = false)]
pub(crate) struct GlobAnswer {
    #[napi(ts_type = "string")]
    pub text: ColumnText,
    pub lengths: Uint32Array,
    pub file_types: Uint8Array,
    pub mtimes: Float64Array,
    pub sizes: Float64Array,
    pub total_matches: u32,
    pub limit_reached: bool,
    pub warnings: Vec<String>,
}

/// Finds the entries below a directory that match a pattern.
#[napi(ts_return_type = "Promise<GlobAnswer>")]
pub(crate) fn glob<'env>(env: &'env Env, options: GlobRequest, abort: Option<&Abort>) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, options.timeout_ms);
    let options = options.into_core();
    let work = move || {
        let result = search::glob(&options, &handle().cache, &handle().pool, &cancel)?;
        Ok((result.columns(), result))
    };
    task::blocking(env, "glob", work, GlobAnswer::from)
}

impl GlobRequest {
    pub(crate) fn into_core(self) -> GlobOptions {
        let GlobRequest {
            pattern,
            ignore,
            path,
            file_type,
            recursive,
            hidden,
            gitignore,
            cache,
            max_results,
            sort_by_mtime,
            follow_links,
            max_depth,
            include_node_modules,
            timeout_ms: _,
        } = self;
        let pattern = pattern.map_or_else(
            || "*".into(),
            |pattern| match pattern {
                Either::A(text) => GlobPattern::Text(text),
                Either::B(items) => GlobPattern::Items(items),
            },
        );
        let default = GlobOptions::new(path, pattern);
        GlobOptions {
            pattern: default.pattern,
            ignore: ignore.unwrap_or_default(),
            path: default.path,
            file_type: match file_type {
                Some(1) => Some(FileType::File),
                Some(2) => Some(FileType::Dir),
                Some(3) => Some(FileType::Symlink),
                _ => default.file_type,
            },
            recursive: recursive.unwrap_or(default.recursive),
            hidden: hidden.unwrap_or(default.hidden),
            gitignore: gitignore.unwrap_or(default.gitignore),
            cache: cache.unwrap_or(default.cache),
            max_results: max_results.map_or(default.max_results, |most| Some(most as usize)),
            sort_by_mtime: sort_by_mtime.unwrap_or(default.sort_by_mtime),
            follow_links: follow_links.unwrap_or(default.follow_links),
            max_depth: max_depth.map_or(default.max_depth, |most| Some(most as usize)),
            include_node_modules: include_node_modules.unwrap_or(default.include_node_modules),
            global_excludes: handle().global_excludes.clone(),
        }
    }
}

impl From<(GlobColumns, GlobResult)> for GlobAnswer {
    fn from((columns, result): (GlobColumns, GlobResult)) -> GlobAnswer {
        let GlobColumns { text, lengths, file_types, mtimes, sizes } = columns;
        GlobAnswer {
            text: column_text(text),
            lengths: lengths.into(),
            file_types: file_types.into(),
            mtimes: mtimes.into(),
            sizes: sizes.into(),
            total_matches: u32::try_from(result.total_matches).unwrap_or(u32::MAX),
            limit_reached: result.limit_reached,
            warnings: result.warnings,
        }
    }
}
