//! The mouth of `pty`.
