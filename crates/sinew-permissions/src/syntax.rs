//! Parses a bash line into the simple commands that it may run, with the grammar of `brush-parser`.
//!
//! Every difference between that grammar and bash could bypass a rule. Therefore syntax with known differences is
//! refused as [`UnreadableLine`], each part of a line is checked against what its kind can contain, and tests compare
//! the result with what bash runs. The input is limited in length and nesting before it is parsed.

use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
    CompoundList, ExtendedTestExpr, IoFileRedirectKind as Kind, IoFileRedirectTarget, IoRedirect, Program,
    SimpleCommand,
};
use brush_parser::word::{self, Parameter, ParameterExpr, ParameterTransformOp, WordPiece, WordPieceWithSource};
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

use super::pattern::ANY;

/// A simple command: its words without quotes. [`ANY`] replaces expansions.
pub(super) type Words = Vec<String>;

/// Why a line cannot be read reliably.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnreadableLine(pub(super) &'static str);

type Result<T> = std::result::Result<T, UnreadableLine>;

/// The simple commands of a line, including those in substitutions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) commands: Vec<SimpleWords>,
    /// The variables that the line sets.
    pub(super) assignments: Vec<Variable>,
    /// Whether it has a loop over values, so that its commands run with unknown words.
    pub(super) loops: bool,
    /// Whether a redirection writes a file other than `/dev/null`.
    pub(super) writes: bool,
    /// The files of redirections.
    pub(super) files: Vec<String>,
    /// Whether it defines a function, which later lines may call.
    pub(super) defines: bool,
    /// Whether a text that bash does not expand here contains a substitution: `'$(…)'`.
    pub(super) dormant: bool,
    /// Whether a value is evaluated as an expression, which runs the substitutions in it: `((x))`, `[[ x -eq 1 ]]`.
    pub(super) evaluates: bool,
}

/// A variable that a line sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
    /// Whether the programs of the line see it.
    pub(super) exported: bool,
}

/// The words of a simple command, and whether its standard input comes from the line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleWords {
    pub(super) words: Words,
    /// The same words for rules that allow, in which the `~` of a plain `~/x` is not replaced.
    pub(super) written: Words,
    pub(super) has_input: bool,
    /// Whether a here-document or a here-string is its input.
    pub(super) has_here: bool,
    /// The only redirection of its input.
    pub(super) input: Input,
    /// Whether it runs in a subshell, so that it does not change the state of the shell: `(cd x)`, `cd x | y`.
    pub(super) apart: bool,
}

/// The redirection of the standard input of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Input {
    #[default]
    None,
    /// A here-document without expansions.
    Document(String),
    File(String),
    /// Several redirections, or another one.
    Other,
}

impl SimpleWords {
    fn push(&mut self, word: String, written: String) {
        self.words.push(word);
        self.written.push(written);
    }
}

/// Longer lines are refused.
const MAX_BYTES: usize = 256 << 10;
/// The maximum depth of nested substitutions.
const MAX_DEPTH: usize = 16;
/// The maximum number of substitutions in one word, because the parser's time may double with each nested one.
const MAX_IN_WORD: usize = 24;
/// The maximum number of substitutions, brackets and compound commands in one line.
const MAX_NESTING: usize = 400;
/// The maximum number of `((` and `case` in one line, which the parser tries in two ways.
const MAX_TRIED_TWICE: usize = 6;
/// The stack size for parsing lines that nest deeper than [`SHALLOW`].
const STACK: usize = 64 << 20;
const SHALLOW: usize = 8;

/// Parses a line.
pub(super) fn read(line: &str) -> Result<Script> {
    if line.len() > MAX_BYTES {
        return Err(UnreadableLine("it is longer than 256 KB"));
    }
    let nesting = line.matches(['(', '{', '`']).count();
    if nesting <= SHALLOW && keywords(line) <= SHALLOW {
        return read_here(line);
    }
    let deep = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || read_here(line));
        thread.ok().and_then(|thread| thread.join().ok())
    });
    deep.unwrap_or(Err(UnreadableLine("it cannot be parsed")))
}

