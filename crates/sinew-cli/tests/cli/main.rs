//! The real program: what it writes, how it ends, what it leaves.

mod json;
mod lines;
mod sessions;
mod signals;
mod stage;
mod wire;
