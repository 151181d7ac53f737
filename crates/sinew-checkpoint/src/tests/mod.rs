//! Tests of whole calls on real directories.

mod child;
mod stories;
