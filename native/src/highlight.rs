//! The binding of `highlight`.

use napi::Env;
use napi_derive::napi;
use sinew::highlight::{self, Colors};

use crate::task;

/// One ANSI string per category; missing categories have no colour.
#[napi(object)]
pub(crate) struct HighlightPalette {
    /// Comments.
    pub comment: Option<String>,
    /// Keywords.
    pub keyword: Option<String>,
    /// Names of functions.
    pub function: Option<String>,
    /// Variables.
    pub variable: Option<String>,
    /// Strings.
    pub string: Option<String>,
    /// Numbers.
    pub number: Option<String>,
    /// Names of types.
    #[napi(js_name = "type")]
    pub type_name: Option<String>,
    /// Operators.
    pub operator: Option<String>,
    /// Punctuation.
    pub punctuation: Option<String>,
    /// Lines that a diff adds.
    pub inserted: Option<String>,
    /// Lines that a diff removes.
    pub deleted: Option<String>,
}

impl HighlightPalette {
    fn into_core(self) -> Colors {
        let HighlightPalette {
            comment,
            keyword,
            function,
            variable,
            string,
            number,
            type_name,
            operator,
            punctuation,
            inserted,
            deleted,
        } = self;
        Colors {
            comment: comment.unwrap_or_default(),
            keyword: keyword.unwrap_or_default(),
            function: function.unwrap_or_default(),
            variable: variable.unwrap_or_default(),
            string: string.unwrap_or_default(),
            number: number.unwrap_or_default(),
            r#type: type_name.unwrap_or_default(),
            operator: operator.unwrap_or_default(),
            punctuation: punctuation.unwrap_or_default(),
            inserted: inserted.unwrap_or_default(),
            deleted: deleted.unwrap_or_default(),
        }
    }
}

/// Colours code; see `highlightCode`.
#[napi]
pub(crate) fn highlight_code(env: &Env, code: String, lang: String, colors: HighlightPalette) -> napi::Result<String> {
    task::now(env, "highlightCode", || Ok(highlight::highlight(&code, &lang, &colors.into_core())))
}

/// A coloured text, and the number of lines without colours.
#[napi(object)]
pub(crate) struct HighlightResult {
    /// The code with colours.
    pub text: String,
    /// The number of lines without colours because of a limit.
    pub plain_lines: u32,
}

/// Colours code and counts lines without colours; see `highlightCodeDetailed`.
#[napi]
pub(crate) fn highlight_code_detailed(
    env: &Env,
    code: String,
    lang: String,
    colors: HighlightPalette,
) -> napi::Result<HighlightResult> {
    task::now(env, "highlightCodeDetailed", || {
        let highlight::HighlightResult { text, plain_lines } =
            highlight::highlight_detailed(&code, &lang, &colors.into_core());
        Ok(HighlightResult { text, plain_lines: clamp(plain_lines) })
    })
}

/// Converts a count for JavaScript.
fn clamp(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns whether a language is known.
#[napi]
pub(crate) fn supports_language(env: &Env, lang: String) -> napi::Result<bool> {
    task::now(env, "supportsLanguage", || Ok(highlight::supports(&lang)))
}

/// Lists one name per language.
#[napi]
pub(crate) fn get_supported_languages(env: &Env) -> napi::Result<Vec<String>> {
    task::now(env, "getSupportedLanguages", || Ok(highlight::languages()))
}

/// The native part of a `HighlightStream`.
#[napi]
pub(crate) struct HighlightState {
    stream: highlight::HighlightStream,
}

#[napi]
impl HighlightState {
    /// Creates a stream of code in `lang`.
    #[napi(constructor)]
    pub fn new(env: &Env, lang: String, colors: HighlightPalette) -> napi::Result<HighlightState> {
        let stream =
            task::now(env, "HighlightStream", || Ok(highlight::HighlightStream::new(&lang, &colors.into_core())))?;
        Ok(HighlightState { stream })
    }

    /// Returns the number of lines so far without colours because of a limit.
    #[napi(getter)]
    pub fn plain_lines(&self) -> u32 {
        clamp(self.stream.plain_lines())
    }

    /// Colours the next piece of code.
    #[napi]
    pub fn push(&mut self, env: &Env, chunk: String) -> napi::Result<String> {
        task::now(env, "HighlightStream.push", || Ok(self.stream.push(&chunk)))
    }
}
