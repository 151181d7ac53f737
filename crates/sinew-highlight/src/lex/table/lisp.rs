//! Lisp languages.

use super::rules::{Anchor, Calls, DOUBLE, PLAIN, Region, Rules, SEMICOLON, Sigil, block, sigil};
use crate::category::Category::{Function, Keyword, Number, String, Type, Variable};
use crate::lex::words::{Row, Then};

const BARS: Region = block("#|", "|#").nested();
const TEXT: Region = DOUBLE.lines();
const LETTERS: &str = "-+*/<>=!?.$%&^~:";
const BEGINS: &str = "-+*/<>=!?$%&^~";

languages! {
    CLOJURE "clojure clj cljs cljc edn bb" from LISP_LIKE {
        words: CLOJURE_WORDS,
        letters: "-+*/<>=!?.$%&:'#",
        begins: "-+*/<>=!?$%&",
        comments: &[SEMICOLON, ("#!", Anchor::Column0)],
        regions: &[TEXT, DOUBLE.lines().begin("#\"")],
        sigils: &[sigil("::", Variable), sigil(":", Variable), sigil("\\", String), sigil("^", Type), Sigil { specials: "_", ..sigil("#", Function) }],
    }
    LISP "lisp elisp emacs-lisp emacslisp common-lisp commonlisp cl el lsp asd" from LISP_LIKE {
        words: &[
            (Keyword, Then::Function, "defun defmacro defgeneric defmethod defsubst define-compiler-macro cl-defun cl-defmacro define-minor-mode"),
            (Keyword, Then::Type, "defclass defstruct deftype define-condition defpackage in-package"),
            (Keyword, Then::Variable, "defvar defparameter defconstant defcustom defconst setf setq"),
            (Keyword, Then::Any,
             "and assert block case catch cond declare dolist dotimes do ecase else eval-when etypecase flet function go if ignore-errors interactive labels lambda let let* \
              loop macrolet multiple-value-bind nil not or otherwise prog1 progn provide quote require return return-from save-excursion tagbody t the throw typecase unless \
              unwind-protect use-package when while with-open-file with-slots"),
        ],
        regions: &[BARS, TEXT],
        sigils: &[sigil("#'", Function), Sigil { specials: "()\"';,#| ", ..sigil("#\\", String) }, sigil("?\\", String), sigil(":", Variable), sigil("&", Keyword), sigil("#", Number)],
    }
    RACKET "racket rkt" from SCHEME_RULES {}
    SCHEME "scheme scm ss sld guile" from SCHEME_RULES {}
}

const LISP_LIKE: Rules = Rules {
    comments: &[SEMICOLON],
    letters: LETTERS,
    begins: BEGINS,
    signed: true,
    calls: Calls::Head,
    statement_ends: "",
    operators: "'`,@#",
    punctuation: "()[]{}",
    ..PLAIN
};

const SCHEME_RULES: Rules = Rules {
    words: &[
        (
            Keyword,
            Then::Any,
            "begin begin0 call-with-current-continuation call/cc call-with-input-file call-with-output-file case case-lambda class cond define define-class define-library \
          define-record-type define-struct define-syntax define-values delay do dynamic-wind else export field for for-each for/list if import init-field \
          interface lambda λ let let* let*-values let-syntax let-values letrec letrec* letrec-syntax map match match-lambda mixin module or and parameterize protect provide public quasiquote \
          quote raise rename require send set! struct super syntax syntax-case syntax-rules test unless unquote unquote-splicing when with-handlers with-exception-handler => #t #f #true #false",
        ),
        (
            Function,
            Then::Any,
            "append apply assoc assq assv boolean? caar cadr car cdr char? cons display eq? equal? eqv? error eval exact->inexact exact? even? expt format \
          length list list->string list-ref list? member memq newline not null? number->string number? odd? pair? printf procedure? read reverse round string->number \
          string->symbol string-append string-length string? substring symbol->string symbol? values vector vector-ref vector-set! write zero?",
        ),
    ],
    letters: "-+*/<>=!?.$%&^~:",
    begins: "-+*/<>=!?$%&^~",
    regions: &[BARS, TEXT, DOUBLE.lines().begin("#rx\""), DOUBLE.lines().begin("#px\"")],
    sigils: &[
        Sigil { specials: "()\"';,#| ", ..sigil("#\\", String) },
        sigil("#:", Variable),
        sigil("#lang", Keyword),
        sigil("#", Keyword),
    ],
    ..LISP_LIKE
};

const CLOJURE_WORDS: &[Row] = &[
    (Keyword, Then::Function, "defn defn- defmacro defmethod defmulti definline deftest defonce"),
    (Keyword, Then::Type, "defrecord deftype defprotocol definterface defstruct ns in-ns"),
    (Keyword, Then::Variable, "def declare"),
    (
        Keyword,
        Then::Any,
        "and as-> assoc binding bound-fn case catch comment cond cond-> cond->> condp delay do dorun doseq dosync dotimes doto else extend extend-protocol extend-type false finally fn fn* for future gen-class \
      if if-let if-not if-some import is lazy-seq let let* letfn locking loop loop* monitor-enter monitor-exit new nil not or proxy quote recur refer refer-clojure reify require set! some-> some->> \
      swap! testing throw true try use var when when-first when-let when-not when-some while with-local-vars with-open with-out-str with-redefs -> ->>",
    ),
    (
        Function,
        Then::Any,
        "alter apply atom comp complement concat conj cons constantly contains? count cycle dec deref disj dissoc distinct doall drop drop-last drop-while empty empty? eval even? every? filter filterv first \
      flatten fnil format frequencies get get-in group-by hash-map hash-set identity inc interleave interpose into into-array iterate juxt keep key keys keyword last list \
      map map-indexed mapcat mapv max memoize merge merge-with meta min mod name next nth odd? partial partition partition-by peek pop pr pr-str print println prn quot rand range re-find re-matches re-seq reduce \
      rem remove repeat repeatedly reset! rest reverse second select-keys seq set slurp some sort sort-by spit split-at str subs subvec symbol take take-while update update-in val vals vec vector zero? zipmap",
    ),
];
