//! Compiles patterns to ripgrep's matcher: the same regular expressions as `rg --crlf`, with errors that report the
//! position, and with braces that cannot be a repetition treated as literals. Patterns that ripgrep's parser refuses and
//! a backtracking engine accepts (look-around, backreferences, atomic groups, `\K`, `\G`) get that engine.

use std::fmt::Write as _;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcherBuilder;
use regex_syntax::ast::{self, ErrorKind as Ast};
use sinew_base::{Error, ErrorCode, Result};

use crate::matcher::{Backtracking, PatternMatcher, Size};

/// The maximum number of repaired braces in one pattern, because each needs a parse.
const REPAIRS: usize = 64;
/// The maximum length of a pattern in an error message, in characters.
const QUOTED: usize = 80;
/// The hint for an invalid regular expression if the search has an option `literal`.
const ESCAPE_OR_LITERAL: &str = " (escape it with \\, or set literal: true to search the text as it is)";
/// The hint if the search has no such option.
const ESCAPE: &str = " (escape it with \\)";

/// The options that determine how a pattern is parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Syntax {
    pub(crate) literal: bool,
    pub(crate) ignore_case: bool,
    /// Allow matches to span several lines.
    pub(crate) multiline: bool,
    /// Text with a NUL byte is never searched, so a pattern that contains one is a mistake.
    pub(crate) skips_binary: bool,
}

/// A compiled pattern.
pub(crate) struct Pattern {
    pub(crate) matcher: PatternMatcher,
    /// The line terminator of this matcher; the searcher must use the same.
    pub(crate) terminator: LineTerminator,
    /// Explains how the pattern was repaired, or why another engine is used; `None` otherwise.
    pub(crate) warning: Option<String>,
    /// The pattern that was compiled.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only a workspace reads it"))]
    text: String,
}

impl Pattern {
    /// Compiles `pattern` for a line-by-line search, with the backtracking engine if only that one accepts it.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if it is not a valid regular expression, and `LimitExceeded` if it is too large.
    pub(crate) fn lines(pattern: &str, syntax: Syntax, size: Size) -> Result<Pattern> {
        let build = |pattern: &str, crlf: bool| {
            let mut builder = builder(syntax.literal, syntax.ignore_case, size);
            builder.multi_line(true).crlf(crlf);
            if syntax.skips_binary {
                builder.ban_byte(Some(0));
            }
            if syntax.multiline {
                builder.line_terminator(None);
            } else if !crlf {
                builder.line_terminator(Some(b'\n'));
            }
            let met = if syntax.literal { None } else { states_as_met(pattern, syntax.ignore_case) };
            met.and_then(|met| builder.build(&met).ok()).map_or_else(|| builder.build(pattern), Ok)
        };
        let crlf = |pattern: &str| match build(pattern, true) {
            // A pattern that contains `\r` explicitly needs to see it, so lines end at `\n` in this case.
            Err(error) if matches!(error.kind(), grep_regex::ErrorKind::NotAllowed(what) if what == "\r") => {
                build(pattern, false).map(|matcher| (matcher, LineTerminator::byte(b'\n'), pattern.to_string()))
            }
            built => built.map(|matcher| (matcher, LineTerminator::crlf(), pattern.to_string())),
        };
        let way_out = (!syntax.literal).then_some(ESCAPE_OR_LITERAL);
        let ((matcher, terminator, text), warning) = match repaired(pattern, way_out, crlf) {
            Ok(built) => built,
            Err(error) => {
                let fault = if syntax.literal { None } else { fault(pattern).filter(may_be_syntax) };
                let Some(fault) = fault else { return Err(error) };
                let feature = backtracking_feature(pattern, &fault);
                let other = Pattern::backtracking(pattern, feature.unwrap_or("a construct"), syntax, size);
                // Only for a known feature, the fault is what the other engine says.
                return if feature.is_some() { other } else { other.map_err(|_| error) };
            }
        };
        Ok(Pattern { matcher: PatternMatcher::Linear(matcher), terminator, warning, text })
    }

    fn backtracking(pattern: &str, feature: &str, syntax: Syntax, size: Size) -> Result<Pattern> {
        let matcher = Backtracking::new(pattern, syntax.ignore_case, syntax.multiline, size).map_err(|reason| {
            Error::invalid(format!("invalid regex {}: {reason}{ESCAPE_OR_LITERAL}", quote(pattern)))
        })?;
        // As with the other engine, a pattern that contains `\r` needs to see it.
        let names_return = pattern.contains('\r') || pattern.contains("\\r");
        Ok(Pattern {
            matcher: PatternMatcher::Backtracking(matcher),
            terminator: if names_return { LineTerminator::byte(b'\n') } else { LineTerminator::crlf() },
            warning: Some(format!(
                "pattern {} has {feature}, which ripgrep's engine does not support; a slower engine was used",
                quote(pattern)
            )),
            text: pattern.to_string(),
        })
    }

