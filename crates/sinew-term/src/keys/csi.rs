//! CSI sequences: the bytes after `ESC [`.

use super::id::{Key, Modifiers};
use super::press::Press;
use super::table::{CONSOLE, LETTERS, NUMBERS, SMALL_LETTERS, find};
use super::{kitty, windows};

/// Represents a missing number; no code point, modifier or key number is as large.
const ABSENT: u32 = u32::MAX;

/// Numbers separated by semicolons, up to six groups, with up to three colon-separated numbers each.
pub(super) struct Parameters {
    groups: [[u32; 3]; 6],
    /// The number of groups; 0 without any number.
    pub(super) count: usize,
}

impl Parameters {
    /// Parses the parameters; `None` if there are other characters than digits, `;` and `:`, or too many groups for a
    /// key.
    pub(super) fn parse(bytes: &[u8]) -> Option<Parameters> {
        let mut parameters = Parameters { groups: [[ABSENT; 3]; 6], count: usize::from(!bytes.is_empty()) };
        let mut place = 0;
        for byte in bytes {
            match byte {
                b'0'..=b'9' => {
                    let group = parameters.groups.get_mut(parameters.count - 1)?;
                    if let Some(value) = group.get_mut(place) {
                        let before = if *value == ABSENT { 0 } else { *value };
                        *value = before.checked_mul(10)?.checked_add(u32::from(byte - b'0'))?;
                    }
                }
                b';' => (parameters.count, place) = (parameters.count + 1, 0),
                b':' => place += 1,
                _ => return None,
            }
        }
        (parameters.count <= 6).then_some(parameters)
    }

    pub(super) fn get(&self, group: usize, place: usize) -> Option<u32> {
        Some(*self.groups.get(group)?.get(place)?).filter(|value| *value != ABSENT)
    }
}

/// Parses the body of a CSI sequence, including its last byte.
pub(super) fn press(body: &[u8]) -> Option<Press> {
    if let [b'[', console @ ..] = body
        && !console.is_empty()
    {
        return Some(Press::of(find(CONSOLE, console)?));
    }
    let (last, head) = body.split_last()?;
    match last {
        b'u' => kitty::press(&Parameters::parse(head)?),
        b'_' => windows::press(&Parameters::parse(head)?),
        b'~' => numbered(&Parameters::parse(head)?),
        b'^' => ended(head, Modifiers::CTRL),
        b'$' => ended(head, Modifiers::SHIFT),
        b'@' => ended(head, Modifiers::CTRL | Modifiers::SHIFT),
        b'Z' => with_modifiers(Key::TAB.held(Modifiers::SHIFT), head),
        b'a'..=b'e' if head.is_empty() => Some(Press::of(find(SMALL_LETTERS, *last)?.held(Modifiers::SHIFT))),
        _ => with_modifiers(find(LETTERS, *last)?, head),
    }
}

/// Returns `key` with the parameters `1;m:e`, `m` or none. Other numbers (for example of a cursor report) are not a
/// key.
pub(super) fn with_modifiers(key: Key, head: &[u8]) -> Option<Press> {
    let parameters = Parameters::parse(head)?;
    let group = match parameters.count {
        0 => return Some(Press::of(key)),
        1 => 0,
        2 if parameters.get(0, 0).unwrap_or(1) == 1 => 1,
        _ => return None,
    };
    kitty::held(Press::of(key), &parameters, group)
}

/// Parses `CSI number ; m:e ~`, or xterm's modifyOtherKeys `CSI 27 ; m ; code ~`.
fn numbered(parameters: &Parameters) -> Option<Press> {
    let number = parameters.get(0, 0)?;
    if number == 27 && parameters.count == 3 {
        return kitty::coded(parameters.get(2, 0)?, kitty::modifiers(parameters, 1)?).map(Press::of);
    }
    if parameters.count > 2 {
        return None;
    }
    kitty::held(Press::of(find(NUMBERS, number)?), parameters, 1)
}

/// Parses an rxvt sequence, whose end determines the modifier.
fn ended(head: &[u8], modifiers: Modifiers) -> Option<Press> {
    let parameters = Parameters::parse(head)?;
    let number = parameters.get(0, 0).filter(|_| parameters.count == 1)?;
    Some(Press::of(find(NUMBERS, number)?.held(modifiers)))
}
