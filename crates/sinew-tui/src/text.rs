//! Text of the screen: styles, lines, rows.

pub(crate) mod ansi;
pub(crate) mod row;
pub(crate) mod style;
pub(crate) mod width;
pub(crate) mod wrap;
