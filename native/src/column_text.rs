//! The text of columns for JavaScript.

use napi::bindgen_prelude::{Either, Latin1String};

/// A text in its fastest form for JavaScript: ASCII is passed in a fifth of the time of decoding UTF-8.
pub(crate) type ColumnText = Either<Latin1String, String>;

/// Chooses the form of a text.
pub(crate) fn column_text(text: String) -> ColumnText {
    if text.is_ascii() { Either::A(text.into()) } else { Either::B(text) }
}
