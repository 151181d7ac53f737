//! Writes the addon's types from the definitions that its macros write while it compiles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

const TYPES: &str = "packages/natives/src/native.d.ts";
const EXPORTS: &str = "packages/natives/src/native-exports.ts";
const SETTINGS: &str = "crates/sinew-control/SETTINGS.md";
const HEAD: &str = "// Written by `cargo xtask gen`.\n";

/// Writes both files.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    for (path, text) in generate()? {
        fs::write(root.join(path), text).map_err(|cause| format!("failed to write {path}: {cause}"))?;
    }
    Ok(())
}

/// Fails if a file differs from what [`write()`] would write.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    for (path, text) in generate()? {
        if fs::read_to_string(root.join(path)).ok().as_deref() != Some(text.as_str()) {
            return Err(format!("{path} is not up to date; run: cargo xtask gen"));
        }
    }
    Ok(())
}

/// Writes the reference page of settings, which the agent prints.
pub(crate) fn settings(root: &Path) -> Result<(), String> {
    let output = crate::programs::cargo()
        .args(["run", "--quiet", "--package", "sinew-cli", "--", "config", "list", "markdown"])
        .output()
        .map_err(|cause| format!("failed to start cargo: {cause}"))?;
    if !output.status.success() {
        return Err(format!("sinew config list failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    fs::write(root.join(SETTINGS), output.stdout).map_err(|cause| format!("failed to write {SETTINGS}: {cause}"))
}

fn generate() -> Result<[(&'static str, String); 2], String> {
    let definitions = definitions()?;
    Ok([(TYPES, types(&definitions)), (EXPORTS, exports(&definitions))])
}

/// The environment variable that tells the binding's macros where to write definitions.
const FOLDER: &str = "NAPI_TYPE_DEF_TMP_FOLDER";

/// Builds the binding, so that its macros run, and reads the definitions that they write. Builds the whole workspace,
/// as for the tests: alone, the binding would get other features of dependencies, and cargo would compile those a
/// second time.
fn definitions() -> Result<Vec<Value>, String> {
    // `npm test` sets one folder for all of its builds, so that the binding is compiled once.
    if let Some(folder) = std::env::var_os(FOLDER) {
        return build_definitions(Path::new(&folder));
    }
    let folder = std::env::temp_dir().join(format!("sinew-definitions-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|cause| format!("failed to create {}: {cause}", folder.display()))?;
    let definitions = build_definitions(&folder);
    fs::remove_dir_all(&folder).map_err(|cause| format!("failed to remove {}: {cause}", folder.display()))?;
    definitions
}

fn build_definitions(folder: &Path) -> Result<Vec<Value>, String> {
    let status = crate::programs::cargo()
        .args(["build", "--profile", "test", "--workspace", "--lib"])
        .env(FOLDER, folder)
        .status()
        .map_err(|cause| format!("failed to start cargo: {cause}"))?;
    if !status.success() {
        return Err("cargo build --profile test --workspace --lib failed: see above".into());
    }
    let text =
        fs::read_to_string(folder.join("sinew-node")).map_err(|cause| format!("native/ wrote no types: {cause}"))?;
    text.lines().map(|line| serde_json::from_str(line).map_err(|cause| format!("{cause}: {line}"))).collect()
}

fn field<'a>(definition: &'a Value, key: &str) -> &'a str {
    definition[key].as_str().unwrap_or_default()
}

/// Formats the definitions as TypeScript, sorted by name, so that the order of files in `native/` does not matter.
fn types(definitions: &[Value]) -> String {
    let mut members: BTreeMap<&str, String> = BTreeMap::new();
    for part in definitions.iter().filter(|definition| field(definition, "kind") == "impl") {
        let members = members.entry(field(part, "name")).or_default();
        // A class may have blocks in several files; they are joined.
        if !members.is_empty() && !members.ends_with('\n') {
            members.push('\n');
        }
        members.push_str(field(part, "def"));
    }
    let mut items: BTreeMap<&str, String> = BTreeMap::new();
    for definition in definitions {
        let (name, def, doc) = (field(definition, "name"), field(definition, "def"), field(definition, "js_doc"));
        let text = match field(definition, "kind") {
            "fn" => format!("{doc}export declare {def}\n"),
            "interface" => format!("{doc}export interface {name} {{\n{}\n}}\n", indented(def)),
            "struct" => {
                let body = members.get(name).map_or("", String::as_str);
                let separator = if def.is_empty() || body.is_empty() { "" } else { "\n" };
                format!("{doc}export declare class {name} {{\n{}\n}}\n", indented(&format!("{def}{separator}{body}")))
            }
            "enum" | "const_enum" | "string_enum" => {
                format!("{doc}export declare enum {name} {{\n{}\n}}\n", indented(def))
            }
            "const" => format!("{doc}export declare const {def}\n"),
            "type" => format!("{doc}export type {name} = {def}\n"),
            _ => continue,
        };
        items.insert(name, text);
    }
    let mut result = String::from(HEAD);
    for text in items.values() {
        let _ = write!(result, "\n{text}");
    }
    result
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}").trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// The exports that exist at run time.
fn exports(definitions: &[Value]) -> String {
    let names: BTreeSet<&str> = definitions
        .iter()
        .filter(|definition| matches!(field(definition, "kind"), "fn" | "struct" | "enum" | "const"))
        .map(|definition| field(definition, "name"))
        .collect();
    let mut result =
        format!("{HEAD}\n/** Every name that the addon must export. */\nexport const EXPORTS: readonly string[] = [\n");
    for name in names {
        let _ = writeln!(result, "  \"{name}\",");
    }
    result.push_str("];\n");
    result
}
