//! Configuration languages with keys and values.

use super::rules::{
    Anchor, C_COMMENT, Calls, DOLLAR, DOUBLE, HASH, Interpolation, Key, PLAIN, Region, Rules, SEMICOLON, SINGLE,
    SLASHES, interpolation, key, mark, quote, sigil, whole_line,
};
use crate::category::Category::{Comment, Function, Keyword, String, Type, Variable};
use crate::lex::words::Then;

const SECTION: Region = quote("[").end("]").raw().within(400).is(Type).at(Anchor::LineStart);
const BRACE_INTERPOLATION: &[Interpolation] = &[interpolation("${", b'}')];
const SWITCHES: &str = "true false on off yes no";

languages! {
    DOTENV "dotenv env" {
        words: &[(Keyword, Then::Any, "export true false")],
        comments: &[("#", Anchor::LineStart), ("#", Anchor::AfterBlank)],
        regions: &[DOUBLE.lines().interpolations(BRACE_INTERPOLATION), SINGLE.lines().raw()],
        sigils: &[DOLLAR],
        keys: &[key("=", Keyword)],
        letters: ".-",
        calls: Calls::None,
    }
    GITCONFIG "gitconfig gitmodules editorconfig" {
        words: &[(Keyword, Then::Any, SWITCHES)],
        comments: &[("#", Anchor::LineStart), ("#", Anchor::AfterBlank), (";", Anchor::LineStart), (";", Anchor::AfterBlank)],
        regions: &[SECTION, DOUBLE],
        keys: &[key("=", Keyword)],
        letters: "-.",
        calls: Calls::None,
    }
    HTTP "http https" {
        words: &[(Keyword, Then::Any, "CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE"), (Keyword, Then::Any, "true false null")],
        lines: &[mark("HTTP/2", Keyword), mark("HTTP/1.1", Keyword), mark("HTTP/1.0", Keyword)],
        regions: &[quote("/").end(" ").raw().within(4000).at(Anchor::AfterBlank), DOUBLE],
        keys: &[Key { spaced: false, value: Some(String), ..key(": ", Variable) }],
        letters: "-",
        calls: Calls::None,
        shouted: Keyword,
    }
    INI "ini cfg conf inf desktop reg service timer" {
        words: &[(Keyword, Then::Any, SWITCHES)],
        fold: true,
        comments: &[SEMICOLON, ("#", Anchor::LineStart), ("#", Anchor::AfterBlank)],
        regions: &[SECTION, DOUBLE, SINGLE.within(u16::MAX)],
        sigils: &[DOLLAR],
        keys: &[key("=", Keyword), Key { spaced: false, ..key(": ", Keyword) }],
        letters: "-./",
        signed: true,
        calls: Calls::None,
    }
    LOG "log syslog" {
        words: &[(Keyword, Then::Any, "emerg fatal panic critical crit error err failed failure warn warning notice info debug trace true false null none")],
        fold: true,
        regions: &[DOUBLE.within(2000), quote("[").end("]").raw().within(120).is(Type)],
        letters: "-",
        number_marks: ":-/.",
        calls: Calls::None,
        shouted: Variable,
    }
    NGINX "nginx nginxconf" {
        words: &[(Keyword, Then::Any, "on off yes no true false none blocked debug info notice warn error crit select break last permanent redirect kqueue rtsig epoll poll /dev/poll"),
            (Type, Then::Any, "events geo http location mail map server stream types upstream")],
        comments: &[HASH],
        regions: &[DOUBLE.lines(), SINGLE.lines(), quote("^").end(" ").within(400).raw().at(Anchor::AfterBlank), quote("~* ").end(" ").within(400), quote("~ ").end(" ").within(400)],
        sigils: &[DOLLAR],
        letters: "-./",
        begins: "/",
        calls: Calls::Command,
        punctuation: "()[]{},;:",
    }
    NIX "nix nixos" {
        words: &[
            (Keyword, Then::Any, "assert else if in inherit let or rec then with"),
            (Keyword, Then::Any, "true false null"),
            (Function, Then::Any, "abort baseNameOf builtins derivation dirOf fetchGit fetchTarball fetchurl import isNull map removeAttrs throw toString"),
        ],
        letters: "-'",
        comments: &[HASH],
        regions: &[C_COMMENT, Region { escape: 0, ..quote("''") }.lines().interpolations(BRACE_INTERPOLATION), DOUBLE.lines().interpolations(BRACE_INTERPOLATION), quote("<").end(">").raw().within(100).at(Anchor::Operand)],
        keys: &[key("=", Variable)],
        sigils: &[sigil("./", String), sigil("../", String)],
        calls: Calls::None,
    }
    PROPERTIES "properties javaproperties" {
        lines: &[whole_line("#", Comment), whole_line("!", Comment)],
        keys: &[Key { value: Some(String), ..key("=", Keyword) }, Key { value: Some(String), ..key(":", Keyword) }],
        letters: "-./\\$*",
        calls: Calls::None,
    }
    TERRAFORM "terraform hcl tf tfvars nomad" {
        words: &[
            (Keyword, Then::Any, "check data dynamic import locals module moved output provider removed resource terraform variable backend for in if else endif endfor provisioner lifecycle true false null"),
            (Type, Then::Any, "any bool list map number object set string tuple"),
            (Variable, Then::Any, "each local path self var count"),
        ],
        comments: &[HASH, SLASHES],
        regions: &[C_COMMENT, DOUBLE.interpolations(&[interpolation("${", b'}'), interpolation("%{", b'}')])],
        heredocs: &["<<-", "<<"],
        keys: &[key("=", Variable)],
        letters: "-",
    }
}
