//! Letter folding: letters without case and diacritics.

/// Returns the letter that `c` is compared as: lower case, without a diacritic. `None` for a combining mark, which is
/// skipped.
pub(crate) fn fold(c: char, keep_case: bool) -> Option<char> {
    if c.is_ascii() {
        return Some(if keep_case { c } else { c.to_ascii_lowercase() });
    }
    if ('\u{300}'..='\u{36F}').contains(&c) {
        return None;
    }
    let base = base(c);
    if keep_case {
        return Some(base);
    }
    let mut lower = base.to_lowercase();
    // `İ` becomes two characters, of which the second is a combining mark.
    Some(lower.next().unwrap_or(base))
}

/// Returns a Latin letter without its diacritic: covers the blocks Latin-1 Supplement, Latin Extended-A and the
/// Vietnamese part of Latin Extended Additional.
fn base(c: char) -> char {
    const LATIN_1: &[u8; 64] = b"AAAAAA\0CEEEEIIII\0NOOOOO\0OUUUUY\0\0aaaaaa\0ceeeeiiii\0nooooo\0ouuuuy\0y";
    const EXTENDED_A: &[u8; 128] = b"AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi\0\0JjKk\0LlLlLlLlLlNnNnNnn\0\0OoOoOo\0\0RrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";
    const ADDITIONAL: &[u8; 90] =
        b"AaAaAaAaAaAaAaAaAaAaAaAaEeEeEeEeEeEeEeEeIiIiOoOoOoOoOoOoOoOoOoOoOoOoUuUuUuUuUuUuUuYyYyYyYy";
    let code = u32::from(c);
    let found = match code {
        0xC0..=0xFF => LATIN_1.get(code as usize - 0xC0),
        0x100..=0x17F => EXTENDED_A.get(code as usize - 0x100),
        0x1EA0..=0x1EF9 => ADDITIONAL.get(code as usize - 0x1EA0),
        _ => None,
    };
    match found {
        None | Some(0) => c,
        Some(letter) => char::from(*letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, folded: &str) {
        assert_eq!(text.chars().filter_map(|c| fold(c, false)).collect::<String>(), folded);
    }

    #[test]
    fn removes_case_and_marks_of_latin_letters() {
        check("Éclair", "eclair");
        check("e\u{301}clair", "eclair");
        check("ÄÖÜ ñ ç Ø", "aou n c o");
        check("Łódź Žižek ſ ŭ", "lodz zizek s u");
        check("Việt Nam", "viet nam");
        check("ß æ Æ þ", "ß æ æ þ");
        check("Привет 世界", "привет 世界");
    }
}
