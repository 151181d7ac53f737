//! The agent's loop, tools and sessions.
