//! The size limits of inputs.

/// The maximum size of a patch, in bytes.
pub const MAX_PATCH_BYTES: usize = 64 << 20;

/// The maximum size of a file that a patch is applied to, in bytes.
pub const MAX_FILE_BYTES: u64 = 256 << 20;
