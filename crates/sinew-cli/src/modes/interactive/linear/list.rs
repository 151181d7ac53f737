//! Numbered lists: models, levels, sessions.

use super::asked::index;
use crate::control::Control;

/// The most entries that are said.
const MOST: usize = 50;

/// A list that was said, and the command that each entry stands for.
#[derive(Debug)]
pub(super) struct Choices {
    title: String,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    about: String,
    command: String,
}

impl Choices {
    /// Lists what a command without arguments chooses from.
    ///
    /// # Errors
    /// It cannot be listed.
    pub(super) async fn of(control: &Control, command: &str) -> Result<Choices, String> {
        let entry =
            |name: String, about: String, value: &str| Entry { name, about, command: format!("/{command} {value}") };
        let (title, entries) = match command {
            "model" => {
                let current = control.session().agent.model().model.key();
                let entries = control.models().into_iter().map(|model| {
                    let key = model.key();
                    entry(key.clone(), if key == current { "in use".into() } else { String::new() }, &key)
                });
                ("Models", entries.collect::<Vec<_>>())
            }
            "thinking" => {
                let current = control.session().agent.thinking();
                let entries = control.thinking_levels().into_iter().map(|level| {
                    let about = if level == current { "in use".into() } else { String::new() };
                    entry(level.as_str().to_string(), about, level.as_str())
                });
                ("Thinking levels", entries.collect())
            }
            _ => {
                let listed = control.list_sessions(false).await.map_err(|error| error.message)?;
                let entries = listed.into_iter().map(|session| {
                    let id: String = session.id.chars().take(8).collect();
                    entry(id, session.title, &session.id)
                });
                ("Sessions", entries.collect())
            }
        };
        Ok(Choices { title: title.to_string(), entries })
    }

    /// The list in words.
    pub(super) fn words(&self) -> String {
        let count = self.entries.len();
        let mut words = format!("{}: {count}\n", self.title);
        for (number, entry) in (1..).zip(self.entries.iter().take(MOST)) {
            let comma = if entry.about.is_empty() { "" } else { ", " };
            words += &format!("{number}. {}{comma}{}\n", entry.name, entry.about);
        }
        if count > MOST {
            words += &format!("Not listed: {}\n", count - MOST);
        }
        words + if count == 0 { "" } else { "Choose a number or a name; any other line is taken for itself." }
    }

    /// The command of the entry that a line means.
    pub(super) fn chosen(self, text: &str) -> Option<String> {
        let names: Vec<&str> = self.entries.iter().take(MOST).map(|entry| entry.name.as_str()).collect();
        let at = index(text, &names)?;
        self.entries.into_iter().nth(at).map(|entry| entry.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_84_what_a_list_says_under_a_number_is_what_the_number_chooses() {
        let list = || {
            let entries = (0..60).map(|at| Entry {
                name: format!("m{at}"),
                about: String::new(),
                command: format!("/model p/m{at}"),
            });
            Choices { title: "Models".into(), entries: entries.collect() }
        };
        let words = list().words();
        for line in words.lines() {
            if let Some((number, name)) = line.split_once(". ") {
                assert_eq!(list().chosen(number).as_deref(), Some(format!("/model p/{name}").as_str()));
                assert_eq!(list().chosen(name), list().chosen(number));
            }
        }
        // What was not said cannot be chosen by a number.
        assert_eq!(list().chosen("51"), None);
        assert_eq!(list().chosen("hello"), None);
    }
}
