//! Handles special pastes: a path becomes a mention of its file, and a picture of the clipboard becomes a mentioned
//! file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sinew::image::{SourceFormat, probe};
use sinew_agent::resource::{ResourceFolders, mention};
use sinew_control::actions::Control;
use sinew_control::file_uri;
use sinew_tui::Editor;

use super::copy;

/// The number of bytes to read from a file. They contain the size of a picture, unless it has a large preview.
const HEAD: u64 = 256 << 10;
/// The maximum length of a path in bytes.
const PATH_LIMIT: usize = 4_096;

/// The content of the clipboard, for the editor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Clip {
    /// A picture in a new file; its size in pixels.
    Picture(PathBuf, Option<(u32, u32)>),
    Text(String),
}

/// Inserts a paste into the editor: the path of an existing file becomes a mention, other texts are inserted unchanged.
pub(super) fn paste(editor: &mut Editor, text: &str, cwd: &Path) {
    match file_of(text, cwd).filter(|_| takes_mention(editor)) {
        Some((path, Kind::Picture(size))) => put_picture(editor, &path, size),
        Some((path, Kind::Other)) => editor.insert(&format!("{} ", mention(&path))),
        None => editor.paste(text),
    }
}

/// Inserts the content of the clipboard into the editor.
pub(super) fn put(editor: &mut Editor, clip: Clip, cwd: &Path) {
    match clip {
        Clip::Text(text) => paste(editor, &text, cwd),
        Clip::Picture(path, size) => {
            let path = path.display().to_string();
            if is_command(editor) {
                return editor.insert(&path);
            }
            if !takes_mention(editor) {
                editor.insert(" ");
            }
            put_picture(editor, &path, size);
        }
    }
}

fn put_picture(editor: &mut Editor, path: &str, size: Option<(u32, u32)>) {
    let number = editor.markers() + 1;
    let label = match size {
        Some((width, height)) => format!("[image #{number} {width}×{height}]"),
        None => format!("[image #{number}]"),
    };
    editor.insert_marker(label, mention(path));
    // Separates the path from the text that is typed next.
    editor.insert(" ");
}

/// Returns true if a mention has an effect at the cursor: as a separate word, in a text for the model.
fn takes_mention(editor: &Editor) -> bool {
    !is_command(editor) && editor.before_cursor().chars().next_back().is_none_or(char::is_whitespace)
}

fn is_command(editor: &Editor) -> bool {
    editor.text().trim_start().starts_with('!')
}

/// The type of a pasted file.
enum Kind {
    /// A picture, and its size in pixels if the head of the file contains it.
    Picture(Option<(u32, u32)>),
    Other,
}

/// Returns the existing file that a text names: a path with a slash, which may be quoted, escaped as in a shell, or a
/// URL.
fn file_of(text: &str, cwd: &Path) -> Option<(String, Kind)> {
    if !may_name_file(text) {
        return None;
    }
    let text = text.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    let folders = ResourceFolders { cwd: cwd.to_path_buf(), home: std::env::home_dir(), ..ResourceFolders::default() };
    let forms = [file_uri::path_of(text), quoted.map(str::to_string), Some(text.to_string()), Some(unescaped(text))];
    forms.into_iter().flatten().find_map(|path| {
        let file = folders.resolve(&path);
        // Pipes and devices are not opened, because that could block or have side effects.
        if !file.metadata().is_ok_and(|facts| facts.is_file()) {
            return None;
        }
        let mut head = Vec::new();
        // An unreadable file is mentioned too, and the reason is reported when it is sent.
        let is_read = File::open(&file).and_then(|file| file.take(HEAD).read_to_end(&mut head)).is_ok();
        let kind = match is_read && SourceFormat::of(&head).is_some() {
            true => Kind::Picture(probe(&head).ok().map(|facts| facts.upright_size())),
            false => Kind::Other,
        };
        Some((path, kind))
    })
}

/// Returns true if a text looks like a path. Does not access the disk.
pub(super) fn may_name_file(text: &str) -> bool {
    let text = text.trim();
    text.len() <= PATH_LIMIT && text.contains('/') && !text.contains(char::is_control)
}

/// Removes the backslashes that a shell requires from a word.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    out
}

