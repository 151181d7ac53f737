//! Tests of the state that persists in a shell, and of the results of its runs. Tests in which shells without a
//! supervisor differ follow those of `cases/session.rs`.

use std::ops::ControlFlow;
use std::sync::Arc;
use supervised::check_against_bash;

use crate::support::{self, command, options, run_until, shell, supervisor};
use sinew_base::{CancelToken, ErrorCode};
use sinew_shell::{Engine, RunOptions, Shell, ShellOptions};

mod supervised {
    use sinew_shell::{Shell, execute_shell};

    include!("cases/session.rs");
}

mod direct {
    use sinew_shell::direct::{Shell, execute_shell};

    include!("cases/session.rs");
}

/// Runs the commands one after another in one shell. Each must have the given output and exit code.
#[track_caller]
fn check(steps: &[(&str, &str, i32)]) {
    let shell = shell(Engine::Bash);
    for (text, expect, code) in steps {
        let (result, output) = shell.output(text).unwrap();
        assert_eq!((output.as_str(), result.exit_code), (*expect, Some(*code)), "{text}");
    }
}

/// Without a supervisor, the script kills the host.
#[test]
fn a_script_that_kills_its_parent_ends_only_its_shell() {
    let shell = shell(Engine::Bash);
    let (result, _) = shell.output("kill -9 $PPID; sleep 100").unwrap();
    assert_eq!((result.exit_code, result.signal, result.state_lost.is_some()), (None, Some("SIGKILL"), true));
    assert_eq!(shell.output("echo up").unwrap().1, "up\n");
}

/// Without a supervisor, no shell is running between two runs.
#[test]
fn reports_a_shell_that_dies_between_two_runs() {
    let shell = shell(Engine::Bash);
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("go");
    let killer = format!("mkfifo {0}; X=1; {{ read <{0}; kill -9 $$; }} >/dev/null & echo $PPID", fifo.display());
    let (_, parent) = shell.output(&killer).unwrap();
    // The run has ended before the shell is killed.
    std::fs::write(&fifo, "now\n").unwrap();
    // The supervisor exits after it has reported that the shell is gone.
    let parent = std::path::PathBuf::from(format!("/proc/{}", parent.trim()));
    support::wait_for("the end of the shell", || !parent.exists());
    let (result, output) = shell.output("echo \"[$X]\"").unwrap();
    assert_eq!((output.as_str(), result.state_lost.is_some()), ("[]\n", true));
}

/// Without a supervisor, jobs have no numbers in later runs; `direct.rs` tests the rest.
#[test]
fn background_jobs_outlive_their_run_without_adding_output_to_later_runs() {
    let shell = shell(Engine::Bash);
    let (_, output) = shell.output("(while echo late; do sleep 0.01; done) & sleep 1000 & echo here").unwrap();
    assert!(output.contains("here\n"), "{output}");
    assert_eq!(shell.output("echo next").unwrap().1, "next\n");
    // A process that has just been started has the command line of the shell for a moment.
    support::wait_for("the job", || shell.jobs().unwrap().iter().any(|job| job.command == "sleep 1000"));
    let (result, _) = run_until(&shell, "sleep 1001 & echo up; wait", "up");
    assert_eq!((result.cancelled, result.state_lost), (true, None));
    let after = shell.jobs().unwrap();
    assert!(after.iter().any(|job| job.command == "sleep 1000"), "{after:?}");
    assert!(!after.iter().any(|job| job.command == "sleep 1001"), "{after:?}");
    assert_eq!(shell.output("kill %1 %2; wait; echo $?").unwrap().0.exit_code, Some(0));
    shell.close();
    let error = shell.output("echo x").unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidState);
}

