//! `declare` and related builtins, which also accept assignments in quoted words and `+=`.

use brush_core::CommandArg;
use brush_core::parser::ast::{Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem, Word};
use brush_core::{ExecutionContext, ShellExtensions};

/// Converts words to assignments after expansion: `declare 'a[1]=x'`, `declare "$pair"`.
pub(super) async fn prepare(
    context: &mut ExecutionContext<'_, impl ShellExtensions>,
    args: Vec<CommandArg>,
) -> Vec<CommandArg> {
    let flags: Vec<String> =
        args.iter().skip(1).map(CommandArg::to_string).take_while(|word| word.starts_with(['-', '+'])).collect();
    let plain = |word: &String| match word.starts_with('-') {
        true => word.contains(['f', 'F', 'p']),
        false => word.contains(['a', 'A']),
    };
    if flags.iter().any(plain) {
        return args;
    }
    let arrays = flags.iter().any(|word| word.starts_with('-') && word.contains(['a', 'A']));
    let integers = flags.iter().any(|word| word.starts_with('-') && word.contains('i'));
    let mut done = Vec::with_capacity(args.len());
    for (at, arg) in args.into_iter().enumerate() {
        let arg = match arg {
            CommandArg::String(text) if at > 0 => match assignment(context, &text, arrays).await {
                Some(assignment) => CommandArg::Assignment(assignment),
                None => CommandArg::String(text),
            },
            other => other,
        };
        done.push(match arg {
            CommandArg::Assignment(assignment) => {
                let mut assignment = appended(context, assignment).await;
                // An invalid assignment is not evaluated, because its expression may assign.
                let name = match &assignment.name {
                    AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _) => name,
                };
                let readonly = context.shell.env_var(name).is_some_and(|variable| variable.is_readonly());
                if integers
                    && !readonly
                    && let AssignmentValue::Scalar(word) = &mut assignment.value
                {
                    let params = context.params.clone();
                    let expression = format!("$(({}))", word.value);
                    if let Ok(number) = context.shell.basic_expand_string(&params, &expression).await {
                        word.value = number;
                    }
                }
                CommandArg::Assignment(assignment)
            }
            other => other,
        });
    }
    done
}

async fn assignment(
    context: &mut ExecutionContext<'_, impl ShellExtensions>,
    text: &str,
    arrays: bool,
) -> Option<Assignment> {
    let (left, value) = text.split_once('=')?;
    let (left, append) = left.strip_suffix('+').map_or((left, false), |left| (left, true));
    let (name, index) = match left.split_once('[') {
        Some((name, index)) => (name, Some(index.strip_suffix(']')?)),
        None => (left, None),
    };
    if !brush_core::env::valid_variable_name(name) {
        return None;
    }
    let is_array = arrays || context.shell.env_var(name).is_some_and(|variable| variable.value().is_array());
    if index.is_none() && is_array && value.starts_with('(') && value.ends_with(')') {
        return list(context, text).await;
    }
    let name = match index {
        Some(index) => {
            let params = context.params.clone();
            let index = context.shell.basic_expand_string(&params, index).await.ok()?;
            AssignmentName::ArrayElementName(name.to_string(), index)
        }
        None => AssignmentName::VariableName(name.to_string()),
    };
    let value = AssignmentValue::Scalar(Word::new(value));
    Some(Assignment { name, value, append, loc: Default::default() })
}

/// Expands the list of `a=(…)`.
async fn list(context: &mut ExecutionContext<'_, impl ShellExtensions>, text: &str) -> Option<Assignment> {
    let program = context.shell.parse_string(text).ok()?;
    let first = program.complete_commands.into_iter().next()?.0.into_iter().next()?.0.first.seq.into_iter().next()?;
    let Command::Simple(simple) = first else { return None };
    let CommandPrefixOrSuffixItem::AssignmentWord(mut assignment, _) = simple.prefix?.0.into_iter().next()? else {
        return None;
    };
    let AssignmentValue::Array(items) = assignment.value else { return None };
    let params = context.params.clone();
    let mut words = Vec::new();
    for (key, word) in items {
        match key {
            Some(key) => {
                let key = context.shell.basic_expand_string(&params, &key.value).await.ok()?;
                let word = context.shell.basic_expand_string(&params, &word.value).await.ok()?;
                words.push((Some(Word::new(&key)), Word::new(&word)));
            }
            None => {
                let split = context.shell.full_expand_and_split_string(&params, &word.value).await.ok()?;
                words.extend(split.iter().map(|word| (None, Word::new(word))));
            }
        }
    }
    assignment.value = AssignmentValue::Array(words);
    Some(assignment)
}

/// Converts `name+=value` to `name=` with the existing value in front.
async fn appended(context: &mut ExecutionContext<'_, impl ShellExtensions>, mut assignment: Assignment) -> Assignment {
    if !assignment.append {
        return assignment;
    }
    let before = match &assignment.name {
        AssignmentName::VariableName(name) => {
            context.shell.env_str(name).map(|value| value.into_owned()).unwrap_or_default()
        }
        AssignmentName::ArrayElementName(name, index) => {
            let params = context.params.clone();
            let word = format!("${{{name}[{index}]-}}");
            context.shell.basic_expand_string(&params, &word).await.unwrap_or_default()
        }
    };
    if let AssignmentValue::Scalar(word) = &assignment.value {
        assignment.value = AssignmentValue::Scalar(Word::new(&format!("{before}{}", word.value)));
        assignment.append = false;
    }
    assignment
}
