//! Parses a `sed` script to find out whether it runs a shell.

/// Returns whether a script may run a command: it contains `e`, or something unknown.
pub(super) fn may_run(script: &str) -> bool {
    read(script).is_none()
}

/// Returns whether a script may write a file, or run a command that does.
pub(super) fn may_write(script: &str) -> bool {
    read(script).is_none_or(|writes| writes)
}

/// Returns whether a script writes files; `None` if it may run a command.
fn read(script: &str) -> Option<bool> {
    let letters: Vec<char> = script.chars().collect();
    let mut reader = Reader { letters: &letters, at: 0, writes: false };
    reader.script()?;
    Some(reader.writes)
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
    /// Whether a command writes a file.
    writes: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn skip(&mut self, which: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&which) {
            self.at += 1;
        }
    }

    /// Returns `None` if the script may run a command.
    fn script(&mut self) -> Option<()> {
        loop {
            self.skip(|letter| letter.is_whitespace() || letter == ';' || letter == '{' || letter == '}');
            if self.peek().is_none() {
                return Some(());
            }
            self.address()?;
            self.skip(|letter| letter == ' ' || letter == '\t' || letter == '!');
            let Some(command) = self.peek() else { return Some(()) };
            self.at += 1;
            match command {
                '{' | '}' | ';' | '\n' => {}
                '#' | 'r' | 'R' => self.skip(|letter| letter != '\n'),
                'w' | 'W' => self.file(),
                'a' | 'i' | 'c' => loop {
                    // A backslash at the end of a line continues the text.
                    self.skip(|letter| letter != '\n');
                    let goes_on = self.at > 0 && self.letters[self.at - 1] == '\\';
                    if !goes_on || self.peek().is_none() {
                        break;
                    }
                    self.at += 1;
                },
                'b' | 't' | 'T' | ':' | 'v' => {
                    // Versions differ in where a label ends, so the rest of the line is read as commands.
                    self.skip(|letter| letter == ' ' || letter == '\t');
                    self.skip(|letter| !matches!(letter, ';' | '\n' | '}' | ' ' | '\t'));
                }
                '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'l' | 'n' | 'N' | 'p' | 'P' | 'q' | 'Q' | 'x' | 'z' | 'F'
                | 'L' => {
                    self.skip(|letter| letter == ' ' || letter.is_ascii_digit());
                    if !matches!(self.peek(), None | Some(';' | '\n' | '}' | '#')) {
                        return None;
                    }
                }
                's' => {
                    let by = self.peek()?;
                    self.at += 1;
                    self.expression(by)?;
                    self.at = self.end(by, None)?;
                    self.skip(|letter| "gpiImM0123456789 ".contains(letter));
                    match self.peek() {
                        None | Some(';' | '\n' | '}' | '#') => {}
                        Some('w') => self.file(),
                        Some(_) => return None,
                    }
                }
                'y' => {
                    let by = self.peek()?;
                    self.at += 1;
                    self.expression(by)?;
                    self.expression(by)?;
                }
                _ => return None,
            }
        }
    }

    /// Skips the name of a file that a command writes.
    fn file(&mut self) {
        self.writes = true;
        self.skip(|letter| letter != '\n');
    }

    /// Skips the addresses before a command.
    fn address(&mut self) -> Option<()> {
        loop {
            match self.peek() {
                Some('0'..='9' | '$' | ',' | '~' | '+' | ' ' | '\t') => self.at += 1,
                Some('/') => {
                    self.at += 1;
                    self.expression('/')?;
                    self.skip(|letter| letter == 'I' || letter == 'M');
                }
                Some('\\') => {
                    self.at += 1;
                    let by = self.peek()?;
                    self.at += 1;
                    self.expression(by)?;
                    self.skip(|letter| letter == 'I' || letter == 'M');
                }
                _ => return Some(()),
            }
        }
    }

    /// Skips a regular expression up to its delimiter. Versions of `sed` disagree on whether a delimiter in a bracket
    /// expression counts, so the end must be the same in every reading.
    fn expression(&mut self, by: char) -> Option<()> {
        let end = self.end(by, None)?;
        for classes in [false, true] {
            for escapes in [false, true] {
                if self.end(by, Some(Brackets { classes, escapes })) != Some(end) {
                    return None;
                }
            }
        }
        self.at = end;
        Some(())
    }

    /// Returns the position after the next delimiter that is neither escaped nor, with `brackets`, in a bracket
    /// expression.
    fn end(&self, by: char, brackets: Option<Brackets>) -> Option<usize> {
        if by == '\\' || by == '\n' {
            return None;
        }
        let mut at = self.at;
        loop {
            let letter = *self.letters.get(at)?;
            at += 1;
            match (letter, brackets) {
                ('\\', _) => at += 1,
                _ if letter == by => return Some(at),
                ('[', Some(brackets)) => at = self.behind_bracket(at, brackets)?,
                _ => {}
            }
        }
    }

    /// Returns the position after the bracket expression whose contents start at `at`.
    fn behind_bracket(&self, mut at: usize, brackets: Brackets) -> Option<usize> {
        let letter = |at: usize| self.letters.get(at).copied();
        at += usize::from(letter(at) == Some('^'));
        // A `]` in the first place is literal.
        at += usize::from(letter(at) == Some(']'));
        loop {
            let next = letter(at + 1);
            match letter(at)? {
                ']' => return Some(at + 1),
                '\\' if brackets.escapes => at += 2,
                '[' if brackets.classes && matches!(next, Some(':' | '.' | '=')) => {
                    at += 2;
                    while letter(at)? != next? || letter(at + 1)? != ']' {
                        at += 1;
                    }
                    at += 2;
                }
                _ => at += 1,
            }
        }
    }
}

