//! Messages, providers and models.
