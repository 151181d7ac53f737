//! Judges if a line can follow a command without becoming a part of it.

/// Returns true if a script is certainly complete: no quote, group, keyword, here-document or operator is open at its
/// end. Returns false in doubt. Takes O(n) time.
pub(super) fn is_complete(script: &str) -> bool {
    let mut scan = Scan { bytes: script.as_bytes(), at: 0, open: Vec::new(), words: Words::default() };
    scan.run().is_some() && scan.open.is_empty() && scan.words.are_complete()
}

/// The reading of one script.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The open groups, innermost last: the closing character `)`, `}` or `"`, and the start of the inside.
    open: Vec<(u8, usize)>,
    words: Words,
}

impl Scan<'_> {
    /// Reads to the end. Returns `None` for a script that this cannot judge.
    fn run(&mut self) -> Option<()> {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            self.at += 1;
            let open = self.open.last().copied();
            if open.is_some_and(|(close, _)| close == b'"') {
                self.in_quotes(byte)?;
                continue;
            }
            match byte {
                b'\\' => self.escaped()?,
                b'\'' => {
                    let is_ansi = self.at > 1 && self.bytes[self.at - 2] == b'$';
                    self.skip_quote(is_ansi)?;
                }
                b'"' => self.open.push((b'"', self.at)),
                b'`' => return None,
                b'$' => self.dollar(),
                b'(' => {
                    self.words.end();
                    self.open.push((b')', self.at));
                }
                b')' | b'}' if open.is_some_and(|(close, _)| close == byte) => {
                    self.words.end();
                    let inside = open.map_or(0, |(_, start)| start)..self.at - 1;
                    self.words.close(byte == b')' && self.bytes[inside].iter().all(u8::is_ascii_whitespace));
                    self.open.pop();
                }
                b')' => return None,
                b'#' if self.words.is_between() => {
                    let rest = &self.bytes[self.at..];
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                b'<' if self.bytes[self.at..].starts_with(b"<<") => self.at += 2,
                b'<' if self.bytes.get(self.at) == Some(&b'<') => return None,
                b' ' | b'\t' => self.words.end(),
                b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => {
                    self.words.end();
                    self.words.operator(match byte {
                        b'&' | b'|' if self.bytes.get(self.at) == Some(&byte) || byte == b'|' => {
                            self.at += usize::from(self.bytes.get(self.at) == Some(&byte));
                            "|"
                        }
                        b'<' | b'>' => "|",
                        b'&' if self.at > 1 && self.bytes[self.at - 2] == b'|' => "|",
                        b'\n' => "\n",
                        _ => ";",
                    });
                }
                byte => self.words.push(byte),
            }
        }
        self.words.end();
        Some(())
    }

    fn in_quotes(&mut self, byte: u8) -> Option<()> {
        match byte {
            b'\\' => self.escaped()?,
            b'`' => return None,
            b'"' => {
                self.open.pop();
                self.words.push(byte);
            }
            b'$' => self.dollar(),
            _ => {}
        }
        Some(())
    }

    fn escaped(&mut self) -> Option<()> {
        self.bytes.get(self.at)?;
        self.at += 1;
        self.words.push(b'\\');
        Some(())
    }

    fn dollar(&mut self) {
        self.words.push(b'$');
        if let Some(next @ (b'(' | b'{')) = self.bytes.get(self.at) {
            self.at += 1;
            self.open.push((if *next == b'(' { b')' } else { b'}' }, self.at));
        }
    }

    fn skip_quote(&mut self, is_ansi: bool) -> Option<()> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'\'' => break,
                b'\\' if is_ansi => self.at += 1,
                _ => {}
            }
        }
        self.words.push(b'\'');
        Some(())
    }
}

/// The words outside of quotes.
#[derive(Default)]
struct Words {
    word: Vec<u8>,
    /// Keywords that were opened and not closed.
    ifs: i32,
    loops: i32,
    bodies: i32,
    braces: i32,
    tests: i32,
    /// True if a word makes the script too hard to judge.
    is_unclear: bool,
    /// True if the last token asks for another command.
    waits: bool,
    /// True if the last token closed a group without contents.
    closed: bool,
}

impl Words {
    fn push(&mut self, byte: u8) {
        self.word.push(byte);
        (self.waits, self.closed) = (false, false);
    }

    fn is_between(&self) -> bool {
        self.word.is_empty()
    }

    fn end(&mut self) {
        match &*std::mem::take(&mut self.word) {
            b"if" => self.ifs += 1,
            b"fi" => self.ifs -= 1,
            b"for" | b"while" | b"until" | b"select" => self.loops += 1,
            b"do" => self.bodies += 1,
            b"done" => {
                self.bodies -= 1;
                self.loops -= 1;
            }
            b"{" => self.braces += 1,
            b"}" => self.braces -= 1,
            b"[[" => self.tests += 1,
            b"]]" => self.tests -= 1,
            b"case" | b"esac" | b"function" | b"coproc" => self.is_unclear = true,
            _ => {}
        }
    }

    fn operator(&mut self, operator: &str) {
        match operator {
            "|" => (self.waits, self.closed) = (true, false),
            ";" => (self.waits, self.closed) = (false, false),
            // A line break after an operator changes nothing.
            _ => {}
        }
    }

    /// Ends a group; one without contents may belong to the name of a function, whose body follows.
    fn close(&mut self, is_empty: bool) {
        (self.waits, self.closed) = (false, is_empty);
    }

    fn are_complete(&self) -> bool {
        let open = [self.ifs, self.loops, self.bodies, self.braces, self.tests];
        open == [0; 5] && !self.is_unclear && !self.waits && !self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_complete_scripts() {
        for script in [
            "",
            "echo a",
            "echo a; # over",
            "cd x && make 2>&1 | tee log",
            "echo 'a\nb' \"$(ls \"$x\")\" ${y:-\"}\"} $'it\\'s'",
            "if a; then b; fi",
            "for x in 1 2; do echo $x; done | sort",
            "while read -r l; do :; done < file",
            "(cd x; ls); echo",
            "f() { echo hi; }",
            "[[ a == b ]]",
            "cat <<< 'x'",
            "sleep 1 &",
            "echo $((1 + 2))",
            "x=$(ls)",
            "(cd x; ls)",
            "a=(1 2)",
            "diff <(a) <(b)",
            "make |& tee log",
        ] {
            assert!(is_complete(script), "{script}");
        }
    }

    #[test]
    fn knows_scripts_that_a_line_could_continue() {
        for script in [
            "echo 'a",
            "echo \"a",
            "echo $(",
            "echo a \\",
            "cat <<EOF\nx",
            "cat <<EOF\nx\nEOF",
            "if true",
            "for x in a b",
            "case x in",
            "{ echo",
            "(echo",
            "a &&",
            "a ||\n",
            "a |",
            "a |&",
            "a | # b",
            "f()",
            "f() # b",
            "function f",
            "while x; do",
            "[[ a",
            "echo `ls`",
            "echo )",
            "echo a }",
            "echo >",
            "echo ${x",
            "echo $'a\\'",
        ] {
            assert!(!is_complete(script), "{script}");
        }
    }
}
