//! Scores file paths for fuzzy queries.
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
//! [`Query`] parses the text once; a [`Matcher`] owns the memory that scoring needs and is reused for every path. A
//! path is checked in steps of increasing cost: whether the letters occur in this order at all (a set of positions per
//! letter, computed with SIMD), then the best alignment of the query with the path (dynamic programming over the part
//! between the first and the last possible position of each letter), then the structure of the path: matches in the
//! name score more than those in directories, and a whole name more than a part of it.
//!
//! A caller that ranks the same paths repeatedly can store the set of letters of each ([`letters_of`]): a
//! [`LetterFilter`] rejects most paths by this set alone.
//!
//! Limits: a query uses up to 1,024 letters per word, and words of 4 to 32 letters are matched with typos.
//!
//! A general SIMD matcher before this ranking would have to rank by paths too: the best alignment of a query with a
//! path is the score itself, and the search for the letters already rejects nearly every path. `cargo run -p
//! sinew-fuzzy --example rank_speed --profile quick` measures it on any list.

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
