//! Killed text.

/// The last kills, newest last.
#[derive(Debug, Default)]
pub(super) struct KillRing {
    kills: Vec<String>,
}

const KILLS: usize = 60;

impl KillRing {
    /// Adds a kill. If `joins`, it extends the previous kill, at its beginning if it was made backwards.
    pub(super) fn add(&mut self, text: &str, backwards: bool, joins: bool) {
        match self.kills.last_mut().filter(|_| joins) {
            Some(last) if backwards => last.insert_str(0, text),
            Some(last) => last.push_str(text),
            None => {
                if self.kills.len() == KILLS {
                    self.kills.remove(0);
                }
                self.kills.push(text.to_owned());
            }
        }
    }

    pub(super) fn newest(&self) -> Option<&str> {
        self.kills.last().map(String::as_str)
    }

    /// Moves the newest kill to the oldest position, and returns the one that is now the newest.
    pub(super) fn rotate(&mut self) -> Option<&str> {
        if self.kills.len() > 1 {
            self.kills.rotate_right(1);
        }
        self.newest()
    }
}
