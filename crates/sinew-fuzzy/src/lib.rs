//! Scores and ranks strings against a query.
