//! Numbered lists: models, sessions, entries of the tree, settings and others.

use std::sync::Arc;

use sinew_control::actions::Control;

use super::super::choices::tree::TreeFilter;
use super::super::choices::{self, Choice, Entries, Topic};
use super::super::choosing;
use super::super::conversation::Conversation;
use super::super::picker::Entry;
use super::asked::index;

/// The maximum number of printed entries.
const MOST: usize = 50;

/// A printed list, with the choice of each entry.
pub(super) struct Choices {
    title: String,
    entries: Entries,
}

impl Choices {
    /// Creates a list from entries, without symbols.
    pub(super) fn new(title: &str, entries: Entries) -> Choices {
        let entries = entries.into_iter().map(|entry| Entry { name: name(&entry), text: about(&entry.text), ..entry });
        Choices { title: title.to_string(), entries: entries.collect() }
    }

    /// Returns a list that is available at once; `None` if [`read`] must load it.
    pub(super) fn of(conversation: &Conversation, topic: Topic) -> Option<Choices> {
        let mut entries = conversation.entries(topic)?;
        // The demo requires a screen.
        entries.retain(|entry| entry.choice != Choice::Demo);
        Some(Choices::new(conversation.title(topic), entries))
    }

    /// Returns the text of the list.
    pub(super) fn words(&self) -> String {
        let count = self.entries.len();
        let mut words = format!("{}: {count}\n", self.title.trim_end_matches('?'));
        for (number, entry) in (1..).zip(self.entries.iter().take(MOST)) {
            let comma = if entry.text.is_empty() { "" } else { ", " };
            words += &format!("{number}. {}{comma}{}\n", entry.name, entry.text);
        }
        if count > MOST {
            words += &format!("Not listed: {}; type a full name to choose one of them.\n", count - MOST);
        }
        words + if count == 0 { "" } else { "Choose a number or a name; any other line is a message." }
    }

    /// Returns the choice that a line selects.
    pub(super) fn chosen(self, text: &str) -> Option<Choice> {
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
        let is_number = text.trim_end_matches('.').parse::<usize>().is_ok();
        // A number can only select a printed entry.
        let names = if is_number { &names[..names.len().min(MOST)] } else { &names };
        let at = index(text, names)?;
        self.entries.into_iter().nth(at).map(|entry| entry.choice)
    }
}

/// Loads a list in the background.
///
/// # Errors
/// Returns an error if the list cannot be read.
pub(super) async fn read(control: Arc<Control>, topic: Topic) -> Result<Choices, String> {
    let blocking = |read: fn(&Control) -> Result<Entries, sinew_control::actions::ControlError>| {
        let control = Arc::clone(&control);
        tokio::task::spawn_blocking(move || read(&control).map_err(|error| error.message))
    };
    let entries = match topic {
        Topic::Sessions { all } => {
            let listed = control.list_sessions(all).await.map_err(|error| error.message)?;
            // Titles may repeat, so the id is added.
            let named = |mut entry: Entry<Choice>, id: &str| {
                let id: String = id.chars().take(8).collect();
                entry.text = format!("{}, {}", entry.name, entry.text);
                entry.name = id;
                entry
            };
            let ids: Vec<String> = listed.iter().map(|session| session.id.clone()).collect();
            choices::sessions(listed, all).into_iter().zip(&ids).map(|(entry, id)| named(entry, id)).collect()
        }
        Topic::Tree(_) => {
            let tree = blocking(|control| choosing::tree(control, TreeFilter::NoTools));
            tree.await.map_err(|panic| panic.to_string())??
        }
        Topic::Branch => {
            let points = blocking(|control| control.branch_points().map(choices::branches));
            points.await.map_err(|panic| panic.to_string())??
        }
        _ => Vec::new(),
    };
    Ok(Choices::new(topic.title(), entries))
}

/// Returns the name of an entry without symbols; for an entry of the tree, with its role.
fn name(entry: &Entry<Choice>) -> String {
    let plain = entry.name.trim_start_matches(['●', ' ']);
    match (&entry.choice, plain.split_once(' ')) {
        (Choice::Place(_), Some(("›", prompt))) => format!("You: {prompt}"),
        (Choice::Place(_), Some(("!", command))) => format!("You ran: {command}"),
        (Choice::Place(_), Some(("⋯", what))) => what.to_string(),
        (Choice::Place(_), _) => format!("Assistant: {plain}"),
        _ => plain.to_string(),
    }
}

/// Returns the text of an entry without symbols.
fn about(text: &str) -> String {
    let text = match text.strip_prefix('●') {
        Some("") => "in use".to_string(),
        Some(rest) => format!("set to {}", rest.trim_start()),
        None => text.trim().to_string(),
    };
    text.split(" · ").map(str::trim).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Choices {
        let choice = |at| Choice::Model { provider: "p".into(), id: format!("m{at}") };
        Choices::new("Which model answers?", (0..60).map(|at| Entry::new(format!("m{at}"), "", choice(at))).collect())
    }

    #[test]
    fn a_list_entry_is_chosen_by_its_printed_number() {
        let words = list().words();
        assert!(words.starts_with("Which model answers: 60\n1. m0\n"), "{words}");
        for line in words.lines() {
            if let Some((number, name)) = line.split_once(". ") {
                let expect = Choice::Model { provider: "p".into(), id: name.into() };
                assert_eq!(list().chosen(number), Some(expect));
                assert_eq!(list().chosen(name), list().chosen(number));
            }
        }
        // Entries that were not printed cannot be selected by a number.
        assert_eq!(list().chosen("51"), None);
        assert!(list().chosen("m55").is_some());
        assert_eq!(list().chosen("hello"), None);
    }

    #[test]
    fn entries_are_printed_without_symbols() {
        let place = |name: &str| name_of(name, Choice::Place("a".into()));
        fn name_of(text: &str, choice: Choice) -> String {
            name(&Entry::new(text, "", choice))
        }
        assert_eq!(place("● › why?"), "You: why?");
        assert_eq!(place("      so"), "Assistant: so");
        assert_eq!(name_of("gpt", Choice::Nothing), "gpt");
        assert_eq!(about("● false · Attempts are made."), "set to false, Attempts are made.");
        assert_eq!(about("●"), "in use");
        assert_eq!(about("on  · run a command"), "on, run a command");
    }
}
