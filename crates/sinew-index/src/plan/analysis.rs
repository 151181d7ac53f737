//! Analyses one expression: its possible strings, or their prefixes and suffixes, and a plan that is always satisfied.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::gram::fold;
use crate::plan::Plan;
use crate::plan::strings::{STRINGS, Strings};

/// The maximum number of unrolled repetitions.
const UNROLLED: u32 = 4;
/// The characters outside ASCII that fold into it, with the ASCII letter.
const FOLDS_TO_ASCII: [(char, u8); 2] = [('\u{212A}', b'k'), ('\u{17F}', b's')];

/// Folded byte strings that an expression can match.
enum Matches {
    /// Exactly one of these strings.
    Exactly(Strings),
    /// Strings that begin with one of the first set and end with one of the second.
    Between(Strings, Strings),
}

/// The result for one expression. Each match is one of `matches`, and a text that contains it satisfies `plan`.
pub(super) struct Analysis {
    matches: Matches,
    plan: Plan,
}

impl Analysis {
    /// Analyses an expression; `folds_to_ascii` is set if a class dropped one of the two characters that fold into
    /// ASCII.
    pub(super) fn of(expression: &Hir, folds_to_ascii: &mut bool) -> Analysis {
        match expression.kind() {
            HirKind::Empty | HirKind::Look(_) => Analysis::exactly(Strings::empty_string()),
            HirKind::Literal(literal) => {
                Analysis::exactly(Strings::of([literal.0.iter().copied().map(fold).collect()]))
            }
            HirKind::Class(class) => of_class(class, folds_to_ascii).map_or_else(Analysis::anything, Analysis::exactly),
            HirKind::Repetition(repetition) => of_repetition(repetition, folds_to_ascii),
            HirKind::Capture(capture) => Analysis::of(&capture.sub, folds_to_ascii),
            HirKind::Concat(parts) => parts
                .iter()
                .map(|part| Analysis::of(part, folds_to_ascii))
                .reduce(Analysis::then)
                .unwrap_or_else(|| Analysis::exactly(Strings::empty_string())),
            HirKind::Alternation(parts) => parts
                .iter()
                .map(|part| Analysis::of(part, folds_to_ascii))
                .reduce(Analysis::or)
                .unwrap_or_else(|| Analysis::exactly(Strings::of([]))),
        }
    }

    fn exactly(strings: Strings) -> Analysis {
        Analysis { matches: Matches::Exactly(strings), plan: Plan::All }.limited()
    }

    /// Returns the result for any string, including the empty one.
    fn anything() -> Analysis {
        Analysis { matches: Matches::Between(Strings::empty_string(), Strings::empty_string()), plan: Plan::All }
    }

    pub(super) fn into_plan(self) -> Plan {
        match self.matches {
            Matches::Exactly(strings) => self.plan.and(strings.plan()),
            Matches::Between(beginnings, ends) => self.plan.and(beginnings.plan()).and(ends.plan()),
        }
    }

    /// Returns the result for a match of this expression followed by a match of `next`.
    fn then(self, next: Analysis) -> Analysis {
        use Matches::{Between, Exactly};
        let plan = self.plan.and(next.plan);
        let (matches, plan) = match (self.matches, next.matches) {
            (Exactly(left), Exactly(right)) => match left.cross(&right) {
                Some(strings) => (Exactly(strings), plan),
                None => {
                    let plan = plan.and(left.plan()).and(right.plan()).and(meeting(&left, &right));
                    (Between(left.beginnings(), right.ends()), plan)
                }
            },
            (Exactly(left), Between(beginnings, ends)) => match left.cross(&beginnings) {
                Some(strings) => (Between(strings, ends), plan),
                None => {
                    let plan = plan.and(left.plan()).and(beginnings.plan()).and(meeting(&left, &beginnings));
                    (Between(left.beginnings(), ends), plan)
                }
            },
            (Between(beginnings, ends), Exactly(right)) => match ends.cross(&right) {
                Some(strings) => (Between(beginnings, strings), plan),
                None => {
                    let plan = plan.and(ends.plan()).and(right.plan()).and(meeting(&ends, &right));
                    (Between(beginnings, right.ends()), plan)
                }
            },
            (Between(beginnings, left), Between(right, ends)) => {
                (Between(beginnings, ends), plan.and(meeting(&left, &right)))
            }
        };
        Analysis { matches, plan }.limited()
    }

