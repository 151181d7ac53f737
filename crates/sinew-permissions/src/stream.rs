//! Finds the scripts in calls of `sed` and `awk`.

use super::line::Line;
use super::pattern::ANY;
use super::sed;

impl Line {
    /// Checks the scripts of a call of `sed`.
    pub(super) fn sed(&mut self, arguments: &[String], has_input: bool) {
        let mut rest = arguments.iter().map(String::as_str);
        let (mut scripts, mut words, mut files) = (Vec::new(), Vec::new(), Vec::new());
        let mut known = true;
        while let Some(word) = rest.next() {
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let is = |option: &str| !name.is_empty() && option.starts_with(name);
                if is("expression") {
                    scripts.extend(value.or_else(|| rest.next()));
                } else if is("file") && !is("follow-symlinks") {
                    files.extend(value.or_else(|| rest.next()));
                } else if !name.is_empty() {
                    const FLAGS: &str = "quiet silent debug follow-symlinks in-place null-data posix regexp-extended separate \
                        sandbox unbuffered help version zero-terminated";
                    known &= FLAGS.split(' ').any(|flag| flag.starts_with(name));
                }
                continue;
            }
            let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                words.push(word);
                continue;
            };
            for (at, letter) in letters.char_indices() {
                let behind = Some(&letters[at + letter.len_utf8()..]).filter(|behind| !behind.is_empty());
                match letter {
                    'n' | 'E' | 'r' | 's' | 'u' | 'z' => continue,
                    // The rest of the word is the suffix of the backup file.
                    'i' => {}
                    'e' => scripts.extend(behind.or_else(|| rest.next())),
                    'f' => files.extend(behind.or_else(|| rest.next())),
                    _ => known = false,
                }
                break;
            }
        }
        if scripts.is_empty() && files.is_empty() {
            // On BSD, `-i` is followed by an empty word.
            scripts.extend(words.iter().find(|word| !word.is_empty()));
        }
        if files.iter().any(|file| file.contains(ANY) || !self.is_plain_file(file, has_input)) {
            self.unsure("sed reads its script from something that is not a plain file");
        }
        self.writes |= scripts.iter().any(|script| sed::may_write(script));
        if !known || scripts.iter().any(|script| script.contains(ANY) || sed::may_run(script)) {
            self.unsure("a sed script may run commands");
        }
    }

    /// Checks the programs of a call of `awk`.
    pub(super) fn awk(&mut self, arguments: &[String], has_input: bool) {
        let mut rest = arguments.iter().map(String::as_str);
        let (mut programs, mut files) = (Vec::new(), Vec::new());
        let mut known = true;
        while let Some(word) = rest.next() {
            let (name, value) = match word.split_once('=').filter(|_| word.starts_with("--")) {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            match name {
                "--" => {
                    programs.extend(rest.next().filter(|_| files.is_empty()));
                    break;
                }
                "--version" | "--help" | "--posix" | "--re-interval" | "--csv" => {}
                "-v" | "-F" | "--assign" | "--field-separator" => drop(value.or_else(|| rest.next())),
                "-f" | "--file" => files.extend(value.or_else(|| rest.next())),
                "-e" | "--source" => programs.extend(value.or_else(|| rest.next())),
                _ if name.starts_with("-F") || name.starts_with("-v") => {}
                _ if name.starts_with("-f") => files.push(&name[2..]),
                _ if name.starts_with('-') && name.len() > 1 => known = false,
                _ => {
                    programs.extend(Some(word).filter(|_| files.is_empty() && programs.is_empty()));
                    break;
                }
            }
        }
        if !known || files.iter().any(|file| file.contains(ANY) || !self.is_plain_file(file, has_input)) {
            self.unsure("awk reads its program from something that is not a plain file, or has an unknown option");
        }
        let starts = |program: &&str| {
            let text = program.replace("||", " ");
            let calls =
                text.match_indices('@').any(|(at, _)| text[at + 1..].starts_with(|next: char| next.is_alphabetic()));
            calls || text.contains(['|', ANY]) || text.contains("system") || text.contains("getline")
        };
        // Before a `print`, `>` compares: `NR > 1`.
        let may_write = |program: &&str| program.split_once("print").is_some_and(|(_, behind)| behind.contains('>'));
        self.writes |= programs.iter().any(may_write);
        if programs.iter().any(starts) {
            self.unsure("an awk program may run commands");
        }
    }
}
