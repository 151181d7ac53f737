//! One command with its streams apart, a program without a shell, an input that is written meanwhile.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod support;

mod supervised {
    use sinew_shell::{InputPipe, StreamOptions, execute_streams};

    include!("cases/streams.rs");
}

mod direct {
    use sinew_shell::direct::{InputPipe, StreamOptions, execute_streams};

    include!("cases/streams.rs");
}