    /// Compiles `pattern` for one search of a whole text: `^` and `$` match at the ends of the text, with `multiline`
    /// at the ends of its lines.
    ///
    /// # Errors
    /// Returns the errors of [`Pattern::lines`].
    pub(crate) fn text(pattern: &str, ignore_case: bool, multiline: bool, size: Size) -> Result<Pattern> {
        let build = |pattern: &str| {
            let mut builder = builder(false, ignore_case, size);
            builder.multi_line(multiline).crlf(multiline).line_terminator(None);
            builder.build(pattern)
        };
        let build = |pattern: &str| build(pattern).map(|matcher| (matcher, pattern.to_string()));
        let ((matcher, text), warning) = repaired(pattern, Some(ESCAPE), build)?;
        Ok(Pattern { matcher: PatternMatcher::Linear(matcher), terminator: LineTerminator::default(), warning, text })
    }
}

impl Pattern {
    /// Returns true if no match spans a line terminator, so that many lines are searched at once: ripgrep uses the same
    /// condition.
    pub(crate) fn is_searched_in_blocks(&self) -> bool {
        self.matcher.line_terminator() == Some(self.terminator)
            || self.matcher.non_matching_bytes().is_some_and(|bytes| bytes.contains(b'\n'))
    }

    /// Creates the index plan of a pattern compiled by [`Pattern::lines`] with the same `syntax`.
    #[cfg(target_os = "linux")]
    pub(crate) fn plan(&self, syntax: Syntax) -> sinew_index::Plan {
        let escaped = syntax.literal.then(|| regex_syntax::escape(&self.text));
        let parsed = regex_syntax::ParserBuilder::new()
            .utf8(false)
            .multi_line(true)
            .crlf(self.terminator.is_crlf())
            .case_insensitive(syntax.ignore_case)
            .build()
            .parse(escaped.as_deref().unwrap_or(&self.text));
        parsed.map_or(sinew_index::Plan::All, |form| sinew_index::Plan::of(&form))
    }
}

fn builder(literal: bool, ignore_case: bool, size: Size) -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .fixed_strings(literal)
        .case_insensitive(ignore_case)
        .octal(false)
        .size_limit(size.program)
        .dfa_size_limit(size.states);
    builder
}

/// Returns an equivalent pattern whose automaton is built lazily; `None` if that is no improvement. Building it ahead
/// takes milliseconds for a `\w`, longer than searching the files that an index leaves. The library builds it ahead for
/// programs of at most 1,000 steps, so the pattern gets an optional tail of that many steps that never matches.
fn states_as_met(pattern: &str, ignore_case: bool) -> Option<String> {
    let mut parser = regex_syntax::ParserBuilder::new();
    let form = parser.utf8(false).case_insensitive(ignore_case).build().parse(pattern).ok()?;
    let is_text = form.properties().is_literal() || form.properties().is_alternation_literal();
    (!is_text).then(|| format!(r"(?:{pattern})(?-i:[a&&b][\x01\x02]{{1000}})?"))
}

type BuildResult<T> = std::result::Result<T, grep_regex::Error>;

/// Builds `pattern`, or the repaired pattern with a warning if its braces are invalid. `way_out` is the hint for an
/// invalid regular expression; `None` means that the pattern is literal text.
fn repaired<T>(
    pattern: &str,
    way_out: Option<&str>,
    build: impl Fn(&str) -> BuildResult<T>,
) -> Result<(T, Option<String>)> {
    let refused = |built: &str, error: &grep_regex::Error| refuse(pattern, built, way_out.unwrap_or(""), error);
    let error = match build(pattern) {
        Ok(built) => return Ok((built, None)),
        Err(error) => error,
    };
    if way_out.is_some()
        && let Some(repaired) = escape_braces(pattern)
    {
        let built = build(&repaired).map_err(|error| refused(&repaired, &error))?;
        let warning = format!(
            "pattern {} is not a valid regex; its braces were taken literally: {}",
            quote(pattern),
            quote(&repaired)
        );
        return Ok((built, Some(warning)));
    }
    Err(refused(pattern, &error))
}

