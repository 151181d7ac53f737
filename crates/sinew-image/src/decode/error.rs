//! Converts the errors of decoders.

use std::error::Error as _;

use image::ImageError;
use sinew_base::{CancelToken, Error, ErrorCode};

use crate::{MAX_BYTES, SourceFormat};

/// Creates the error for a file that the decoder rejected, or for a cancellation.
pub(super) fn refused(format: SourceFormat, cause: &ImageError, cancel: &CancelToken) -> Error {
    if let Err(aborted) = cancel.check() {
        return aborted.into();
    }
    // The message of the format's own crate, without the prefix that `image` adds.
    let text = cause.source().map_or_else(|| cause.to_string(), ToString::to_string);
    match cause {
        ImageError::Limits(_) => Error::new(
            ErrorCode::LimitExceeded,
            format!(
                "image: failed to decode {}: it needs more than the limit of {} MiB",
                format.name(),
                MAX_BYTES >> 20
            ),
        ),
        ImageError::Unsupported(_) => {
            Error::new(ErrorCode::Unsupported, format!("image: failed to decode {}: {text}", format.name()))
        }
        _ => broken(format.name(), text),
    }
}

/// Creates the error for a file that violates its format.
pub(super) fn broken(format: &str, cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::InvalidData, format!("image: failed to decode {format}: {cause}"))
}

/// Creates the error for a feature of a format that is not supported.
pub(super) fn unsupported(format: &str, feature: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Unsupported, format!("image: failed to decode {format}: {feature} is not supported"))
}
