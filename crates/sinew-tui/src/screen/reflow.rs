//! How terminals, by name, treat rows that are wider than a new width.

/// How a terminal treats rows that are wider than a new width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reflow {
    /// They wrap; rows that the terminal itself wrapped are joined again.
    Wrap,
    /// The same, but the line of the cursor is cut.
    WrapOthers,
    /// They are cut.
    Cut,
}

/// The prefixes of terminal names, in lower case; if one is a prefix of another, the longer one comes first.
const NAMES: &[(&str, Reflow)] = &[
    ("xterm.js", Reflow::WrapOthers),
    ("xterm", Reflow::Cut),
    ("tmux", Reflow::Wrap),
    ("kitty", Reflow::Wrap),
    ("ghostty", Reflow::Wrap),
    ("wezterm", Reflow::Wrap),
    ("alacritty", Reflow::Wrap),
    ("foot", Reflow::Wrap),
    ("vte", Reflow::Wrap),
    ("konsole", Reflow::Wrap),
    ("iterm2", Reflow::Wrap),
];

/// Values of `TERM_PROGRAM`: editors whose terminal is xterm.js, and others.
const PROGRAMS: &[(&str, Reflow)] = &[
    ("vscode", Reflow::WrapOthers),
    ("hyper", Reflow::WrapOthers),
    ("tabby", Reflow::WrapOthers),
    ("ghostty", Reflow::Wrap),
    ("wezterm", Reflow::Wrap),
    ("iterm.app", Reflow::Wrap),
    ("apple_terminal", Reflow::Wrap),
];

impl Reflow {
    /// Returns the behaviour of a terminal with this name and version (`CSI >0q`); `None` if the name is unknown.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Reflow> {
        let name = name.to_ascii_lowercase();
        NAMES.iter().find(|(known, _)| name.starts_with(known)).map(|(_, reflow)| *reflow)
    }

    /// Returns the behaviour according to environment variables; `None` if they name no known terminal. A multiplexer
    /// has priority over the outer terminal, whose variables it passes on.
    pub fn by_environment<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Option<Reflow> {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let program = || {
            let program = variable("TERM_PROGRAM")?.to_ascii_lowercase();
            PROGRAMS.iter().find(|(known, _)| *known == program).map(|(_, reflow)| *reflow)
        };
        match () {
            () if is_set("TMUX") => Some(Reflow::Wrap),
            () if is_set("STY") || variable("TERM") == Some("linux") => Some(Reflow::Cut),
            () => program().or_else(|| is_set("XTERM_VERSION").then_some(Reflow::Cut)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], expect: Option<Reflow>) {
        let get = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        assert_eq!(Reflow::by_environment(get), expect, "{variables:?}");
    }

    #[test]
    fn the_innermost_terminal_determines_the_reflow() {
        check(&[("TERM", "xterm-256color")], None);
        check(&[("TERM", "linux")], Some(Reflow::Cut));
        check(&[("XTERM_VERSION", "XTerm(390)")], Some(Reflow::Cut));
        check(&[("TERM_PROGRAM", "vscode")], Some(Reflow::WrapOthers));
        check(&[("TMUX", "/tmp/x,1,0"), ("XTERM_VERSION", "XTerm(390)")], Some(Reflow::Wrap));
        check(&[("STY", "1.pts"), ("TERM_PROGRAM", "vscode")], Some(Reflow::Cut));
        // A terminal that was started from xterm's shell.
        check(&[("TERM_PROGRAM", "WezTerm"), ("XTERM_VERSION", "XTerm(390)")], Some(Reflow::Wrap));
    }

    #[test]
    fn terminal_names_match_by_prefix() {
        for (name, expect) in [
            ("XTerm(390)", Some(Reflow::Cut)),
            ("xterm.js(5.5.0)", Some(Reflow::WrapOthers)),
            ("tmux 3.3a", Some(Reflow::Wrap)),
            ("WezTerm 20240203", Some(Reflow::Wrap)),
            ("unheard of", None),
        ] {
            assert_eq!(Reflow::by_name(name), expect, "{name}");
        }
    }
}
