//! Names of keys: parsed from and written as `ctrl+shift+x`.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Modifier keys, with the bits of Kitty's protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Modifiers(pub u8);

impl Modifiers {
    /// No modifier.
    pub const NONE: Modifiers = Modifiers(0);
    /// Shift.
    pub const SHIFT: Modifiers = Modifiers(1);
    /// Alt, option, meta.
    pub const ALT: Modifiers = Modifiers(2);
    /// Control.
    pub const CTRL: Modifiers = Modifiers(4);
    /// Super, command, the Windows key.
    pub const SUPER: Modifiers = Modifiers(8);

    /// Returns true if all of `other` are included.
    pub fn contains(self, other: Modifiers) -> bool {
        self.0 & other.0 == other.0
    }

    fn without(self, other: Modifiers) -> Modifiers {
        Modifiers(self.0 & !other.0)
    }
}

impl BitOr for Modifiers {
    type Output = Modifiers;
    fn bitor(self, other: Modifiers) -> Modifiers {
        Modifiers(self.0 | other.0)
    }
}

impl BitOrAssign for Modifiers {
    fn bitor_assign(&mut self, other: Modifiers) {
        self.0 |= other.0;
    }
}

/// In the order of key names.
const MODIFIERS: &[(&str, Modifiers)] =
    &[("ctrl", Modifiers::CTRL), ("shift", Modifiers::SHIFT), ("alt", Modifiers::ALT), ("super", Modifiers::SUPER)];

macro_rules! named {
    ($($name:ident $text:literal),* $(,)?) => {
        #[allow(
            non_camel_case_types,
            clippy::upper_case_acronyms,
            dead_code,
            reason = "a list of places: some names are only reached by number"
        )]
        #[repr(u32)]
        enum At { $($name),* }

        const NAMES: &[&str] = &[$($text),*];

        impl Key {
            $(#[allow(dead_code, reason = "some names are only reached by number")]
            pub(crate) const $name: Key = Key::named(At::$name as u32);)*
        }
    };
}

named! {
    ENTER "enter", TAB "tab", ESCAPE "escape", BACKSPACE "backspace", SPACE "space",
    UP "up", DOWN "down", RIGHT "right", LEFT "left", HOME "home", END "end",
    PAGE_UP "pageUp", PAGE_DOWN "pageDown", INSERT "insert", DELETE "delete", CLEAR "clear",
    PRINT_SCREEN "printScreen", PAUSE "pause", MENU "menu",
    F1 "f1", F2 "f2", F3 "f3", F4 "f4", F5 "f5", F6 "f6", F7 "f7", F8 "f8", F9 "f9", F10 "f10", F11 "f11",
    F12 "f12", F13 "f13", F14 "f14", F15 "f15", F16 "f16", F17 "f17", F18 "f18", F19 "f19", F20 "f20",
    F21 "f21", F22 "f22", F23 "f23", F24 "f24", F25 "f25", F26 "f26", F27 "f27", F28 "f28", F29 "f29",
    F30 "f30", F31 "f31", F32 "f32", F33 "f33", F34 "f34", F35 "f35",
}

/// Alternative names that `matches_key` accepts.
const ALIASES: &[(&str, Key)] = &[
    ("esc", Key::ESCAPE),
    ("return", Key::ENTER),
    ("del", Key::DELETE),
    ("ins", Key::INSERT),
    ("pgup", Key::PAGE_UP),
    ("pgdn", Key::PAGE_DOWN),
];

/// Symbols that need shift on a US keyboard. Their name implies the shift.
const SHIFTED: &[u8] = b"!@#$%^&*()_+{}|:\"<>?~";

/// A key with modifiers. Displayed as its id: `ctrl+shift+alt+super+` and the name or character.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// A character (lower case), or above U+10FFFF the index of a name in [`key_names`].
    code: u32,
    /// The modifiers.
    pub modifiers: Modifiers,
}

/// The first code of a named key.
const FIRST_NAMED: u32 = 0x11_0000;

/// Returns the names of keys that are not characters, indexed as in [`Key::packed`].
pub fn key_names() -> &'static [&'static str] {
    NAMES
}

impl Key {
    const fn named(place: u32) -> Key {
        Key { code: FIRST_NAMED + place, modifiers: Modifiers::NONE }
    }

