//! Directories and files of sessions: which session is opened, and where a new one is stored.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sinew::base::{Error, ErrorCode};
use sinew_session::clock::Clock;
use sinew_session::files::{private, private_folder};
use sinew_session::{Blobs, KnownSessions, Mask, ResolvedSession, Scope, Session, SessionOptions, SessionSummary};

use crate::args::SessionChoice;
use crate::config::Paths;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::startup::Startup;

/// Opens and creates the sessions of a run.
pub struct SessionStore {
    options: SessionOptions,
    folders: SessionFolders,
    paths: Paths,
    /// The file with the last session of this terminal.
    crumb: Option<PathBuf>,
    /// A cache of the listed files.
    known: Mutex<KnownSessions>,
    /// True if session files are not written.
    in_memory: bool,
}

/// A session, and the warnings from opening it.
pub struct StartedSession {
    /// The session.
    pub session: Session,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// The directory of all sessions, and its subdirectory for this working directory.
pub struct SessionFolders {
    /// The directory of all sessions.
    pub all: PathBuf,
    own: PathBuf,
}

impl SessionFolders {
    /// Returns the directories that the settings name.
    pub fn find(paths: &Paths, settings: &Settings) -> SessionFolders {
        match &settings.session_dir {
            // A directory that the user selected contains the files directly.
            Some(folder) => {
                let folder = paths.resolve(folder);
                SessionFolders { all: folder.clone(), own: folder }
            }
            None => {
                let all = paths.agent.join("sessions");
                SessionFolders { own: all.join(sinew_session::folder_name(&paths.cwd)), all }
            }
        }
    }
}

impl SessionFolders {
    /// Returns every directory in which a session may refer to an image.
    ///
    /// # Errors
    /// Returns an error if a directory in which sessions were stored does not exist.
    pub fn known(&self, paths: &Paths) -> Result<Vec<PathBuf>, Failure> {
        let list = paths.agent.join(FOLDERS);
        let mut folders = vec![paths.agent.join("sessions"), self.all.clone()];
        // Without the list, no session was stored elsewhere.
        for line in std::fs::read_to_string(&list).unwrap_or_default().lines() {
            let folder = PathBuf::from(line);
            if !folder.is_dir() {
                return Err(Failure::failed(format!(
                    "{line} is missing, and its sessions may use images: restore it, or remove its line from {}",
                    list.display()
                )));
            }
            folders.push(folder);
        }
        Ok(folders)
    }
}

/// The name of the file in `agent` that lists other directories with sessions.
const FOLDERS: &str = "session-folders";

/// Records that a session is stored outside of the agent's directory, so that `gc` finds it.
fn note_folder(paths: &Paths, file: &Path) -> std::io::Result<()> {
    let Some(folder) = file.parent().filter(|folder| !folder.starts_with(&paths.agent)) else { return Ok(()) };
    let list = paths.agent.join(FOLDERS);
    let line = folder.display().to_string();
    if std::fs::read_to_string(&list).unwrap_or_default().lines().any(|known| known == line) {
        return Ok(());
    }
    private_folder(&paths.agent)?;
    let mut file = private(OpenOptions::new().append(true).create(true), &list)?;
    file.write_all(format!("{line}\n").as_bytes())
}

impl SessionStore {
    /// Creates the store of the sessions of a start.
    pub fn new(startup: &Startup, clock: &Arc<dyn Clock>, mask: Mask) -> SessionStore {
        let Startup { args, paths, settings, .. } = startup;
        let options = SessionOptions {
            cwd: paths.cwd.clone(),
            blobs: Some(Blobs::new(paths.agent.join("blobs"))),
            sync: settings.sync(),
            clock: Arc::clone(clock),
            mask: Some(mask),
        };
        SessionStore {
            options,
            folders: SessionFolders::find(paths, settings),
            paths: paths.clone(),
            crumb: crumb_of(startup),
            known: Mutex::default(),
            in_memory: args.session.choice == SessionChoice::InMemory,
        }
    }

    /// Opens or creates the session that the flags select.
    ///
    /// # Errors
    /// Returns an error if no session or several match, or if another process writes to it.
    pub fn start(&self, choice: &SessionChoice) -> Result<StartedSession, Failure> {
        let file = match choice {
            _ if self.in_memory => None,
            SessionChoice::Fork(word) => {
                let source = resolve_any(&self.folders, &self.paths, word)?;
                // Opened read-only, because another process may be writing to it.
                let source = Session::view(&source, self.options.clone()).map_err(refused)?.session;
                Some(source.fork(&self.folders.own, &self.paths.cwd).map_err(refused)?)
            }
            choice => locate(choice, &self.folders, &self.paths, self.crumb.as_deref())?,
        };
        match file {
            Some(file) => self.open(&file).map_err(refused),
            None => Ok(self.fresh()),
        }
    }

