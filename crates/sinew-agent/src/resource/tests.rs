use std::fs;
use std::sync::Arc;

use base64::Engine;
use proptest::prelude::*;
use sinew::base::CancelToken;

use super::*;
use crate::extension::{CommandHandler, CommandResult, Context, Extension, SlashCommand};
use sinew_llm::message::AgentMessage;
use sinew_tools::tool::Boxed;

/// A home directory and a project with resources.
struct TestEnv {
    folder: tempfile::TempDir,
}

impl TestEnv {
    fn new(files: &[(&str, &str)]) -> TestEnv {
        let env = TestEnv { folder: tempfile::Builder::new().prefix("resource").tempdir().unwrap() };
        fs::create_dir_all(env.path("p")).unwrap();
        files.iter().for_each(|(name, text)| env.put(name, text));
        env
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn options(&self) -> ResourceOptions {
        let folders = ResourceFolders {
            cwd: self.path("p"),
            project: self.path("p/.sinew"),
            agent: self.path("agent"),
            home: Some(self.path("home")),
        };
        ResourceOptions::new(folders)
    }

    fn load(&self) -> Resources {
        Resources::load(&self.options())
    }

    /// Returns the warnings without the folder of the test.
    fn warnings(&self, resources: &Resources) -> Vec<String> {
        let root = format!("{}/", self.path("").display());
        resources.warnings.iter().map(|text| text.replace(&root.replace("//", "/"), "")).collect()
    }
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nBody of {name}.\n")
}

fn names(resources: &Resources) -> Vec<(&str, &str)> {
    resources.skills.iter().map(|skill| (skill.name.as_str(), skill.description.as_str())).collect()
}

#[test]
fn the_first_root_that_has_a_skill_wins() {
    let env = TestEnv::new(&[
        ("agent/skills/a/SKILL.md", &skill("a", "user")),
        ("p/.sinew/skills/a/SKILL.md", &skill("a", "project")),
        ("home/.agents/skills/b/SKILL.md", &skill("b", "home")),
        ("p/.claude/skills/c/SKILL.md", &skill("c", "claude")),
        ("p/.agents/skills/d/SKILL.md", &skill("d", "agents")),
        ("p/.sinew/skills/not/deep/SKILL.md", &skill("deep", "too deep")),
        ("p/.sinew/skills/.hidden/SKILL.md", &skill("hidden", "hidden")),
    ]);
    let resources = env.load();
    assert_eq!(names(&resources), [("a", "project"), ("d", "agents"), ("b", "home"), ("c", "claude")]);
    assert_eq!(
        env.warnings(&resources),
        [format!(
            "agent/skills/a/SKILL.md: not used: {} already has the name a",
            env.path("p/.sinew/skills/a/SKILL.md").display()
        )
        .replace(&format!("{}/", env.path("").display()).replace("//", "/"), "")]
    );
    let without = Resources::load(&ResourceOptions { claude_skills: false, ..env.options() });
    assert!(without.skill("c").is_none());
    let none = Resources::load(&ResourceOptions {
        skills: false,
        named_skills: vec![env.path("p/.claude/skills/c"), env.path("nowhere")],
        ..env.options()
    });
    assert_eq!(names(&none), [("c", "claude")], "an explicit skill is loaded nevertheless");
    assert_eq!(env.warnings(&none), ["nowhere: there is no SKILL.md"]);
}

#[test]
fn skills_of_parent_folders_are_loaded_up_to_the_repository() {
    let env = TestEnv::new(&[
        (".agents/skills/out/SKILL.md", &skill("out", "x")),
        ("p/.git/HEAD", ""),
        ("p/.agents/skills/in/SKILL.md", &skill("in", "x")),
        ("p/deep/er/f", ""),
    ]);
    let mut options = env.options();
    options.folders.cwd = env.path("p/deep/er");
    assert_eq!(names(&Resources::load(&options)), [("in", "x")]);
    fs::remove_dir_all(env.path("p/.git")).unwrap();
    assert_eq!(names(&Resources::load(&options)), [], "without a repository only the folder itself is searched");
}

#[test]
fn filters_and_directories_choose_skills() {
    let env = TestEnv::new(&[
        ("more/x/y/z/SKILL.md", &skill("deep", "x")),
        ("more/x/other.md", "no skill"),
        ("p/.sinew/skills/web-a/SKILL.md", &skill("web-a", "x")),
        ("p/.sinew/skills/web-b/SKILL.md", &skill("web-b", "x")),
    ]);
    let mut options = env.options();
    options.skill_directories = vec![env.path("more")];
    assert_eq!(names(&Resources::load(&options)).len(), 3);
    options.skill_include = vec!["web-*".into()];
    options.skill_ignore = vec!["*-b".into()];
    assert_eq!(names(&Resources::load(&options)), [("web-a", "x")]);
    #[cfg(unix)]
    {
        // A loop, and a second name for an existing skill.
        std::os::unix::fs::symlink(env.path("more"), env.path("more/x/loop")).unwrap();
        std::os::unix::fs::symlink(env.path("more/x/y/z"), env.path("p/.sinew/skills/again")).unwrap();
        options.skill_include.clear();
        options.skill_ignore.clear();
        let resources = Resources::load(&options);
        assert_eq!(names(&resources).len(), 3);
        assert_eq!(resources.warnings, [""; 0]);
    }
}

#[test]
fn invalid_skills_are_reported_and_skipped() {
    let long = "x".repeat(1_025);
    let huge = format!("---\ndescription: |\n{}---\n", "  line\n".repeat(1 << 20));
    // Each line doubles the size of the previous one.
    let bomb: String = (1..30).map(|at| format!("a{at}: &a{at} [*a{0}, *a{0}]\n", at - 1)).collect();
    let bomb = format!("---\na0: &a0 [x]\n{bomb}description: boom\n---\n");
    let deep = format!("---\ndescription: {}x{}\n---\n", "[".repeat(20_000), "]".repeat(20_000));
    let env = TestEnv::new(&[
        ("p/.sinew/skills/a/SKILL.md", "no frontmatter"),
        ("p/.sinew/skills/b/SKILL.md", &skill("Bad Name", "x")),
        ("p/.sinew/skills/c/SKILL.md", &skill("c", &long)),
        ("p/.sinew/skills/d/SKILL.md", "---\ndescription: never closed\n"),
        ("p/.sinew/skills/e/SKILL.md", &huge),
        ("p/.sinew/skills/f/SKILL.md", &bomb),
        ("p/.sinew/skills/g/SKILL.md", "---\ndescription: [a\n---\n"),
        ("p/.sinew/skills/h/SKILL.md", &deep),
        ("p/.sinew/skills/ok/SKILL.md", "\u{feff}---\r\ndescription: good\r\nlicense: MIT\r\n---\r\nBody\r\n"),
    ]);
    env.put("p/.sinew/skills/i/SKILL.md", b"---\ndescription: a\xffb\n---\n");
    let resources = env.load();
    assert_eq!(names(&resources), [("i", "a\u{fffd}b"), ("ok", "good")]);
    let warnings = env.warnings(&resources);
    let starts = [
        ("a", "it needs a description of 1 to 1024 characters"),
        ("b", "the name \"Bad Name\" must be"),
        ("c", "it needs a description"),
        ("d", "the line `---` at the end of the frontmatter is missing"),
        ("e", "it is larger than 256 KB"),
        ("f", "bad frontmatter: a"),
        ("g", "bad frontmatter: "),
        ("h", "bad frontmatter: "),
    ];
    assert_eq!(warnings.len(), starts.len(), "{warnings:#?}");
    for (warning, (name, start)) in warnings.iter().zip(starts) {
        assert!(warning.starts_with(&format!("p/.sinew/skills/{name}/SKILL.md: {start}")), "{warning}");
    }
}

#[test]
fn names_and_descriptions_have_a_maximum_length() {
    let (name, text) = ("n".repeat(64), "é".repeat(1_024));
    let env = TestEnv::new(&[
        ("p/.sinew/skills/a/SKILL.md", &skill(&name, &text)),
        ("p/.sinew/skills/b/SKILL.md", &skill(&format!("{name}n"), "x")),
        ("p/.sinew/skills/c/SKILL.md", &skill("c", &format!("{text}é"))),
        ("p/.sinew/skills/Folder/SKILL.md", "---\ndescription: x\n---\n"),
    ]);
    let resources = env.load();
    assert_eq!(names(&resources), [(name.as_str(), text.as_str())]);
    assert_eq!(resources.warnings.len(), 3, "{:#?}", resources.warnings);
}

#[test]
fn excess_resources_are_skipped_with_a_warning() {
    let env = TestEnv::new(&[]);
    for index in 0..100 {
        env.put(&format!("agent/skills/s{index}/SKILL.md"), skill(&format!("s{index}"), &"d".repeat(1_000)));
    }
    let rule = format!("---\nalwaysApply: true\n---\n{}", "r".repeat(140 << 10));
    env.put("agent/rules/a.md", &rule);
    env.put("agent/rules/b.md", &rule);
    for index in 0..150 {
        env.put(&format!("agent/rules/c{index}.md"), "lost");
    }
    let resources = env.load();
    let list = resources.listings(true).concat();
    let listed = list.matches("<skill name=").count();
    assert!(list.len() < 65 << 10 && listed > 50, "{listed}");
    assert!(list.contains(&format!("\n{} more skills are not listed.\n", 100 - listed)));
    assert_eq!(resources.applied_rules().matches("<rule name=").count(), 1);
    assert_eq!(resources.warnings.len(), 101);
    assert!(resources.warnings[100].starts_with("and 51 more problems"), "{}", resources.warnings[100]);
}

#[test]
fn the_prompt_of_a_skill_contains_its_text_and_the_arguments() {
    let env = TestEnv::new(&[("p/.sinew/skills/a/SKILL.md", &skill("a", "x"))]);
    let resources = env.load();
    let folder = env.path("p/.sinew/skills/a");
    let folder = folder.display();
    let plain = format!(
        "<skill name=\"a\" location=\"{folder}/SKILL.md\">\nPaths in it are relative to {folder}.\n\nBody of a.\n</skill>"
    );
    let skill = resources.skill("a").unwrap();
    assert_eq!(skill.prompt("").unwrap(), plain);
    assert_eq!(skill.prompt("do it").unwrap(), format!("{plain}\n\nUser: do it"));
    assert_eq!(
        resources.listings(true),
        [format!(
            "<available_skills>\nRead skill://<name> before work that a skill is for; skill://<name>/<path> is a file of \
             it.\n<skill name=\"a\"><description>x</description><location>{folder}/SKILL.md</location></skill>\n\
             </available_skills>"
        )]
    );
    assert_eq!(resources.listings(false), [""; 0]);
}

#[test]
fn an_unlisted_skill_is_still_a_command() {
    let front = |line: &str| format!("---\ndescription: a <b>\n{line}\n---\nBody");
    let env = TestEnv::new(&[
        ("p/.sinew/skills/a/SKILL.md", &front("disable-model-invocation: true")),
        ("p/.sinew/skills/b/SKILL.md", &front("hide: true")),
        ("p/.sinew/skills/c/SKILL.md", &front("globs: \"*.rs\"\nallowed-tools: [read]\nmetadata: {x: 1}")),
    ]);
    let resources = env.load();
    let list = resources.listings(true).concat();
    assert_eq!(list.matches("<skill name=").count(), 1, "{list}");
    assert!(list.contains("<skill name=\"c\"><description>a &lt;b&gt;</description>"), "{list}");
    for name in ["a", "b", "c"] {
        assert!(resources.skill(name).unwrap().prompt("").unwrap().contains("Body"), "{name}");
    }
}

#[test]
fn no_path_leaves_the_folder_of_a_skill() {
    let env = TestEnv::new(&[
        ("p/.sinew/skills/a/SKILL.md", &skill("a", "x")),
        ("p/.sinew/skills/a/doc/b.md", "b"),
        ("p/.sinew/skills/secret", "s"),
    ]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("../secret", env.path("p/.sinew/skills/a/link")).unwrap();
    let resources = env.load();
    assert_eq!(resources.skill_file("a").unwrap(), env.path("p/.sinew/skills/a/SKILL.md"));
    assert_eq!(resources.skill_file("a/doc/b.md").unwrap(), env.path("p/.sinew/skills/a/doc/b.md"));
    for escape in ["a/../secret", "a//etc/passwd", "a/doc/../../secret", "a/link", "a/doc\\..\\b"] {
        if cfg!(windows) && escape == "a/link" {
            continue;
        }
        assert!(resources.skill_file(escape).unwrap_err().starts_with("Refused: "), "{escape}");
    }
    assert_eq!(resources.skill_file("b/c").unwrap_err(), "Unknown skill: b. Available: a");
    assert!(resources.skill_file("a/none").unwrap_err().starts_with("Cannot read skill://a/none: "));
}

#[test]
fn the_frontmatter_decides_how_a_rule_is_used() {
    let env = TestEnv::new(&[
        ("p/.sinew/rules/always.md", "---\nalwaysApply: true\ndescription: x\n---\nBe <brief>.\n"),
        ("p/.sinew/rules/listed.mdc", "---\ndescription: about \"SQL\"\nglobs: *.sql,db/{a,b}.rs\n---\nUse joins.\n"),
        ("p/.sinew/rules/stream.md", "---\ncondition: todo!\nscope: [text, \"tool:edit(*.{rs,toml})\"]\n---\nNo.\n"),
        ("p/.sinew/rules/lost.md", "Nobody reads this."),
        ("agent/rules/always.md", "---\nalwaysApply: true\n---\nUser.\n"),
        ("agent/rules/alias.md", "---\nttsrTrigger: [a, b]\ninterruptMode: never\n---\nAlias.\n"),
        ("agent/rules/scope.md", "---\ncondition: x\nscope: nonsense\n---\nx\n"),
        ("p/.cursor/rules/c.mdc", "---\nalwaysApply: true\n---\nCursor.\n"),
        ("p/.windsurf/rules/w.md", "---\ntrigger: always_on\n---\nWindsurf.\n"),
        ("p/.clinerules", "Cline.\n"),
    ]);
    let resources = env.load();
    let found: Vec<(&str, &Bucket)> = resources.rules.iter().map(|rule| (rule.name.as_str(), &rule.bucket)).collect();
    let stream = |conditions: &[&str], scopes: Vec<stream::Scope>, interrupt| Bucket::Stream {
        conditions: conditions.iter().map(ToString::to_string).collect(),
        scopes,
        interrupt,
    };
    let edit = stream::Scope::Tool { name: Some("edit".into()), glob: Some("*.{rs,toml}".into()) };
    assert_eq!(
        found,
        [
            ("always", &Bucket::Always),
            ("listed", &Bucket::Listed),
            ("stream", &stream(&["todo!"], vec![stream::Scope::Text, edit], None)),
            ("alias", &stream(&["a", "b"], vec![], Some(stream::InterruptMode::Never))),
        ]
    );
    let warnings = env.warnings(&resources);
    assert_eq!(warnings.len(), 3, "{warnings:#?}");
    assert!(warnings[0].starts_with("p/.sinew/rules/listed.mdc: bad frontmatter: "), "{warnings:#?}");
    assert!(warnings[0].ends_with("; using its lines of `key: value`"), "{warnings:#?}");
    assert_eq!(
        warnings[1..],
        [
            "p/.sinew/rules/lost.md: not used: it has neither condition, nor alwaysApply, nor description",
            "agent/rules/scope.md: unknown scope \"nonsense\": use text, thinking, tool or tool:<name>(<glob>)",
        ]
    );
    assert_eq!(resources.applied_rules(), "<rule name=\"always\">\nBe <brief>.\n</rule>");
    assert_eq!(
        resources.listings(true),
        ["<rules>\nRead rule://<name> before work that a rule is about.\n\
          <rule name=\"listed\" globs=\"*.sql, db/{a,b}.rs\">about &quot;SQL&quot;</rule>\n</rules>"]
    );
    assert_eq!(resources.rule_text("listed").unwrap(), "Use joins.");
    assert_eq!(resources.rule_text("x").unwrap_err(), "Unknown rule: x. Available: always, listed, stream, alias");
    let foreign = Resources::load(&ResourceOptions { foreign_rules: true, ..env.options() });
    assert!(foreign.applied_rules().contains("Cursor."), "{}", foreign.applied_rules());
    assert!(foreign.applied_rules().contains("Windsurf."));
    assert!(foreign.applied_rules().contains("<rule name=\"clinerules\">\nCline.\n</rule>"));
    assert!(Resources::load(&ResourceOptions { rules: false, ..env.options() }).rules.is_empty());
}

#[test]
fn commands_and_templates_have_names_and_descriptions() {
    let line = "A first line that is longer than sixty characters, so that it is cut somewhere";
    let env = TestEnv::new(&[
        ("p/.sinew/commands/git/review.md", "---\ndescription: Review\nargument-hint: <branch>\nmodel: fast\n---\n$1"),
        ("agent/commands/git/review.md", "user"),
        ("agent/commands/hello.md", "hidden by the project"),
        ("p/.sinew/prompts/hello.md", line),
        ("p/.sinew/commands/t.md", "command"),
        ("p/.sinew/commands/n.md", "hidden by the flag"),
        ("p/.sinew/prompts/t.md", "hidden by the command"),
        ("agent/prompts/t.md", "user"),
        ("more/n.md", "named"),
    ]);
    let options = ResourceOptions { named_templates: vec![env.path("more/n.md")], ..env.options() };
    let resources = Resources::load(&options);
    let found: Vec<(&str, &str)> =
        resources.templates.iter().map(|template| (template.name.as_str(), template.description.as_str())).collect();
    let cut = format!("{}...", &line[..60]);
    assert_eq!(found, [("n", "named"), ("t", "command"), ("git:review", "Review"), ("hello", &cut)]);
    assert_eq!(resources.templates[2].hint.as_deref(), Some("<branch>"));
    assert_eq!(resources.templates[2].model.as_deref(), Some("fast"));
    assert_eq!(resources.warnings, [""; 0]);
    let off = Resources::load(&ResourceOptions { templates: false, ..options });
    assert_eq!(off.templates.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["n", "t", "git:review", "hello"]);
}

#[test]
fn reloading_reports_only_new_warnings() {
    let env = TestEnv::new(&[("p/.sinew/skills/a/SKILL.md", "bad"), ("p/.sinew/prompts/t.md", "one")]);
    let before = env.load();
    env.put("p/.sinew/skills/b/SKILL.md", "bad too");
    env.put("p/.sinew/prompts/t.md", "two");
    env.put("p/.sinew/prompts/u.md", "three");
    let after = env.load();
    let news: Vec<&str> = after.news(&before).collect();
    assert_eq!(news.len(), 1, "{news:?}");
    assert!(news[0].contains("skills/b/SKILL.md"), "{news:?}");
    assert_eq!(after.templates.iter().map(|template| template.body.as_str()).collect::<Vec<_>>(), ["two", "three"]);
}

#[test]
fn commands_are_listed_in_lookup_order() {
    let env = TestEnv::new(&[
        ("p/.sinew/skills/a/SKILL.md", &skill("a", "A skill")),
        ("p/.sinew/commands/greet.md", "hidden by the extension"),
        ("p/.sinew/prompts/t.md", "---\nargument-hint: <x>\n---\nA template"),
    ]);
    let (commands, _) = Commands::new(&[Arc::new(Adds) as Arc<dyn Extension>]);
    let list = env.load().listed_commands(&commands);
    let found: Vec<(&str, &str, &str)> =
        list.iter().map(|command| (command.name.as_str(), command.description.as_str(), command.source)).collect();
    assert_eq!(found, [("greet", "", "extension"), ("skill:a", "A skill", "skill"), ("t", "A template", "prompt")]);
    assert_eq!(list[2].hint.as_deref(), Some("<x>"));
}

#[test]
fn arguments_are_divided_at_blanks_outside_of_quotes() {
    let check = |text: &str, expect: &[&str]| assert_eq!(arguments(text), expect, "{text}");
    check("a  b\tc\n", &["a", "b", "c"]);
    check("'a b' \"c 'd\" e'f g'h", &["a b", "c 'd", "e'f", "g'h"]);
    check("it's the user's", &["it's", "the", "user's"]);
    check("'it's here' x", &["it's here", "x"]);
    check("a\\ b \\\"c d\"", &["a\\", "b", "\\\"c", "d\""]);
    check("\"\" '' x", &["", "", "x"]);
    check("a 'b c", &["a", "'b", "c"]);
    check("", &[]);
}

#[test]
fn placeholders_are_replaced_by_arguments() {
    let check = |text: &str, expect: &str| assert_eq!(substitute(text, "one two $1 ${@:1} five").0, expect, "{text}");
    check("$1-$2-${9}-${1}-${12}", "one-two--one-");
    check("$3 $4", "$1 ${@:1}");
    check("$@", "one two $1 ${@:1} five");
    check("<$ARGUMENTS>", "<one two $1 ${@:1} five>");
    check(
        "${@:2}|${@:4:1}|${@:2:2}|${@:0}|${@:9}|${@:5:9}",
        "two $1 ${@:1} five|${@:1}|two $1|one two $1 ${@:1} five||five",
    );
    check(
        "$0 $$ $x ${ ${x} ${@} ${@:} ${@:x} ${} $ ${0} ${99999999999999999999}",
        "$0 $$ $x ${ ${x} ${@} ${@:} ${@:x} ${} $ ${0} ${99999999999999999999}",
    );
    check("$10 ${1}0", "$10 one0");
    check("é$1漢", "éone漢");
}

/// A file that exists is used, or a warning names it.
#[cfg(unix)]
#[test]
fn resource_files_that_cannot_be_used_are_reported() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    type Make<'a> = &'a dyn Fn(&Path);

    let text = skill("s", "the description");
    let wide: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let write = |bytes: Vec<u8>| move |path: &Path| fs::write(path, &bytes).unwrap();
    let plain = write(text.into_bytes());
    let wide = write(wide);
    let binary = write(b"---\ndescription: x\n---\n\0".to_vec());
    let broken = |path: &Path| symlink("nowhere", path).unwrap();
    let socket = |path: &Path| drop(UnixListener::bind(path).unwrap());
    let folder = |path: &Path| fs::create_dir(path).unwrap();
    let cases: [(Make<'_>, bool, Option<&str>); 6] = [
        (&plain, true, None),
        (&wide, true, None),
        (&binary, false, Some("not used: it is a binary file")),
        (&broken, false, Some("No such file or directory")),
        (&socket, false, Some("")),
        (&folder, false, None),
    ];
    for name in ["skills/s/SKILL.md", "commands/s.md", "prompts/s.md", "rules/s.md"] {
        for (at, (make, used, expect)) in cases.iter().enumerate() {
            let env = TestEnv::new(&[]);
            let path = env.path(&format!("p/.sinew/{name}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            make(&path);
            let resources = env.load();
            let found = resources.skills.len() + resources.templates.len() + resources.rules.len();
            assert_eq!(found == 1, *used, "{name} {at}");
            let warnings = env.warnings(&resources);
            assert_eq!(warnings.len(), usize::from(expect.is_some()), "{name} {at}: {warnings:?}");
            if let Some(expect) = expect {
                assert!(warnings[0].starts_with(&format!("p/.sinew/{name}: {expect}")), "{name} {at}: {warnings:?}");
            }
        }
    }
}

/// A price in the text of a template is not a placeholder; `${1}` always is.
#[test]
fn a_dollar_sign_before_an_amount_stays() {
    for (text, typed, expect) in [
        ("costs $5: $@", "", "costs $5: "),
        ("costs $5", "", "costs $5"),
        ("costs $5", "a", "costs $5"),
        ("costs $5.00, $100, $1,000 or $12", "a", "costs $5.00, $100, $1,000 or $12"),
        ("$1 costs $5", "a", "a costs $5"),
        ("$1 costs $1.50. It is $1.", "a", "a costs $1.50. It is a."),
        ("$1 costs ${5}!", "a", "a costs !"),
        // Lower placeholders show that the template has as many arguments.
        ("$1 and $2", "", " and "),
        ("$1 and $2, $2", "a", "a and , "),
        ("${1}: $2-$3", "a", "a: -"),
        ("$1 $3", "a", "a $3"),
        ("$2 $1", "", " "),
        // A given argument replaces its placeholder.
        ("only $2", "a b", "only b"),
        ("only $2", "a", "only $2"),
        ("$9", "1 2 3 4 5 6 7 8 nine", "nine"),
        ("v$1.0 v${1}.0", "2", "v$1.0 v2.0"),
    ] {
        assert_eq!(substitute(text, typed).0, expect, "{text} with {typed:?}");
    }
    assert!(!substitute("costs $5", "a").1, "the arguments are appended");
}

#[test]
fn arguments_stay_as_they_were_typed() {
    let template = |body: &str| Template {
        name: "t".into(),
        description: String::new(),
        hint: None,
        model: None,
        thinking: None,
        body: body.into(),
        path: PathBuf::new(),
        origin: Origin::User,
        command: false,
    };
    let check = |body: &str, typed: &str, expect: &str| assert_eq!(template(body).prompt(typed), expect, "{body}");
    check("Fix: $ARGUMENTS!", " it's\n\"a  b\" $1 ", "Fix: it's\n\"a  b\" $1!");
    check("Fix $1, then $@", "'a b' c", "Fix a b, then a b c");
    check("Fix: ${ARGUMENTS}s, $ARGUMENTS1", "it's", "Fix: it'ss, $ARGUMENTS1");
    check("Review the code.\n", "only src/ $1", "Review the code.\n\nonly src/ $1");
    check("Review the code.\n", " ", "Review the code.\n");
    check("Costs 5$ or $0.", "x", "Costs 5$ or $0.\n\nx");
    check("Costs $5.00 or $3.", "x", "Costs $5.00 or $3.\n\nx");
}

/// Quotes a word, so that it is one argument.
fn quoted(word: &str) -> String {
    format!("'{word}'")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// An argument is inserted unchanged, even if it looks like a placeholder.
    #[test]
    fn arguments_are_never_expanded_again(
        given in proptest::collection::vec("[$@{}:0-9a-zA-Z ]{0,12}|\\$ARGUMENTS|\\$\\{@:1\\}|\\$1", 0..5),
        places in proptest::collection::vec(0_usize..7, 0..8),
    ) {
        const PLACES: [&str; 7] = ["$1", "${2}", "$@", "$ARGUMENTS", "${@:2}", "${@:2:2}", " plain "];
        let text: String = places.iter().map(|at| format!("{}\u{1}", PLACES[*at])).collect();
        let part = |from: usize, to: usize| given[from.min(given.len())..to.min(given.len())].join(" ");
        let expect: String = places.iter().map(|at| {
            let all = given.len();
            let part = match at {
                3 => given.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ").trim().to_string(),
                0 => part(0, 1),
                1 => part(1, 2),
                2 => part(0, all),
                4 => part(1, all),
                5 => part(1, 3),
                _ => " plain ".into(),
            };
            format!("{part}\u{1}")
        }).collect();
        let typed = given.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        prop_assert_eq!(substitute(&text, &typed), (expect, places.iter().any(|at| *at != 6)));
    }

    /// No content of a file makes reading it fail.
    #[test]
    fn any_file_content_can_be_loaded(text in "\\PC{0,200}|(---\n)?([a-z&*\\[\\]{}:,'\"| -]{0,20}\n){0,8}(---\n)?.{0,20}") {
        let (front, _) = frontmatter::lenient(&text);
        prop_assert!(front.body.len() <= text.len());
        let _ = frontmatter::strict(&text);
        let _ = substitute(&text, &text);
    }
}

struct Greets;

impl CommandHandler for Greets {
    fn execute<'a>(&'a self, arguments: &'a str, _context: &'a Context) -> Boxed<'a, Result<CommandResult, String>> {
        Box::pin(async move {
            match arguments {
                "info" => Ok(CommandResult::Info("hi".into())),
                "fail" => Err("no".into()),
                "panic" => panic!("oh"),
                other => Ok(CommandResult::Prompt(format!("Greet {other}"))),
            }
        })
    }
}

struct Adds;

impl Extension for Adds {
    fn name(&self) -> std::borrow::Cow<'static, str> {
        "adds".into()
    }

    fn commands(&self) -> Vec<SlashCommand> {
        let command =
            |name: &str| SlashCommand { name: name.into(), description: String::new(), handler: Arc::new(Greets) };
        vec![command("greet"), command("greet")]
    }
}

/// An image of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async fn read(env: &TestEnv, resources: &Resources, text: &str, before: &str) -> Prompt {
    let (commands, doubled) = Commands::new(&[Arc::new(Adds) as Arc<dyn Extension>]);
    assert_eq!(doubled, ["greet"]);
    let options = env.options();
    let images = sinew_tools::ImageSettings::default();
    let attacher = Attacher { folders: &options.folders, images, cancel: CancelToken::never(), host: None };
    let context = Context { cwd: env.path("p"), session: "s".into(), ..Context::default() };
    let reading = PromptInputs { commands: &commands, resources, attacher: &attacher, context: &context, now: 1 };
    reading.read(text, before).await
}

