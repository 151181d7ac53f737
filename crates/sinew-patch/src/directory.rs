//! Applies a patch to the files of a directory.

use std::path::Path;

use sinew_base::{CancelToken, Error, Result};

use crate::patch::Patch;
use crate::report::PatchReport;

/// How a patch is applied to a directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct ApplyOptions {
    /// Check everything but write nothing. Default: false.
    pub dry_run: bool,
    /// The number of context lines at the start and the end of a hunk of a unified diff that need not match. Default:
    /// 0.
    pub fuzz: usize,
}

/// Applies a patch to the files below `root`. Either all of them are changed or none.
///
/// - Paths are opened relative to a descriptor of `root`. No symbolic link below it is followed, and no file of `.git`,
///   `.hg`, `.svn`, `.jj`, `.bzr`, `_darcs` or `.pijul` is changed.
/// - New content is written to a hidden directory in `root` and renamed into place. If a step fails, the earlier steps
///   are undone.
/// - If another program changes a file in the meantime, the call fails.
/// - Changed files keep their permissions. New files have the default permissions with the umask applied.
///
/// The token is checked before each file and each hunk, until the first file is renamed.
///
/// # Errors
/// Returns the errors of [`Patch::parse`] and [`apply_to_text`](crate::apply_to_text); `NotFound` if a file is missing;
/// `InvalidState` if a file that the patch creates exists, or if a file was changed in the meantime; `PermissionDenied`
/// if a path leads through a link; `Unsupported` on systems other than Unix; and the token's reason if the call is
/// cancelled.
pub fn apply_to_directory(
    root: &Path,
    text: &[u8],
    options: ApplyOptions,
    cancel: &CancelToken,
) -> Result<PatchReport> {
    cancel.check().map_err(Error::aborted)?;
    #[cfg(unix)]
    {
        let patch = Patch::parse_below(text, &absolute_roots(root))?;
        apply(root, &patch, options, cancel)
    }
    #[cfg(not(unix))]
    {
        let _ = (root, options, Patch::parse(text)?);
        Err(Error::new(sinew_base::ErrorCode::Unsupported, "patches are applied to directories on Unix only"))
    }
}

/// Returns the absolute paths of a root that a patch of the Begin Patch form may use: as the caller writes it, and
/// without links.
#[cfg(unix)]
fn absolute_roots(root: &Path) -> Vec<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;

    // A root that cannot be resolved fails with its error when it is opened.
    let resolved = root.canonicalize().ok();
    let given = root.is_absolute().then(|| root.to_path_buf());
    given.into_iter().chain(resolved).map(|path| path.components().as_path().as_os_str().as_bytes().to_vec()).collect()
}

/// Applies a parsed patch.
#[cfg(unix)]
fn apply(root: &Path, patch: &Patch<'_>, options: ApplyOptions, cancel: &CancelToken) -> Result<PatchReport> {
    let root = crate::root::Root::open(root)?;
    let mut plan = crate::plan::Plan::new(&root, patch, options.fuzz);
    let mut files = Vec::with_capacity(patch.files.len());
    for file in &patch.files {
        cancel.check().map_err(Error::aborted)?;
        files.push(plan.add(file, cancel)?);
    }
    let steps = plan.steps()?;
    if !options.dry_run {
        crate::commit::commit(&root, &steps, patch.form == crate::patch::Form::Unified, cancel)?;
    }
    Ok(PatchReport { files })
}
