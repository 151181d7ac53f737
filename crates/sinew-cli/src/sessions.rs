//! Which session goes on.

use std::fs::DirBuilder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew::base::{Error, ErrorCode};
use sinew_agent::clock::Clock;
use sinew_agent::session::{self, Blobs, Found, Mask, Session, SessionOptions};
use sinew_agent::settings::Settings;

use crate::args::Args;
use crate::config::{Environment, Paths};
use crate::failure::Failure;

/// A session, and what the user should know about it.
pub(crate) struct Begun {
    pub(crate) session: Session,
    pub(crate) warnings: Vec<String>,
}

/// The folder with all sessions, and the one in it for this working directory.
pub(crate) struct Places {
    pub(crate) all: PathBuf,
    own: PathBuf,
}

impl Places {
    pub(crate) fn find(paths: &Paths, settings: &Settings) -> Places {
        match settings.text("sessionDir") {
            // A folder that the user chose holds the files themselves.
            Some(folder) => {
                let folder = paths.cwd.join(folder);
                Places { all: folder.clone(), own: folder }
            }
            None => {
                let all = paths.agent.join("sessions");
                Places { own: all.join(session::folder_name(&paths.cwd)), all }
            }
        }
    }
}

impl Places {
    /// Every folder in which a session may name a picture.
    ///
    /// # Errors
    /// A folder in which sessions were kept is not there.
    pub(crate) fn known(&self, paths: &Paths) -> Result<Vec<PathBuf>, Failure> {
        let list = paths.agent.join(FOLDERS);
        let mut folders = vec![paths.agent.join("sessions"), self.all.clone()];
        // Without the list no session was ever kept elsewhere.
        for line in std::fs::read_to_string(&list).unwrap_or_default().lines() {
            let folder = PathBuf::from(line);
            if !folder.is_dir() {
                return Err(Failure::failed(format!(
                    "{line} is not there, and its sessions may name pictures: bring it back, or remove its line from {}",
                    list.display()
                )));
            }
            folders.push(folder);
        }
        Ok(folders)
    }
}

/// The file below `agent` that lists folders outside of it in which sessions are kept.
const FOLDERS: &str = "session-folders";

