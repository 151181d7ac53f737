//! The mouth of `profile`.
