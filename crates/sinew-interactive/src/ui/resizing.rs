//! Handles a new size of the terminal, and queries a terminal that reports it late.

use std::time::Instant;

use sinew_control::settings::TuiResize;
use sinew_tui::Size;

use super::Ui;

impl Ui {
    fn ask_size(&mut self, now: Instant) {
        self.sizes.is_sure = false;
        self.sizes.asked = Some(now);
        self.terminal.tty.ask(b"\x1b[18t");
    }

    /// Returns true if the next frame may be written; otherwise the terminal was queried.
    pub(super) fn may_paint(&mut self) -> bool {
        if !self.sizes.asks || std::mem::take(&mut self.sizes.is_sure) || !self.screen.stirs() {
            return true;
        }
        if self.sizes.asked.is_none() {
            self.ask_size(Instant::now());
        }
        false
    }

    /// Handles a possible change of the terminal's size.
    pub(super) fn resize(&mut self) {
        if self.resize_viewer() {
            return;
        }
        if self.sizes.asks {
            self.ask_size(Instant::now());
        } else {
            self.take_size(self.terminal.tty.size());
        }
    }

    /// Handles the reply to a query of the size.
    pub(super) fn told_size(&mut self, rows: usize, columns: usize) {
        self.sizes.asked = None;
        let (plain, turned, known) = (Size::new(columns, rows), Size::new(rows, columns), self.terminal.tty.size());
        if self.sizes.is_turned.is_none() && rows != columns && [plain, turned].contains(&known) {
            self.sizes.is_turned = Some(turned == known);
        }
        let size = match self.sizes.is_turned {
            Some(true) => turned,
            Some(false) => plain,
            None => known,
        };
        if self.viewer.is_some() {
            return;
        }
        self.sizes.is_sure = size == self.screen.size() && !self.screen.is_resizing();
        if size != self.screen.size() {
            self.take_size(size);
        }
    }

    fn take_size(&mut self, size: Size) {
        if size != self.screen.size() || self.screen.is_resizing() {
            self.terminal.tty.record_size(size);
            self.screen.resize(size);
            self.sizes.change(Instant::now());
        }
    }

    pub(super) fn follow_sizes(&mut self, now: Instant) {
        let [changed, place, asked] = self.sizes.due().map(|due| due.is_some_and(|due| now >= due));
        if asked {
            // The terminal does not support the query.
            (self.sizes.asks, self.sizes.asked) = (false, None);
            self.take_size(self.terminal.tty.size());
        }
        if changed {
            (self.sizes.changed, self.sizes.place) = (None, Some(now));
            if self.sizes.asks {
                self.ask_size(now);
            }
            self.terminal.input.await_cursor();
            let question = self.screen.ask_place();
            self.terminal.tty.ask(question);
        } else if place {
            self.sizes.place = None;
            let frame = self.screen.give_up_place();
            self.terminal.tty.write(&frame.bytes);
            self.rebuild();
        }
    }

    /// Draws the end of the session again for a new size, if that is enabled and possible.
    pub(super) fn rebuild(&mut self) {
        if self.tui.resize == TuiResize::Rebuild && std::mem::take(&mut self.sizes.is_new) && self.may_erase().is_ok() {
            self.redraw_all();
        }
    }
}
