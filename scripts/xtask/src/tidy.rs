//! Holds what no compiler holds: the layers of the crates, the size of files, the table in `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Which of our crates each crate may import. A crate that is missing here fails the check.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("sinew-base", &[]),
    ("sinew-pool", &["sinew-base"]),
    ("sinew-profile", &["sinew-base"]),
    ("sinew-term", &["sinew-base"]),
    ("sinew-fuzzy", &["sinew-base"]),
    ("sinew-highlight", &["sinew-base"]),
    ("sinew-html", &["sinew-base"]),
    ("sinew-image", &["sinew-base"]),
    ("sinew-walk", &["sinew-base", "sinew-pool"]),
    ("sinew-search", &["sinew-base", "sinew-pool", "sinew-walk", "sinew-fuzzy"]),
    ("sinew-process", &["sinew-base"]),
    ("sinew-system", &["sinew-base"]),
    ("sinew-clipboard", &["sinew-base", "sinew-image"]),
    ("sinew-shell", &["sinew-base", "sinew-process"]),
    (
        "sinew",
        &[
            "sinew-base",
            "sinew-pool",
            "sinew-profile",
            "sinew-term",
            "sinew-fuzzy",
            "sinew-highlight",
            "sinew-html",
            "sinew-image",
            "sinew-walk",
            "sinew-search",
            "sinew-process",
            "sinew-system",
            "sinew-clipboard",
            "sinew-shell",
        ],
    ),
    ("sinew-llm", &["sinew-base"]),
    ("sinew-agent", &["sinew", "sinew-llm"]),
    ("sinew-cli", &["sinew", "sinew-llm", "sinew-agent"]),
    ("sinew-node", &["sinew"]),
    ("sinew-testkit", &["sinew-base"]),
    ("sinew-tests", &[]),
    ("xtask", &[]),
];

/// A file of code longer than this has two things in one room.
const LONGEST: usize = 800;
/// A file of the mouth longer than this computes something.
const LONGEST_MOUTH: usize = 150;

/// Runs every check and reports all that is wrong.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut faults = Vec::new();
    layers(root, &mut faults)?;
    sizes(root, &mut faults)?;
    table(root, &mut faults)?;
    if faults.is_empty() { Ok(()) } else { Err(format!("not tidy:\n  {}", faults.join("\n  "))) }
}

fn layers(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|cause| format!("failed to start cargo: {cause}"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|cause| format!("cargo metadata: {cause}"))?;
    let allowed: BTreeMap<_, _> = MAY_IMPORT.iter().copied().collect();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(may) = allowed.get(name) else {
            faults.push(format!("{name} has no line in the table of layers (scripts/xtask/src/tidy.rs)"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let import = dependency["name"].as_str().unwrap_or_default();
            if dependency["kind"].as_str() == Some("dev") {
                continue;
            }
            if import.starts_with("napi") && name != "sinew-node" {
                faults.push(format!("{name} imports {import}: only native/ knows N-API"));
            }
            if allowed.contains_key(import) && !may.contains(&import) {
                faults.push(format!("{name} may not import {import}"));
            }
        }
    }
    Ok(())
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
        let lines = text.lines().count();
        let most = if path.starts_with("native/src/") { LONGEST_MOUTH } else { LONGEST };
        if lines > most && !path.ends_with(".d.ts") {
            faults.push(format!("{path} has {lines} lines, more than {most}: which two things live in one room?"));
        }
    }
    Ok(())
}

/// Each crate stands in the table of `ARCHITECTURE.md`, and nothing else does.
fn table(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md"))
        .map_err(|cause| format!("failed to read ARCHITECTURE.md: {cause}"))?;
    let rows: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split('|').nth(1)?.trim().strip_prefix('`')?.strip_suffix('`'))
        .collect();
    for (name, _) in MAY_IMPORT.iter().filter(|(name, _)| name.starts_with("sinew")) {
        if !rows.contains(name) {
            faults.push(format!("{name} is missing in the table of ARCHITECTURE.md"));
        }
    }
    for row in rows {
        if !MAY_IMPORT.iter().any(|(name, _)| *name == row) {
            faults.push(format!("ARCHITECTURE.md lists {row}, which is no crate"));
        }
    }
    Ok(())
}
