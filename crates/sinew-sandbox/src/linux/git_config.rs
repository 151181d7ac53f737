//! Reads configuration files of git, as far as they name files from which git starts programs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The maximum depth of included files, as in git.
const DEEPEST: usize = 10;

/// Configuration files of the system. Their path is a choice of those who compile git.
const OF_SYSTEM: [&str; 2] = ["/etc/gitconfig", "/usr/local/etc/gitconfig"];

/// The paths that configuration files name.
#[derive(Debug, Default)]
pub(super) struct NamedPaths {
    /// Further configuration files.
    pub(super) files: Vec<PathBuf>,
    /// Directories of hooks. A relative one is relative to the work tree.
    pub(super) hooks: Vec<PathBuf>,
}

impl NamedPaths {
    /// Reads the configuration of the user and of the system. If a variable replaces a file, both files are read,
    /// because a command can unset the variable.
    pub(super) fn of_user(home: Option<&Path>, variable: &dyn Fn(&str) -> Option<OsString>) -> NamedPaths {
        let variable = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let mut files: Vec<PathBuf> =
            ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(variable).collect();
        files.extend(variable("XDG_CONFIG_HOME").map(|folder| folder.join("git/config")));
        files
            .extend(home.into_iter().flat_map(|home| [".config/git/config", ".gitconfig"].map(|name| home.join(name))));
        files.extend(OF_SYSTEM.map(PathBuf::from));
        let mut named = NamedPaths::default();
        for file in &files {
            named.read(file, home, 0);
        }
        named.files.append(&mut files);
        named
    }

