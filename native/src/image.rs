//! The mouth of `image`.
