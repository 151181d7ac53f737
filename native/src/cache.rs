//! The mouth of `cache`.
