// Included by the build script, which writes the table, and by the engine, which reads it.

// A property byte is `class << 2 | width`: the class for the cluster rules, and the width of the single character.
pub(crate) const OTHER: u8 = 0;
pub(crate) const CONTROL: u8 = 1;
pub(crate) const EXTEND: u8 = 2;
pub(crate) const EXTEND_APART: u8 = 3;
pub(crate) const ZWJ: u8 = 4;
pub(crate) const LINKER: u8 = 5;
pub(crate) const SPACING: u8 = 6;
pub(crate) const PREPEND: u8 = 7;
pub(crate) const PICT: u8 = 8;
pub(crate) const PICT_VS: u8 = 9;
pub(crate) const MODIFIER: u8 = 10;
pub(crate) const REGIONAL: u8 = 11;
pub(crate) const HANGUL_L: u8 = 12;
pub(crate) const HANGUL_V: u8 = 13;
pub(crate) const HANGUL_T: u8 = 14;
pub(crate) const HANGUL_LV: u8 = 15;
pub(crate) const HANGUL_LVT: u8 = 16;
pub(crate) const CONSONANT: u8 = 17;
pub(crate) const VS16: u8 = 18;
pub(crate) const KEYCAP: u8 = 19;
pub(crate) const KEYCAP_BASE: u8 = 20;
pub(crate) const INTRO: u8 = 21;
pub(crate) const STRIP: u8 = 22;
pub(crate) const NEWLINE: u8 = 23;
pub(crate) const TAB: u8 = 24;
pub(crate) const SURROGATE: u8 = 25;
