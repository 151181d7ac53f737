use std::fs;

use serde_json::json;
use sinew_tools::Question;
use tokio_util::sync::CancellationToken;

use super::*;

fn rules(value: Value) -> Rules {
    let (rules, warnings) = Rules::read(&value);
    assert_eq!(warnings, Vec::<String>::new());
    rules
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "1".into(), name: name.into(), arguments, ..ToolCall::default() }
}

fn bash(rules: &Rules, command: &str) -> Answer {
    rules.answer(&call("bash", json!({"command": command})), Path::new("/w"), None)
}

const PUSH: &str = "bash(git push*)";

#[track_caller]
fn denied(command: &str) {
    let rules = rules(json!({"deny": [PUSH]}));
    assert_eq!(bash(&rules, command), Answer::Denied(PUSH.into()), "{command}");
}

/// It cannot be read for sure, or an expansion could make it fit.
#[track_caller]
fn unsure(command: &str) {
    let rules = rules(json!({"deny": [PUSH]}));
    let answer = bash(&rules, command);
    assert!(matches!(&answer, Answer::Unsure(rule, _) if rule == PUSH), "{command}: {answer:?}");
    // A rule of `ask` asks.
    let rules = self::rules(json!({"ask": [PUSH]}));
    assert_eq!(bash(&rules, command), Answer::Asks(PUSH.into()), "{command}");
}

#[track_caller]
fn runs(command: &str) {
    let rules = rules(json!({"deny": [PUSH]}));
    assert_eq!(bash(&rules, command), Answer::Runs, "{command}");
}

#[test]
fn a_command_is_found_at_every_place_of_a_line() {
    for command in [
        "git push",
        "  git   push  --force",
        "cd x; git push",
        "cd x && git push || true",
        "ls | git push",
        "ls & git push",
        "ls\ngit push",
        "ls |& git push",
        "(cd x; git push)",
        "{ git push; }",
        "! git push",
        "if true; then git push; fi",
        "while git push; do :; done",
        "for x in a b; do git push; done",
        "until false; do ls; git push; done",
        "f() { git push; }; f",
        "function f { git push; }",
        "for x do git push; done",
        "time git push",
        "echo $(git push)",
        "echo \"a $(git push) b\"",
        "echo `git push`",
        "echo \"`git push`\"",
        "echo $(echo $(git push))",
        "x=$(git push)",
        "echo ${x:-$(git push)}",
        "echo $((1 + $(git push)))",
        "cat <(git push)",
        "cat > >(git push)",
        "cat <<E\n$(git push)\nE",
        "cat <<-E\n\tx\n\tE\ngit push",
        "cat <<'E'\nx\nE\ngit push",
        "cat <<< $(git push)",
        "[[ -f x ]] && git push",
        "git push # comment",
        "a=(1 2) git push",
        "case x in x) git push;; esac",
        "case x in (x) git push;; esac",
        "((1 << 2))\ngit push\n2",
        "coproc git push",
        "git commit -m \"$(cat <<'E'\nit's (a) `message`\nE\n)\" && git push",
    ] {
        denied(command);
    }
}

#[test]
fn quotes_paths_variables_and_redirections_hide_nothing() {
    for command in [
        "'git' push",
        "\"git\" \"push\"",
        "g\\it push",
        "g''it pu\"sh\"",
        "git \\\n push",
        "$'git' push",
        "/usr/bin/git push",
        "../bin/git push",
        "A=b git push",
        "A=b C=\"d e\" git push",
        "> x git push",
        "2>/dev/null git push",
        "2> /dev/null git push",
        "git 2>&1 push",
        "git >x push",
        "&> x git push",
        "<<<x git push",
        "git push>x",
    ] {
        denied(command);
    }
}

#[test]
fn programs_that_run_others_hide_nothing() {
    for command in [
        "sudo git push",
        "sudo -u root git push",
        "env A=b git push",
        "/usr/bin/env git push",
        "nohup nice -n 5 git push",
        "timeout 5 git push",
        "command git push",
        "exec git push",
        "echo x | xargs git push",
        "find . -exec git push {} \\;",
        "bash -c 'git push'",
        "sh -ec \"cd x && git push\"",
        "sudo bash -c 'git push'",
        "bash -c \"bash -c 'git push'\"",
        "eval git push",
        "eval 'ls; git push'",
        "trap 'git push' EXIT",
        "alias x='git push'",
        "su -c 'git push' me",
    ] {
        denied(command);
    }
}

