//! The largest inputs.

/// The largest patch, in bytes.
pub const MAX_PATCH_BYTES: usize = 64 << 20;

/// The largest file that a patch is applied to, in bytes.
pub const MAX_FILE_BYTES: u64 = 256 << 20;
