//! Splits a line of bash into words, as far as the guard needs it: quoted text is text, and the content of a
//! substitution is a command.

use super::is_runner;

/// A simple command.
#[derive(Debug)]
pub(super) struct Command {
    /// The words without quotes. A here-string is a word after the word `<<<`.
    pub(super) words: Vec<String>,
    /// The number of the pipeline. Commands with the same number are connected by `|`.
    pub(super) pipeline: usize,
}

/// A line of bash.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) commands: Vec<Command>,
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

/// A here-document that begins after its line.
#[derive(Debug)]
struct Document {
    delimiter: String,
    /// True if the delimiter is quoted, so that nothing in the text is replaced.
    is_literal: bool,
    pipeline: usize,
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
    /// The here-documents that begin after this line.
    documents: Vec<Document>,
    /// The number of the current pipeline.
    pipeline: usize,
    /// True if the input is the text of a here-document, in which quotes have no meaning.
    is_document: bool,
    /// Open substitutions and groups: the surrounding command, and whether a double quote is open in it.
    outer: Vec<(Vec<String>, String, bool)>,
    is_quoted: bool,
}

impl Reader {
    fn read(&mut self) {
        while let Some(next) = self.rest.pop() {
            match (next, self.is_quoted) {
                ('\\', _) => self.escaped(),
                ('"', _) if !self.is_document || !self.outer.is_empty() => self.is_quoted = !self.is_quoted,
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
        if self.is_document {
            // The text itself is not a command.
            self.word.clear();
        }
        self.end_command();
    }

    /// Handles a character outside quotes.
    fn plain(&mut self, next: char) {
        self.line.code.push(next);
        match next {
            '\n' => {
                self.end_pipeline();
                self.skip_documents();
            }
            '|' if self.rest.last() != Some(&'|') => self.end_command(),
            '(' | '{' | '}' | ')' | ';' | '&' | '|' => {
                self.rest.pop_if(|after| next == '|' && *after == '|');
                self.end_pipeline();
            }
            '#' if self.word.is_empty() => {
                while self.rest.last().is_some_and(|next| *next != '\n') {
                    self.rest.pop();
                }
            }
            '>' => {
                // A number before it is a descriptor.
                if self.word.bytes().all(|byte| byte.is_ascii_digit()) {
                    self.word.clear();
                }
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
            let words = std::mem::take(&mut self.words);
            self.line.commands.push(Command { words, pipeline: self.pipeline });
        }
    }

    fn end_pipeline(&mut self) {
        self.end_command();
        self.pipeline += 1;
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
        let delimiter = end.replace(['"', '\'', '\\'], "");
        self.documents.push(Document { is_literal: delimiter != end, delimiter, pipeline: self.pipeline });
    }

    /// Skips here-documents, unless a shell in their pipeline executes them. Substitutions in them are commands.
    fn skip_documents(&mut self) {
        let documents = std::mem::take(&mut self.documents);
        let is_run = |document: &Document| {
            self.line.commands.iter().filter(|command| command.pipeline == document.pipeline).any(
                |Command { words, .. }| {
                    let program = words.first().map_or("", String::as_str);
                    is_shell(program) || (is_runner(program) && words.iter().any(|word| is_shell(word)))
                },
            )
        };
        if documents.iter().any(is_run) {
            return;
        }
        for Document { delimiter, is_literal, .. } in documents {
            let mut text = String::new();
            while !self.rest.is_empty() {
                let mut line = String::new();
                while let Some(next) = self.rest.pop_if(|next| *next != '\n') {
                    line.push(next);
                }
                self.rest.pop();
                if line.trim_start_matches('\t') == delimiter {
                    break;
                }
                text.push_str(&line);
                text.push('\n');
            }
            if !is_literal {
                let (rest, pipeline) = (text.chars().rev().collect(), self.pipeline + 1);
                let mut reader = Reader { rest, pipeline, is_quoted: true, is_document: true, ..Reader::default() };
                reader.read();
                self.pipeline = reader.pipeline + 1;
                self.line.commands.append(&mut reader.line.commands);
            }
        }
    }
}
