//! Tests of scores and of the order of results.

mod expected_ranking;
mod score_properties;
