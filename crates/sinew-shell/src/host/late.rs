//! Parts of a program that are settled only when they run.
//!
//! The interpreter knows the attribute of a reference (`declare -n`) and follows none. So a command that names one
//! stands in the program as a call of the builtin [`COMMAND`] with the number of the command; that builtin writes the
//! target of the reference in its place and runs the result. The same is done for names of integers
//! (`declare -i`), whose assignments calculate. A subshell that sets traps stands there as a
//! call of [`SUBSHELL`] in a subshell: what it inherits of them is gone at its begin, and its own run at its end.

mod ranges;
mod replace;

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brush_core::parser::ast::{
    self, AndOrList, Command, CommandPrefixOrSuffixItem, CommandSuffix, CompoundCommand, CompoundList,
    CompoundListItem, Pipeline, Program, SeparatorOperator, SimpleCommand, Word,
};
use brush_core::traps::TrapSignal;
use brush_core::{CommandArg, Error, ExecutionContext, ExecutionControlFlow, ExecutionResult, SourceInfo};

use super::brush::{Plain, Shell};

/// The builtin that runs a command with its references followed.
pub(super) const COMMAND: &str = "__sinew_command";

/// The builtin that runs the list of a subshell.
pub(super) const SUBSHELL: &str = "__sinew_subshell";

/// What a subshell's `kill` calls the subshell itself, which is no process.
pub(super) const SELF: &str = "__sinew_self";

/// How many references may stand in a row.
const CHAIN: usize = 8;

/// Builtins are functions without state, so what they look up by number stands here. The process is the shell.
static PARTS: Mutex<Parts> = Mutex::new(Parts { names: Vec::new(), lists: Vec::new() });

struct Parts {
    names: Vec<String>,
    lists: Vec<Arc<CompoundList>>,
}

/// Runs `text` with the parts that need it settled late.
pub(super) async fn run_string(
    shell: &mut Shell,
    text: &str,
    source: &SourceInfo,
    parameters: &brush_core::ExecutionParameters,
) -> Result<ExecutionResult, Error> {
    collect(text);
    let needed = !parts().names.is_empty()
        || (text.contains('(') && (text.contains("trap") || text.contains("BASHPID")))
        || ranges::mentioned(text);
    if needed && let Ok(mut program) = shell.parse_string(text) {
        super::builtins::hidden(shell);
        for list in &mut program.complete_commands {
            prepare(list);
        }
        return shell.run_program(program, parameters).await;
    }
    shell.run_string(text, source, parameters).await
}

/// What [`COMMAND`] does.
pub(super) async fn command(
    context: ExecutionContext<'_, Plain>,
    args: Vec<CommandArg>,
) -> Result<ExecutionResult, Error> {
    let Some(list) = part(&args) else { return Ok(ExecutionResult::new(127)) };
    let mut list = CompoundList::clone(&list);
    let names = parts().names.clone();
    let targets: HashMap<String, String> =
        names.into_iter().filter_map(|name| target(context.shell, &name).map(|target| (name, target))).collect();
    if !targets.is_empty() {
        for command in list.0.iter_mut().flat_map(|item| &mut item.0.first.seq) {
            replace::command(command, &targets);
        }
    }
    let parameters = context.params.clone();
    for command in list.0.iter_mut().flat_map(|item| &mut item.0.first.seq) {
        if let Command::Simple(simple) = command
            && simple.word_or_name.is_none()
            && let Err(name) = calculate(context.shell, &parameters, simple).await
        {
            let _ = writeln!(context.stderr(), "bash: {name}: readonly variable");
            let mut result = ExecutionResult::new(1);
            result.next_control_flow = ExecutionControlFlow::ExitShell;
            return Ok(result);
        }
    }
    context.shell.run_program(Program { complete_commands: vec![list] }, &parameters).await
}

