//! A text file as `read` shows it, which is what every edit mode changes, and the way back to its bytes.

use std::borrow::Cow;
use std::path::Path;

use crate::notebook::{self, Notebook};
use crate::text_form::TextForm;

/// The content of a file as text.
pub(super) struct Document<'a> {
    form: TextForm,
    /// The content in UTF-8 without a byte order mark: the JSON of a notebook.
    source: Cow<'a, [u8]>,
    /// The cells, if the file is a notebook.
    notebook: Option<Notebook>,
}

impl<'a> Document<'a> {
    /// Decodes the content of the file `path`.
    pub(super) fn open(path: &Path, content: &'a [u8]) -> Document<'a> {
        let form = TextForm::of(content);
        let source = form.decode(content);
        let json = std::str::from_utf8(&source).ok().filter(|_| notebook::is_name(path));
        let notebook = json.and_then(Notebook::parse);
        Document { form, source, notebook }
    }

    /// Returns the reason why the file cannot be edited as text; `None` if it can.
    pub(super) fn fault(&self) -> Option<&'static str> {
        self.form.fault()
    }

    /// Returns true if the lines of the text are those of the file, byte for byte.
    pub(super) fn is_plain(&self) -> bool {
        self.notebook.is_none() && !self.form.is_utf16()
    }

    /// Returns the text that `read` shows: decoded, and the cells of a notebook instead of its JSON.
    pub(super) fn text(&self) -> &[u8] {
        self.notebook.as_ref().map_or(&self.source, |notebook| notebook.text().as_bytes())
    }

    /// Returns the decoded text of the file itself: the JSON of a notebook.
    pub(super) fn source(&self) -> &[u8] {
        &self.source
    }

    pub(super) fn notebook(&self) -> Option<&Notebook> {
        self.notebook.as_ref()
    }

    /// Returns the bytes of the file after its text was replaced by `text`.
    ///
    /// # Errors
    /// Returns an error if the text of a notebook no longer has the lines that mark its cells.
    pub(super) fn with_text(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let Some(notebook) = &self.notebook else { return Ok(self.form.encode(text)) };
        let source = notebook.with_text(self.json(), &String::from_utf8_lossy(text))?;
        Ok(self.form.encode(&source))
    }

    /// Returns the bytes of the file after ranges of a notebook's text were replaced: from, to and the new text, in
    /// order.
    ///
    /// # Errors
    /// Returns an error if a range is not inside one cell.
    pub(super) fn with_places(
        &self,
        notebook: &Notebook,
        places: &[(usize, usize, String)],
    ) -> Result<Vec<u8>, String> {
        Ok(self.form.encode(&notebook.with(self.json(), places)?))
    }

    /// Returns the bytes of the file after its source was replaced.
    pub(super) fn with_source(&self, source: &[u8]) -> Vec<u8> {
        self.form.encode(source)
    }

    fn json(&self) -> &str {
        std::str::from_utf8(&self.source).unwrap_or_default()
    }
}
