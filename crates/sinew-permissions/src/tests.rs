use serde_json::json;
use sinew_tools::tool::Boxed;
use sinew_tools::{ApprovalRequest, Question};

use super::*;

fn rules(value: Value) -> Rules {
    let (rules, warnings) = Rules::read(&value);
    assert_eq!(warnings, Vec::<String>::new());
    rules
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "1".into(), name: name.into(), arguments, ..ToolCall::default() }
}

fn answer(rules: &Rules, call: &ToolCall, cwd: &Path, home: Option<&Path>) -> Answer {
    rules.answer(call, SessionView { cwd, home, shell: &ShellState::default() })
}

fn request(rules: &Rules, call: &ToolCall, rule: &str) -> ApprovalRequest {
    let view = SessionView { cwd: Path::new("/w"), home: None, shell: &ShellState::default() };
    suggest::request(rules, call, view, rule.into())
}

fn bash(rules: &Rules, command: &str) -> Answer {
    answer(rules, &call("bash", json!({"command": command})), Path::new("/w"), None)
}

const PUSH: &str = "bash(git push*)";

#[track_caller]
fn denied(command: &str) {
    let rules = rules(json!({"deny": [PUSH]}));
    assert_eq!(bash(&rules, command), Answer::Denied(PUSH.into()), "{command}");
}

/// Checks that a line is unsure: it cannot be read reliably, or an expansion could make it match.
#[track_caller]
fn unsure(command: &str) {
    let rules = rules(json!({"deny": [PUSH]}));
    let answer = bash(&rules, command);
    assert!(matches!(&answer, Answer::Unsure(rule, _) if rule == PUSH), "{command}: {answer:?}");
    // With an ask rule, the user is asked.
    let rules = self::rules(json!({"ask": [PUSH]}));
    assert_eq!(bash(&rules, command), Answer::Asks(PUSH.into()), "{command}");
}

#[track_caller]
fn runs(command: &str) {
    let rules = rules(json!({"deny": [PUSH]}));
    assert_eq!(bash(&rules, command), Answer::Runs, "{command}");
}

