//! The page as a tree: an arena of nodes that refer to each other by index. Nothing here recurses, and dropping the
//! tree drops a vector.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, ExpandedName, LocalName, Namespace, QualName};
use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::guard::Guard;
use crate::tokens::{self, Detail};

/// The index that means no node.
pub(crate) const NIL: u32 = u32::MAX;

/// The index of the document.
pub(crate) const ROOT: u32 = 0;

pub(crate) struct Node {
    pub(crate) parent: u32,
    pub(crate) previous: u32,
    pub(crate) next: u32,
    pub(crate) first: u32,
    pub(crate) last: u32,
    depth: u32,
    pub(crate) data: Data,
}

pub(crate) enum Data {
    /// The document, a comment or a template, which have no content to show.
    Nothing,
    Text(StrTendril),
    /// An HTML element, or an SVG or MathML element (`foreign`).
    Element {
        name: LocalName,
        foreign: bool,
        attributes: Vec<Attribute>,
    },
}

/// The tree of a page.
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
}

impl Tree {
    pub(crate) fn node(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    /// Returns the name of an HTML element; `None` for other nodes.
    pub(crate) fn name(&self, id: u32) -> Option<&LocalName> {
        match &self.node(id).data {
            Data::Element { name, foreign: false, .. } => Some(name),
            _ => None,
        }
    }

    /// Returns the value of an attribute; `None` if it is missing.
    pub(crate) fn attribute(&self, id: u32, name: &str) -> Option<&str> {
        match &self.node(id).data {
            Data::Element { attributes, .. } => {
                attributes.iter().find(|attribute| &*attribute.name.local == name).map(|found| &*found.value)
            }
            _ => None,
        }
    }

    pub(crate) fn children(&self, id: u32) -> impl Iterator<Item = u32> {
        let mut next = self.node(id).first;
        std::iter::from_fn(move || {
            let id = next;
            (id != NIL).then(|| {
                next = self.node(id).next;
                id
            })
        })
    }
}

/// Returns the nodes below `id` in document order.
pub(crate) fn descendants(tree: &Tree, id: u32) -> impl Iterator<Item = u32> {
    let mut next = tree.node(id).first;
    std::iter::from_fn(move || {
        let found = next;
        if found == NIL {
            return None;
        }
        next = tree.node(found).first;
        let mut at = found;
        while next == NIL && at != id {
            next = tree.node(at).next;
            at = tree.node(at).parent;
        }
        Some(found)
    })
}

/// Parses a page. Runs in linear time; checks `cancel` every 128 tags and texts.
pub(crate) fn parse(html: &str, detail: Detail, cancel: &CancelToken) -> Result<Tree> {
    // Text sizes are 32-bit numbers.
    if u32::try_from(html.len()).is_err() {
        let size = html.len() >> 20;
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!("html: the page has {size} MiB; the limit is 4095 MiB"),
        ));
    }
    let guard = guard(html, detail);
    tokens::send(html, detail, &guard, cancel)?;
    Ok(guard.into_tree())
}

/// Creates the sink that receives the tokens of a page.
pub(crate) fn guard(html: &str, detail: Detail) -> Guard {
    // An ordinary page has at most one node per two bytes, half the length of the shortest element.
    let builder = Builder::new(html.len() / 2 + 1024);
    let options = TreeBuilderOpts { scripting_enabled: false, drop_doctype: true, ..Default::default() };
    Guard::new(TreeBuilder::new(builder, options), detail)
}

/// A node as html5ever refers to it: with its name, so that no lookup in the arena is needed.
#[derive(Clone)]
pub(crate) struct Handle {
    id: u32,
    namespace: Namespace,
    name: LocalName,
}

/// Builds the arena on behalf of html5ever.
pub(crate) struct Builder {
    nodes: RefCell<Vec<Node>>,
    /// The depth of the last node.
    depth: Cell<u32>,
    /// The maximum number of nodes of this page.
    limit: usize,
}

impl Builder {
    fn new(limit: usize) -> Builder {
        let builder = Builder { nodes: RefCell::default(), depth: Cell::new(0), limit };
        builder.add(Data::Nothing);
        builder
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth.get()
    }

    /// Returns true if the page has created more nodes than its size allows: formatting that is reopened in every
    /// paragraph multiplies them.
    pub(crate) fn is_full(&self) -> bool {
        self.nodes.borrow().len() >= self.limit
    }

