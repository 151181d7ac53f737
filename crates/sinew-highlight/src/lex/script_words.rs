//! The words of JavaScript and TypeScript.

use std::sync::LazyLock;

use super::words::{Then, Words};
use crate::category::Category::{Keyword, Type, Variable};

/// Words that are always keywords.
pub(crate) static HARD: LazyLock<Words> = LazyLock::new(|| {
    Words::new(&[
        (Keyword, Then::Type, "class extends interface enum"),
        (Keyword, Then::Function, "function"),
        (
            Keyword,
            Then::Any,
            "await break case catch const continue debugger default delete do else export finally for if import in instanceof let \
             new return switch throw try typeof var void while with yield null true false undefined NaN Infinity",
        ),
        (Variable, Then::Any, "this super arguments"),
    ])
});

/// Words that are keywords before a name, a bracket or a string.
pub(crate) static SOFT: LazyLock<Words> =
    LazyLock::new(|| Words::new(&[(Keyword, Then::Any, "as async from get of set static")]));

/// The same for TypeScript only, and its basic types.
pub(crate) static TYPESCRIPT: LazyLock<Words> = LazyLock::new(|| {
    Words::new(&[
        (Keyword, Then::Type, "implements namespace type"),
        (
            Keyword,
            Then::Any,
            "abstract accessor asserts constructor declare infer is keyof module override private protected public readonly satisfies \
             unique global",
        ),
        (Type, Then::Any, "any bigint boolean never number object string symbol unknown void"),
    ])
});

/// Built-in classes.
pub(crate) static TYPES: LazyLock<Words> = LazyLock::new(|| {
    Words::new(&[
        (Variable, Then::Any, "JSON Math Intl Reflect Atomics"),
        (
            Type,
            Then::Any,
            "AggregateError Array ArrayBuffer BigInt Boolean DataView Date Error EvalError Float32Array Float64Array Function \
             Int16Array Int32Array Int8Array Map Number Object Promise Proxy RangeError ReferenceError RegExp Set SharedArrayBuffer \
             String Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakSet \
             console document window process global globalThis",
        ),
    ])
});
