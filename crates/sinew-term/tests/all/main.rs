//! Tests of text, keys and input of terminals.

mod input_cases;
mod key_cases;
mod key_properties;
mod text_cases;
mod text_properties;