    /// Returns the result for a match of either expression.
    fn or(self, other: Analysis) -> Analysis {
        use Matches::{Between, Exactly};
        let (matches, plan) = match (self.matches, other.matches) {
            (Exactly(left), Exactly(right)) => {
                // If both sides kept their strings, and none was dropped, both plans are `All`.
                (Exactly(left.union(right)), self.plan.or(other.plan))
            }
            (left, right) => {
                let ((left_beginnings, left_ends, left_plan), (right_beginnings, right_ends, right_plan)) =
                    (left.edges(self.plan), right.edges(other.plan));
                (
                    Between(left_beginnings.union(right_beginnings), left_ends.union(right_ends)),
                    left_plan.or(right_plan),
                )
            }
        };
        Analysis { matches, plan }.limited()
    }

    /// Converts strings that are too many, too long or longer than the next concatenation can use to a plan.
    fn limited(self) -> Analysis {
        match self.matches {
            Matches::Exactly(strings) if !strings.exceeds_limits() => {
                Analysis { matches: Matches::Exactly(strings), plan: self.plan }
            }
            matches => {
                let (beginnings, ends, plan) = matches.edges(self.plan);
                Analysis { matches: Matches::Between(beginnings, ends), plan }
            }
        }
    }
}

impl Matches {
    /// Returns the prefixes and suffixes of the matches, two bytes each, and the plan with everything else that the
    /// strings implied.
    fn edges(self, plan: Plan) -> (Strings, Strings, Plan) {
        match self {
            Matches::Exactly(strings) => (strings.beginnings(), strings.ends(), plan.and(strings.plan())),
            Matches::Between(beginnings, ends) => {
                (beginnings.beginnings(), ends.ends(), plan.and(beginnings.plan()).and(ends.plan()))
            }
        }
    }
}

/// Returns the plan for the junction of a string of `left` and a string of `right`.
fn meeting(left: &Strings, right: &Strings) -> Plan {
    left.ends().cross(&right.beginnings()).map_or(Plan::All, |strings| strings.plan())
}

/// Returns the strings of a class; `None` if it has too many members.
fn of_class(class: &Class, folds_to_ascii: &mut bool) -> Option<Strings> {
    match class {
        Class::Unicode(class) => {
            let members = members(class.ranges().iter().map(|range| (range.start() as u32, range.end() as u32)))?;
            // A range of code points from the parser contains no surrogates.
            let characters: Vec<char> = members.into_iter().filter_map(char::from_u32).collect();
            let mut strings = Vec::new();
            for &character in &characters {
                let partner = FOLDS_TO_ASCII
                    .iter()
                    .find(|(folds, _)| *folds == character)
                    .map(|(_, partner)| char::from(*partner));
                if partner.is_some_and(|partner| characters.iter().any(|other| other.to_ascii_lowercase() == partner)) {
                    *folds_to_ascii = true;
                } else {
                    strings.push(character.to_string().bytes().map(fold).collect());
                }
            }
            Some(Strings::of(strings))
        }
        Class::Bytes(class) => {
            let members = members(class.ranges().iter().map(|range| (range.start().into(), range.end().into())))?;
            Some(Strings::of(members.into_iter().map(|byte| vec![fold(byte as u8)])))
        }
    }
}

/// Returns the members of inclusive ranges; `None` if there are more than twice the maximum of a set, which folding may
/// halve.
fn members(ranges: impl Iterator<Item = (u32, u32)>) -> Option<Vec<u32>> {
    let mut members = Vec::new();
    for (start, end) in ranges {
        if members.len() + (end - start) as usize >= 2 * STRINGS {
            return None;
        }
        members.extend(start..=end);
    }
    Some(members)
}

fn of_repetition(repetition: &Repetition, folds_to_ascii: &mut bool) -> Analysis {
    let once = |folds: &mut bool| Analysis::of(&repetition.sub, folds);
    match (repetition.min, repetition.max) {
        (0, Some(0)) => Analysis::exactly(Strings::empty_string()),
        (0, Some(1)) => once(folds_to_ascii).or(Analysis::exactly(Strings::empty_string())),
        (0, _) => Analysis::anything(),
        (min, max) => {
            let unrolled = (1..min.min(UNROLLED)).fold(once(folds_to_ascii), |all, _| all.then(once(folds_to_ascii)));
            if max == Some(min) && min <= UNROLLED {
                return unrolled;
            }
            // Each match begins and ends with the unrolled part.
            let (beginnings, ends, plan) = unrolled.matches.edges(unrolled.plan);
            Analysis { matches: Matches::Between(beginnings, ends), plan }
        }
    }
}
