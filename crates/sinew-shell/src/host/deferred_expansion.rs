//! Rewrites programs before they run, where the interpreter differs from bash.
//!
//! A command whose meaning is only known when it runs is replaced by a call of an internal builtin with the number of
//! the command in [`Parts`]:
//! - [`COMMAND`] replaces references (`declare -n`) by their targets, evaluates values assigned to integers (`declare
//!   -i`), expands `**`, and runs the result;
//! - [`ASSIGN`] runs assignments under `set -x`, after which the interpreter would keep the previous status;
//! - [`LOOP_VARIABLE`] starts the body of a `for` whose variable is an integer;
//! - [`SUBSHELL`] runs a subshell that sets traps: inherited traps are removed at its start, and its own traps run at
//!   its end;
//! - [`select::SELECT`] runs a menu.
//!
//! Other words are rewritten in place: ranges with leading zeros ([`ranges`]) and lengths ([`lengths`]).

mod globstar;
mod lengths;
mod ranges;
mod references;
mod select;
mod subscripts;
mod visit;

use std::collections::HashMap;
use std::future::ready;
use std::io::Write;
use std::sync::Arc;

use brush_core::builtins::CommandExecuteFunc;
use brush_core::env::{EnvironmentLookup, EnvironmentScope};
use brush_core::parser::ParseError;
use brush_core::parser::ast::{
    self, AndOrList, Command, CommandPrefixOrSuffixItem, CommandSuffix, CompoundCommand, CompoundList,
    CompoundListItem, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline, Program, SeparatorOperator,
    SimpleCommand, Word,
};
use brush_core::traps::TrapSignal;
use brush_core::variables::ShellValueLiteral;
use brush_core::{
    CommandArg, Error, ExecutionContext, ExecutionControlFlow, ExecutionParameters, ExecutionResult, SourceInfo,
};
use parking_lot::{Mutex, MutexGuard};

use super::interpreter::{BrushExtensions, Shell};

/// The builtin that runs a command after resolving its references.
pub(super) const COMMAND: &str = "__sinew_command";

/// The builtin that runs the list of a subshell.
pub(super) const SUBSHELL: &str = "__sinew_subshell";

/// The builtin that runs a command of assignments.
const ASSIGN: &str = "__sinew_assign";

/// The builtin that assigns the next word of a `for` to an integer.
const LOOP_VARIABLE: &str = "__sinew_loop_variable";

/// The prefix of the variable that replaces an integer in a `for`.
const LOOP_PREFIX: &str = "__sinew_loop_";

/// The descriptor of the command's standard error in a call that is hidden from the trace.
const ERRORS: i32 = 59;

/// The target of `kill` that means the subshell itself, which is not a process.
pub(super) const SELF: &str = "__sinew_self";

/// The maximum length of a chain of references.
const CHAIN: usize = 8;

/// Builtins are functions without state, so the parts that they look up by number are static. This is safe because one
/// process runs one shell.
static PARTS: Mutex<Parts> =
    Mutex::new(Parts { names: Vec::new(), integers: Vec::new(), lists: Vec::new(), traced: false, globstar: false });

struct Parts {
    // The names of references and integers.
    names: Vec<String>,
    integers: Vec<String>,
    lists: Vec<Arc<CompoundList>>,
    // True if some text sets the option.
    traced: bool,
    globstar: bool,
}

