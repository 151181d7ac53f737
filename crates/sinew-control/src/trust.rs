//! Whether the user trusts a project: its files that can start programs, and the user's answer about them.
//!
//! The answer is stored with the project's real path and a digest of those files, so that the user is asked again when
//! one of them changes. The digest includes:
//!
//! | file | included part |
//! |---|---|
//! | `.sinew/hooks.json`, `.sinew/mcp.json`, `.mcp.json`, `.sinew/secrets.json` | the whole file |
//! | `.mcp.json` of the parent directories, up to the root of the repository | the whole file |
//! | `.sinew/extensions/` | every file in it |
//! | `.sinew/settings.json` | the keys that only a trusted project may set |
//! | links out of the project among `AGENTS.md`, skills, commands, rules and the like | their targets |
//! | files outside of the project that `AGENTS.md` imports with `@path` | their paths |
//! | `.env` | the variables that a trusted project may set, which the caller passes |
//!
//! Scripts that a hook names are not included: whoever trusts a project trusts the programs that its hooks start.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use sinew::base::{Error, ErrorCode, Result};
use sinew_agent::context::context_files;
use sinew_session::files::{self, read_plain, read_text};
use sinew_session::links;

use crate::settings::{self, Source};

/// Files that are included completely.
const FILES: [&str; 4] = [".sinew/hooks.json", ".sinew/mcp.json", ".mcp.json", ".sinew/secrets.json"];
/// The project's settings, of which only some keys are included.
pub const SETTINGS: &str = ".sinew/settings.json";
const EXTENSIONS: &str = ".sinew/extensions";
/// The maximum number and total size in bytes of the files of extensions. A project that exceeds them, or has
/// unreadable files, is never trusted.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 256 << 20;

/// The files of a project that require trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    folder: PathBuf,
    names: Vec<String>,
    digest: Option<String>,
}

/// The user's known answer about a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustState {
    /// Nothing in the project requires trust.
    Harmless,
    /// The user trusts the current files.
    Trusted,
    /// The user does not trust the project.
    Refused,
    /// The user was never asked.
    Unknown,
    /// The user was asked, but files have changed since.
    Changed,
}

impl Project {
    /// Reads the files of the project at `cwd`. `variables` are those that its `.env` sets if the project is trusted.
    /// Starts no program. A project with unreadable files is never trusted.
    #[must_use]
    pub fn look(cwd: &Path, variables: &[(String, String)]) -> Project {
        let folder = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_path_buf());
        let mut scan = Scan { names: Vec::new(), hash: Sha256::new(), left: MOST_BYTES, whole: true };
        for name in FILES {
            scan.file(&folder, name);
        }
        // `.mcp.json` of the parent directories is read too, up to the root of the repository.
        let home = std::env::home_dir();
        let root = links::project_of(&folder, home.as_deref());
        for above in folder.ancestors().skip(1).take_while(|above| above.starts_with(root)) {
            let path = above.join(".mcp.json");
            if path.symlink_metadata().is_ok() {
                let name = path.display().to_string();
                scan.names.push(name.clone());
                scan.content(&path, &name);
            }
        }
        if let Ok(text) = read_text(&folder.join(SETTINGS))
            && let Ok(layer) = settings::read(&text, SETTINGS, Source::Project)
            && !layer.refused.is_empty()
        {
            scan.text(SETTINGS, &Value::Object(layer.refused).to_string());
        }
        scan.folder(&folder, EXTENSIONS);
        let outward = links::all(&folder, home.as_deref());
        if outward.is_cut {
            // A file that was not scanned may be a link out of the project.
            scan.names.push("more files than are checked".into());
            scan.whole = false;
        }
        for (link, real) in outward.links {
            let name = link.strip_prefix(&folder).unwrap_or(&link).display().to_string();
            scan.text(&format!("{name} (a link to {})", real.display()), "");
        }
        // A private file would become part of every request.
        for path in context_files(&[], &folder, home.as_deref(), false).outside {
            scan.text(&format!("the import of {}", path.display()), "");
        }
        if !variables.is_empty() {
            scan.text(".env", &json!(variables).to_string());
        }
        let digest = scan.whole.then(|| hex(&scan.hash.finalize()));
        Project { folder, names: scan.names, digest }
    }

    /// Returns the files that require trust, relative to the project.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.names
    }

    /// Reads the answer about this project from `trust.json`. A missing file counts as no answer.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn standing(&self, file: &Path) -> Result<TrustState> {
        if self.names.is_empty() {
            return Ok(TrustState::Harmless);
        }
        let answers = match fs::read_to_string(file) {
            Ok(text) => parse(&text, file)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(TrustState::Unknown),
            Err(error) => return Err(Error::io(format!("failed to read {}", file.display()), &error)),
        };
        let Some(answer) = answers.get(&self.key()) else { return Ok(TrustState::Unknown) };
        let same = self.digest.is_some() && answer.get("hash").and_then(Value::as_str) == self.digest.as_deref();
        Ok(match answer.get("trusted").and_then(Value::as_bool) {
            _ if !same => TrustState::Changed,
            Some(true) => TrustState::Trusted,
            _ => TrustState::Refused,
        })
    }

    /// Stores the user's answer about the files as they were when the project was scanned. Keeps the answers about
    /// other projects; only the owner can access the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, or if files of the project are unreadable or too many.
    pub fn remember(&self, file: &Path, trusted: bool) -> Result<()> {
        let Some(digest) = &self.digest else {
            let files = self.names.join(", ");
            let text = format!("trust {}: {files} cannot be read or are too large", self.folder.display());
            return Err(Error::new(ErrorCode::LimitExceeded, text));
        };
        files::update(file, |old| {
            let mut answers = old.map(|text| parse(text, file)).transpose()?.unwrap_or_default();
            answers.insert(self.key(), json!({"hash": digest, "trusted": trusted}));
            Ok(format!("{:#}\n", Value::Object(answers)))
        })
    }

    fn key(&self) -> String {
        self.folder.to_string_lossy().into_owned()
    }
}

