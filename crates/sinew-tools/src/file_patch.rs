//! Finds the files that a patch of the tool `edit` names.

use sinew::base::lossy;
use sinew::patch::Patch;

use crate::semantics::Subject;

/// The argument with the patch.
pub(super) const ARGUMENT: &str = "patch";

/// Prefixes of lines that name a file, for a patch that is still streaming.
const NAMING: [&str; 10] = [
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "--- a/",
    "+++ b/",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
];

/// Returns the files that a patch names: those that it changes, and every other file that one of its names may refer
/// to.
pub(super) fn subjects(text: &str) -> Vec<Subject> {
    let mut found = Vec::new();
    let mut add = |subject: Subject| {
        if !found.contains(&subject) {
            found.push(subject);
        }
    };
    match Patch::parse(text.as_bytes()) {
        Ok(patch) => {
            for name in patch.files.iter().flat_map(|file| file.from.iter().chain([&file.path])) {
                add(Subject::Path { path: spelled(&name.path), line: None });
                name.unstripped.iter().for_each(|path| add(Subject::OtherPath(spelled(path))));
            }
        }
        // The patch is incomplete, or it fails before it changes a file.
        Err(_) => {
            let named = |line: &str| NAMING.iter().find_map(|start| line.strip_prefix(start).map(str::to_string));
            text.lines().filter_map(named).for_each(|path| add(Subject::Path { path, line: None }));
        }
    }
    found
}

/// Returns a path of a patch in the syntax of tool arguments, in which a leading `@` or `~` would have a meaning.
pub(super) fn spelled(path: &[u8]) -> String {
    let text = lossy(path);
    if text.starts_with(['@', '~']) || text.contains("://") { format!("./{text}") } else { text.into_owned() }
}