/// Returns the pattern with every `{` escaped that the parser cannot read as a repetition, if that makes it valid;
/// `None` otherwise.
///
/// The parser reports the brace that is invalid, so that braces with a meaning (`\p{L}`, `\x{41}`, `\b{start}`, `[{]`,
/// `a{2,}`) stay unchanged.
fn escape_braces(pattern: &str) -> Option<String> {
    let mut text = pattern.to_string();
    for _ in 0..REPAIRS {
        let Some(error) = fault(&text) else { return (text != pattern).then_some(text) };
        let brace = match error.kind() {
            Ast::RepetitionCountUnclosed | Ast::RepetitionCountDecimalEmpty => {
                text.get(..=error.span().start.offset).unwrap_or(&text).rfind('{')?
            }
            // Nothing to repeat: `{platform}` is literal text, `{2,3}` a misplaced repetition.
            Ast::RepetitionMissing => {
                let at = error.span().start.offset;
                let rest = text.get(at..)?.strip_prefix('{')?;
                if is_count(rest) {
                    return None;
                }
                at
            }
            _ => return None,
        };
        text.insert(brace, '\\');
    }
    None
}

/// Returns true if the text after a `{` makes it a repetition: `2}`, `2,}`, `2,3}`.
fn is_count(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else { return false };
    inside.trim_start().starts_with(|c: char| c.is_ascii_digit())
        && inside.chars().all(|c| c.is_ascii_digit() || c == ',' || c.is_whitespace())
        && inside.matches(',').count() < 2
}

/// Returns the feature at which ripgrep's parser stopped, if it is one that it knows and does not support.
fn backtracking_feature(pattern: &str, error: &ast::Error) -> Option<&'static str> {
    match error.kind() {
        Ast::UnsupportedLookAround => Some("look-around"),
        Ast::UnsupportedBackreference => Some("a backreference"),
        // `\k<name>`
        Ast::EscapeUnrecognized if pattern.get(error.span().start.offset..)?.starts_with("\\k<") => {
            Some("a backreference")
        }
        _ => None,
    }
}

/// Returns true for a fault that may be a construct of the other engine. That engine also accepts a repetition of nothing,
/// as text, and groups of any depth.
fn may_be_syntax(error: &ast::Error) -> bool {
    !matches!(error.kind(), Ast::RepetitionMissing | Ast::NestLimitExceeded(_))
}

fn fault(pattern: &str) -> Option<ast::Error> {
    ast::parse::ParserBuilder::new().octal(false).build().parse(pattern).err()
}

/// Creates the error for a `pattern` that cannot be built; `built` is the text that the builder received.
fn refuse(pattern: &str, built: &str, way_out: &str, error: &grep_regex::Error) -> Error {
    use grep_regex::ErrorKind as Kind;
    match error.kind() {
        Kind::NotAllowed(what) => Error::invalid(format!(
            "pattern {} contains the line break {what:?}, but lines are searched one by one: set multiline: true",
            quote(pattern)
        )),
        Kind::Banned(_) => Error::invalid(format!(
            "pattern {} contains a NUL byte, but files with NUL bytes are skipped as binary",
            quote(pattern)
        )),
        Kind::Regex(text) if text.contains("size limit") => Error::new(
            ErrorCode::LimitExceeded,
            format!(
                "pattern {} is too large: compiled it exceeds {} MiB; use smaller repetition counts or fewer alternatives",
                quote(pattern),
                Size::WHOLE.program >> 20
            ),
        ),
        kind => {
            let reason = diagnose(built).unwrap_or_else(|| match kind {
                Kind::Regex(text) => text.lines().last().unwrap_or(text).trim_start_matches("error: ").to_string(),
                other => format!("{other:?}"),
            });
            Error::invalid(format!("invalid regex {}: {reason}{way_out}", quote(pattern)))
        }
    }
}

/// Describes the parser's error and its position; `None` if the pattern parses.
fn diagnose(pattern: &str) -> Option<String> {
    let (what, start, looks) = match regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern) {
        Ok(_) => return None,
        Err(regex_syntax::Error::Parse(error)) => {
            let engine = match error.kind() {
                Ast::UnsupportedLookAround => Some("unsupported look-around"),
                Ast::UnsupportedBackreference => Some("unsupported backreference"),
                _ => None,
            };
            (error.kind().to_string(), error.span().start.offset, engine)
        }
        Err(regex_syntax::Error::Translate(error)) => (error.kind().to_string(), error.span().start.offset, None),
        Err(other) => return Some(other.to_string().lines().last().unwrap_or_default().to_string()),
    };
    let character = pattern.get(..start).map_or(0, |before| before.chars().count()) + 1;
    let mut text = looks.map_or(what, str::to_string);
    let _ = match pattern.get(start..).and_then(|rest| rest.chars().next()) {
        Some(found) => write!(text, " at character {character} ({found:?})"),
        None => write!(text, " at character {character} (the end)"),
    };
    Some(text)
}

