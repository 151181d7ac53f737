//! The words and symbols that distinguish the languages of [`super::c_family`].

use std::sync::LazyLock;

use super::words::{Row, Then, Words};
use crate::category::Category::{self, Function, Keyword, Number, Operator, Plain, Punctuation, Type, Variable};

/// The languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    C,
    Cpp,
    Java,
    CSharp,
    Go,
    Rust,
}

/// The tables of one language.
pub(crate) struct Rules {
    pub(crate) dialect: Dialect,
    pub(crate) words: Words,
    /// The category of each ASCII symbol.
    pub(crate) symbols: [Category; 128],
    /// The category of `->`.
    pub(crate) arrow: Category,
    /// The category of the names in a path of modules.
    pub(crate) module: Category,
    /// True if lines may begin with `#`.
    pub(crate) preprocessor: bool,
}

/// Returns the tables of a language.
pub(crate) fn rules(dialect: Dialect) -> &'static Rules {
    static C: LazyLock<Rules> = LazyLock::new(|| build(Dialect::C, &[C_WORDS]));
    static CPP: LazyLock<Rules> = LazyLock::new(|| build(Dialect::Cpp, &[CPP_WORDS, C_WORDS]));
    static JAVA: LazyLock<Rules> = LazyLock::new(|| build(Dialect::Java, &[JAVA_WORDS]));
    static CSHARP: LazyLock<Rules> = LazyLock::new(|| build(Dialect::CSharp, &[CSHARP_WORDS]));
    static GO: LazyLock<Rules> = LazyLock::new(|| build(Dialect::Go, &[GO_WORDS]));
    static RUST: LazyLock<Rules> = LazyLock::new(|| build(Dialect::Rust, &[RUST_WORDS]));
    match dialect {
        Dialect::C => &C,
        Dialect::Cpp => &CPP,
        Dialect::Java => &JAVA,
        Dialect::CSharp => &CSHARP,
        Dialect::Go => &GO,
        Dialect::Rust => &RUST,
    }
}

fn build(dialect: Dialect, lists: &[&[Row]]) -> Rules {
    let (operators, arrow, module) = match dialect {
        Dialect::C | Dialect::Cpp => ("+-*/%=!&|^~?<>:", Punctuation, Plain),
        Dialect::Java => ("+-*/%=!&|^~?<>:", Operator, Type),
        Dialect::CSharp => ("+-*/%=!&|^~?<>", Punctuation, Plain),
        Dialect::Go => ("+-*/%=!&|^<>~", Operator, Variable),
        Dialect::Rust => ("+-*/%=!&|^?<>@$", Punctuation, Plain),
    };
    Rules {
        dialect,
        words: Words::new(&lists.concat()),
        symbols: symbols(operators, "()[]{},;:."),
        arrow,
        module,
        preprocessor: matches!(dialect, Dialect::C | Dialect::Cpp | Dialect::CSharp),
    }
}

/// Builds a table of symbols; operators have precedence.
pub(crate) const fn symbols(operators: &str, punctuation: &str) -> [Category; 128] {
    let mut table = [Plain; 128];
    let mut index = 0;
    while index < punctuation.len() {
        table[punctuation.as_bytes()[index] as usize] = Punctuation;
        index += 1;
    }
    index = 0;
    while index < operators.len() {
        table[operators.as_bytes()[index] as usize] = Operator;
        index += 1;
    }
    table
}

const C_WORDS: &[Row] = &[
    (
        Keyword,
        Then::Any,
        "auto break case const continue default do else extern for goto if inline register restrict return sizeof static switch typedef volatile while NULL true false TRUE FALSE _Alignas _Alignof _Atomic _Bool _Generic _Noreturn _Static_assert _Thread_local __attribute__ __inline __inline__ __restrict __volatile__ __asm__ asm defined offsetof struct union enum",
    ),
    (
        Type,
        Then::Any,
        "bool char double float int long short signed unsigned void size_t ssize_t ptrdiff_t wchar_t off_t pid_t uid_t gid_t mode_t time_t clock_t dev_t ino_t u_char u_short u_int u_long ushort uint int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t int_fast8_t int_fast16_t int_fast32_t int_fast64_t uint_fast8_t uint_fast16_t uint_fast32_t uint_fast64_t int_least8_t int_least16_t int_least32_t int_least64_t uint_least8_t uint_least16_t uint_least32_t uint_least64_t intptr_t uintptr_t intmax_t uintmax_t in_addr_t in_port_t socklen_t suseconds_t useconds_t key_t id_t nlink_t blksize_t blkcnt_t div_t FILE",
    ),
];

