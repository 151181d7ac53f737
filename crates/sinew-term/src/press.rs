//! A key press as one value: what bindings match, and the text that it inserts.

use crate::keys::{self, Key, KittyEvent, Modifiers};

/// A key that was pressed or is being held down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyPress {
    /// The key.
    pub key: Key,
    /// Other meanings of the same sequence: another key with the same byte, the shifted symbol, the key in the base
    /// layout.
    pub others: [Option<Key>; 3],
    /// The text that it inserts; empty for a key that inserts none.
    pub text: String,
    /// True while the key is held down (only reported with event types of Kitty's protocol).
    pub repeat: bool,
}

/// Decodes one complete sequence to a key press. `None` for a release, and if [`parse_key`](crate::parse_key) returns
/// `None`; text of several characters is a press of its first character.
pub fn decode_key(data: &str, kitty: bool) -> Option<KeyPress> {
    let press = keys::press(data, kitty).filter(|press| !press.released)?;
    let event = keys::parse_kitty_sequence(data).and_then(|sequence| sequence.event);
    let text = typed(data, press.key, &press.others);
    Some(KeyPress { key: press.key, others: press.others, text, repeat: event == Some(KittyEvent::Repeat) })
}

impl KeyPress {
    /// Returns true if the press is `key`, by its name or by one of its other meanings.
    pub fn is(&self, key: Key) -> bool {
        self.key == key || self.others.contains(&Some(key))
    }

    /// Returns Ctrl+J if the press is the byte of a line feed, which can also be Enter.
    pub fn line_feed(&self) -> Option<Key> {
        Key::with('j', Modifiers::CTRL).filter(|ctrl_j| self.key == Key::ENTER && self.is(*ctrl_j))
    }
}

fn typed(data: &str, key: Key, others: &[Option<Key>; 3]) -> String {
    if !data.starts_with('\x1b') {
        return if data.chars().any(char::is_control) { String::new() } else { data.to_owned() };
    }
    // A sequence of a protocol inserts the character of its key, unless a modifier makes it a shortcut.
    if !Modifiers::SHIFT.contains(key.modifiers) {
        return String::new();
    }
    let symbol =
        others.iter().flatten().find(|other| other.modifiers == Modifiers::NONE).and_then(|key| key.character());
    match (key.character(), key.name()) {
        (Some(c), _) if key.modifiers == Modifiers::NONE => c.to_string(),
        (Some(c), _) => symbol.map_or_else(|| c.to_uppercase().to_string(), |c| c.to_string()),
        (None, Some("space")) => " ".to_owned(),
        _ => String::new(),
    }
}
