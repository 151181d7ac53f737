//! The texts that the bash of a session evaluates: fixed ones with the names of the session's files, and for each
//! command a preparation ([`setup`]) and the command itself ([`command`]).

use std::os::unix::ffi::OsStrExt;

use super::names::NamedDescriptor;
use super::report::ShellState;
use super::traps::TrapLines;
use super::{syntax, traps};
use crate::RunOptions;
use crate::environment::function_name;

const BOOT: &str = include_str!("script/boot.bash");
const RUNS: &str = include_str!("script/runs.bash");
const NEXT: &str = include_str!("script/next.bash");
const CAPTURE: &str = include_str!("script/capture.bash");
const REPAIR: &str = include_str!("script/repair.bash");
const READY: &str = include_str!("script/ready.bash");
const END: &str = include_str!("script/end.bash");
const STOP: &str = include_str!("script/stop.bash");

/// The number of commands for which the shell keeps one text, and how often it reads that text before it does so in a
/// loop, out of which a `break` of a script could lead.
const RUNS_AT_ONCE: usize = 200;
const TEXTS: usize = 200;

/// Keeps the status, `$_` and `PIPESTATUS` for the report and succeeds. It has no word that could be an alias.
const KEEP_RESULT: &str = "__sinew_t=$? __sinew_l=$_ __sinew_p=${PIPESTATUS[*]/%/,}";

/// The same without a command that a trap or a trace would see.
const KEEP_RESULT_UNSEEN: &str = "{ __sinew_none() { :; }; } \
    9<<<\"${__sinew_x[__sinew_t=$?]-}${__sinew_l:=$_}${__sinew_p:=${PIPESTATUS[*]/%/,}}\"";

/// The beginning of the names of functions and variables in the texts, which each session replaces by its own.
const PREFIX: &str = "__sinew_";

/// Gives the first command the options that were set before it.
const FIRST: &str = concat!(
    "[[ $__sinew_n != *expand_aliases* ]] || builtin shopt -s expand_aliases; ",
    r#"builtin eval "builtin unset -v __sinew_a __sinew_n; builtin set -${__sinew_a//[!exvTEu]/}""#
);

/// Keeps and removes the DEBUG trap that was set before the first command.
const READ_TRAPS: &str = "__sinew_r=$(builtin trap -p DEBUG); builtin trap - DEBUG";

/// The builtins that the texts use. They are enabled again after a command that may disable some.
const BUILTINS: &str =
    "builtin cd command declare enable eval exec exit export printf pwd read return set shopt trap unset";

/// The texts that do not change while a session is open.
#[derive(Debug)]
pub(super) struct FixedTexts {
    /// The argument of `bash -c`.
    pub(super) boot: String,
    pub(super) stop: String,
    pub(super) end: String,
    pub(super) runs: String,
}

impl FixedTexts {
    /// Fills in the names of the session's files, each after its placeholder. `snapshot` is a line of script that is run
    /// first; it may be empty. `reads_traps` is true if a script that has run before may have set traps.
    pub(super) fn new(
        names: &[(&str, &NamedDescriptor)],
        prefix: &str,
        snapshot: &str,
        reads_traps: bool,
    ) -> FixedTexts {
        let snapshot = if snapshot.is_empty() { ":".to_string() } else { format!("builtin {snapshot}") };
        let traps = if reads_traps { READ_TRAPS } else { ":" };
        let fill = |text: &str| {
            let text = without_comments(text)
                .replace("@READY@\n", &without_comments(READY))
                .replace("@REPAIR@\n", &without_comments(REPAIR))
                .replace("@TRAPS@", traps)
                .replace("@CAPTURE@\n", &without_comments(CAPTURE))
                .replace("@NEXT@\n", &without_comments(NEXT))
                .replace("@EXEC@", &exec(PREFIX, "[[ ${__sinew_c-} ]]", "</dev/null >/dev/null 2>&1"))
                .replace("@BUILTINS@", BUILTINS)
                .replace(PREFIX, prefix);
            names.iter().fold(text, |text, (placeholder, file)| text.replace(placeholder, &file.name()))
        };
        let again = "builtin eval \"$(<@RUNS@)\"\n";
        let boot = format!("{BOOT}{}while :; do\n{again}done\n", again.repeat(TEXTS));
        FixedTexts {
            boot: fill(&boot).replace("@SNAPSHOT@", &snapshot),
            stop: fill(STOP),
            end: fill(END),
            runs: fill(RUNS).repeat(RUNS_AT_ONCE),
        }
    }
}

fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with('#')).collect()
}

/// Returns the script before a command: it undoes what held for the command before only, connects the streams, and sets
/// directory, variables and traps. It is one group, so that all of it is read before a part of it is in force.
pub(super) fn setup(
    run: &RunOptions,
    state: &ShellState,
    traps: &TrapLines,
    [report, stop]: [&str; 2],
    [input, output]: [&str; 2],
) -> Vec<u8> {
    let mut text = b"{\n".to_vec();
    text.extend_from_slice(&state.undo);
    let p = &*state.prefix;
    line(&mut text, format_args!("{}", exec(p, "builtin declare -F command", &format!("<{input} >{output} 2>&1"))));
    let command = quote(run.command.as_bytes());
    assign(&mut text, "BASH_EXECUTION_STRING", &command);
    if is_undone(run) {
        save(&mut text, run, report);
    }
    if let Some(cwd) = &run.cwd {
        let cwd = quote(cwd.as_os_str().as_bytes());
        // `cd` also fails if `OLDPWD` is read-only, after it has changed the directory.
        text.extend([&b"builtin cd -- "[..], &cwd, b" >/dev/null 2>&1 || [[ ", &cwd, b" == /* && "].concat());
        text.extend([&cwd[..], b" -ef . ]] || {"].concat());
        line(&mut text, format_args!(" {p}q=cd; {p}f=:; }}"));
    }
    export(&mut text, run, p);
    match traps.lists {
        // Aborting this run has to end the shell, as the trap would do.
        true => line(&mut text, format_args!("builtin trap - RTMAX-2")),
        false => line(&mut text, format_args!("builtin trap -- '\\builtin eval \"$(<{stop})\"' RTMAX-2")),
    }
    if let Some(handler) = &traps.debug {
        line(&mut text, format_args!("builtin trap -- {handler} DEBUG"));
    }
    line(&mut text, format_args!("{p}e=\n}}"));
    text
}

/// Returns a line that redirects the shell itself, also if the script has functions with these names: redirections of
/// `builtin exec` would end with it. `is_replaced` is a condition: true if `command` is a function.
fn exec(p: &str, is_replaced: &str, redirections: &str) -> String {
    format!(
        "if {is_replaced}; then {p}x=$(builtin declare -f exec); \
         builtin unset -f exec; exec {redirections}; builtin eval \"${p}x\"; builtin unset -v {p}x; \
         else command exec {redirections}; fi"
    )
}

/// Returns true if directory or variables hold for this run only.
pub(super) fn is_undone(run: &RunOptions) -> bool {
    run.cwd.is_some() || !run.env.is_empty()
}

/// Adds lines that report what the run changes: a script that restores the directory, then the variables as `declare`
/// prints them, and NUL.
fn save(text: &mut Vec<u8>, run: &RunOptions, report: &str) {
    text.extend_from_slice(b"{\n");
    if run.cwd.is_some() {
        line(text, format_args!("builtin printf 'builtin cd -- %q\\n' \"$PWD\""));
        line(
            text,
            format_args!(
                "if [[ -v OLDPWD ]]; then builtin printf '[[ ${{OLDPWD@a}} == *r* ]] || OLDPWD=%q\\n' \"$OLDPWD\"; \
                 else builtin printf 'builtin unset -v OLDPWD\\n'; fi"
            ),
        );
    }
    for (name, _) in functions(run) {
        line(text, format_args!("builtin printf 'builtin unset -f {name}\n'"));
        line(text, format_args!("if builtin declare -f {name}; then"));
        line(text, format_args!("builtin printf 'builtin '; builtin declare -pF {name}; fi"));
    }
    line(text, format_args!("builtin printf '\\0'"));
    let names: Vec<&str> = variables(run).map(|(name, _)| name).collect();
    if !names.is_empty() {
        line(text, format_args!("builtin declare -p {} || [[ 1 ]]", names.join(" ")));
    }
    line(text, format_args!("builtin printf '\\0'"));
    line(text, format_args!("}} >{report} 2>/dev/null"));
}

