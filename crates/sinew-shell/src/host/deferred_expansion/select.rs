//! `select`, which the interpreter's grammar does not support.
//!
//! In a text that cannot be parsed, every `select NAME` at the start of a command becomes a `for` with a name that
//! begins with [`PREFIX`]; in the parsed program such a loop becomes a call of the builtin [`SELECT`].

use std::io::{Read, Write};

use brush_core::parser::ast::{
    Command, CommandPrefixOrSuffixItem, CommandSuffix, CompoundCommand, CompoundList, ForClauseCommand, Program,
    RedirectList,
};
use brush_core::{Error, ExecutionContext, ExecutionParameters, ExecutionResult, env, variables::ShellValueLiteral};
use brush_parser::{Token, tokenize_str};

use super::super::interpreter::{BrushExtensions, Shell};

/// The builtin that runs a menu.
pub(in crate::host) const SELECT: &str = "__sinew_select";

/// The variable prefix of a loop that replaces a menu.
const PREFIX: &str = "__sinew_menu_";

/// The tokens that may precede a command.
const STARTS: [&str; 18] =
    ["\n", ";", "&", "|", "&&", "||", "|&", "(", "{", "!", "do", "then", "else", "elif", "if", "while", "until", ")"];

/// Replaces the menus of a text by loops; `None` if it has none.
pub(super) fn as_loops(text: &str) -> Option<String> {
    if !text.contains("select") {
        return None;
    }
    let tokens = tokenize_str(text).ok()?;
    let mut letters: Vec<char> = text.chars().collect();
    let mut found = false;
    let mut at_start = vec![true];
    at_start.extend(tokens.iter().map(|token| STARTS.contains(&token.to_str())));
    for (index, pair) in tokens.windows(2).enumerate().rev() {
        let [Token::Word(word, place), Token::Word(name, named)] = pair else { continue };
        if word == "select" && at_start[index] && env::valid_variable_name(name) {
            let name = letters[named.start.index..named.end.index].iter().collect::<String>();
            letters.splice(named.start.index..named.end.index, format!("{PREFIX}{}", name.trim()).chars());
            letters.splice(place.start.index..place.end.index, "for".chars());
            found = true;
        }
    }
    found.then(|| letters.into_iter().collect())
}

/// Returns true if a command is a loop that replaces a menu.
pub(super) fn is_menu(command: &Command) -> bool {
    matches!(command, Command::Compound(CompoundCommand::ForClause(clause), _) if clause.variable_name.starts_with(PREFIX))
}

/// Returns the redirections of a menu, which are moved to the call that replaces it.
pub(super) fn redirections(command: &mut Command) -> Vec<CommandPrefixOrSuffixItem> {
    match command {
        Command::Compound(_, redirects) => {
            let RedirectList(list) = redirects.take().unwrap_or(RedirectList(Vec::new()));
            list.into_iter().map(CommandPrefixOrSuffixItem::IoRedirect).collect()
        }
        _ => Vec::new(),
    }
}

/// Adds redirections to a call.
pub(super) fn redirect(call: &mut Command, redirections: Vec<CommandPrefixOrSuffixItem>) {
    if let Command::Simple(simple) = call {
        simple.suffix.get_or_insert_with(|| CommandSuffix(Vec::new())).0.extend(redirections);
    }
}

