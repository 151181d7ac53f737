//! The words of a line of bash as far as a guard against accidents needs them: quoted text is text, and what a substitution
//! runs is a command.

/// A line of bash.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The words of each command, quotes included.
    pub(super) commands: Vec<Vec<String>>,
    /// The files that output goes to.
    pub(super) targets: Vec<String>,
    /// All that is not quoted.
    pub(super) code: String,
}

/// Programs that run their standard input.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];
/// Words in front of a command.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "do", "while", "until", "!", "time"];

/// Reads a line, or as much of it as makes sense.
pub(super) fn read(text: &str) -> Line {
    let mut reader = Reader { rest: text.chars().collect(), ..Reader::default() };
    reader.rest.reverse();
    reader.read();
    reader.line
}

#[derive(Default)]
struct Reader {
    /// What follows, the next character last.
    rest: Vec<char>,
    line: Line,
    words: Vec<String>,
    word: String,
    /// The next word is a file that output goes to.
    is_target: bool,
    /// Ends of the here-documents that begin behind this line.
    documents: Vec<String>,
    /// Substitutions and groups that are open: the command around each, and whether a double quote is open there.
    outer: Vec<(Vec<String>, String, bool)>,
    is_quoted: bool,
}

impl Reader {
    fn read(&mut self) {
        while let Some(next) = self.rest.pop() {
            match (next, self.is_quoted) {
                ('\\', _) => {
                    self.word.push(next);
                    self.word.extend(self.rest.pop());
                }
                ('"', _) => {
                    self.is_quoted = !self.is_quoted;
                    self.word.push(next);
                }
                ('\'', false) => self.single_quoted(),
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

    /// A character outside of quotes.
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

    fn single_quoted(&mut self) {
        self.word.push('\'');
        while let Some(next) = self.rest.pop() {
            self.word.push(next);
            if next == '\'' {
                break;
            }
        }
    }

    /// `${…}`, which is part of a word.
    fn variable(&mut self) {
        self.word.push('$');
        while let Some(next) = self.rest.pop() {
            self.word.push(next);
            if next == '}' {
                break;
            }
        }
    }

    /// Begins a command inside of a word.
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

    /// The word behind `<<`, at which a here-document ends.
    fn document(&mut self) {
        self.end_word();
        self.rest.pop();
        if self.rest.last() == Some(&'<') {
            // A text on the line itself.
            self.rest.pop();
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

    /// Skips here-documents, unless a shell on their line runs them.
    fn skip_documents(&mut self) {
        let documents = std::mem::take(&mut self.documents);
        let is_run = self.line.commands.iter().any(|words| {
            let program = words.first().map_or("", String::as_str);
            SHELLS.contains(&program.rsplit('/').next().unwrap_or(program))
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
