//! Source code to coloured terminal text.
