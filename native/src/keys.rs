//! The mouth of `keys`.
