//! Query and schema languages.

use super::rules::{Calls, DOUBLE, HASH, Interpolation, Key, PLAIN, Rules, TRIPLE, interpolation, key, sigil};
use crate::category::Category::{Function, Keyword, Type, Variable};
use crate::lex::words::Then;

const PARENS: &[Interpolation] = &[interpolation("\\(", b')')];

languages! {
    GRAPHQL "graphql gql graphqls" {
        words: &[
            (Keyword, Then::Type, "enum extend implements input interface on scalar type union"),
            (Keyword, Then::Function, "fragment mutation query subscription"),
            (Keyword, Then::Any, "directive repeatable schema true false null"),
            (Type, Then::Any, "Boolean Float ID Int String"),
        ],
        comments: &[HASH],
        regions: &[TRIPLE, DOUBLE],
        sigils: &[sigil("$", Variable), sigil("@", Function)],
        keys: &[Key { first: false, ..key(":", Variable) }],
        capitalised: Type,
        shouted: Variable,
        calls: Calls::Bracket,
    }
    JQ "jq" {
        words: &[
            (Keyword, Then::Function, "def"),
            (Keyword, Then::Any, "and as catch elif else end foreach if import include label module not or reduce then try __loc__ true false null"),
            (Function, Then::Any, "add any all ascii_downcase ascii_upcase contains del empty endswith error flatten from_entries group_by has input inputs join keys length ltrimstr map map_values max min now paths range recurse reverse rtrimstr select sort sort_by split startswith test to_entries tojson tonumber tostring type unique unique_by values with_entries"),
        ],
        comments: &[HASH],
        regions: &[DOUBLE.interpolations(PARENS)],
        sigils: &[sigil("$", Variable), sigil("@", Function)],
    }
}