    /// Returns the function key `number`, from 1 to 35; `None` for other numbers.
    pub(crate) fn function(number: u32) -> Option<Key> {
        (1..=35).contains(&number).then(|| Key { code: Key::F1.code + number - 1, modifiers: Modifiers::NONE })
    }

    /// Returns the key that inserts `c`; a capital is its lower-case letter with shift. `None` for a control.
    pub(crate) fn of_char(c: char) -> Option<Key> {
        Key::with(c, Modifiers::NONE)
    }

    pub(crate) fn with(c: char, mut modifiers: Modifiers) -> Option<Key> {
        if c == ' ' {
            return Some(Key::SPACE.held(modifiers));
        }
        // The replacement character means that the input was not valid text.
        if c.is_control() || c == char::REPLACEMENT_CHARACTER {
            return None;
        }
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            return Some(Key { code: u32::from(c), modifiers });
        }
        let mut lower = c.to_lowercase();
        let code = match (lower.next(), lower.next()) {
            (Some(small), None) if small != c => {
                modifiers |= Modifiers::SHIFT;
                small
            }
            _ => c,
        };
        Some(Key { code: u32::from(code), modifiers: Modifiers::NONE }.held(modifiers))
    }

    /// Returns the key of a symbol or digit that needs no shift.
    pub(crate) const fn symbol(byte: u8) -> Key {
        Key { code: byte as u32, modifiers: Modifiers::NONE }
    }

    /// Returns the key with ctrl as the only modifier.
    pub(crate) const fn ctrl(self) -> Key {
        Key { code: self.code, modifiers: Modifiers::CTRL }
    }

    pub(crate) fn held(mut self, modifiers: Modifiers) -> Key {
        self.modifiers |= modifiers;
        if u8::try_from(self.code).is_ok_and(|byte| SHIFTED.contains(&byte)) {
            self.modifiers = self.modifiers.without(Modifiers::SHIFT);
        }
        self
    }

    /// Parses a key id: modifiers in any order and case, then a character or a name (`ctrl+c`, `Shift+Alt+pageUp`,
    /// `esc`). `None` if it is not the name of a key.
    pub fn parse(id: &str) -> Option<Key> {
        parse_id(id)
    }

    /// Returns the key as one number: the modifiers from bit 24 on, below them the character, or from 0x110000 on the
    /// index of the name in [`key_names`]. Never 0.
    pub fn packed(self) -> u32 {
        u32::from(self.modifiers.0) << 24 | self.code
    }

    /// Returns the character without modifiers; `None` for a named key.
    pub fn character(self) -> Option<char> {
        char::from_u32(self.code)
    }

    /// Returns the name; `None` for a character.
    pub fn name(self) -> Option<&'static str> {
        NAMES.get(self.code.checked_sub(FIRST_NAMED)? as usize).copied()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, modifier) in MODIFIERS {
            if self.modifiers.contains(*modifier) {
                write!(f, "{name}+")?;
            }
        }
        match (self.name(), self.character()) {
            (Some(name), _) => f.write_str(name),
            (None, Some(c)) => write!(f, "{c}"),
            (None, None) => Ok(()),
        }
    }
}

/// Parses a key id.
pub(crate) fn parse_id(id: &str) -> Option<Key> {
    let mut rest = id;
    let mut modifiers = Modifiers::NONE;
    // A trailing plus is the key itself: `ctrl++`.
    while let Some(split) = rest.find('+').filter(|split| *split > 0 && split + 1 < rest.len()) {
        let name = rest[..split].trim();
        modifiers |= MODIFIERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?.1;
        rest = &rest[split + 1..];
    }
    let mut chars = rest.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        // Some users write `ctrl+C` for ctrl+c; a single capital means the letter with shift.
        let held = modifiers != Modifiers::NONE && c.is_ascii_uppercase();
        return Key::with(if held { c.to_ascii_lowercase() } else { c }, modifiers);
    }
    let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(rest)).map(|(_, key)| *key);
    let named = || NAMES.iter().zip(0..).find(|(name, _)| name.eq_ignore_ascii_case(rest)).map(|(_, n)| Key::named(n));
    alias.or_else(named).map(|key| key.held(modifiers))
}
