//! Announcements outside of the screen: the title, the progress in the tab, notifications.

use std::time::Duration;

use sinew_control::settings::{Tui, TuiNotify};
use sinew_control::startup::Startup;

/// The time without a key press after which the user is considered away, if the terminal does not report its focus.
pub(super) const AWAY: Duration = Duration::from_secs(10);

/// The state of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    Working,
    /// A question waits for the user's answer.
    Asking,
}

/// How a terminal shows notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notification {
    /// OSC 99: kitty.
    Kitty,
    /// OSC 777: title and text.
    Named,
    /// OSC 9: a text.
    Text,
    Bell,
}

/// Returns the method that the user selected, or otherwise the detected one.
fn chosen(notify: TuiNotify, found: Notification) -> Notification {
    match notify {
        TuiNotify::Auto | TuiNotify::Off => found,
        TuiNotify::Osc99 => Notification::Kitty,
        TuiNotify::Osc777 => Notification::Named,
        TuiNotify::Osc9 => Notification::Text,
        TuiNotify::Bell => Notification::Bell,
    }
}

/// Sends announcements to the terminal, and remembers the last ones.
pub(super) struct Announcer {
    notification: Notification,
    has_title: bool,
    has_progress: bool,
    /// True if notifications and progress are passed through tmux to the outer terminal.
    passes: bool,
    /// True if the user wants notifications.
    pub(super) is_on: bool,
    title: String,
    progress: Option<State>,
}

impl Announcer {
    pub(super) fn new(startup: &Startup) -> Announcer {
        let Tui { title, progress, passthrough, notify, .. } = startup.settings.tui;
        let passes = passthrough && startup.environment.get("TMUX").is_some();
        // The variables of the outer terminal are those of the shell that started tmux.
        let variable = |name: &str| startup.environment.get(name).filter(|_| !passes || name != "TMUX");
        let found = Announcer::with(&variable, startup.settings.notifications && notify != TuiNotify::Off);
        let notification = chosen(notify, found.notification);
        Announcer { notification, has_title: title, has_progress: found.has_progress && progress, passes, ..found }
    }

    fn with<'a>(variable: &dyn Fn(&str) -> Option<&'a str>, is_on: bool) -> Announcer {
        let program = variable("TERM_PROGRAM").unwrap_or_default();
        let term = variable("TERM").unwrap_or_default();
        let has = |name: &str| variable(name).is_some();
        // A multiplexer does not forward these sequences.
        let within = has("TMUX") || has("STY") || has("ZELLIJ");
        let notification = match program {
            _ if within => Notification::Bell,
            _ if has("KITTY_WINDOW_ID") || term == "xterm-kitty" => Notification::Kitty,
            "ghostty" => Notification::Named,
            _ if term.starts_with("foot") || term.starts_with("rxvt") => Notification::Named,
            "iTerm.app" | "WezTerm" => Notification::Text,
            _ if has("WT_SESSION") => Notification::Text,
            _ => Notification::Bell,
        };
        // Other terminals show OSC 9;4 as a notification with this text.
        let known = matches!(program, "ghostty" | "WezTerm")
            || has("WT_SESSION")
            || variable("ConEmuANSI") == Some("ON")
            || has("VTE_VERSION")
            || has("KONSOLE_VERSION");
        Announcer {
            notification,
            has_title: true,
            has_progress: known && !within,
            is_on,
            passes: false,
            title: String::new(),
            progress: None,
        }
    }

    /// Returns the bytes that announce a state in a session with this title; empty if nothing changed.
    pub(super) fn tell(&mut self, state: State, title: &str) -> String {
        let mark = match state {
            State::Ready => "",
            State::Working => "● ",
            State::Asking => "? ",
        };
        let dash = if title.is_empty() { "" } else { " - " };
        let title = format!("{mark}sinew{dash}{}", plain(title));
        let mut bytes = String::new();
        if self.has_title && title != self.title {
            bytes.push_str(&format!("\x1b]2;{title}\x1b\\"));
            self.title = title;
        }
        let before = self.progress.unwrap_or(State::Ready);
        self.progress = Some(state);
        if self.has_progress && (before == State::Ready) != (state == State::Ready) {
            bytes += &self.passed(if state == State::Ready { "\x1b]9;4;0\x1b\\" } else { "\x1b]9;4;3\x1b\\" });
        }
        bytes
    }

    /// Returns the bytes that notify a user who is away of an event in the session with this title.
    pub(super) fn notify(&self, what: &str, title: &str) -> String {
        let title = plain(title);
        let text = if title.is_empty() { what.to_string() } else { format!("{what}: {title}") };
        let told = match self.notification {
            _ if !self.is_on => return String::new(),
            Notification::Kitty => format!("\x1b]99;;sinew: {text}\x1b\\"),
            // A semicolon would end the title.
            Notification::Named => format!("\x1b]777;notify;sinew;{}\x1b\\", text.replace(';', ",")),
            Notification::Text => format!("\x1b]9;sinew: {text}\x1b\\"),
            Notification::Bell => return "\x07".into(),
        };
        self.passed(&told)
    }

    /// Wraps a sequence so that tmux forwards it: each ESC in it is doubled.
    fn passed(&self, sequence: &str) -> String {
        match self.passes {
            true => format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b")),
            false => sequence.into(),
        }
    }

    /// Returns the bytes that end the progress. The previous title is restored with the modes of the terminal.
    pub(super) fn end(&mut self) -> String {
        let was = self.progress.replace(State::Ready);
        self.title.clear();
        match self.has_progress && was.is_some_and(|state| state != State::Ready) {
            true => self.passed("\x1b]9;4;0\x1b\\"),
            false => String::new(),
        }
    }
}

