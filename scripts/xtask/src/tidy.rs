//! Checks what no compiler checks: that imports match the table in `ARCHITECTURE.md`, the size of files, functions and crates, that a crate
//! uses each dependency of the workspace, that the modules of a crate have no cycles, that libraries have no global
//! state, that code above the tools names no tool, that keys are written as text only in the modules of keys, that
//! comments are plain English and tests are named for their behavior, and that no dependency is compiled twice because of
//! features that only tests need.

mod features;
mod keys;
mod modules;
mod sizes;
mod source;
mod tool_names;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use source::Excusable;

/// The crates that are part of a program and may print, read the environment and keep state of the process.
const PROGRAMS: [&str; 5] = ["sinew-acp", "sinew-cli", "sinew-control", "sinew-interactive", "sinew-testkit"];

/// Runs every check and reports all faults.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut faults = Vec::new();
    let read =
        |name: &str| fs::read_to_string(root.join(name)).map_err(|cause| format!("failed to read {name}: {cause}"));
    let output = crate::programs::cargo()
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .map_err(|cause| format!("failed to start cargo: {cause}"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|cause| format!("cargo metadata: {cause}"))?;
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    layers(&table(&read("ARCHITECTURE.md")?), &packages, &mut faults);
    dependencies(&read("Cargo.toml")?, &packages, &mut faults);
    features::check(&mut faults)?;
    example(&read("native/src/README.md")?, &read("native/src/glob.rs")?, &mut faults);
    let files = files(root)?;
    environment(&files, &mut faults);
    sizes::check(&files, &mut faults);
    words::check(&files, &mut faults);
    let excusable =
        [structure(&files), tool_names::find(&files), keys::check(&files), sizes::functions(&files)].concat();
    allowed(excusable, &read("scripts/xtask/allowed.txt")?, &mut faults);
    if faults.is_empty() { Ok(()) } else { Err(format!("not tidy:\n  {}", faults.join("\n  "))) }
}

/// A row of the table of `ARCHITECTURE.md`.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// Our crates that it may import.
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

/// Checks that each crate is in the table and imports only what it may, and that the table has no other rows.
fn layers(table: &BTreeMap<String, Row>, packages: &[Value], faults: &mut Vec<String>) {
    let name_of = |package: &Value| package["name"].as_str().unwrap_or_default().to_string();
    let names: BTreeSet<String> = packages.iter().map(name_of).filter(|name| name.starts_with("sinew")).collect();
    for row in table.keys().filter(|row| !names.contains(*row)) {
        faults.push(format!("ARCHITECTURE.md lists {row}, which is not a crate"));
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

/// Checks that each dependency of the workspace is used by a crate.
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

/// Checks that the example of how to add an export matches the real code.
fn example(text: &str, code: &str, faults: &mut Vec<String>) {
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("rust\n"));
    for line in blocks.flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty()) {
        if !code.lines().any(|known| known.trim() == line) {
            faults.push(format!("native/src/README.md shows `{line}`, which native/src/glob.rs does not have"));
        }
    }
}

/// The paths and texts of the project's source files.
fn files(root: &Path) -> Result<Vec<(String, String)>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.rs", "*.ts", "*.mjs"])
        .current_dir(root)
        .output()
        .map_err(|cause| format!("failed to start git: {cause}"))?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    // A removed file is in git's list until the removal is committed.
    let text = |path: &str| Some((path.to_string(), fs::read_to_string(root.join(path)).ok()?));
    Ok(list.lines().filter_map(text).collect())
}

fn environment(files: &[(String, String)], faults: &mut Vec<String>) {
    for (path, text) in files {
        if reads_environment(path, text) {
            faults.push(format!("{path} reads an environment variable: libraries get values (invariant 3)"));
        }
    }
}

/// Finds cycles among modules and global state, in all crates.
fn structure(files: &[(String, String)]) -> Vec<Excusable> {
    let mut crates: BTreeMap<&str, Vec<(&str, modules::File)>> = BTreeMap::new();
    let mut tests: BTreeSet<(&str, Vec<String>)> = BTreeSet::new();
    let mut faults = Vec::new();
    for (path, text) in files {
        let Some((folder, module)) = path.strip_suffix(".rs").and_then(|path| path.split_once("/src/")) else {
            continue;
        };
        let folder = folder.rsplit('/').next().unwrap_or(folder);
        let module: Vec<String> =
            module.split('/').filter(|word| !["lib", "main", "mod"].contains(word)).map(str::to_string).collect();
        let (code, test_modules) = source::without_tests(&source::code(text));
        tests.extend(test_modules.into_iter().map(|name| (folder, [&module[..], &[name]].concat())));
        crates.entry(folder).or_default().push((path, modules::File { module, code }));
    }
    for (name, mut files) in crates {
        let is_test = |module: &[String]| (1..=module.len()).any(|end| tests.contains(&(name, module[..end].to_vec())));
        files.retain(|(path, file)| !is_test(&file.module) && !path.ends_with("tests.rs"));
        let program = PROGRAMS.contains(&name) || ["native", "xtask"].contains(&name);
        for (path, file) in files.iter().filter(|_| !program) {
            faults.extend(states(&file.code).into_iter().map(|name| {
                (format!("state {path} {name}"), format!("{path}: `{name}` is state of the process (invariant 4)"))
            }));
        }
        let files: Vec<modules::File> = files.into_iter().map(|(_, file)| file).collect();
        let modules::Circles { top, large } = modules::circles(&files);
        for (rule, circles, sentence) in [
            ("circle", top, "the top-level modules of {} form a circle (invariant 12)"),
            ("large-circle", large, "more than four files of {} form a circle (invariant 12)"),
        ] {
            let lists: Vec<String> = circles.iter().map(|circle| circle.join(", ")).collect();
            let count: usize = circles.iter().map(Vec::len).sum();
            if count > 0 {
                let sentence = sentence.replace("{}", name);
                faults.push((format!("{rule} {name} {count}"), format!("{sentence}: {}", lists.join("; "))));
            }
        }
    }
    faults
}