/// Puts the numbers in the place of what is assigned to integers. A name that is read-only is the error: it ends the
/// script.
async fn calculate(
    shell: &mut Shell,
    parameters: &brush_core::ExecutionParameters,
    simple: &mut SimpleCommand,
) -> Result<(), String> {
    for item in simple.prefix.iter_mut().flat_map(|prefix| &mut prefix.0) {
        let CommandPrefixOrSuffixItem::AssignmentWord(assignment, whole) = item else { continue };
        let ast::AssignmentName::VariableName(name) = &assignment.name else { continue };
        let Some(variable) = shell.env_var(name) else { continue };
        if variable.is_readonly() {
            return Err(name.clone());
        }
        if variable.is_treated_as_integer()
            && let ast::AssignmentValue::Scalar(word) = &mut assignment.value
        {
            let Ok(value) = shell.basic_expand_string(parameters, &word.value).await else { continue };
            let sum = if assignment.append { format!("$(({name}+({value})))") } else { format!("$(({value}))") };
            if let Ok(number) = shell.basic_expand_string(parameters, &sum).await {
                word.value = number;
                assignment.append = false;
                whole.value = assignment.to_string();
            }
        }
    }
    Ok(())
}

/// What [`SUBSHELL`] does.
pub(super) async fn subshell(
    context: ExecutionContext<'_, Plain>,
    args: Vec<CommandArg>,
) -> Result<ExecutionResult, Error> {
    let Some(list) = part(&args) else { return Ok(ExecutionResult::new(127)) };
    let parameters = context.params.clone();
    let inherited: Vec<TrapSignal> = context
        .shell
        .traps()
        .iter_handlers()
        .filter(|(signal, handler)| {
            !handler.command.is_empty() && !matches!(signal, TrapSignal::Err | TrapSignal::Debug)
        })
        .map(|(signal, _)| signal)
        .collect();
    for signal in inherited {
        context.shell.traps_mut().remove_handlers(signal);
    }
    let program = Program { complete_commands: vec![CompoundList::clone(&list)] };
    let mut result = context.shell.run_program(program, &parameters).await?;
    let handler = context.shell.traps().get_handler(TrapSignal::Exit).map(|handler| handler.command.clone());
    if let Some(handler) = handler {
        context.shell.traps_mut().remove_handlers(TrapSignal::Exit);
        context.shell.set_last_exit_status(result.exit_code.into());
        let ended = context.shell.run_string(handler, &SourceInfo::from("trap"), &parameters).await?;
        if matches!(ended.next_control_flow, ExecutionControlFlow::ExitShell) {
            result = ended;
        }
    }
    Ok(result)
}

/// Where the references that begin with `name` lead; `None` when it is none.
fn target(shell: &Shell, name: &str) -> Option<String> {
    let mut at = name.to_string();
    for _ in 0..=CHAIN {
        let Some(variable) = shell.env_var(&at).filter(|variable| variable.is_treated_as_nameref()) else {
            return (at != name).then_some(at);
        };
        let next = variable.resolve_value(shell).to_cow_str(shell).into_owned();
        let (array, index) = next.split_once('[').unwrap_or((&next, "]"));
        if !brush_core::env::valid_variable_name(array) || !index.ends_with(']') {
            return None;
        }
        at = next;
    }
    // A circle: a name that nobody has.
    Some("__sinew_nothing".to_string())
}

fn part(args: &[CommandArg]) -> Option<Arc<CompoundList>> {
    let number: usize = args.get(1)?.to_string().parse().ok()?;
    parts().lists.get(number).cloned()
}

fn parts() -> MutexGuard<'static, Parts> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers the names that `text` declares as references or integers.
fn collect(text: &str) {
    for line in text.split(['\n', ';', '{', '}', '&', '|', '(', ')']) {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| !matches!(*word, "declare" | "typeset" | "local" | "readonly"))
            .skip(1);
        let mut reference = false;
        for word in words.by_ref() {
            if word.starts_with(['-', '+']) {
                reference |= word.starts_with('-') && word.contains(['n', 'i']);
                continue;
            }
            let word = word.trim_matches(['\'', '"']);
            let name = word.split(['=', '+']).next().unwrap_or_default();
            if reference && brush_core::env::valid_variable_name(name) {
                let mut parts = parts();
                if !parts.names.iter().any(|known| known == name) {
                    parts.names.push(name.to_string());
                }
            }
        }
    }
}

