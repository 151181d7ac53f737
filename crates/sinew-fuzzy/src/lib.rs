//! Scores of paths for the text that a person types to find one.
//!
//! ```
//! use sinew_fuzzy::{Matcher, Query};
//!
//! let query = Query::new("schedcore");
//! let mut matcher = Matcher::new(&query);
//! let name = matcher.score("kernel/sched/core.c").expect("all letters occur in their order");
//! let scattered = matcher.score("drivers/net/mlxsw/sch_red_core.sh").expect("here too");
//! assert!(name > scattered);
//! assert_eq!(matcher.score("README.md"), None);
//! ```
//!
//! [`Query`] reads the text once; a [`Matcher`] holds the memory that scoring needs and is reused for every path.
//! A path is looked at in steps, each cheaper than the next: whether the letters occur in this order at all (a set of
//! places per letter, found by SIMD), then the best way to lay the query over the path (dynamic programming over the part
//! between the first and the last possible place of each letter), then the structure of paths: the name counts more
//! than the folders, a whole name more than a part of it.
//!
//! A caller that ranks the same paths again and again keeps the set of letters of each ([`letters_of`]): a [`LetterFilter`] rejects most by
//! it alone.
//!
//! Limits: a query counts up to 1,024 letters a word, and words of 4 to 32 letters are matched with typos.
//!
//! A general SIMD matcher in front of this ranking would have to rank by paths too: laying a query over a path in the
//! best way is the score itself, and the search for the letters already rejects nearly every path.
//! `cargo run -p sinew-fuzzy --example rank_speed --profile quick` times it on any list.

mod fold;
mod layout;
mod letter_set;
mod position_sets;
mod query;
mod score;
mod symbols;

pub use letter_set::{LetterFilter, letters_of};
pub use query::Query;
pub use score::{Matcher, Score};
