//! The context that the model sees at a leaf: the messages of its path after the last compaction, and the state that
//! the path has set.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use sinew_llm::message::{AgentMessage, Block, BranchSummary, CompactionSummary, Content, CustomMessage, ImageBlock};

use super::blob::Blobs;
use super::custom;
use super::entry::{Body, Entry, Kind};
use super::tree::{EntryLocation, Tree};
use crate::clock;

/// The maximum number of messages in a context: more do not fit any model, and a file with millions of messages must
/// not fill the memory.
const MOST_MESSAGES: usize = 50_000;
/// The maximum size of their lines in bytes.
const MOST_BYTES: u64 = 128 << 20;
/// The number of entries read at a time.
const BATCH: usize = 4_096;

/// The values for settings that the path does not contain.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// `off` to `xhigh`.
    pub thinking_level: String,
}

/// The conversation at a leaf.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// The messages for the model, oldest first.
    pub messages: Vec<AgentMessage>,
    /// The entry of each message; empty for the summary of a compaction.
    pub entry_ids: Vec<String>,
    /// The thinking level on the path, or the default.
    pub thinking_level: String,
    /// `provider/id` by role. `default` falls back to the model of the last answer.
    pub models: BTreeMap<String, String>,
    /// The service tier; `None` if none was set.
    pub service_tier: Option<String>,
    /// The rules that were added to the context.
    pub injected_rules: Vec<String>,
    /// `plan` or `none`; `None` if it was never set.
    pub mode: Option<String>,
    /// The enabled tools of MCP servers; `None` if they were never selected.
    pub mcp_tools: Option<Vec<String>>,
    /// The prefix of requests that MCP servers add; `None` if there is none.
    pub mcp_front: Option<Value>,
    /// The number of the branch's oldest messages that were excluded because there are too many.
    pub left_out: usize,
    /// The names of missing images, without duplicates.
    pub missing_images: Vec<String>,
}

impl Context {
    /// Returns a warning about missing content; `None` if the context is complete.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let messages = (self.left_out > 0).then(|| {
            let (left_out, kept) = (self.left_out, self.messages.len());
            format!("this session is too long for any model: it sees the newest {kept} messages, and not the {left_out} before them")
        });
        match (messages, self.picture_warning()) {
            (Some(messages), Some(pictures)) => Some(format!("{messages}; {pictures}")),
            (messages, pictures) => messages.or(pictures),
        }
    }

    fn picture_warning(&self) -> Option<String> {
        // In a damaged file the name of an image may be long.
        let first: String = self.missing_images.first()?.chars().take(80).collect();
        let what = match self.missing_images.len() {
            1 => format!("a picture of this session is missing, {first}"),
            count => format!("{count} pictures of this session are missing, the first is {first}"),
        };
        Some(format!("{what}: the model reads {MISSING} in its place"))
    }
}

