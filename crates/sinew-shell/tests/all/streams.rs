//! Tests of one command with separate streams, a program without a shell, and input that is written during the run.

mod supervised {
    use sinew_shell::{InputPipe, StreamOptions, execute_streams};

    include!("cases/streams.rs");
}

mod direct {
    use sinew_shell::direct::{InputPipe, StreamOptions, execute_streams};

    include!("cases/streams.rs");
}
