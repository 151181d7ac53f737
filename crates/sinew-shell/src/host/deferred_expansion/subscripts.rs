//! Subscripts with spaces: `map[two words]=x`, which the interpreter's grammar splits at the space.

use brush_core::env::valid_variable_name;
use brush_core::parser::ast::{
    Assignment, AssignmentName, AssignmentValue, Command, CommandPrefix, CommandPrefixOrSuffixItem, SimpleCommand, Word,
};

/// Returns true if a text may contain such a subscript.
pub(super) fn mentioned(text: &str) -> bool {
    text.contains("]=") || text.contains("]+=")
}

/// Rejoins a command that begins with parts of assignments. `source` is the text it was parsed from.
pub(super) fn join(command: &mut Command, source: &str) {
    let Command::Simple(simple) = command else { return };
    let prefix = simple.prefix.iter_mut().flat_map(|prefix| &mut prefix.0);
    for item in prefix.chain(simple.suffix.iter_mut().flat_map(|suffix| &mut suffix.0)) {
        if let CommandPrefixOrSuffixItem::AssignmentWord(Assignment { value: AssignmentValue::Array(items), .. }, _) =
            item
        {
            join_elements(items);
        }
    }
    while let Some((assignment, word, taken)) = first(simple, source) {
        let item = CommandPrefixOrSuffixItem::AssignmentWord(assignment, word);
        simple.prefix.get_or_insert_with(|| CommandPrefix(Vec::new())).0.push(item);
        let mut rest = simple.suffix.take().map(|suffix| suffix.0).unwrap_or_default();
        rest.drain(..taken);
        // An assignment is followed by another one, or by the name of the command.
        while let Some(CommandPrefixOrSuffixItem::AssignmentWord(..) | CommandPrefixOrSuffixItem::IoRedirect(_)) =
            rest.first()
        {
            let next = rest.remove(0);
            simple.prefix.get_or_insert_with(|| CommandPrefix(Vec::new())).0.push(next);
        }
        simple.word_or_name = match rest.first() {
            Some(CommandPrefixOrSuffixItem::Word(_)) => match rest.remove(0) {
                CommandPrefixOrSuffixItem::Word(word) => Some(word),
                _ => None,
            },
            _ => None,
        };
        simple.suffix = (!rest.is_empty()).then_some(brush_core::parser::ast::CommandSuffix(rest));
    }
}

/// Rejoins the elements of a list. Several spaces in a subscript become one.
fn join_elements(items: &mut Vec<(Option<Word>, Word)>) {
    let mut done: Vec<(Option<Word>, Word)> = Vec::with_capacity(items.len());
    // The start of a subscript that has not ended.
    let mut begun: Option<String> = None;
    for (key, word) in items.drain(..) {
        let text = match begun.take() {
            Some(begin) if key.is_none() => format!("{begin} {}", word.value),
            None if key.is_none() && word.value.starts_with('[') => word.value.clone(),
            _ => {
                done.push((key, word));
                continue;
            }
        };
        match text[1..].split_once("]=") {
            Some((key, value)) => done.push((Some(Word::new(key)), Word::new(value))),
            None if text.contains(']') => done.push((None, Word::new(&text))),
            None => begun = Some(text),
        }
    }
    done.extend(begun.map(|text| (None, Word::new(&text))));
    *items = done;
}

/// Returns the assignment that begins with the name of the command, its word, and how many further words belong to it;
/// `None` if there is none.
fn first(simple: &SimpleCommand, source: &str) -> Option<(Assignment, Word, usize)> {
    let start = simple.word_or_name.as_ref()?;
    let (name, _) = start.value.split_once('[')?;
    if !valid_variable_name(name) || start.value.contains(']') {
        return None;
    }
    for (at, item) in simple.suffix.as_ref()?.0.iter().enumerate() {
        let CommandPrefixOrSuffixItem::Word(end) = item else { return None };
        let Some(bracket) = end.value.find(']') else { continue };
        let after = &end.value[bracket + 1..];
        let (value, append) = match after.strip_prefix('+').unwrap_or(after).strip_prefix('=') {
            Some(value) => (value, after.starts_with('+')),
            None => return None,
        };
        let whole = between(source, start, end)?;
        let index = whole.strip_prefix(name)?.strip_prefix('[')?;
        let index = &index[..index.len() - (end.value.len() - bracket)];
        let assignment = Assignment {
            name: AssignmentName::ArrayElementName(name.to_string(), index.to_string()),
            value: AssignmentValue::Scalar(Word::new(value)),
            append,
            loc: Default::default(),
        };
        return Some((assignment, Word::new(&whole), at + 1));
    }
    None
}

/// Returns the text from the start of one word to the end of another; `None` if the positions are unknown.
fn between(source: &str, start: &Word, end: &Word) -> Option<String> {
    let (from, to) = (start.loc.as_ref()?.start.index, end.loc.as_ref()?.end.index);
    let text: String = source.chars().skip(from).take(to.checked_sub(from)?).collect();
    let text = text.trim_end();
    (text.starts_with(&start.value) && text.ends_with(&end.value)).then(|| text.to_string())
}
