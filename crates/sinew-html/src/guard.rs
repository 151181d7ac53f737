//! Filters the tokens for the tree builder, to keep its running time linear.
//!
//! For most tags the builder searches its stack of open elements, and for most texts its list of active formatting
//! elements. Both are short on ordinary pages, but an attacker can make them arbitrarily long: 100,000 nested `div`
//! would need five billion steps. So tags that would open a level beyond [`DEPTH`] are dropped, and formatting elements
//! lose the attributes that would make each of them unique (the builder keeps at most three equal ones).

use std::cell::{Cell, RefCell};

use html5ever::interface::Tracer;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::TreeBuilder;
use html5ever::{LocalName, local_name};

use crate::language;
use crate::tokens::Detail;
use crate::tree::{Builder, Handle, Tree};

/// The maximum number of open elements. Browsers stop at 512.
const DEPTH: u32 = 256;

pub(crate) struct Guard {
    builder: TreeBuilder<Handle, Builder>,
    detail: Detail,
    /// Dropped start tags, whose end tags have to be dropped too.
    dropped: RefCell<Vec<LocalName>>,
}

impl Guard {
    pub(crate) fn new(builder: TreeBuilder<Handle, Builder>, detail: Detail) -> Guard {
        Guard { builder, detail, dropped: RefCell::default() }
    }

    pub(crate) fn into_tree(self) -> Tree {
        use html5ever::interface::TreeSink as _;
        self.builder.sink.finish()
    }

    /// Returns true if the tag is passed to the builder.
    fn lets_pass(&self, tag: &mut Tag) -> bool {
        match tag.name {
            // They have no meaning in Markdown.
            local_name!("font") | local_name!("big") | local_name!("small") | local_name!("nobr")
                if self.detail != Detail::Whole =>
            {
                false
            }
            // The following text is parsed differently, or no element is opened.
            local_name!("script")
            | local_name!("style")
            | local_name!("title")
            | local_name!("textarea")
            | local_name!("xmp")
            | local_name!("iframe")
            | local_name!("noembed")
            | local_name!("noframes")
            | local_name!("plaintext")
            | local_name!("br")
            | local_name!("hr")
            | local_name!("img")
            | local_name!("input") => true,
            _ if tag.kind == TagKind::EndTag => self.ends(&tag.name),
            _ if self.detail == Detail::Whole => self.starts(tag),
            _ => {
                if is_formatting(&tag.name) {
                    tag.attrs.clear();
                } else if tag.name == local_name!("code") {
                    // A class that does not name a language is irrelevant for formatting.
                    tag.attrs.retain(|attribute| match &*attribute.name.local {
                        "class" => {
                            language::of_class(&attribute.value).is_some()
                                || language::of_code(&attribute.value).is_some()
                        }
                        "data-lang" | "data-language" | "data-enlighter-language" | "lang" => true,
                        _ => false,
                    });
                }
                self.starts(tag)
            }
        }
    }

    fn starts(&self, tag: &Tag) -> bool {
        let deep = self.builder.sink.depth() >= DEPTH && self.open() >= DEPTH;
        if !deep && !self.builder.sink.is_full() {
            return true;
        }
        if !tag.self_closing {
            self.dropped.borrow_mut().push(tag.name.clone());
        }
        false
    }

    fn ends(&self, name: &LocalName) -> bool {
        let mut dropped = self.dropped.borrow_mut();
        if dropped.last() == Some(name) {
            dropped.pop();
            return false;
        }
        true
    }

    /// Returns the number of open elements. Called only if the last node was deep, because it may have been closed
    /// since.
    fn open(&self) -> u32 {
        let count = Count(Cell::new(0));
        self.builder.trace_handles(&count);
        count.0.get()
    }
}

struct Count(Cell<u32>);

impl Tracer for Count {
    type Handle = Handle;

    fn trace_handle(&self, _: &Handle) {
        self.0.set(self.0.get() + 1);
    }
}

fn is_formatting(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("b")
            | local_name!("i")
            | local_name!("em")
            | local_name!("strong")
            | local_name!("s")
            | local_name!("strike")
            | local_name!("tt")
            | local_name!("u")
    )
}

impl TokenSink for Guard {
    type Handle = Handle;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<Handle> {
        let passes = match &mut token {
            Token::TagToken(tag) => self.lets_pass(tag),
            Token::CommentToken(_) | Token::ParseError(_) => false,
            _ => true,
        };
        if passes { self.builder.process_token(token, line) } else { TokenSinkResult::Continue }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}
