//! `--export IN [OUT]`: a session as a page.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_agent::clock::SystemClock;
use sinew_agent::export::{Options, export};
use sinew_agent::session::{Blobs, Session, SessionOptions};

use crate::args::Args;
use crate::commands::print;
use crate::config::{self, Config, Environment, Paths};
use crate::failure::Failure;
use crate::models::Chooser;
use crate::secrets;
use crate::sessions::{self, Places};

/// Writes the page, where that was asked for.
///
/// # Errors
/// There is no such session, or the page cannot be written.
pub(crate) fn run(args: &Args, environment: &mut Environment, paths: &Paths) -> Result<Option<u8>, Failure> {
    let Some(given) = args.value("export") else { return Ok(None) };
    let to = match &args.words[..] {
        [] => None,
        [to] => Some(Path::new(to)),
        [_, more, ..] => {
            let message =
                format!("--export IN [OUT]: \"{more}\" is one word too many; a path with blanks goes in quotes");
            return Err(Failure::usage(message));
        }
    };
    // Nobody is asked: what only a trusted project may say is left out.
    let Config { settings, mut warnings, trusted } = config::load(args, environment, paths);
    let file = find(given, &Places::find(paths, &settings), paths)?;
    let secrets = secrets::find(environment, paths, &settings, trusted, &mut warnings);
    let options = SessionOptions {
        cwd: paths.cwd.clone(),
        blobs: Some(Blobs::new(paths.agent.join("blobs"))),
        sync: settings.sync(),
        clock: Arc::new(SystemClock),
        mask: Some(secrets.mask()),
    };
    let opened = Session::view(&file, options).map_err(sessions::refused)?;
    // Who knows the models knows the keys.
    let mut chooser = Chooser::read(args, environment, paths, &settings, &secrets, opened.session.id())?;
    warnings.append(&mut chooser.warnings);
    warnings.extend(opened.warnings);
    let made_by = concat!("Exported by sinew ", env!("CARGO_PKG_VERSION"));
    let options = Options { secrets: Some(&secrets), made_by, ..Options::default() };
    let page = export(&opened.session, &options, &paths.cwd, to).map_err(sessions::refused)?;
    for warning in warnings {
        crate::output::tell(&format!("Warning: {warning}"));
    }
    print(&format!("Exported to: {}\n", page.display())).map(Some)
}

/// The file that `word` means: a path, else what `--resume` takes.
fn find(word: &str, places: &Places, paths: &Paths) -> Result<PathBuf, Failure> {
    let path = paths.cwd.join(word);
    if path.is_file() {
        return Ok(path);
    }
    if word.contains(['/', '\\']) || word.contains('.') {
        return Err(Failure::usage(format!("File not found: {word}")));
    }
    sessions::resolve_any(places, paths, word)
}
