//! The folders that a server may use: those of the session, and those in the arguments of its command.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sinew_mcp::{BoxFuture, ClientHost, Elicitation, ElicitationAnswer, McpError, Root};
use sinew_tools::child::Variables;

use super::config::{ServerConfig, Transport};

/// A host that adds folders to the roots of the session. File servers use the roots instead of the folders in their
/// arguments, so these must be included.
struct RootsHost {
    host: Arc<dyn ClientHost>,
    named: Vec<PathBuf>,
}

/// Returns the host of a server with the folders that its arguments name; `host` itself if they name none.
pub(super) fn with_roots(
    host: Arc<dyn ClientHost>,
    config: &ServerConfig,
    cwd: &Path,
    variables: &Variables,
) -> Arc<dyn ClientHost> {
    let Transport::Stdio { args, cwd: own, .. } = &config.transport else { return host };
    let cwd = own.as_ref().map_or_else(|| cwd.to_path_buf(), |own| cwd.join(own));
    let home = variables.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
    let named = named_folders(args, &cwd, home);
    if named.is_empty() { host } else { Arc::new(RootsHost { host, named }) }
}

/// Returns the folders among the arguments, including those after `--name=`. A bare word is not treated as a path.
fn named_folders(args: &[String], cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for arg in args {
        let text = match arg.split_once('=') {
            Some((flag, value)) if flag.starts_with('-') => value,
            _ => arg,
        };
        let path = match (text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ if text == "~" => home.unwrap_or(cwd).to_path_buf(),
            _ => cwd.join(text),
        };
        let is_path =
            text.contains('/') || text.contains(std::path::MAIN_SEPARATOR) || matches!(text, "." | ".." | "~");
        if is_path && path.is_dir() && !folders.contains(&path) {
            folders.push(path);
        }
    }
    folders
}

impl ClientHost for RootsHost {
    fn can_ask(&self) -> bool {
        self.host.can_ask()
    }

    fn starting(&self) -> BoxFuture<'static, ()> {
        self.host.starting()
    }

    fn elicit(&self, question: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        self.host.elicit(question)
    }

    fn roots(&self) -> Vec<Root> {
        let mut roots = self.host.roots();
        for folder in &self.named {
            let Ok(uri) = url::Url::from_file_path(folder).map(String::from) else { continue };
            if roots.iter().all(|root| root.uri != uri) {
                let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                roots.push(Root { uri, name });
            }
        }
        roots
    }

    fn exchanged(&self, method: &str, failure: Option<&McpError>, took: Duration) {
        self.host.exchanged(method, failure, took);
    }

    fn log(&self, line: &str) {
        self.host.log(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_distinguished_from_other_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["notes", "serve", "home/papers"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("file"), "").unwrap();
        let absolute = at("notes").to_string_lossy().into_owned();
        let home = at("home");
        let check = |args: &[&str], expect: &[PathBuf]| {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            assert_eq!(named_folders(&args, folder.path(), Some(&home)), expect, "{args:?}");
        };
        check(&["-y", "@modelcontextprotocol/server-filesystem", &absolute], &[at("notes")]);
        check(&["serve", "notes", "./file", "/not/there", "x=./notes"], &[]);
        check(&["./notes", &format!("--root={absolute}"), "--dir=./serve"], &[at("./notes"), at("./serve")]);
        check(&["~/papers", "~", "."], &[at("home/papers"), at("home"), at(".")]);
    }
}
