//! Visits the texts of one command that the interpreter expands.

use brush_core::parser::ast::{
    Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
    ExtendedTestExpr, IoFileRedirectTarget, IoRedirect, SimpleCommand, Word,
};

/// How the interpreter parses a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// A word of a command that runs something, or a pattern.
    Word,
    /// A word of a command that only assigns.
    Assigned,
    /// The body of a here-document, where quotes are literal.
    Document,
}

/// Calls `visit` with every text of the command itself, without its inner lists.
pub(super) fn texts(command: &mut Command, visit: &mut dyn FnMut(&mut String, Context)) {
    match command {
        Command::Simple(simple) => simple_command(simple, visit),
        Command::ExtendedTest(test, redirects) => {
            expression(&mut test.expr, visit);
            redirects.iter_mut().flat_map(|list| &mut list.0).for_each(|redirect| redirection(redirect, visit));
        }
        Command::Function(function) => {
            let redirects = function.body.1.iter_mut().flat_map(|list| &mut list.0);
            redirects.for_each(|redirect| redirection(redirect, visit));
        }
        Command::Compound(compound, redirects) => {
            match compound {
                CompoundCommand::ForClause(clause) => {
                    clause.values.iter_mut().flatten().for_each(|word| visit(&mut word.value, Context::Word));
                }
                CompoundCommand::CaseClause(clause) => {
                    visit(&mut clause.value.value, Context::Word);
                    let patterns = clause.cases.iter_mut().flat_map(|case| &mut case.patterns);
                    patterns.for_each(|word| visit(&mut word.value, Context::Word));
                }
                CompoundCommand::Arithmetic(arithmetic) => visit(&mut arithmetic.expr.value, Context::Word),
                CompoundCommand::ArithmeticForClause(clause) => {
                    let parts = [&mut clause.initializer, &mut clause.condition, &mut clause.updater];
                    parts.into_iter().flatten().for_each(|part| visit(&mut part.value, Context::Word));
                }
                _ => {}
            }
            redirects.iter_mut().flat_map(|list| &mut list.0).for_each(|redirect| redirection(redirect, visit));
        }
    }
}

/// Calls `visit` with the lists of the command's process substitutions.
pub(super) fn substituted_lists(command: &mut Command, visit: &mut dyn FnMut(&mut CompoundList)) {
    let Command::Simple(simple) = command else { return };
    let prefix = simple.prefix.iter_mut().flat_map(|prefix| &mut prefix.0);
    let suffix = simple.suffix.iter_mut().flat_map(|suffix| &mut suffix.0);
    for item in prefix.chain(suffix) {
        match item {
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, part)
            | CommandPrefixOrSuffixItem::IoRedirect(IoRedirect::File(
                _,
                _,
                IoFileRedirectTarget::ProcessSubstitution(_, part),
            )) => visit(&mut part.list),
            _ => {}
        }
    }
}

fn simple_command(simple: &mut SimpleCommand, visit: &mut dyn FnMut(&mut String, Context)) {
    let context = if simple.word_or_name.is_none() { Context::Assigned } else { Context::Word };
    if let Some(first) = &mut simple.word_or_name {
        visit(&mut first.value, context);
    }
    let prefix = simple.prefix.iter_mut().flat_map(|prefix| &mut prefix.0);
    let suffix = simple.suffix.iter_mut().flat_map(|suffix| &mut suffix.0);
    for item in prefix.chain(suffix) {
        match item {
            CommandPrefixOrSuffixItem::Word(word) => visit(&mut word.value, context),
            CommandPrefixOrSuffixItem::AssignmentWord(parts, whole) => {
                assignment(parts, context, visit);
                visit(&mut whole.value, context);
            }
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirection(redirect, visit),
            CommandPrefixOrSuffixItem::ProcessSubstitution(..) => {}
        }
    }
}

fn assignment(parts: &mut Assignment, context: Context, visit: &mut dyn FnMut(&mut String, Context)) {
    if let AssignmentName::ArrayElementName(_, index) = &mut parts.name {
        visit(index, context);
    }
    let mut value = |word: &mut Word| visit(&mut word.value, context);
    match &mut parts.value {
        AssignmentValue::Scalar(word) => value(word),
        AssignmentValue::Array(items) => {
            for (key, word) in items {
                key.iter_mut().for_each(&mut value);
                value(word);
            }
        }
    }
}

fn redirection(redirect: &mut IoRedirect, visit: &mut dyn FnMut(&mut String, Context)) {
    match redirect {
        IoRedirect::File(_, _, IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word))
        | IoRedirect::HereString(_, word)
        | IoRedirect::OutputAndError(word, _) => visit(&mut word.value, Context::Word),
        IoRedirect::HereDocument(_, document) if document.requires_expansion => {
            visit(&mut document.doc.value, Context::Document);
        }
        IoRedirect::File(..) | IoRedirect::HereDocument(..) => {}
    }
}

fn expression(test: &mut ExtendedTestExpr, visit: &mut dyn FnMut(&mut String, Context)) {
    match test {
        ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
            expression(left, visit);
            expression(right, visit);
        }
        ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => expression(inner, visit),
        ExtendedTestExpr::UnaryTest(_, operand) => visit(&mut operand.value, Context::Word),
        ExtendedTestExpr::BinaryTest(_, left, right) => {
            visit(&mut left.value, Context::Word);
            visit(&mut right.value, Context::Word);
        }
    }
}
