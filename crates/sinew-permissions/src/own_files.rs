//! The user's own files of Sinew: keys, settings, hooks, servers and sessions. Tools of the model can neither read nor
//! change them, unless an allow rule names them.
//!
//! Tools with a path argument are checked before the call, and again for the file that they opened. A `bash` line is
//! checked by its words; a path that a program builds by itself is not detected.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use sinew::sandbox::OWN_FILES;
use sinew_llm::message::ToolCall;
use sinew_tools::{PathCheck, semantics};

use super::paths;
use super::paths::Depth;
use super::pattern::Pattern;
use super::rules::{Rule, Rules, SessionView, Subject};

/// Texts for the model in the user's folder, which tools may read and write.
const TEXTS: [&str; 9] =
    ["AGENTS.md", "CLAUDE.md", "SYSTEM.md", "APPEND_SYSTEM.md", "skills", "commands", "prompts", "rules", "agents"];
/// Characters that end a word of a command line, regardless of their meaning there.
const BETWEEN: &str = ";|&()<>=,:`{}[]";

/// The protected files of Sinew.
#[derive(Debug, Default)]
pub struct OwnFiles {
    /// Each folder as written and with links resolved: the home, the user's folder in it, and the folder of sessions.
    home: Vec<PathBuf>,
    agent: Vec<PathBuf>,
    sessions: Vec<PathBuf>,
    /// The artifact folders of the open sessions, which tools may use.
    open: RwLock<Vec<PathBuf>>,
}

impl OwnFiles {
    /// Protects the files below `home` (`~/.sinew`) and in `sessions`. The texts for the model in the folder `agent`
    /// are not protected.
    #[must_use]
    pub fn new(home: &Path, agent: &Path, sessions: Option<&Path>) -> OwnFiles {
        let both = |path: &Path| vec![path.to_path_buf(), paths::real(path)];
        let sessions = sessions.map(both).unwrap_or_default();
        OwnFiles { home: both(home), agent: both(agent), sessions, open: RwLock::default() }
    }

    /// Allows tools to use the artifacts in the folder of a session.
    pub fn open(&self, folder: &Path) {
        self.open.write().extend([folder.to_path_buf(), paths::real(folder)]);
    }

    fn holds(&self, path: &Path) -> bool {
        if self.open.read().iter().any(|folder| path.starts_with(folder)) {
            return false;
        }
        let is_text = |rest: &Path| rest.iter().next().is_none_or(|first| TEXTS.iter().any(|text| first == *text));
        let is_guard = |rest: &Path| OWN_FILES.iter().any(|name| rest == Path::new(name));
        self.agent.iter().filter_map(|root| path.strip_prefix(root).ok()).any(|rest| !is_text(rest))
            || self.home.iter().filter_map(|root| path.strip_prefix(root).ok()).any(is_guard)
            || self.sessions.iter().any(|root| path.starts_with(root))
    }

    /// Returns true if a file with several hard links is a protected one.
    #[cfg(unix)]
    fn is_link(&self, facts: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        let same = |other: Metadata| (other.dev(), other.ino()) == (facts.dev(), facts.ino());
        let names = self.agent.iter().flat_map(|folder| OWN_FILES.iter().map(move |name| folder.join(name)));
        facts.is_file() && facts.nlink() > 1 && names.into_iter().any(|path| std::fs::metadata(path).is_ok_and(same))
    }

    #[cfg(not(unix))]
    fn is_link(&self, _: &Metadata) -> bool {
        false
    }

    /// Returns the first argument of a call that names a protected file; `None` if there is none.
    fn named_by(&self, call: &ToolCall, cwd: &Path, home: Option<&Path>) -> Option<String> {
        let subjects = (sinew_tools::semantics_of(&call.name).subjects)(&call.arguments);
        subjects.into_iter().find_map(|subject| match subject {
            semantics::Subject::Path { path, .. } | semantics::Subject::OtherPath(path) => {
                self.meets(&path, cwd, home, false).then_some(path)
            }
            semantics::Subject::Command { command, cwd: folder, env } => {
                let spelled = sinew_tools::spelled(home, cwd, folder.as_deref().unwrap_or("."));
                let cwd = spelled.into_iter().next().unwrap_or_else(|| cwd.to_path_buf());
                let mut lines = env.iter().map(|(_, value)| value).chain([&command]).chain(&folder);
                lines.find_map(|line| self.in_line(line, &cwd, home))
            }
            semantics::Subject::Url(_) => None,
        })
    }