#[test]
fn what_could_fit_is_refused() {
    for command in [
        "git $x",
        "git \"$x\"",
        "$cmd push",
        "$x",
        "git `echo push`",
        "git pus?",
        "git p*",
        "git pu[s]h",
        "{git,push}",
        "$'\\x67it' push",
        "bash -c \"$x\"",
        "eval \"$x\"",
        "echo git push | sh",
        "bash",
        "bash <(echo git push)",
        "bash <<E\ngit push\nE",
        ". /dev/stdin",
        "env '-Sgit push'",
        "select x do git push; done",
        "{fd}>x git push",
        "git {fd}>x push",
        "g@(i)t push",
        "echo 'open",
        "echo $(ls",
        "ls )",
        "cat <<E\nx",
        "g() { git \"$@\"; }",
    ] {
        unsure(command);
    }
    unsure(&"(".repeat(5_000));
    unsure(&"$(".repeat(5_000));
    unsure(&"`".repeat(5_001));
    unsure(&"x".repeat(300 << 10));
    unsure(&format!("sudo {} git push", "-a ".repeat(100)));
}

#[test]
fn other_commands_run() {
    for command in [
        "",
        "ls",
        "git status && ls",
        "git pull",
        "echo 'git push'",
        "echo git push",
        "echo \"$HOME\" $x",
        "grep -r 'git push' .",
        "cat <<'E'\n$(git push)\nE",
        "bash script.sh",
        "bash --version",
        "ls # git push",
        "find . -name '*.rs' | head -5",
        "[ -f x ] && ls",
        "for f in *.rs; do wc -l \"$f\"; done",
        "echo $((1 + 2))",
    ] {
        runs(command);
    }
}

#[test]
fn the_lists_have_an_order() {
    let rules =
        rules(json!({"deny": ["bash(rm*)"], "ask": ["bash(*)"], "allow": ["bash(git status*)", "bash(rm*)", "bash"]}));
    let ask = || Answer::Asks("bash(*)".into());
    assert_eq!(bash(&rules, "git status -s"), Answer::Runs);
    assert_eq!(bash(&rules, "rm x"), Answer::Denied("bash(rm*)".into()));
    assert_eq!(bash(&rules, "git status; rm x"), Answer::Denied("bash(rm*)".into()));
    for command in
        ["ls", "git status; ls", "git status $(ls)", "PATH=x git status", "./git status", "sudo git status", "x=1"]
    {
        assert_eq!(bash(&rules, command), ask(), "{command}");
    }
    // A rule of `allow` that says no more does not outdo one of `ask`.
    let rules = self::rules(json!({"ask": [PUSH], "allow": ["bash(git *)", "bash"]}));
    assert_eq!(bash(&rules, "git push"), Answer::Asks(PUSH.into()));
    assert_eq!(bash(&rules, "git pull"), Answer::Runs);
    // Lines that cannot be read matter only where there are rules for commands.
    let rules = self::rules(json!({"deny": ["write(/etc/**)"]}));
    assert_eq!(bash(&rules, "echo 'open"), Answer::Runs);
}

