//! An agent made of flags, settings, a session, a model and tools; then the mode that shows it.

use std::path::Path;
use std::sync::Arc;

use sinew_agent::agent::{AgentSession, Parts};
use sinew_agent::artifacts::Artifacts;
use sinew_agent::clock::{Clock, SystemClock, iso};
use sinew_agent::context::{PromptFacts, PromptTool, context_files, system_prompt};
use sinew_agent::core::Toolset;
use sinew_agent::extension::Context;
use sinew_agent::files::read_text;
use sinew_agent::resource::Resources;
use sinew_agent::session::{Body, Defaults, Session};
use sinew_agent::tool::Tool;
use sinew_agent::tools::{self, Host, HostOptions};
use sinew_llm::error::ErrorKind;
use sinew_llm::message::AgentMessage;
use sinew_llm::model::ThinkingLevel;
use tokio_util::sync::CancellationToken;

use crate::args::Args;
use crate::config::{Config, Environment, Paths};
use crate::failure::Failure;
use crate::log::{Log, Timing};
use crate::models::{self, Chooser};
use crate::modes::{self, Look};
use crate::{guards, prompt, resources, secrets, sessions};

/// Runs the prompts of the command line and gives the exit code.
pub(crate) async fn run(
    args: &Args,
    environment: &Environment,
    paths: &Paths,
    config: Config,
    timing: &mut Timing,
) -> Result<u8, Failure> {
    let json = args.value("mode") == Some("json");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let Config { settings, mut warnings, trusted } = config;
    let said = prompt::read(args, environment)?;
    let secrets = secrets::find(environment, paths, &settings, trusted, &mut warnings);
    let begun = sessions::begin(args, environment, paths, &settings, &clock, secrets.mask())?;
    warnings.extend(begun.warnings);
    let mut session = begun.session;
    let mut chooser = Chooser::read(args, environment, paths, &settings, &secrets, session.id())?;
    warnings.append(&mut chooser.warnings);
    let defaults = Defaults { thinking_level: settings.text("defaultThinkingLevel").unwrap_or_default() };
    let before = session.context(&defaults).map_err(|error| Failure::failed(error.message()))?;
    let resumed = before.models.get("default").map(String::as_str);
    let chosen = chooser.first(args, resumed).await?;
    warnings.extend(chosen.warning);
    let reached = chooser.connect(chosen.model).await.map_err(|error| match error.kind {
        ErrorKind::Config | ErrorKind::Auth => Failure::config(error.message),
        _ => Failure::failed(error.message),
    })?;
    chooser.set_fallback(&reached.model);
    let flag = args.value("thinking").and_then(ThinkingLevel::parse);
    if let Some(level) = flag.or(chosen.level) {
        reached.model.check_level(level).map_err(Failure::config)?;
    }
    let thinking = flag.or(chosen.level).or_else(|| ThinkingLevel::parse(&before.thinking_level)).unwrap_or_default();
    note(&mut session, resumed, &reached.model.key(), &before.thinking_level, thinking);

    let keys = chooser.key_names();
    let mut extensions = guards::extensions(args, environment, paths, &settings, trusted, &keys, &mut warnings)?;
    if environment.get("SINEW_LOG") == Some("debug") {
        match Log::open(&paths.agent, &secrets) {
            Ok(log) => {
                log.line(&format!(
                    "sinew {} begins: {} in {}",
                    env!("CARGO_PKG_VERSION"),
                    session.id(),
                    paths.cwd.display()
                ));
                extensions.insert(0, Arc::new(log));
            }
            Err(error) => warnings.push(format!("SINEW_LOG: {}: {error}", paths.agent.join("sinew.log").display())),
        }
    }
    let host = host(environment, paths, &settings, &session, &chooser, args);
    restore(&host, &before.messages);
    let toolset = toolset(args, &settings.texts("tools"), &settings.texts("excludeTools"), &host)?;
    let loaded = resources::load(args, paths, &settings, &mut warnings)?;
    host.set_resources(Arc::clone(&loaded.resources));
    let system = system(args, environment, paths, &toolset, &loaded.resources, &*clock, &mut warnings)?;
    let context = Context {
        cwd: paths.cwd.clone(),
        session: session.id().to_string(),
        file: session.path().map(Path::to_path_buf),
        has_ui: false,
        cancel: CancellationToken::new(),
    };
    let prompts = prompt::Prompts::new(said, &loaded, &extensions, &host, context, &clock, &mut warnings)?;
    let mut agent_settings = settings.agent();
    agent_settings.max_tokens = args.number("max-tokens").map_err(Failure::usage)?;
    agent_settings.http = models::http(environment, &settings);
    // The list of the tools goes with the tool: without it nobody could tick an item off.
    let todo = toolset.all().iter().any(|tool| tool.name() == "todo").then(|| Arc::clone(&host));
    let parts = Parts {
        session,
        reached,
        models: Arc::new(chooser),
        thinking,
        system,
        tools: toolset,
        extensions,
        settings: agent_settings,
        clock,
        cwd: paths.cwd.clone(),
        has_ui: false,
        open_items: todo.map(|host| Arc::new(move || host.open_items()) as Arc<_>),
    };
    let agent = AgentSession::resume(parts, before);
    agent.set_stream_rules(loaded.rules);
    let look = Look {
        json,
        verbose: settings.flag("verbose"),
        whole: !environment.stdout,
        partials: environment.get("SINEW_PARTIALS") != Some("0"),
        tool_lines: environment.stdout || settings.flag("verbose"),
        colour: environment.colour(environment.stderr),
    };
    timing.mark("ready");
    let code = modes::run(agent, &host, prompts, warnings, look).await;
    host.close();
    Ok(code)
}

