//! Languages of the ML family, and Erlang.

use super::rules::{
    Anchor, CHAR, Calls, DASHES, DOUBLE, Interpolation, Key, PERCENT, PLAIN, Region, Rules, SINGLE, SLASHES, Sigil,
    TRIPLE, block, interpolation, key, mark, quote, sigil,
};
use crate::category::Category::{Function, Keyword, String, Type, Variable};
use crate::lex::words::Then;

const PARENS: Region = block("(*", "*)").nested();
const BRACES: Region = block("{-", "-}").nested();
const TYPE_VARIABLE: Sigil = Sigil { place: Anchor::NotAfterValue, ..sigil("'", Type) };
/// `name :: type` at the beginning of a line.
const SIGNATURE: Key = key("::", Function);

const IN_BRACES: &[Interpolation] = &[interpolation("{", b'}')];

languages! {
    ELM "elm" {
        words: &[
            (Keyword, Then::Type, "type alias"),
            (Keyword, Then::Module, "module import"),
            (Keyword, Then::Any, "as case effect else exposing if in infix infixl infixr let of port then where command subscription"),
        ],
        letters: "'",
        comments: &[DASHES],
        regions: &[BRACES, TRIPLE, DOUBLE, CHAR],
        keys: &[key(" : ", Function)],
        calls: Calls::None,
        capitalised: Type,
    }
    ERLANG "erlang erl hrl escript rebar.config" {
        words: &[
            (Keyword, Then::Any,
             "after and andalso band begin bnot bor bsl bsr bxor case catch cond div else end fun if let maybe not of or orelse query receive rem try when xor"),
            (Keyword, Then::Any, "true false undefined"),
        ],
        comments: &[PERCENT],
        regions: &[DOUBLE.lines(), SINGLE, quote("<<\"").end("\">>")],
        sigils: &[Sigil { place: Anchor::Column0, ..sigil("-", Keyword) }, sigil("?", Variable), sigil("#", Type), Sigil { specials: "\"'%\\ ", ..sigil("$", String) }],
        number_marks: "#",
        letters: "@",
        capitalised: Variable,
        shouted: Variable,
    }
    FSHARP "fsharp f# fs fsx fsi fsscript" {
        words: &[
            (Keyword, Then::Type, "class exception inherit interface struct type"),
            (Keyword, Then::Module, "module namespace open"),
            (Keyword, Then::Any,
             "abstract and as assert atomic base begin break checked component const constraint constructor continue default delegate do done downcast downto \
              elif else end event extern external false finally fixed for fun function global if in include inline internal lazy let match member \
              method mixin mod mutable new not null object of or override parallel params private process protected public pure rec return \
              sealed select sig static tailcall then to trait true try upcast use val virtual void volatile when while with yield async query seq task"),
            (Type, Then::Any,
             "bool byte char decimal double float float32 int int16 int32 int64 int8 list nativeint obj option result sbyte single string uint16 uint32 uint64 uint8 unit"),
        ],
        letters: "'",
        tails: "!",
        comments: &[SLASHES],
        regions: &[
            PARENS.with_strings(), TRIPLE.raw(), TRIPLE.raw().begin("$\"\"\"").interpolations(IN_BRACES), DOUBLE.lines().doubled().begin("@\""),
            DOUBLE.lines().begin("$\"").interpolations(IN_BRACES), DOUBLE.lines(), CHAR, quote("[<").end(">]").raw().lines().is(Function), quote("``").raw().within(100).is(Variable),
        ],
        lines: &[mark("#if", Keyword), mark("#else", Keyword), mark("#endif", Keyword), mark("#load", Keyword), mark("#r", Keyword), mark("#light", Keyword), mark("#nowarn", Keyword)],
        sigils: &[TYPE_VARIABLE],
        calls: Calls::Bracket,
        capitalised: Type,
    }
    HASKELL "haskell hs" from HASKELL_RULES {}
    PURESCRIPT "purescript purs" from HASKELL_RULES {}
    OCAML "ocaml ml mli" {
        words: &[
            (Keyword, Then::Module, "module open include functor"),
            (Keyword, Then::Any,
             "and as assert asr begin class constraint do done downto else end exception external false for fun function if in inherit inherit! \
              initializer land lazy let lor lsl lsr lxor match method method! mod mutable new nonrec object of or parser private rec sig struct then \
              to true try type val val! value virtual when while with"),
            (Type, Then::Any, "array bool bytes char exn float format in_channel int int32 int64 list nativeint option out_channel ref result string unit"),
        ],
        letters: "'",
        tails: "!",
        comments: &[],
        regions: &[PARENS.with_strings(), DOUBLE.lines(), CHAR],
        tagged_strings: true,
        sigils: &[TYPE_VARIABLE, Sigil { place: Anchor::NotAfterValue, ..sigil("~", Variable) }, sigil("`", String)],
        calls: Calls::None,
        capitalised: Type,
    }
    REASONML "reasonml rescript res resi rei" {
        words: &[
            (Keyword, Then::Type, "type"),
            (Keyword, Then::Module, "module open include"),
            (Keyword, Then::Any,
             "and as asr assert async await begin catch class constraint do done downto else end exception external false for fun function functor if in inherit initializer land lazy \
              let lor lsl lsr lxor mod mutable new nonrec object of or pri pub rec ref sig struct switch then this to true try val virtual when while with"),
            (Type, Then::Any, "array bool bytes char exn float int int32 int64 list option ref string unit"),
        ],
        letters: "'",
        comments: &[SLASHES],
        tagged_strings: true,
        regions: &[block("/*", "*/").nested(), DOUBLE.lines(), quote("`").lines().interpolations(super::rules::DOLLARS), CHAR],
        sigils: &[TYPE_VARIABLE, sigil("~", Variable), sigil("@", Function)],
        capitalised: Type,
    }
    SML "sml standard-ml fun" {
        words: &[
            (Keyword, Then::Function, "fun"),
            (Keyword, Then::Any,
             "abstype and andalso as case datatype do else end eqtype exception false fn functor handle if in include infix infixr let \
              local nil NONE nonfix of op open orelse raise rec sharing sig signature struct structure then true type val with withtype where while"),
            (Type, Then::Any, "array bool char exn int list option order real ref string substring unit vector word"),
        ],
        letters: "'",
        regions: &[PARENS, DOUBLE.begin("#\""), DOUBLE],
        sigils: &[TYPE_VARIABLE],
        calls: Calls::None,
        capitalised: Type,
    }
}

const HASKELL_RULES: Rules = Rules {
    words: &[
        (Keyword, Then::Type, "class data family instance newtype type"),
        (Keyword, Then::Module, "import module"),
        (
            Keyword,
            Then::Any,
            "as capi case ccall cplusplus default deriving do dotnet else export forall foreign hiding if in infix infixl infixr jvm let mdo of \
          proc qualified rec role pattern safe stdcall stock anyclass via then unsafe where",
        ),
        (Type, Then::Any, "Bool Char Double Either Float IO Int Integer Maybe String Word"),
    ],
    letters: "'",
    comments: &[DASHES],
    regions: &[block("{-#", "#-}").is(Function), BRACES, DOUBLE.lines(), CHAR],
    lines: &[
        mark("#if", Keyword),
        mark("#else", Keyword),
        mark("#endif", Keyword),
        mark("#include", Keyword),
        mark("#define", Keyword),
    ],
    sigils: &[Sigil { place: Anchor::NotAfterValue, ..sigil("'", Type) }],
    keys: &[SIGNATURE],
    calls: Calls::None,
    capitalised: Type,
    operators: "+-*/%=!&|^~<>?\\$@:.#",
    punctuation: "()[]{},;",
    ..PLAIN
};
