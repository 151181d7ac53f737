//! The mouth of `clipboard`.
