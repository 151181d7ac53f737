//! Clusters that have the same width in every terminal.

/// Returns true if all terminals agree about the width of a cluster: one character of ASCII, Latin-1, Greek, Cyrillic,
/// box drawing, CJK, kana or Hangul syllables.
#[must_use]
pub fn is_certain(cluster: &str) -> bool {
    let mut chars = cluster.chars();
    let (Some(c), None) = (chars.next(), chars.next()) else { return false };
    matches!(c,
        ' '..='~'
        | '\u{A1}'..='\u{AC}' | '\u{AE}'..='\u{FF}' // a soft hyphen is not
        | '\u{370}'..='\u{377}' | '\u{37A}'..='\u{37F}' | '\u{384}'..='\u{38A}' | '\u{38E}'..='\u{3A1}' | '\u{3A3}'..='\u{482}'
        | '\u{48A}'..='\u{52F}'
        | '\u{2500}'..='\u{257F}'
        | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}'
        | '\u{4E00}'..='\u{9FFC}'
        | '\u{AC00}'..='\u{D7A3}')
}
