//! The environment variables that a script inherits.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use sinew_base::{Error, ErrorCode, Result};

use crate::Environment;

/// Returns true if a variable belongs to the shell that started the host and not to its children.
#[must_use]
pub fn is_private(name: &OsStr) -> bool {
    matches!(name.as_encoded_bytes(), b"PS1" | b"PWD" | b"OLDPWD" | b"SHLVL" | b"_")
}

/// Returns true if a variable is a function that a bash exports. Programs that pass their own environment on should
/// remove these, because such a function replaces a program in every script.
#[must_use]
pub fn is_exported_function(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"BASH_FUNC_")
}

/// Returns the name of the function that a variable `BASH_FUNC_name%%` defines; `None` for another variable.
pub(crate) fn function_name(name: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '+' | '@');
    let name = name.strip_prefix("BASH_FUNC_")?.strip_suffix("%%")?;
    (!name.is_empty() && !name.starts_with('-') && name.chars().all(is_part)).then_some(name)
}

/// Checks that a session can define the functions in the variables of one run.
///
/// # Errors
/// Returns an error if one would replace `builtin`, or if there is one and `is_bash` is false.
pub(crate) fn check_functions(env: &[(String, String)], is_bash: bool) -> Result<()> {
    for name in env.iter().filter_map(|(name, _)| function_name(name)) {
        if !is_bash {
            return Err(Error::new(
                ErrorCode::Unsupported,
                format!("shell: this session cannot define the function {name:?} of env: define it in the command"),
            ));
        }
        if name == "builtin" {
            return Err(Error::invalid(
                "shell: env cannot replace builtin for one run: define the function in the command",
            ));
        }
    }
    Ok(())
}

/// Returns the environment without shell-private and invalid variables; the last of equal names is used.
pub(crate) fn inherited(env: &Environment) -> Vec<(&OsStr, &OsStr)> {
    let mut kept = std::collections::BTreeMap::new();
    for (name, value) in env {
        let broken = name.is_empty()
            || name.as_encoded_bytes().iter().any(|byte| matches!(byte, b'=' | 0))
            || value.as_encoded_bytes().contains(&0);
        if !broken && !is_private(name) {
            kept.insert(name.as_os_str(), value.as_os_str());
        }
    }
    kept.into_iter().collect()
}

/// Returns the variables of one run: the inherited ones, overridden by those of the run.
pub(crate) fn of_run<'a>(env: &'a Environment, run: &'a [(String, String)]) -> Vec<(&'a OsStr, &'a OsStr)> {
    let mut kept = inherited(env);
    for (name, value) in run {
        kept.retain(|(known, _)| !is_same(known, name));
        kept.push((OsStr::new(name), OsStr::new(value)));
    }
    kept
}

/// Returns the value of a variable; `None` if it is not set.
pub(crate) fn value<'a>(env: &'a Environment, name: &str) -> Option<&'a OsStr> {
    env.iter().rev().find(|(key, _)| is_same(key, name)).map(|(_, value)| value.as_os_str())
}

/// Returns true if two names are the same variable: Windows ignores case.
pub(crate) fn is_same(one: &OsStr, other: &str) -> bool {
    match cfg!(windows) {
        true => one.eq_ignore_ascii_case(other),
        false => one == other,
    }
}

/// Checks the variables of one run.
///
/// # Errors
/// Returns an error if a name is not valid in a shell, or if a value contains a NUL character.
pub(crate) fn check_run(env: &[(String, String)]) -> Result<()> {
    for (name, value) in env {
        if !is_valid_name(name) && function_name(name).is_none() {
            return Err(Error::invalid(format!(
                "shell: bad variable name {name:?} in env: use letters, digits and _, no digit first"
            )));
        }
        if value.contains('\0') {
            return Err(Error::invalid(format!("shell: the value of {name} in env contains a NUL character")));
        }
    }
    Ok(())
}

/// Returns true if a script can set a variable of this name.
pub(crate) fn is_valid_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic());
    first && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// Finds a program on `PATH`; a name with a slash is returned unchanged. `None` if there is no such program.
#[cfg(unix)]
pub(crate) fn find_program(path: Option<&OsStr>, name: &Path) -> Option<OsString> {
    use rustix::fs::{Access, access};
    use std::os::unix::ffi::OsStrExt;
    let runs =
        |file: PathBuf| (file.is_file() && access(&file, Access::EXEC_OK).is_ok()).then(|| file.into_os_string());
    if name.as_os_str().as_bytes().contains(&b'/') {
        return runs(name.to_path_buf());
    }
    // The system's default without a PATH.
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    path.as_bytes()
        .split(|byte| *byte == b':')
        .filter(|dir| dir.starts_with(b"/"))
        .find_map(|dir| runs(Path::new(OsStr::from_bytes(dir)).join(name)))
}

/// Finds a program on `PATH`, trying the usual extensions if the name has none; a name with a directory is returned
/// unchanged. `None` if there is no such program.
#[cfg(windows)]
pub(crate) fn find_program(path: Option<&OsStr>, name: &Path) -> Option<OsString> {
    let with_ending = |file: PathBuf| {
        let endings = [".exe", ".com", ".bat", ".cmd"].into_iter().filter(|_| file.extension().is_none());
        let mut places = endings.map(|ending| {
            let mut file = file.clone().into_os_string();
            file.push(ending);
            PathBuf::from(file)
        });
        places.find(|place| place.is_file()).or(Some(file)).filter(|place| place.is_file()).map(PathBuf::into_os_string)
    };
    if name.components().count() > 1 {
        return with_ending(name.to_path_buf());
    }
    std::env::split_paths(path?).filter(|dir| dir.is_absolute()).find_map(|dir| with_ending(dir.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_private_and_invalid_variables_and_uses_the_last_value() {
        let env: Environment = [
            ("A", "1"),
            ("PWD", "/x"),
            ("BASH_FUNC_f%%", "() { :; }"),
            ("", "x"),
            ("B=C", "x"),
            ("N", "a\0b"),
            ("A", "2"),
            ("_", "/bin/x"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
        let function = (OsStr::new("BASH_FUNC_f%%"), OsStr::new("() { :; }"));
        assert_eq!(inherited(&env), [(OsStr::new("A"), OsStr::new("2")), function]);
        assert_eq!(value(&env, "A"), Some(OsStr::new("2")));
    }

    #[test]
    fn rejects_invalid_variable_names() {
        for (name, ok) in [
            ("A", true),
            ("_x9", true),
            ("", false),
            ("9", false),
            ("a-b", false),
            ("é", false),
            ("BASH_FUNC_a-b%%", true),
            ("BASH_FUNC_;%%", false),
        ] {
            assert_eq!(check_run(&[(name.into(), String::new())]).is_ok(), ok, "{name}");
        }
        assert!(check_run(&[("A".into(), "\0".into())]).is_err());
    }
}