fn parse(text: &str, file: &Path) -> Result<Map<String, Value>> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text)
        .map_err(|error| Error::new(ErrorCode::InvalidData, format!("failed to read {}: {error}", file.display())))
}

/// The files that were found so far.
struct Scan {
    names: Vec<String>,
    hash: Sha256,
    left: u64,
    whole: bool,
}

impl Scan {
    /// Lengths precede the texts, so that different sets of files never produce the same bytes.
    fn add(&mut self, name: &str, content: &[u8]) {
        for part in [name.as_bytes(), content] {
            self.hash.update((part.len() as u64).to_le_bytes());
            self.hash.update(part);
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        self.names.push(name.into());
        self.add(name, text.as_bytes());
    }

    fn file(&mut self, folder: &Path, name: &str) {
        let path = folder.join(name);
        // A link whose target does not exist may have one later.
        if path.symlink_metadata().is_err() {
            return;
        }
        self.names.push(name.into());
        self.content(&path, name);
    }

    fn content(&mut self, path: &Path, name: &str) {
        match read_plain(path, self.left) {
            Ok(bytes) => {
                self.left -= bytes.len() as u64;
                self.add(name, &bytes);
            }
            // The user cannot have checked an unreadable file.
            Err(_) => self.whole = false,
        }
    }

    fn folder(&mut self, folder: &Path, name: &str) {
        if !folder.join(name).exists() {
            return;
        }
        let mut found = Vec::new();
        let mut waiting = vec![PathBuf::from(name)];
        while let Some(next) = waiting.pop() {
            for entry in fs::read_dir(folder.join(&next)).into_iter().flatten().flatten() {
                let path = next.join(entry.file_name());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => waiting.push(path),
                    _ => found.push(path),
                }
                if found.len() + waiting.len() > MOST_FILES {
                    self.whole = false;
                    waiting.clear();
                    break;
                }
            }
        }
        if found.is_empty() {
            return;
        }
        self.names.push(format!("{name}/"));
        found.sort();
        for path in found {
            self.content(&folder.join(&path), &path.to_string_lossy());
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stage(tempfile::TempDir);

    impl Stage {
        fn new() -> Stage {
            Stage(tempfile::tempdir().unwrap())
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn look(&self) -> Project {
            Project::look(&self.0.path().join("p"), &[])
        }

        fn file(&self) -> PathBuf {
            self.0.path().join("home/trust.json")
        }

        #[track_caller]
        fn is(&self, expect: TrustState) {
            assert_eq!(self.look().standing(&self.file()).unwrap(), expect);
        }
    }

    #[test]
    fn texts_and_plain_settings_need_no_trust() {
        let stage = Stage::new();
        stage.write("p/AGENTS.md", "x");
        stage.write("p/.sinew/skills/a/SKILL.md", "x");
        stage.write("p/.sinew/settings.json", r#"{"colorBlindMode": true, "permissions": {"deny": ["bash"]}}"#);
        stage.is(TrustState::Harmless);
    }

    #[test]
    fn an_answer_holds_until_a_file_changes() {
        let stage = Stage::new();
        stage.write("p/.sinew/hooks.json", "{}");
        stage.is(TrustState::Unknown);
        stage.look().remember(&stage.file(), true).unwrap();
        stage.is(TrustState::Trusted);
        stage.write("p/.sinew/skills/a/SKILL.md", "x");
        stage.write("p/.sinew/settings.json", r#"{"colorBlindMode": true}"#);
        stage.is(TrustState::Trusted);
        let changes = [
            ("p/.sinew/hooks.json", "{ }"),
            ("p/.sinew/mcp.json", "{}"),
            ("p/.mcp.json", "{}"),
            ("p/.sinew/extensions/deep/a.wasm", "code"),
            ("p/.sinew/extensions/deep/a.wasm", "other"),
            ("p/.sinew/settings.json", r#"{"shellCommandPrefix": "evil"}"#),
            ("p/.sinew/settings.json", r#"{"defaultModel": "!evil"}"#),
            ("p/.sinew/settings.json", r#"{"maxTurns": 3}"#),
            ("p/.sinew/settings.json", r#"{"permissions": {"deny": [], "allow": ["bash"]}}"#),
        ];
        for (file, text) in changes {
            stage.write(file, text);
            stage.is(TrustState::Changed);
            stage.look().remember(&stage.file(), false).unwrap();
            stage.is(TrustState::Refused);
        }
        fs::remove_file(stage.0.path().join("p/.mcp.json")).unwrap();
        stage.is(TrustState::Changed);
        let variables = [("OPENAI_API_KEY".to_string(), "k".to_string())];
        let with = Project::look(&stage.0.path().join("p"), &variables);
        assert_ne!(with.digest, stage.look().digest);
    }

    #[test]
    fn imports_out_of_the_project_need_trust() {
        let stage = Stage::new();
        stage.write("outside/key", "private");
        stage.write("outside/other", "private too");
        stage.write("p/own.md", "x");
        stage.write("p/AGENTS.md", "Read @own.md and `@../outside/key`.");
        stage.is(TrustState::Harmless);
        stage.write("p/own.md", "See @../outside/key.");
        stage.is(TrustState::Unknown);
        let files = stage.look();
        assert!(files.files()[0].starts_with("the import of ") && files.files()[0].ends_with("outside/key"));
        files.remember(&stage.file(), true).unwrap();
        stage.is(TrustState::Trusted);
        stage.write("p/own.md", "See @../outside/key and @../outside/other.");
        stage.is(TrustState::Changed);
    }

    #[test]
    fn servers_of_parent_directories_need_trust() {
        let stage = Stage::new();
        stage.write("p/x", "");
        stage.write(".mcp.json", "{}");
        stage.is(TrustState::Harmless);
        fs::create_dir(stage.0.path().join(".git")).unwrap();
        stage.is(TrustState::Unknown);
        stage.look().remember(&stage.file(), true).unwrap();
        stage.is(TrustState::Trusted);
        stage.write(".mcp.json", "{ }");
        stage.is(TrustState::Changed);
    }

    #[cfg(unix)]
    #[test]
    fn answers_are_private_and_kept_by_the_real_path() {
        use std::os::unix::fs::PermissionsExt;
        let stage = Stage::new();
        stage.write("p/.mcp.json", "{}");
        stage.write("q/.mcp.json", "{}");
        std::os::unix::fs::symlink(stage.0.path().join("p"), stage.0.path().join("link")).unwrap();
        let at = |name: &str| Project::look(&stage.0.path().join(name), &[]);
        at("link").remember(&stage.file(), true).unwrap();
        stage.is(TrustState::Trusted);
        assert_eq!(at("q").standing(&stage.file()).unwrap(), TrustState::Unknown);
        at("q").remember(&stage.file(), false).unwrap();
        stage.is(TrustState::Trusted);
        assert_eq!(fs::metadata(stage.file()).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn unreadable_files_are_not_trusted() {
        let stage = Stage::new();
        stage.write("p/.sinew/hooks.json/x", "a folder");
        assert_eq!(stage.look().files(), [".sinew/hooks.json"]);
        stage.write("home/trust.json", "{oops");
        assert!(stage.look().standing(&stage.file()).unwrap_err().message().contains("trust.json"));
        assert!(stage.look().remember(&stage.file(), true).is_err());
        assert_eq!(fs::read_to_string(stage.file()).unwrap(), "{oops");
    }

    #[test]
    fn too_many_files_are_never_trusted() {
        let stage = Stage::new();
        for n in 0..=MOST_FILES {
            stage.write(&format!("p/.sinew/extensions/{n}"), "");
        }
        stage.is(TrustState::Unknown);
        assert!(stage.look().remember(&stage.file(), true).is_err());
    }
}