/// Remembers where a session is kept outside of the agent's folder, so that `gc` finds it.
fn note_folder(paths: &Paths, file: &Path) -> std::io::Result<()> {
    let Some(folder) = file.parent().filter(|folder| !folder.starts_with(&paths.agent)) else { return Ok(()) };
    let list = paths.agent.join(FOLDERS);
    let line = folder.display().to_string();
    if std::fs::read_to_string(&list).unwrap_or_default().lines().any(|known| known == line) {
        return Ok(());
    }
    make_private(&paths.agent)?;
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(list)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Finds or makes the session that the flags ask for.
///
/// # Errors
/// No session or several fit, or another process writes it.
pub(crate) fn begin(
    args: &Args,
    environment: &Environment,
    paths: &Paths,
    settings: &Settings,
    clock: &Arc<dyn Clock>,
    mask: Mask,
) -> Result<Begun, Failure> {
    let options = SessionOptions {
        cwd: paths.cwd.clone(),
        blobs: Some(Blobs::new(paths.agent.join("blobs"))),
        sync: settings.sync(),
        clock: Arc::clone(clock),
        mask: Some(mask),
    };
    if args.has("no-session") {
        return Ok(Begun { session: Session::in_memory(options), warnings: Vec::new() });
    }
    let places = Places::find(paths, settings);
    let crumb = environment.terminal().map(|terminal| session::breadcrumb_file(&paths.agent, &terminal));
    let file = if args.has("continue") {
        let last = crumb.as_deref().and_then(|crumb| remembered(crumb, &paths.cwd));
        last.or_else(|| session::latest(&places.all, &paths.cwd).map(|listed| listed.path))
    } else if args.has("resume") {
        let word = args.value("resume").ok_or_else(|| {
            Failure::usage("--resume needs an id here: --resume ID; `sinew sessions list` shows them")
        })?;
        Some(resolve(&places, paths, word)?)
    } else if let Some(word) = args.value("fork") {
        let source = resolve_any(&places, paths, word)?;
        // Another process may be at work on it.
        let source = Session::view(&source, options.clone()).map_err(refused)?.session;
        Some(source.fork(&places.own, &paths.cwd).map_err(refused)?)
    } else {
        match args.value("session") {
            Some("") => return Err(Failure::usage("--session needs a value: --session PATH")),
            path => path.map(|path| paths.cwd.join(path)),
        }
    };
    let begun = match file {
        Some(file) => {
            let opened = Session::open(&file, options).map_err(refused)?;
            let mut warnings = opened.warnings;
            if let Some(recovered) = opened.recovered {
                warnings.push(format!("what could be read of it is in {}", recovered.display()));
            }
            Begun { session: opened.session, warnings }
        }
        None => fresh(&places.own, options),
    };
    let mut begun = begun;
    if let Some(file) = begun.session.path()
        && let Err(error) = note_folder(paths, file)
    {
        let warning = format!("{}: {error}; `sinew sessions gc` will not know of this session", paths.agent.display());
        begun.warnings.push(warning);
    }
    if let (Some(crumb), Some(file)) = (&crumb, begun.session.path()) {
        // A terminal that is not remembered is no reason to tell anybody.
        let _ = remember(crumb, &paths.cwd, file);
    }
    Ok(begun)
}

/// A new session; in memory where nothing can be written.
fn fresh(folder: &Path, options: SessionOptions) -> Begun {
    if let Err(error) = make_private(folder) {
        let warning = format!("{}: {error}; this session is kept in memory only", folder.display());
        return Begun { session: Session::in_memory(options), warnings: vec![warning] };
    }
    let id = format!("{:016x}", options.clock.random());
    let path = folder.join(session::file_name(options.clock.now(), &id));
    Begun { session: Session::create(path, id, options), warnings: Vec::new() }
}

fn resolve(places: &Places, paths: &Paths, word: &str) -> Result<PathBuf, Failure> {
    match session::resolve(&places.all, &paths.cwd, word).map_err(refused)? {
        Found::Here(path) => Ok(path),
        Found::Elsewhere(listed) => Err(Failure::usage(format!(
            "Session \"{word}\" is in another project ({}). Use --fork {word} to go on with a copy here.",
            listed.cwd
        ))),
    }
}

/// The file of the session that `word` means, in whichever folder it works.
pub(crate) fn resolve_any(places: &Places, paths: &Paths, word: &str) -> Result<PathBuf, Failure> {
    match session::resolve(&places.all, &paths.cwd, word).map_err(refused)? {
        Found::Here(path) => Ok(path),
        Found::Elsewhere(listed) => Ok(listed.path),
    }
}

pub(crate) fn refused(error: Error) -> Failure {
    match error.code() {
        ErrorCode::InvalidState => Failure::config(format!("{} Use --fork to go on with a copy.", error.message())),
        ErrorCode::NotFound | ErrorCode::InvalidArgument => Failure::usage(error.message()),
        _ => Failure::failed(error.message()),
    }
}

/// The session that a terminal had in this folder.
fn remembered(crumb: &Path, cwd: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(crumb).ok()?;
    let (folder, file) = text.split_once('\n')?;
    let file = PathBuf::from(file.trim_end_matches('\n'));
    (Path::new(folder) == cwd && file.is_file()).then_some(file)
}

fn remember(crumb: &Path, cwd: &Path, file: &Path) -> std::io::Result<()> {
    if let Some(folder) = crumb.parent() {
        make_private(folder)?;
    }
    std::fs::write(crumb, format!("{}\n{}\n", cwd.display(), file.display()))
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}
