//! The mouth of `find`.