/// How a reading treats the contents of a bracket expression.
#[derive(Debug, Clone, Copy)]
struct Brackets {
    /// Whether `[:alpha:]` is one element.
    classes: bool,
    /// Whether a backslash escapes the next character.
    escapes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_sed_scripts_that_run_commands() {
        for script in [
            "e git push",
            "1e git push",
            "s/x/git push/e",
            "s/x/y/ge",
            "/x/e",
            "p;e",
            "$!{e",
            "s|a|b|e",
            "a\\\ntext\ne git push",
            "s/a",
            "k",
            "s/[/]/e;s/x/]/",
            "s/[]/]A/w;canary/e",
            "s/[^]/]A/w;canary/e",
            "s/[[:space:]/]A/w;canary/e",
            "s/[]/]/#/;s/.*/canary/e",
            "/[]/]/w;e canary/;p",
            "\\,[],],w;s/.*/canary/e",
            "s/[\\]/]A/w;canary/e",
            "s/[[.].]/]A/w;canary/e",
            "s/[a/b/",
            "ba e canary",
            "y/a/[/;e canary;y/]/b/",
            "y/a/b/e",
        ] {
            assert!(may_run(script), "{script}");
        }
        for script in [
            "s/e/x/g",
            "1,5p",
            "/e/d",
            "$d",
            "s|/usr/e|/opt|",
            "5q",
            "/a/,/b/{s/x/y/;p}",
            "a hello e",
            "s/[a-z]*/e/2",
            "1!G;h;$!d",
            "",
            "s/a\\/e/b/",
            "w e",
            "s/x/y/w e",
            "i\\\n  e",
            "/^#/d",
            "1i\\text",
            "s/[^]]*]//",
            "s/[[:space:]]*$//",
            "s/[^\\/]*\\///",
            "s/[][]//g",
            "s/[\\[\\]]/x/",
            "s/x/[/",
            "1{ba};:a;p",
            ":a;N;$!ba;s/\\n/ /g",
        ] {
            assert!(!may_run(script), "{script}");
        }
    }
}
