//! Which simple commands a line of bash runs, as far as reading can tell.
//!
//! It errs on the side of too many: words of a `case` pattern or of `[[ … ]]` may be listed as commands too. What
//! reading cannot settle (an alias made at run time, arithmetic commands, lines that do not end) is [`Unreadable`].
//! Time is linear, and nesting is limited, so that no line can hold or crash the process.

use super::pattern::ANY;

/// A simple command: its words without quotes. [`ANY`] stands for what an expansion gives.
pub(super) type Words = Vec<String>;

/// Why a line cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

/// The simple commands of a line, those inside substitutions included.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Commands {
    pub(super) simple: Vec<Words>,
    /// Some run with variables of their own, or set variables.
    pub(super) assigns: bool,
}

/// Longer lines are not read.
const LONGEST: usize = 256 << 10;
/// Substitutions inside each other.
const DEEPEST: usize = 24;

/// Reads a line.
pub(super) fn read(line: &str) -> Result<Commands, Unreadable> {
    let mut commands = Commands::default();
    read_into(line, 0, &mut commands)?;
    Ok(commands)
}

/// Reads a line that stands inside another one, `depth` levels deep.
pub(super) fn read_into(line: &str, depth: usize, commands: &mut Commands) -> Result<(), Unreadable> {
    if line.len() > LONGEST || line.contains(ANY) || depth > DEEPEST {
        return Err(Unreadable);
    }
    let mut reader = Reader { letters: line.chars().collect(), at: 0, depth, documents: Vec::new(), commands };
    reader.list(false)?;
    // A `)` that closes nothing.
    if reader.at < reader.letters.len() { Err(Unreadable) } else { Ok(()) }
}

struct Reader<'a> {
    letters: Vec<char>,
    at: usize,
    depth: usize,
    /// Here-documents whose text begins on the next line: the delimiter, whether it was quoted, and whether tabs go.
    documents: Vec<(String, bool, bool)>,
    commands: &'a mut Commands,
}

/// A word that is being read.
#[derive(Default)]
struct Word {
    text: String,
    /// Something of it was quoted or expanded.
    quoted: bool,
    /// Nothing was read yet.
    empty: bool,
}