/// Returns the number of words that could begin a compound command.
fn keywords(line: &str) -> usize {
    const OPENING: [&str; 8] = ["if", "elif", "while", "until", "for", "case", "coproc", "function"];
    line.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| OPENING.contains(word)).count()
}

fn read_here(line: &str) -> Result<Script> {
    let mut reader = Reader { script: Script::default(), depth: 0, apart: 0 };
    reader.line(line)?;
    Ok(reader.script)
}

struct Reader {
    script: Script,
    depth: usize,
    /// The number of subshells around the current command.
    apart: usize,
}

fn options() -> ParserOptions {
    // Without extended globbing, bash reads `!(a)` as a negated subshell. If bash has it enabled, this reads more
    // commands than it runs.
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

fn parse(line: &str) -> Result<Program> {
    if line.contains(ANY) {
        return Err(UnreadableLine("it has a NUL byte"));
    }
    if line.contains("$'") && line.contains("\\'") {
        return Err(UnreadableLine("it combines \\' with $'"));
    }
    if ["$(", "${", "$["].iter().map(|open| line.matches(open).count()).sum::<usize>() > MAX_NESTING {
        return Err(UnreadableLine("it has too many substitutions"));
    }
    let options = options();
    let tokens = uncached_tokenize_str(line, &options.tokenizer_options())
        .map_err(|_| UnreadableLine("it cannot be split into words in the same way as in bash"))?;
    let is = |token: &Token, text: &str| matches!(token, Token::Operator(found, _) if found == text);
    let word = |token: &Token, text: &str| matches!(token, Token::Word(found, _) if found == text);
    let twice = tokens.windows(2).filter(|pair| is(&pair[0], "(") && is(&pair[1], "(")).count()
        + tokens.iter().filter(|token| word(token, "case")).count();
    let open = tokens
        .iter()
        .filter(|token| is(token, "(") || ["{", "if", "while", "until", "for"].iter().any(|text| word(token, text)))
        .count();
    if twice > MAX_TRIED_TWICE || open > MAX_NESTING {
        return Err(UnreadableLine("it nests too deep"));
    }
    parse_tokens(&tokens, &options).map_err(|_| UnreadableLine("it is incomplete, or uses unknown syntax"))
}

/// The quoting context of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteContext {
    Command,
    HereDocument,
    Quotes,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(UnreadableLine("it nests too deep"));
        }
        let program = parse(line)?;
        for list in &program.complete_commands {
            self.list(list)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Parses a line that runs in a subshell.
    fn line_apart(&mut self, line: &str) -> Result<()> {
        self.apart += 1;
        self.line(line)?;
        self.apart -= 1;
        Ok(())
    }

    fn list(&mut self, list: &CompoundList) -> Result<()> {
        for item in &list.0 {
            let rest = item.0.additional.iter().map(|(AndOr::And(pipeline) | AndOr::Or(pipeline))| pipeline);
            for pipeline in std::iter::once(&item.0.first).chain(rest) {
                let apart = usize::from(pipeline.seq.len() > 1);
                self.apart += apart;
                for (at, command) in pipeline.seq.iter().enumerate() {
                    self.command(command, at > 0)?;
                }
                self.apart -= apart;
            }
        }
        Ok(())
    }

    /// Parses a list that runs in a subshell.
    fn list_apart(&mut self, list: &CompoundList) -> Result<()> {
        self.apart += 1;
        self.list(list)?;
        self.apart -= 1;
        Ok(())
    }

    fn command(&mut self, command: &Command, piped: bool) -> Result<()> {
        match command {
            Command::Simple(simple) => self.simple(simple, piped),
            Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref().map_or(&[][..], |list| &list.0))?;
                // Each inner command may read the standard input of the compound command.
                let before = self.script.commands.len();
                self.compound(compound)?;
                if piped || redirects.as_ref().is_some_and(|list| list.0.iter().any(reads)) {
                    self.script.commands[before..].iter_mut().for_each(|command| command.has_input = true);
                }
                // In a loop, another command usually reads the here-document.
                let group = matches!(compound, CompoundCommand::BraceGroup(_) | CompoundCommand::Subshell(_));
                if group && redirects.as_ref().is_some_and(|list| list.0.iter().any(is_here)) {
                    self.script.commands[before..].iter_mut().for_each(|command| command.has_here = true);
                }
                Ok(())
            }
            Command::Function(function) => {
                self.script.defines = true;
                self.redirects(function.body.1.as_ref().map_or(&[][..], |list| &list.0))?;
                self.compound(&function.body.0)
            }
            Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref().map_or(&[][..], |list| &list.0))?;
                self.test(&test.expr)
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Result<()> {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.arithmetic(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                for expression in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&expression.value)?;
                }
                self.script.loops = true;
                self.list(&clause.body.list)
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list_apart(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                self.script.loops = true;
                for value in clause.values.iter().flatten() {
                    let value = self.word(&value.value)?;
                    self.set(&clause.variable_name, value);
                }
                if clause.values.is_none() {
                    self.set(&clause.variable_name, ANY.to_string());
                }
                self.list(&clause.body.list)
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value)?;
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(&pattern.value)?;
                    }
                    if let Some(list) = &case.cmd {
                        self.list(list)?;
                    }
                }
                Ok(())
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.list(&clause.then)?;
                for part in clause.elses.iter().flatten() {
                    if let Some(condition) = &part.condition {
                        self.list(condition)?;
                    }
                    self.list(&part.body)?;
                }
                Ok(())
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.script.loops = true;
                self.list(&clause.0)?;
                self.list(&clause.1.list)
            }
            CompoundCommand::Coprocess(coprocess) => self.command(&coprocess.body, true),
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> Result<()> {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left)?;
                self.test(right)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => {
                self.script.evaluates = true;
                self.word(&word.value).map(drop)
            }
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.script.evaluates = true;
                self.word(&left.value)?;
                self.word(&right.value).map(drop)
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, piped: bool) -> Result<()> {
        let mut found = SimpleWords { has_input: piped, apart: self.apart > 0, ..SimpleWords::default() };
        let first = self.script.assignments.len();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut own = 0;
        for item in prefix {
            if let Item::AssignmentWord(assignment, _) = item {
                self.assignment(assignment)?;
                own += 1;
            } else {
                self.item(item, &mut found)?;
            }
        }
        if let Some(name) = &simple.word_or_name {
            let name = self.word(&name.value)?;
            if name.starts_with(['-', '{']) {
                return Err(UnreadableLine("a command begins with - or {"));
            }
            found.push(name.clone(), name);
        }
        if !found.words.is_empty() {
            self.script.assignments[first..].iter_mut().for_each(|variable| variable.exported = true);
        }
        for item in suffix {
            self.item(item, &mut found)?;
        }
        if found.words.is_empty() && own == 0 && simple.word_or_name.is_none() && simple.suffix.is_some() {
            return Err(UnreadableLine("a command has no name"));
        }
        if !found.words.is_empty() {
            self.script.commands.push(found);
        }
        Ok(())
    }

    fn item(&mut self, item: &Item, found: &mut SimpleWords) -> Result<()> {
        match item {
            Item::IoRedirect(redirect) => {
                found.has_input |= reads(redirect);
                found.has_here |= is_here(redirect);
                if reads(redirect) {
                    let input = self.input(redirect)?;
                    found.input = if found.input == Input::None { input } else { Input::Other };
                }
                self.redirects(std::slice::from_ref(redirect))
            }
            Item::Word(word) => {
                let text = self.word(&word.value)?;
                let written = with_tilde(&word.value, &text);
                found.push(text, written);
                Ok(())
            }
            Item::AssignmentWord(assignment, word) => {
                self.assignment(assignment)?;
                let text = match &assignment.value {
                    AssignmentValue::Scalar(_) => self.word(&word.value)?,
                    AssignmentValue::Array(_) => format!("{}={ANY}", variable(&assignment.name)),
                };
                found.push(text.clone(), text);
                Ok(())
            }
            Item::ProcessSubstitution(_, subshell) => {
                let file = format!("/dev/fd/{ANY}");
                found.push(file.clone(), file);
                self.list_apart(&subshell.list)
            }
        }
    }

    fn assignment(&mut self, assignment: &Assignment) -> Result<()> {
        let name = variable(&assignment.name);
        if let AssignmentName::ArrayElementName(_, index) = &assignment.name {
            self.arithmetic(index)?;
        }
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) => self.word(&word.value)?,
            AssignmentValue::Array(elements) => {
                let mut all = String::new();
                for (key, value) in elements {
                    if let Some(key) = key {
                        self.arithmetic(&key.value)?;
                    }
                    all.push_str(&self.word(&value.value)?);
                    all.push(' ');
                }
                all
            }
        };
        self.set(&name, value);
        Ok(())
    }

    /// Records a variable that only the shell sees.
    fn set(&mut self, name: &str, value: String) {
        self.script.assignments.push(Variable { name: name.to_string(), value, exported: false });
    }

    fn redirects(&mut self, redirects: &[IoRedirect]) -> Result<()> {
        for redirect in redirects {
            match redirect {
                IoRedirect::File(_, kind, target) => match target {
                    IoFileRedirectTarget::Filename(word) => {
                        let file = self.word(&word.value)?;
                        self.script.writes |= !is_input(kind) && file != "/dev/null";
                        self.script.files.push(file);
                    }
                    IoFileRedirectTarget::Duplicate(word) => {
                        let file = self.word(&word.value)?;
                        let descriptor = file.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
                        self.script.writes |= !is_input(kind) && !descriptor && file != "/dev/null";
                        if !descriptor {
                            self.script.files.push(file);
                        }
                    }
                    IoFileRedirectTarget::Fd(_) => {}
                    IoFileRedirectTarget::ProcessSubstitution(_, subshell) => self.list_apart(&subshell.list)?,
                },
                IoRedirect::OutputAndError(word, _) => {
                    let file = self.word(&word.value)?;
                    self.script.writes |= file != "/dev/null";
                    self.script.files.push(file);
                }
                IoRedirect::HereString(_, word) => {
                    self.word(&word.value)?;
                }
                IoRedirect::HereDocument(_, document) => {
                    let tag = &document.here_end.value;
                    let bare = tag
                        .strip_prefix('\'')
                        .and_then(|tag| tag.strip_suffix('\''))
                        .or_else(|| tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')))
                        .unwrap_or(tag);
                    if bare.is_empty() || !bare.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric()) {
                        return Err(UnreadableLine("the delimiter of a here-document is not a plain word"));
                    }
                    if document.requires_expansion {
                        self.here_document(&document.doc.value)?;
                    } else {
                        self.script.dormant |= substitutes(&document.doc.value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns what a redirection supplies.
    fn input(&mut self, redirect: &IoRedirect) -> Result<Input> {
        Ok(match redirect {
            IoRedirect::HereDocument(None, document)
                if !document.requires_expansion || !document.doc.value.contains(['$', '`', '\\']) =>
            {
                Input::Document(document.doc.value.clone())
            }
            IoRedirect::File(None, Kind::Read, IoFileRedirectTarget::Filename(word)) => {
                Input::File(self.word(&word.value)?)
            }
            _ => Input::Other,
        })
    }

    fn here_document(&mut self, text: &str) -> Result<()> {
        if !text.contains(['$', '`']) {
            return Ok(());
        }
        bounded(text)?;
        let pieces =
            word::parse_heredoc(text, &options()).map_err(|_| UnreadableLine("a here-document cannot be read"))?;
        self.pieces(text, &pieces, QuoteContext::HereDocument).map(drop)
    }

    /// Parses an expression. Its substitutions run, and so do those in the values of its variables.
    fn arithmetic(&mut self, expression: &str) -> Result<()> {
        self.script.evaluates = true;
        if expression.contains(['\'', '`', ';']) || expression.contains("<(") {
            return Err(UnreadableLine("an arithmetic expression contains quotes or commands"));
        }
        bounded(expression)?;
        let pieces = word::parse(expression, &options())
            .map_err(|_| UnreadableLine("an arithmetic expression cannot be read"))?;
        self.pieces(expression, &pieces, QuoteContext::Quotes)?;
        // `((a b) )` may be two nested subshells, so it is also read as commands.
        let nested = expression.split(|letter: char| "()&|".contains(letter)).map(str::trim);
        for text in nested.filter(|text| text.contains([' ', '\t', '\n'])) {
            let words: Words = text.split_whitespace().map(str::to_string).collect();
            self.script.commands.push(SimpleWords { written: words.clone(), words, ..SimpleWords::default() });
        }
        Ok(())
    }

    /// Returns the text of a word without its quotes.
    fn word(&mut self, source: &str) -> Result<String> {
        if source == "["
            || !source.contains(['$', '`', '\\', '\'', '"', '*', '?', '[', '{', '~', '(', ')', '<', '>', ';', '&', '|'])
        {
            return Ok(source.to_string());
        }
        bounded(source)?;
        let name = source.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        if name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic()) && !name.contains([',', '.']) {
            return Err(UnreadableLine("a word names a file descriptor in braces"));
        }
        let pieces = word::parse(source, &options()).map_err(|_| UnreadableLine("a word cannot be read"))?;
        let text = self.pieces(source, &pieces, QuoteContext::Command)?;
        self.script.dormant |= substitutes(&text);
        Ok(text)
    }

    fn pieces(&mut self, source: &str, pieces: &[WordPieceWithSource], around: QuoteContext) -> Result<String> {
        let mut text = String::new();
        let mut end = pieces.first().map_or(0, |piece| piece.start_index);
        for piece in pieces {
            if piece.start_index != end {
                return Err(UnreadableLine("a word cannot be read"));
            }
            end = piece.end_index;
            let slice =
                source.get(piece.start_index..piece.end_index).ok_or(UnreadableLine("a word cannot be read"))?;
            match &piece.piece {
                WordPiece::Text(plain) => {
                    literal(plain, around)?;
                    match around {
                        QuoteContext::Command if plain.contains(['*', '?', '[', '~']) || braces(plain, source) => {
                            unknown(&mut text);
                        }
                        _ => text.push_str(plain),
                    }
                }
                WordPiece::SingleQuotedText(plain) => {
                    if around != QuoteContext::Command {
                        return Err(UnreadableLine("a quote inside quotes"));
                    }
                    text.push_str(plain);
                }
                WordPiece::AnsiCQuotedText(plain) => {
                    if around != QuoteContext::Command || plain.contains('\'') {
                        return Err(UnreadableLine("a quote inside quotes"));
                    }
                    if plain.contains('\\') {
                        self.script.dormant = true;
                        unknown(&mut text);
                    } else {
                        text.push_str(plain);
                    }
                }
                WordPiece::EscapeSequence(escape) => {
                    let letter = escape.strip_prefix('\\').unwrap_or(escape);
                    match (around, letter) {
                        (_, "\n") => {}
                        (QuoteContext::Command, _) | (_, "$" | "`" | "\"" | "\\") => text.push_str(letter),
                        _ => text.push_str(escape),
                    }
                }
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    text.push_str(&self.pieces(source, inner, QuoteContext::Quotes)?);
                }
                WordPiece::TildeExpansion(_) => unknown(&mut text),
                WordPiece::ParameterExpansion(parameter) => {
                    self.parameter(slice, parameter)?;
                    unknown(&mut text);
                }
                WordPiece::CommandSubstitution(inner) => {
                    self.substitution(slice, inner)?;
                    unknown(&mut text);
                }
                WordPiece::BackquotedCommandSubstitution(inner) => {
                    if slice.contains('\\') {
                        return Err(UnreadableLine("a backslash inside backquotes"));
                    }
                    self.line_apart(inner)?;
                    unknown(&mut text);
                }
                WordPiece::ArithmeticExpression(expression) => {
                    self.arithmetic(&expression.value)?;
                    unknown(&mut text);
                }
            }
        }
        Ok(text)
    }

    /// Parses `$(…)`. The tokenizer must find the same end.
    fn substitution(&mut self, slice: &str, inner: &str) -> Result<()> {
        let tokens = uncached_tokenize_str(slice, &options().tokenizer_options())
            .map_err(|_| UnreadableLine("the end of a substitution is ambiguous"))?;
        if !matches!(tokens.as_slice(), [Token::Word(..)]) {
            return Err(UnreadableLine("the end of a substitution is ambiguous"));
        }
        self.line_apart(inner)
    }

    /// Parses `${…}`, whose operand may contain substitutions.
    fn parameter(&mut self, slice: &str, parameter: &ParameterExpr) -> Result<()> {
        match parameter {
            // The value of the variable is expanded again.
            ParameterExpr::Transform { op: ParameterTransformOp::PromptExpand, .. } => {
                return Err(UnreadableLine("${x@P} expands a value"));
            }
            ParameterExpr::Parameter { indirect: true, .. } | ParameterExpr::Substring { .. } => {
                self.script.evaluates = true;
            }
            ParameterExpr::AssignDefaultValues { parameter, indirect, default_value, .. } => {
                let name = match parameter {
                    Parameter::Named(name) | Parameter::NamedWithIndex { name, .. } if !indirect => name.clone(),
                    _ => ANY.to_string(),
                };
                let plain = |text: &&String| !text.contains(['$', '`', '\'', '"', '\\', '~']);
                let value = default_value.as_ref().filter(plain).cloned().unwrap_or_else(|| ANY.to_string());
                self.set(&name, value);
            }
            _ => {}
        }
        if let Some(inner) = slice.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
            if inner.contains('[') {
                self.script.evaluates = true;
            }
            if inner.contains(['\'', '`', '\\', '<', '>']) {
                // The meaning of a quote there depends on the context of the expansion.
                return Err(UnreadableLine("quotes inside ${…}"));
            }
            if inner.contains('$') {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(UnreadableLine("it nests too deep"));
                }
                let pieces = word::parse(inner, &options()).map_err(|_| UnreadableLine("a word cannot be read"))?;
                self.pieces(inner, &pieces, QuoteContext::Quotes)?;
                self.depth -= 1;
            }
        }
        Ok(())
    }
}

/// Returns whether a redirection supplies the input of a command.
fn reads(redirect: &IoRedirect) -> bool {
    match redirect {
        IoRedirect::File(_, kind, _) => is_input(kind) || matches!(kind, Kind::ReadAndWrite),
        IoRedirect::HereDocument(..) | IoRedirect::HereString(..) => true,
        IoRedirect::OutputAndError(..) => false,
    }
}

fn is_here(redirect: &IoRedirect) -> bool {
    matches!(redirect, IoRedirect::HereDocument(..) | IoRedirect::HereString(..))
}

fn is_input(kind: &Kind) -> bool {
    matches!(kind, Kind::Read | Kind::DuplicateInput)
}

fn variable(name: &AssignmentName) -> String {
    match name {
        AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _) => name.clone(),
    }
}