    /// Opens a file; if it is missing, creates a session in it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if another process writes to it.
    pub(crate) fn open(&self, file: &Path) -> Result<StartedSession, Error> {
        let opened = Session::open(file, self.options.clone())?;
        let mut warnings = opened.warnings;
        if let Some(recovered) = opened.recovered {
            warnings.push(format!("the readable part of the session was saved to {}", recovered.display()));
        }
        Ok(self.noted(StartedSession { session: opened.session, warnings }))
    }

    /// Returns the directory with a subdirectory of sessions for each working directory; `None` if the user selected
    /// one directory for all sessions.
    #[cfg(unix)]
    pub(crate) fn sessions(&self) -> Option<&Path> {
        (self.folders.own != self.folders.all).then_some(&*self.folders.all)
    }

    /// Creates a session; in memory if files are not written.
    pub(crate) fn fresh(&self) -> StartedSession {
        let options = self.options.clone();
        let folder = &self.folders.own;
        if self.in_memory {
            return StartedSession { session: Session::in_memory(options), warnings: Vec::new() };
        }
        if let Err(error) = private_folder(folder) {
            let warning = format!("{}: {error}; this session is kept in memory only", folder.display());
            return StartedSession { session: Session::in_memory(options), warnings: vec![warning] };
        }
        let id = format!("{:016x}", options.clock.random());
        let path = folder.join(sinew_session::file_name(options.clock.now(), &id));
        self.noted(StartedSession { session: Session::create(path, id, options), warnings: Vec::new() })
    }

    /// Creates a session without a file.
    pub(crate) fn unsaved(&self) -> Session {
        Session::in_memory(self.options.clone())
    }

    /// Creates the session of a child of `parent`; in memory if `parent` has no file.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
    pub(crate) fn child(&self, parent: &Session, id: &str) -> Result<Session, Error> {
        let Some(file) = parent.path() else { return Ok(self.unsaved()) };
        let folder = sinew_session::children_of(file);
        private_folder(&folder).map_err(|cause| Error::io(format!("failed to create {}", folder.display()), &cause))?;
        let own = format!("{:016x}", self.options.clock.random());
        Ok(Session::create(folder.join(format!("{id}.jsonl")), own, self.options.clone()))
    }

    /// Opens the session of a child of `parent` again.
    ///
    /// # Errors
    /// Returns an error if `parent` or the child has no file, or if that cannot be read.
    pub(crate) fn child_again(&self, parent: &Session, id: &str) -> Result<Session, Error> {
        let file = self.child_file(parent, id).filter(|file| file.is_file()).ok_or_else(|| {
            Error::new(ErrorCode::NotFound, format!("subagent {id} has no session file, so it cannot continue"))
        })?;
        Ok(Session::open(&file, self.options.clone())?.session)
    }

    /// Returns the file for the session of a child of `parent`; `None` if `parent` has no file.
    pub(crate) fn child_file(&self, parent: &Session, id: &str) -> Option<PathBuf> {
        Some(sinew_session::children_of(parent.path()?).join(format!("{id}.jsonl")))
    }

    /// Returns the file of a session that a client names by its path, or by the start or end of its id. Only reads the
    /// file.
    ///
    /// # Errors
    /// Returns an error if no session or several match, or if the file is not a session.
    pub(crate) fn find(&self, word: &str) -> Result<PathBuf, Error> {
        let file = match sinew_session::resolve(&self.folders.all, &self.paths.cwd, word)? {
            ResolvedSession::Here(path) => path,
            ResolvedSession::Elsewhere(listed) => listed.path,
        };
        self.view(&file)?;
        Ok(file)
    }

    /// Returns the current contents of a session file, even if another process writes to it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(crate) fn view(&self, file: &Path) -> Result<Session, Error> {
        Ok(Session::view(file, self.options.clone())?.session)
    }

    /// Returns the id of a session that a client names by its path or id.
    ///
    /// # Errors
    /// Returns the errors of [`SessionStore::find`].
    pub(crate) fn id_of(&self, word: &str) -> Result<String, Error> {
        Ok(self.view(&self.find(word)?)?.id().to_string())
    }

    /// Lists the sessions of this directory that contain a message, newest first; with `all`, the sessions of all
    /// directories, including empty ones.
    pub(crate) fn list(&self, all: bool) -> Vec<SessionSummary> {
        let scope = if all { Scope::All } else { Scope::Cwd(&self.paths.cwd) };
        let mut listed = self.known.lock().list(&self.folders.all, scope);
        listed.retain(|session| all || session.has_messages);
        listed
    }

