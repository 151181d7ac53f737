//! Scores paths against what a person types to find one.
//!
//! [`Query`] reads the text once; a [`Matcher`] holds the memory that scoring needs and is reused for every path.
//! A path is looked at in steps, each cheaper than the next: whether the letters occur in this order at all (a set of
//! places per letter, found by SIMD), then the best way to lay the query over the path (dynamic programming over the part
//! between the first and the last possible place of each letter), then what is known of paths: the name counts more
//! than the folders, a whole name more than a part of it.
//!
//! A general SIMD matcher in front of this ranking would have to rank by paths too: laying a query over a path in the
//! best way is what the score is made of, and the search for the letters already rejects nearly every path.
//! `cargo run -p sinew-fuzzy --example rank_speed --profile quick` times it on any list.

mod fold;
mod layout;
mod places;
mod query;
mod score;
mod symbols;

pub use query::Query;
pub use score::{Matcher, Score};
