//! The mouth of `output_sink`.