    fn add(&self, data: Data) -> u32 {
        let mut nodes = self.nodes.borrow_mut();
        // The limit of nodes is half the length of the page, which is less than 4 GiB.
        let id = nodes.len() as u32;
        nodes.push(Node { parent: NIL, previous: NIL, next: NIL, first: NIL, last: NIL, depth: 0, data });
        id
    }

    fn nothing(&self) -> Handle {
        Handle { id: self.add(Data::Nothing), namespace: Namespace::default(), name: LocalName::default() }
    }

    /// Appends text to `parent`, or inserts it before `before`; merges it with adjacent text.
    fn put_text(&self, parent: u32, before: u32, text: StrTendril) {
        let mut nodes = self.nodes.borrow_mut();
        let neighbour = if before == NIL { nodes[parent as usize].last } else { nodes[before as usize].previous };
        if neighbour != NIL
            && let Data::Text(there) = &mut nodes[neighbour as usize].data
        {
            there.push_tendril(&text);
            return;
        }
        drop(nodes);
        let id = self.add(Data::Text(text));
        self.link(parent, before, id);
    }

    /// Appends a node to `parent`, or inserts it before `before`.
    fn link(&self, parent: u32, before: u32, id: u32) {
        let mut nodes = self.nodes.borrow_mut();
        let depth = nodes[parent as usize].depth + 1;
        self.depth.set(depth);
        let previous = if before == NIL {
            std::mem::replace(&mut nodes[parent as usize].last, id)
        } else {
            std::mem::replace(&mut nodes[before as usize].previous, id)
        };
        if previous == NIL {
            nodes[parent as usize].first = id;
        } else {
            nodes[previous as usize].next = id;
        }
        let node = &mut nodes[id as usize];
        (node.parent, node.previous, node.next, node.depth) = (parent, previous, before, depth);
    }

    fn unlink(&self, id: u32) {
        let mut nodes = self.nodes.borrow_mut();
        let node = &mut nodes[id as usize];
        let (parent, previous, next) = (node.parent, node.previous, node.next);
        (node.parent, node.previous, node.next) = (NIL, NIL, NIL);
        if parent == NIL {
            return;
        }
        if previous == NIL {
            nodes[parent as usize].first = next;
        } else {
            nodes[previous as usize].next = next;
        }
        if next == NIL {
            nodes[parent as usize].last = previous;
        } else {
            nodes[next as usize].previous = previous;
        }
    }

    fn put(&self, parent: u32, before: u32, child: NodeOrText<Handle>) {
        match child {
            NodeOrText::AppendText(text) => self.put_text(parent, before, text),
            NodeOrText::AppendNode(node) => {
                self.unlink(node.id);
                self.link(parent, before, node.id);
            }
        }
    }

    fn parent_of(&self, id: u32) -> u32 {
        self.nodes.borrow()[id as usize].parent
    }
}

impl TreeSink for Builder {
    type Handle = Handle;
    type Output = Tree;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Tree {
        Tree { nodes: self.nodes.into_inner() }
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { id: ROOT, namespace: Namespace::default(), name: LocalName::default() }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        ExpandedName { ns: &target.namespace, local: &target.name }
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Handle {
        let foreign = name.ns != html5ever::ns!(html);
        let data = Data::Element { name: name.local.clone(), foreign, attributes };
        Handle { id: self.add(data), namespace: name.ns, name: name.local }
    }

    fn create_comment(&self, _: StrTendril) -> Handle {
        self.nothing()
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Handle {
        self.nothing()
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.put(parent.id, NIL, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        let parent = self.parent_of(element.id);
        if parent == NIL {
            self.put(previous.id, NIL, child);
        } else {
            self.put(parent, element.id, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    // The content of a template is not shown: it belongs to a node that is not reachable.
    fn get_template_contents(&self, _: &Handle) -> Handle {
        self.nothing()
    }

    fn same_node(&self, a: &Handle, b: &Handle) -> bool {
        a.id == b.id
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let parent = self.parent_of(sibling.id);
        if parent != NIL {
            self.put(parent, sibling.id, child);
        }
    }

    // This only adds attributes to `html` and `body`, which are not used.
    fn add_attrs_if_missing(&self, _: &Handle, _: Vec<Attribute>) {}

    fn remove_from_parent(&self, target: &Handle) {
        self.unlink(target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        loop {
            let child = self.nodes.borrow()[node.id as usize].first;
            if child == NIL {
                return;
            }
            self.unlink(child);
            self.link(new_parent.id, NIL, child);
        }
    }
}
