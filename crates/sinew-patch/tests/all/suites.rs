//! Tests the tables of patches of the conformance suites, if they exist.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use serde_json::Value;
use sinew_base::CancelToken;
use sinew_patch::{ApplyOptions, apply_to_directory};

use crate::tree::{self, File, Tree};

/// The rows with another result, and why. Only rows of tier X, where the reference implementations disagree.
const DIFFER: &[(&str, &str)] = &[];

#[test]
fn agrees_with_the_table_of_unified_diffs() {
    run("unified_diff.json");
}

#[test]
fn agrees_with_the_table_of_the_begin_patch_form() {
    run("apply_patch.json");
}

fn run(name: &str) {
    let folder = std::env::var_os("SINEW_SUITES")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/suites")), PathBuf::from);
    let Ok(table) = fs::read_to_string(folder.join(name)) else {
        println!("no conformance suites in {}: nothing to compare", folder.display());
        return;
    };
    let table: Value = serde_json::from_str(&table).unwrap();
    let cases = table["cases"].as_array().unwrap();
    let mut faults = Vec::new();
    let mut passed = 0;
    for case in cases {
        let id = case["id"].as_str().unwrap();
        match (compare(case), DIFFER.iter().any(|(known, _)| *known == id)) {
            (Ok(()), false) => passed += 1,
            (Err(_), true) if case["tier"] == "X" => {}
            (Ok(()), true) => faults.push(format!("{id}: agrees, but is listed as different")),
            (Err(fault), _) => faults.push(format!("{id} ({}): {fault}", case["tier"])),
        }
    }
    println!("{name}: {passed} of {} agree", cases.len());
    assert!(faults.is_empty(), "{name}: {} of {} differ\n{}", faults.len(), cases.len(), faults.join("\n"));
}

fn text(value: &Value) -> String {
    let part = |part: &Value| match part {
        Value::String(text) => text.clone(),
        repeat => {
            let (from, to) = (repeat["from"].as_u64().unwrap(), repeat["to"].as_u64().unwrap());
            let pattern = repeat["repeat"].as_str().unwrap();
            (from..=to).map(|number| pattern.replace("{i}", &number.to_string())).collect()
        }
    };
    match value {
        Value::String(text) => text.clone(),
        parts => parts["parts"].as_array().unwrap().iter().map(part).collect(),
    }
}

fn file(value: &Value) -> File {
    if let Some(target) = value["link"].as_str() {
        return File::Link(target.as_bytes().to_vec());
    }
    let executable = value["mode"] == "100755";
    if let Some(content) = value["b64"].as_str() {
        return File::Text(base64::engine::general_purpose::STANDARD.decode(content).unwrap(), executable);
    }
    let content = if value["mode"].is_string() { text(&value["text"]) } else { text(value) };
    File::Text(content.into_bytes(), executable)
}

fn path_of(key: &str) -> String {
    key.strip_prefix("../").map_or_else(|| format!("root/{key}"), str::to_owned)
}

fn compare(case: &Value) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let root = top.join("root");
    fs::create_dir(&root).unwrap();
    let before: Tree =
        case["before"].as_object().unwrap().iter().map(|(key, value)| (path_of(key), file(value))).collect();
    tree::write(&top, &before);
    let patch = text(&case["patch"]).replace("@T@", top.to_str().unwrap());
    let untouched = tree::fingerprint(&top);
    let dry = apply(&root, &patch, true);
    if tree::fingerprint(&top) != untouched {
        return Err("a dry run changed something".into());
    }
    let wet = apply(&root, &patch, false);
    if dry != wet {
        return Err(format!("the dry run says {dry:?}, the other one {wet:?}"));
    }
    if wet.is_err() && tree::fingerprint(&top) != untouched {
        return Err("it failed and changed something".into());
    }
    let after = tree::read(&top);
    let lenient = case["lenient"].as_array().into_iter().flatten();
    let outcomes: Vec<&Value> = std::iter::once(&case["expect"]).chain(lenient).collect();
    if outcomes.iter().any(|outcome| allows(outcome, &wet, &before, &after, &top)) {
        return Ok(());
    }
    Err(format!("got {wet:?} and {after:?}, expected {}", outcomes[0]))
}

fn apply(root: &Path, patch: &str, dry_run: bool) -> Result<(), String> {
    let options = ApplyOptions { dry_run, fuzz: 0 };
    let applied = apply_to_directory(root, patch.as_bytes(), options, &CancelToken::never());
    applied.map(drop).map_err(|error| error.message().to_owned())
}

fn allows(outcome: &Value, result: &Result<(), String>, before: &Tree, after: &Tree, top: &Path) -> bool {
    match (outcome["ok"].as_bool().unwrap(), result) {
        (true, Ok(())) => {
            let mut expected = before.clone();
            for (key, value) in outcome["after"].as_object().into_iter().flatten() {
                match value {
                    Value::Null => expected.remove(&path_of(key)),
                    value => expected.insert(path_of(key), file(value)),
                };
            }
            expected == *after
        }
        (false, Err(message)) => {
            let has = |name: &Value| message.contains(&name.as_str().unwrap().replace("@T@", top.to_str().unwrap()));
            match &outcome["names"] {
                Value::Array(names) => names.iter().any(has),
                name => has(name),
            }
        }
        _ => false,
    }
}
