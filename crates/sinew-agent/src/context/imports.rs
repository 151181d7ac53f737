//! The paths that a context file imports: words that begin with `@`, outside of code and comments.

/// Returns the paths that a Markdown text imports, in order. Punctuation at the end of a path is removed. Fenced code,
/// inline code and HTML comments contain no imports; an unclosed fence or comment extends to the end of the text.
pub(super) fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<Fence<'_>> = None;
    let mut in_comment = false;
    for line in text.lines() {
        let marks = if in_comment { None } else { Fence::of(line) };
        match (&fence, marks) {
            (Some(open), marks) => {
                if marks.is_some_and(|marks| marks.closes(open)) {
                    fence = None;
                }
            }
            (None, Some(marks)) if marks.opens() => fence = Some(marks),
            (None, _) => {
                let plain = plain_text(line, &mut in_comment);
                let words = words(&plain);
                let names = words
                    .iter()
                    .filter_map(|word| word.strip_prefix('@'))
                    .map(|word| word.trim_end_matches(['.', ',', ';', ':', ')']));
                found.extend(names.filter(|name| !name.is_empty()).map(str::to_string));
            }
        }
    }
    found
}

/// Returns the words of a line. A blank behind a backslash is part of a word that begins with `@`.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        let Some(word) = words.last_mut() else { break };
        match character {
            '\\' if word.starts_with('@') && rest.next_if_eq(&' ').is_some() => word.push(' '),
            blank if blank.is_whitespace() => words.push(String::new()),
            other => word.push(other),
        }
    }
    words
}

/// A line that begins with at least three backticks or tildes, and so may open or close a code block.
struct Fence<'a> {
    mark: char,
    length: usize,
    /// The text after the marks.
    rest: &'a str,
}

impl Fence<'_> {
    fn of(line: &str) -> Option<Fence<'_>> {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        (length >= 3).then_some(Fence { mark, length, rest })
    }

    /// Backticks after the marks make the line inline code.
    fn opens(&self) -> bool {
        self.mark == '~' || !self.rest.contains('`')
    }

    fn closes(&self, open: &Fence<'_>) -> bool {
        self.mark == open.mark && self.length >= open.length && self.rest.trim().is_empty()
    }
}

/// Returns a line without inline code and comments. `in_comment` says whether a comment is open at its start, and is
/// updated for the next line.
fn plain_text(line: &str, in_comment: &mut bool) -> String {
    let mut plain = String::new();
    let mut rest = line;
    loop {
        if *in_comment {
            let Some((_, behind)) = rest.split_once("-->") else { return plain };
            (rest, *in_comment) = (behind, false);
            plain.push(' ');
        }
        let comment = rest.find("<!--").unwrap_or(rest.len());
        let code = rest.find('`').unwrap_or(rest.len());
        plain.push_str(&rest[..comment.min(code)]);
        if comment < code {
            // The dashes that open a comment can also close it: `<!-->`.
            (rest, *in_comment) = (&rest[comment + "<!".len()..], true);
        } else if code < rest.len() {
            rest = &rest[code..];
            let marks = rest.len() - rest.trim_start_matches('`').len();
            // Marks without a counterpart are plain text.
            let end = code_end(rest, marks).unwrap_or(marks);
            plain.push_str(if end == marks { &rest[..marks] } else { " " });
            rest = &rest[end..];
        } else {
            return plain;
        }
    }
}

/// Returns the end of the inline code that begins with `marks` backticks; `None` if it is not closed in this line.
fn code_end(text: &str, marks: usize) -> Option<usize> {
    let mut at = marks;
    loop {
        at += text[at..].find('`')?;
        let length = text[at..].len() - text[at..].trim_start_matches('`').len();
        at += length;
        if length == marks {
            return Some(at);
        }
    }
}
