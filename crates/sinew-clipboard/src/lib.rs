//! The desktop's clipboard.