fn said(prompt: &Prompt) -> Vec<String> {
    prompt
        .messages
        .iter()
        .map(|message| match message {
            AgentMessage::User(user) => user.content.text(),
            AgentMessage::FileMention(mention) => {
                mention.files.iter().map(|file| format!("[{}: {}]", file.path, file.content)).collect()
            }
            other => other.role().to_string(),
        })
        .collect()
}

#[tokio::test]
async fn a_prompt_is_a_command_a_skill_a_template_or_a_text() {
    let env = TestEnv::new(&[
        ("p/.sinew/skills/a/SKILL.md", "---\ndescription: x\n---\nSee @scope/pkg."),
        ("p/.sinew/commands/greet.md", "hidden by the extension"),
        ("p/.sinew/commands/look.md", "---\nthinking: high\n---\nLook at @f.txt for $1"),
        ("p/f.txt", "F\n"),
    ]);
    let resources = env.load();
    let check = async |text: &str, expect: &[&str]| {
        let prompt = read(&env, &resources, text, "").await;
        assert_eq!(said(&prompt), expect, "{text}");
        prompt
    };
    check("/greet me", &["Greet me"]).await;
    assert_eq!(check("/greet info", &[]).await.info.as_deref(), Some("hi"));
    assert_eq!(check("/greet fail", &[]).await.warnings, ["/greet: no"]);
    assert_eq!(check("/greet panic", &[]).await.warnings, ["/greet: oh"]);
    let look = check("/look 'the reason'", &["[f.txt: F\n]", "Look at @f.txt for the reason"]).await;
    assert_eq!(look.thinking.as_deref(), Some("high"));
    check("/unknown @f.txt", &["[f.txt: F\n]", "/unknown @f.txt"]).await;
    check("/usr/bin/env is missing", &["/usr/bin/env is missing"]).await;
    check("/skill:none x", &["/skill:none x"]).await;
    let skill = resources.skill("a").unwrap().prompt("with @f.txt").unwrap();
    let used = check("/skill:a with @f.txt", &["[f.txt: F\n]", &skill]).await;
    assert_eq!(used.warnings, [""; 0], "names in the skill's text are not mentions");
    let off = Resources { skill_commands: false, ..resources.clone() };
    assert_eq!(said(&read(&env, &off, "/skill:a", "").await), ["/skill:a"]);
    let piped = read(&env, &resources, "/look x", "data @nothing").await;
    assert_eq!(said(&piped), ["[f.txt: F\n]", "data @nothing\n\nLook at @f.txt for x"]);
    assert_eq!(piped.warnings, [""; 0]);
}