/// The names of a file's mutable statics. A `LazyLock` alone is a constant that is initialized late.
fn states(code: &str) -> Vec<String> {
    const CELLS: [&str; 9] =
        ["Mutex", "RwLock", "Atomic", "Cell<", "OnceLock", "OnceCell", "DashMap", "Condvar", "Notify"];
    let items = code.split(';').filter_map(|item| {
        let after = item.rsplit_once("static ").filter(|(before, _)| !before.ends_with(['&', '\'']))?.1;
        let (name, kind) = after.split_once(':')?;
        let kind = kind.split('=').next().unwrap_or_default();
        let changes = name.starts_with("mut ") || CELLS.iter().any(|cell| kind.contains(cell));
        changes.then(|| name.trim_start_matches("mut ").trim().to_string())
    });
    items.collect()
}

/// Excuses the faults that the lines of `allowed.txt` name: `<key> # <reason>`. A line that excuses nothing is a fault.
fn allowed(found: Vec<Excusable>, list: &str, faults: &mut Vec<String>) {
    let mut lines: BTreeMap<&str, &str> = BTreeMap::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(" # ") {
            Some((key, reason)) if !reason.trim().is_empty() => _ = lines.insert(key.trim(), line),
            _ => faults.push(format!("allowed.txt gives no reason: {line}")),
        }
    }
    for (key, sentence) in found {
        if lines.remove(key.as_str()).is_none() {
            faults.push(format!("{sentence}; the key in allowed.txt is `{key}`"));
        }
    }
    faults.extend(lines.values().map(|line| format!("allowed.txt excuses what is no longer so: {line}")));
}

/// Returns true if a file of a library, outside of its tests, reads an environment variable.
fn reads_environment(path: &str, text: &str) -> bool {
    let program =
        path.contains("/src/bin/") || PROGRAMS.iter().any(|name| path.starts_with(&format!("crates/{name}/")));
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
        check(&all[1..], &["lists sinew-base, which is not a crate"]);
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

    #[track_caller]
    fn check_structure(files: &[(&str, &str)], allow: &str, expect: &[&str]) {
        let files: Vec<_> = files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        let mut faults = Vec::new();
        allowed(structure(&files), allow, &mut faults);
        assert_eq!(faults, expect);
    }

    #[test]
    fn circles_and_state_need_an_excuse_that_is_true() {
        let files = [
            ("crates/sinew-a/src/lib.rs", "mod b;\nmod c;\n#[cfg(test)]\nmod tests;"),
            ("crates/sinew-a/src/b.rs", "use crate::c::C; // crate::d"),
            (
                "crates/sinew-a/src/c/mod.rs",
                "static LOCK: Mutex<()> = Mutex::new(());\nstatic WORDS: LazyLock<Words> = x();",
            ),
            ("crates/sinew-a/src/tests.rs", "use crate::c;\nstatic LOCK: Mutex<()> = Mutex::new(());"),
            ("crates/sinew-cli/src/main.rs", "static LOCK: Mutex<()> = Mutex::new(());"),
        ];
        let state = "crates/sinew-a/src/c/mod.rs: `LOCK` is state of the process (invariant 4); the key in allowed.txt is \
                     `state crates/sinew-a/src/c/mod.rs LOCK`";
        check_structure(&files, "", &[state]);
        let excuse = "# Excuses.\nstate crates/sinew-a/src/c/mod.rs LOCK # a program of its own\n";
        check_structure(&files, excuse, &[]);
        let mut circle = files;
        circle[2].1 = "fn c() { crate::b::b() }";
        let fault = "the top-level modules of sinew-a form a circle (invariant 12): b, c; the key in allowed.txt is \
                     `circle sinew-a 2`";
        check_structure(&circle, "", &[fault]);
        let late = format!("allowed.txt excuses what is no longer so: {}", excuse.lines().nth(1).unwrap());
        check_structure(&circle, &format!("{excuse}circle sinew-a 2 # not today\n"), &[&late]);
        check_structure(&circle, "circle sinew-a 2\n", &["allowed.txt gives no reason: circle sinew-a 2", fault]);
    }

    #[test]
    fn statics_that_can_change_are_found() {
        #[track_caller]
        fn check(code: &str, expect: &[&str]) {
            assert_eq!(states(code), expect, "{code}");
        }
        check("static A: AtomicUsize = AtomicUsize::new(0);", &["A"]);
        check("fn f() {\n static mut B: u8 = 1;\n}\nstatic C: LazyLock<Mutex<u8>> = LazyLock::new(f);", &["B", "C"]);
        check("thread_local! { static D: RefCell<u8> = const { RefCell::new(0) }; }", &["D"]);
        check("static E: &[&str] = &[\"\"];\nfn f(x: &'static Mutex<u8>) -> Box<dyn A + 'static> { x: y };", &[]);
        check("static F: LazyLock<Regex> = LazyLock::new(f);", &[]);
    }
}
