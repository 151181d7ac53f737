//! Reads paged lists from servers that may repeat or lose a cursor, or send pages forever.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::McpError;
use crate::model::{Definition, Listing};

/// The maximum number of items of one list.
pub(crate) const ITEM_LIMIT: usize = 5_000;

/// The maximum number of pages of one list, for servers with empty pages.
const PAGE_LIMIT: usize = 1_000;

/// A kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

impl ListKind {
    pub(crate) fn method(self) -> &'static str {
        match self {
            ListKind::Tools => "tools/list",
            ListKind::Resources => "resources/list",
            ListKind::ResourceTemplates => "resources/templates/list",
            ListKind::Prompts => "prompts/list",
        }
    }

    /// The member of the result with the items.
    fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Resources => "resources",
            ListKind::ResourceTemplates => "resourceTemplates",
            ListKind::Prompts => "prompts",
        }
    }

    /// The member of an item with its name.
    fn name(self) -> &'static str {
        match self {
            ListKind::Tools | ListKind::Prompts => "name",
            ListKind::Resources => "uri",
            ListKind::ResourceTemplates => "uriTemplate",
        }
    }
}

/// Joins pages.
pub(crate) struct PageReader {
    kind: ListKind,
    listing: Listing,
    names: HashSet<String>,
    cursors: HashSet<String>,
    pages: usize,
    nameless: usize,
}

impl PageReader {
    pub(crate) fn new(kind: ListKind) -> PageReader {
        PageReader {
            kind,
            listing: Listing::default(),
            names: HashSet::new(),
            cursors: HashSet::new(),
            pages: 0,
            nameless: 0,
        }
    }

    /// Adds a page. Returns the cursor of the next one; `None` if the list is complete.
    ///
    /// # Errors
    /// Returns an error if the first page is missing or cannot be read. A later failure ends the list with a note.
    pub(crate) fn add(&mut self, page: Result<Box<RawValue>, McpError>) -> Result<Option<String>, McpError> {
        self.pages += 1;
        let read = page.and_then(|page| {
            self.read(&page).map_err(|reason| {
                McpError::Protocol(format!("{} returned an invalid page: {reason}", self.kind.method()))
            })
        });
        match read {
            Ok(next) => Ok(next),
            Err(error) if self.pages == 1 => Err(error),
            Err(error) => {
                self.note(format!("page {} of {} is missing: {error}", self.pages, self.kind.method()));
                Ok(None)
            }
        }
    }

    pub(crate) fn finish(mut self) -> Listing {
        if self.nameless > 0 {
            let (count, method) = (self.nameless, self.kind.method());
            self.note(format!("{count} items of {method} have no usable name, or a repeated one, and are left out"));
        }
        self.listing
    }

