//! Holds what no compiler holds: what the table in `ARCHITECTURE.md` says of imports, the size of files, and that every
//! dependency of the workspace has a crate that uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A file of code longer than this has two things in one room.
const LONGEST: usize = 800;
/// A file of the mouth longer than this computes something.
const LONGEST_MOUTH: usize = 150;

/// Runs every check and reports all that is wrong.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut faults = Vec::new();
    let read =
        |name: &str| fs::read_to_string(root.join(name)).map_err(|cause| format!("failed to read {name}: {cause}"));
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|cause| format!("failed to start cargo: {cause}"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|cause| format!("cargo metadata: {cause}"))?;
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    layers(&table(&read("ARCHITECTURE.md")?), &packages, &mut faults);
    dependencies(&read("Cargo.toml")?, &packages, &mut faults);
    example(&read("native/src/README.md")?, &read("native/src/glob.rs")?, &mut faults);
    sizes(root, &mut faults)?;
    if faults.is_empty() { Ok(()) } else { Err(format!("not tidy:\n  {}", faults.join("\n  "))) }
}

/// What `ARCHITECTURE.md` says of a crate.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// Which of our crates it may import.
    imports: BTreeSet<String>,
    /// Whether it may import tokio.
    tokio: bool,
}

/// The table of `ARCHITECTURE.md`.
fn table(text: &str) -> BTreeMap<String, Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, _, name, _, imports, _, tokio, _] = cells[..] else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else { continue };
        let imports = match imports {
            "–" => BTreeSet::new(),
            "all" | "all above" => rows.keys().cloned().collect(),
            list => list.split(", ").map(full_name).collect(),
        };
        rows.insert(name.into(), Row { imports, tokio: tokio != "no" });
    }
    rows
}

fn full_name(short: &str) -> String {
    if short.starts_with("sinew") { short.into() } else { format!("sinew-{short}") }
}

/// Each crate stands in the table, imports what it may, and nothing else stands there.
fn layers(table: &BTreeMap<String, Row>, packages: &[Value], faults: &mut Vec<String>) {
    let name_of = |package: &Value| package["name"].as_str().unwrap_or_default().to_string();
    let names: BTreeSet<String> = packages.iter().map(name_of).filter(|name| name.starts_with("sinew")).collect();
    for row in table.keys().filter(|row| !names.contains(*row)) {
        faults.push(format!("ARCHITECTURE.md lists {row}, which is no crate"));
    }
    for package in packages {
        let name = name_of(package);
        let none = Row { imports: BTreeSet::new(), tokio: true };
        let row = match table.get(&name) {
            Some(row) => row,
            None if names.contains(&name) => {
                faults.push(format!("{name} is missing in the table of ARCHITECTURE.md"));
                continue;
            }
            None => &none,
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let import = dependency["name"].as_str().unwrap_or_default();
            if dependency["kind"].as_str() == Some("dev") {
                continue;
            }
            if import.starts_with("napi") && name != "sinew-node" {
                faults.push(format!("{name} imports {import}: only native/ knows N-API"));
            }
            if names.contains(import) && !row.imports.contains(import) {
                faults.push(format!("{name} may not import {import}: see the table of ARCHITECTURE.md"));
            }
            if import == "tokio" && !row.tokio {
                faults.push(format!("{name} may not import tokio: see the table of ARCHITECTURE.md"));
            }
        }
    }
}

/// Each dependency of the workspace is one of a crate.
fn dependencies(manifest: &str, packages: &[Value], faults: &mut Vec<String>) {
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| package["dependencies"].as_array().into_iter().flatten())
        .flat_map(|dependency| [dependency["name"].as_str(), dependency["rename"].as_str()])
        .flatten()
        .collect();
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap_or_default();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    let names = lines.filter(|line| !line.starts_with('#')).filter_map(|line| Some(line.split_once('=')?.0.trim()));
    for name in names.filter(|name| !used.contains(name)) {
        faults.push(format!("Cargo.toml lists {name} among the dependencies of the workspace, and no crate has it"));
    }
}

/// The example of how an export is added is the code that it shows.
fn example(text: &str, code: &str, faults: &mut Vec<String>) {
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("rust\n"));
    for line in blocks.flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty()) {
        if !code.lines().any(|known| known.trim() == line) {
            faults.push(format!("native/src/README.md shows `{line}`, which native/src/glob.rs does not have"));
        }
    }
}