    /// Returns the first word of a command line that names a protected file, or a folder that contains all of them.
    fn in_line(&self, line: &str, cwd: &Path, home: Option<&Path>) -> Option<String> {
        let mut line: String = line.chars().filter(|letter| !"'\"\\".contains(*letter)).collect();
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        for (name, path) in [("HOME", home), ("SINEW_HOME", self.home.first().map(PathBuf::as_path))] {
            let Some(path) = path.map(shown) else { continue };
            line = line.replace(&format!("${{{name}}}"), &path).replace(&format!("${name}"), &path);
        }
        let words = line.split(|letter: char| letter.is_whitespace() || BETWEEN.contains(letter));
        let mut words = words.filter(|word| !word.is_empty());
        words.find(|word| self.meets(word, cwd, home, true)).map(str::to_string)
    }

    /// Returns true if a word may name a protected file. With `whole`, this includes a folder that contains all of
    /// them, and names or patterns that could match one of them in another folder.
    fn meets(&self, word: &str, cwd: &Path, home: Option<&Path>, whole: bool) -> bool {
        let spelled = sinew_tools::spelled(home, cwd, word);
        let is_root = |path: &PathBuf| whole && (self.home.contains(path) || self.agent.contains(path));
        let meets = |path: &PathBuf| self.holds(path) || is_root(path);
        // Tools compare the file that they opened; a line of bash opens its files itself.
        let is_other_name = |path: &PathBuf| whole && std::fs::metadata(path).is_ok_and(|facts| self.is_link(&facts));
        if spelled.iter().any(|path| meets(path) || meets(&paths::real(path)) || is_other_name(path)) {
            return true;
        }
        whole && (self.ends_below(word) || spelled.iter().any(|path| self.fits_pattern(path)))
    }

    /// Returns true for words like `x/.sinew/agent/auth.json`, where `x` is only known when the line runs.
    fn ends_below(&self, word: &str) -> bool {
        let (Some(home), Some(agent)) = (self.home.first(), self.agent.first()) else { return false };
        let Some(tail) = home.file_name().filter(|name| name.to_string_lossy().starts_with('.')) else { return false };
        let Ok(below) = agent.strip_prefix(home) else { return false };
        let tail = Path::new(tail).join(below);
        let marks = tail.to_string_lossy();
        let found = word.match_indices(&*marks).filter(|(at, _)| *at == 0 || word[..*at].ends_with('/'));
        found.map(|(at, _)| &word[at + marks.len()..]).any(|rest| match rest.strip_prefix('/') {
            Some(below) => below.is_empty() || self.holds(&agent.join(below)),
            None => rest.is_empty(),
        })
    }

    fn fits_pattern(&self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        let is_hidden = self
            .home
            .first()
            .and_then(|home| home.file_name())
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        // A shell pattern matches hidden names only if it contains the dot.
        if !text.contains(['*', '?']) || is_hidden && !text.contains("/.") {
            return false;
        }
        let pattern = Pattern::path(&text);
        let files = self.agent.iter().flat_map(|root| {
            let names = OWN_FILES.iter().chain(&["sessions"]).map(move |name| root.join(name));
            names.chain(root.ancestors().take(2).map(Path::to_path_buf))
        });
        files.into_iter().any(|path| pattern.fits_path(&path))
    }

    /// Returns why a call is refused; `None` if it names no protected file, or if an allow rule names the file.
    pub(super) fn refusal(&self, rules: &Rules, call: &ToolCall, view: SessionView<'_>) -> Option<String> {
        let SessionView { cwd, home, .. } = view;
        let word = self.named_by(call, cwd, home)?;
        let subject = Subject::of(call, view);
        let allows = |rule: &Rule| self.is_named(rule, cwd, home) && rule.covers(call, &subject);
        if rules.granted.iter().chain(&rules.allow).any(allows) {
            return None;
        }
        let inner = if matches!(subject, Subject::Line(_)) { "COMMAND" } else { &word };
        Some(refused(&word, &format!("{}({inner})", call.name)))
    }

    /// Returns true if a rule names these files specifically, and not just every file.
    fn is_named(&self, rule: &Rule, cwd: &Path, home: Option<&Path>) -> bool {
        let Some(inner) = &rule.inner else { return false };
        let plain = inner.split(['*', '?']).next().unwrap_or_default();
        let below = |path: &PathBuf| self.home.iter().chain(&self.sessions).any(|root| path.starts_with(root));
        self.in_line(inner, cwd, home).is_some() || sinew_tools::spelled(home, cwd, plain).iter().any(below)
    }
}

/// Returns the refusal of a path, with the rule that would allow it.
fn refused(path: &str, example: &str) -> String {
    format!(
        "Denied: {path} is one of Sinew's own files (keys, settings, hooks, servers, sessions), which tools do not use by \
         default. Only the user can allow it, by a rule that names it: --allow '{example}', or the same in \
         permissions.allow of settings.json."
    )
}

/// A path check that extends `inner` by the protected files.
struct OwnCheck {
    own: Arc<OwnFiles>,
    inner: Option<Arc<dyn PathCheck>>,
    /// The patterns of allow rules that name these files.
    named: Vec<Pattern>,
    tool: String,
}