/// Replaces what is to be settled late.
fn prepare(list: &mut CompoundList) {
    for item in &mut list.0 {
        let more = item.0.additional.iter_mut().map(|next| match next {
            ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => pipeline,
        });
        for command in std::iter::once(&mut item.0.first).chain(more).flat_map(|pipeline| &mut pipeline.seq) {
            inner(command);
            write_out_ranges(command);
            let names = parts().names.clone();
            if replace::mentions(command, &names) {
                let whole = std::mem::replace(command, Command::Simple(call(COMMAND, 0)));
                *command = Command::Simple(call(COMMAND, keep(list_of(whole))));
            }
        }
    }
}

/// Goes on with the lists that are part of a command.
fn inner(command: &mut Command) {
    let compound = match command {
        Command::Compound(compound, _) => compound,
        Command::Function(function) => &mut function.body.0,
        Command::Simple(_) | Command::ExtendedTest(..) => return,
    };
    match compound {
        CompoundCommand::BraceGroup(group) => prepare(&mut group.list),
        CompoundCommand::Subshell(sub) => {
            prepare(&mut sub.list);
            name_itself(&mut sub.list);
            // One that only lists traps lists those of its parent.
            if sub.list.to_string().split("trap ").skip(1).any(|after| !after.starts_with("-p")) {
                let whole = std::mem::replace(&mut sub.list, CompoundList(Vec::new()));
                sub.list = list_of(Command::Simple(call(SUBSHELL, keep(whole))));
            }
        }
        CompoundCommand::ForClause(clause) => prepare(&mut clause.body.list),
        CompoundCommand::ArithmeticForClause(clause) => prepare(&mut clause.body.list),
        CompoundCommand::CaseClause(clause) => {
            clause.cases.iter_mut().filter_map(|case| case.cmd.as_mut()).for_each(prepare);
        }
        CompoundCommand::IfClause(clause) => {
            prepare(&mut clause.condition);
            prepare(&mut clause.then);
            for other in clause.elses.iter_mut().flatten() {
                other.condition.iter_mut().for_each(prepare);
                prepare(&mut other.body);
            }
        }
        CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
            prepare(&mut clause.0);
            prepare(&mut clause.1.list);
        }
        CompoundCommand::Arithmetic(_) | CompoundCommand::Coprocess(_) => {}
    }
}

/// The words of a simple command, and those of a `for`, with their ranges written out.
fn write_out_ranges(command: &mut Command) {
    match command {
        Command::Simple(simple) => {
            let suffix = simple.suffix.iter_mut().flat_map(|suffix| &mut suffix.0);
            for item in suffix {
                if let CommandPrefixOrSuffixItem::Word(word) = item {
                    word.value = ranges::written_out(&word.value);
                }
            }
        }
        Command::Compound(CompoundCommand::ForClause(clause), _) => {
            clause.values.iter_mut().flatten().for_each(|word| word.value = ranges::written_out(&word.value));
        }
        _ => {}
    }
}

/// The commands of a subshell that kill it.
fn name_itself(list: &mut CompoundList) {
    for command in list.0.iter_mut().flat_map(|item| &mut item.0.first.seq) {
        let Command::Simple(simple) = command else { continue };
        if simple.word_or_name.as_ref().is_none_or(|word| word.value != "kill") {
            continue;
        }
        for item in simple.suffix.iter_mut().flat_map(|suffix| &mut suffix.0) {
            if let CommandPrefixOrSuffixItem::Word(word) = item
                && matches!(word.value.trim_matches('"'), "$BASHPID" | "${BASHPID}")
            {
                word.value = SELF.to_string();
            }
        }
    }
}

fn keep(list: CompoundList) -> usize {
    let mut parts = parts();
    parts.lists.push(Arc::new(list));
    parts.lists.len() - 1
}

fn call(name: &str, number: usize) -> SimpleCommand {
    let argument = CommandPrefixOrSuffixItem::Word(Word::new(&number.to_string()));
    SimpleCommand { prefix: None, word_or_name: Some(Word::new(name)), suffix: Some(CommandSuffix(vec![argument])) }
}

fn list_of(command: Command) -> CompoundList {
    let first = Pipeline { timed: None, bang: false, seq: vec![command] };
    CompoundList(vec![CompoundListItem(AndOrList { first, additional: Vec::new() }, SeparatorOperator::Sequence)])
}
