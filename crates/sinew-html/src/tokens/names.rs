//! A cache of tag names: a page has few, and looking one up takes longer than reading the tag.

use html5ever::LocalName;

const SLOTS: usize = 64;

/// The most recent names.
pub(super) struct Names {
    slots: [(u64, LocalName); SLOTS],
}

impl Default for Names {
    fn default() -> Names {
        Names { slots: std::array::from_fn(|_| (0, LocalName::default())) }
    }
}

impl Names {
    /// Returns the name in lower case. It must have at least one letter.
    pub(super) fn local(&mut self, name: &str) -> LocalName {
        // Its bytes and its length as one number, which is never 0.
        let mut key = [0; 8];
        let Some(bytes) = key[..7].get_mut(..name.len()) else { return read(name) };
        bytes.copy_from_slice(name.as_bytes());
        key[7] = name.len() as u8;
        let key = u64::from_le_bytes(key);
        let (known, local) = &mut self.slots[(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize];
        if *known != key {
            *known = key;
            *local = read(name);
        }
        local.clone()
    }
}

fn read(name: &str) -> LocalName {
    if name.bytes().any(|byte| byte.is_ascii_uppercase() || byte == 0) {
        LocalName::from(name.to_ascii_lowercase().replace('\0', "\u{fffd}"))
    } else {
        LocalName::from(name)
    }
}
