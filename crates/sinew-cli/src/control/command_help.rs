//! Formats `/help` for people: all commands, in groups.

use std::fmt::Write;

use super::Control;
use super::commands::{COMMANDS, Row, SharedCommand, Verb};

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

/// Lists all commands of the interactive mode in groups, followed by those of the project and of extensions.
pub(crate) fn help_for_person(control: &Control) -> String {
    let mut out = String::new();
    for (group, title) in Group::ALL {
        section(&mut out, title, COMMANDS.iter().filter(|row| Group::of(row.verb) == group).map(line));
    }
    let listed = control.listed_commands().into_iter();
    section(
        &mut out,
        "Skills, templates and extensions",
        listed.map(|row| (format!("/{}", row.name), row.description)),
    );
    out.trim_end().to_string()
}

fn line(row: &Row) -> (String, String) {
    (format!("/{} {}", row.name, row.arguments), row.help.to_string())
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
