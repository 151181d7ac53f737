//! Tests of the decoders, and of images for models and terminals.

mod broken_files;
mod decode;
mod fit;
mod samples;
