//! Pictures: decode, resize, encode, fit.
