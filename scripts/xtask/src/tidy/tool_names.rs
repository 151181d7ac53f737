//! Names of built-in tools outside of the tools' own modules. A tool describes itself (`sinew_tools::semantics`): code that
//! asks for a name instead misses the next tool, and still matches one that was renamed.

use std::collections::BTreeSet;

use super::source::{Excusable, code, without_tests};

/// The crates above the tools.
const CRATES: [&str; 8] = [
    "sinew-acp",
    "sinew-agent",
    "sinew-cli",
    "sinew-control",
    "sinew-export",
    "sinew-interactive",
    "sinew-permissions",
    "sinew-session",
];

/// Finds the texts in the crates above the tools that are the name of one.
pub(super) fn find(files: &[(String, String)]) -> Vec<Excusable> {
    let names = tools(files);
    let mut found = BTreeSet::new();
    for (path, text) in files.iter().filter(|(path, _)| is_above(path)) {
        let kept = without_tests(&code(text)).0;
        // Code that only tests use is at the end of a file.
        let lines = kept.trim_end().lines().count();
        for line in text.lines().take(lines).filter(|line| !line.trim_start().starts_with("//")) {
            found.extend(
                literals(line).filter(|word| names.contains(*word)).map(|word| (path.clone(), word.to_string())),
            );
        }
    }
    let entry = |(path, word): (String, String)| {
        let sentence = format!(
            "{path}: \"{word}\" is the name of a tool, which only its own module knows; read its semantics, or say in \
             allowed.txt what else the word means"
        );
        (format!("tool {path} {word}"), sentence)
    };
    found.into_iter().map(entry).collect()
}

/// The names that the tools give themselves.
fn tools(files: &[(String, String)]) -> BTreeSet<&str> {
    let specs = files.iter().filter(|(path, _)| path.starts_with("crates/sinew-tools/src/"));
    let names = specs.filter_map(|(_, text)| {
        let spec = text.split_once("SPEC: Spec = Spec {")?.1;
        spec.split_once("name: \"")?.1.split('"').next()
    });
    names.collect()
}

fn is_above(path: &str) -> bool {
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
    CRATES.iter().any(|name| path.starts_with(&format!("crates/{name}/src/"))) && !is_test
}

/// The plain texts between quotes in a line, before a comment.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split(" // ").next().unwrap_or_default().split('"').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_tool_is_found_outside_of_its_module() {
        let files = [
            ("crates/sinew-tools/src/bash/mod.rs", "pub static SPEC: Spec = Spec {\n    name: \"bash\",\n};"),
            ("crates/sinew-tools/src/read.rs", "static SPEC: Spec = Spec {\n    name: \"read\",\n};"),
            (
                "crates/sinew-agent/src/a.rs",
                "fn a() {\n    b == \"bash\" // \"read\"\n}\n#[cfg(test)]\nmod tests {\n \"read\"\n}\n",
            ),
            ("crates/sinew-agent/src/tests.rs", "\"bash\""),
            ("crates/sinew-llm/src/a.rs", "\"bash\""),
            ("crates/sinew-cli/src/b.rs", "// \"bash\"\nc(\"bashful\")"),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        let keys: Vec<String> = find(&files).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["tool crates/sinew-agent/src/a.rs bash"]);
    }
}
