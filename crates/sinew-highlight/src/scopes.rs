//! Maps TextMate scopes to categories.

use std::collections::HashMap;
use std::sync::LazyLock;

use syntect::parsing::Scope;

use crate::category::Category;

/// The properties of a text that a scope determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing: the surrounding scope decides.
    Silent,
    /// This category for any text.
    Is(Category),
    /// An operator; a keyword if it is a word (`and`, `typeof`).
    Operator,
    /// A keyword of declarations; a type if it is the name of a basic type (`int`, `u8`).
    Storage,
    /// This category for everything inside: comments with their tags; regular expressions except embedded code.
    Whole(Category),
    /// Punctuation, unless the surrounding scope is a string or comment: quotes have the category of their content.
    Delimiter,
}

use Category::{Comment, Deleted, Function, Inserted, Keyword, Number, Plain, Punctuation, String, Type, Variable};
use Verdict::{Delimiter, Is, Operator, Silent, Storage, Whole};

/// Prefixes of scopes; the longest match decides.
const TABLE: &[(&str, Verdict)] = &[
    ("comment", Whole(Comment)),
    ("comment.block.documentation.python", Whole(String)),
    ("constant", Is(Variable)),
    ("constant.character", Is(String)),
    ("constant.language", Is(Keyword)),
    ("constant.numeric", Is(Number)),
    ("constant.other.color", Is(Number)),
    ("constant.other.placeholder", Is(String)),
    ("constant.other.format-spec", Is(String)),
    ("constant.other.symbol", Is(String)),
    ("entity.name", Is(Type)),
    ("entity.name.function", Is(Function)),
    ("entity.name.label", Is(Variable)),
    ("entity.name.section", Is(Keyword)),
    ("entity.name.tag", Is(Keyword)),
    ("entity.name.constant", Is(Variable)),
    ("entity.name.variable", Is(Variable)),
    ("entity.other.attribute-name", Is(Variable)),
    ("entity.other.inherited-class", Is(Type)),
    ("entity.other.pseudo-class", Is(Variable)),
    ("entity.other.pseudo-element", Is(Variable)),
    ("keyword", Is(Keyword)),
    ("keyword.operator", Operator),
    ("keyword.other.unit", Is(Number)),
    ("markup.deleted", Is(Deleted)),
    ("markup.heading", Is(Keyword)),
    ("markup.inserted", Is(Inserted)),
    ("markup.quote", Is(Comment)),
    ("markup.raw", Is(String)),
    ("markup.underline.link", Is(Variable)),
    ("meta.brace", Is(Punctuation)),
    ("meta.diff.header", Is(Keyword)),
    ("meta.diff.range", Is(Type)),
    ("meta.embedded", Is(Plain)),
    ("meta.image.inline.description", Is(String)),
    ("meta.interpolation", Is(Plain)),
    ("meta.link.inline.description", Is(String)),
    ("meta.link.reference.description", Is(String)),
    ("meta.template.expression", Is(Plain)),
    ("punctuation", Is(Punctuation)),
    ("punctuation.accessor", Is(Punctuation)),
    ("punctuation.definition", Delimiter),
    ("punctuation.definition.block", Is(Punctuation)),
    ("punctuation.definition.template-expression", Is(Punctuation)),
    ("punctuation.definition.variable", Is(Variable)),
    ("punctuation.separator.decimal", Is(Number)),
    ("source", Is(Plain)),
    ("source.regexp", Whole(String)),
    ("storage", Is(Keyword)),
    ("storage.type", Storage),
    ("storage.type.go", Is(Type)),
    ("storage.type.numeric", Is(Number)),
    ("storage.type.string", Is(String)),
    ("string", Is(String)),
    ("string.regexp", Whole(String)),
    ("support.class", Is(Type)),
    ("support.constant", Is(Variable)),
    ("support.function", Is(Function)),
    ("support.function.construct.php", Is(Keyword)),
    ("support.function.general.latex", Is(Keyword)),
    ("support.function.general.tex", Is(Keyword)),
    ("support.macro", Is(Function)),
    ("support.module", Is(Type)),
    ("support.type", Is(Type)),
    ("support.type.custom-property", Is(Variable)),
    ("support.type.property-name", Is(Variable)),
    ("support.type.vendor-prefix", Is(Variable)),
    ("support.variable", Is(Variable)),
    ("text", Is(Plain)),
    ("variable", Is(Variable)),
    ("variable.annotation", Is(Function)),
    ("variable.function", Is(Function)),
    ("variable.language.rust", Is(Keyword)),
];

