//! Finds the bash of this machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sinew_base::{CancelToken, Error, ErrorCode, Result};

use super::run::{self, End, Input, Launch, Watch};
use crate::known_bashes::KnownBashes;
use crate::output::Encoding;
use crate::{Engine, Environment, ShellOptions, environment};

/// The script contains no quotes, so every system passes it unchanged.
const QUESTION: &str = "test ${BASH_VERSINFO:-0} -ge 3";

/// Returns the bash that runs the scripts of `shell`.
///
/// # Errors
/// Returns [`ErrorCode::Unsupported`] if there is no bash or another interpreter is requested, and
/// [`ErrorCode::NotFound`] if the named one does not exist or is not a bash.
pub(super) fn find(known: &KnownBashes, shell: &ShellOptions) -> Result<PathBuf> {
    if shell.engine == Engine::Brush {
        let text = "Failed to initialize shell: no engine \"brush\" on this system: use engine \"bash\" or \"auto\"";
        return Err(Error::new(ErrorCode::Unsupported, text));
    }
    let path = environment::value(&shell.env, "PATH");
    if let Some(name) = &shell.bash {
        let found = environment::find_program(path, name).map(PathBuf::from).filter(|file| known.has(file, answers));
        return found.ok_or_else(|| {
            let text = format!(
                "Failed to initialize shell: no bash of version 3.2 or later at {}: {}",
                name.display(),
                WAY_OUT
            );
            Error::new(ErrorCode::NotFound, text)
        });
    }
    let found =
        places(&shell.env).into_iter().find(|file| file.is_file() && !is_of_wsl(file) && known.has(file, answers));
    found.ok_or_else(|| {
        let text = format!("Failed to initialize shell: no bash of version 3.2 or later {SOUGHT}: {WAY_OUT}");
        Error::new(ErrorCode::Unsupported, text)
    })
}

#[cfg(windows)]
const SOUGHT: &str = "in the folders of Git for Windows, beside git.exe or on PATH (that of WSL is never taken)";
#[cfg(unix)]
const SOUGHT: &str = "on PATH";

#[cfg(windows)]
const WAY_OUT: &str = "install Git for Windows, or name a bash in the option `bash`";
#[cfg(unix)]
const WAY_OUT: &str = "install one, or name it in the option `bash`";

/// Returns the files that may be a bash, in order of preference.
fn places(env: &Environment) -> Vec<PathBuf> {
    let path = environment::value(env, "PATH");
    let on_path = |name: &str| environment::find_program(path, Path::new(name)).map(PathBuf::from);
    if cfg!(windows) {
        let bash = Path::new("bin").join("bash.exe");
        let installed = ["ProgramFiles", "ProgramW6432", "ProgramFiles(x86)"]
            .into_iter()
            .filter_map(|name| Some(Path::new(environment::value(env, name)?).join("Git")));
        let own = environment::value(env, "LOCALAPPDATA").map(|dir| Path::new(dir).join("Programs").join("Git"));
        // `Git\cmd\git.exe`, `Git\bin\git.exe` or `Git\mingw64\bin\git.exe`.
        let git = on_path("git.exe");
        let beside = git.iter().flat_map(|git| git.ancestors().skip(2).take(2)).map(Path::to_path_buf);
        let of_git = installed.chain(own).chain(beside).map(|folder| folder.join(&bash));
        let folders = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
        return of_git.chain(folders.into_iter().map(|folder| folder.join("bash.exe"))).collect();
    }
    let of_system = cfg!(target_os = "macos").then(|| PathBuf::from("/bin/bash"));
    on_path("bash").into_iter().chain(of_system).collect()
}

/// Returns true if a file starts WSL, whose programs see different paths and files.
fn is_of_wsl(file: &Path) -> bool {
    let name = file.to_string_lossy().to_ascii_lowercase().replace('\\', "/");
    cfg!(windows) && ["/system32/", "/sysnative/", "/windowsapps/"].iter().any(|part| name.contains(part))
}

fn answers(file: &Path) -> bool {
    let mut command = Command::new(file);
    command.args(["--noprofile", "--norc", "-c", QUESTION]);
    let launch = Launch {
        command,
        input: Input::Nothing,
        separate: false,
        encoding: Encoding::Bytes,
        idle: Duration::ZERO,
        most: Duration::ZERO,
    };
    let limit = CancelToken::never().with_timeout(Duration::from_secs(20));
    let never = CancelToken::never();
    let end = run::run(launch, &Watch { cancel: &limit, abort: &never }, &mut |_| std::ops::ControlFlow::Continue(()));
    matches!(end, Ok((End::Exited(exit), _)) if exit.code == Some(0))
}
