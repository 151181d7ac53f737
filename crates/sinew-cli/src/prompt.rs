//! The prompt of a command line: its words, standard input and named files.

use std::io::Read;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
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
/// How long standard input may say nothing before the user is told that it is waited for.
const SILENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const WAITING: &str = "Waiting for standard input, which is open and silent: what it says goes before the message. End it \
with Ctrl-D, or start with < /dev/null.";

/// What was said, before anything is looked for in it.
pub(crate) struct Said {
    /// Words of the command line: of the prompt, or each an `@file`.
    words: Vec<String>,
    /// What standard input held.
    piped: String,
}

impl Said {
    /// The words, a blank between them.
    pub(crate) fn text(&self) -> String {
        self.words.join(" ")
    }
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

/// The prompt of a command line, until it is read.
pub(crate) struct Prompts {
    /// The words, a blank between them; none: they were read.
    text: Option<String>,
    /// Goes with the prompt if that says something to the model; none: it went.
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
            text: None,
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
        let mut words = Vec::new();
        for word in said.words {
            let path = word.strip_prefix('@').filter(|path| !path.is_empty());
            match path.map(|path| prompts.attacher().one(path)) {
                Some(Ok(file)) => prompts.files.push(file),
                // As a word it is a mention, and what is wrong with it is told with the other mentions.
                Some(Err(_)) | None => words.push(word),
            }
        }
        if words.is_empty() && prompts.data.is_none() {
            return Err(Failure::usage("No prompt given."));
        }
        // Data alone is a prompt of its own: one without words.
        prompts.text = Some(words.join(" "));
        Ok(prompts)
    }

    /// What ends the reading of a prompt at once.
    pub(crate) fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Reads the prompt, and tells where data is left; none when nothing is.
    pub(crate) async fn next(&mut self) -> Option<Prompt> {
        let Some(text) = self.text.take() else {
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
    let input = std::io::stdin();
    // A signal or a descriptor that cannot be asked is no silence.
    if let Ok(0) = poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&SILENCE)) {
        crate::output::tell(WAITING);
    }
    let read = std::io::stdin().lock().take(STDIN + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("read standard input: {error}")))?;
    if bytes.len() as u64 > STDIN {
        return Err(Failure::usage("standard input holds more than 10 MB: pass a file by @path instead"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