/// Whether somebody sits at a terminal and can be asked.
pub(crate) fn is_interactive(args: &Args, environment: &Environment) -> bool {
    let text = matches!(args.value("mode"), None | Some("text"));
    let answers = ["print", "list-models"].into_iter().any(|flag| args.has(flag));
    environment.stdin && environment.stdout && text && !answers
}

/// Says in the session which model answers and how much it thinks, where that is new.
fn note(session: &mut Session, resumed: Option<&str>, model: &str, level: &str, thinking: ThinkingLevel) {
    let fresh = session.is_empty();
    if fresh || resumed != Some(model) {
        let body = Body::ModelChange { model: model.into(), role: None, provider: None, model_id: None };
        // A session that cannot be written says so when the prompt is.
        let _ = session.append(body);
    }
    if fresh || level != thinking.as_str() {
        let _ = session.append(Body::ThinkingLevelChange { thinking_level: thinking.as_str().into() });
    }
}

fn host(
    environment: &Environment,
    paths: &Paths,
    settings: &sinew_agent::settings::Settings,
    session: &Session,
    chooser: &Chooser,
    args: &Args,
) -> Arc<Host> {
    let offline = args.has("offline") || environment.is_on("SINEW_OFFLINE");
    let own = settings.tools();
    let artifacts = session.artifacts().map_or_else(Artifacts::temporary, Artifacts::in_folder);
    let artifacts = artifacts.hiding(chooser.secrets());
    Host::new(HostOptions {
        cwd: paths.cwd.clone(),
        home: std::env::home_dir(),
        sinew: Arc::new(sinew::Sinew::new()),
        companion: sinew::shell::Companion::new(std::env::current_exe().unwrap_or_else(|_| "sinew".into())),
        environment: environment.variables().to_vec(),
        artifacts: Arc::new(artifacts),
        http: models::http(environment, settings),
        ask: None,
        console: None,
        shells: Arc::default(),
        settings: tools::Settings {
            ci: !environment.is_on("SINEW_BASH_NO_CI"),
            provider_keys: chooser.key_names(),
            fetch: own.fetch && !offline,
            ..own
        },
    })
}

/// Puts back the list of tasks that a resumed session had.
fn restore(host: &Host, messages: &[AgentMessage]) {
    let last = messages.iter().rev().find_map(|message| match message {
        AgentMessage::ToolResult(result) if result.tool_name == "todo" => result.details.as_ref(),
        _ => None,
    });
    if let Some(details) = last {
        host.restore_todo(details);
    }
}

