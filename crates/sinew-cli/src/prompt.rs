//! What the user said: words, standard input, files.

use std::io::Read;
use std::sync::Arc;

use sinew::base::Cancel;
use sinew_agent::extension::{Context, Extension};
use sinew_agent::resource::{Attacher, Commands, Prompt, Reading};
use sinew_llm::message::{AgentMessage, FileMention};

use crate::args::Args;
use crate::config::Environment;
use crate::failure::Failure;
use crate::resources::Loaded;

/// Bytes of standard input at most.
const STDIN: u64 = 10 * 1024 * 1024;

/// What was said, before anything is looked for in it.
pub(crate) struct Said {
    /// Words of the command line, each a prompt or an `@file`.
    words: Vec<String>,
    /// What standard input held.
    piped: String,
}

/// Reads standard input where it is no terminal.
///
/// # Errors
/// Nothing was said, or standard input cannot be read or is too long.
pub(crate) fn read(args: &Args, environment: &Environment) -> Result<Said, Failure> {
    let piped = if environment.stdin { String::new() } else { stdin()? };
    let words: Vec<String> = args.words.iter().filter(|word| !word.trim().is_empty()).cloned().collect();
    let piped = piped.trim_end().to_string();
    if words.is_empty() && piped.is_empty() {
        return Err(Failure::usage("No prompt given."));
    }
    Ok(Said { words, piped })
}

/// Makes prompts of what was said, in the order in which they run. Standard input is data: no command and no mention
/// counts in it.
///
/// # Errors
/// Nothing but files was named.
pub(crate) async fn prompts(
    said: Said,
    loaded: &Loaded,
    extensions: &[Arc<dyn Extension>],
    context: &Context,
    now: i64,
    warnings: &mut Vec<String>,
) -> Result<Vec<Prompt>, Failure> {
    let (commands, doubled) = Commands::new(extensions);
    warnings.extend(doubled.iter().map(|name| format!("/{name}: another command has this name already")));
    let attacher = Attacher { places: &loaded.options.places, images: loaded.images, cancel: Cancel::never() };
    let resources = &loaded.resources;
    let reading = Reading { commands: &commands, resources, attacher: &attacher, context, now };
    let Said { words, piped } = said;
    let mut files = Vec::new();
    let mut texts = Vec::new();
    for word in words {
        let path = word.strip_prefix('@').filter(|path| !path.is_empty());
        match path.map(|path| reading.attacher.one(path)) {
            Some(Ok(file)) => files.push(file),
            // As a text it is a mention, and what is wrong with it is told with the other mentions.
            Some(Err(_)) | None => texts.push(word),
        }
    }
    if texts.is_empty() && piped.is_empty() {
        return Err(Failure::usage("No prompt given."));
    }
    let mut prompts = Vec::with_capacity(texts.len());
    // Data goes with the first prompt that says something to the model.
    let mut before = piped.as_str();
    for text in &texts {
        let prompt = reading.read(text, before).await;
        if !prompt.messages.is_empty() {
            before = "";
        }
        prompts.push(prompt);
    }
    if texts.is_empty() {
        prompts.push(reading.data(before));
    } else if !before.is_empty() {
        warnings.push("standard input was not used: no prompt went to the model".into());
    }
    if let Some(first) = prompts.iter_mut().find(|prompt| !prompt.messages.is_empty())
        && !files.is_empty()
    {
        let mention = FileMention { files, timestamp: now };
        first.messages.insert(0, AgentMessage::FileMention(mention));
    }
    Ok(prompts)
}

fn stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(STDIN + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("read standard input: {error}")))?;
    if bytes.len() as u64 > STDIN {
        return Err(Failure::usage("standard input holds more than 10 MB: pass a file by @path instead"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
