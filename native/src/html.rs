//! The binding of `htmlToMarkdown`.

use napi::Env;
use napi::bindgen_prelude::{Object, Uint32Array, Utf16String};
use napi_derive::napi;
use sinew::base::CancelToken;
use sinew::html::{Options, utf16_to_markdown, utf16_to_nodes};

use crate::abort::{self, Abort};
use crate::task;

/// The parts of a page to leave out.
#[napi(object)]
pub(crate) struct HtmlRequest {
    /// Whether to remove everything except the main content.
    pub clean_content: Option<bool>,
    /// Whether to remove images.
    pub skip_images: Option<bool>,
    /// The time limit in milliseconds.
    pub timeout_ms: Option<u32>,
}

/// Converts a page to Markdown. The page is passed as UTF-16 and converted to UTF-8 on the pool.
#[napi(ts_args_type = "html: string, options: HtmlRequest, abort?: Abort", ts_return_type = "Promise<string>")]
pub(crate) fn html_to_markdown<'env>(
    env: &'env Env,
    html: Utf16String,
    options: HtmlRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let HtmlRequest { clean_content, skip_images, timeout_ms } = options;
    let cancel = abort::cancel(abort, timeout_ms);
    let default = Options::default();
    let options = Options {
        clean_content: clean_content.unwrap_or(default.clean_content),
        skip_images: skip_images.unwrap_or(default.skip_images),
    };
    let work = move || utf16_to_markdown(&html, &options, &cancel);
    task::blocking(env, "htmlToMarkdown", work, |markdown| markdown)
}

/// The nodes of a page as columns; `sinew_html::Nodes` describes the numbers.
#[napi(object)]
pub(crate) struct HtmlNodes {
    pub text: Utf16String,
    pub numbers: Uint32Array,
}

/// Parses a page into nodes.
#[napi]
pub(crate) fn html_nodes(env: &Env, html: Utf16String) -> napi::Result<HtmlNodes> {
    task::now(env, "turndown", || {
        let nodes = utf16_to_nodes(&html, &CancelToken::never())?;
        Ok(HtmlNodes { text: nodes.text.into(), numbers: nodes.numbers.into() })
    })
}
