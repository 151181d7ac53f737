//! The work profile: a ring of samples and the flame graph drawn from it.