#[tokio::test]
async fn mentions_attach_files_folders_and_pictures() {
    let env = TestEnv::new(&[("p/a b.txt", "one\ntwo"), ("p/d/x.rs", ""), ("p/d/sub/y", ""), ("p/f.txt", "F\n")]);
    env.put("p/wide.txt", [0xff, 0xfe, b'h', 0, 0xe9, 0]);
    env.put("p/bin", [1, 0, 2]);
    env.put("p/long.txt", "0123456789\n".repeat(10_000));
    env.put("p/line.txt", "é".repeat(60_000));
    env.put("p/pic.png", base64::engine::general_purpose::STANDARD.decode(PIXEL).unwrap());
    let none = Resources::default();
    let files = |prompt: &Prompt| match &prompt.messages[0] {
        AgentMessage::FileMention(mention) => mention.files.clone(),
        other => panic!("{other:?}"),
    };
    let prompt = read(&env, &none, "@\"a b.txt\" and @f.txt, @f.txt (@x) @d @wide.txt", "").await;
    let found: Vec<(String, String, u64)> =
        files(&prompt).into_iter().map(|file| (file.path, file.content, file.line_count)).collect();
    let expect = [("a b.txt", "one\ntwo", 2), ("f.txt", "F\n", 1), ("d", "sub/\nx.rs (0 B)", 2), ("wide.txt", "hé", 1)];
    assert_eq!(found, expect.map(|(path, content, lines)| (path.to_string(), content.to_string(), lines)));
    assert_eq!(prompt.warnings, [""; 0]);
    let prompt = read(&env, &none, "@missing @bin @gone and @f.txt", "").await;
    assert_eq!(files(&prompt).len(), 1);
    let error = "No such file or directory (os error 2)";
    if cfg!(unix) {
        assert_eq!(
            prompt.warnings,
            [format!("not attached: @missing: {error}; @bin: it is neither text nor an image; @gone: {error}")]
        );
    }
    let prompt = read(&env, &none, "@long.txt @line.txt @pic.png", "").await;
    let [long, line, pic] = &files(&prompt)[..] else { panic!("{prompt:?}") };
    assert_eq!(long.line_count, 10_000);
    assert!(long.content.ends_with("\n[2000 of 10000 lines are attached; read the file for the rest]\n"));
    assert!(line.content.starts_with('é') && line.content.len() < 52_000);
    assert_eq!(pic.image.as_ref().unwrap().mime_type, "image/png");
    assert!(read(&env, &none, "nothing @ here", "").await.messages.len() == 1);
}