/// Returns the builtins that only rewritten programs use.
pub(super) fn builtins() -> [(&'static str, CommandExecuteFunc<BrushExtensions>); 6] {
    [
        (COMMAND, |context, args| Box::pin(command(context, args))),
        (SUBSHELL, |context, args| Box::pin(subshell(context, args))),
        (ASSIGN, |context, args| Box::pin(assign(context, args))),
        (LOOP_VARIABLE, |context, args| Box::pin(loop_variable(context, args))),
        (lengths::COUNT, |context, args| Box::pin(ready(lengths::count(&context, &args)))),
        (select::SELECT, |mut context, args| {
            Box::pin(async move {
                let Some(list) = part(&args) else { return Ok(ExecutionResult::new(127)) };
                context.params = with_errors(&context);
                select::run(context, &list).await
            })
        }),
    ]
}

/// Parses `text`, which may contain menus.
pub(super) fn parse(shell: &Shell, text: &str) -> Result<Program, ParseError> {
    shell.parse_string(text).or_else(|cause| match select::as_loops(text) {
        Some(text) => shell.parse_string(text),
        None => Err(cause),
    })
}

/// Runs `text`, rewritten where necessary.
pub(super) async fn run_string(
    shell: &mut Shell,
    text: &str,
    source: &SourceInfo,
    parameters: &ExecutionParameters,
) -> Result<ExecutionResult, Error> {
    collect(text);
    let needed = {
        let parts = parts();
        !parts.names.is_empty() || parts.traced || parts.globstar
    };
    let needed = needed
        || (text.contains('(') && (text.contains("trap") || text.contains("BASHPID")))
        || text.contains("select")
        || lengths::mentioned(text)
        || ranges::mentioned(text)
        || subscripts::mentioned(text);
    if needed && let Ok(mut program) = parse(shell, text) {
        super::builtins::hidden(shell);
        for list in &mut program.complete_commands {
            prepare(list, text);
        }
        lengths::install(shell);
        return shell.run_program(program, parameters).await;
    }
    shell.run_string(text, source, parameters).await
}

/// Runs the builtin [`COMMAND`].
async fn command(
    context: ExecutionContext<'_, BrushExtensions>,
    args: Vec<CommandArg>,
) -> Result<ExecutionResult, Error> {
    let Some(list) = part(&args) else { return Ok(ExecutionResult::new(127)) };
    let parameters = with_errors(&context);
    let mut list = CompoundList::clone(&list);
    let names = parts().names.clone();
    let targets: HashMap<String, String> =
        names.into_iter().filter_map(|name| target(context.shell, &name).map(|target| (name, target))).collect();
    if !targets.is_empty() {
        for command in list.0.iter_mut().flat_map(|item| &mut item.0.first.seq) {
            references::command(command, &targets);
        }
    }
    for command in list.0.iter_mut().flat_map(|item| &mut item.0.first.seq) {
        if context.shell.options().enable_star_star_glob {
            globstar::expand(context.shell, &parameters, command).await;
        }
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
    let assigns = matches!(&list.0[0].0.first.seq[0], Command::Simple(simple) if simple.word_or_name.is_none());
    let program = Program { complete_commands: vec![list] };
    match assigns {
        true => run_assignments(context.shell, program, &parameters).await,
        false => context.shell.run_program(program, &parameters).await,
    }
}

/// Runs the builtin [`ASSIGN`].
async fn assign(
    context: ExecutionContext<'_, BrushExtensions>,
    args: Vec<CommandArg>,
) -> Result<ExecutionResult, Error> {
    let Some(list) = part(&args) else { return Ok(ExecutionResult::new(127)) };
    let parameters = with_errors(&context);
    let program = Program { complete_commands: vec![CompoundList::clone(&list)] };
    run_assignments(context.shell, program, &parameters).await
}

/// Runs a command of assignments. Under `set -x` the interpreter confuses the expansion of `PS4` with the command and
/// keeps the previous status; the status has to be 0 unless a substitution has set one.
async fn run_assignments(
    shell: &mut Shell,
    mut program: Program,
    parameters: &ExecutionParameters,
) -> Result<ExecutionResult, Error> {
    let before = shell.last_exit_status().to_string();
    let traced = shell.options().print_commands_and_arguments;
    let mut readonly = false;
    for item in program.complete_commands.iter_mut().flat_map(|list| &mut list.0) {
        for command in &mut item.0.first.seq {
            if traced {
                visit::texts(command, &mut |text, _| *text = text.replace("$?", &before));
            }
            let Command::Simple(simple) = command else { continue };
            readonly |= simple.prefix.iter().flat_map(|prefix| &prefix.0).any(|item| match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    let (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _)) =
                        &assignment.name;
                    shell.env_var(name).is_some_and(|variable| variable.is_readonly())
                }
                _ => false,
            });
        }
    }
    if traced {
        shell.set_last_exit_status(0);
    }
    let mut result = shell.run_program(program, parameters).await?;
    if readonly {
        result.next_control_flow = ExecutionControlFlow::ExitShell;
    }
    Ok(result)
}

/// Runs the builtin [`LOOP_VARIABLE`]: `NAME WORD` assigns the word, or its value if the name is an integer. Does not
/// change the status.
async fn loop_variable(
    context: ExecutionContext<'_, BrushExtensions>,
    args: Vec<CommandArg>,
) -> Result<ExecutionResult, Error> {
    let words: Vec<String> = args.iter().skip(1).map(CommandArg::to_string).collect();
    let [name, word] = &words[..] else { return Ok(ExecutionResult::new(127)) };
    let status = context.shell.last_exit_status();
    let parameters = with_errors(&context);
    let integer = context.shell.env_var(name).is_some_and(|variable| variable.is_treated_as_integer());
    let value = match integer {
        true => context.shell.basic_expand_string(&parameters, &format!("$(({word}))")).await?,
        false => word.clone(),
    };
    context.shell.env_mut().update_or_add(
        name,
        ShellValueLiteral::Scalar(value),
        |_| Ok(()),
        EnvironmentLookup::Anywhere,
        EnvironmentScope::Global,
    )?;
    // With the trap for errors, this would be treated as an error.
    let quiet = context.shell.traps().handles(TrapSignal::Err);
    Ok(ExecutionResult::new(if quiet { 0 } else { status }))
}