const CPP_WORDS: &[Row] = &[
    (Keyword, Then::Type, "class struct union enum namespace concept"),
    (
        Keyword,
        Then::Any,
        "alignas alignof and and_eq bitand bitor catch co_await co_return co_yield compl const_cast consteval constexpr constinit decltype delete dynamic_cast explicit export final friend import module mutable new noexcept not not_eq nullptr operator or or_eq override private protected public reinterpret_cast requires static_assert static_cast template thread_local throw try typeid typename using virtual xor xor_eq",
    ),
    (Type, Then::Any, "char8_t char16_t char32_t auto"),
    (Variable, Then::Any, "this"),
];

const JAVA_WORDS: &[Row] = &[
    (Keyword, Then::Type, "class interface enum record extends implements new throws instanceof"),
    (Keyword, Then::Module, "package import"),
    (
        Keyword,
        Then::Any,
        "abstract assert break case catch const continue default do else final finally for goto if native non-sealed null permits private protected public return sealed static strictfp switch synchronized throw transient true false try volatile while yield",
    ),
    (Type, Then::Any, "boolean byte char double float int long short void var"),
    (Variable, Then::Any, "this super"),
];

const CSHARP_WORDS: &[Row] = &[
    (Keyword, Then::Module, "using namespace"),
    (Keyword, Then::Type, "class interface struct enum record new is as delegate"),
    (
        Keyword,
        Then::Any,
        "abstract add alias async await base break case catch checked const continue default do else event explicit extern false finally fixed for foreach from get global goto group if implicit in init internal into join let lock nameof null operator orderby out override params partial private protected public readonly ref remove required return sealed select set sizeof stackalloc static switch throw true try typeof unchecked unsafe virtual volatile when where while with yield var",
    ),
    (
        Type,
        Then::Any,
        "bool byte char decimal double dynamic float int long nint nuint object sbyte short string uint ulong ushort void",
    ),
    (Variable, Then::Any, "this base"),
];

const GO_WORDS: &[Row] = &[
    (Keyword, Then::Type, "type"),
    (Keyword, Then::Function, "func"),
    (
        Keyword,
        Then::Any,
        "break case chan const continue default defer else fallthrough for go goto if import interface map package range return select struct switch var nil true false",
    ),
    (Number, Then::Any, "iota"),
    (
        Type,
        Then::Any,
        "any bool byte comparable complex128 complex64 error float32 float64 int int16 int32 int64 int8 rune string uint uint16 uint32 uint64 uint8 uintptr",
    ),
    (
        Function,
        Then::Any,
        "append cap clear close complex copy delete imag len make max min new panic print println real recover",
    ),
];

const RUST_WORDS: &[Row] = &[
    (Keyword, Then::Type, "struct enum union trait type mod impl"),
    (Keyword, Then::Function, "fn"),
    (
        Keyword,
        Then::Any,
        "as async await box break const continue crate dyn else extern false for if in let loop macro match move mut priv pub ref return static super true try unsafe use where while yield self Self",
    ),
    (Keyword, Then::Any, "self"),
    (
        Type,
        Then::Any,
        "bool c_char c_double c_float c_int c_long c_longlong c_schar c_short c_uchar c_uint c_ulong c_ulonglong c_ushort c_void char f32 f64 i128 i16 i32 i64 i8 isize str u128 u16 u32 u64 u8 usize Option Some None Result Ok Err Box Vec String Send Sync Sized Copy Drop Fn FnMut FnOnce Clone PartialEq PartialOrd Eq Ord AsRef AsMut Into From Default Iterator Extend IntoIterator DoubleEndedIterator ExactSizeIterator SliceConcatExt ToOwned ToString",
    ),
];