/// Without a supervisor, older versions work too; see `direct.rs`.
#[test]
fn errors_of_a_missing_bash_or_supervisor_name_a_fix() {
    let no_path = ShellOptions { env: vec![("PATH".into(), "/nowhere".into())], ..options(Engine::Bash) };
    let error = Shell::new(supervisor(), no_path).output("echo").unwrap_err();
    assert!(error.message().contains("no bash of version 4.4"), "{error}");
    let named = |path: &str| ShellOptions { bash: Some(path.into()), ..options(Engine::Auto) };
    let error = Shell::new(supervisor(), named("/bin/false")).output("echo").unwrap_err();
    let text = "Failed to initialize shell: no bash of version 4.4 or later at /bin/false";
    assert_eq!(error.message(), text);
    let nobody = sinew_shell::Supervisor::new("/no/such/supervisor");
    let error = Shell::new(nobody, options(Engine::Brush)).output("echo").unwrap_err();
    assert!(error.message().starts_with("Failed to initialize shell"), "{error}");
}

/// Without a supervisor, a stopped run changes no state; see `direct.rs`.
#[test]
fn abort_stops_the_running_command_and_does_not_affect_an_idle_shell() {
    let shell = Arc::new(shell(Engine::Bash));
    shell.abort();
    let (up, is_up) = std::sync::mpsc::channel();
    let running = Arc::clone(&shell);
    let thread = std::thread::spawn(move || {
        running
            .run(&command("X=1; echo up; sleep 1000"), &CancelToken::never(), &mut |chunk| {
                up.send(chunk).unwrap();
                ControlFlow::Continue(())
            })
            .unwrap()
    });
    is_up.recv().unwrap();
    shell.abort();
    let result = thread.join().unwrap();
    assert_eq!((result.cancelled, result.timed_out, result.exit_code, result.state_lost), (true, false, None, None));
    assert_eq!(shell.output("echo $X").unwrap().1, "1\n");
}

/// Without a supervisor, a command also inherits the descriptors that the host opened for its children.
#[test]
fn a_command_inherits_no_descriptor_of_the_host() {
    check(&[("ls /proc/self/fd | grep -cvxE '[0123]'", "0\n", 1)]);
}

/// Without a supervisor, there is one `eval` fewer.
#[test]
fn a_trace_shows_only_the_commands_of_the_run() {
    // Each `eval` around a command is one more `+`.
    check(&[("set -x; echo a", "+++ echo a\na\n", 0), ("echo b", "+++ echo b\nb\n", 0), ("set +x", "+++ set +x\n", 0)]);
    check(&[
        ("set -v; echo a\necho b", "a\necho b\nb\n", 0),
        ("echo c", "echo c\nc\n", 0),
        ("set +v", "set +v\n", 0),
        ("echo d\n:", "d\n", 0),
    ]);
}

/// Without a supervisor, line numbers of a function from an earlier run refer to the file that it was saved in.
#[test]
fn line_numbers_start_at_each_run() {
    let text = "echo $LINENO\nf() {\n  echo $LINENO\n}\nf\nnosuch\necho \"${BASH_LINENO[*]}\"\n";
    let shell = shell(Engine::Bash);
    let expect = "1\n3\nbash: line 6: nosuch: command not found\n\n";
    for _ in 0..3 {
        assert_eq!(shell.output(text).unwrap().1, expect);
    }
    assert_eq!(shell.output("f; IFS=-; LINENO=70; set -u").unwrap().1, "3\n");
    assert_eq!(shell.output(text).unwrap().1, expect);
    assert_eq!(shell.output("\n\nif").unwrap().1, "bash: eval: line 4: syntax error: unexpected end of file\n");
    assert_eq!(shell.output(text).unwrap().1, expect);
}

/// Without a supervisor, every run is a separate text.
#[test]
fn a_session_supports_any_number_of_runs() {
    let shell = shell(Engine::Bash);
    shell.output("N=0").unwrap();
    for _ in 0..900 {
        shell.output("N=$((N + 1))").unwrap();
    }
    assert_eq!(shell.output("echo $N $LINENO $-").unwrap().1, "900 1 hBc\n");
}