/// Refuses a word whose substitutions could take the parser too long.
fn bounded(source: &str) -> Result<()> {
    let count = ["$(", "${", "$["].iter().map(|open| source.matches(open).count()).sum::<usize>();
    let brackets = source.matches('(').count();
    if count > MAX_IN_WORD || count > 0 && brackets > 4 * MAX_IN_WORD {
        return Err(UnreadableLine("a word has too many substitutions"));
    }
    Ok(())
}

/// Checks that a text which the parser treats as plain has no other meaning in bash.
fn literal(text: &str, around: QuoteContext) -> Result<()> {
    let operators =
        around == QuoteContext::Command && text.contains([' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>']);
    if operators
        || text.contains('`')
        || ["$(", "${", "$[", "$'"].iter().any(|open| text.contains(open)) && around != QuoteContext::Command
        || around == QuoteContext::Command && text.contains('$') && text.len() > 1
    {
        return Err(UnreadableLine("a word cannot be read"));
    }
    Ok(())
}

/// Returns whether an unexpanded text would run a command if it were expanded.
fn substitutes(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

/// Returns whether a brace in `text` may expand `source` to several words.
fn braces(text: &str, source: &str) -> bool {
    text.contains('{') && (source.contains(',') || source.contains(".."))
}

/// Returns a word as written if it is `~`, or `~/` before plain text; otherwise its text.
fn with_tilde(source: &str, text: &str) -> String {
    match (source.strip_prefix('~'), text.strip_prefix(ANY)) {
        (Some(rest), Some(plain)) if rest == plain && (rest.is_empty() || rest.starts_with('/')) => source.to_string(),
        _ => text.to_string(),
    }
}

fn unknown(text: &mut String) {
    if !text.ends_with(ANY) {
        text.push(ANY);
    }
}