/// Returns the pattern in quotes, truncated if it is long.
fn quote(pattern: &str) -> String {
    match pattern.char_indices().nth(QUOTED) {
        Some((cut, _)) => format!("\"{}…\"", &pattern[..cut]),
        None => format!("\"{pattern}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syntax() -> Syntax {
        Syntax { skips_binary: true, ..Syntax::default() }
    }

    #[track_caller]
    fn reads_as(pattern: &str, expect: Option<&str>) {
        assert_eq!(escape_braces(pattern).as_deref(), expect, "{pattern}");
        let built = Pattern::lines(pattern, syntax(), Size::WHOLE).map(|built| built.warning.is_some());
        assert_eq!(built, Ok(expect.is_some()), "{pattern}");
    }

    #[test]
    fn braces_that_are_not_a_repetition_are_literal() {
        reads_as("${platform}", Some("$\\{platform}"));
        reads_as("a{", Some("a\\{"));
        reads_as("{,}", Some("\\{,}"));
        reads_as("a{,}", Some("a\\{,}"));
        reads_as("{platform}", Some("\\{platform}"));
        reads_as("f() {", Some("f() \\{"));
        reads_as("a{2,x}{y}", Some("a\\{2,x}\\{y}"));
        reads_as("é{ñ}", Some("é\\{ñ}"));
        reads_as("(?x) a { b", Some("(?x) a \\{ b"));
        reads_as("a{2", Some("a\\{2"));
        reads_as("{}", Some("\\{}"));
        reads_as("a{,3}", Some("a\\{,3}"));
    }

    #[test]
    fn keeps_valid_braces() {
        for pattern in
            [r"\b{start}x", r"\p{L}+", r"\x{41}", "a{2,}", "a{2}", "[{]", r"\{", r"\u{1F600}", "a{ 2 , 3 }", "}"]
        {
            reads_as(pattern, None);
        }
    }

    #[test]
    fn a_lazily_built_automaton_has_the_same_matches() {
        use grep_matcher::Matcher;
        for text in ["spi_nor", "foo|bar", r"\.rs"] {
            assert_eq!(states_as_met(text, false), None, "{text}");
        }
        let texts = ["", "a", "ab", "aab b", "spi_nor_x_sfdp(", "fn a_test(", "\u{1}\u{2}", "a # b", "éa\r"];
        for pattern in [
            r"\w+_\w",
            "a*",
            "(?x)a # b\n",
            "(?x) a b",
            "^$",
            r"a\b",
            "a?|b",
            "(?i)FN",
            ".",
            r"(?-u)\xC3",
            "x{0}",
            "a)(b",
        ] {
            let built = Pattern::lines(pattern, syntax(), Size::WHOLE).unwrap().matcher;
            let ahead = builder(false, false, Size::WHOLE).multi_line(true).crlf(true).build(pattern).unwrap();
            let ahead = PatternMatcher::Linear(ahead);
            for text in texts {
                let all = |matcher: &PatternMatcher| {
                    let mut found = Vec::new();
                    matcher
                        .find_iter(text.as_bytes(), |at| {
                            found.push(at);
                            true
                        })
                        .unwrap();
                    found
                };
                assert_eq!(all(&built), all(&ahead), "{pattern} {text}");
            }
        }
        assert!(states_as_met("x", true).is_some(), "a letter in both cases is not a literal");
    }

    #[track_caller]
    fn refuses(pattern: &str, expect: &str) {
        let error = Pattern::lines(pattern, syntax(), Size::WHOLE).map(drop).unwrap_err();
        assert_eq!(error.message(), expect);
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
    }

    #[test]
    fn an_error_contains_the_reason_and_the_position() {
        let way_out = "(escape it with \\, or set literal: true to search the text as it is)";
        refuses("a(b", &format!("invalid regex \"a(b\": unclosed group at character 2 ('(') {way_out}"));
        refuses("é)", &format!("invalid regex \"é)\": unopened group at character 2 (')') {way_out}"));
        refuses(
            "{2,3}",
            &format!(
                "invalid regex \"{{2,3}}\": repetition operator missing expression at character 1 ('{{') {way_out}"
            ),
        );
        refuses(
            "a{3,2}",
            &format!(
                "invalid regex \"a{{3,2}}\": invalid repetition count range, the start must be <= the end at character 2 ('{{') {way_out}"
            ),
        );
        refuses(
            r"\p{Foo}",
            &format!("invalid regex \"\\p{{Foo}}\": Unicode property not found at character 1 ('\\\\') {way_out}"),
        );
    }

    #[test]
    fn an_error_suggests_only_options_that_exist() {
        for pattern in ["a(b", "[", r"\p{Foo}", "x{3,2}", "a(?=b)", "a\nb(", r"a\x00b(", "(?:\\w{1000}){1000}"] {
            let error = Pattern::text(pattern, false, false, Size::WHOLE).map(drop).unwrap_err();
            for option in ["literal", "multiline"] {
                assert!(!error.message().contains(option), "{error}");
            }
        }
        let error = Pattern::text("a(b", false, false, Size::WHOLE).map(drop).unwrap_err();
        assert_eq!(error.message(), r#"invalid regex "a(b": unclosed group at character 2 ('(') (escape it with \)"#);
    }

    #[test]
    fn a_search_of_a_whole_text_has_no_look_around() {
        for (pattern, expect) in [
            ("foo(?=bar)", "unsupported look-around at character 4 ('(')"),
            (r"(a)\1", r"unsupported backreference at character 4 ('\\')"),
        ] {
            let error = Pattern::text(pattern, false, false, Size::WHOLE).map(drop).unwrap_err();
            assert_eq!(error.message(), format!(r#"invalid regex "{pattern}": {expect} (escape it with \)"#));
        }
    }

    #[track_caller]
    fn backtracks(pattern: &str, feature: Option<&str>) {
        let warning = feature.map(|feature| {
            format!(
                "pattern \"{pattern}\" has {feature}, which ripgrep's engine does not support; a slower engine was used"
            )
        });
        assert_eq!(Pattern::lines(pattern, syntax(), Size::WHOLE).map(|built| built.warning), Ok(warning));
    }

    #[test]
    fn look_around_and_backreferences_have_another_engine() {
        for pattern in ["(?<=a)b", "foo(?=bar)", "(?<!a)b", "foo(?!bar)", "(?i)a(?=B)"] {
            backtracks(pattern, Some("look-around"));
        }
        for pattern in [r"(a)\1", r"(?P<x>a)\k<x>", r"(?<x>a)\k<x>(?=b)"] {
            backtracks(pattern, Some("a backreference"));
        }
        for pattern in [r"(?P<x>a)(?P=x)", "(?>a)b", r"a\Kb", r"\Ga", r"(a)?(?(1)b|c)"] {
            backtracks(pattern, Some("a construct"));
        }
        for pattern in [r"\(?=", r"[(?=]", "(?:a)", "(?<x>a)"] {
            backtracks(pattern, None);
        }
        let literal = Syntax { literal: true, ..syntax() };
        assert_eq!(Pattern::lines("(?=a)", literal, Size::WHOLE).map(|built| built.warning), Ok(None));
        for pattern in ["(?=a", r"(a)\2", "(?=a)("] {
            let error = Pattern::lines(pattern, syntax(), Size::WHOLE).map(drop).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument);
            assert!(error.message().starts_with(&format!("invalid regex \"{pattern}\": ")), "{error}");
            assert!(error.message().ends_with("or set literal: true to search the text as it is)"), "{error}");
        }
    }

    #[test]
    fn rejects_patterns_that_cannot_match() {
        refuses(
            "a\nb",
            "pattern \"a\nb\" contains the line break \"\\n\", but lines are searched one by one: set multiline: true",
        );
        refuses(r"a\x00b", "pattern \"a\\x00b\" contains a NUL byte, but files with NUL bytes are skipped as binary");
    }

    #[test]
    fn hostile_patterns_are_errors() {
        let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(
            Pattern::lines(&deep, syntax(), Size::WHOLE).map(drop).unwrap_err().code(),
            ErrorCode::InvalidArgument
        );
        let large = Pattern::lines(r"(?:\w{1000}){1000}", syntax(), Size::WHOLE).map(drop).unwrap_err();
        assert_eq!(large.code(), ErrorCode::LimitExceeded);
        let braces = Pattern::lines(&"{".repeat(100_000), syntax(), Size::WHOLE).map(drop).unwrap_err();
        assert!(braces.message().len() < 1_000, "{braces}");
        assert!(Pattern::lines(&"a".repeat(100_000), syntax(), Size::WHOLE).is_ok());
    }

    #[test]
    fn a_pattern_with_a_carriage_return_matches_it() {
        let pattern = Pattern::lines(r"x\r$", syntax(), Size::WHOLE).unwrap();
        assert_eq!(pattern.terminator, LineTerminator::byte(b'\n'));
    }
}