/// Without a supervisor, such a trap also runs, without output, for three generated commands.
#[test]
fn a_debug_trap_runs_once_for_each_command() {
    // Once the trap is known: generated lines around the second run do not count.
    check(&[("n=0; trap ': $((n++))' DEBUG", "", 0), ("n=0; :; :", "", 0), ("echo $n", "3\n", 0)]);
}

/// A script may set, replace, lock or disable any name without an effect on the lines of the session. Without a
/// supervisor, some of it ends with the run.
#[test]
fn a_session_survives_whatever_a_script_does_to_names() {
    let names = "n i was x s IFS OLDPWD TMOUT PWD LINENO REPLY MAPFILE BASH_EXECUTION_STRING OPTIND PATH HOME";
    for script in [
        format!("readonly {names}"),
        "readonly __sinew_w=1 __sinew_e=1 __sinew_s __sinew_o __sinew_q __sinew_d __sinew_p __sinew_x".into(),
        "__sinew_x=/zero __sinew_f='echo evil' __sinew_b=1 __sinew_stopped=1".into(),
        "declare -i n i was x s REPLY BASH_EXECUTION_STRING".into(),
        "readonly IFS=abc/0".into(),
        "IFS=abc/0_s; readonly IFS".into(),
        "TMOUT=1".into(),
        "shopt -s expand_aliases; alias builtin=false command=false eval=false exec=false set=false trap=false".into(),
        "shopt -s expand_aliases; alias {=false [[=false if=false case=false until=false do=false in=false !=false"
            .into(),
        "exec() { echo mine; }; eval() { echo mine; }; set() { echo mine; }; trap() { echo mine; }".into(),
        "printf() { echo mine; }; read() { echo mine; }; cd() { echo mine; }; export() { echo mine; }".into(),
        "return() { echo mine; }; declare() { echo mine; }; shopt() { echo mine; }; enable() { echo mine; }".into(),
        "builtin() { echo \"mine $#\"; }".into(),
        "command() { echo \"mine $#\"; }".into(),
        "command() { echo mine; }; exec() { echo mine; }".into(),
        "builtin() { command builtin \"$@\"; }; cd() { builtin cd \"$@\" && echo moved; }".into(),
        "enable -n printf read cd pwd export shopt declare".into(),
        "enable -n builtin; enable builtin".into(),
        "enable -n enable".into(),
        format!("for f in {ALL}; do \\builtin eval \"$f() {{ builtin $f \\\"\\$@\\\"; }}\"; done"),
        "unset -f $(compgen -A function)".into(),
        "unset -v $(compgen -v | grep -v '^[A-Z_]*$')".into(),
        "set -fCu +B; shopt -s nocasematch nullglob failglob".into(),
        "set -k".into(),
        "set -o posix".into(),
        "exec 3>&- 9>&- 10</dev/null 11>&1; command_not_found_handle() { echo \"no $1\"; }".into(),
        "trap 'echo usr' USR1; trap '' INT TERM".into(),
    ] {
        let functions = "declare -F; builtin enable -n; alias; shopt -q expand_aliases; echo $?";
        check_against_bash(&[&script, "echo one", functions, "cd /usr; pwd", "builtin cd /; x=5; echo $x", "echo $x"]);
    }
}

