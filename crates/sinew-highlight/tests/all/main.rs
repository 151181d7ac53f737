//! Tests of the lexers and grammars.

mod ambiguous_code;
mod guarantees;
mod marks;
mod snippets;