/// Names of basic types, which grammars scope like `let` or `class`.
const BASIC_TYPES: &[&str] = &[
    "auto",
    "bool",
    "boolean",
    "byte",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "decimal",
    "double",
    "dynamic",
    "f32",
    "f64",
    "float",
    "i128",
    "i16",
    "i32",
    "i64",
    "i8",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "isize",
    "long",
    "nint",
    "nuint",
    "object",
    "sbyte",
    "short",
    "signed",
    "size_t",
    "ssize_t",
    "str",
    "string",
    "u128",
    "u16",
    "u32",
    "u64",
    "u8",
    "uint",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "ulong",
    "unsigned",
    "ushort",
    "usize",
    "uintptr_t",
    "intptr_t",
    "void",
    "wchar_t",
    "c_char",
    "c_double",
    "c_float",
    "c_int",
    "c_long",
    "c_longlong",
    "c_schar",
    "c_short",
    "c_uchar",
    "c_uint",
    "c_ulong",
    "c_ulonglong",
    "c_ushort",
    "c_void",
    "String",
    "Int",
    "Integer",
    "Float",
    "Double",
    "Bool",
    "Boolean",
    "Char",
    "Long",
    "Short",
    "Byte",
];

static PREFIXES: LazyLock<Vec<(Scope, Verdict)>> = LazyLock::new(|| {
    let mut prefixes: Vec<_> =
        TABLE.iter().filter_map(|&(name, verdict)| Some((Scope::new(name).ok()?, verdict))).collect();
    prefixes.sort_by_key(|(scope, _)| std::cmp::Reverse(scope.len()));
    prefixes
});

/// Caches lookups, because a file uses few scopes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scopes {
    seen: HashMap<Scope, Verdict>,
}

impl Scopes {
    /// Returns the category of a text in a stack of scopes, outermost first.
    pub(crate) fn category(&mut self, stack: &[Scope], text: &str) -> Category {
        let mut embedded = false;
        for &scope in stack.iter().rev() {
            match self.verdict(scope) {
                Whole(Comment) => return Comment,
                Whole(category) if !embedded => return category,
                Is(Plain) => embedded = true,
                _ => {}
            }
        }
        for (index, &scope) in stack.iter().enumerate().rev() {
            match self.verdict(scope) {
                Silent => {}
                Is(category) | Whole(category) => return category,
                Operator => return if is_word(text) { Keyword } else { Category::Operator },
                Storage if !is_word(text) => return Category::Operator,
                Storage => return if BASIC_TYPES.contains(&text.trim()) { Type } else { Keyword },
                Delimiter => return self.enclosing(&stack[..index]),
            }
        }
        Plain
    }

    fn enclosing(&mut self, stack: &[Scope]) -> Category {
        for &scope in stack.iter().rev() {
            match self.verdict(scope) {
                Silent | Delimiter => {}
                Is(category @ (String | Comment | Keyword | Variable | Inserted | Deleted | Number)) => {
                    return category;
                }
                _ => break,
            }
        }
        Punctuation
    }

    fn verdict(&mut self, scope: Scope) -> Verdict {
        *self.seen.entry(scope).or_insert_with(|| {
            PREFIXES.iter().find(|(prefix, _)| prefix.is_prefix_of(scope)).map_or(Silent, |&(_, verdict)| verdict)
        })
    }
}

fn is_word(text: &str) -> bool {
    text.trim().bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
}
