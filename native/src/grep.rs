//! The mouth of `grep`.