/// Runs the builtin [`SELECT`] with the list that contains the loop.
pub(in crate::host) async fn run(
    context: ExecutionContext<'_, BrushExtensions>,
    list: &CompoundList,
) -> Result<ExecutionResult, Error> {
    let command = list.0.first().and_then(|item| item.0.first.seq.first());
    let Some(Command::Compound(CompoundCommand::ForClause(clause), _)) = command else {
        return Ok(ExecutionResult::new(127));
    };
    let parameters = context.params.clone();
    let mut errors = context.stderr();
    let shell = context.shell;
    let words = words(shell, &parameters, clause).await?;
    if words.is_empty() {
        return Ok(ExecutionResult::success());
    }
    let mut show = true;
    loop {
        if show {
            let columns = shell.env_str("COLUMNS").and_then(|text| text.parse().ok()).unwrap_or(80);
            write!(errors, "{}", menu(&words, columns))?;
        }
        let prompt = shell.env_str("PS3").map_or_else(|| "#? ".to_string(), |prompt| prompt.into_owned());
        write!(errors, "{prompt}")?;
        errors.flush()?;
        let Some(line) = line(parameters.stdin(shell)) else {
            writeln!(parameters.stdout(shell))?;
            return Ok(ExecutionResult::new(1));
        };
        assign(shell, "REPLY", &line)?;
        show = line.is_empty();
        if show {
            continue;
        }
        let choice = line.trim().parse::<usize>().ok().and_then(|number| words.get(number.checked_sub(1)?));
        assign(shell, &clause.variable_name[PREFIX.len()..], choice.map_or("", String::as_str))?;
        let body = Program { complete_commands: vec![clause.body.list.clone()] };
        let mut result = shell.run_program(body, &parameters).await?;
        if result.is_return_or_exit() {
            return Ok(result);
        }
        let (ends, goes_on) = (result.is_break(), result.is_continue());
        result.next_control_flow = result.next_control_flow.try_decrement_loop_levels();
        // Further loop levels apply to the surrounding loops.
        if ends || (goes_on && !result.is_normal_flow()) {
            return Ok(result);
        }
        // A body may request the menu again.
        show = shell.env_str("REPLY").is_some_and(|reply| reply.is_empty());
    }
}

async fn words(
    shell: &mut Shell,
    parameters: &ExecutionParameters,
    clause: &ForClauseCommand,
) -> Result<Vec<String>, Error> {
    let Some(values) = &clause.values else { return Ok(shell.current_shell_args().to_vec()) };
    let mut words = Vec::new();
    for value in values {
        words.extend(shell.full_expand_and_split_string(parameters, &value.value).await?);
    }
    Ok(words)
}

/// Reads one line without its line end, and nothing beyond it; `None` at the end of the input.
fn line(mut input: impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while input.read(&mut byte).is_ok_and(|count| count == 1) {
        if byte[0] == b'\n' {
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        bytes.push(byte[0]);
    }
    None
}

fn assign(shell: &mut Shell, name: &str, value: &str) -> Result<(), Error> {
    let value = ShellValueLiteral::Scalar(value.to_string());
    let (lookup, scope) = (env::EnvironmentLookup::Anywhere, env::EnvironmentScope::Global);
    shell.env_mut().update_or_add(name, value, |_| Ok(()), lookup, scope)
}

/// Formats the menu in as many columns as the width allows, filled from top to bottom; a menu that fits on one line is
/// one column.
fn menu(words: &[String], width: usize) -> String {
    let digits = words.len().to_string().len();
    let cell = words.iter().map(|word| word.chars().count()).max().unwrap_or(0) + digits + 4;
    let columns = (width / cell).max(1);
    let mut rows = words.len().div_ceil(columns);
    if rows == 1 {
        rows = words.len();
    }
    let mut menu = String::new();
    for row in 0..rows {
        let mut at = 0;
        for index in (row..words.len()).step_by(rows) {
            let digits = if index < rows { rows.to_string().len() } else { digits };
            let entry = format!("{:digits$}) {}", index + 1, words[index]);
            menu.push_str(&entry);
            if index + rows < words.len() {
                menu.push_str(&gap(at + entry.chars().count(), at + cell));
            }
            at += cell;
        }
        menu.push('\n');
    }
    menu
}

/// Returns the white space between two columns: tabs where they fit.
fn gap(mut from: usize, to: usize) -> String {
    let mut gap = String::new();
    while from < to {
        let tab = from / 8 < to / 8;
        gap.push(if tab { '\t' } else { ' ' });
        from = if tab { (from / 8 + 1) * 8 } else { from + 1 };
    }
    gap
}