/// Returns the variables of a run that are no functions.
fn variables(run: &RunOptions) -> impl Iterator<Item = (&str, &str)> {
    let all = run.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    all.filter(|(name, _)| function_name(name).is_none())
}

/// Returns the functions in the variables of a run, each with its text after the name.
fn functions(run: &RunOptions) -> impl Iterator<Item = (&str, &str)> {
    run.env.iter().filter_map(|(name, value)| Some((function_name(name)?, value.as_str())))
}

/// Adds lines that export the variables of a run. An array, an integer and similar variables would not accept a value
/// unchanged, so they are removed before.
fn export(text: &mut Vec<u8>, run: &RunOptions, p: &str) {
    for (name, value) in functions(run) {
        text.extend([b"builtin eval ", &quote(format!("function {name} {value}").as_bytes())[..]].concat());
        line(text, format_args!(" 2>/dev/null && builtin export -f {name} || {{"));
        line(text, format_args!("{p}q='env BASH_FUNC_{name}%%' {p}f=:; }}"));
    }
    if variables(run).next().is_none() {
        return;
    }
    for (name, _) in variables(run) {
        line(text, format_args!("[[ -R {name} ]] && builtin unset -n {name}"));
        line(text, format_args!("[[ ${{{name}@a}} == *[!rx]* ]] && builtin unset -v {name} 2>/dev/null"));
    }
    text.extend_from_slice(b"builtin export");
    for (name, value) in variables(run) {
        text.extend([b" ", name.as_bytes(), b"=", &quote(value.as_bytes())[..]].concat());
    }
    text.extend_from_slice(b" 2>/dev/null || {\n");
    for (name, _) in variables(run) {
        line(text, format_args!("[[ ${{{name}@a}} == *r* ]] && {p}q='env {name}'"));
    }
    line(text, format_args!("{p}f=:\n}}"));
}

/// Adds an assignment to a variable without attributes: a read-only variable or an integer could turn it into an error.
fn assign(text: &mut Vec<u8>, name: &str, value: &[u8]) {
    text.extend([b"[[ ${", name.as_bytes(), b"@a} ]] || ", name.as_bytes(), b"=", value, b"\n"].concat());
}

