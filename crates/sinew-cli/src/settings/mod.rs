//! Settings: a table of keys, layers that are merged, and the typed values that the program uses.
//!
//! | module | contents |
//! |---|---|
//! | `table` | every key with type, default, scope and help |
//! | `layer` | one file or variable: wrong types and unknown keys are skipped with a warning |
//! | `tighten` | the sandbox settings that an untrusted project may set |
//! | `values` | the merged layers |
//! | `typed` | the typed values, and their conversion for other crates |
//! | `edit` | changes one key in the text of a file |
//! | `page` | the reference of all keys |

mod edit;
mod layer;
mod page;
mod table;
#[cfg(test)]
mod tests;
mod tighten;
mod typed;
mod values;

#[cfg(unix)]
pub(crate) use layer::check;
pub(crate) use layer::{Layer, Source, add_below, layer, read, unset, without_effect, write};
pub(crate) use page::{listing, markdown};
pub(crate) use table::{KEYS, SANDBOX_MODES, is_known, nearest};
#[cfg(unix)]
pub(crate) use table::{Key, Kind, is_guarded};
pub(crate) use tighten::tighten;
pub(crate) use typed::{ClientFs, SandboxMode, SandboxNetwork, Settings, Task};
#[cfg(unix)]
pub(crate) use typed::{DoubleEscape, SymbolPreset, Tui, TuiEditor, TuiMode, TuiNotify, TuiResize};
pub(crate) use values::Values;