/// Reads the required entries of `leaf`'s path with `read`, which returns entries in the order of their nodes, and
/// builds the context.
pub(super) fn build<I: Iterator<Item = Entry>, E>(
    tree: &Tree,
    leaf: Option<usize>,
    defaults: &Defaults,
    blobs: Option<&Blobs>,
    read: impl Fn(&[usize]) -> Result<I, E>,
) -> Result<Context, E> {
    let path = tree.path(leaf);
    let mut context = Context { thinking_level: defaults.thinking_level.clone(), ..Context::default() };
    let compaction = path.iter().rposition(|&at| tree.nodes[at].kind == Kind::Compaction);
    // Entries before the first kept one are never read, so a long session opens as fast as a short one.
    let mut kept = 0;
    if let Some(at) = compaction {
        for Entry { timestamp, body, .. } in read(&path[at..=at])? {
            let Body::Compaction { summary, first_kept_entry_id, tokens_before, .. } = body else { continue };
            let first = path[..at].iter().position(|&at| *tree.nodes[at].id == *first_kept_entry_id);
            kept = first.unwrap_or(at + 1);
            let timestamp = clock::from_iso(&timestamp).unwrap_or_default();
            let summary = CompactionSummary { summary, tokens_before, timestamp };
            context.messages.push(AgentMessage::CompactionSummary(summary));
            context.entry_ids.push(String::new());
        }
    }
    let counts = |(position, at): (usize, &usize)| {
        let kind = tree.nodes[*at].kind;
        (kind == Kind::State || kind.is_message() && position >= kept).then_some(*at)
    };
    let mut wanted: Vec<usize> = path.iter().enumerate().filter_map(counts).collect();
    context.left_out = leave_out(tree, &mut wanted);
    let mut pruned: HashMap<String, Option<u64>> = HashMap::new();
    let mut answered_by: Option<(String, String)> = None;
    let messages = wanted.iter().filter(|&&at| tree.nodes[at].kind.is_message()).count();
    context.messages.reserve(messages);
    context.entry_ids.reserve(messages);
    // A conversation has to begin with a user message, even if its beginning was excluded.
    let mut begun = context.left_out == 0;
    for batch in wanted.chunks(BATCH) {
        for (entry, at) in read(batch)?.zip(batch) {
            if tree.nodes[*at].kind == Kind::State {
                state(entry.body, &mut context, &mut pruned);
                continue;
            }
            let Some((id, message)) = message(entry) else { continue };
            begun |= matches!(message, AgentMessage::User(_));
            if !begun {
                context.left_out += 1;
                continue;
            }
            if let AgentMessage::Assistant(answer) = &message
                && answered_by
                    .as_ref()
                    .is_none_or(|(provider, model)| (provider, model) != (&answer.provider, &answer.model))
            {
                answered_by = Some((answer.provider.clone(), answer.model.clone()));
            }
            context.messages.push(message);
            context.entry_ids.push(id);
        }
    }
    if let Some((provider, model)) = answered_by {
        context.models.entry("default".into()).or_insert_with(|| format!("{provider}/{model}"));
    }
    for message in &mut context.messages {
        if let AgentMessage::ToolResult(result) = message
            && let Some(kept) = pruned.get(&result.tool_call_id)
        {
            let content = &mut Arc::make_mut(result).content;
            match kept {
                Some(kept) => shorten(content, usize::try_from(*kept).unwrap_or(usize::MAX)),
                None => {
                    let tokens = content.iter().map(tokens_of).sum::<usize>();
                    *content = vec![Block::text(format!("[Output truncated - {tokens} tokens]"))];
                }
            }
        }
        for reference in images(message, blobs) {
            if !context.missing_images.contains(&reference) {
                context.missing_images.push(reference);
            }
        }
    }
    Ok(context)
}

/// Removes the oldest messages from `wanted` if there are too many; returns their number. Entries that set state are
/// kept.
fn leave_out(tree: &Tree, wanted: &mut Vec<usize>) -> usize {
    let (mut messages, mut bytes) = (0, 0);
    let last = wanted.iter().rposition(|&at| {
        let node = &tree.nodes[at];
        if let (true, EntryLocation::Disk { length, .. }) = (node.kind.is_message(), &node.place) {
            messages += 1;
            bytes += u64::from(*length);
        }
        // The newest message is always included.
        messages > 1 && (messages > MOST_MESSAGES || bytes > MOST_BYTES)
    });
    let Some(last) = last else { return 0 };
    let settings: Vec<usize> =
        wanted[..=last].iter().copied().filter(|&at| !tree.nodes[at].kind.is_message()).collect();
    let left_out = last + 1 - settings.len();
    wanted.splice(..=last, settings);
    left_out
}

fn state(body: Body, context: &mut Context, pruned: &mut HashMap<String, Option<u64>>) {
    match body {
        Body::ThinkingLevelChange { thinking_level } => context.thinking_level = thinking_level,
        Body::ModelChange { model, role, .. } => {
            context.models.insert(role.unwrap_or_else(|| "default".into()), model);
        }
        Body::ServiceTierChange { service_tier } => context.service_tier = service_tier,
        Body::TtsrInjection { injected_rules } => context.injected_rules.extend(injected_rules),
        Body::ModeChange { mode, .. } => context.mode = Some(mode),
        Body::McpToolSelection { selected_tool_names, front } => {
            (context.mcp_tools, context.mcp_front) = (Some(selected_tool_names), front);
        }
        Body::Prune { tool_call_ids, kept_bytes, .. } => {
            for id in tool_call_ids {
                let kept = pruned.entry(id).or_insert(kept_bytes);
                // A result can only become shorter.
                *kept = kept.zip(kept_bytes).map(|(old, new)| old.min(new));
            }
        }
        _ => {}
    }
}

