//! Finds features that only some builds need. Cargo may give a dependency different features with and without tests, or
//! for the addon and the agent. Then it compiles the dependency, and everything that depends on it, twice.

use std::collections::{BTreeMap, BTreeSet};

/// Reports each dependency that is built with additional features for tests.
pub(super) fn check(faults: &mut Vec<String>) -> Result<(), String> {
    let all = tree(&["--workspace", "--edges", "normal,build"])?;
    let tests = tree(&["--workspace", "--edges", "normal,build,dev"])?;
    faults.extend(compiled_twice(&all, &tests).map(|(package, features)| {
        format!(
            "{package} is compiled twice: only [dev-dependencies] ask for its features {features}; leave them out, or name them in \
             tests/Cargo.toml"
        )
    }));
    // As `npm start` builds them, one after the other. Crates of our own, which `cargo tree` shows with their folder, may differ: the
    // supervisor of shells has the embedded interpreter.
    let is_ours = |package: &str| package.ends_with(')');
    let addon = tree(&["--package", "sinew-node", "--edges", "normal,build"])?;
    let agent = tree(&["--package", "sinew-shell", "--package", "sinew-cli", "--edges", "normal,build"])?;
    let again = compiled_twice(&addon, &agent).filter(|(package, _)| !is_ours(package));
    faults.extend(again.map(|(package, features)| {
        format!(
            "{package} is compiled twice: the agent asks for its features {features}; name them in native/Cargo.toml"
        )
    }));
    Ok(())
}

/// Lists the packages that `cargo tree` finds with some options, each line with the features that cargo chooses.
fn tree(options: &[&str]) -> Result<String, String> {
    let output = crate::programs::cargo()
        .arg("tree")
        .args(options)
        .args(["--prefix", "none", "--no-dedupe", "--format", "{p}|{f}"])
        .output()
        .map_err(|cause| format!("failed to start cargo: {cause}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|cause| format!("cargo tree: {cause}"))
}

/// Returns the packages that the second of two builds compiles again, each with the features that only it asks for.
fn compiled_twice<'a>(first: &'a str, second: &'a str) -> impl Iterator<Item = (&'a str, String)> {
    let second = variants(second);
    variants(first).into_iter().filter_map(move |(package, variants)| {
        let again = second.get(package)?;
        let features = variants.difference(again).next()?;
        let more: BTreeSet<&str> = again.iter().flatten().copied().filter(|name| !features.contains(name)).collect();
        Some((package, Vec::from_iter(more).join(", ")))
    })
}

/// The feature sets with which each package is built.
fn variants(tree: &str) -> BTreeMap<&str, BTreeSet<BTreeSet<&str>>> {
    let mut all: BTreeMap<&str, BTreeSet<BTreeSet<&str>>> = BTreeMap::new();
    for line in tree.lines() {
        let Some((package, features)) = line.split_once('|') else { continue };
        let features = features.split(',').filter(|feature| !feature.is_empty()).collect();
        all.entry(package).or_default().insert(features);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(first: &str, second: &str, expect: &[(&str, &str)]) {
        let found: Vec<(&str, String)> = compiled_twice(first, second).collect();
        let found: Vec<(&str, &str)> = found.iter().map(|(package, features)| (*package, features.as_str())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn the_same_features_everywhere_are_fine() {
        check("a v1|std\nb v1|\na v1|std", "a v1|std\nb v1|\nc v1|only,tests", &[]);
    }

    #[test]
    fn a_feature_that_only_one_build_asks_for_is_named() {
        check("a v1|std\nb v1|", "a v1|io,std\nb v1|", &[("a v1", "io")]);
        check("a v1|std,more", "a v1|std", &[("a v1", "")]);
    }

    #[test]
    fn a_dependency_of_one_build_alone_is_compiled_once() {
        check("a v1|std", "b v1|", &[]);
    }

    #[test]
    fn a_build_script_may_need_other_features_than_the_program() {
        check("a v1|std\na v1|", "a v1|std\na v1|", &[]);
    }
}
