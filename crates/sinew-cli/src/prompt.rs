//! What the user said: words, standard input, files.

use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sinew_llm::message::{AgentMessage, Content, FileMention, ImageBlock, MentionedFile, UserMessage};

use crate::args::Args;
use crate::config::Environment;
use crate::failure::Failure;

/// Bytes of standard input at most.
const STDIN: u64 = 10 * 1024 * 1024;
/// What is attached of a text file, as the tool `read` would show it.
const LINES: usize = 2_000;
const BYTES: usize = 50 * 1024;
/// Bytes of a picture at most, as providers take them.
const PICTURE: usize = 3_500_000;

/// One list of messages for each prompt, in the order in which they run, and warnings.
pub(crate) struct Prompts {
    pub(crate) prompts: Vec<Vec<AgentMessage>>,
    pub(crate) warnings: Vec<String>,
}

/// Reads standard input where it is no terminal, and the files behind `@`.
///
/// # Errors
/// Nothing was said, or standard input cannot be read or is too long.
pub(crate) fn read(args: &Args, environment: &Environment, cwd: &Path, now: i64) -> Result<Prompts, Failure> {
    let mut warnings = Vec::new();
    let mut files = Vec::new();
    let mut words = Vec::new();
    for word in &args.words {
        match word.strip_prefix('@').filter(|path| !path.is_empty()) {
            Some(path) => match attach(cwd, path) {
                Ok(file) => files.push(file),
                Err(reason) => {
                    warnings.push(format!("@{path}: {reason}"));
                    words.push(word.clone());
                }
            },
            None => words.push(word.clone()),
        }
    }
    let piped = if environment.stdin { String::new() } else { stdin()? };
    let piped = piped.trim_end();
    if !piped.is_empty() {
        match words.first_mut() {
            Some(first) => *first = format!("{piped}\n\n{first}"),
            None => words.push(piped.to_string()),
        }
    }
    words.retain(|word| !word.trim().is_empty());
    if words.is_empty() {
        return Err(Failure::usage("No prompt given."));
    }
    let said = |text: String| AgentMessage::User(UserMessage { content: Content::Text(text), timestamp: now });
    let mut prompts: Vec<Vec<AgentMessage>> = words.into_iter().map(|text| vec![said(text)]).collect();
    if !files.is_empty()
        && let Some(first) = prompts.first_mut()
    {
        first.insert(0, AgentMessage::FileMention(FileMention { files, timestamp: now }));
    }
    Ok(Prompts { prompts, warnings })
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

fn attach(cwd: &Path, path: &str) -> Result<MentionedFile, String> {
    let whole = cwd.join(path);
    let failed = |error: std::io::Error| error.to_string();
    if whole.is_dir() {
        let mut names: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(&whole).map_err(failed)?.flatten() {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
        }
        names.sort();
        return Ok(text_file(path, &names.join("\n")));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&whole).map_err(failed)?;
    file.take(PICTURE as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if let Some(mime_type) = picture(&bytes) {
        if bytes.len() > PICTURE {
            return Err(format!("the picture is larger than {PICTURE} bytes"));
        }
        let image = Some(ImageBlock { data: STANDARD.encode(&bytes), mime_type: mime_type.into() });
        return Ok(MentionedFile { path: path.into(), image, ..MentionedFile::default() });
    }
    if bytes.iter().take(8_192).any(|byte| *byte == 0) {
        return Err("it is neither a text nor a picture".into());
    }
    Ok(text_file(path, &String::from_utf8_lossy(&bytes)))
}

fn text_file(path: &str, text: &str) -> MentionedFile {
    let line_count = text.lines().count();
    let mut end = 0;
    for line in text.split_inclusive('\n').take(LINES) {
        if end + line.len() > BYTES {
            break;
        }
        end += line.len();
    }
    let mut content = text[..end].to_string();
    if end < text.len() {
        let shown = content.lines().count();
        content.push_str(&format!("[{shown} of {line_count} lines are attached; read the file for the rest]\n"));
    }
    MentionedFile { path: path.into(), content, line_count: line_count as u64, image: None }
}

fn picture(bytes: &[u8]) -> Option<&'static str> {
    const STARTS: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"RIFF", "image/webp"),
    ];
    let (_, kind) = STARTS.iter().find(|(start, _)| bytes.starts_with(start))?;
    (*kind != "image/webp" || bytes.get(8..12) == Some(b"WEBP")).then_some(*kind)
}
