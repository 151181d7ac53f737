//! The mouth of `html`.
