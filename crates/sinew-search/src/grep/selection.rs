//! The files that the globs of a search select.

use sinew_base::Result;
use sinew_walk::{GlobSet, GlobSyntax, Scope};

use crate::glob::{GlobPattern, spelled_name};

/// The compiled globs. They mean the same as those of [`crate::glob`].
pub(super) struct Selection {
    pub(super) globs: GlobSet,
    /// The text as the path of a file, if it also contains special characters.
    literal: Option<String>,
    /// The path may be that of a file in any directory.
    any_depth: bool,
}

impl Selection {
    /// Compiles globs; `None` if the text is blank. With `dot`, wildcards match names that begin with a dot.
    pub(super) fn new(pattern: &GlobPattern, dot: bool) -> Result<Option<Selection>> {
        let syntax = GlobSyntax { dot, ..GlobSyntax::default() };
        Ok(match pattern {
            GlobPattern::Text(text) if text.trim().is_empty() => None,
            GlobPattern::Text(text) => Some(Selection {
                globs: GlobSet::new(&sinew_walk::literal_braces(text), syntax)?,
                literal: spelled_name(text).map(str::to_string),
                any_depth: !text.contains('/'),
            }),
            GlobPattern::Items(items) => {
                Some(Selection { globs: GlobSet::of_items(items, syntax, &[])?, literal: None, any_depth: false })
            }
        })
    }

    /// Returns true if the file at this path is selected.
    pub(super) fn is_match(&self, path: &[u8]) -> bool {
        self.globs.is_match(path, false)
            || self.literal.as_ref().is_some_and(|name| {
                path.strip_suffix(name.as_bytes())
                    .is_some_and(|rest| rest.is_empty() || self.any_depth && rest.ends_with(b"/"))
            })
    }

    /// Returns true if a glob needs hidden entries.
    pub(super) fn names_dot(&self) -> bool {
        self.globs.names_dot()
    }

    /// Returns the part of the tree that can contain a selected file; `None` for the whole tree.
    pub(super) fn scope(&self) -> Option<Scope> {
        match &self.literal {
            Some(_) if self.any_depth => None,
            name => self.globs.scope(name.as_deref()),
        }
    }
}
