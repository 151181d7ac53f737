//! The mouth of `glob`.
