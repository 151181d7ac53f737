//! The mouth of `process`.
