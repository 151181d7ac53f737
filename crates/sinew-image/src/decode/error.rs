//! Errors of decoders, in words of our own.

use std::error::Error as _;

use image::ImageError;
use sinew_base::{CancelToken, Error, ErrorCode};

use crate::{MAX_BYTES, SourceFormat};

/// The error for a file that the decoder refused, or for the cancellation that ended it.
pub(super) fn refused(format: SourceFormat, cause: &ImageError, cancel: &CancelToken) -> Error {
    if let Err(aborted) = cancel.check() {
        return aborted.into();
    }
    // The message of the format's own crate, without the one that `image` puts before it.
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

/// The error for a file that contradicts its format.
pub(super) fn broken(format: &str, cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::InvalidData, format!("image: failed to decode {format}: {cause}"))
}

/// The error for a feature that a format has and that is not read.
pub(super) fn unsupported(format: &str, feature: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Unsupported, format!("image: failed to decode {format}: {feature} is not supported"))
}