    /// Adds the paths that a file and the files that it includes name. The conditions of includes count as true.
    pub(super) fn read(&mut self, config: &Path, home: Option<&Path>, depth: usize) {
        // Opening a named pipe would wait for a writer.
        if !config.metadata().is_ok_and(|data| data.is_file()) {
            return;
        }
        let Ok(text) = std::fs::read(config) else { return };
        let folder = config.parent().unwrap_or(Path::new("/"));
        for Setting { key, value } in settings(&text) {
            let Some(path) = expand(&value, home) else { continue };
            match key.as_str() {
                "core.hookspath" => self.hooks.push(path),
                "include.path" | "includeif.path" => {
                    let path = folder.join(path);
                    if depth < DEEPEST && !self.files.contains(&path) {
                        self.files.push(path.clone());
                        self.read(&path, home, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Expands the home directory in the value of a setting; `None` if the value is empty.
pub(super) fn expand(value: &[u8], home: Option<&Path>) -> Option<PathBuf> {
    let value = value.strip_prefix(b":(optional)").unwrap_or(value);
    let rest = if value == b"~" { Some(&b""[..]) } else { value.strip_prefix(b"~/") };
    match (rest, home) {
        _ if value.is_empty() => None,
        (Some(rest), Some(home)) => Some(home.join(OsStr::from_bytes(rest))),
        _ => Some(PathBuf::from(OsStr::from_bytes(value))),
    }
}

/// A setting of a configuration file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The section and the name, in lower case. The subsection is left out.
    pub(super) key: String,
    pub(super) value: Vec<u8>,
}

/// Parses a configuration file. Git rejects a file with an error, so a line with an error is skipped.
pub(super) fn settings(text: &[u8]) -> Vec<Setting> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let mut reader = Reader { rest: text };
    let mut section = String::new();
    let mut settings = Vec::new();
    while let Some(byte) = reader.next() {
        match byte {
            b'[' => section = reader.section(),
            b'#' | b';' => reader.skip_line(),
            byte if byte.is_ascii_alphabetic() => {
                let mut name = char::from(byte).to_string();
                while let Some(byte) = reader.next_if(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
                    name.push(char::from(byte));
                }
                while reader.next_if(|byte| byte == b' ' || byte == b'\t').is_some() {}
                match reader.next() {
                    Some(b'=') => {
                        let key = format!("{section}.{name}").to_ascii_lowercase();
                        settings.push(Setting { key, value: reader.value() });
                    }
                    // A name without a value is a switch.
                    Some(b'\n') | None => {}
                    Some(_) => reader.skip_line(),
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => reader.skip_line(),
        }
    }
    settings
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// Returns the next byte. The end of a line is one byte, also if the file has two.
    fn next(&mut self) -> Option<u8> {
        if let Some(rest) = self.rest.strip_prefix(b"\r\n") {
            self.rest = rest;
            return Some(b'\n');
        }
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn next_if(&mut self, fits: impl Fn(u8) -> bool) -> Option<u8> {
        self.rest.first().is_some_and(|byte| fits(*byte)).then(|| self.next()).flatten()
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// Reads a header after its `[`, and returns the name of the section without the subsection.
    fn section(&mut self) -> String {
        let mut name = String::new();
        while let Some(byte) = self.next_if(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            name.push(char::from(byte));
        }
        let mut is_quoted = false;
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => break,
                b'\\' if is_quoted => drop(self.next()),
                b'"' => is_quoted = !is_quoted,
                b']' if !is_quoted => break,
                _ => {}
            }
        }
        name
    }

    /// Reads a value after its `=`: without the spaces around it, quotes and comments.
    fn value(&mut self) -> Vec<u8> {
        let mut value = Vec::new();
        // The length without the spaces at the end.
        let mut length = 0;
        let mut is_quoted = false;
        while let Some(byte) = self.next() {
            let byte = match byte {
                b'\n' => break,
                b'#' | b';' if !is_quoted => {
                    self.skip_line();
                    break;
                }
                b'"' => {
                    is_quoted = !is_quoted;
                    continue;
                }
                b'\\' => match self.next() {
                    Some(b'\n') | None => continue,
                    Some(b'n') => b'\n',
                    Some(b't') => b'\t',
                    Some(b'b') => 8,
                    Some(byte) => byte,
                },
                byte if byte.is_ascii_whitespace() && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                byte => byte,
            };
            value.push(byte);
            length = value.len();
        }
        value.truncate(length);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Contents of a configuration file that set the directory of hooks.
    const CONFIGS: [&str; 13] = [
        "[core]\n\thooksPath = plain\n",
        "[core]\n\thooksPath = comment ; of a line\n",
        "[core]\n\thooksPath = comment# of a line\n",
        "[core] hooksPath = one-line\n",
        "[core]hooksPath=tight",
        "[core]\n\thooksPath = \"in quotes\"  # comment\n",
        "[core]\n\thooksPath = \"not;a#comment\"\n",
        "[core]\n\thooksPath = con\\\ntinued\\\\ \n",
        "[CORE] ; comment\r\n\tHOOKSPATH = case\r\n",
        "\u{feff}[core]\n\thooksPath = mark\n",
        "[core]\n\thooksPath = ~/in-the-home\n",
        "[a \"]\\\"[core]\"]\n\thooksPath = other\n[alias]\n\tx = \"[core] hooksPath = no\"\n[core]\n\tbare\n\thooksPath = last\n",
        "[core] bare = false\n[include] path = more\n",
    ];

    #[test]
    fn finds_the_directory_of_hooks_that_git_reports() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (tree, home, xdg) = (top.join("tree"), top.join("home"), top.join("xdg"));
        std::fs::create_dir_all(xdg.join("git")).unwrap();
        std::fs::create_dir(&home).unwrap();
        assert!(Command::new("git").arg("init").arg("-q").arg(&tree).status().unwrap().success());
        let places = [
            (tree.join(".git/config"), ""),
            (home.join(".gitconfig"), ""),
            (xdg.join("git/config"), "XDG_CONFIG_HOME"),
            (home.join("global"), "GIT_CONFIG_GLOBAL"),
            (home.join("system"), "GIT_CONFIG_SYSTEM"),
        ];
        for (place, name) in &places {
            for config in CONFIGS {
                std::fs::write(place, config).unwrap();
                std::fs::write(place.with_file_name("more"), "[core]\n\thooksPath = included\n").unwrap();
                let value = if *name == "XDG_CONFIG_HOME" { &xdg } else { place };
                let mut git = Command::new("git");
                git.args(["config", "--type=path", "--get", "core.hooksPath"]).current_dir(&tree);
                git.env("HOME", &home).env_remove("XDG_CONFIG_HOME").env("GIT_CONFIG_SYSTEM", "/dev/null");
                if !name.is_empty() {
                    git.env(name, value);
                }
                let output = git.output().unwrap();
                let text = String::from_utf8(output.stdout).unwrap();
                let expected = PathBuf::from(text.strip_suffix('\n').unwrap());
                let mut found = NamedPaths::of_user(Some(&home), &|asked| (asked == *name).then(|| value.into()));
                found.read(&tree.join(".git/config"), Some(&home), 0);
                assert!(found.hooks.contains(&expected), "{place:?} {config:?}: {expected:?} in {found:?}");
            }
            std::fs::remove_file(place).unwrap();
        }
    }

    #[test]
    fn included_files_that_include_each_other_are_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join("a"), "[include]\npath = b\npath = \n[includeIf \"gitdir:/x\"]\npath = ~/c\n")
            .unwrap();
        std::fs::write(root.join("b"), "[include]\npath = a\n").unwrap();
        let mut found = NamedPaths::default();
        found.read(&root.join("a"), Some(Path::new("/home/u")), 0);
        assert_eq!(found.files, [root.join("b"), root.join("a"), PathBuf::from("/home/u/c")]);
    }
}
