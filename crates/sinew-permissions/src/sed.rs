//! Parses a `sed` script to find out whether it runs a shell.

/// Returns whether a script may run a command: it contains `e`, or something unknown.
pub(super) fn may_run(script: &str) -> bool {
    let letters: Vec<char> = script.chars().collect();
    let mut reader = Reader { letters: &letters, at: 0 };
    reader.script().is_none()
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
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
                '#' | 'r' | 'R' | 'w' | 'W' => self.skip(|letter| letter != '\n'),
                'a' | 'i' | 'c' => loop {
                    // A backslash at the end of a line continues the text.
                    self.skip(|letter| letter != '\n');
                    let goes_on = self.at > 0 && self.letters[self.at - 1] == '\\';
                    if !goes_on || self.peek().is_none() {
                        break;
                    }
                    self.at += 1;
                },
                'b' | 't' | 'T' | ':' | 'v' => self.skip(|letter| !matches!(letter, ';' | '\n')),
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
                    self.part(by)?;
                    self.part(by)?;
                    self.skip(|letter| "gpiImM0123456789 ".contains(letter));
                    match self.peek() {
                        None | Some(';' | '\n' | '}' | '#') => {}
                        Some('w') => self.skip(|letter| letter != '\n'),
                        Some(_) => return None,
                    }
                }
                'y' => {
                    let by = self.peek()?;
                    self.at += 1;
                    self.part(by)?;
                    self.part(by)?;
                }
                _ => return None,
            }
        }
    }

    /// Skips the addresses before a command.
    fn address(&mut self) -> Option<()> {
        loop {
            match self.peek() {
                Some('0'..='9' | '$' | ',' | '~' | '+' | ' ' | '\t') => self.at += 1,
                Some('/') => {
                    self.at += 1;
                    self.part('/')?;
                    self.skip(|letter| letter == 'I' || letter == 'M');
                }
                Some('\\') => {
                    self.at += 1;
                    let by = self.peek()?;
                    self.at += 1;
                    self.part(by)?;
                    self.skip(|letter| letter == 'I' || letter == 'M');
                }
                _ => return Some(()),
            }
        }
    }

    /// Skips up to the next unescaped delimiter. A bracket expression may or may not contain one, which makes the rest
    /// unsure.
    fn part(&mut self, by: char) -> Option<()> {
        if by == '\\' || by == '\n' {
            return None;
        }
        let begun = self.at;
        while let Some(letter) = self.peek() {
            self.at += 1;
            match letter {
                '\\' => self.at += 1,
                letter if letter == by => {
                    let text = &self.letters[begun..self.at - 1];
                    let open = text.iter().filter(|letter| **letter == '[').count();
                    let closed = text.iter().filter(|letter| **letter == ']').count();
                    return (open <= closed).then_some(());
                }
                _ => {}
            }
        }
        None
    }
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
            ":a;N;$!ba;s/\\n/ /g",
        ] {
            assert!(!may_run(script), "{script}");
        }
    }
}
