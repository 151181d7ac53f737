//! The keeper as a program: `sinew-keeper keep` runs the keeper role, `sinew-keeper run PROGRAM [ARGUMENT…]` runs a
//! program that is terminated when this one ends for any reason. Standard input, output and error are inherited.

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    use std::fs::File;
    use std::io;
    use std::process::ExitCode;

    use sinew_process::supervision::{self, ProgramSpec};

    let mut arguments = std::env::args_os().skip(1);
    let role = arguments.next().unwrap_or_default();
    if role == supervision::ROLE {
        return ExitCode::from(u8::try_from(supervision::keeper()).unwrap_or(1));
    }
    let (true, Some(program)) = (role == "run", arguments.next()) else {
        return ExitCode::from(2);
    };
    let program = ProgramSpec { program, args: arguments.collect(), env: std::env::vars_os().collect(), cwd: None };
    let started = std::env::current_exe()
        .map_err(|cause| cause.to_string())
        .and_then(|own| supervision::start(&own, &program).map_err(|error| error.to_string()));
    let (mut kept, pipes) = match started {
        Ok(started) => started,
        Err(message) => {
            let _ = io::Write::write_all(&mut io::stderr(), format!("sinew-keeper: {message}\n").as_bytes());
            return ExitCode::from(127);
        }
    };
    std::thread::spawn(move || io::copy(&mut io::stdin(), &mut File::from(pipes.stdin)));
    let errors = std::thread::spawn(move || io::copy(&mut File::from(pipes.stderr), &mut io::stderr()));
    let _ = io::copy(&mut File::from(pipes.stdout), &mut io::stdout());
    let _ = errors.join();
    let status = kept.exit_status();
    kept.close();
    ExitCode::from(status.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(not(unix))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}
