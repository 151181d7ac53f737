//! Tests of the embedded interpreter: a session, and scripts that try to crash it.

use std::time::Duration;

use crate::support::{self, command, once, run, run_until, shell};
use sinew_base::CancelToken;
use sinew_shell::{Engine, RunOptions};

#[test]
fn a_session_keeps_its_state_and_removes_the_variables_of_one_run() {
    let shell = shell(Engine::Brush);
    assert_eq!(shell.engine(), Engine::Brush);
    shell.output("X=5; cd /usr; f() { echo f $1; }; false").unwrap();
    let (result, text) = shell.output("echo $? $X; pwd; f a").unwrap();
    assert_eq!((text.as_str(), result.exit_code), ("1 5\n/usr\nf a\n", Some(0)));
    assert_eq!(result.working_dir.as_deref(), Some("/usr".as_ref()));
    let inner = RunOptions {
        cwd: Some("/etc".into()),
        env: vec![("A".into(), "1".into()), ("X".into(), "6".into())],
        stdin: Some(b"input".to_vec()),
        ..command("pwd; printenv A; echo $X; cat")
    };
    assert_eq!(run(&shell, &inner, &CancelToken::never()).1, "/etc\n1\n6\ninput");
    assert_eq!(shell.output("pwd; echo ${A-none} $X; printenv X; cat").unwrap().1, "/usr\nnone 5\n");
    let (result, _) = shell.output("echo \"").unwrap();
    assert_eq!((result.exit_code, result.state_lost), (Some(2), None));
    let (result, _) = shell.output("trap 'echo bye' EXIT; exit 3").unwrap();
    assert_eq!((result.exit_code, result.state_lost.is_some()), (Some(3), true));
    assert_eq!(shell.output("echo [$X]").unwrap().1, "[]\n");
}

#[test]
fn an_abort_ends_the_session_and_reports_it() {
    let shell = shell(Engine::Brush);
    for script in ["X=1; echo up; sleep 1000", "echo up; while :; do :; done", "echo up; setsid sleep 1000"] {
        let (result, _) = run_until(&shell, script, "up");
        assert_eq!((result.cancelled, result.state_lost.is_some()), (true, true), "{script}");
    }
    assert_eq!(shell.output("echo [$X]").unwrap().1, "[]\n");
}

#[test]
fn builtins_do_not_shadow_programs() {
    let (_, text) = once(Engine::Brush, &command("type -a grep | head -1; type -t sort ls cat"), &CancelToken::never());
    assert!(text.starts_with("grep is /"), "{text}");
    assert!(text.ends_with("file\nfile\nfile\n"), "{text}");
}

/// Checks the standard output of a script that exits with 0.
#[track_caller]
fn check(script: &str, expect: &str) {
    let (result, text) = once(Engine::Brush, &command(format!("exec 2>/dev/null\n{script}")), &CancelToken::never());
    assert_eq!((text.as_str(), result.exit_code), (expect, Some(0)), "{script}");
}

#[test]
fn resolves_references() {
    check("t=1; declare -n r=t; r=2; echo $r $t ${!r} '$r' \"${r}x\"", "2 2 t $r 2x\n");
    check("f() { local -n out=$1; out=$2; }; f a x; f b y; echo $a $b", "x y\n");
    check(
        "a=(1 2 3); declare -n r=a; r[1]=x; echo ${r[@]} ${#r[@]}; for i in ${r[@]}; do echo $i; done",
        "1 x 3 3\n1\nx\n3\n",
    );
    check(
        "declare -n p=q; declare -n q=z; z=deep; echo $p; ((p = 5 + 1)); echo $z; [[ $p == 6 ]] && echo same",
        "deep\n6\nsame\n",
    );
    check("t=1; declare -n r=t; unset -n r; echo [$r] $t", "[] 1\n");
    check("eval 'declare -n r=t; t=in; echo $r'; t=out; eval 'echo r=$r'", "in\nr=out\n");
}

#[test]
fn signals_to_the_shell_and_the_end_of_subshells_run_traps() {
    check("trap 'echo got' USR1; kill -USR1 $$; trap '' TERM; kill $$; echo on", "got\non\n");
    check("trap 'echo bye' EXIT; (trap 'echo sub' EXIT; echo in; exit 3); echo $?", "in\nsub\n3\nbye\n");
}