/// Words behind which another command stands.
const LEAD: [&str; 13] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi", "done", "esac"];

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn take(&mut self, letter: char) -> bool {
        let found = self.peek(0) == Some(letter);
        self.at += usize::from(found);
        found
    }

    /// Commands up to the end, or to the `)` that closes the list where it is `inner`.
    fn list(&mut self, inner: bool) -> Result<(), Unreadable> {
        let mut words: Words = Vec::new();
        // Brackets inside this list that are open.
        let mut open = 0_usize;
        loop {
            let Some(letter) = self.peek(0) else {
                self.end(&mut words);
                return if inner || open > 0 || !self.documents.is_empty() { Err(Unreadable) } else { Ok(()) };
            };
            match letter {
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '\n' => {
                    self.at += 1;
                    self.end(&mut words);
                    self.read_documents()?;
                }
                '#' => {
                    while self.peek(0).is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                '&' if self.peek(1) == Some('>') => {
                    self.at += 1;
                    self.redirect()?;
                }
                ';' | '&' | '|' => {
                    self.at += 1;
                    self.end(&mut words);
                }
                '(' => {
                    if self.peek(1) == Some('(') && words.is_empty() {
                        // `((1 << 2))` is no here-document.
                        return Err(Unreadable);
                    }
                    self.at += 1;
                    self.end(&mut words);
                    open += 1;
                    if open + self.depth > DEEPEST {
                        return Err(Unreadable);
                    }
                }
                ')' => {
                    self.end(&mut words);
                    if open == 0 {
                        return if inner && self.documents.is_empty() { Ok(()) } else { Err(Unreadable) };
                    }
                    open -= 1;
                    self.at += 1;
                }
                '<' | '>' if self.peek(1) != Some('(') => self.redirect()?,
                _ => {
                    let word = self.word()?;
                    self.add(word, &mut words)?;
                }
            }
        }
    }

    /// Takes in a word behind those that the command has.
    fn add(&mut self, word: Word, words: &mut Words) -> Result<(), Unreadable> {
        if !word.quoted && matches!(self.peek(0), Some('<' | '>')) && is_descriptor(&word.text) {
            return Ok(());
        }
        if words.is_empty() && !word.quoted {
            match word.text.as_str() {
                lead if LEAD.contains(&lead) => return Ok(()),
                // Its patterns have brackets that close nothing; inside a substitution they cannot be told apart.
                "case" => return Err(Unreadable),
                "coproc" => return Err(Unreadable),
                _ => {}
            }
        }
        let plain = !word.quoted;
        let begins_body = plain && matches!(word.text.as_str(), "do" | "{");
        words.push(word.text);
        let is = |first: &str| words.first().is_some_and(|word| word == first);
        // `function f {`, `for x do`: a list begins without a separator before it.
        if is("function") && words.len() == 2 || begins_body && (is("for") || is("select") || is("function")) {
            self.end(words);
        }
        Ok(())
    }

    /// A command is over. Assignments before it are no words of it.
    fn end(&mut self, words: &mut Words) {
        let mut words = std::mem::take(words);
        if words.is_empty() {
            return;
        }
        let assigned = words.iter().take_while(|word| is_assignment(word)).count();
        self.commands.assigns |= assigned > 0;
        if assigned < words.len() {
            words.drain(..assigned);
        }
        self.commands.simple.push(words);
    }

    /// One word; stands at its first letter.
    fn word(&mut self) -> Result<Word, Unreadable> {
        let mut word = Word { empty: true, ..Word::default() };
        while let Some(letter) = self.peek(0) {
            match letter {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | ')' => break,
                '<' | '>' if self.peek(1) == Some('(') => {
                    self.at += 2;
                    self.inner()?;
                    word.unknown();
                }
                '<' | '>' => break,
                '(' => {
                    // `a=(…)` is a list of words; `f()` names a function; `@(…)` is a pattern.
                    if word.text.ends_with(['@', '?', '*', '+', '!', ANY]) {
                        return Err(Unreadable);
                    }
                    break;
                }
                '\\' => {
                    self.at += 1;
                    match self.peek(0) {
                        Some('\n') => {}
                        Some(letter) => word.quote(letter),
                        None => return Err(Unreadable),
                    }
                    self.at += 1;
                }
                '\'' => {
                    self.at += 1;
                    self.single(&mut word)?;
                }
                '"' => {
                    self.at += 1;
                    self.double(&mut word)?;
                }
                '$' => self.dollar(&mut word, false)?,
                '`' => self.backtick(&mut word)?,
                '*' | '?' => {
                    self.at += 1;
                    word.unknown();
                }
                '[' if word.empty && self.peek(1) == Some('[') && matches!(self.peek(2), Some(' ' | '\t' | '\n')) => {
                    self.at += 2;
                    word.push('[');
                    word.push('[');
                }
                // What files there are decides what becomes of it.
                '[' if !word.empty || !matches!(self.peek(1), None | Some(' ' | '\t' | '\n')) => {
                    self.at += 1;
                    word.blur();
                }
                '{' if self.braces() => {
                    self.at += 1;
                    word.blur();
                }
                other => {
                    self.at += 1;
                    word.push(other);
                }
            }
        }
        Ok(word)
    }

    /// Whether the brace here may become several words.
    fn braces(&self) -> bool {
        let rest = self.letters[self.at..].iter().take_while(|letter| !letter.is_whitespace());
        rest.clone().any(|letter| *letter == ',') || rest.clone().filter(|letter| **letter == '.').count() > 1
    }

    fn single(&mut self, word: &mut Word) -> Result<(), Unreadable> {
        word.quoted = true;
        word.empty = false;
        loop {
            match self.peek(0) {
                Some('\'') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(letter) => self.quoted_letter(letter, word)?,
                None => return Err(Unreadable),
            }
        }
    }

    fn quoted_letter(&mut self, letter: char, word: &mut Word) -> Result<(), Unreadable> {
        // Whether the text of a here-document begins here is a matter of detail.
        if letter == '\n' && !self.documents.is_empty() {
            return Err(Unreadable);
        }
        word.quote(letter);
        self.at += 1;
        Ok(())
    }

    fn double(&mut self, word: &mut Word) -> Result<(), Unreadable> {
        word.quoted = true;
        word.empty = false;
        loop {
            match self.peek(0) {
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    let Some(next) = self.peek(1) else { return Err(Unreadable) };
                    match next {
                        '\n' => {}
                        '$' | '`' | '"' | '\\' => word.quote(next),
                        other => {
                            word.quote('\\');
                            word.quote(other);
                        }
                    }
                    self.at += 2;
                }
                Some('$') => self.dollar(word, true)?,
                Some('`') => self.backtick(word)?,
                Some(letter) => self.quoted_letter(letter, word)?,
                None => return Err(Unreadable),
            }
        }
    }

    fn dollar(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unreadable> {
        match self.peek(1) {
            Some('(') if self.peek(2) == Some('(') => {
                self.at += 3;
                self.arithmetic()?;
                word.unknown();
            }
            Some('(') => {
                self.at += 2;
                self.inner()?;
                word.unknown();
            }
            Some('{') => {
                self.at += 2;
                self.parameter()?;
                word.unknown();
            }
            Some('[') => return Err(Unreadable),
            Some('\'') if !quoted => {
                self.at += 2;
                let begun = self.at;
                loop {
                    match self.peek(0) {
                        Some('\\') => self.at += 2,
                        Some('\'') => break,
                        Some(_) => self.at += 1,
                        None => return Err(Unreadable),
                    }
                }
                let text: String = self.letters[begun..self.at].iter().collect();
                if text.contains('\\') {
                    word.unknown();
                } else {
                    text.chars().for_each(|letter| word.quote(letter));
                }
                self.at += 1;
            }
            Some('"') if !quoted => {
                self.at += 2;
                self.double(word)?;
            }
            Some(letter) if letter == '_' || letter.is_ascii_alphanumeric() => {
                self.at += 2;
                while !letter.is_ascii_digit()
                    && self.peek(0).is_some_and(|letter| letter == '_' || letter.is_ascii_alphanumeric())
                {
                    self.at += 1;
                }
                word.unknown();
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                self.at += 2;
                word.unknown();
            }
            _ => {
                self.at += 1;
                word.push('$');
            }
        }
        Ok(())
    }

    /// A list of commands up to its `)`; stands behind the `(`.
    fn inner(&mut self) -> Result<(), Unreadable> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Unreadable);
        }
        let outer = std::mem::take(&mut self.documents);
        self.list(true)?;
        self.documents = outer;
        self.depth -= 1;
        if self.take(')') { Ok(()) } else { Err(Unreadable) }
    }

    /// `${…}`; stands behind the `{`. What expands inside it is read, the rest is not.
    fn parameter(&mut self) -> Result<(), Unreadable> {
        self.within('}')
    }

    /// `$((…))`; stands behind the second `(`.
    fn arithmetic(&mut self) -> Result<(), Unreadable> {
        self.within(')')?;
        if self.take(')') { Ok(()) } else { Err(Unreadable) }
    }

    /// What expands up to `close`, which may stand inside pairs of its own kind.
    fn within(&mut self, close: char) -> Result<(), Unreadable> {
        let opens = if close == '}' { '{' } else { '(' };
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Unreadable);
        }
        let mut open = 0_usize;
        let mut ignored = Word::default();
        loop {
            match self.peek(0) {
                Some(letter) if letter == close => {
                    self.at += 1;
                    if open == 0 {
                        self.depth -= 1;
                        return Ok(());
                    }
                    open -= 1;
                }
                Some(letter) if letter == opens => {
                    self.at += 1;
                    open += 1;
                }
                Some('\\') => self.at += 2,
                Some('\'') if close == ')' => self.at += 1,
                // Whether it is a quote depends on what is around the expansion.
                Some('\'') => return Err(Unreadable),
                Some('"') => {
                    self.at += 1;
                    self.double(&mut ignored)?;
                }
                Some('$') => self.dollar(&mut ignored, true)?,
                Some('`') => self.backtick(&mut ignored)?,
                Some('<' | '>') if self.peek(1) == Some('(') => {
                    self.at += 2;
                    self.inner()?;
                }
                Some(_) => self.at += 1,
                None => return Err(Unreadable),
            }
        }
    }

    fn backtick(&mut self, word: &mut Word) -> Result<(), Unreadable> {
        self.at += 1;
        let mut inside = String::new();
        loop {
            match self.peek(0) {
                Some('`') => break,
                Some('\\') => {
                    match self.peek(1) {
                        Some(letter @ ('`' | '\\' | '$')) => inside.push(letter),
                        // What a quote means in here depends on what is around it.
                        Some('"') | None => return Err(Unreadable),
                        Some(other) => inside.extend(['\\', other]),
                    }
                    self.at += 2;
                }
                Some(letter) => {
                    inside.push(letter);
                    self.at += 1;
                }
                None => return Err(Unreadable),
            }
        }
        self.at += 1;
        word.unknown();
        read_into(&inside, self.depth + 1, self.commands)
    }

    /// A redirection; stands at its `<` or `>`. Its target is no word of the command.
    fn redirect(&mut self) -> Result<(), Unreadable> {
        let here = self.peek(0) == Some('<') && self.peek(1) == Some('<') && self.peek(2) != Some('<');
        let mut tabs = false;
        while matches!(self.peek(0), Some('<' | '>')) && self.peek(1) != Some('(') {
            self.at += 1;
        }
        if here {
            tabs = self.take('-');
        } else {
            let _ = self.take('&') || self.take('|');
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let begun = self.at;
        let target = self.word()?;
        if self.at == begun {
            return Err(Unreadable);
        }
        if here {
            if target.text.contains(ANY) || target.text.contains('\n') {
                return Err(Unreadable);
            }
            self.documents.push((target.text, target.quoted, tabs));
        }
        Ok(())
    }

    /// The texts of the here-documents that the line before named; stands behind its line feed.
    fn read_documents(&mut self) -> Result<(), Unreadable> {
        for (delimiter, quoted, tabs) in std::mem::take(&mut self.documents) {
            let mut text = String::new();
            loop {
                if self.at >= self.letters.len() {
                    return Err(Unreadable);
                }
                let rest = &self.letters[self.at..];
                let length = rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at = (self.at + length + 1).min(self.letters.len());
                let plain = if tabs { line.trim_start_matches('\t') } else { &line };
                if plain == delimiter {
                    break;
                }
                text.push_str(&line);
                text.push('\n');
            }
            if !quoted && text.contains(['$', '`']) {
                // As inside double quotes, where a double quote is a letter.
                let text = format!("\"{}\"", text.replace('"', ""));
                let mut reader = Reader {
                    letters: text.chars().collect(),
                    at: 1,
                    depth: self.depth + 1,
                    documents: Vec::new(),
                    commands: self.commands,
                };
                reader.double(&mut Word::default())?;
                if reader.at < reader.letters.len() {
                    return Err(Unreadable);
                }
            }
        }
        Ok(())
    }
}

impl Word {
    fn push(&mut self, letter: char) {
        self.text.push(letter);
        self.empty = false;
    }

    fn quote(&mut self, letter: char) {
        self.quoted = true;
        self.push(letter);
    }

    /// An expansion stands here.
    fn unknown(&mut self) {
        if !self.text.ends_with(ANY) {
            self.text.push(ANY);
        }
        self.quoted = true;
        self.empty = false;
    }

    /// Nothing of the word is certain.
    fn blur(&mut self) {
        self.text.clear();
        self.unknown();
    }
}

/// `2` and `{name}` before a redirection.
fn is_descriptor(word: &str) -> bool {
    let name = word.strip_prefix('{').and_then(|word| word.strip_suffix('}')).unwrap_or(word);
    !name.is_empty()
        && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
        && (name.len() < word.len() || word.chars().all(|letter| letter.is_ascii_digit()))
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}