/// Removes the characters of a title that are not allowed in a sequence.
fn plain(title: &str) -> String {
    sinew::term::sanitize(title).chars().filter(|letter| !letter.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcer(variables: &'static [(&str, &str)]) -> Announcer {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        Announcer::with(&find, true)
    }

    #[test]
    fn sends_progress_only_to_terminals_that_support_it() {
        for (variables, expect) in [
            (&[("TERM_PROGRAM", "ghostty")][..], true),
            (&[("TERM_PROGRAM", "WezTerm")], true),
            (&[("WT_SESSION", "1")], true),
            (&[("ConEmuANSI", "ON")], true),
            (&[("ConEmuANSI", "OFF")], false),
            (&[("VTE_VERSION", "7600")], true),
            (&[("KONSOLE_VERSION", "240800")], true),
            (&[("TERM_PROGRAM", "ghostty"), ("TMUX", "x")], false),
            (&[("KITTY_WINDOW_ID", "1")], false),
            (&[("TERM_PROGRAM", "Apple_Terminal")], false),
            (&[], false),
        ] {
            let mut announcer = announcer(variables);
            let bytes = announcer.tell(State::Working, "") + &announcer.tell(State::Ready, "") + &announcer.end();
            assert_eq!(bytes.contains("\x1b]9;4;3\x1b\\"), expect, "{variables:?}");
            assert_eq!(bytes.matches("\x1b]9;4").count(), if expect { 2 } else { 0 }, "{variables:?}");
        }
    }

    #[test]
    fn only_changes_are_announced_and_the_end_resets_them() {
        let mut announcer = announcer(&[("VTE_VERSION", "1")]);
        assert_eq!(announcer.tell(State::Ready, "A"), "\x1b]2;sinew - A\x1b\\");
        assert_eq!(announcer.tell(State::Ready, "A"), "");
        assert_eq!(announcer.tell(State::Working, "A"), "\x1b]2;● sinew - A\x1b\\\x1b]9;4;3\x1b\\");
        assert_eq!(announcer.tell(State::Asking, "A"), "\x1b]2;? sinew - A\x1b\\");
        assert_eq!(announcer.end(), "\x1b]9;4;0\x1b\\");
        assert_eq!(announcer.end(), "");
    }

    #[test]
    fn a_title_cannot_send_an_escape() {
        let mut announcer = announcer(&[("KITTY_WINDOW_ID", "1")]);
        let evil = "a\x1b\\\x1b]52;c;eA==\x07b\u{9c}c\nd";
        for bytes in [announcer.tell(State::Ready, evil), announcer.notify("done", evil)] {
            assert_eq!(bytes.matches('\x1b').count(), 2, "{bytes:?}");
            assert!(!bytes.contains(['\x07', '\u{9c}', '\n']) && !bytes.contains("]52"), "{bytes:?}");
        }
    }

    #[test]
    fn each_terminal_is_notified_in_its_way() {
        for (variables, expect) in [
            (&[("TERM", "xterm-kitty")][..], "\x1b]99;;sinew: done: t;x\x1b\\"),
            (&[("TERM_PROGRAM", "ghostty")], "\x1b]777;notify;sinew;done: t,x\x1b\\"),
            (&[("TERM_PROGRAM", "WezTerm")], "\x1b]9;sinew: done: t;x\x1b\\"),
            (&[("TERM_PROGRAM", "WezTerm"), ("TMUX", "1")], "\x07"),
            (&[("TERM", "xterm-256color")], "\x07"),
        ] {
            assert_eq!(announcer(variables).notify("done", "t;x"), expect, "{variables:?}");
        }
        let through = Announcer { passes: true, ..announcer(&[("TERM_PROGRAM", "WezTerm")]) };
        assert_eq!(through.notify("done", ""), "\x1bPtmux;\x1b\x1b]9;sinew: done\x1b\x1b\\\x1b\\");
        for (notify, expect) in [
            (TuiNotify::Auto, "\x07"),
            (TuiNotify::Osc99, "\x1b]99;;sinew: done\x1b\\"),
            (TuiNotify::Osc777, "\x1b]777;notify;sinew;done\x1b\\"),
            (TuiNotify::Osc9, "\x1b]9;sinew: done\x1b\\"),
            (TuiNotify::Bell, "\x07"),
        ] {
            let notification = chosen(notify, Notification::Bell);
            assert_eq!(Announcer { notification, ..announcer(&[]) }.notify("done", ""), expect, "{notify:?}");
        }
        let off = Announcer { is_on: false, ..announcer(&[]) };
        assert_eq!(off.notify("done", ""), "");
    }
}