#[test]
fn finds_a_command_anywhere_in_a_line() {
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
fn quotes_paths_variables_and_redirections_do_not_hide_commands() {
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
fn programs_that_run_others_do_not_hide_commands() {
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
fn commands_that_might_match_are_refused() {
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
fn commands_that_cannot_match_run() {
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
fn deny_overrides_ask_and_ask_overrides_allow() {
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
    // An allow rule that is not more specific does not override an ask rule.
    let rules = self::rules(json!({"ask": [PUSH], "allow": ["bash(git *)", "bash"]}));
    assert_eq!(bash(&rules, "git push"), Answer::Asks(PUSH.into()));
    assert_eq!(bash(&rules, "git pull"), Answer::Runs);
    // Unreadable lines only matter if there are rules for commands.
    let rules = self::rules(json!({"deny": ["write(/etc/**)"]}));
    assert_eq!(bash(&rules, "echo 'open"), Answer::Runs);
}

#[test]
fn a_rule_with_operators_or_redirections_is_compared_with_the_parts_of_a_line() {
    for (rule, command, runs) in [
        ("curl * | sh", "curl x | sh", false),
        ("curl * | jq *", "curl x|jq .", false),
        ("curl * | jq *", "curl x", true),
        ("curl * | jq *", "cat x | jq .", true),
        ("ls && rm *", "ls && rm x", false),
        ("ls && rm *", "ls; rm x", false),
        ("ls && rm *", "ls", true),
        ("echo * > /etc/*", "echo x >> /etc/hosts", false),
        ("echo * > /etc/*", "echo x &> /etc/hosts", false),
        ("echo * > /etc/*", "echo x > $f", false),
        ("echo * > /etc/*", "echo x > here", true),
        ("echo * > /etc/*", "echo x 2>&1", true),
        ("* > *", "ls", true),
        ("* > *", "ls > x", false),
        ("* | *", "ls", true),
        ("* | *", "ls | wc", false),
        ("make 2>&1", "make 2>&1", false),
        ("make 2>&1", "make x", true),
        ("|", "ls", true),
    ] {
        let rules = rules(json!({"deny": [format!("bash({rule})")]}));
        assert_eq!(bash(&rules, command) == Answer::Runs, runs, "{rule}: {command}");
    }
}

#[test]
fn an_unquoted_tilde_is_allowed_as_written() {
    let rules = rules(json!({"ask": ["bash(*)"], "allow": ["bash(cat ~/notes*)", "bash(ls ~)"]}));
    for (command, runs) in [
        ("cat ~/notes.txt", true),
        ("ls ~", true),
        ("cat ~/other", false),
        ("cat ~me/notes", false),
        ("cat ~/$x", false),
        ("cat ~/not*", false),
        ("HOME=/x cat ~/notes", false),
    ] {
        assert_eq!(bash(&rules, command) == Answer::Runs, runs, "{command}");
    }
}

#[cfg(unix)]
#[test]
fn paths_are_compared_after_resolving_links() {
    use std::fs;

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
        let answer = answer(&rules, &call(tool, arguments.clone()), &cwd, Some(&root));
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
    check("write", json!({"path": "../x"}), "edit(~/x)");
    check("read", json!({"path": "sub/prod.env:3"}), "read(sub/prod.env)");
    for path in ["a", "sub/x", "../secrets", "loop"] {
        check("write", json!({"path": path}), "");
    }
    check("read", json!({"path": "sub"}), "");
    check("grep", json!({"pattern": "x"}), "");
    // A call may name several paths, and a pattern starts at a path.
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
    // A rule that names a link applies to its target.
    let rules = self::rules(json!({"deny": ["write(folder/**)"]}));
    let answer = answer(&rules, &call("write", json!({"path": "../secret/a"})), &cwd, None);
    assert_eq!(answer, Answer::Denied("write(folder/**)".into()));
}

#[test]
fn other_tools_are_compared_by_name_and_arguments() {
    let rules = rules(json!({"deny": ["mcp_db_*", "fetch(https://evil.*)", "task(*drop*)"], "ask": ["fetch"]}));
    let answer = |name: &str, arguments: Value| answer(&rules, &call(name, arguments), Path::new("/w"), None);
    assert_eq!(answer("mcp_db_query", json!({})), Answer::Denied("mcp_db_*".into()));
    assert_eq!(answer("mcp_web", json!({})), Answer::Runs);
    assert_eq!(answer("fetch", json!({"url": "https://evil.example"})), Answer::Denied("fetch(https://evil.*)".into()));
    assert_eq!(answer("fetch", json!({"url": "https://good.example"})), Answer::Asks("fetch".into()));
    assert_eq!(answer("task", json!({"a": "drop it"})), Answer::Denied("task(*drop*)".into()));
}

#[test]
fn invalid_rules_are_reported() {
    let (rules, warnings) =
        Rules::read(&json!({"deny": ["bash(", 3, "", "a b", "write()"], "ask": "bash", "block": []}));
    assert_eq!(warnings.len(), 7, "{warnings:#?}");
    assert!(rules.is_empty());
}

struct Says(Option<&'static str>);

impl Ask for Says {
    fn answer<'a>(&'a self, _: &'a Question) -> Boxed<'a, Option<String>> {
        Box::pin(async { self.0.map(str::to_string) })
    }
}

#[tokio::test]
async fn ask_rules_deny_without_a_user() {
    let verdict = |has_ui: bool, ask: Option<Says>| async move {
        let rules = rules(json!({"ask": ["bash(ls*)"]}));
        let ask = ask.map(|says| Arc::new(says) as Arc<dyn Ask>);
        let permissions = Permissions::new(rules, None, ask);
        let site = CallSite { cwd: Path::new("/w"), session: "s", has_ui, requester: None };
        permissions.judge(&call("bash", json!({"command": "ls"})), site).await.unwrap()
    };
    let nobody = "Denied by permission rule: bash(ls*), which asks first, but no user is available. The user can allow the call with --allow.";
    let nobody = Decision::Block(nobody.into());
    let refused = Decision::Block("The user refused this call (permission rule bash(ls*)).".into());
    assert_eq!(verdict(false, None).await, nobody);
    assert_eq!(verdict(false, Some(Says(Some("Yes")))).await, nobody);
    assert_eq!(verdict(true, None).await, nobody);
    assert_eq!(verdict(true, Some(Says(None))).await, refused);
    assert_eq!(verdict(true, Some(Says(Some("No")))).await, refused);
    assert_eq!(verdict(true, Some(Says(Some("Yes")))).await, Decision::Allow);
}

/// Answers each question with the result of `say` for its number, and records the questions.
struct Answers<F> {
    say: F,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl<F: Fn(usize) -> Option<Approval> + Send + Sync> Ask for Answers<F> {
    fn answer<'a>(&'a self, _: &'a Question) -> Boxed<'a, Option<String>> {
        Box::pin(async { None })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> Boxed<'a, Approval> {
        let number = {
            let mut asked = self.asked.lock();
            asked.push(request.clone());
            asked.len()
        };
        let answer = (self.say)(number);
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

fn answers<F: Fn(usize) -> Option<Approval> + Send + Sync>(say: F) -> Arc<Answers<F>> {
    Arc::new(Answers { say, asked: Mutex::default() })
}

fn site(session: &str) -> CallSite<'_> {
    CallSite { cwd: Path::new("/w"), session, has_ui: true, requester: None }
}

async fn verdict(permissions: &Permissions, command: &str, session: &str) -> Result<Decision> {
    permissions.judge(&call("bash", json!({"command": command})), site(session)).await
}

#[tokio::test]
async fn a_session_rule_covers_its_pattern_in_that_session_only() {
    let rule = Approval::Rule("bash(cargo test *)".into(), RuleScope::Session);
    let ask = answers(move |number| Some(if number == 1 { rule.clone() } else { Approval::No(None) }));
    let permissions = Permissions::new(rules(json!({"ask": ["bash(*)"]})), None, Some(Arc::clone(&ask) as _));
    let allowed = Ok(Decision::Allow);
    assert_eq!(verdict(&permissions, "cargo test --all", "a").await, allowed);
    assert_eq!(verdict(&permissions, "cargo test -p x", "a").await, allowed);
    assert_eq!(ask.asked.lock().len(), 1, "the second was not asked about");
    for (command, session) in
        [("cargo publish", "a"), ("cargo test x; rm -r y", "a"), ("X=1 cargo test x", "a"), ("cargo test x", "b")]
    {
        assert_ne!(verdict(&permissions, command, session).await, allowed, "{command}");
    }
    assert_eq!(ask.asked.lock().len(), 5);
}

#[tokio::test]
async fn approving_the_same_call_applies_to_its_session_only() {
    let ask = answers(|_| Some(Approval::Same));
    let permissions = Permissions::new(rules(json!({"ask": ["bash(*)"]})), None, Some(Arc::clone(&ask) as _));
    for (command, session, asked) in [("ls", "a", 1), ("ls", "a", 1), ("ls -l", "a", 2), ("ls", "b", 3), ("ls", "b", 3)]
    {
        assert_eq!(verdict(&permissions, command, session).await, Ok(Decision::Allow));
        assert_eq!(ask.asked.lock().len(), asked, "{command} in {session}");
    }
}

#[tokio::test]
async fn a_new_rule_answers_pending_calls_that_it_matches() {
    let rule = Approval::Rule("bash(ls *)".into(), RuleScope::Session);
    // The first question is never answered; the answer to the second is a rule that also covers the first.
    let ask = answers(move |number| (number == 2).then(|| rule.clone()));
    let permissions = Permissions::new(rules(json!({"ask": ["bash(*)"]})), None, Some(ask as _));
    let (first, second) = tokio::join!(verdict(&permissions, "ls a", "s"), verdict(&permissions, "ls b", "s"));
    assert_eq!((first, second), (Ok(Decision::Allow), Ok(Decision::Allow)));
}

#[tokio::test]
async fn the_reason_of_a_refusal_reaches_the_model() {
    let ask = answers(|_| Some(Approval::No(Some("use make".into()))));
    let permissions = Permissions::new(rules(json!({"ask": ["bash(*)"]})), None, Some(ask as _));
    let verdict = verdict(&permissions, "cargo test", "s").await;
    assert_eq!(verdict, Ok(Decision::Block("The user refused this call: use make".into())));
}

#[test]
fn offered_rules_allow_the_call() {
    let offered = |name: &str, arguments: Value, ask: &str| {
        let rules = rules(json!({"ask": [ask]}));
        request(&rules, &call(name, arguments), ask)
    };
    let bash = |command: &str| offered("bash", json!({"command": command}), "bash(*)");
    assert_eq!(bash("cargo test --all").patterns, ["bash(cargo test --all)", "bash(cargo test *)"]);
    assert_eq!(bash("ls").patterns, ["bash(ls)"]);
    assert_eq!(bash("rm -r x").patterns, ["bash(rm -r x)"]);
    for command in ["rm *", "a; b", "X=1 make", "$(x)", "sudo rm x", "echo `date`"] {
        assert_eq!(bash(command).patterns, Vec::<String>::new(), "{command}");
    }
    assert!(bash("eval \"$x\"").unsure.is_some());
    let write = offered("write", json!({"path": "src/a.rs", "content": ""}), "write");
    assert_eq!(write.patterns, ["write(src/a.rs)", "write(src/**)"]);
    assert_eq!(offered("other", json!({"x": 1}), "other").patterns, ["other"]);
}

#[test]
fn a_rule_that_would_not_allow_the_call_is_not_saved() {
    let rules = rules(json!({"ask": ["bash(cargo *)"]}));
    let request = request(&rules, &call("bash", json!({"command": "cargo test"})), "r");
    assert_eq!((request.check)("bash(cargo test)", RuleScope::Always), Ok(()));
    assert_eq!((request.check)("bash(cargo *)", RuleScope::Session), Ok(()));
    for (text, scope) in [
        ("bash(cargo *)", RuleScope::Always),
        ("bash(make)", RuleScope::Session),
        ("bash(", RuleScope::Session),
        ("", RuleScope::Always),
    ] {
        assert!((request.check)(text, scope).is_err(), "{text}");
    }
}

#[test]
fn a_command_line_rule_overrides_an_ask_rule_for_files() {
    let mut rules = rules(json!({"ask": ["read(secret/**)"], "deny": ["read(secret/never*)"]}));
    rules.grant("read(secret/a*)").unwrap();
    let permissions = Permissions::new(rules, None, None);
    let check = permissions.path_check("read", Some("1"), Path::new("/w")).unwrap();
    for (path, opens) in [("/w/secret/a.txt", true), ("/w/secret/b.txt", false), ("/w/other", true)] {
        assert_eq!(check.check(Path::new(path), None).is_ok(), opens, "{path}");
    }
    let mut rules = self::rules(json!({"ask": ["read(secret/**)"], "deny": ["read(secret/never*)"]}));
    rules.grant("read").unwrap();
    let permissions = Permissions::new(rules, None, None);
    let check = permissions.path_check("read", Some("1"), Path::new("/w")).unwrap();
    assert!(check.check(Path::new("/w/secret/never"), None).is_err(), "what a rule denies stays denied");
    assert!(check.check(Path::new("/w/secret/b.txt"), None).is_ok());
}

/// A denied file is also denied by its second hard link, even for a rule with a pattern.
#[cfg(unix)]
#[test]
fn file_rules_apply_to_every_hard_link() {
    use std::fs;

    let folder = tempfile::tempdir().unwrap();
    let cwd = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir_all(cwd.join("sub/deep")).unwrap();
    for (file, link) in [("sub/deep/.env", "plain"), ("secret", "sub/other"), ("free", "sub/free")] {
        fs::write(cwd.join(file), "x").unwrap();
        fs::hard_link(cwd.join(file), cwd.join(link)).unwrap();
    }
    let rules = rules(json!({"deny": ["read(.env*)", "write(secret)"]}));
    let permissions = Permissions::new(rules, None, None);
    for (tool, file, opens) in [
        ("read", "sub/deep/.env", false),
        ("read", "plain", false),
        ("edit", "plain", false),
        ("grep", "plain", false),
        ("write", "plain", true),
        ("write", "sub/other", false),
        ("edit", "sub/other", false),
        ("read", "sub/other", true),
        ("read", "sub/free", true),
        ("edit", "free", true),
    ] {
        let path = cwd.join(file);
        let facts = fs::metadata(&path).unwrap();
        let check = permissions.path_check(tool, Some("1"), &cwd);
        let answer = check.is_none_or(|check| check.check(&path, Some(&facts)).is_ok());
        assert_eq!(answer, opens, "{tool} {file}");
    }
}

#[test]
fn every_redirect_is_checked() {
    let rules = rules(json!({
        "deny": ["fetch(https://evil.example/*)"],
        "ask": ["fetch(https://other.example/*)"],
        "allow": ["fetch(https://other.example/docs/*)"],
    }));
    let permissions = Permissions::new(rules, None, None);
    for (address, refused) in [
        ("https://good.example/a", false),
        ("https://EVIL.example/a", true),
        ("https://u@evil.example./a", true),
        ("https://other.example/a", true),
        ("https://other.example/docs/a", false),
    ] {
        let check = permissions.address_check("fetch", "1").unwrap();
        assert_eq!(check.refusal(address).is_some(), refused, "{address}");
    }
    assert!(Permissions::new(Rules::default(), None, None).address_check("fetch", "1").is_none());
}

#[test]
fn rules_that_cannot_express_the_call_are_not_offered() {
    let rules = rules(json!({"ask": ["bash(*)"]}));
    for arguments in [
        json!({"command": "npm test", "env": {"A": "b"}}),
        json!({"command": "npm test", "cwd": "/x"}),
        json!({"command": "echo x > y"}),
        json!({"command": "for x in a; do echo $x; done"}),
    ] {
        assert_eq!(
            request(&rules, &call("bash", arguments.clone()), "r").patterns,
            Vec::<String>::new(),
            "{arguments}"
        );
    }
    let plain = json!({"command": "npm test", "timeout": 5, "cwd": "/w"});
    assert_eq!(request(&rules, &call("bash", plain), "r").patterns, ["bash(npm test)"]);
}
