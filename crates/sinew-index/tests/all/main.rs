//! Tests of plans and of segments on disk.

mod plan_soundness;
mod segment_on_disk;
