//! The user's files of Sinew itself: keys, settings, hooks, servers and sessions. The model's tools neither read nor change
//! them, unless a rule that allows names them.
//!
//! Tools that take a path are judged by it, and again by what they opened. A line of `bash` is judged by its words: a path
//! that a program puts together by itself is not seen.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use sinew_llm::message::ToolCall;
use sinew_tools::{PathCheck, semantics};

use super::paths;
use super::paths::Depth;
use super::pattern::Pattern;
use super::rules::{Rule, Rules, SessionView, Subject};

/// Texts for the model in the user's folder: tools may read and write them.
const TEXTS: [&str; 9] =
    ["AGENTS.md", "CLAUDE.md", "SYSTEM.md", "APPEND_SYSTEM.md", "skills", "commands", "prompts", "rules", "agents"];
/// Files of the user's folder that guard, or hold keys: looked for beside that folder too, and under other names.
const GUARDS: [&str; 10] = [
    "auth.json",
    "mcp-auth.json",
    "settings.json",
    "hooks.json",
    "mcp.json",
    "models.json",
    "secrets.json",
    "secrets.key",
    "trust.json",
    ".env",
];
/// Signs that end a word of a command line, whatever they mean there.
const BETWEEN: &str = ";|&()<>=,:`{}[]";

/// The files of Sinew itself.
#[derive(Debug, Default)]
pub struct OwnFiles {
    /// Each folder as it is written and as its links lead: the home, the user's folder in it, the one of sessions.
    home: Vec<PathBuf>,
    agent: Vec<PathBuf>,
    sessions: Vec<PathBuf>,
    /// Folders of the open sessions' artifacts, which tools use.
    open: RwLock<Vec<PathBuf>>,
}

impl OwnFiles {
    /// The files below `home` (`~/.sinew`), whose folder `agent` has all but the texts for the model, and in `sessions`.
    #[must_use]
    pub fn new(home: &Path, agent: &Path, sessions: Option<&Path>) -> OwnFiles {
        let both = |path: &Path| vec![path.to_path_buf(), paths::real(path)];
        let sessions = sessions.map(both).unwrap_or_default();
        OwnFiles { home: both(home), agent: both(agent), sessions, open: RwLock::default() }
    }

    /// Lets tools use the artifacts of a session.
    pub fn open(&self, folder: &Path) {
        self.open.write().extend([folder.to_path_buf(), paths::real(folder)]);
    }

    fn holds(&self, path: &Path) -> bool {
        if self.open.read().iter().any(|folder| path.starts_with(folder)) {
            return false;
        }
        let is_text = |rest: &Path| rest.iter().next().is_none_or(|first| TEXTS.iter().any(|text| first == *text));
        let is_guard = |rest: &Path| GUARDS.iter().any(|name| rest == Path::new(name));
        self.agent.iter().filter_map(|root| path.strip_prefix(root).ok()).any(|rest| !is_text(rest))
            || self.home.iter().filter_map(|root| path.strip_prefix(root).ok()).any(is_guard)
            || self.sessions.iter().any(|root| path.starts_with(root))
    }

    /// Returns true if a file of several names is one of those that guard.
    #[cfg(unix)]
    fn is_link(&self, facts: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        let same = |other: Metadata| (other.dev(), other.ino()) == (facts.dev(), facts.ino());
        let names = self.agent.iter().flat_map(|folder| GUARDS.iter().map(move |name| folder.join(name)));
        facts.is_file() && facts.nlink() > 1 && names.into_iter().any(|path| std::fs::metadata(path).is_ok_and(same))
    }

    #[cfg(not(unix))]
    fn is_link(&self, _: &Metadata) -> bool {
        false
    }

    /// Returns the first path of a call that is one of these files; none where the call may run.
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

    /// Returns the first word of a command line that names one of these files, or a folder that has them all.
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

    /// Returns true if a word means one of these files. With `whole`, also a folder that has them all, and a name or a
    /// pattern that another folder could make one of them.
    fn meets(&self, word: &str, cwd: &Path, home: Option<&Path>, whole: bool) -> bool {
        let spelled = sinew_tools::spelled(home, cwd, word);
        let is_root = |path: &PathBuf| whole && (self.home.contains(path) || self.agent.contains(path));
        let meets = |path: &PathBuf| self.holds(path) || is_root(path);
        if spelled.iter().any(|path| meets(path) || meets(&paths::real(path))) {
            return true;
        }
        whole && (self.ends_below(word) || spelled.iter().any(|path| self.fits_pattern(path)))
    }

    /// `x/.sinew/agent/auth.json`, where `x` is known only when the line runs.
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
        // The pattern of a shell means a hidden name only where it has the dot.
        if !text.contains(['*', '?']) || is_hidden && !text.contains("/.") {
            return false;
        }
        let pattern = Pattern::path(&text);
        let files = self.agent.iter().flat_map(|root| {
            let names = GUARDS.iter().chain(&["sessions"]).map(move |name| root.join(name));
            names.chain(root.ancestors().take(2).map(Path::to_path_buf))
        });
        files.into_iter().any(|path| pattern.fits_path(&path))
    }

    /// Says why a call may not run; none where it names none of these files, or a rule that allows names them.
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

    /// Returns true if a rule means these files, and not just every file.
    fn is_named(&self, rule: &Rule, cwd: &Path, home: Option<&Path>) -> bool {
        let Some(inner) = &rule.inner else { return false };
        let plain = inner.split(['*', '?']).next().unwrap_or_default();
        let below = |path: &PathBuf| self.home.iter().chain(&self.sessions).any(|root| path.starts_with(root));
        self.in_line(inner, cwd, home).is_some() || sinew_tools::spelled(home, cwd, plain).iter().any(below)
    }
}

/// The refusal of a path, with the way out.
fn refused(path: &str, example: &str) -> String {
    format!(
        "Denied: {path} is one of Sinew's own files (keys, settings, hooks, servers, sessions), which tools do not use by \
         default. Only the user can allow it, by a rule that names it: --allow '{example}', or the same in \
         permissions.allow of settings.json."
    )
}

/// The check of what tools open: `inner`, and these files.
struct OwnCheck {
    own: Arc<OwnFiles>,
    inner: Option<Arc<dyn PathCheck>>,
    /// Patterns of the rules that allow and that name these files.
    named: Vec<Pattern>,
    tool: String,
}

/// Adds these files to a check of what `tool` opens.
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
    fn no_tool_takes_the_path_of_an_own_file() {
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
    fn no_word_of_a_command_is_an_own_file() {
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
    fn another_name_of_a_key_file_is_not_opened() {
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
        // The user attaches what he likes.
        assert!(permissions.path_check("read", None, &root.join("w")).is_none());
    }
}