#[tokio::test]
async fn a_message_can_attach_a_hundred_files() {
    let env = TestEnv::new(&[]);
    let names: Vec<String> = (0..102).map(|index| format!("@f{index}")).collect();
    (0..102).for_each(|index| env.put(&format!("p/f{index}"), "x"));
    (0..600).for_each(|index| env.put(&format!("p/many/{index}"), ""));
    let prompt = read(&env, &Resources::default(), &names.join(" "), "").await;
    let AgentMessage::FileMention(mention) = &prompt.messages[0] else { panic!("{prompt:?}") };
    assert_eq!(mention.files.len(), 100);
    assert_eq!(prompt.warnings, ["not attached: @f100: at most 100 files can be attached to a message"]);
    let missing: Vec<String> = (0..9).map(|index| format!("@none{index}")).collect();
    let prompt = read(&env, &Resources::default(), &missing.join(" "), "").await;
    assert!(prompt.warnings.len() == 1 && prompt.warnings[0].ends_with("; …"), "{:?}", prompt.warnings);
    assert_eq!(prompt.warnings[0].matches("@none").count(), 5);
    let prompt = read(&env, &Resources::default(), "@many", "").await;
    let AgentMessage::FileMention(mention) = &prompt.messages[0] else { panic!("{prompt:?}") };
    let names = mention.files[0].content.lines().filter(|line| line.ends_with("(0 B)")).count();
    assert_eq!(names, 500, "{}", mention.files[0].content.lines().last().unwrap_or_default());
}

