//! ripgrep's file types by name.

use ignore::types::{Types, TypesBuilder};
use sinew_base::{Error, Result};

/// The number of names that an error suggests.
const PROPOSED: usize = 5;

/// Returns the matcher for ripgrep's type `name` (`rust`, `js`, `all`).
///
/// # Errors
/// Returns `InvalidArgument` if there is no such type, with suggestions of similar names.
pub(crate) fn file_type(name: &str) -> Result<Types> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults().select(name);
    builder.build().map_err(|_| {
        let mut close: Vec<(usize, String)> = builder
            .definitions()
            .into_iter()
            .filter_map(|known| closeness(name, &known).map(|distance| (distance, known.name().to_string())))
            .collect();
        close.sort();
        let close: Vec<String> = close.into_iter().take(PROPOSED).map(|(_, name)| name).collect();
        let hint = match close.is_empty() {
            true => "run rg --type-list to list all types".to_string(),
            false => format!("similar types: {}", close.join(", ")),
        };
        Error::invalid(format!("unknown type \"{name}\"; {hint}"))
    })
}

/// Returns the distance of `name` from a type: 0 if it is an extension of its files, else the edit distance of the
/// names; `None` if that is large.
fn closeness(name: &str, known: &ignore::types::FileTypeDef) -> Option<usize> {
    let lower = name.trim_start_matches('.').to_lowercase();
    let ending = format!("*.{lower}");
    if lower.is_empty() {
        return None;
    }
    if lower == known.name() || known.globs().contains(&ending) {
        return Some(0);
    }
    let near = lower.len() >= 2 && (known.name().starts_with(&lower) || lower.starts_with(known.name()));
    let edits = edits(&lower, known.name());
    (edits <= 1 + lower.len() / 4 || near && known.name().len() >= 2).then_some(edits)
}

/// Returns the edit distance of two short names (insertions, deletions, replacements); long names are distant.
fn edits(left: &str, right: &str) -> usize {
    if left.len() > 64 {
        return usize::MAX;
    }
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_match_their_files() {
        let rust = file_type("rust").unwrap();
        assert!(rust.matched("src/a.rs", false).is_whitelist());
        assert!(rust.matched("src/a.c", false).is_ignore());
    }

    #[track_caller]
    fn proposes(name: &str, expect: &str) {
        let error = file_type(name).map(drop).unwrap_err();
        assert!(error.message().starts_with(&format!("unknown type \"{name}\"; {expect}")), "{error}");
    }

    #[test]
    fn an_unknown_type_lists_similar_types() {
        proposes("rs", "similar types: rust");
        proposes("tsx", "similar types: ts");
        proposes("pyton", "similar types: python");
        proposes("javascript", "similar types: java");
        proposes("", "run rg --type-list");
        proposes("zzzzzzzzzz", "run rg --type-list");
        proposes(&"x".repeat(100_000), "run rg --type-list");
    }
}
