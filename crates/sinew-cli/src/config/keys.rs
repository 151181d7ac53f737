//! Keys of providers in the environment and the files: finds them, and takes them out of the process.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use sinew_llm::models::builtin_key_variables;
use sinew_tools::child::Filter;

use super::{Environment, Paths, is_missing};
use crate::args::Args;

/// A shorter value would be found in every other text.
const SHORTEST: usize = 8;

/// models.json and auth.json, read once at the start: keys are looked for in their texts before anything is parsed.
pub(crate) struct KeyFiles {
    pub(crate) models: KeyFile,
    pub(crate) auth: KeyFile,
}

/// A file of the user, as it was read.
pub(crate) struct KeyFile {
    pub(crate) path: PathBuf,
    content: io::Result<String>,
}

impl KeyFiles {
    /// Reads both.
    pub(crate) fn read(paths: &Paths) -> KeyFiles {
        let read = |name: &str| {
            let path = paths.agent.join(name);
            KeyFile { content: std::fs::read_to_string(&path), path }
        };
        KeyFiles { models: read("models.json"), auth: read("auth.json") }
    }
}

impl KeyFile {
    /// The text; None where there is no file. One that cannot be read is named in `warnings`.
    pub(crate) fn text(&self, warnings: &mut Vec<String>) -> Option<&str> {
        match &self.content {
            Ok(text) => return Some(text),
            Err(error) if is_missing(error) => {}
            Err(error) => warnings.push(format!("failed to read {}: {error}", self.path.display())),
        }
        None
    }
}

/// The keys that are known before any file is parsed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Variables that hold a key of a provider: commands never get them.
    pub(crate) names: Vec<String>,
    /// The keys themselves.
    pub(crate) values: Vec<String>,
}

/// Finds the keys in `environment` and on the command line: in the variables of the built-in providers, in those that
/// models.json and auth.json name, and in those that hold the same value.
pub(crate) fn find(args: &Args, environment: &Environment, files: &KeyFiles) -> Found {
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
    Found { names: names.map(|(name, _)| name.clone()).collect(), values }
}

/// The strings of a JSON text that are values, as they are written. Comments do no harm.
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

/// Takes every variable that looks like a secret, and those of `keys`, out of the process: programs that it starts do
/// not inherit them, and `/proc/<pid>/environ` does not show them, nor `/proc/<pid>/cmdline` a key of the command line.
/// `environment` still has them all.
///
/// No other thread may run yet: this is the start of the program.
pub(crate) fn seal(environment: &Environment, keys: &Found) {
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

/// Overwrites variables where the kernel has put them, and values among the arguments. The memory is the process's own,
/// and Rust has copied what it needs of it.
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
                // The name stays until it is removed: that looks for it.
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

/// Puts asterisks in the place of `values` among the arguments that the kernel shows.
#[cfg(target_os = "linux")]
fn overwrite_arguments(values: &[String]) {
    // proc_pid_stat(5): behind the name of the program stand the fields from the third on; 48 and 49 are the addresses.
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return };
    let Some((_, fields)) = stat.rsplit_once(')') else { return };
    let address = |field: usize| fields.split_whitespace().nth(field - 3).and_then(|text| text.parse::<usize>().ok());
    let (Some(start), Some(end)) = (address(48), address(49)) else { return };
    if start == 0 || end <= start {
        return;
    }
    // SAFETY: the kernel says that the arguments lie there; they are writable, and nobody else reads them now.
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
