//! What the user said: words, standard input, files.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use sinew::base::{Cancel, Canceller};
use sinew_agent::clock::Clock;
use sinew_agent::extension::{Context, Extension};
use sinew_agent::resource::{Attacher, Commands, Places, Prompt, Reading, Resources};
use sinew_agent::tools::{Host, ImageSettings};
use sinew_llm::message::{AgentMessage, FileMention, MentionedFile};

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

/// The prompts of a command line, in the order in which they run. Each is read when its turn has come: an earlier one
/// may change the files that it mentions.
pub(crate) struct Prompts {
    texts: VecDeque<String>,
    /// Goes with the first prompt that says something to the model; none: it went.
    data: Option<String>,
    files: Vec<MentionedFile>,
    commands: Commands,
    resources: Arc<Resources>,
    places: Places,
    images: ImageSettings,
    host: Arc<Host>,
    context: Context,
    clock: Arc<dyn Clock>,
    canceller: Canceller,
    cancel: Cancel,
}

impl Prompts {
    /// Takes what was said apart. Standard input is data: no command and no mention counts in it.
    ///
    /// # Errors
    /// Nothing but files was named.
    pub(crate) fn new(
        said: Said,
        loaded: &Loaded,
        extensions: &[Arc<dyn Extension>],
        host: &Arc<Host>,
        context: Context,
        clock: &Arc<dyn Clock>,
        warnings: &mut Vec<String>,
    ) -> Result<Prompts, Failure> {
        let (commands, doubled) = Commands::new(extensions);
        warnings.extend(doubled.iter().map(|name| format!("/{name}: another command has this name already")));
        let (canceller, cancel) = Canceller::new();
        let mut prompts = Prompts {
            texts: VecDeque::new(),
            data: Some(said.piped).filter(|piped| !piped.is_empty()),
            files: Vec::new(),
            commands,
            resources: Arc::clone(&loaded.resources),
            places: loaded.options.places.clone(),
            images: loaded.images,
            host: Arc::clone(host),
            context,
            clock: Arc::clone(clock),
            canceller,
            cancel,
        };
        // As a text it is a mention, and what is wrong with it is told with the other mentions.
        let mut unread = String::new();
        for word in said.words {
            let path = word.strip_prefix('@').filter(|path| !path.is_empty());
            match path.map(|path| prompts.attacher().one(path)) {
                Some(Ok(file)) => prompts.files.push(file),
                Some(Err(_)) => unread = format!("{unread} {word}"),
                None => prompts.texts.push_back(word + &std::mem::take(&mut unread)),
            }
        }
        match prompts.texts.back_mut() {
            Some(last) => last.push_str(&unread),
            None if !unread.is_empty() => prompts.texts.push_back(unread.trim_start().to_string()),
            None => {}
        }
        if prompts.texts.is_empty() {
            if prompts.data.is_none() {
                return Err(Failure::usage("No prompt given."));
            }
            // Data alone is a prompt of its own: one without words.
            prompts.texts.push_back(String::new());
        }
        Ok(prompts)
    }

    /// What ends the reading of a prompt at once.
    pub(crate) fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Reads the next prompt; none when all have been read.
    pub(crate) async fn next(&mut self) -> Option<Prompt> {
        let Some(text) = self.texts.pop_front() else {
            let warning = "standard input was not used: no prompt went to the model";
            return self.data.take().map(|_| Prompt { warnings: vec![warning.into()], ..Prompt::default() });
        };
        let now = self.clock.now();
        let mut prompt = {
            let attacher = self.attacher();
            let (commands, resources, context) = (&self.commands, &*self.resources, &self.context);
            let reading = Reading { commands, resources, attacher: &attacher, context, now };
            let data = self.data.as_deref().unwrap_or_default();
            if text.is_empty() { reading.data(data) } else { reading.read(&text, data).await }
        };
        if !prompt.messages.is_empty() {
            self.data = None;
            if !self.files.is_empty() {
                let files = std::mem::take(&mut self.files);
                prompt.messages.insert(0, AgentMessage::FileMention(FileMention { files, timestamp: now }));
            }
        }
        Some(prompt)
    }

    fn attacher(&self) -> Attacher<'_> {
        let (images, cancel) = (self.images, self.cancel.clone());
        Attacher { places: &self.places, images, cancel, host: Some(&self.host) }
    }
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