#[test]
fn functions_in_the_variables_of_a_run_are_removed_after_it() {
    let shell = shell(Engine::Bash);
    let with = |name: &str, text: &str, script: &str| {
        let env = vec![("V".to_string(), "1".to_string()), (format!("BASH_FUNC_{name}%%"), text.to_string())];
        let run = RunOptions { env, ..command(script) };
        let mut output = String::new();
        shell
            .run(&run, &CancelToken::never(), &mut |chunk| {
                output.push_str(&chunk);
                ControlFlow::Continue(())
            })
            .map(|_| output)
    };
    assert_eq!(with("f", "() { echo \"in $V\"; }", "f; bash -c f").unwrap(), "in 1\nin 1\n");
    assert_eq!(shell.output("type -t f; echo \"<${V-}>\"").unwrap().1, "<>\n");
    shell.output("f() { echo mine; }; export -f f; g() { echo own; }").unwrap();
    assert_eq!(with("f", "() { echo other; }", "f").unwrap(), "other\n");
    assert_eq!(with("g", "() { echo other; }", "f; g").unwrap(), "mine\nother\n");
    assert_eq!(shell.output("f; g; bash -c 'f; type -t g'").unwrap().1, "mine\nown\nmine\n");
    assert_eq!(with("h", "() { echo", "h").unwrap_err().code(), ErrorCode::InvalidArgument);
    assert_eq!(with("builtin", "() { :; }", "").unwrap_err().code(), ErrorCode::InvalidArgument);
    assert_eq!(shell.output("echo up").unwrap().1, "up\n");
}

#[test]
fn both_interpreters_import_functions_of_the_environment() {
    for engine in [Engine::Bash, Engine::Brush] {
        let mut options = options(engine);
        options.env.push(("BASH_FUNC_x%%".into(), "() { echo fx; }".into()));
        let shell = Shell::new(supervisor(), options);
        assert_eq!(shell.output("x").unwrap().1, "fx\n");
        let env = vec![("BASH_FUNC_y%%".to_string(), "() { echo fy; }".to_string())];
        let (_, output) = support::once(engine, &RunOptions { env, ..command("y") }, &CancelToken::never());
        assert_eq!(output, "fy\n");
    }
}

/// The builtins that the lines of a session use.
const ALL: &str = "command eval printf read unset trap shopt set declare exit cd pwd test return export enable exec";

#[test]
fn a_session_survives_if_all_its_builtins_are_replaced_or_disabled() {
    for script in [
        format!(
            "for f in builtin {ALL}; do \\builtin eval \"$f() {{ :; }}\" 2>/dev/null || eval \"$f() {{ :; }}\"; done"
        ),
        format!("for f in {ALL} builtin; do eval \"$f() {{ :; }}\"; done"),
        "builtin() { :; }; command() { :; }; exec() { :; }".into(),
        "enable -n builtin command eval read printf unset trap shopt set declare exit".into(),
        "enable -n builtin command".into(),
        "enable -n builtin".into(),
        "enable -n builtin enable=".into(),
    ] {
        let shell = shell(Engine::Bash);
        for command in [&*script, "x=1", "echo \"hi $x\"", "echo two"] {
            let (result, output) = shell.output(command).unwrap();
            let expect = match command {
                "echo two" => "two\n",
                "x=1" => "",
                _ if command == script => &output.clone(),
                _ => "hi 1\n",
            };
            assert_eq!((&*output, result.state_lost), (expect, None), "{script}: {command}");
        }
    }
    let shell = shell(Engine::Bash);
    for (command, expect) in [
        ("enable -n builtin echo", ""),
        ("enable -n | sort", "enable -n builtin\nenable -n echo\n"),
        ("builtin echo", "bash: line 1: builtin: command not found\n"),
        ("enable builtin; builtin printf 'x\n'", "x\n"),
    ] {
        assert_eq!(shell.output(command).unwrap().1, expect, "{command}");
    }
}