/// Returns the text of a command: the lines that restore options, `$_`, `$?` and `PIPESTATUS`, the command, and
/// [`KEEP_RESULT`] where it cannot become a part of the command. An ERR trap would run a second time, for the `eval` of
/// a command that fails, so a command that may have one gets the line in any case.
pub(super) fn command(run: &RunOptions, state: &ShellState, traps: &TrapLines, report: &str) -> Vec<u8> {
    let p = &*state.prefix;
    let is_disabled = |name: &str| state.disabled.iter().any(|disabled| disabled == name);
    let mut text = format!("{p}set() {{ builtin unset -f {p}set; builtin unset -v {p}e; ").into_bytes();
    let mut add = |part: &str| text.extend_from_slice(format!("{part}; ").as_bytes());
    if state.has('A') {
        add("builtin shopt -s expand_aliases");
    }
    if state.has('D') {
        add("builtin shopt -s extdebug");
    }
    if state.is_new {
        add(&FIRST.replace(PREFIX, p));
    }
    let options: String = state.options.chars().filter(|option| "exvTEu".contains(*option)).collect();
    if !options.is_empty() {
        add(&format!("builtin set -{options}"));
    }
    if !state.disabled.is_empty() {
        add(&format!("builtin enable -n {}", state.disabled.join(" ")));
    }
    // From here on a function of the script may replace `builtin`, and it may be disabled.
    if state.is_new {
        add(&format!("[[ ! ${{{p}d-}} ]] || builtin eval \"builtin unset -v {p}d; ${p}d\""));
    }
    text.extend([&state.builtin[..], b"\n"].concat());
    let builtin = match (state.builtin.is_empty(), is_disabled("builtin")) {
        (_, true) if is_disabled("command") => "\\",
        (_, true) => "command ",
        (true, false) => "builtin ",
        (false, false) => "command builtin ",
    };
    match state.is_new || is_disabled("return") {
        true => text.extend_from_slice(b"}\n"),
        false => text.extend_from_slice(format!("{builtin}return {}; }}\n", state.status).as_bytes()),
    }
    // The status of the last command is no failure of this one: it must not run an ERR trap or end the shell.
    let unless_failed = if state.fails_again() { " && [[ 1 ]]" } else { "" };
    let quiet = if state.is_new || options.contains('x') { " 2>/dev/null" } else { "" };
    let set = [format!("{p}set ").as_bytes(), &quote(&state.last_argument)[..], quiet.as_bytes()].concat();
    let set = [&set[..], if state.status == 0 { "" } else { unless_failed }.as_bytes()].concat();
    match state.has('L') {
        true => text.extend([b"\n", &set[..]].concat()),
        // Line numbers are those of a script that begins on the next line.
        false => text.extend([b"\n{ ", &set[..], format!("; }} 9<&\"${{{p}x[LINENO=0]--}}\"").as_bytes()].concat()),
    }
    if state.pipe_status.len() > 1 && options.is_empty() && run.command.contains("PIPESTATUS") {
        let parts: Vec<String> = state.pipe_status.iter().map(|status| format!("(exit {status})")).collect();
        text.extend_from_slice(format!("; {}", parts.join(" | ")).as_bytes());
        if state.status != 0 {
            text.extend_from_slice(unless_failed.as_bytes());
        }
    }
    if state.may_have_traps {
        let restore = format!("; {{ builtin eval \"builtin unset -v {p}r; ${{{p}r-}}\"; }} 2>/dev/null");
        text.extend_from_slice(restore.as_bytes());
    }
    if let Some(handler) = &traps.listed_debug {
        text.extend_from_slice(format!("; {builtin}trap -- {handler} DEBUG").as_bytes());
    }
    text.push(b'\n');
    text.extend_from_slice(run.command.as_bytes());
    // With `set -v`, bash would print the line.
    let is_hidden = !state.has('v') && !traps::words(&run.command).any(|(word, _)| word == "set");
    if traps.may_have_error_trap && !run.command.ends_with('\\') || is_hidden && syntax::is_complete(&run.command) {
        let is_plain = !traps.may_have_debug_trap && !state.has('x') && is_hidden;
        let keep = if is_plain { KEEP_RESULT } else { KEEP_RESULT_UNSEEN };
        line(&mut text, format_args!("\n{}", keep.replace(PREFIX, p)));
        if state.may_disable {
            line(&mut text, format_args!("{}", with_enable(&format!("-n >{report} 2>/dev/null"))));
            line(&mut text, format_args!("{}", with_enable(&format!("{BUILTINS} >/dev/null 2>&1"))));
        }
    }
    text
}

/// Returns a line that calls `enable`, also if `builtin` is a function or disabled. DEBUG traps know it by its spelling.
fn with_enable(words: &str) -> String {
    format!(r"\b\uiltin enable {words} || \command enable {words} || \enable {words} || \:")
}

/// Does the same as [`crate::request::quote`] for bytes, which a path or an argument may contain.
fn quote(bytes: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\'').collect();
    [b"'", &parts.join(&br"'\''"[..])[..], b"'"].concat()
}

fn line(text: &mut Vec<u8>, line: std::fmt::Arguments<'_>) {
    text.extend_from_slice(line.to_string().as_bytes());
    text.push(b'\n');
}
