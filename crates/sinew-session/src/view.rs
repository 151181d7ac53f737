//! A session for clients: its entries as JSON, in file order or as a tree.

use std::collections::HashMap;
use std::io;

use serde_json::{Map, Value, json};
use sinew_base::{Error, ErrorCode, Result};

use super::blob::bring_back;
use super::depth;
use super::entry::{Body, Kind, name_twice};
use super::store::Session;
use super::tree::EntryLocation;

impl Session {
    /// Returns the entries after `since`, or all, in file order, as a JSON array. Each has the fields of its line, with
    /// images restored.
    ///
    /// # Errors
    /// Returns an error if no entry has the id, or if the file can no longer be read.
    pub fn entries_json(&self, since: Option<&str>) -> Result<String> {
        let first = match since {
            None => 0,
            Some(id) => match self.tree.find(id) {
                Some(at) => at + 1,
                None => return Err(Error::new(ErrorCode::NotFound, format!("Entry not found: {id}"))),
            },
        };
        let mut out = String::from("[");
        for at in first..self.tree.nodes.len() {
            if at > first {
                out.push(',');
            }
            out.push_str(&self.object(at)?.to_string());
        }
        out.push(']');
        Ok(out)
    }

    /// Returns the tree as a JSON array of its roots: `{"entry", "children", "label"?, "labelTimestamp"?}`, children by
    /// time. Entries are as in [`Session::entries_json`]. Does not recurse, because a conversation is as deep as it is
    /// long.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn tree_json(&self) -> Result<String> {
        let labels = self.labels()?;
        let mut out = String::from("[");
        // The remaining nodes at each depth.
        let mut depths = vec![self.tree.children(None).into_iter()];
        let mut first = true;
        while let Some(depth) = depths.last_mut() {
            let Some(at) = depth.next() else {
                depths.pop();
                // Ends the children, and the node that contains them.
                out.push_str(if depths.is_empty() { "]" } else { "]}" });
                first = false;
                continue;
            };
            if !first {
                out.push(',');
            }
            out.push_str("{\"entry\":");
            out.push_str(&self.object(at)?.to_string());
            if let Some((label, time)) = labels.get(&*self.tree.nodes[at].id) {
                out.push_str(&format!(",\"label\":{},\"labelTimestamp\":{}", json!(label), json!(time)));
            }
            out.push_str(",\"children\":[");
            depths.push(self.tree.children(Some(at)).into_iter());
            first = true;
        }
        Ok(out)
    }

    /// Returns the labels of entries, each with its time.
    fn labels(&self) -> Result<HashMap<String, (String, String)>> {
        let mut labels = HashMap::new();
        for at in (0..self.tree.nodes.len()).filter(|&at| self.tree.nodes[at].kind == Kind::Aside) {
            let entry = self.read(at)?;
            if let Body::Label { target_id, label } = entry.body {
                match label.filter(|label| !label.is_empty()) {
                    Some(label) => labels.insert(target_id, (label, entry.timestamp)),
                    None => labels.remove(&target_id),
                };
            }
        }
        Ok(labels)
    }

    /// Returns an entry with every field of its line, including those of other programs.
    fn object(&self, at: usize) -> Result<Value> {
        let mut value = match &self.tree.nodes[at].place {
            EntryLocation::Memory(entry) => entry.to_value(),
            EntryLocation::Disk { offset, length } => {
                let line = self.line(*offset, *length as usize)?;
                let mut fields: Map<String, Value> = depth::parse(&line)
                    .map_err(|cause| Error::io("failed to read the session", &io::Error::from(cause)))?;
                name_twice(&mut fields);
                Value::Object(fields)
            }
        };
        if let Some(blobs) = &self.options.blobs {
            bring_back(&mut value, blobs);
        }
        Ok(value)
    }
}
