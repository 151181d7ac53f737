//! Reads the prompt of a command line: its words, standard input and named files.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use sinew::base::{CancelHandle, CancelToken, read_limited};
use sinew_agent::extension::Context;
use sinew_agent::mcp::Manager;
use sinew_agent::resource::{Attacher, Commands, Prompt, PromptInputs, ResourceFolders, Resources};
use sinew_control::app::{App, OpenSession};
use sinew_control::args::Args;
use sinew_control::config::Environment;
use sinew_control::failure::Failure;
use sinew_llm::message::{AgentMessage, FileMention, MentionedFile};
use sinew_session::clock::Clock;
use sinew_tools::{Host, ImageSettings};

/// The maximum size of standard input in bytes.
const STDIN: u64 = 10 * 1024 * 1024;
/// The time after which a silent standard input is ignored, because the parent process may never close it.
const SILENCE: Duration = Duration::from_secs(3);
const SILENT: &str =
    "Standard input is open, but nothing arrived for 3 seconds: continuing without it. Use --stdin to wait.";

/// The unprocessed prompt.
pub(crate) struct PromptInput {
    /// The positional arguments: words of the prompt, or `@file`.
    words: Vec<String>,
    /// The text from standard input.
    piped: String,
}

impl PromptInput {
    /// Reads the arguments, and standard input unless it is a terminal.
    ///
    /// # Errors
    /// Returns an error if both are empty, or if standard input cannot be read or is too long.
    pub(crate) fn read(args: &Args, environment: &Environment) -> Result<PromptInput, Failure> {
        let piped = if environment.stdin { String::new() } else { stdin(args.run.stdin)? };
        let words: Vec<String> = args.words.iter().filter(|word| !word.trim().is_empty()).cloned().collect();
        let piped = piped.trim_end().to_string();
        if words.is_empty() && piped.is_empty() {
            return Err(Failure::usage("No prompt given."));
        }
        Ok(PromptInput { words, piped })
    }

    /// Returns the words joined by blanks.
    pub(crate) fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// The prompt of a command line.
pub(crate) struct Prompts {
    /// The words joined by blanks; `None` after they were read.
    text: Option<String>,
    /// Data to attach if the prompt is sent to the model; `None` after that.
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
    /// Splits the input into prompt, files and data. Standard input is data: commands and mentions in it have no
    /// effect.
    ///
    /// # Errors
    /// Returns an error if the arguments only name files.
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
                // It becomes a mention, whose errors are reported with those of the other mentions.
                Some(Err(_)) | None => words.push(word),
            }
        }
        if words.is_empty() && prompts.data.is_none() {
            return Err(Failure::usage("No prompt given."));
        }
        // Data without words is a prompt with an empty text.
        prompts.text = Some(words.join(" "));
        Ok(prompts)
    }

    /// Returns the handle that cancels the reading of a prompt.
    pub(crate) fn cancel_handle(&self) -> CancelHandle {
        self.cancel_handle.clone()
    }

    /// Reads the prompt, and warns if its data was not used; returns `None` after the last prompt.
    pub(crate) async fn next(&mut self) -> Option<Prompt> {
        let Some(text) = self.text.take() else {
            let warning = "standard input was not used, because no prompt was sent to the model";
            return self.data.take().map(|_| Prompt { warnings: vec![warning.into()], ..Prompt::default() });
        };
        let now = self.clock.now();
        let mut prompt = {
            let attacher = self.attacher();
            let (commands, resources, context) = (&self.commands, &*self.resources, &self.context);
            let reading = PromptInputs { commands, resources, attacher: &attacher, context, now };
            let data = self.data.as_deref().unwrap_or_default();
            match self.mcp.prompt_text(&text).await {
                // Text from a server is not searched for commands or mentions of files.
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

/// Standard input. Says once that it is waiting, if nothing arrives for a while.
struct PatientReader {
    /// The number of bytes so far.
    read: usize,
    has_told: bool,
}

impl Read for PatientReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.has_told && sinew_control::sys::silent(SILENCE) {
            self.has_told = true;
            sinew_control::output::tell(&format!(
                "Waiting for the end of standard input ({} bytes so far).",
                self.read
            ));
        }
        let count = sinew_control::sys::read_stdin(buffer)?;
        self.read += count;
        Ok(count)
    }
}

/// Reads standard input to its end. Unless `waits` is set, gives up if nothing arrives at first.
fn stdin(waits: bool) -> Result<String, Failure> {
    if !waits && sinew_control::sys::silent(SILENCE) {
        sinew_control::output::tell(SILENT);
        return Ok(String::new());
    }
    let read = read_limited(PatientReader { read: 0, has_told: waits }, STDIN);
    let bytes = read
        .map_err(|error| Failure::usage(format!("failed to read standard input: {error}")))?
        .ok_or_else(|| Failure::usage("standard input is larger than 10 MB: pass a file with @path instead"))?;
    Ok(decode(&bytes))
}

/// Returns standard input as text: UTF-16 if it begins with that byte order mark, otherwise UTF-8. Marks are removed.
fn decode(bytes: &[u8]) -> String {
    sinew::base::utf16_file_text(bytes)
        .unwrap_or_else(|| String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).into_owned())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn standard_input_is_decoded_by_its_byte_order_mark() {
        for bytes in [&b"\xff\xfeh\0i\0"[..], b"\xfe\xff\0h\0i", b"\xef\xbb\xbfhi", b"hi"] {
            assert_eq!(decode(bytes), "hi", "{bytes:?}");
        }
    }
}