#[test]
fn declare_accepts_words_that_expand_to_assignments() {
    check(
        "w='x=a b'; declare \"$w\"; echo $x; declare -a 'l=(1 \"2 3\")'; echo ${#l[@]}; export x+=c; echo $x",
        "a b\n2\na bc\n",
    );
    check("umask 022; umask u=rwx,g=,o-r; umask; umask -S; umask q; echo $?", "0076\nu=rwx,g=,o=x\n1\n");
}

/// Each script has the same output and exit code as in bash.
#[test]
fn supports_features_of_bash_that_the_interpreter_lacks() {
    let mut differ = Vec::new();
    for script in [
        "read x <<< 'ключ значение'; echo \"$x\"; read -r a b <<< 'é ß'; echo $b $a; printf 'ж\\n' | (read; echo $REPLY)",
        "x=old; read x <<< $'\\xff\\xfe'; echo ${x:+read}",
        "exec nosuch; echo no",
        "exec /nosuch/x; echo no",
        "(exec true; echo no); echo on; (exec false); echo $?; (exec nosuch; echo no); echo $?",
        "shopt -s execfail; exec nosuch; echo on",
        "exec 3>f; echo a >&3; exec 3>&-; cat f; rm f",
        "(kill -9 $BASHPID; echo no); echo $?; ( echo in; kill -TERM \"$BASHPID\"; echo no ); echo $?",
        "(kill -0 $BASHPID && echo there); (kill -s HUP ${BASHPID}; echo no) || echo $?",
        "trap 'echo t' USR1; (trap -p USR1); echo $(trap -p USR1); (trap -p); (trap - USR1; trap -p); trap -p",
        "declare -i i=5+5; echo $i; declare -i n='2 * 3'; echo $n; f() { local -i k=n+1; echo $k; }; f; declare -i m=; echo $m",
        "echo {01..03} {1..03} {01..10..3} {-01..02} {003..1} {08..11}x a{00..02}b{1..2} {01..01}",
        "echo '{01..03}' \"{01..03}\" \\{01..03} ${x:-{01..02}} {01..a} {01}; for i in {09..11}; do echo $i; done",
        "mkdir -p p/q; CDPATH=p; (cd q | sed s,.*/p,p,); cd q >/dev/null; basename \"$PWD\"; cd /; cd tmp; pwd; rmdir q p 2>/dev/null; :",
        "mkdir -p d; CDPATH=:/usr; cd d; cd ..; cd bin && cd - >/dev/null; cd ./d; basename \"$PWD\"; rmdir ../d",
        "printf '%(%Y-%m-%d)T\\n' 0; printf '%(%H:%M)T|%s\\n' 3600 x 7200 y; printf -v d '%(%F)T' 86400; echo $d",
        "printf '%s %(%j)T %% %d\\n' a 86400 7; printf '[%10(%S)T]\\n' 5; [ \"$(printf '%(%s)T' -1)\" -gt 1000000000 ] && echo now",
        "declare -i i=5; i=2*3; echo $i; i+=4; echo $i; j=3; i='j + 1'; echo $i; i=$j*2; echo $i; i=; echo $i",
        "f() { local -i k=2; k=k*5; k+=k; echo $k; }; f; k=1+1; echo $k",
        "t=1; declare -n r=t; readonly t; r=3; echo no",
        "declare -n r=t; readonly r; (r=5; echo no); echo $?; r=5; echo no",
        "umask 022; umask a=u; echo $?; umask; umask g=w,o=; umask -S; umask a+w; umask",
        // Lengths in characters.
        "s=naïve; echo ${#s} \"${#s}\" $((${#s} + 1)) '${#s}' ${none:-${#s}} ${#s}${#none} \"$(echo ${#s})\"",
        "s=日本語; for ((i = 0; i < ${#s}; i++)); do echo ${s:i:1}; done; ((${#s} == 3)) && [[ ${#s} -eq 3 ]] && echo three",
        "s=日本語; echo ${s: -1} ${s: -2:1} ${s:1:-1} ${s:0:-2} [${s: -9}] ${s:(-2)} ${s: -2:-1}; x=hello; echo ${x:1:-1}",
        "f() { local s=$1; echo ${#s} ${#1}; }; f éa; f abc; set -- ß; echo ${#1} ${#@} ${#*} ${#}; a=(é bc); echo ${#a[0]} ${#a[@]} ${#a}",
        "false; x=${#1}; echo $? $x; s=éé; false; y=${#s}; echo $? $y; false; echo ${#1} $?",
        "declare -A m=([k]=äö); k=k; echo ${#m[k]} ${#m[$k]} ${#m[@]} ${#m[none]}; cat <<END\n${#m[k]} '${#s}'\nEND",
        "set -u; (echo ${#nosuch}; echo no); echo $?; s=é; echo ${#s}",
        "s=é; (s=éé; echo ${#s}); echo ${#s}; unset s; echo ${#s}; s=(xy z); echo ${#s}; eval 'echo ${#s}'",
        "a=(é bcd); declare -n r=a; echo ${#r} ${#r[1]} ${#r[@]}; declare -n e=a[1]; echo ${#e}; declare -A m=([k]=wxyz); declare -n k=m[k]; echo ${#k}",
        // The status after an assignment that is traced.
        "set -x; false; a=1; echo $?; false; a=$(exit 3); echo $?; false; a=$?; echo $a $?; a=1 b=2; echo $b",
        "set -ex; if false; then :; else a=1; fi; echo $a; f() { false || b=2; echo $b; }; f",
        "exec 2>trace; set -x; a=1; b=$(echo 2); set +x; exec 2>/dev/null; cat trace",
        "set -x; a[1]=x; declare -i i; i=2+3; echo $i ${a[1]}; readonly r=1; (r=2; echo no); echo $?",
        // Subscripts with spaces.
        "declare -A m; m[x y]=1; echo ${m[x y]} \"${m[x y]}\"; m[x y]+=2 m[a b]=3; echo ${m[x y]} ${m[a b]} ${#m[@]}",
        "declare -A m=([x y]=1 ['p q']=2); k='x y'; echo ${m[$k]} ${m[p q]} ${m[x y]:-none}; [[ ${m[x y]} == 1 ]] && echo yes",
        // `**`
        "mkdir -p d/e; touch f.c d/x.c d/e/y.c 'd/a b.c' d/.h.c; shopt -s globstar; echo **/*.c; echo d/**; echo **/; for f in **/*' b'.c; do echo \"$f\"; done",
        "mkdir -p d/e; touch d/x d/e/y; shopt -s globstar; echo **; echo d/**/y; echo **/none; set -- **/e/**; echo $#; shopt -u globstar; echo **; echo \"**\"",
        // `select`
        "select x in a b; do echo $x $REPLY; break; done <<< 2; echo $?; select x in a b; do echo [$x]; false; done <<< $'1\\n9\\n'; echo $?",
        "set -- p 'q r'; select v; do echo \"$v\"; break; done <<< 2; f() { select x in 1; do return 5; done; }; f <<< 1; echo $?; echo select x in",
        "for i in 1 2; do select x in a; do continue 2; done <<< 1; echo no; done; echo $i; if true; then select x in a b\ndo break; done <<< 1; fi; echo $x",
        "PS3='> '; exec 2>menu; select x in one two three; do break; done <<< 3; exec 2>/dev/null; cat menu; select x in $(seq 60); do break; done <<< 60 2>long; cat long",
        // `read` of a number of characters.
        "printf 'éàü-rest\n' | { read -n 2 a; read -N 2 b; read c; echo $a $b $c; }; read -rn1 x <<< 日本; echo $x; read -n 9 y <<< ab; echo $? $y",
        "printf 'a\\\\bc\\\ndé' | { read -n 3 a; echo $a; read -N 9 b; echo $? $b; }; printf 'aé;x' | { read -d ';' -n 5 a; read b; echo $a $b; }",
        "exec 7<<< 'ж1 ж2 ж3'; read -n 4 -u 7 -a l; echo ${l[@]} ${#l[@]}; read -u7 rest; echo $rest; read -t 5 -n1 z <<< ы; echo $z",
        // Integers as the variable of a loop.
        "declare -i i; for i in 1+1 2*3 i+1; do echo $i; done; echo $i; false; for i in 7 8; do echo $?; break; done; for i in 1 2; do for i in 5-1; do echo $i; done; done",
        "f() { local -i n; for n; do echo $((n * 2)); done; }; f 1+1 3; set -e; declare -i k; for k in 1; do echo $k; done",
        // Times of a zone.
        "TZ=Asia/Tokyo printf '%(%H %Z)T\\n' 0; export TZ=America/New_York; printf '%(%H %Z)T\\n' 0; unset TZ; TZ=UTC0; printf '%(%H)T\\n' 0; export TZ=XYZ-3; printf '%(%H %Z)T\\n' 0",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let script = format!("exec 2>/dev/null\n{script}");
        let expect = support::bash(&script).current_dir(dir.path()).output().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let run = RunOptions { cwd: Some(dir.path().into()), ..command(script.clone()) };
        let (result, text) = once(Engine::Brush, &run, &CancelToken::never());
        let expect = (String::from_utf8_lossy(&expect.stdout).into_owned(), expect.status.code());
        if (&text, result.exit_code) != (&expect.0, expect.1) {
            differ.push(format!("{script}\n  bash: {expect:?}\n  here: {:?}", (text, result.exit_code)));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn errors_that_do_not_end_bash_do_not_end_a_script() {
    check("eval 'echo >'; echo $?; readonly v=1; echo 2 | read v; echo $? $v", "2\n1 1\n");
    check("printf -va ''; printf -vb '%s,%s' x y; echo [$a] $b", "[] x,y\n");
    check("shopt -s extglob\n[ -n x ] && case foobar in foo+(bar|baz)) echo ext ;; esac", "ext\n");
}

#[test]
fn a_closed_pipe_ends_programs_but_not_the_interpreter() {
    let (result, text) =
        once(Engine::Brush, &command("echo {1..40000} | true; yes | head -1; echo on"), &CancelToken::never());
    assert_eq!((result.exit_code, text.ends_with("y\non\n")), (Some(0), true), "{text}");
}

#[test]
fn runs_a_script_that_is_too_long_for_an_argument() {
    let script = format!("x='{}'; echo ${{#x}}", "y".repeat(300_000));
    assert_eq!(once(Engine::Brush, &command(script), &CancelToken::never()).1, "300000\n");
}

/// Each of these scripts crashes an interpreter. None may affect the host, and the next run works.
#[test]
fn scripts_that_crash_the_interpreter_end_only_their_shell() {
    let scripts = [
        "f() { f; }; f",
        "f() { f $(($1 + 1)); }; f 0",
        "a=a; echo $((a))",
        "a=b; b=a; echo $((a))",
        "kill -9 $$",
        "kill -9 $PPID",
        "umask 0; ulimit -n 16; ls",
        "exec 0<&- 1>&- 2>&-; echo x",
        "echo x 1>&-; echo y",
        "echo 1 | read <&-",
        "x=$'\\u00DF'; echo ${x^}",
        "printf foo bar baz",
        "{ printf x y; } >/dev/null",
        "echo {a..f..0}",
    ];
    let shell = shell(Engine::Brush);
    for script in scripts {
        let limit = CancelToken::never().with_timeout(Duration::from_secs(600));
        let (alone, _) = once(Engine::Brush, &command(script), &limit);
        let (lasting, _) = run(&shell, &command(script), &limit);
        assert!(!alone.timed_out && !lasting.timed_out, "{script}");
        if lasting.state_lost.is_none() {
            shell.output("exit").unwrap();
        }
        assert_eq!(shell.output("echo next").unwrap().1, "next\n", "{script}");
    }
}

#[test]
fn deeply_nested_texts_terminate() {
    for text in [
        format!("{}echo hi{}", "(".repeat(3000), ")".repeat(3000)),
        format!("{}:{}", "if :; then ".repeat(1000), "; fi".repeat(1000)),
        format!("echo {}x{}", "${x:-".repeat(1000), "}".repeat(1000)),
    ] {
        let limit = CancelToken::never().with_timeout(Duration::from_secs(60));
        for engine in [Engine::Bash, Engine::Brush] {
            let (result, _) = once(engine, &command(text.clone()), &limit);
            assert!(result.exit_code.is_some() || result.signal.is_some() || result.timed_out, "{result:?}");
        }
    }
}