/// The start file, the snapshot and the environment of a shell may set whatever a script may set.
#[test]
fn the_first_command_finds_what_start_files_have_set() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("start");
    let check = |start: &str, steps: &[(&str, &str)]| {
        std::fs::write(&file, format!("{start}\n")).unwrap();
        let mut by_env = options(Engine::Bash);
        by_env.env.push(("BASH_ENV".into(), file.clone().into()));
        let by_snapshot = ShellOptions { snapshot: Some(file.clone()), ..options(Engine::Bash) };
        for options in [by_env, by_snapshot] {
            let shell = Shell::new(supervisor(), options);
            for (command, expect) in steps {
                let (result, output) = shell.output(command).unwrap();
                assert_eq!((&*output, result.state_lost), (*expect, None), "{start}: {command}");
            }
        }
    };
    let hi = [("echo hi", "hi\n"), ("echo two", "two\n")];
    check("builtin() { :; }", &[hi[0], hi[1], ("builtin echo; type -t builtin", "function\n")]);
    check("builtin() { :; }; command() { :; }; unset() { :; }; set() { :; }; eval() { :; }", &hi);
    check("enable -n builtin", &hi);
    check(
        "set -x",
        &[("echo hi", "+++ echo hi\nhi\n"), ("echo two", "+++ echo two\ntwo\n"), ("set +x", "+++ set +x\n")],
    );
    check("set -uE; shopt -s expand_aliases; alias echo='printf A'", &[("echo hi", "A"), ("echo ${-//[^uE]/}", "A")]);
    check("set -T; trap 'echo D' DEBUG", &[("echo hi", "D\nhi\n"), ("echo two", "D\ntwo\n")]);
    check("trap 'echo E' ERR", &[("false", "E\n"), ("echo $?", "1\n")]);
    let mut traced = options(Engine::Bash);
    traced.env.push(("SHELLOPTS".into(), "braceexpand:hashall:interactive-comments:xtrace".into()));
    let shell = Shell::new(supervisor(), traced);
    for (command, expect) in [("echo hi", "+++ echo hi\nhi\n"), ("echo two", "+++ echo two\ntwo\n")] {
        assert_eq!(shell.output(command).unwrap().1, expect);
    }
    let mut strict = options(Engine::Bash);
    strict.env.push(("SHELLOPTS".into(), "braceexpand:nounset:errexit".into()));
    let shell = Shell::new(supervisor(), strict);
    assert_eq!(shell.output("echo hi").unwrap().1, "hi\n");
    let (result, output) = shell.output("false; echo not").unwrap();
    assert_eq!((&*output, result.exit_code, result.state_lost.is_some()), ("", Some(1), true));
    assert_eq!(shell.output("echo two").unwrap().1, "two\n");
}

#[test]
fn a_script_finds_no_names_of_the_session() {
    check(&[
        (
            "declare -F; compgen -v | grep __sinew; compgen -A function; set | grep __sinew | grep -v BASH_EXECUTION",
            "",
            1,
        ),
        ("unset -f $(compgen -A function) x; unset -v $(compgen -v | grep sinew) x; echo a", "a\n", 0),
    ]);
}

#[test]
fn the_last_argument_and_the_states_of_a_pipeline_persist() {
    check_against_bash(&[
        "echo a b",
        "echo $_ $_",
        "mkdir -p /tmp 'it'\\''s x' && rmdir 'it'\\''s x'",
        "echo $_",
        "echo \"$_\"",
    ]);
    check_against_bash(&["false | true | (exit 3)", "echo ${PIPESTATUS[@]} $?", "echo ${PIPESTATUS[*]}"]);
    check_against_bash(&["x=$(exit 4)", "echo $? ${PIPESTATUS[*]}", "for i in 1 2; do (exit 5); done", "echo $?"]);
    check_against_bash(&["trap 'echo E' ERR", "false | (exit 4)", "echo $? ${PIPESTATUS[*]}"]);
    check_against_bash(&["IFS=, ; true | false", "echo \"${PIPESTATUS[*]}\""]);
}

#[test]
fn a_shell_whose_builtins_are_all_replaced_ends_and_says_so() {
    for script in ["builtin() { :; }; readonly -f builtin", "enable -n enable builtin", "set -r"] {
        let shell = shell(Engine::Bash);
        let (result, output) = shell.output(script).unwrap();
        assert_eq!(output, "", "{script}");
        let (next, text) = shell.output("echo next").unwrap();
        assert!(result.state_lost.or(next.state_lost).is_some(), "{script}");
        assert_eq!(text, "next\n", "{script}");
    }
}
