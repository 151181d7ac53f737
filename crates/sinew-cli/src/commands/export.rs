//! Implements `--export IN [OUT]`: exports a session as one HTML page.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_control::config::Paths;
use sinew_control::failure::Failure;
use sinew_control::models::ModelSelector;
use sinew_control::output::{print, warn};
use sinew_control::secrets;
use sinew_control::sessions::{self, SessionFolders};
use sinew_control::startup::Startup;
use sinew_export::{Options, export};
use sinew_session::clock::SystemClock;
use sinew_session::{Blobs, Session, SessionOptions};

/// Writes the page of the session that `source` names.
///
/// # Errors
/// Returns an error if the session does not exist, or if the page cannot be written.
pub(super) fn run(startup: &Startup, warnings: &[String], source: &str) -> Result<u8, Failure> {
    let Startup { args, paths, settings, .. } = startup;
    let to = match &args.words[..] {
        [] => None,
        [to] => Some(Path::new(to)),
        [_, more, ..] => {
            let message =
                format!("--export IN [OUT]: unexpected argument \"{more}\"; put a path with spaces in quotes");
            return Err(Failure::usage(message));
        }
    };
    let mut warnings = warnings.to_vec();
    let file = find(source, &SessionFolders::find(paths, settings), paths)?;
    let secrets = secrets::find(startup)?;
    let options = SessionOptions {
        cwd: paths.cwd.clone(),
        blobs: Some(Blobs::new(paths.agent.join("blobs"))),
        sync: settings.sync(),
        clock: Arc::new(SystemClock),
        mask: Some(secrets.mask()),
    };
    let opened = Session::view(&file, options).map_err(sessions::refused)?;
    // Reads the keys of the models, so that they are masked in the page.
    let mut models = ModelSelector::read(startup, &secrets, opened.session.id())?;
    warnings.append(&mut models.warnings);
    warnings.extend(opened.warnings);
    let made_by = concat!("Exported by sinew ", env!("CARGO_PKG_VERSION"));
    let options = Options { secrets: Some(&secrets), made_by, ..Options::default() };
    let page = export(&opened.session, &options, &paths.cwd, to).map_err(sessions::refused)?;
    warn(&warnings);
    print(&format!("Exported to: {}\n", page.display()))
}

/// Returns the file of a session: `word` is a path, or an argument of `--resume`.
fn find(word: &str, folders: &SessionFolders, paths: &Paths) -> Result<PathBuf, Failure> {
    let path = paths.cwd.join(word);
    if path.is_file() {
        return Ok(path);
    }
    if word.contains(['/', '\\']) || word.contains('.') {
        return Err(Failure::usage(format!("File not found: {word}")));
    }
    sessions::resolve_any(folders, paths, word)
}
