//! Settings: a table of keys, layers that are merged, and the typed values that the program uses.
//!
//! | module | contents |
//! |---|---|
//! | `table` | every key with its field, type, default, scope and help |
//! | `row` | a row of the table, and the macro that declares it together with its field |
//! | `words` | the values that are one of several words |
//! | `lookup` | finds rows by their paths |
//! | `layer` | one file or variable: wrong types and unknown keys are skipped with a warning |
//! | `tighten` | the sandbox settings that an untrusted project may set |
//! | `values` | the merged layers |
//! | `convert` | the conversion to the options of other crates |
//! | `edit` | changes one key in the text of a file |
//! | `page` | the reference of all keys |

mod convert;
mod edit;
mod layer;
mod lookup;
mod page;
mod row;
mod table;
#[cfg(test)]
mod tests;
mod tighten;
mod values;
mod words;

pub use layer::{Layer, Source, add_below, check, layer, read, unset, without_effect, write};
pub use lookup::{applies, is_guarded, is_known, nearest};
pub use page::{listing, markdown};
pub use row::{Applies, Key, Kind};
pub use table::{KEYS, SANDBOX_MODES, Settings, Task, Tui};
pub(crate) use tighten::tighten;
pub use values::Values;
pub use words::{
    ClientFs, DoubleEscape, SandboxMode, SandboxNetwork, SymbolPreset, TuiEditor, TuiMode, TuiNotify, TuiResize,
};
