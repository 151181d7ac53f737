//! Plans: formulas over grams that every text with a match of the pattern satisfies.
//!
//! The rules are those of Russ Cox's *Regular Expression Matching with a Trigram Index* (2012), over folded bytes
//! instead of letters: each expression yields its possible strings, or their prefixes and suffixes, and a plan that is
//! always satisfied.

mod analysis;
mod strings;

use std::fmt;

use regex_syntax::hir::Hir;

use crate::gram::{Gram, GramSet};
use analysis::Analysis;

/// The maximum number of operands of an *and* or *or*.
const PARTS: usize = 64;

/// A formula over grams. If the engine finds a match in a text, the text's grams satisfy the plan of the pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plan {
    /// Every text satisfies it.
    All,
    /// No text satisfies it: the pattern cannot match.
    Nothing,
    /// The text contains this gram.
    Gram(Gram),
    /// The text contains these two folded bytes, followed by any byte or the end.
    Pair([u8; 2]),
    /// Every operand is satisfied; at least two operands, sorted, none of them an `And`.
    And(Vec<Plan>),
    /// One of the operands is satisfied; at least two operands, sorted, none of them an `Or`.
    Or(Vec<Plan>),
}

impl Plan {
    /// Returns the plan of a pattern, given as the parser's intermediate form with the settings of the engine. The
    /// engine may match less than the form describes, never more. Runs in time linear in the size of the form except
    /// for repetitions, of which at most four are unrolled.
    pub fn of(pattern: &Hir) -> Plan {
        let mut folds_to_ascii = false;
        let plan = Analysis::of(pattern, &mut folds_to_ascii).into_plan();
        match plan {
            plan if folds_to_ascii => plan.or(Plan::Gram(Gram::FOLDS_TO_ASCII)),
            plan => plan,
        }
    }

    /// Returns true if a text with these grams satisfies the plan.
    pub fn admits(&self, grams: GramSet<'_>) -> bool {
        match self {
            Plan::All => true,
            Plan::Nothing => false,
            Plan::Gram(gram) => grams.contains(*gram),
            Plan::Pair(pair) => grams.contains_pair(*pair),
            Plan::And(parts) => parts.iter().all(|part| part.admits(grams)),
            Plan::Or(parts) => parts.iter().any(|part| part.admits(grams)),
        }
    }

    /// Returns the plan for a text that contains a string.
    fn of_string(string: &[u8]) -> Plan {
        match string {
            [] | [_] => Plan::All,
            &[first, second] => Plan::Pair([first, second]),
            _ => Plan::all_of(string.windows(3).map(|gram| Plan::Gram(Gram::of([gram[0], gram[1], gram[2]])))),
        }
    }

    fn all_of(parts: impl IntoIterator<Item = Plan>) -> Plan {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Plan::All => {}
                Plan::Nothing => return Plan::Nothing,
                Plan::And(parts) => flat.extend(parts),
                part => flat.push(part),
            }
        }
        // An operand that another one implies is redundant.
        let mut parts = without_those(flat, |part, other| other.implies(part));
        // Dropping an operand weakens the plan, and a weaker plan is still sound. Alternatives sort last, so single
        // grams are kept.
        parts.truncate(PARTS);
        joined(parts, Plan::All, Plan::And)
    }

    fn any_of(parts: impl IntoIterator<Item = Plan>) -> Plan {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Plan::All => return Plan::All,
                Plan::Nothing => {}
                Plan::Or(parts) => flat.extend(parts),
                part => flat.push(part),
            }
        }
        // An operand that implies another one is redundant.
        let parts = without_those(flat, |part, other| part.implies(other));
        if parts.len() > PARTS { Plan::All } else { joined(parts, Plan::Nothing, Plan::Or) }
    }

    /// Returns true if it is certain that every text that satisfies this plan satisfies the other.
    fn implies(&self, other: &Plan) -> bool {
        match (self, other) {
            (Plan::Or(parts), _) => parts.iter().all(|part| part.implies(other)),
            (_, Plan::And(parts)) => parts.iter().all(|part| self.implies(part)),
            (_, Plan::Or(parts)) => parts.iter().any(|part| self.implies(part)),
            (Plan::And(parts), _) => parts.iter().any(|part| part.implies(other)),
            (Plan::Gram(gram), Plan::Pair(pair)) => {
                let [first, second, third] = gram.bytes();
                [first, second] == *pair || [second, third] == *pair
            }
            _ => self == other,
        }
    }

    fn and(self, other: Plan) -> Plan {
        Plan::all_of([self, other])
    }

    fn or(self, other: Plan) -> Plan {
        Plan::any_of([self, other])
    }
}

