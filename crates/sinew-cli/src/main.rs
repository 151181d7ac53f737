//! The program `sinew`: see the library of the same package.

use std::process::ExitCode;

fn main() -> ExitCode {
    sinew_cli::main()
}