#[test]
fn a_large_folder_is_listed_without_reading_its_files() {
    let env = TestEnv::new(&[("p/.sinew/skills/a/SKILL.md", &skill("a", "x"))]);
    for index in 0..10_000 {
        fs::write(env.path(&format!("p/.sinew/skills/a/{index}")), "").unwrap();
    }
    fs::write(env.path("p/.sinew/skills/plain.md"), "no skill").unwrap();
    let resources = env.load();
    assert_eq!(names(&resources), [("a", "x")]);
    assert_eq!(resources.warnings, [""; 0]);
    let options = ResourceOptions { skill_directories: vec![env.path("p/.sinew")], ..env.options() };
    assert_eq!(names(&Resources::load(&options)), [("a", "x")]);
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_opened() {
    let env = TestEnv::new(&[("p/.sinew/rules/x", "")]);
    let pipe = env.path("p/.sinew/rules/pipe.md");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let resources = env.load();
    assert!(resources.rules.is_empty());
    let options = env.options();
    let images = sinew_tools::ImageSettings::default();
    let attacher = Attacher { folders: &options.folders, images, cancel: CancelToken::never(), host: None };
    assert_eq!(attacher.one(".sinew/rules/pipe.md").unwrap_err(), "it is a pipe, a socket or a device");
    assert!(source::text(std::path::Path::new("/dev/zero")).is_err());
}
