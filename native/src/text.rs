//! The mouth of `text`.