/// Extends the path check of `tool` by the protected files.
pub(super) fn check(
    own: &Arc<OwnFiles>,
    rules: &Rules,
    tool: &str,
    cwd: &Path,
    home: Option<&Path>,
    inner: Option<Arc<dyn PathCheck>>,
) -> Arc<dyn PathCheck> {
    let is_meant = |rule: &&Rule| rule.allows_tool(tool) && own.is_named(rule, cwd, home);
    let rules = rules.granted.iter().chain(&rules.allow).filter(is_meant);
    let named =
        rules.filter_map(|rule| rule.inner.as_ref()).flat_map(|inner| paths::patterns(inner, cwd, home, Depth::Here));
    Arc::new(OwnCheck { own: Arc::clone(own), inner, named: named.collect(), tool: tool.to_string() })
}

impl PathCheck for OwnCheck {
    fn check(&self, path: &Path, facts: Option<&Metadata>) -> Result<(), String> {
        if let Some(inner) = &self.inner {
            inner.check(path, facts)?;
        }
        let is_own = self.own.holds(path) || facts.is_some_and(|facts| self.own.is_link(facts));
        if is_own && !self.named.iter().any(|pattern| pattern.fits_path(path)) {
            let path = path.to_string_lossy();
            return Err(refused(&path, &format!("{}({path})", self.tool)));
        }
        Ok(())
    }

