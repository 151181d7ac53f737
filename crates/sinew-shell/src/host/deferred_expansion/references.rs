//! Replaces references by the names of their targets.

use std::collections::HashMap;

use brush_core::parser::ast::{
    Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand, ExtendedTestExpr,
    IoFileRedirectTarget, IoRedirect, SimpleCommand, UnaryPredicate, Word,
};

type Targets = HashMap<String, String>;

/// Returns true if the command itself, without its inner lists, contains one of `names`.
pub(super) fn mentions(command: &Command, names: &[String]) -> bool {
    let text = match command {
        Command::Simple(simple) => simple.to_string(),
        Command::ExtendedTest(..) => command.to_string(),
        Command::Compound(compound, _) => match compound {
            CompoundCommand::ForClause(clause) => {
                clause.values.iter().flatten().map(|word| word.value.clone()).collect::<Vec<_>>().join(" ")
            }
            CompoundCommand::CaseClause(clause) => clause.value.value.clone(),
            CompoundCommand::Arithmetic(arithmetic) => arithmetic.expr.value.clone(),
            CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                parts.into_iter().flatten().map(|part| part.value.clone()).collect::<Vec<_>>().join(" ")
            }
            _ => return false,
        },
        Command::Function(_) => return false,
    };
    names.iter().any(|name| text.split(|c: char| !is_name(c)).any(|word| word == name))
}

/// Replaces the references of the command itself.
pub(super) fn command(command: &mut Command, targets: &Targets) {
    match command {
        Command::Simple(simple) => simple_command(simple, targets),
        Command::ExtendedTest(test, _) => expression(&mut test.expr, targets),
        Command::Compound(CompoundCommand::ForClause(clause), _) => {
            clause.values.iter_mut().flatten().for_each(|value| word(value, targets));
        }
        Command::Compound(CompoundCommand::CaseClause(clause), _) => word(&mut clause.value, targets),
        Command::Compound(CompoundCommand::Arithmetic(arithmetic), _) => {
            arithmetic.expr.value = numbers(&text(&arithmetic.expr.value, targets), targets);
        }
        Command::Compound(CompoundCommand::ArithmeticForClause(clause), _) => {
            for part in [&mut clause.initializer, &mut clause.condition, &mut clause.updater].into_iter().flatten() {
                part.value = numbers(&text(&part.value, targets), targets);
            }
        }
        Command::Compound(..) | Command::Function(_) => {}
    }
}

fn simple_command(simple: &mut SimpleCommand, targets: &Targets) {
    let name = simple.word_or_name.as_ref().map(|word| word.value.clone()).unwrap_or_default();
    let suffix = simple.suffix.iter_mut().flat_map(|suffix| &mut suffix.0);
    let flags: String = suffix
        .filter_map(|item| match item {
            CommandPrefixOrSuffixItem::Word(word) if word.value.starts_with(['-', '+']) => Some(word.value.clone()),
            _ => None,
        })
        .collect();
    // True if a word that is the name of a reference means its target.
    let by_name = match name.as_str() {
        "declare" | "typeset" | "export" | "readonly" => !flags.contains(['n', 'p']),
        "unset" => !flags.contains('n'),
        "read" | "mapfile" | "readarray" | "getopts" | "let" => true,
        "printf" | "test" | "[" => flags.contains('v'),
        _ => false,
    };
    let declares = matches!(name.as_str(), "declare" | "typeset" | "local") && !by_name;
    let assigns = by_name || declares || matches!(name.as_str(), "export" | "readonly");
    for item in simple.prefix.iter_mut().flat_map(|prefix| &mut prefix.0) {
        if let CommandPrefixOrSuffixItem::AssignmentWord(value, whole) = item {
            assignment(value, true, targets);
            whole.value = value.to_string();
        }
    }
    for item in simple.suffix.iter_mut().flat_map(|suffix| &mut suffix.0) {
        if let CommandPrefixOrSuffixItem::AssignmentWord(value, whole) = item {
            // Elsewhere it is an ordinary word: `echo a=$b`.
            let literal = text(&whole.value, targets);
            assignment(value, assigns && !declares, targets);
            whole.value = if assigns { value.to_string() } else { literal };
        }
    }
    let prefix = simple.prefix.iter_mut().flat_map(|prefix| &mut prefix.0);
    let suffix = simple.suffix.iter_mut().flat_map(|suffix| &mut suffix.0);
    if let Some(first) = &mut simple.word_or_name {
        word(first, targets);
    }
    for item in prefix.chain(suffix) {
        match item {
            CommandPrefixOrSuffixItem::Word(argument) => {
                word(argument, targets);
                if by_name {
                    argument.value = plain(&argument.value, targets);
                }
                if name == "let" {
                    argument.value = numbers(&argument.value, targets);
                }
            }
            CommandPrefixOrSuffixItem::AssignmentWord(..) => {}
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => match redirect {
                IoRedirect::File(
                    _,
                    _,
                    IoFileRedirectTarget::Filename(target) | IoFileRedirectTarget::Duplicate(target),
                )
                | IoRedirect::HereString(_, target)
                | IoRedirect::OutputAndError(target, _) => word(target, targets),
                IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                    word(&mut document.doc, targets)
                }
                IoRedirect::File(..) | IoRedirect::HereDocument(..) => {}
            },
            CommandPrefixOrSuffixItem::ProcessSubstitution(..) => {}
        }
    }
}

