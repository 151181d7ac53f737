//! `**` with `globstar`: every directory below, without following links, and at the end of a pattern everything in
//! them.
//!
//! The interpreter treats it as `*`. So words with such patterns are expanded here before their command runs: the
//! interpreter expands the parts before and after the `**`, and this module walks the directories in between.

use std::path::Path;

use brush_core::ExecutionParameters;
use brush_core::parser::ast::{Command, CommandPrefixOrSuffixItem, CompoundCommand, Word};

use super::super::interpreter::Shell;

/// The maximum number of names of one pattern; further names are dropped, because an endless tree would fill the
/// memory.
const MOST: usize = 1_000_000;

/// Replaces the patterns of a command by the matching names.
pub(super) async fn expand(shell: &mut Shell, parameters: &ExecutionParameters, command: &mut Command) {
    match command {
        Command::Simple(simple) => {
            let Some(suffix) = &mut simple.suffix else { return };
            let mut items = Vec::with_capacity(suffix.0.len());
            for item in std::mem::take(&mut suffix.0) {
                match item {
                    CommandPrefixOrSuffixItem::Word(word) => {
                        let words = expanded(shell, parameters, word).await;
                        items.extend(words.into_iter().map(CommandPrefixOrSuffixItem::Word));
                    }
                    other => items.push(other),
                }
            }
            suffix.0 = items;
        }
        Command::Compound(CompoundCommand::ForClause(clause), _) => {
            let Some(values) = &mut clause.values else { return };
            let mut words = Vec::with_capacity(values.len());
            for word in std::mem::take(values) {
                words.extend(expanded(shell, parameters, word).await);
            }
            *values = words;
        }
        _ => {}
    }
}

/// Returns true if a word has such a pattern: an unquoted `**` as a complete path component.
pub(super) fn is_pattern(word: &str) -> bool {
    !word.contains(['\'', '"', '\\', '`']) && word.split('/').any(|part| part == "**")
}

async fn expanded(shell: &mut Shell, parameters: &ExecutionParameters, word: Word) -> Vec<Word> {
    if !is_pattern(&word.value) {
        return vec![word];
    }
    let mut names = Vec::new();
    matches(shell, parameters, &word.value, &mut names).await;
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return match shell.options().expand_non_matching_patterns_to_null {
            true => Vec::new(),
            // The interpreter would match it differently.
            false => {
                let text = shell.basic_expand_string(parameters, &word.value).await.unwrap_or(word.value);
                vec![Word::new(&quoted(&text))]
            }
        };
    }
    names.iter().map(|name| Word::new(&quoted(name))).collect()
}

/// Returns the names that match a pattern, unsorted.
async fn matches(shell: &mut Shell, parameters: &ExecutionParameters, pattern: &str, names: &mut Vec<String>) {
    let parts: Vec<&str> = pattern.split('/').collect();
    let Some(at) = parts.iter().position(|part| *part == "**") else { return };
    let rest = &parts[at + 1..];
    // Consecutive `**` have the same meaning as one.
    let rest = &rest[rest.iter().take_while(|part| **part == "**").count()..];
    let mut roots = vec![String::new()];
    if at > 0 {
        let prefix = format!("{}/", parts[..at].join("/"));
        roots = shell.full_expand_and_split_string(parameters, &prefix).await.unwrap_or_default();
    }
    let hidden = shell.options().glob_matches_dotfiles;
    for root in roots {
        if !root.is_empty() && !exists(shell, &root) {
            continue;
        }
        let mut folders = vec![root.clone()];
        let mut next = 0;
        while let Some(folder) = folders.get(next).cloned() {
            next += 1;
            let mut entries = Vec::new();
            let path = shell.absolute_path(Path::new(if folder.is_empty() { "." } else { &folder }));
            for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                if name.starts_with('.') && !hidden {
                    continue;
                }
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder {
                    folders.push(format!("{folder}{name}/"));
                }
                entries.push((name, is_folder));
            }
            if folders.len() + names.len() > MOST {
                return;
            }
            match rest {
                [] => {
                    if folder == root && !root.is_empty() {
                        names.push(root.clone());
                    }
                    names.extend(entries.into_iter().map(|(name, _)| format!("{folder}{name}")));
                }
                // Directories only.
                [""] if !folder.is_empty() => names.push(folder),
                [""] => {}
                rest if rest.contains(&"**") => {
                    let pattern = format!("{folder}{}", rest.join("/"));
                    Box::pin(matches(shell, parameters, &pattern, names)).await;
                }
                rest => {
                    let pattern = format!("{}{}", quoted_folder(&folder), rest.join("/"));
                    let found = shell.full_expand_and_split_string(parameters, &pattern).await.unwrap_or_default();
                    names.extend(found.into_iter().filter(|name| exists(shell, name)));
                }
            }
        }
    }
}

/// Returns true if a name exists; a pattern that matches nothing stays as it is.
fn exists(shell: &Shell, name: &str) -> bool {
    std::fs::symlink_metadata(shell.absolute_path(Path::new(name))).is_ok()
}

fn quoted_folder(folder: &str) -> String {
    if folder.is_empty() { String::new() } else { quoted(folder) }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