    fn allows_below(&self, folder: &Path) -> bool {
        let apart = |root: &PathBuf| !root.starts_with(folder) && !folder.starts_with(root);
        let own = &self.own;
        own.home.iter().chain(&own.agent).chain(&own.sessions).all(apart)
            && self.inner.as_ref().is_none_or(|inner| inner.allows_below(folder))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Permissions;
    use super::super::ShellState;
    use super::*;

    const HOME: &str = "/u";
    const CWD: &str = "/w";

    fn own() -> Arc<OwnFiles> {
        let own = OwnFiles::new(Path::new("/u/.sinew"), Path::new("/u/.sinew/agent"), Some(Path::new("/kept")));
        own.open(Path::new("/u/.sinew/agent/sessions/w/1"));
        Arc::new(own)
    }

    fn refusal(rules: &Rules, tool: &str, arguments: Value) -> Option<String> {
        let call = ToolCall { id: "1".into(), name: tool.into(), arguments, ..ToolCall::default() };
        let shell = ShellState::default();
        own().refusal(rules, &call, SessionView { cwd: Path::new(CWD), home: Some(Path::new(HOME)), shell: &shell })
    }

    #[test]
    fn tools_refuse_paths_of_own_files() {
        for (path, refused) in [
            ("~/.sinew/agent/auth.json", true),
            ("/u/.sinew/agent/settings.json", true),
            ("../u/.sinew/agent/hooks.json", true),
            ("~/.sinew/agent/skills/../mcp.json", true),
            ("file:///u/.sinew/agent/secrets.key", true),
            ("~/.sinew/agent/sessions", true),
            ("~/.sinew/agent/sessions/w/2/0.bash.log", true),
            ("~/.sinew/settings.json", true),
            ("/kept/a.jsonl", true),
            ("~/.sinew/agent/sessions/w/1/0.bash.log", false),
            ("~/.sinew/agent/skills/a/SKILL.md", false),
            ("~/.sinew/agent/AGENTS.md", false),
            ("~/.sinew/agent", false),
            (".sinew/settings.json", false),
            ("auth.json", false),
            ("settings.json", false),
        ] {
            for tool in ["read", "write", "edit", "grep", "find", "ls", "mcp_files_read"] {
                let refusal = refusal(&Rules::default(), tool, json!({"path": path}));
                assert_eq!(refusal.is_some(), refused, "{tool} {path}: {refusal:?}");
            }
        }
        let text = refusal(&Rules::default(), "read", json!({"path": "~/.sinew/agent/auth.json"})).unwrap();
        assert!(text.contains("--allow 'read(~/.sinew/agent/auth.json)'"), "{text}");
    }

    #[test]
    fn commands_that_name_own_files_are_refused() {
        for (command, refused) in [
            ("cat ~/.sinew/agent/auth.json", true),
            ("cat \"$HOME/.sinew/agent/auth.json\"", true),
            ("cat ${HOME}/.sinew/agent/a*", true),
            ("cat $SINEW_HOME/agent/settings.json", true),
            ("cat ~/.si''new/ag\\ent/auth.json", true),
            ("cat ~/.s*/a*/auth.json", true),
            ("cat ~/.sinew/agent/*.json", true),
            ("cp -r ~/.sinew /tmp/x", true),
            ("tar c -C ~ .sinew/agent", true),
            ("cd ~; cat .sinew/agent/auth.json", true),
            ("cat $x/.sinew/agent/auth.json", true),
            ("echo '{}' >~/.sinew/agent/hooks.json", true),
            ("dd if=/u/.sinew/agent/auth.json", true),
            ("cat</u/.sinew/agent/auth.json", true),
            ("scp h:/u/.sinew/agent/auth.json .", true),
            ("cat /w/../u/.sinew/agent/auth.json", true),
            ("ls ~/.sinew/agent/skills", false),
            ("cat ~/.sinew/agent/sessions/w/1/0.bash.log", false),
            ("cat .sinew/settings.json", false),
            ("cat auth.json settings.json", false),
            ("grep -r sinew .", false),
            ("cargo test -p sinew-agent", false),
            ("ls ~ ~/* /u", false),
            ("git commit -m 'agent: read auth.json'", false),
        ] {
            let refusal = refusal(&Rules::default(), "bash", json!({"command": command}));
            assert_eq!(refusal.is_some(), refused, "{command}: {refusal:?}");
        }
        for arguments in [
            json!({"command": "cat auth.json", "cwd": "~/.sinew/agent"}),
            json!({"command": "cat $F", "env": {"F": "/u/.sinew/agent/auth.json"}}),
        ] {
            assert!(refusal(&Rules::default(), "bash", arguments.clone()).is_some(), "{arguments}");
        }
    }

    #[test]
    fn a_rule_that_names_an_own_file_lets_tools_use_it() {
        let own_path = "~/.sinew/agent/settings.json";
        let read = json!({"path": own_path});
        let cat = json!({"command": "cat /u/.sinew/agent/settings.json"});
        for (rule, tool, arguments, runs) in [
            ("read(~/.sinew/agent/settings.json)", "read", &read, true),
            ("read(~/.sinew/**)", "read", &read, true),
            ("*(~/.sinew/**)", "edit", &read, true),
            ("bash(cat /u/.sinew/agent/settings.json)", "bash", &cat, true),
            ("bash(cat /u/.sinew/*)", "bash", &cat, true),
            ("read", "read", &read, false),
            ("read(**)", "read", &read, false),
            ("read(~/**)", "read", &read, false),
            ("bash(*)", "bash", &cat, false),
            ("bash(cat *)", "bash", &cat, false),
            ("write(~/.sinew/**)", "read", &read, false),
        ] {
            let (mut granted, allowed) = (Rules::default(), Rules::read(&json!({"allow": [rule]})).0);
            granted.grant(rule).unwrap();
            for rules in [granted, allowed] {
                assert_eq!(refusal(&rules, tool, arguments.clone()).is_none(), runs, "{rule} {tool}");
                if tool != "bash" {
                    let check = check(&own(), &rules, tool, Path::new(CWD), Some(Path::new(HOME)), None);
                    let opened = check.check(Path::new("/u/.sinew/agent/settings.json"), None);
                    assert_eq!(opened.is_ok(), runs, "{rule} {tool}");
                }
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_to_key_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".sinew/agent")).unwrap();
        std::fs::create_dir(root.join("w")).unwrap();
        std::fs::write(root.join(".sinew/agent/auth.json"), "{}").unwrap();
        std::fs::write(root.join("w/plain"), "").unwrap();
        std::fs::hard_link(root.join(".sinew/agent/auth.json"), root.join("w/hard")).unwrap();
        std::os::unix::fs::symlink(root.join(".sinew/agent/auth.json"), root.join("w/soft")).unwrap();
        let own = Arc::new(OwnFiles::new(&root.join(".sinew"), &root.join(".sinew/agent"), None));
        let permissions = Permissions::new(Rules::default(), Some(root.clone()), None).protecting(own);
        let check = permissions.path_check("read", Some("1"), &root.join("w")).unwrap();
        for (name, opens) in
            [("w/hard", false), ("w/soft", false), ("w/plain", true), (".sinew/agent/auth.json", false)]
        {
            let path = root.join(name).canonicalize().unwrap();
            let facts = std::fs::metadata(&path).unwrap();
            assert_eq!(check.check(&path, Some(&facts)).is_ok(), opens, "{name}");
        }
        assert!(check.allows_below(&root.join("w")) && !check.allows_below(&root));
        let own = OwnFiles::new(&root.join(".sinew"), &root.join(".sinew/agent"), None);
        let cwd = root.join("w");
        for (line, refused) in [("cat hard", true), ("echo x >hard", true), ("cat soft", true), ("cat plain", false)] {
            assert_eq!(own.in_line(line, &cwd, Some(&root)).is_some(), refused, "{line}");
        }
        // Files that the user attaches are not restricted.
        assert!(permissions.path_check("read", None, &root.join("w")).is_none());
    }
}
