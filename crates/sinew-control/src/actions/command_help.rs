//! Formats `/help` for people: all commands, in groups.

use std::fmt::Write;

use super::Control;
use super::commands::{InteractiveForm, Row, SharedCommand, Verb, of_face};

/// The width of the column of names and arguments.
const NAMES: usize = 30;

/// The heading of a group of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Work,
    Conversation,
    Model,
    Project,
    Screen,
    Program,
}

impl Group {
    const ALL: [(Group, &str); 6] = [
        (Group::Work, "Work"),
        (Group::Conversation, "Conversation and sessions"),
        (Group::Model, "Model and cost"),
        (Group::Project, "Project and tools"),
        (Group::Screen, "Terminal"),
        (Group::Program, "Sinew"),
    ];

    fn of(verb: Verb) -> Group {
        match verb {
            Verb::Plan | Verb::Todo | Verb::Jobs | Verb::Cancel | Verb::Background | Verb::Stop => Group::Work,
            Verb::Shared(
                SharedCommand::Undo
                | SharedCommand::Redo
                | SharedCommand::Review
                | SharedCommand::Tasks
                | SharedCommand::Steer,
            ) => Group::Work,
            Verb::New | Verb::Resume | Verb::Tree | Verb::Branch | Verb::Fork | Verb::Label | Verb::Move => {
                Group::Conversation
            }
            Verb::Handoff | Verb::Copy | Verb::Dump | Verb::Transcript | Verb::Share | Verb::Stash => {
                Group::Conversation
            }
            Verb::Shared(
                SharedCommand::Name | SharedCommand::Compact | SharedCommand::Export | SharedCommand::Session,
            ) => Group::Conversation,
            Verb::Model | Verb::Thinking | Verb::Login | Verb::Logout => Group::Model,
            Verb::Shared(SharedCommand::Usage | SharedCommand::Context) => Group::Model,
            Verb::Tools | Verb::Trust | Verb::Reload => Group::Project,
            Verb::Shared(SharedCommand::Skills | SharedCommand::Rules | SharedCommand::Mcp | SharedCommand::Agents) => {
                Group::Project
            }
            Verb::Hotkeys | Verb::Theme | Verb::Raw | Verb::Redraw | Verb::Record | Verb::Vim | Verb::Status => {
                Group::Screen
            }
            Verb::Settings | Verb::Debug | Verb::Shared(SharedCommand::Help | SharedCommand::Quit) => Group::Program,
        }
    }
}

/// Lists the commands of a form of the interactive mode in groups, then those of the project and of extensions. `key`
/// returns the key that does the same as a command.
pub fn help_for_person(control: &Control, face: InteractiveForm, key: &dyn Fn(&Row) -> Option<String>) -> String {
    let mut out = String::new();
    let line = |row: &Row| {
        let key = key(row).map(|key| format!(" ({key})")).unwrap_or_default();
        (format!("/{} {}", row.name, row.arguments), format!("{}{key}", row.help))
    };
    for (group, title) in Group::ALL {
        section(&mut out, title, of_face(face).filter(|row| Group::of(row.verb) == group).map(line));
    }
    let listed = control.listed_commands().into_iter();
    let listed = listed.map(|row| (format!("/{}", row.name), row.description));
    section(&mut out, "Skills, templates and extensions", listed);
    let typed =
        [("!command", "run a command in the shell; !! hides it from the model"), ("@path", "attach a file or folder")];
    section(&mut out, "In a message", typed.into_iter().map(|(name, effect)| (name.to_string(), effect.to_string())));
    out.trim_end().to_string()
}

fn section(out: &mut String, title: &str, rows: impl Iterator<Item = (String, String)>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{title}");
    for (name, help) in rows {
        let _ = writeln!(out, "  {:NAMES$} {help}", name.trim_end());
    }
    out.push('\n');
}