fn assignment(assignment: &mut Assignment, with_name: bool, targets: &Targets) {
    match &mut assignment.name {
        AssignmentName::VariableName(name) => {
            if with_name && let Some(target) = targets.get(name) {
                assignment.name = match target.strip_suffix(']').and_then(|target| target.split_once('[')) {
                    Some((array, index)) => AssignmentName::ArrayElementName(array.into(), index.into()),
                    None => AssignmentName::VariableName(target.clone()),
                };
            }
        }
        AssignmentName::ArrayElementName(name, index) => {
            if with_name && let Some(target) = targets.get(name) {
                *name = target.clone();
            }
            *index = text(index, targets);
        }
    }
    match &mut assignment.value {
        AssignmentValue::Scalar(value) => word(value, targets),
        AssignmentValue::Array(items) => {
            for (key, value) in items {
                key.iter_mut().for_each(|key| word(key, targets));
                word(value, targets);
            }
        }
    }
}

fn expression(test: &mut ExtendedTestExpr, targets: &Targets) {
    match test {
        ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
            expression(left, targets);
            expression(right, targets);
        }
        ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => expression(inner, targets),
        ExtendedTestExpr::UnaryTest(predicate, operand) => {
            word(operand, targets);
            if matches!(predicate, UnaryPredicate::ShellVariableIsSetAndAssigned) {
                operand.value = plain(&operand.value, targets);
            }
        }
        ExtendedTestExpr::BinaryTest(_, left, right) => {
            word(left, targets);
            word(right, targets);
        }
    }
}

fn word(word: &mut Word, targets: &Targets) {
    word.value = text(&word.value, targets);
}

/// Replaces a word that is a name or `name[…]`, quoted or not.
fn plain(word: &str, targets: &Targets) -> String {
    let start = word.find(|c: char| !matches!(c, '\'' | '"')).unwrap_or(word.len());
    let end = word[start..].find(|c: char| !is_name(c)).map_or(word.len(), |at| start + at);
    match targets.get(&word[start..end]) {
        Some(target) if word[end..].is_empty() || word[end..].starts_with(['[', '\'', '"']) => {
            format!("{}{target}{}", &word[..start], &word[end..])
        }
        _ => word.to_string(),
    }
}

/// Replaces names in an arithmetic expression.
fn numbers(text: &str, targets: &Targets) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match is_name(first) {
            true => rest.find(|c: char| !is_name(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let known = targets.get(&rest[..end]).filter(|_| !done.ends_with(['$', '{', '!', '#']));
        done.push_str(known.map_or(&rest[..end], String::as_str));
        rest = &rest[end..];
    }
    done
}

/// Replaces expansions in a word: `$name`, `${name…}`, `${#name…}`, `${!name}`, names in `$((…))`.
fn text(text: &str, targets: &Targets) -> String {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    let mut quoted = false;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '\\' => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            '"' => quoted = !quoted,
            '\'' if !quoted => length = rest[1..].find('\'').map_or(rest.len(), |at| at + 2),
            '$' if rest.starts_with("$((") => {
                if let Some(end) = rest.find("))") {
                    done.push_str(&numbers(&self::text(&rest[1..end], targets).replacen("((", "$((", 1), targets));
                    rest = &rest[end..];
                    continue;
                }
            }
            '$' => {
                let brace = rest[1..].starts_with('{');
                let mark = match brace && rest[2..].starts_with(['#', '!']) {
                    true => &rest[2..3],
                    false => "",
                };
                let start = 1 + usize::from(brace) + mark.len();
                let end = rest[start..].find(|c: char| !is_name(c)).map_or(rest.len(), |at| start + at);
                if let Some(target) = targets.get(&rest[start..end]) {
                    let after = &rest[end..];
                    match (brace, mark) {
                        (true, "!") if after.starts_with('}') => {
                            done.push_str(target);
                            rest = &after[1..];
                        }
                        (true, _) => {
                            done.push_str("${");
                            done.push_str(mark);
                            done.push_str(target);
                            rest = after;
                        }
                        (false, _) => {
                            done.push_str(&format!("${{{target}}}"));
                            rest = after;
                        }
                    }
                    continue;
                }
            }
            _ => {}
        }
        done.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    done
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}