/// The tools that the flags and settings leave.
fn toolset(args: &Args, only: &[String], without: &[String], host: &Arc<Host>) -> Result<Toolset, Failure> {
    let known: Vec<&str> = tools::names().collect();
    for flag in ["tools", "exclude-tools"] {
        let named = args.list(flag).unwrap_or_default();
        if let Some(unknown) = named.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Failure::usage(format!("--{flag} {unknown}: unknown tool; known: {}", known.join(", "))));
        }
    }
    if args.has("no-tools") || args.has("no-builtin-tools") {
        return Ok(Toolset::default());
    }
    let only = args.list("tools").unwrap_or_else(|| only.to_vec());
    let without = args.list("exclude-tools").unwrap_or_else(|| without.to_vec());
    let has = |list: &[String], tool: &Arc<dyn Tool>| list.iter().any(|name| name == tool.name());
    let kept = tools::builtin(host).into_iter().filter(|tool| {
        let named = has(&only, tool);
        (only.is_empty() && !tool.flags().default_inactive || named) && !has(&without, tool)
    });
    Ok(Toolset::new(kept).0)
}

fn system(
    args: &Args,
    environment: &Environment,
    paths: &Paths,
    tools: &Toolset,
    resources: &Resources,
    clock: &dyn Clock,
    warnings: &mut Vec<String>,
) -> Result<Vec<String>, Failure> {
    if environment.is_on("SINEW_NULL_PROMPT") {
        return Ok(Vec::new());
    }
    let mut read = |path: &Path| match read_text(path) {
        Ok(text) => Some(text),
        Err(error) => {
            warnings.push(format!("{}: {error}", path.display()));
            None
        }
    };
    let project = |name: &str| Some(paths.project.join(name)).filter(|path| path.is_file());
    let replaced = match args.value("system-prompt") {
        Some(text) => Some(text_or_file("system-prompt", text, &paths.cwd)?),
        None => {
            resources::nearest(paths, "SYSTEM.md").or_else(|| paths.user_file("SYSTEM.md")).and_then(|path| read(&path))
        }
    };
    let files = [paths.user_file("APPEND_SYSTEM.md"), project("APPEND_SYSTEM.md")];
    let mut appended: Vec<String> = files.iter().flatten().filter_map(|path| read(path)).collect();
    for text in args.values("append-system-prompt") {
        appended.push(text_or_file("append-system-prompt", text, &paths.cwd)?);
    }
    let files = match args.has("no-context-files") {
        true => Vec::new(),
        false => {
            let found = context_files(&[&paths.agent, &paths.home], &paths.cwd);
            warnings.extend(found.warnings);
            found.files
        }
    };
    Ok(system_prompt(&PromptFacts {
        replaced,
        appended,
        tools: tools.all().iter().map(PromptTool::from).collect(),
        rules: resources.applied_rules(),
        context_files: files,
        listings: resources.listings(tools.find("read").is_some()),
        date: iso(clock.now())[..10].to_string(),
        cwd: paths.cwd.clone(),
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        shell: "bash".into(),
        branch: branch(&paths.cwd),
    }))
}

fn text_or_file(flag: &str, text: &str, cwd: &Path) -> Result<String, Failure> {
    let path = cwd.join(text);
    // A text may be longer than any name of a file.
    if !path.is_file() {
        return Ok(text.to_string());
    }
    std::fs::read_to_string(&path).map_err(|error| Failure::config(format!("--{flag} {text}: {error}")))
}

/// The branch of the repository around `cwd`.
fn branch(cwd: &Path) -> Option<String> {
    let git = cwd.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())?;
    let folder = match read_text(&git) {
        // A worktree has a file that names the folder.
        Ok(text) => git.with_file_name(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let head = read_text(&folder.join("HEAD")).ok()?;
    Some(head.trim().strip_prefix("ref: refs/heads/")?.to_string())
}