    fn read(&mut self, page: &RawValue) -> Result<Option<String>, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Page<'a> {
            #[serde(borrow, alias = "resources", alias = "resourceTemplates", alias = "prompts")]
            tools: Vec<&'a RawValue>,
            #[serde(default)]
            next_cursor: Option<String>,
        }
        let Page { tools: items, next_cursor } = serde_json::from_str(page.get())
            .map_err(|error| error.to_string().replace("`tools`", self.kind.member()))?;
        for item in items {
            if self.listing.items.len() >= ITEM_LIMIT {
                self.note(format!("{} has more than {ITEM_LIMIT} items; the rest is left out", self.kind.method()));
                return Ok(None);
            }
            match Definition::new(item, self.kind.name()) {
                Some(definition) if self.names.insert(definition.name.clone()) => self.listing.items.push(definition),
                _ => self.nameless += 1,
            }
        }
        let Some(cursor) = next_cursor else { return Ok(None) };
        if !self.cursors.insert(cursor.clone()) {
            self.note(format!("{} repeats a cursor; the rest is left out", self.kind.method()));
            return Ok(None);
        }
        if self.pages >= PAGE_LIMIT {
            self.note(format!("{} has more than {PAGE_LIMIT} pages; the rest is left out", self.kind.method()));
            return Ok(None);
        }
        Ok(Some(cursor))
    }

    fn note(&mut self, note: String) {
        self.listing.notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json, value::to_raw_value};
    use sinew_jsonrpc::RpcError;

    /// Reads the pages that `server` returns for cursors; returns the numbers of items and pages, and the notes.
    fn read(
        mut server: impl FnMut(Option<&str>) -> Result<Value, McpError>,
    ) -> Result<(usize, usize, String), McpError> {
        let mut reader = PageReader::new(ListKind::Tools);
        let mut cursor: Option<String> = None;
        let mut pages = 0;
        loop {
            pages += 1;
            let page = server(cursor.as_deref()).map(|page| to_raw_value(&page).unwrap());
            match reader.add(page)? {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        let listing = reader.finish();
        Ok((listing.items.len(), pages, listing.notes.join("; ")))
    }

    fn page(names: impl IntoIterator<Item = String>, next: Option<String>) -> Value {
        let tools: Vec<Value> = names.into_iter().map(|name| json!({"name": name, "inputSchema": {}})).collect();
        json!({"tools": tools, "nextCursor": next})
    }

    #[test]
    fn joins_sixty_pages_into_one_list() {
        let found = read(|cursor| {
            let at: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            Ok(page((0..10).map(|index| format!("t{}", at * 10 + index)), (at < 59).then(|| (at + 1).to_string())))
        });
        assert_eq!(found.unwrap(), (600, 60, String::new()));
    }

    #[test]
    fn a_repeated_cursor_ends_the_list() {
        let (items, pages, notes) = read(|_| Ok(page(["a".to_string()], Some("same".into())))).unwrap();
        assert_eq!((items, pages), (1, 2));
        assert!(notes.contains("repeats a cursor"), "{notes}");
    }

    #[test]
    fn an_invalid_cursor_keeps_the_pages_before_it() {
        let (items, pages, notes) = read(|cursor| match cursor {
            None => Ok(page(["a".to_string()], Some("x".into()))),
            Some(_) => Err(McpError::Rpc(RpcError::new(-32602, "Invalid cursor"))),
        })
        .unwrap();
        assert_eq!((items, pages), (1, 2));
        assert_eq!(notes, "page 2 of tools/list is missing: MCP error -32602: Invalid cursor");
    }

    #[test]
    fn an_endless_list_ends_at_the_limit() {
        let mut count = 0;
        let (items, pages, notes) = read(|_| {
            count += 1;
            Ok(page((0..100).map(|index| format!("t{count}_{index}")), Some(count.to_string())))
        })
        .unwrap();
        assert_eq!((items, pages), (5000, 51));
        assert!(notes.contains("more than 5000 items"), "{notes}");
        let mut count = 0;
        let (items, pages, notes) = read(|_| {
            count += 1;
            Ok(page([], Some(count.to_string())))
        })
        .unwrap();
        assert_eq!((items, pages), (0, 1000));
        assert!(notes.contains("more than 1000 pages"), "{notes}");
    }

    #[test]
    fn an_invalid_item_does_not_remove_others() {
        let odd = json!({"tools": [
            {"name": "no schema"}, {"name": "odd", "inputSchema": true}, {"name": 5}, {}, 7, {"name": ""},
            {"name": "twice"}, {"name": "twice"},
        ]});
        let (items, _, notes) = read(|_| Ok(odd.clone())).unwrap();
        assert_eq!(items, 3);
        assert!(notes.starts_with("5 items of tools/list have no usable name"), "{notes}");
    }

    #[test]
    fn an_unreadable_first_page_is_an_error() {
        let error = read(|_| Ok(json!({"tool": []}))).unwrap_err();
        assert!(error.to_string().contains("tools/list returned an invalid page: missing field tools"));
        assert!(read(|_| Err(McpError::Closed(String::new()))).is_err());
    }
}
