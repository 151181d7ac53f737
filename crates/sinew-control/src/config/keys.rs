//! Finds keys of providers in the environment and in files, and removes them from the process.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use sinew_llm::models::builtin_key_variables;
use sinew_tools::child::Filter;

use super::{Environment, Paths, is_missing};
use crate::args::Args;

/// The minimum length of a key in bytes: a shorter value would occur in unrelated text.
const SHORTEST: usize = 8;

/// models.json and auth.json, read once at the start. Their texts are searched for keys before anything is parsed.
pub struct KeyFiles {
    pub(crate) models: KeyFile,
    pub(crate) auth: KeyFile,
}

/// A file of the user with its text.
pub(crate) struct KeyFile {
    pub(crate) path: PathBuf,
    content: io::Result<String>,
}

impl KeyFiles {
    /// Reads both files.
    pub fn read(paths: &Paths) -> KeyFiles {
        let read = |name: &str| {
            let path = paths.agent.join(name);
            KeyFile { content: std::fs::read_to_string(&path), path }
        };
        KeyFiles { models: read("models.json"), auth: read("auth.json") }
    }
}

impl KeyFile {
    /// Returns the text; `None` if the file does not exist. If it cannot be read, a warning is added to `warnings`.
    pub(crate) fn text(&self, warnings: &mut Vec<String>) -> Option<&str> {
        match &self.content {
            Ok(text) => return Some(text),
            Err(error) if is_missing(error) => {}
            Err(error) => warnings.push(format!("failed to read {}: {error}", self.path.display())),
        }
        None
    }
}

/// The keys that are known before a file is parsed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProviderKeys {
    /// The variables that contain a key of a provider. Commands never inherit them.
    pub names: Vec<String>,
    /// The values of the keys.
    pub values: Vec<String>,
}

/// Finds the keys in `environment` and on the command line: in the variables of the built-in providers, in those that
/// models.json and auth.json name, and in other variables with the same value.
pub fn find(args: &Args, environment: &Environment, files: &KeyFiles) -> ProviderKeys {
    let texts = [&files.models, &files.auth].map(|file| file.content.as_deref().unwrap_or_default());
    let named: HashSet<&str> = texts.into_iter().flat_map(quoted_values).collect();
    let variables: Vec<(String, String)> = environment.texts();
    let is_key = |name: &str| named.contains(name) || builtin_key_variables().any(|key| key == name);
    let given = args.model.api_key.clone();
    let values = variables.iter().filter(|(name, _)| is_key(name)).map(|(_, value)| value.clone()).chain(given);
    let mut values: Vec<String> =
        values.map(|value| value.trim().to_string()).filter(|value| value.len() >= SHORTEST).collect();
    values.sort();
    values.dedup();
    let holds = |text: &str| values.iter().any(|value| text.contains(value));
    let names = variables.iter().filter(|(name, value)| is_key(name) || holds(value));
    ProviderKeys { names: names.map(|(name, _)| name.clone()).collect(), values }
}

/// Returns the string values in a JSON text, with their escapes. Comments are tolerated.
fn quoted_values(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find('"') {
        rest = &rest[begin + 1..];
        let mut escaped = false;
        let end = rest.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end else { break };
        let word = &rest[..end];
        rest = &rest[end + 1..];
        if !rest.trim_start().starts_with(':') {
            found.push(word);
        }
    }
    found
}

/// Removes the variables of `keys`, and every variable that looks like a secret, from the process: programs that it
/// starts do not inherit them, `/proc/<pid>/environ` does not show them, and `/proc/<pid>/cmdline` does not show a key
/// from the command line. `environment` still contains all of them.
///
/// No other thread may run yet, so this is only called at the start of the program.
pub fn seal(environment: &Environment, keys: &ProviderKeys) {
    let filter = Filter { pass: &[], keys: &keys.names };
    let secret = |name: &OsString| filter.hides(&name.to_string_lossy());
    let names: Vec<&OsString> =
        environment.variables().iter().map(|(name, _)| name).filter(|name| secret(name)).collect();
    #[cfg(target_os = "linux")]
    overwrite(&names, &keys.values);
    for name in names {
        // SAFETY: no other thread runs that could read the environment.
        unsafe { std::env::remove_var(name) };
    }
}

/// Overwrites variables in the memory where the kernel stored them, and values among the arguments. The process owns
/// that memory, and Rust has copied what it needs from it.
#[cfg(target_os = "linux")]
fn overwrite(names: &[&OsString], values: &[String]) {
    use std::os::unix::ffi::OsStrExt;

    unsafe extern "C" {
        static mut environ: *mut *mut libc::c_char;
    }
    // SAFETY: `environ` ends with a null pointer, each entry with a NUL; no other thread reads or changes them.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let length = libc::strlen(*entry);
            let text = std::slice::from_raw_parts((*entry).cast::<u8>(), length);
            let name = text.split(|byte| *byte == b'=').next().unwrap_or_default();
            if names.iter().any(|known| known.as_bytes() == name) {
                // The name stays until the variable is removed, because `remove_var` searches for it.
                let from = (name.len() + 1).min(length);
                std::ptr::write_bytes((*entry).cast::<u8>().add(from), 0, length - from);
            }
            entry = entry.add(1);
        }
    }
    if std::env::args_os().any(|word| values.iter().any(|value| word.to_string_lossy().contains(value))) {
        overwrite_arguments(values);
    }
}

/// Overwrites `values` with asterisks in the arguments that the kernel shows.
#[cfg(target_os = "linux")]
fn overwrite_arguments(values: &[String]) {
    // proc_pid_stat(5): the fields from the third on follow the name of the program; 48 and 49 are the addresses.
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return };
    let Some((_, fields)) = stat.rsplit_once(')') else { return };
    let address = |field: usize| fields.split_whitespace().nth(field - 3).and_then(|text| text.parse::<usize>().ok());
    let (Some(start), Some(end)) = (address(48), address(49)) else { return };
    if start == 0 || end <= start {
        return;
    }
    // SAFETY: the kernel reports that the arguments are at these addresses; they are writable, and no other thread
    // reads them.
    let text = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, end - start) };
    for value in values {
        let mut at = 0;
        while let Some(found) = text[at..].windows(value.len()).position(|part| part == value.as_bytes()) {
            text[at + found..at + found + value.len()].fill(b'*');
            at += found + value.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_are_values_are_found_in_any_json() {
        for (text, expect) in [
            (r#"{"a": "B", "c": ["D", "E"], "f": {"g" : "H\"I"}}"#, &["B", "D", "E", r#"H\"I"#][..]),
            ("// it's \"X\"\n{\"a\": \"B\",}", &["X", "B"]),
            ("{\"a\": \"B", &[]),
            ("", &[]),
        ] {
            assert_eq!(quoted_values(text), expect, "{text}");
        }
    }
}
