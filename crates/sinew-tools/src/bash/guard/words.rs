//! Splits a line of bash into words, as far as the guard needs it: quoted text is text, and the content of a
//! substitution is a command.

use super::is_runner;

/// A line of bash.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The words of each command without quotes. A here-string is a word after the word `<<<`.
    pub(super) commands: Vec<Vec<String>>,
    /// The files that output is redirected to.
    pub(super) targets: Vec<String>,
    /// All text outside quotes.
    pub(super) code: String,
}

/// Programs that execute their standard input.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];
/// Keywords before a command.
const KEYWORDS: [&str; 8] = ["if", "then", "elif", "else", "do", "while", "until", "!"];
/// The word before a here-string.
pub(super) const HERE_STRING: &str = "<<<";

/// Returns true if the word names a shell, possibly by a path.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program.rsplit('/').next().unwrap_or(program))
}

/// Parses a line as far as possible.
pub(super) fn read(text: &str) -> Line {
    let mut reader = Reader { rest: text.chars().collect(), ..Reader::default() };
    reader.rest.reverse();
    reader.read();
    reader.line
}

#[derive(Default)]
struct Reader {
    /// The rest of the input in reverse order.
    rest: Vec<char>,
    line: Line,
    words: Vec<String>,
    word: String,
    /// True if the next word is a redirection target.
    is_target: bool,
    /// The delimiters of the here-documents that begin after this line.
    documents: Vec<String>,
    /// Open substitutions and groups: the surrounding command, and whether a double quote is open in it.
    outer: Vec<(Vec<String>, String, bool)>,
    is_quoted: bool,
}

impl Reader {
    fn read(&mut self) {
        while let Some(next) = self.rest.pop() {
            match (next, self.is_quoted) {
                ('\\', _) => self.escaped(),
                ('"', _) => self.is_quoted = !self.is_quoted,
                ('\'', false) => self.single_quoted(),
                ('$', false) if self.rest.last() == Some(&'\'') => self.ansi_quoted(),
                ('$', _) if self.rest.last() == Some(&'(') => {
                    self.rest.pop();
                    self.open();
                }
                ('$', _) if self.rest.last() == Some(&'{') => self.variable(),
                ('`', _) => match self.outer.last().is_some_and(|(_, word, _)| word.ends_with('`')) {
                    true => self.close(),
                    false => {
                        self.word.push('`');
                        self.open();
                    }
                },
                (')', _) if !self.outer.is_empty() => self.close(),
                (_, true) => self.word.push(next),
                (_, false) => self.plain(next),
            }
        }
        while !self.outer.is_empty() {
            self.close();
        }
        self.end_command();
    }

    /// Handles a character outside quotes.
    fn plain(&mut self, next: char) {
        self.line.code.push(next);
        match next {
            '\n' => {
                self.end_command();
                self.skip_documents();
            }
            '(' | '{' | '}' | ')' | ';' | '&' | '|' => self.end_command(),
            '#' if self.word.is_empty() => {
                while self.rest.last().is_some_and(|next| *next != '\n') {
                    self.rest.pop();
                }
            }
            '>' => {
                self.end_word();
                while self.rest.last().is_some_and(|next| ['>', '|', '&'].contains(next)) {
                    self.rest.pop();
                }
                self.is_target = true;
            }
            '<' if self.rest.last() == Some(&'<') => self.document(),
            next if next.is_whitespace() => self.end_word(),
            next => self.word.push(next),
        }
    }

    /// Handles the character after a backslash.
    fn escaped(&mut self) {
        let Some(next) = self.rest.pop() else { return };
        if self.is_quoted && !"$`\"\\\n".contains(next) {
            self.word.push('\\');
        }
        if next != '\n' {
            self.word.push(next);
        }
    }

    fn single_quoted(&mut self) {
        while let Some(next) = self.rest.pop_if(|next| *next != '\'') {
            self.word.push(next);
        }
        self.rest.pop();
    }

    /// Reads `$'…'`, in which a backslash escapes a quote.
    fn ansi_quoted(&mut self) {
        self.rest.pop();
        while let Some(next) = self.rest.pop_if(|next| *next != '\'') {
            let escaped = if next == '\\' { self.rest.pop() } else { None };
            self.word.push(match escaped {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => next,
            });
        }
        self.rest.pop();
    }

    /// Skips `${…}`, which is part of a word.
    fn variable(&mut self) {
        self.word.push('$');
        while let Some(next) = self.rest.pop() {
            self.word.push(next);
            if next == '}' {
                break;
            }
        }
    }

    /// Begins a command inside a word.
    fn open(&mut self) {
        let (words, word) = (std::mem::take(&mut self.words), std::mem::take(&mut self.word));
        self.outer.push((words, word, std::mem::take(&mut self.is_quoted)));
    }

    fn close(&mut self) {
        self.end_command();
        if let Some((words, word, is_quoted)) = self.outer.pop() {
            (self.words, self.word, self.is_quoted) = (words, word.trim_end_matches('`').to_string() + "_", is_quoted);
        }
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_target) {
            self.line.targets.push(word);
        } else if !(self.words.is_empty() && KEYWORDS.contains(&word.as_str())) {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_target = false;
        if !self.words.is_empty() {
            self.line.commands.push(std::mem::take(&mut self.words));
        }
    }

    /// Reads the delimiter of a here-document after `<<`.
    fn document(&mut self) {
        self.end_word();
        self.rest.pop();
        if self.rest.last() == Some(&'<') {
            // A here-string, which is on the line itself.
            self.rest.pop();
            self.words.push(HERE_STRING.into());
            return;
        }
        if self.rest.last() == Some(&'-') {
            self.rest.pop();
        }
        while self.rest.last().is_some_and(|next| [' ', '\t'].contains(next)) {
            self.rest.pop();
        }
        let mut end = String::new();
        while let Some(next) = self.rest.pop_if(|next| !next.is_whitespace() && !";&|()<>".contains(*next)) {
            end.push(next);
        }
        self.documents.push(end.replace(['"', '\'', '\\'], ""));
    }

    /// Skips here-documents, unless a shell on their line executes them.
    fn skip_documents(&mut self) {
        let documents = std::mem::take(&mut self.documents);
        let is_run = self.line.commands.iter().any(|words| {
            let program = words.first().map_or("", String::as_str);
            is_shell(program) || (is_runner(program) && words.iter().any(|word| is_shell(word)))
        });
        if is_run {
            return;
        }
        for end in documents {
            while !self.rest.is_empty() {
                let mut line = String::new();
                while let Some(next) = self.rest.pop_if(|next| *next != '\n') {
                    line.push(next);
                }
                self.rest.pop();
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }
}
