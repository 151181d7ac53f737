//! The mouth of `highlight`.
