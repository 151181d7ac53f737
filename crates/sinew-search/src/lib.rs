//! Grep, glob and fuzzy find over a walk.