#[cfg(unix)]
#[test]
fn paths_are_compared_where_they_lead() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let cwd = root.join("work");
    fs::create_dir_all(cwd.join("sub")).unwrap();
    fs::create_dir_all(root.join("secret/deep")).unwrap();
    fs::write(root.join("secret/key"), "x").unwrap();
    fs::write(cwd.join("sub/prod.env"), "x").unwrap();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, cwd.join(name)).unwrap();
    link("../secret", "folder");
    link("../secret/key", "file");
    link("../secret/new", "dangling");
    link("file", "twice");
    link("loop", "loop");
    let rule = format!("*({}/secret/**)", root.display());
    let rules = rules(json!({"deny": [rule, "read(sub/prod.env)", "edit(~/x)"]}));
    let check = |tool: &str, arguments: Value, expect: &str| {
        let answer = rules.answer(&call(tool, arguments.clone()), &cwd, Some(&root));
        let expect = match expect {
            "" => Answer::Runs,
            "secret" => Answer::Denied(rule.clone()),
            other => Answer::Denied(other.into()),
        };
        assert_eq!(answer, expect, "{tool} {arguments}");
    };
    let secret = root.join("secret/key");
    for path in [
        secret.to_str().unwrap(),
        "../secret/key",
        "./sub/../../secret/key",
        "folder/key",
        "folder/none/yet",
        "file",
        "dangling",
        "twice",
        "@../secret/key",
        "~/secret/key",
        "folder/deep/../key",
        "folder",
    ] {
        check("write", json!({"path": path}), "secret");
    }
    check("read", json!({"path": "file:1-2"}), "secret");
    check("ls", json!({"path": "folder"}), "secret");
    check("find", json!({"pattern": format!("{}/secret/*", root.display())}), "secret");
    check("edit", json!({"input": "@file#12345678\nreplace 1..1\n|x"}), "secret");
    check("edit", json!({"input": "@../secret/new #new\ninsert start\n|x"}), "secret");
    check("edit", json!({"path": "../x"}), "edit(~/x)");
    check("read", json!({"path": "sub/prod.env:3"}), "read(sub/prod.env)");
    for path in ["a", "sub/x", "../secrets", "loop", "../x"] {
        check("write", json!({"path": path}), "");
    }
    check("read", json!({"path": "sub"}), "");
    check("grep", json!({"pattern": "x"}), "");
    // One call may name several places, and a pattern begins at one.
    check("grep", json!({"pattern": "x", "path": ["sub", "folder"]}), "secret");
    check("grep", json!({"pattern": "x", "path": "sub, folder/key"}), "secret");
    check("grep", json!({"pattern": "x", "path": "sub\nfolder"}), "secret");
    check("grep", json!({"pattern": "x", "path": ["sub", "file1"]}), "");
    check("grep", json!({"pattern": "x", "glob": "folder/**"}), "secret");
    check("find", json!({"pattern": "../secret/*"}), "secret");
    check("find", json!({"pattern": "*", "path": "folder"}), "secret");
    check("find", json!({"pattern": "../../secret/*", "path": "sub"}), "secret");
    check("find", json!({"pattern": "folder/*"}), "secret");
    check("find", json!({"pattern": "sub/*"}), "");
    // A rule that names a link means what it leads to.
    let rules = self::rules(json!({"deny": ["write(folder/**)"]}));
    let answer = rules.answer(&call("write", json!({"path": "../secret/a"})), &cwd, None);
    assert_eq!(answer, Answer::Denied("write(folder/**)".into()));
}

#[test]
fn other_tools_are_compared_by_name_and_arguments() {
    let rules = rules(json!({"deny": ["mcp_db_*", "fetch(https://evil.*)", "task(*drop*)"], "ask": ["fetch"]}));
    let answer = |name: &str, arguments: Value| rules.answer(&call(name, arguments), Path::new("/w"), None);
    assert_eq!(answer("mcp_db_query", json!({})), Answer::Denied("mcp_db_*".into()));
    assert_eq!(answer("mcp_web", json!({})), Answer::Runs);
    assert_eq!(answer("fetch", json!({"url": "https://evil.example"})), Answer::Denied("fetch(https://evil.*)".into()));
    assert_eq!(answer("fetch", json!({"url": "https://good.example"})), Answer::Asks("fetch".into()));
    assert_eq!(answer("task", json!({"a": "drop it"})), Answer::Denied("task(*drop*)".into()));
}

#[test]
fn rules_that_are_none_are_named() {
    let (rules, warnings) =
        Rules::read(&json!({"deny": ["bash(", 3, "", "a b", "write()"], "ask": "bash", "block": []}));
    assert_eq!(warnings.len(), 7, "{warnings:#?}");
    assert!(rules.is_empty());
}

struct Says(Option<&'static str>);

impl Ask for Says {
    fn ask<'a>(&'a self, _questions: &'a [Question]) -> Boxed<'a, Option<Vec<String>>> {
        Box::pin(async { self.0.map(|answer| vec![answer.to_string()]) })
    }
}

#[tokio::test]
async fn without_a_user_nobody_says_yes() {
    let verdict = |has_ui: bool, ask: Option<Says>| async move {
        let rules = rules(json!({"ask": ["bash(ls*)"]}));
        let ask = ask.map(|says| Arc::new(says) as Arc<dyn Ask>);
        let permissions = Permissions::new(rules, None, ask);
        let context =
            Context { cwd: "/w".into(), session: "s".into(), has_ui, cancel: CancellationToken::new(), file: None };
        permissions.before_tool_call(&call("bash", json!({"command": "ls"})), &context).await.unwrap()
    };
    let denied = Verdict::Block("Denied by permission rule: bash(ls*)".into());
    assert_eq!(verdict(false, None).await, denied);
    assert_eq!(verdict(false, Some(Says(Some("Yes")))).await, denied);
    assert_eq!(verdict(true, None).await, denied);
    assert_eq!(verdict(true, Some(Says(None))).await, denied);
    assert_eq!(verdict(true, Some(Says(Some("No")))).await, denied);
    assert_eq!(verdict(true, Some(Says(Some("Yes")))).await, Verdict::Allow);
}