/// Sorts the operands and drops those that another one makes redundant. Quadratic in the number of operands.
fn without_those(mut parts: Vec<Plan>, needless: impl Fn(&Plan, &Plan) -> bool) -> Vec<Plan> {
    parts.sort_unstable();
    parts.dedup();
    let mut at = 0;
    while at < parts.len() {
        let part = &parts[at];
        if parts.iter().enumerate().any(|(other, plan)| other != at && needless(part, plan)) {
            parts.remove(at);
        } else {
            at += 1;
        }
    }
    parts
}

fn joined(mut parts: Vec<Plan>, empty: Plan, join: impl FnOnce(Vec<Plan>) -> Plan) -> Plan {
    match parts.len() {
        0 => empty,
        1 => parts.remove(0),
        _ => join(parts),
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, parts: &[Plan], word: &str| {
            for (at, part) in parts.iter().enumerate() {
                let space = if at > 0 { word } else { "" };
                match part {
                    Plan::And(_) | Plan::Or(_) => write!(f, "{space}({part})")?,
                    _ => write!(f, "{space}{part}")?,
                }
            }
            Ok(())
        };
        match self {
            Plan::All => f.write_str("all"),
            Plan::Nothing => f.write_str("nothing"),
            Plan::Gram(gram) => gram.fmt(f),
            Plan::Pair(pair) => write!(f, "\"{}\"", pair.escape_ascii()),
            Plan::And(parts) => list(f, parts, " and "),
            Plan::Or(parts) => list(f, parts, " or "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, expect: &str) {
        let hir =
            regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).crlf(true).build().parse(pattern).unwrap();
        assert_eq!(Plan::of(&hir).to_string(), expect, "{pattern}");
    }

    #[test]
    fn a_string_needs_all_its_grams() {
        check("", "all");
        check("x", "all");
        check("xy", r#""xy""#);
        check("Main", r#""ain" and "mai""#);
        check("^main$", r#""ain" and "mai""#);
        check(r"\bmain\b", r#""ain" and "mai""#);
        check("aaaaaa", r#""aaa""#);
        check("ä", r#""\xc3\xa4""#);
        check("€", r#""\xe2\x82\xac""#);
    }

    #[test]
    fn alternatives_need_any_of_their_grams() {
        check("abc|xyz", r#""abc" or "xyz""#);
        check("abc|x", "all");
        check("abc|xy", r#""abc" or "xy""#);
        check("a(bc|xy)d", r#"("abc" and "bcd") or ("axy" and "xyd")"#);
        check("ab[cd]", r#""abc" or "abd""#);
        check("abc|abcd", r#""abc""#);
    }

    #[test]
    fn optional_parts_add_no_requirement() {
        check("(abc)?def", r#""def""#);
        check("abcx*def", r#""abc" and "def""#);
        check("(abc)+", r#""abc""#);
        check("(ab){2}", r#""aba" and "bab""#);
        check("(ab){2,}", r#""aba" and "bab""#);
        check("a{9}", r#""aaa""#);
        check("(abc){0,3}", "all");
        check("(abc){0}def", r#""def""#);
    }

    #[test]
    fn strings_join_across_variable_parts() {
        check(r"fn \w+_test\(", r#""_te" and "est" and "fn " and "st(" and "tes""#);
        check("foo.*bar", r#""bar" and "foo""#);
        check("fo(o+)bar", r#""bar" and "foo" and "oba""#);
        check("[ab]+cd", r#""acd" or "bcd""#);
    }

    #[test]
    fn letters_that_fold_into_ascii_are_admitted_by_the_fold_gram() {
        check("(?i)kit", r#""AAA" or "kit""#);
        check("(?i)main", r#""ain" and "mai""#);
        check("(?i)sß", r#""AAA" or "s\xc3\x9f" or ("s\xe1\xba" and "\xe1\xba\x9e")"#);
        check("\u{212A}x", r#""\x84\xaax" and "\xe2\x84\xaa""#);
    }

    #[test]
    fn impossible_patterns_admit_no_text() {
        check(r"[a&&b]", "nothing");
        check(r"abc[a&&b]|xyz", r#""xyz""#);
    }
}