/// Returns the parameters of the command that a call replaces: its standard error is not that of the call.
fn with_errors(context: &ExecutionContext<'_, BrushExtensions>) -> ExecutionParameters {
    let Some(errors) = context.try_fd(ERRORS) else { return context.params.clone() };
    let mut parameters = ExecutionParameters::default();
    parameters.process_group_policy = context.params.process_group_policy.clone();
    parameters.suppress_errexit = context.params.suppress_errexit;
    for (fd, file) in context.iter_fds().filter(|(fd, _)| *fd != ERRORS) {
        parameters.set_fd(fd, file);
    }
    parameters.set_fd(2, errors);
    parameters
}

/// Evaluates the values assigned to integers. Returns the name of a read-only variable as the error, which ends the
/// script.
async fn calculate(
    shell: &mut Shell,
    parameters: &ExecutionParameters,
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

/// Runs the builtin [`SUBSHELL`].
async fn subshell(
    context: ExecutionContext<'_, BrushExtensions>,
    args: Vec<CommandArg>,
) -> Result<ExecutionResult, Error> {
    let Some(list) = part(&args) else { return Ok(ExecutionResult::new(127)) };
    let parameters = with_errors(&context);
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

/// Returns the target of the reference `name`; `None` if it is not a reference.
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
    // A cycle: returns a name that does not exist.
    Some("__sinew_nothing".to_string())
}

fn part(args: &[CommandArg]) -> Option<Arc<CompoundList>> {
    let number: usize = args.get(1)?.to_string().parse().ok()?;
    parts().lists.get(number).cloned()
}

fn parts() -> MutexGuard<'static, Parts> {
    PARTS.lock()
}

/// Records the names that `text` declares as references or integers, and the options that it sets.
fn collect(text: &str) {
    let mut parts = parts();
    parts.globstar |= text.contains("globstar");
    parts.traced |= text.contains("xtrace");
    for line in text.split(['\n', ';', '{', '}', '&', '|', '(', ')']) {
        let mut all = line.split_whitespace();
        if all.clone().any(|word| word == "set") {
            parts.traced |= all.any(|word| word.starts_with('-') && word.contains('x'));
        }
        let mut words = line
            .split_whitespace()
            .skip_while(|word| !matches!(*word, "declare" | "typeset" | "local" | "readonly"))
            .skip(1);
        let (mut reference, mut integer) = (false, false);
        for word in words.by_ref() {
            if word.starts_with(['-', '+']) {
                reference |= word.starts_with('-') && word.contains('n');
                integer |= word.starts_with('-') && word.contains('i');
                continue;
            }
            let word = word.trim_matches(['\'', '"']);
            let name = word.split(['=', '+']).next().unwrap_or_default();
            if !(reference || integer) || !brush_core::env::valid_variable_name(name) {
                continue;
            }
            if !parts.names.iter().any(|known| known == name) {
                parts.names.push(name.to_string());
            }
            if integer && !parts.integers.iter().any(|known| known == name) {
                parts.integers.push(name.to_string());
            }
        }
    }
}

/// Rewrites a list that was parsed from `source`.
fn prepare(list: &mut CompoundList, source: &str) {
    for item in &mut list.0 {
        let more = item.0.additional.iter_mut().map(|next| match next {
            ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => pipeline,
        });
        for command in std::iter::once(&mut item.0.first).chain(more).flat_map(|pipeline| &mut pipeline.seq) {
            subscripts::join(command, source);
            inner(command, source);
            visit::substituted_lists(command, &mut |list| prepare(list, source));
            write_out_ranges(command);
            visit::texts(command, &mut |text, context| *text = lengths::rewritten(text, context));
            count_with_another(command);
            defer(command);
        }
    }
}

