//! The mouth of `system`.