fn sizes(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.rs", "*.ts", "*.mjs"])
        .current_dir(root)
        .output()
        .map_err(|cause| format!("failed to start git: {cause}"))?;
    for path in String::from_utf8_lossy(&output.stdout).lines() {
        // A file that was removed is still in git's list until the removal is committed.
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        if reads_environment(path, &text) {
            faults.push(format!("{path} reads an environment variable: libraries get values (invariant 3)"));
        }
        let lines = text.lines().count();
        let most = if path.starts_with("native/src/") { LONGEST_MOUTH } else { LONGEST };
        if lines > most && !path.ends_with(".d.ts") {
            faults.push(format!("{path} has {lines} lines, more than {most}: which two things live in one room?"));
        }
    }
    Ok(())
}

/// Whether a file of a library, outside of its tests, reads an environment variable.
fn reads_environment(path: &str, text: &str) -> bool {
    let program = ["sinew-cli", "sinew-testkit"].iter().any(|name| path.starts_with(&format!("crates/{name}/")));
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let library = path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("tests.rs") && !program;
    library && (code.contains("env::var") || code.contains("env::home_dir"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLE: &str = "\
| layer | crate | purpose | may import | world | tokio |
|---|---|---|---|---|---|
| 0 | `sinew-base` | words | – | clock | no |
| 1 | `sinew-walk` | walk; its `sinew-host` | base | fs | no |
| 3 | `sinew` | façade | all above | – | – |
| 4 | `sinew-llm` | net | base | net | yes |
";

    #[track_caller]
    fn check(packages: &[(&str, &[&str])], expect: &[&str]) {
        let named = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
        let package = |(name, imports): &(&str, &[&str])| json!({"name": name, "dependencies": named(imports)});
        let mut faults = Vec::new();
        layers(&table(TABLE), &packages.iter().map(package).collect::<Vec<_>>(), &mut faults);
        assert_eq!(faults.len(), expect.len(), "{faults:?}");
        assert!(faults.iter().zip(expect).all(|(fault, part)| fault.contains(part)), "{faults:?}");
    }

    #[test]
    fn what_the_table_says_is_held() {
        let walk: (&str, &[&str]) = ("sinew-walk", &["sinew-base", "regex"]);
        let all: [(&str, &[&str]); 5] =
            [("sinew-base", &[]), walk, ("sinew", &["sinew-walk"]), ("sinew-llm", &["tokio"]), ("xtask", &["regex"])];
        check(&all, &[]);
        let with = |at: usize, imports: &'static [&'static str]| {
            let mut some = all;
            some[at].1 = imports;
            some
        };
        check(&with(0, &["sinew-walk"]), &["sinew-base may not import sinew-walk"]);
        check(&with(1, &["tokio", "napi"]), &["sinew-walk may not import tokio", "only native/ knows N-API"]);
        check(&with(3, &["sinew"]), &["sinew-llm may not import sinew:"]);
        check(&with(4, &["sinew-base"]), &["xtask may not import sinew-base"]);
        check(&all[1..], &["lists sinew-base, which is no crate"]);
        check(&[&all[..], &[("sinew-new", &[])]].concat(), &["sinew-new is missing in the table"]);
    }

    #[test]
    fn only_programs_read_the_environment() {
        let reads = "fn a() {\n    std::env::var(\"A\");\n}\n";
        assert!(reads_environment("crates/sinew-llm/src/http.rs", reads));
        for (path, text) in [
            ("crates/sinew-cli/src/main.rs", reads.to_string()),
            ("crates/sinew-llm/build.rs", reads.to_string()),
            ("crates/sinew-llm/src/http/tests.rs", reads.to_string()),
            ("crates/sinew-llm/src/http.rs", format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{reads}}}\n")),
            ("native/src/lib.rs", reads.to_string()),
        ] {
            assert!(!reads_environment(path, &text), "{path}");
        }
    }

    #[test]
    fn an_example_is_the_code_that_it_shows() {
        let mut faults = Vec::new();
        example("a\n ```rust\n   fn a() {\n       b();\n   }\n ```\nb `c`\n", "fn a() {\n    c();\n}\n", &mut faults);
        assert_eq!(faults, ["native/src/README.md shows `b();`, which native/src/glob.rs does not have"]);
    }

    #[test]
    fn a_dependency_that_no_crate_has_is_named() {
        let manifest = "[workspace.dependencies]\n# Words.\nregex = \"1\"\nlexer = \"0.3\" # reason\n[lints]\nx = 1\n";
        let mut faults = Vec::new();
        dependencies(manifest, &[json!({"name": "a", "dependencies": [{"name": "regex"}]})], &mut faults);
        assert_eq!(faults, ["Cargo.toml lists lexer among the dependencies of the workspace, and no crate has it"]);
    }
}