/// Replaces a command by a call that is resolved when it runs.
fn defer(command: &mut Command) {
    let (names, traced, globstar) = {
        let parts = parts();
        (parts.names.clone(), parts.traced, parts.globstar)
    };
    let mut patterns = false;
    if globstar {
        visit::texts(command, &mut |text, _| patterns |= globstar::is_pattern(text));
    }
    let assigns = matches!(command, Command::Simple(simple) if simple.word_or_name.is_none()
        && simple.prefix.iter().flat_map(|prefix| &prefix.0)
            .any(|item| matches!(item, CommandPrefixOrSuffixItem::AssignmentWord(..))));
    let (builtin, redirections) = if select::is_menu(command) {
        (select::SELECT, select::redirections(command))
    } else if patterns || references::mentions(command, &names) {
        (COMMAND, Vec::new())
    } else if traced && assigns {
        (ASSIGN, Vec::new())
    } else {
        return;
    };
    let whole = std::mem::replace(command, Command::Simple(call(COMMAND, 0)));
    let mut call = Command::Simple(call(builtin, keep(list_of(whole))));
    select::redirect(&mut call, redirections);
    if traced {
        select::redirect(&mut call, untraced());
    }
    *command = call;
}

/// Returns redirections that hide a call from the trace: the command's standard error is at [`ERRORS`].
fn untraced() -> Vec<CommandPrefixOrSuffixItem> {
    let file = |fd, kind, target| CommandPrefixOrSuffixItem::IoRedirect(IoRedirect::File(Some(fd), kind, target));
    vec![
        file(ERRORS, IoFileRedirectKind::DuplicateOutput, IoFileRedirectTarget::Fd(2)),
        file(2, IoFileRedirectKind::Write, IoFileRedirectTarget::Filename(Word::new("/dev/null"))),
    ]
}

/// Replaces the variable of a `for` over an integer by an internal one, whose words [`LOOP_VARIABLE`] evaluates.
fn count_with_another(command: &mut Command) {
    let Command::Compound(CompoundCommand::ForClause(clause), _) = command else { return };
    if !parts().integers.contains(&clause.variable_name) {
        return;
    }
    let other = format!("{LOOP_PREFIX}{}", clause.variable_name);
    let name = std::mem::replace(&mut clause.variable_name, other.clone());
    let mut items: Vec<CommandPrefixOrSuffixItem> =
        [name, format!("\"${other}\"")].iter().map(|word| CommandPrefixOrSuffixItem::Word(Word::new(word))).collect();
    if parts().traced {
        items.extend(untraced());
    }
    let call = SimpleCommand {
        prefix: None,
        word_or_name: Some(Word::new(LOOP_VARIABLE)),
        suffix: Some(CommandSuffix(items)),
    };
    clause.body.list.0.splice(0..0, list_of(Command::Simple(call)).0);
}

/// Continues with the lists inside a command.
fn inner(command: &mut Command, source: &str) {
    let compound = match command {
        Command::Compound(compound, _) => compound,
        Command::Function(function) => &mut function.body.0,
        Command::Simple(_) | Command::ExtendedTest(..) => return,
    };
    match compound {
        CompoundCommand::BraceGroup(group) => prepare(&mut group.list, source),
        CompoundCommand::Subshell(sub) => {
            prepare(&mut sub.list, source);
            name_itself(&mut sub.list);
            // A subshell that only lists traps lists those of its parent.
            if sub.list.to_string().split("trap ").skip(1).any(|after| !after.starts_with("-p")) {
                let whole = std::mem::replace(&mut sub.list, CompoundList(Vec::new()));
                sub.list = list_of(Command::Simple(call(SUBSHELL, keep(whole))));
            }
        }
        CompoundCommand::ForClause(clause) => prepare(&mut clause.body.list, source),
        CompoundCommand::ArithmeticForClause(clause) => prepare(&mut clause.body.list, source),
        CompoundCommand::CaseClause(clause) => {
            clause.cases.iter_mut().filter_map(|case| case.cmd.as_mut()).for_each(|list| prepare(list, source));
        }
        CompoundCommand::IfClause(clause) => {
            prepare(&mut clause.condition, source);
            prepare(&mut clause.then, source);
            for other in clause.elses.iter_mut().flatten() {
                other.condition.iter_mut().for_each(|list| prepare(list, source));
                prepare(&mut other.body, source);
            }
        }
        CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
            prepare(&mut clause.0, source);
            prepare(&mut clause.1.list, source);
        }
        CompoundCommand::Arithmetic(_) | CompoundCommand::Coprocess(_) => {}
    }
}

/// Expands ranges in the words of a simple command or a `for`.
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

/// Replaces the target of commands in a subshell that kill it.
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
