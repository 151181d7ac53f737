//! The mouth of `shell`.
