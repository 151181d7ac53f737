//! Prompts of servers as slash commands: `/mcp:<server>:<prompt> key=value …`.

use serde_json::{Map, Value};
use sinew_mcp::model::ResourceBody;
use sinew_mcp::{CallOptions, Content, Definition, McpError};

use super::manager::Manager;

/// A prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPrompt {
    /// `mcp:<server>:<prompt>`, without the slash.
    pub command: String,
    /// A one-line description.
    pub description: String,
    /// The arguments: `text=… [style=…]`.
    pub hint: Option<String>,
}

impl Manager {
    /// Returns the known prompts, in the order of the files.
    #[must_use]
    pub fn prompts(&self) -> Vec<ListedPrompt> {
        let known = self.known();
        known
            .iter()
            .flat_map(|(server, known)| known.prompts.iter().map(move |prompt| listed(server, prompt)))
            .collect()
    }

    /// Returns the text of a prompt if `text`, which the user typed, is a command for one.
    ///
    /// # Errors
    /// Returns a sentence for the user if the server or prompt does not exist, an argument is missing, or the server
    /// fails.
    pub async fn prompt_text(&self, text: &str) -> Option<Result<String, String>> {
        let rest = text.trim_start().strip_prefix("/mcp:")?;
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (server, prompt) = name.split_once(':')?;
        Some(self.prompt_of(server, prompt, arguments).await)
    }

    async fn prompt_of(&self, server: &str, prompt: &str, arguments: &str) -> Result<String, String> {
        let config = self
            .config(server)
            .ok_or_else(|| format!("/mcp:{server}:{prompt}: unknown server; known: {}", self.names().join(", ")))?;
        let arguments = read_arguments(arguments).map_err(|reason| format!("/mcp:{server}:{prompt}: {reason}"))?;
        let connection = self.connect(server).await?;
        let options = CallOptions { times: config.times, progress: None };
        let messages = connection.get_prompt(prompt, arguments, &options).await.map_err(|error| match error {
            McpError::Rpc(error) => format!("/mcp:{server}:{prompt}: {}", error.message),
            error => error.to_string(),
        })?;
        let mut text = String::new();
        for message in messages {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            // Messages with the role `user` need no label, because the whole text is sent as the user's.
            if message.role != "user" {
                text.push_str(&format!("{}: ", message.role));
            }
            text.push_str(&content_text(message.content));
        }
        match text.trim().is_empty() {
            true => Err(format!("/mcp:{server}:{prompt}: the prompt is empty")),
            false => Ok(text),
        }
    }
}

fn listed(server: &str, prompt: &Definition) -> ListedPrompt {
    let value = prompt.value();
    let about = [&value["description"], &value["title"]].into_iter().find_map(Value::as_str).unwrap_or_default();
    let arguments = value["arguments"].as_array().into_iter().flatten().filter_map(|argument| {
        let name = argument["name"].as_str()?;
        Some(if argument["required"] == true { format!("{name}=…") } else { format!("[{name}=…]") })
    });
    let hint = arguments.collect::<Vec<_>>().join(" ");
    ListedPrompt {
        command: format!("mcp:{server}:{}", prompt.name),
        description: about.lines().next().unwrap_or_default().to_string(),
        hint: (!hint.is_empty()).then_some(hint),
    }
}

fn content_text(content: Content) -> String {
    match content {
        Content::Text(text) => text,
        Content::Resource(resource) => match resource.body {
            ResourceBody::Text(text) => format!("[resource {}]\n{text}", resource.uri),
            ResourceBody::Blob(_) => format!("[resource {} ({})]", resource.uri, resource.mime),
        },
        Content::Image { mime, .. } => format!("[picture {mime}]"),
        Content::Audio { mime, .. } => format!("[audio {mime}]"),
        Content::Link { uri, .. } => format!("[resource {uri}]"),
        Content::Other(kind) => format!("[content of the unknown type {kind:?}]"),
    }
}

/// Parses `key=value key="two words"`. A backslash escapes the next character.
fn read_arguments(text: &str) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    let mut letters = text.trim().chars().peekable();
    while letters.peek().is_some() {
        let (mut word, mut quote) = (String::new(), None);
        let mut equals = None;
        while let Some(letter) = letters.next() {
            match (letter, quote) {
                ('\\', _) => word.extend(letters.next()),
                ('"' | '\'', None) => quote = Some(letter),
                (letter, Some(open)) if letter == open => quote = None,
                (letter, None) if letter.is_whitespace() => break,
                ('=', None) if equals.is_none() => {
                    equals = Some(word.len());
                    word.push('=');
                }
                (letter, _) => word.push(letter),
            }
        }
        if quote.is_some() {
            return Err("a quote is not closed".into());
        }
        if word.is_empty() {
            continue;
        }
        let Some(at) = equals.filter(|at| *at > 0) else {
            return Err(format!("{word:?} is not an argument; write key=value, and quote values with spaces"));
        };
        arguments.insert(word[..at].to_string(), word[at + 1..].into());
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let read = read_arguments(text).map(|arguments| Value::from(arguments).to_string());
        assert_eq!(read.unwrap_or_else(|reason| reason), expect, "{text}");
    }

    #[test]
    fn arguments_are_parsed_and_invalid_ones_reported() {
        check("", "{}");
        check("  a=1   b=two ", r#"{"a":"1","b":"two"}"#);
        check(r#"a="two words" b='it"s' c=x\ y d="#, r#"{"a":"two words","b":"it\"s","c":"x y","d":""}"#);
        check("a=b=c", r#"{"a":"b=c"}"#);
        check("a=\"x", "a quote is not closed");
        check("plain", "\"plain\" is not an argument; write key=value, and quote values with spaces");
        check("=x", "\"=x\" is not an argument; write key=value, and quote values with spaces");
    }
}
