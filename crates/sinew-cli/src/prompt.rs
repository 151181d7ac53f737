//! The prompt of a command line: its words, standard input and named files.

use std::sync::Arc;
use std::time::Duration;

use sinew::base::{CancelHandle, CancelToken, read_limited};
use sinew_agent::extension::Context;
use sinew_agent::mcp::Manager;
use sinew_agent::resource::{Attacher, Commands, Prompt, Reading, ResourceFolders, Resources};
use sinew_llm::message::{AgentMessage, FileMention, MentionedFile};
use sinew_session::clock::Clock;
use sinew_tools::{Host, ImageSettings};

use crate::app::{App, OpenSession};
use crate::args::Args;
use crate::config::Environment;
use crate::failure::Failure;

/// Bytes of standard input at most.
const STDIN: u64 = 10 * 1024 * 1024;
/// The time of silence on standard input after which it is not waited for: the program that started this one may never
/// close it.
const SILENCE: Duration = Duration::from_secs(3);
const SILENT: &str =
    "Standard input is open, but nothing came for 3 seconds: continuing without it. Use --stdin to wait.";

/// The prompt as it was given, before anything is looked for in it.
pub(crate) struct PromptInput {
    /// Words of the command line: of the prompt, or each an `@file`.
    words: Vec<String>,
    /// The text of standard input.
    piped: String,
}

impl PromptInput {
    /// Takes the words, and reads standard input unless it is a terminal.
    ///
    /// # Errors
    /// Both are empty, or standard input cannot be read or is too long.
    pub(crate) fn read(args: &Args, environment: &Environment) -> Result<PromptInput, Failure> {
        let piped = if environment.stdin { String::new() } else { stdin(args.run.stdin)? };
        let words: Vec<String> = args.words.iter().filter(|word| !word.trim().is_empty()).cloned().collect();
        let piped = piped.trim_end().to_string();
        if words.is_empty() && piped.is_empty() {
            return Err(Failure::usage("No prompt given."));
        }
        Ok(PromptInput { words, piped })
    }

    /// The words, a blank between them.
    pub(crate) fn text(&self) -> String {
        self.words.join(" ")
    }
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
    folders: ResourceFolders,
    images: ImageSettings,
    host: Arc<Host>,
    context: Context,
    clock: Arc<dyn Clock>,
    mcp: Arc<Manager>,
    cancel_handle: CancelHandle,
    cancel: CancelToken,
}

impl Prompts {
    /// Takes the input apart. Standard input is data: no command and no mention counts in it.
    ///
    /// # Errors
    /// Only files were named.
    pub(crate) fn new(
        input: PromptInput,
        app: &App,
        open: &OpenSession,
        warnings: &mut Vec<String>,
    ) -> Result<Prompts, Failure> {
        let loaded = app.resources();
        let (commands, doubled) = app.commands();
        warnings.extend(doubled.iter().map(|name| format!("/{name}: another command has this name already")));
        let (cancel_handle, cancel) = CancelHandle::new();
        let mut prompts = Prompts {
            text: None,
            data: Some(input.piped).filter(|piped| !piped.is_empty()),
            files: Vec::new(),
            commands,
            resources: Arc::clone(&loaded.resources),
            folders: loaded.options.folders.clone(),
            images: loaded.images,
            host: Arc::clone(&open.host),
            context: app.context(&open.agent),
            clock: Arc::clone(&app.clock),
            mcp: Arc::clone(&app.mcp),
            cancel_handle,
            cancel,
        };
        let mut words = Vec::new();
        for word in input.words {
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

    /// Ends the reading of a prompt at once.
    pub(crate) fn cancel_handle(&self) -> CancelHandle {
        self.cancel_handle.clone()
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
            match self.mcp.prompt_text(&text).await {
                // Nothing of what a server writes is a command or a mention of a file.
                Some(Ok(written)) => {
                    reading.data(&if data.is_empty() { written } else { format!("{data}\n\n{written}") })
                }
                Some(Err(why)) => Prompt { warnings: vec![why], ..Prompt::default() },
                None if text.is_empty() => reading.data(data),
                None => reading.read(&text, data).await,
            }
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
        Attacher { folders: &self.folders, images, cancel, host: Some(&self.host) }
    }
}

/// Reads standard input to its end, unless nothing comes at first and `waits` is false.
fn stdin(waits: bool) -> Result<String, Failure> {
    if !waits && crate::sys::silent(SILENCE) {
        crate::output::tell(SILENT);
        return Ok(String::new());
    }
    let read = read_limited(std::io::stdin().lock(), STDIN);
    let bytes = read
        .map_err(|error| Failure::usage(format!("failed to read standard input: {error}")))?
        .ok_or_else(|| Failure::usage("standard input holds more than 10 MB: pass a file by @path instead"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
