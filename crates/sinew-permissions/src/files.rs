//! The files that rules deny, as entries of a sandbox policy, so that the kernel enforces the rules for programs too.

use sinew_tools::semantics::{Effects, ToolKind};
use sinew_tools::{names_of, restricting_names};

use super::paths::is_bare;
use super::rules::{Rule, Rules};

/// The files of deny rules, as paths and globs of a sandbox policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeniedFiles {
    /// Files that must not be read.
    pub read: Vec<String>,
    /// Files that must not be written.
    pub write: Vec<String>,
}

/// The result of the rules for a permission that is not a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A deny rule names it.
    Denied,
    /// An allow rule names it.
    Allowed,
    /// No rule names it, or an ask rule does.
    Asked,
}

impl Rules {
    /// Returns the files that deny rules name. Rules without brackets are skipped, because they deny tools and not
    /// files.
    #[must_use]
    pub fn denied_files(&self) -> DeniedFiles {
        let of = |effects: Effects| -> Vec<&str> {
            let runs_programs = |rule: &Rule| names_of(ToolKind::Execute).any(|name| rule.tool.fits(name));
            let names = restricting_names(effects);
            let is_about = |rule: &&Rule| names.iter().any(|name| rule.tool.fits(name)) && !runs_programs(rule);
            self.deny.iter().filter(is_about).filter_map(|rule| rule.inner.as_deref()).collect()
        };
        let read = of(Effects { reads_files: true, ..Effects::NONE });
        let write = of(Effects { writes_files: true, ..Effects::NONE });
        DeniedFiles {
            read: read.into_iter().map(entry).collect(),
            write: write.into_iter().flat_map(|inner| std::iter::once(entry(inner)).chain(entry_here(inner))).collect(),
        }
    }

    /// Returns the result for a permission such as `sandbox(off)`.
    #[must_use]
    pub fn verdict_on(&self, name: &str, inner: &str) -> Verdict {
        let names = |rule: &Rule| rule.tool.fits(name) && rule.inner.as_deref().is_none_or(|own| own == inner);
        if self.deny.iter().any(names) {
            Verdict::Denied
        } else if self.granted.iter().any(names) || self.allow.iter().any(names) && !self.ask.iter().any(names) {
            Verdict::Allowed
        } else {
            Verdict::Asked
        }
    }
}

/// Converts the pattern of a rule to an entry of a sandbox policy. Brackets and braces are literal in a rule.
fn entry(inner: &str) -> String {
    let folder = inner.strip_suffix("/**").filter(|folder| !folder.is_empty() && *folder != "**");
    let inner = folder.unwrap_or(inner);
    let text = if is_bare(inner) { format!("**/{inner}") } else { inner.to_string() };
    if !text.contains(['*', '?']) {
        return text;
    }
    text.chars().fold(String::new(), |mut out, letter| {
        match letter {
            '[' | '{' => out.extend(['[', letter, ']']),
            letter => out.push(letter),
        }
        out
    })
}

/// Returns the file of a bare name in the session's folder. A glob covers existing files only, and this file may be
/// missing.
fn entry_here(inner: &str) -> Option<String> {
    (is_bare(inner) && !inner.contains(['*', '?'])).then(|| format!("./{inner}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn denied_files_become_sandbox_entries() {
        for (rule, read, write) in [
            ("read(.env)", &["**/.env"][..], &[][..]),
            ("read(~/.ssh/**)", &["~/.ssh"], &[]),
            ("write(/etc/**)", &[], &["/etc"]),
            ("edit(src/*.rs)", &[], &["src/*.rs"]),
            ("write(made.txt)", &[], &["**/made.txt", "./made.txt"]),
            ("write(*.txt)", &[], &["**/*.txt"]),
            ("read(app/[id]/page)", &["app/[id]/page"], &[]),
            ("read(app/[id]/*)", &["app/[[]id]/*"], &[]),
            ("read(**/x)", &["**/x"], &[]),
            ("read", &[], &[]),
            ("bash(rm*)", &[], &[]),
            ("*", &[], &[]),
            ("*(secret)", &[], &[]),
        ] {
            let (rules, faults) = Rules::read(&json!({"deny": [rule]}));
            assert_eq!(faults, Vec::<String>::new());
            let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(rules.denied_files(), DeniedFiles { read: owned(read), write: owned(write) }, "{rule}");
        }
    }

    #[test]
    fn a_permission_is_denied_allowed_or_asked_about() {
        for (rules, expect) in [
            (json!({"deny": ["sandbox(off)"], "allow": ["sandbox(off)"]}), Verdict::Denied),
            (json!({"deny": ["sandbox"]}), Verdict::Denied),
            (json!({"allow": ["sandbox(off)"]}), Verdict::Allowed),
            (json!({"allow": ["sandbox(off)"], "ask": ["sandbox"]}), Verdict::Asked),
            (json!({"allow": ["bash(*)"]}), Verdict::Asked),
        ] {
            assert_eq!(Rules::read(&rules).0.verdict_on("sandbox", "off"), expect, "{rules}");
        }
    }
}
