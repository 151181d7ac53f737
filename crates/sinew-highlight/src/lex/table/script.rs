//! Scripting languages.

use super::rules::{
    Anchor, C_COMMENT, CHAR, Calls, DASHES, DOLLAR, DOUBLE, Delimited, HASH, HASH_BRACE, Interpolation, Key, PERCENT,
    PLAIN, REGEX, Region, Rules, SINGLE, Sigil, TRIPLE, block, delimited, interpolation, key, quote, sigil, whole_line,
};
use crate::category::Category::{Comment, Function, Keyword, Plain, String, Type, Variable};
use crate::lex::words::Then;

const HASHED: Region = DOUBLE.lines().interpolations(HASH_BRACE);
const JULIA_INTERPOLATIONS: &[Interpolation] = &[interpolation("$(", b')'), interpolation("$", 0)];
const AT_VARIABLE: Sigil = sigil("@", Variable);

/// Returns the rule for `~r/…/` or `%w(…)`.
const fn brackets(begin: &'static str, letter: bool) -> Delimited {
    Delimited { letter, brackets: !letter, ..delimited(begin, 1) }
}

/// Returns the rule for `qw (…)`.
const fn spaced(begin: &'static str, parts: u8) -> Delimited {
    Delimited { spaced: true, ..delimited(begin, parts) }
}

