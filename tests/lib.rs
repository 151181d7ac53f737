//! Holds no code: the tests are in `it/`.