    /// Records a session as the last one of this terminal.
    fn noted(&self, mut started: StartedSession) -> StartedSession {
        let Some(file) = started.session.path() else { return started };
        if let Some(crumb) = &self.crumb {
            // An error is ignored, because the record is only a convenience.
            let _ = remember(crumb, &self.paths.cwd, file);
        }
        if let Err(error) = note_folder(&self.paths, file) {
            let agent = self.paths.agent.display();
            started.warnings.push(format!("{agent}: {error}; `sinew sessions gc` will not know of this session"));
        }
        started
    }
}

/// Finds the file of the session that the flags select, without opening it, and makes it the choice. Returns `None` if
/// the session is a new one.
///
/// # Errors
/// Returns an error if no session or several match.
#[cfg(unix)]
pub fn settle(startup: &mut Startup) -> Result<Option<PathBuf>, Failure> {
    let folders = SessionFolders::find(&startup.paths, &startup.settings);
    let file = locate(&startup.args.session.choice, &folders, &startup.paths, crumb_of(startup).as_deref())?;
    if let Some(name) = file.as_deref().and_then(Path::to_str) {
        startup.args.session.choice = SessionChoice::File(name.into());
    }
    Ok(file)
}

/// Returns the file that stores the last session of this terminal.
fn crumb_of(startup: &Startup) -> Option<PathBuf> {
    let terminal = startup.environment.terminal()?;
    Some(sinew_session::breadcrumb_file(&startup.paths.agent, &terminal))
}

/// Returns the file of the selected session; `None` for a new one, or for a copy that does not exist yet.
fn locate(
    choice: &SessionChoice,
    folders: &SessionFolders,
    paths: &Paths,
    crumb: Option<&Path>,
) -> Result<Option<PathBuf>, Failure> {
    Ok(match choice {
        SessionChoice::New | SessionChoice::InMemory | SessionChoice::Fork(_) => None,
        SessionChoice::Continue => {
            let last = crumb.and_then(|crumb| remembered(crumb, &paths.cwd));
            last.or_else(|| sinew_session::latest(&folders.all, &paths.cwd).map(|listed| listed.path))
        }
        SessionChoice::Resume(word) => {
            let word = word.as_ref().ok_or_else(|| {
                Failure::usage("--resume needs an id here: --resume ID; `sinew sessions list` shows them")
            })?;
            Some(resolve(folders, paths, word)?)
        }
        SessionChoice::File(path) => Some(paths.cwd.join(path)),
    })
}

fn resolve(folders: &SessionFolders, paths: &Paths, word: &str) -> Result<PathBuf, Failure> {
    match sinew_session::resolve(&folders.all, &paths.cwd, word).map_err(refused)? {
        ResolvedSession::Here(path) => Ok(path),
        ResolvedSession::Elsewhere(listed) => Err(Failure::usage(format!(
            "Session \"{word}\" is in another project ({}). Use --fork {word} to continue a copy here.",
            listed.cwd
        ))),
    }
}

/// Returns the file of the session that `word` names, of any working directory.
pub fn resolve_any(folders: &SessionFolders, paths: &Paths, word: &str) -> Result<PathBuf, Failure> {
    match sinew_session::resolve(&folders.all, &paths.cwd, word).map_err(refused)? {
        ResolvedSession::Here(path) => Ok(path),
        ResolvedSession::Elsewhere(listed) => Ok(listed.path),
    }
}

/// Converts an error about a session file.
pub fn refused(error: Error) -> Failure {
    match error.code() {
        ErrorCode::InvalidState => Failure::config(format!("{} Use --fork to continue a copy.", error.message())),
        ErrorCode::NotFound | ErrorCode::InvalidArgument => Failure::usage(error.message()),
        _ => Failure::failed(error.message()),
    }
}

/// Returns the last session of a terminal in this directory.
fn remembered(crumb: &Path, cwd: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(crumb).ok()?;
    let (folder, file) = text.split_once('\n')?;
    let file = PathBuf::from(file.trim_end_matches('\n'));
    (Path::new(folder) == cwd && file.is_file()).then_some(file)
}

fn remember(crumb: &Path, cwd: &Path, file: &Path) -> std::io::Result<()> {
    if let Some(folder) = crumb.parent() {
        private_folder(folder)?;
    }
    let mut out = private(OpenOptions::new().create(true).truncate(true), crumb)?;
    out.write_all(format!("{}\n{}\n", cwd.display(), file.display()).as_bytes())
}
