//! Features that only `[dev-dependencies]` ask for. Cargo gives a dependency other features where tests are built than where
//! they are not, and then compiles it, and everything above it, once for the tests and once for all else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Reports each dependency that tests build with features of their own.
pub(super) fn check(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    faults.extend(compiled_twice(&tree(root, "normal,build")?, &tree(root, "normal,build,dev")?));
    Ok(())
}

/// Lists the packages below the workspace along these kinds of edges, each line with the features that cargo chooses.
fn tree(root: &Path, edges: &str) -> Result<String, String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--edges", edges, "--prefix", "none", "--no-dedupe", "--format", "{p}|{f}"])
        .current_dir(root)
        .output()
        .map_err(|cause| format!("failed to start cargo: {cause}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|cause| format!("cargo tree: {cause}"))
}

fn compiled_twice(without_tests: &str, with_tests: &str) -> Vec<String> {
    let with_tests = variants(with_tests);
    let mut faults = Vec::new();
    for (package, variants) in variants(without_tests) {
        let built = with_tests.get(package).cloned().unwrap_or_default();
        for features in variants.difference(&built) {
            let more: BTreeSet<&str> =
                built.iter().flatten().copied().filter(|name| !features.contains(name)).collect();
            let more = Vec::from_iter(more).join(", ");
            faults.push(format!(
                "{package} is compiled twice: only [dev-dependencies] ask for its features {more}; leave them out, or name \
                 them in tests/Cargo.toml"
            ));
        }
    }
    faults
}

/// The sets of features with which each package is built.
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
    fn check(without_tests: &str, with_tests: &str, expect: &[&str]) {
        let faults = compiled_twice(without_tests, with_tests);
        let found: Vec<&str> = faults.iter().map(|fault| fault.split(';').next().unwrap_or_default()).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn the_same_features_everywhere_are_fine() {
        check("a v1|std\nb v1|\na v1|std", "a v1|std\nb v1|\nc v1|only,tests", &[]);
    }

    #[test]
    fn a_feature_that_only_tests_ask_for_is_named() {
        check(
            "a v1|std\nb v1|",
            "a v1|io,std\nb v1|",
            &["a v1 is compiled twice: only [dev-dependencies] ask for its features io"],
        );
    }

    #[test]
    fn a_build_script_may_need_other_features_than_the_program() {
        check("a v1|std\na v1|", "a v1|std\na v1|", &[]);
    }
}
