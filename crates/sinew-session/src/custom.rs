//! Messages of extensions, and mentioned files, as entries of the type `custom_message`, so that programs that do not
//! support the role `fileMention` show such files to the model too.

use serde_json::json;
use sinew_llm::message::{AgentMessage, Content, CustomMessage, FileMention, MentionedFile};

use super::entry::Body;

/// The `customType` of mentioned files. Their `details` contain the path and the number of lines of each file, their
/// content the rest.
pub const MENTION: &str = "fileMention";

/// Converts a message to the body of an entry.
pub(super) fn to_body(message: AgentMessage) -> Body {
    match message {
        AgentMessage::Custom(CustomMessage { custom_type, content, display, details, attribution, .. }) => {
            Body::CustomMessage { custom_type, content, display, details, attribution }
        }
        AgentMessage::FileMention(mention) => {
            let files = mention.files.iter().map(|file| json!({"path": file.path, "lineCount": file.line_count}));
            Body::CustomMessage {
                custom_type: MENTION.into(),
                details: Some(json!({ "files": files.collect::<Vec<_>>() })),
                content: Content::Blocks(mention.to_blocks()),
                display: true,
                attribution: None,
            }
        }
        message => Body::Message { message },
    }
}

/// Converts `custom` back to its message.
pub(super) fn to_message(custom: CustomMessage) -> AgentMessage {
    let files = custom.details.as_ref().filter(|_| custom.custom_type == MENTION).and_then(|details| {
        let files = details.get("files")?;
        serde_json::from_value::<Vec<MentionedFile>>(files.clone()).ok()
    });
    match (files, custom.content) {
        (Some(files), Content::Blocks(blocks)) => {
            AgentMessage::FileMention(FileMention::from_blocks(files, blocks, custom.timestamp))
        }
        (_, content) => AgentMessage::Custom(CustomMessage { content, ..custom }),
    }
}
