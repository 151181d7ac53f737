//! The modes set in the terminal, and the bytes that undo them.

/// The modes that were set, in order, each with its undo.
///
/// [`Modes::undo_all`] always returns the bytes that restore the terminal to its original state: a signal handler or a
/// panic hook can keep them ready and write them with one call.
#[derive(Clone, Debug, Default)]
pub struct Modes {
    set: Vec<Mode>,
}

/// A mode of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Pastes are enclosed in markers.
    BracketedPaste,
    /// Focus changes are reported.
    FocusReports,
    /// The terminal does not wrap rows.
    NoAutowrap,
    /// Kitty's keyboard protocol: keys are unambiguous, and the layout is reported (flags 1 and 4).
    KittyKeys,
    /// Keys with modifiers are unambiguous, as in xterm.
    ModifyOtherKeys,
    /// Clusters have the width of their glyph.
    GraphemeClusters,
    /// Changes of the colour scheme are reported.
    SchemeReports,
    /// The previous title is saved.
    Title,
    /// The alternate screen, for viewers.
    AlternateScreen,
    /// Kitty's keyboard protocol on the alternate screen, which has separate flags.
    ViewerKeys,
}

impl Mode {
    fn codes(self) -> (&'static str, &'static str) {
        match self {
            Mode::BracketedPaste => ("\x1b[?2004h", "\x1b[?2004l"),
            Mode::FocusReports => ("\x1b[?1004h", "\x1b[?1004l"),
            Mode::NoAutowrap => ("\x1b[?7l", "\x1b[?7h"),
            Mode::KittyKeys | Mode::ViewerKeys => ("\x1b[>5u", "\x1b[<u"),
            Mode::ModifyOtherKeys => ("\x1b[>4;2m", "\x1b[>4;0m"),
            Mode::GraphemeClusters => ("\x1b[?2027h", "\x1b[?2027l"),
            Mode::SchemeReports => ("\x1b[?2031h", "\x1b[?2031l"),
            Mode::Title => ("\x1b[22;2t", "\x1b[23;2t"),
            Mode::AlternateScreen => ("\x1b[?1049h", "\x1b[?1049l"),
        }
    }
}

impl Modes {
    /// Creates a value without any modes.
    #[must_use]
    pub fn new() -> Modes {
        Modes::default()
    }

    /// Sets a mode and returns its bytes; empty if it is already set.
    pub fn set(&mut self, mode: Mode) -> &'static str {
        if self.set.contains(&mode) {
            return "";
        }
        self.set.push(mode);
        mode.codes().0
    }

    /// Undoes a mode and returns its bytes; empty if it is not set.
    pub fn unset(&mut self, mode: Mode) -> &'static str {
        match self.set.iter().position(|set| *set == mode) {
            Some(at) => {
                self.set.remove(at);
                mode.codes().1
            }
            None => "",
        }
    }

    /// Returns true if a mode is set.
    #[must_use]
    pub fn is_set(&self, mode: Mode) -> bool {
        self.set.contains(&mode)
    }

    /// Returns the bytes that undo all modes, the last one first, and show the cursor.
    #[must_use]
    pub fn undo_all(&self) -> Vec<u8> {
        let mut out = String::from("\x1b[?2026l\x1b[m\x1b]8;;\x1b\\\x1b[?25h");
        for mode in self.set.iter().rev() {
            out.push_str(mode.codes().1);
        }
        out.into_bytes()
    }

    /// Returns [`Modes::undo_all`], and removes all modes.
    pub fn take_all(&mut self) -> Vec<u8> {
        let out = self.undo_all();
        self.set.clear();
        out
    }
}