languages! {
    APPLESCRIPT "applescript scpt osascript" {
        words: &[
            (Keyword, Then::Any,
             "about above after against and around as at back before beginning behind below beneath beside between but by considering \
              contain contains continue copy div does eighth else end equal equals error every exit false fifth first for fourth from front get given \
              global if ignoring in into is it its last local me middle mod my ninth not of on onto or over prop property put ref reference \
              repeat returning return script second set seventh since sixth some tell tenth that the then third through thru timeout times to true \
              transaction try until where while whose with without missing value using terms"),
            (Type, Then::Any, "alias application boolean class constant date file integer list number real record string text"),
            (Function, Then::Any, "activate beep choose count delay display dialog launch log open offset path quit read round run say summarize write"),
        ],
        fold: true,
        comments: &[DASHES, HASH],
        regions: &[block("(*", "*)").nested(), DOUBLE],
        operators: "+-*/=<>&^≠≤≥",
    }
    AWK "awk gawk mawk nawk" {
        words: &[
            (Keyword, Then::Function, "function func"),
            (Keyword, Then::Any,
             "BEGIN BEGINFILE END ENDFILE break case continue default delete do else exit for getline if in next nextfile print printf return switch while"),
            (Function, Then::Any,
             "atan2 close cos exp fflush gensub gsub index int length log match rand sin split sprintf sqrt srand strftime sub substr system systime tolower toupper"),
            (Variable, Then::Any, "ARGC ARGV CONVFMT ENVIRON FILENAME FNR FS NF NR OFMT OFS ORS RLENGTH RS RSTART SUBSEP"),
        ],
        comments: &[HASH],
        regions: &[DOUBLE, REGEX],
        sigils: &[sigil("$", Variable)],
    }
    COFFEESCRIPT "coffeescript coffee cson iced" {
        words: &[
            (Keyword, Then::Type, "class extends new instanceof"),
            (Keyword, Then::Any,
             "and await by break case catch continue debugger default delete do else export false finally for if import in is isnt let loop no not null of off on \
              or return super switch then this throw true try typeof undefined unless until var void when while with yes yield from as"),
            (Variable, Then::Any, "Array Boolean Date JSON Math Number Object Promise RegExp String console module require window"),
        ],
        letters: "$",
        begins: "$",
        comments: &[HASH],
        regions: &[
            block("###", "###"), TRIPLE.interpolations(HASH_BRACE), TRIPLE.begin("'''").end("'''"), block("///", "///").is(String).interpolations(HASH_BRACE),
            HASHED, SINGLE.lines(), quote("`").raw().lines(), REGEX,
        ],
        sigils: &[AT_VARIABLE],
        keys: &[Key { first: false, spaced: false, ..key(":", Variable) }],
        capitalised: Type,
    }
    CRYSTAL "crystal cr" {
        words: &[
            (Keyword, Then::Type, "annotation class enum lib module struct union"),
            (Keyword, Then::Function, "def fun macro"),
            (Keyword, Then::Any,
             "abstract alias as asm begin break case do else elsif end ensure extend false for forall if in include instance_sizeof is_a? next nil nil? of out \
              pointerof private protected rescue responds_to? return require select self sizeof super then true type typeof uninitialized unless until \
              verbatim when while with yield getter setter property __DIR__ __END_LINE__ __FILE__ __LINE__"),
            (Function, Then::Any, "p pp puts print raise loop spawn"),
        ],
        tails: "?!",
        comments: &[HASH],
        regions: &[HASHED, quote("`").lines().interpolations(HASH_BRACE), CHAR, REGEX, quote(":\"").end("\"")],
        delimited: &[brackets("%w", false), brackets("%i", false), brackets("%q", false), brackets("%Q", false), brackets("%r", false), brackets("%x", false), brackets("%", false)],
        heredocs: &["<<-"],
        sigils: &[sigil("@[", Function), sigil("@@", Variable), AT_VARIABLE, DOLLAR, Sigil { place: Anchor::NotAfterValue, ..sigil(":", String) }],
        keys: &[Key { first: false, spaced: false, ..key(": ", Variable) }],
        capitalised: Type,
        shouted: Type,
    }
    ELIXIR "elixir ex exs eex leex heex" {
        words: &[
            (Keyword, Then::Type, "alias defmodule defprotocol defimpl import require use"),
            (Keyword, Then::Function, "def defp defmacro defmacrop defguard defguardp defdelegate defn defnp"),
            (Keyword, Then::Any,
             "after and case catch cond defexception defoverridable defstruct do else end false fn for if in not nil or quote raise receive rescue reraise \
              super throw true try unless unquote unquote_splicing when with"),
        ],
        tails: "?!",
        comments: &[HASH],
        regions: &[
            TRIPLE.interpolations(HASH_BRACE), TRIPLE.begin("'''").end("'''").interpolations(HASH_BRACE),
            TRIPLE.begin("~S\"\"\"").raw(), TRIPLE.begin("~s\"\"\"").interpolations(HASH_BRACE), TRIPLE.begin("~H\"\"\"").interpolations(HASH_BRACE),
            quote(":\"").end("\""), HASHED, SINGLE.lines().interpolations(HASH_BRACE),
        ],
        delimited: &[brackets("~", true)],
        sigils: &[AT_VARIABLE, Sigil { place: Anchor::NotAfterValue, ..sigil(":", String) }, sigil("&", Variable), Sigil { place: Anchor::NotAfterValue, specials: "\"'#\\", ..sigil("?", String) }],
        keys: &[Key { first: false, spaced: false, ..key(": ", Variable) }],
        capitalised: Type,
        calls: Calls::Bracket,
    }
    GDSCRIPT "gdscript gd godot" {
        words: &[
            (Keyword, Then::Type, "class class_name extends enum is as"),
            (Keyword, Then::Function, "func signal"),
            (Keyword, Then::Variable, "var const"),
            (Keyword, Then::Any,
             "and assert await break breakpoint continue elif else export false for if in match namespace not null onready or pass return self setget \
              static super tool trait true void while yield when INF NAN PI TAU"),
            (Type, Then::Any, "bool float int String"),
        ],
        comments: &[HASH],
        regions: &[TRIPLE, TRIPLE.begin("'''").end("'''"), DOUBLE, SINGLE],
        sigils: &[sigil("@", Function), sigil("$", Variable), sigil("%", Variable), sigil("&", Plain)],
        capitalised: Type,
        shouted: Variable,
    }
    JULIA "julia jl julia-repl" {
        words: &[
            (Keyword, Then::Type, "module baremodule struct abstract primitive"),
            (Keyword, Then::Function, "function macro"),
            (Keyword, Then::Any,
             "begin break catch ccall const continue do else elseif end export false finally for global if import importall in isa let local mutable new \
              outer public quote return true try type using var where while"),
            (Type, Then::Any,
             "Any Array Bool Char Complex Dict Float16 Float32 Float64 Int Int128 Int16 Int32 Int64 Int8 Integer Nothing Number Real Rational Set String Symbol Tuple \
              UInt UInt128 UInt16 UInt32 UInt64 UInt8 Union Vector Matrix"),
        ],
        tails: "!",
        comments: &[HASH],
        regions: &[
            block("#=", "=#").nested(), TRIPLE.interpolations(JULIA_INTERPOLATIONS), TRIPLE.begin("raw\"\"\""), TRIPLE.begin("r\"\"\""),
            DOUBLE.lines().begin("raw\""), DOUBLE.lines().begin("r\""), DOUBLE.lines().begin("b\""), DOUBLE.lines().begin("v\""),
            DOUBLE.lines().interpolations(JULIA_INTERPOLATIONS), quote("`").lines().interpolations(JULIA_INTERPOLATIONS), CHAR,
        ],
        sigils: &[sigil("@", Function), Sigil { place: Anchor::NotAfterValue, ..sigil(":", String) }, sigil("$", Variable)],
        capitalised: Type,
        open_numbers: true,
        operators: "+-*/%=!&|^~<>?÷\\'",
    }
    LIVESCRIPT "livescript ls" {
        words: &[
            (Keyword, Then::Type, "class extends new instanceof implements"),
            (Keyword, Then::Any,
             "and await by break case catch continue const debugger default delete do else enum eval export false fallthrough finally for from function if import in interface is isnt it \
              let loop no not null of off on or otherwise own package return super switch that then this throw til to true try typeof undefined unless until var void when while with yes \
              yield where all async native list map"),
        ],
        letters: "$-",
        begins: "$",
        comments: &[HASH],
        regions: &[
            C_COMMENT, TRIPLE.interpolations(HASH_BRACE), TRIPLE.begin("'''").end("'''"), quote("//").raw().lines().within(u16::MAX).at(Anchor::Operand),
            block("<[", "]>").is(String), HASHED, SINGLE.lines(), quote("``").raw().lines(), REGEX,
            quote("\\").end(" ").raw().within(40).at(Anchor::AfterBlank),
        ],
        sigils: &[AT_VARIABLE],
        keys: &[Key { first: false, spaced: false, ..key(":", Variable) }],
        capitalised: Type,
    }
    LUA "lua luau rockspec nse wlua" {
        words: &[
            (Keyword, Then::Function, "function"),
            (Keyword, Then::Any, "and break do else elseif end false for goto if in local nil not or repeat return then true until while continue"),
            (Variable, Then::Any, "self _G _ENV _VERSION"),
            (Function, Then::Any,
             "assert collectgarbage dofile error getfenv getmetatable ipairs load loadfile loadstring module next pairs pcall print rawequal rawget rawset \
              require select setfenv setmetatable tonumber tostring type unpack xpcall"),
        ],
        comments: &[DASHES, ("#!", Anchor::Column0)],
        regions: &[block("--[", "]").level(b'=', "[", "]"), block("[", "]").is(String).level(b'=', "[", "]"), DOUBLE, SINGLE, quote("::").raw().within(60).is(Variable)],
        operators: "+-*/%=^~<>#&|",
    }
    MATLAB "matlab m octave" {
        words: &[
            (Keyword, Then::Type, "classdef"),
            (Keyword, Then::Function, "function"),
            (Keyword, Then::Any,
             "arguments break case catch continue else elseif end end_try_catch end_unwind_protect endclassdef endenumeration endevents endfor endfunction \
              endif endmethods endparfor endproperties endswitch endwhile enumeration events for global if methods otherwise parfor persistent properties return spmd \
              switch try until unwind_protect unwind_protect_cleanup while true false"),
        ],
        comments: &[PERCENT, ("#", Anchor::LineStart), ("...", Anchor::AfterBlank)],
        regions: &[
            block("%{", "%}").at(Anchor::Column0), DOUBLE.doubled(), SINGLE.doubled().at(Anchor::NotAfterValue),
        ],
        operators: "+-*/%=!&|^~<>?\\'@",
        open_numbers: true,
    }
    NIM "nim nims nimble" {
        words: &[
            (Keyword, Then::Function, "func iterator macro method proc template converter"),
            (Keyword, Then::Any,
             "addr and as asm bind block break case cast concept const continue defer discard distinct div do elif else end enum except export false \
              finally for from generic guarded if import in include interface is isnot let mixin mod nil not notin object of or out \
              ptr raise ref return shared shl shr static true try tuple type using var when while with without xor yield"),
            (Type, Then::Any,
             "any array auto bool byte char cint clong cstring float float32 float64 int int16 int32 int64 int8 openArray pointer range seq set string typedesc uint uint16 \
              uint32 uint64 uint8 void"),
            (Variable, Then::Any, "result stdin stdout stderr"),
        ],
        comments: &[HASH],
        regions: &[
            block("##[", "]##").nested(), block("#[", "]#").nested(), TRIPLE.raw(), TRIPLE.raw().begin("r\"\"\""), block("{.", ".}").is(Function),
            DOUBLE.raw().begin("r\"").doubled(), DOUBLE, CHAR, quote("`").raw().within(60).is(Function),
        ],
        number_marks: "'",
        capitalised: Type,
    }
    PERL "perl pl pm perl5 cpanfile" {
        words: &[
            (Keyword, Then::Function, "sub method"),
            (Keyword, Then::Module, "package use no require"),
            (Keyword, Then::Any,
             "BEGIN CHECK DESTROY END INIT UNITCHECK abs accept alarm and atan2 bind binmode bless break caller chdir chmod chomp chop chown chr chroot close closedir cmp connect \
              continue cos crypt dbmclose dbmopen default defined delete die do dump each else elsif endgrent endhostent endnetent endprotoent endpwent endservent \
              eof eq eval exec exists exit exp fcntl fileno flock for foreach fork format formline ge getc getgrent getgrgid getgrnam getlogin getpeername \
              getpgrp getppid getpriority getpwent getpwnam getpwuid getsockname getsockopt given glob gmtime goto grep gt hex if import index int ioctl isa join keys \
              kill last lc lcfirst le length link listen local localtime log lstat lt map mkdir msgctl msgget msgrcv msgsnd my ne next not oct open \
              opendir or ord our pack pipe pop pos print printf prototype push quotemeta rand read readdir readline readlink readpipe recv redo ref rename \
              reset return reverse rewinddir rindex rmdir say scalar seek seekdir select semctl semget semop send setpgrp setpriority setsockopt shift \
              shmctl shmget shmread shmwrite shutdown sin sleep socket socketpair sort splice split sprintf sqrt srand stat state study substr symlink syscall \
              sysopen sysread sysseek system syswrite tell telldir tie tied time times truncate try uc ucfirst umask undef unless unlink unpack unshift untie until \
              utime values vec wait waitpid wantarray warn when while write x xor catch finally class field"),
        ],
        comments: &[HASH],
        lines: &[whole_line("__END__", Comment), whole_line("__DATA__", Comment)],
        regions: &[
            block("=", "=cut").whole_lines(), DOUBLE.lines(), SINGLE.lines().at(Anchor::NotAfterValue), quote("`").lines(), REGEX,
            quote("<").end(">").raw().within(24).is(String).at(Anchor::Operand),
        ],
        delimited: &[
            spaced("qq", 1), spaced("qw", 1), spaced("qr", 1), spaced("qx", 1), spaced("q", 1), spaced("m", 1), spaced("s", 2), spaced("tr", 2), spaced("y", 2),
        ],
        heredocs: &["<<~", "<<"],
        spaced_heredocs: true,
        sigils: &[
            Sigil { braces: "{", specials: "_&!@/\\,;.$0123456789+", ..sigil("$#", Variable) },
            Sigil { braces: "{", specials: "_&`'+!@/\\,;.$<>()[]0^|?:-", ..sigil("$", Variable) },
            Sigil { specials: "_{$", ..sigil("@", Variable) }, Sigil { place: Anchor::NotAfterValue, ..sigil("%", Variable) },
        ],
        statement_ends: ";",
        operators: "+-*/%=!&|^~<>?\\",
    }
    R "r rlang rprofile splus" {
        words: &[
            (Keyword, Then::Any,
             "break else for function if in next repeat return while TRUE FALSE NULL NA NA_character_ NA_complex_ NA_integer_ NA_real_ Inf NaN"),
            (Function, Then::Any, "library require source stopifnot stop warning"),
        ],
        letters: ".",
        comments: &[HASH],
        regions: &[
            quote("r\"").end(")").level(b'-', "(", "\""), quote("R\"").end(")").level(b'-', "(", "\""),
            quote("r'").end(")").level(b'-', "(", "'"), DOUBLE.lines(), SINGLE.lines(), quote("`").within(120).is(Variable), quote("%").raw().within(12).is(Keyword),
        ],
        operators: "+-*/%=!&|^~<>?$@:",
        punctuation: "()[]{},;",
    }
    VIM "vim viml vimscript nvim vimrc exrc gvimrc" {
        words: &[
            (Keyword, Then::Function, "function fu func function! func! def"),
            (Keyword, Then::Variable, "let const unlet"),
            (Keyword, Then::Any,
             "au autocmd augroup abort break call cal catch cnoremap cmap command colorscheme com cons continue delfunction dict echo echoerr echom echomsg echon \
              edit else elseif en endif endfo endfor endf endfun endfunction enddef endt endtry endw endwhile exe execute export filetype fina finally finish fini for hi highlight if ino inoremap \
              imap iabbrev import in is lua map mapclear match menu nmap nnoremap nno noremap normal norm on plugin indent py python range redraw ret return ru runtime scriptencoding se set setlocal setl silent sil sign so \
              source sy syn syntax tab th throw tnoremap try unmap vmap vn vnoremap wh while windo xmap xnoremap wincmd sp vs split vsplit wa wq q qa w e closure echohl autoload command!  autocmd! augroup!"),
        ],
        tails: "!",
        comments: &[],
        lines: &[whole_line("\"", Comment)],
        regions: &[
            SINGLE.doubled().within(u16::MAX).at(Anchor::NotAfterValue), DOUBLE.within(u16::MAX), quote("\"").end("\n").raw().is(Comment).at(Anchor::AfterBlank),
            quote("<").end(">").raw().within(20).is(Keyword).at(Anchor::NotAfterValue),
        ],
        sigils: &[
            sigil("g:", Variable), sigil("s:", Variable), sigil("b:", Variable), sigil("w:", Variable), sigil("l:", Variable), sigil("a:", Variable),
            sigil("v:", Variable), sigil("&", Variable), Sigil { place: Anchor::NotAfterValue, ..sigil("@", Variable) },
        ],
        letters: "#",
        statement_ends: "|",
        operators: "+-*/%=!&|^~<>?.",
        punctuation: "()[]{},;:",
    }
}