impl Entry {
    /// Returns the message of the entry; `None` for an entry that only sets state, and for a compaction.
    #[must_use]
    pub fn into_message(self) -> Option<AgentMessage> {
        message(self).map(|(_, message)| message)
    }
}

/// Returns the message of an entry with the entry's id.
fn message(entry: Entry) -> Option<(String, AgentMessage)> {
    let Entry { id, timestamp, body, .. } = entry;
    let timestamp = || clock::from_iso(&timestamp).unwrap_or_default();
    let message = match body {
        Body::Message { message } => message,
        Body::BranchSummary { summary, from_id, .. } => {
            AgentMessage::BranchSummary(BranchSummary { summary, from_id, timestamp: timestamp() })
        }
        Body::CustomMessage { custom_type, content, display, details, attribution } => {
            let timestamp = timestamp();
            custom::to_message(CustomMessage { custom_type, content, display, details, attribution, timestamp })
        }
        _ => return None,
    };
    Some((id, message))
}

/// Cuts the middle out of the texts of a result, so that `bytes` remain in total.
fn shorten(content: &mut [Block], bytes: usize) {
    let texts = content.iter().filter(|block| matches!(block, Block::Text(_))).count();
    let bytes = bytes / texts.max(1);
    for block in content {
        let Block::Text(text) = block else { continue };
        let text = &mut text.text;
        let (head, tail) =
            (text.floor_char_boundary(bytes / 3 * 2), text.ceil_char_boundary(text.len().saturating_sub(bytes / 3)));
        if head < tail {
            let note = format!(
                "\n[{} bytes are left out here: the conversation was too long for the model. Ask for a smaller part.]\n",
                tail - head
            );
            if note.len() < tail - head {
                text.replace_range(head..tail, &note);
            }
        }
    }
}

fn tokens_of(block: &Block) -> usize {
    match block {
        Block::Text(text) => text.text.len().div_ceil(4),
        Block::Image(_) => 1_200,
        _ => 0,
    }
}

/// Replaces image references by the images; returns the references of missing ones.
pub(super) fn images(message: &mut AgentMessage, blobs: Option<&Blobs>) -> Vec<String> {
    let mut missing = Vec::new();
    let blocks = match message {
        AgentMessage::User(user) => match &mut Arc::make_mut(user).content {
            Content::Blocks(blocks) => blocks,
            Content::Text(_) => return missing,
        },
        AgentMessage::Custom(CustomMessage { content: Content::Blocks(blocks), .. }) => blocks,
        AgentMessage::Assistant(answer) => &mut Arc::make_mut(answer).content,
        AgentMessage::ToolResult(result) => &mut Arc::make_mut(result).content,
        AgentMessage::FileMention(mention) => {
            for file in &mut mention.files {
                if let Some(gone) = file.image.as_mut().and_then(|image| restore(image, blobs)) {
                    missing.push(gone);
                    file.image = None;
                    file.content = MISSING.into();
                }
            }
            return missing;
        }
        _ => return missing,
    };
    for block in blocks {
        if let Block::Image(image) = block
            && let Some(gone) = restore(image, blobs)
        {
            missing.push(gone);
            *block = Block::text(MISSING);
        }
    }
    missing
}

const MISSING: &str = "[image missing]";

/// Replaces an image reference by the image; returns the reference if the image is missing.
fn restore(image: &mut ImageBlock, blobs: Option<&Blobs>) -> Option<String> {
    if !image.data.starts_with("blob:") {
        return None;
    }
    match blobs.and_then(|blobs| blobs.base64(&image.data)) {
        Some(data) => {
            image.data = data;
            None
        }
        None => Some(std::mem::take(&mut image.data)),
    }
}