/// Reads the clipboard of the desktop. Blocks. The file of a picture remains in the directory for temporary files,
/// because the history and the session refer to it.
///
/// # Errors
/// Returns an error if there is no clipboard, it is empty or does not respond, or if a picture cannot be stored.
pub(super) fn read_clipboard(control: &Control) -> Result<Clip, String> {
    let clipboard =
        copy::desktop(control).ok_or("no desktop clipboard is available: paste with the keys of your terminal")?;
    if let Some(picture) = clipboard.read_image().map_err(|error| error.to_string())? {
        let size = probe(&picture).ok().map(|facts| facts.upright_size());
        let path = keep(&picture, control.app.clock.random())
            .map_err(|error| format!("failed to store the image: {error}"))?;
        return Ok(Clip::Picture(path, size));
    }
    let text = clipboard.read_text().map_err(|error| error.to_string())?;
    text.filter(|text| !text.is_empty()).map(Clip::Text).ok_or_else(|| "the clipboard is empty".into())
}

/// Writes a picture to a file that only the user can read. `number` makes the name unique.
fn keep(picture: &[u8], number: u64) -> io::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("sinew-picture-{number:016x}.png"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(picture)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use sinew::base::CancelToken;
    use sinew::image::{Channels, ImageFormat, Picture};

    use super::*;

    /// Creates a directory with `a.rs`, `b c.rs` and the picture `p.png` of 3×2 pixels.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        for name in ["src/a.rs", "src/b c.rs"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let picture = Picture::new(3, 2, Channels::Rgb, vec![9; 18]).unwrap();
        let png = picture.encode(ImageFormat::Png, 100, &CancelToken::never()).unwrap();
        std::fs::write(folder.path().join("src/p.png"), png).unwrap();
        folder
    }

    /// Returns the displayed text and the sent text after typing and pasting.
    fn pasted(typed: &str, text: &str) -> (String, String) {
        let folder = folder();
        let mut editor = Editor::new();
        editor.insert(typed);
        paste(&mut editor, &text.replace("DIR", &folder.path().display().to_string()), folder.path());
        let plain = |text: String| text.replace(&folder.path().display().to_string(), "DIR");
        (plain(editor.shown_text()), plain(editor.text()))
    }

    #[test]
    fn a_pasted_path_mentions_its_file() {
        for (text, expect) in [
            ("src/a.rs", "@src/a.rs "),
            ("DIR/src/a.rs\n", "@DIR/src/a.rs "),
            ("'DIR/src/a.rs'", "@DIR/src/a.rs "),
            ("\"src/b c.rs\"", "@\"src/b c.rs\" "),
            ("src/b c.rs", "@\"src/b c.rs\" "),
            (r"src/b\ c.rs", "@\"src/b c.rs\" "),
            ("file://DIR/src/b%20c.rs", "@\"DIR/src/b c.rs\" "),
        ] {
            assert_eq!(pasted("", text).1, expect, "{text}");
            assert_eq!(pasted("see\n", text).1, format!("see\n{expect}"), "{text}");
        }
    }

    #[test]
    fn other_pastes_are_inserted_as_text() {
        for text in ["src", "src/", "src/none.rs", "look at src/a.rs", "src/a.rs\nsrc/p.png", "/dev/null", "a.rs"] {
            assert_eq!(pasted("", text).1, text);
        }
        // After a word the path belongs to that word, and a shell command needs the path itself.
        for typed in ["cat=", "@", "!cat ", " !cat "] {
            assert_eq!(pasted(typed, "src/a.rs").1, format!("{typed}src/a.rs"));
        }
    }

    #[test]
    fn a_pasted_picture_is_one_unit_and_sent_as_a_mention() {
        let (shown, sent) = pasted("", "src/p.png");
        assert_eq!((shown.as_str(), sent.as_str()), ("[image #1 3×2] ", "@src/p.png "));
        let folder = folder();
        let mut editor = Editor::new();
        editor.insert("see");
        put(&mut editor, Clip::Picture("/t/x.png".into(), None), folder.path());
        put(&mut editor, Clip::Picture("/t/y.png".into(), Some((1, 2))), folder.path());
        assert_eq!(editor.shown_text(), "see [image #1] [image #2 1×2] ");
        assert_eq!(editor.text(), "see @/t/x.png @/t/y.png ");
        editor.set_text("!file ");
        put(&mut editor, Clip::Picture("/t/x.png".into(), None), folder.path());
        assert_eq!(editor.text(), "!file /t/x.png");
    }
}
