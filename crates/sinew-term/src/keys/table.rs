//! The table of sequences and their keys.

use super::id::Key;

/// `CSI <letter>`, `CSI 1;m<letter>` and `SS3 <letter>`.
pub(super) const LETTERS: &[(u8, Key)] = &[
    (b'A', Key::UP),
    (b'B', Key::DOWN),
    (b'C', Key::RIGHT),
    (b'D', Key::LEFT),
    (b'E', Key::CLEAR),
    (b'F', Key::END),
    (b'H', Key::HOME),
    (b'P', Key::F1),
    (b'Q', Key::F2),
    (b'R', Key::F3),
    (b'S', Key::F4),
];

/// rxvt: `CSI <letter>` with shift, `SS3 <letter>` with ctrl.
pub(super) const SMALL_LETTERS: &[(u8, Key)] =
    &[(b'a', Key::UP), (b'b', Key::DOWN), (b'c', Key::RIGHT), (b'd', Key::LEFT), (b'e', Key::CLEAR)];

/// `CSI [ <letter>` of the Linux console, and the two keys that some terminals send as `CSI [ <number> ~`.
pub(super) const CONSOLE: &[(&[u8], Key)] = &[
    (b"A", Key::F1),
    (b"B", Key::F2),
    (b"C", Key::F3),
    (b"D", Key::F4),
    (b"E", Key::F5),
    (b"5~", Key::PAGE_UP),
    (b"6~", Key::PAGE_DOWN),
];

/// `CSI <number> ~`, and with rxvt's ends `^`, `$`, `@`.
pub(super) const NUMBERS: &[(u32, Key)] = &[
    (1, Key::HOME),
    (2, Key::INSERT),
    (3, Key::DELETE),
    (4, Key::END),
    (5, Key::PAGE_UP),
    (6, Key::PAGE_DOWN),
    (7, Key::HOME),
    (8, Key::END),
    (11, Key::F1),
    (12, Key::F2),
    (13, Key::F3),
    (14, Key::F4),
    (15, Key::F5),
    (17, Key::F6),
    (18, Key::F7),
    (19, Key::F8),
    (20, Key::F9),
    (21, Key::F10),
    (23, Key::F11),
    (24, Key::F12),
    (25, Key::F13),
    (26, Key::F14),
    (28, Key::F15),
    (29, Key::F16),
    (31, Key::F17),
    (32, Key::F18),
    (33, Key::F19),
    (34, Key::F20),
];

/// The keypad in application mode: `SS3 <letter>`.
pub(super) const KEYPAD_LETTERS: &[(u8, u8)] = &[
    (b'X', b'='),
    (b'j', b'*'),
    (b'k', b'+'),
    (b'l', b','),
    (b'm', b'-'),
    (b'n', b'.'),
    (b'o', b'/'),
    (b'p', b'0'),
    (b'q', b'1'),
    (b'r', b'2'),
    (b's', b'3'),
    (b't', b'4'),
    (b'u', b'5'),
    (b'v', b'6'),
    (b'w', b'7'),
    (b'x', b'8'),
    (b'y', b'9'),
];

/// Code points of Kitty's protocol (and of modifyOtherKeys) that are not characters.
pub(super) const CODES: &[(u32, Key)] = &[
    (8, Key::BACKSPACE),
    (9, Key::TAB),
    (13, Key::ENTER),
    (27, Key::ESCAPE),
    (127, Key::BACKSPACE),
    (57344, Key::ESCAPE),
    (57345, Key::ENTER),
    (57346, Key::TAB),
    (57347, Key::BACKSPACE),
    (57348, Key::INSERT),
    (57349, Key::DELETE),
    (57350, Key::LEFT),
    (57351, Key::RIGHT),
    (57352, Key::UP),
    (57353, Key::DOWN),
    (57354, Key::PAGE_UP),
    (57355, Key::PAGE_DOWN),
    (57356, Key::HOME),
    (57357, Key::END),
    (57361, Key::PRINT_SCREEN),
    (57362, Key::PAUSE),
    (57363, Key::MENU),
    (57414, Key::ENTER),
    (57417, Key::LEFT),
    (57418, Key::RIGHT),
    (57419, Key::UP),
    (57420, Key::DOWN),
    (57421, Key::PAGE_UP),
    (57422, Key::PAGE_DOWN),
    (57423, Key::HOME),
    (57424, Key::END),
    (57425, Key::INSERT),
    (57426, Key::DELETE),
    (57427, Key::CLEAR),
];

/// Kitty's keypad from 57399 on: its characters, and its keys with a modifier.
pub(super) const KEYPAD: &[(u8, Option<Key>)] = &[
    (b'0', Some(Key::INSERT)),
    (b'1', Some(Key::END)),
    (b'2', Some(Key::DOWN)),
    (b'3', Some(Key::PAGE_DOWN)),
    (b'4', Some(Key::LEFT)),
    (b'5', Some(Key::CLEAR)),
    (b'6', Some(Key::RIGHT)),
    (b'7', Some(Key::HOME)),
    (b'8', Some(Key::UP)),
    (b'9', Some(Key::PAGE_UP)),
    (b'.', Some(Key::DELETE)),
    (b'/', None),
    (b'*', None),
    (b'-', None),
    (b'+', None),
    (b'\r', None),
    (b'=', None),
    (b',', None),
];

/// The first code of [`KEYPAD`].
pub(super) const KEYPAD_FIRST: u32 = 57399;

/// Kitty's code of F1; F2 to F35 follow.
pub(super) const F1_CODE: u32 = 57364;

/// Virtual key codes of Windows that do not depend on the layout.
pub(super) const VIRTUAL: &[(u32, Key)] = &[
    (8, Key::BACKSPACE),
    (9, Key::TAB),
    (12, Key::CLEAR),
    (13, Key::ENTER),
    (19, Key::PAUSE),
    (27, Key::ESCAPE),
    (32, Key::SPACE),
    (33, Key::PAGE_UP),
    (34, Key::PAGE_DOWN),
    (35, Key::END),
    (36, Key::HOME),
    (37, Key::LEFT),
    (38, Key::UP),
    (39, Key::RIGHT),
    (40, Key::DOWN),
    (44, Key::PRINT_SCREEN),
    (45, Key::INSERT),
    (46, Key::DELETE),
    (93, Key::MENU),
];

/// Control bytes that are not only `ctrl` with a letter: the key, and the characters that send the same byte with ctrl.
pub(super) const CONTROLS: &[(u8, Key, &[u8])] = &[
    (0x00, Key::SPACE.ctrl(), b"@2"),
    (0x08, Key::BACKSPACE.ctrl(), b"h"),
    (b'\t', Key::TAB, b"i"),
    (b'\n', Key::ENTER, b"j"),
    (b'\r', Key::ENTER, b"m"),
    (0x1B, Key::ESCAPE, b"[3"),
    (0x1C, Key::symbol(b'\\').ctrl(), b"4"),
    (0x1D, Key::symbol(b']').ctrl(), b"5"),
    (0x1E, Key::symbol(b'6').ctrl(), b"^"),
    (0x1F, Key::symbol(b'-').ctrl(), b"_/7"),
    (0x7F, Key::BACKSPACE, b"?8"),
];

/// Returns the value for `name` in a table; `None` if the table does not contain it.
pub(super) fn find<N: PartialEq, V: Copy>(table: &[(N, V)], name: N) -> Option<V> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}
