//! The result of a review.

use serde::{Deserialize, Serialize};

/// The result of a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// The assessment of the whole change, in a few sentences.
    pub(crate) summary: String,
    /// The faults, most severe first.
    pub(crate) findings: Vec<Finding>,
}

/// A fault in a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The path below the working directory.
    pub(crate) file: String,
    /// The line, or the first and the last one: `12` or `12-15`.
    pub(crate) lines: String,
    pub(crate) severity: Severity,
    /// The fault, in one sentence.
    pub(crate) claim: String,
    /// The code or the output that shows the fault.
    pub evidence: String,
}

/// How much a fault matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    High,
    Medium,
    Low,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
        }
    }
}

impl Finding {
    /// Returns the file and the lines.
    pub fn location(&self) -> String {
        format!("{}:{}", self.file, self.lines)
    }

    /// Returns a prompt that asks for a correction.
    pub fn prompt(&self) -> String {
        format!("Fix {}: {}", self.location(), self.claim)
    }

    /// Returns the severity and the claim.
    pub fn claim(&self) -> String {
        format!("{} · {}", self.severity.as_str(), self.claim)
    }
}

impl Review {
    /// Formats the review for people and for the model.
    pub fn text(&self) -> String {
        let mut text = self.summary.trim().to_string();
        if self.findings.is_empty() {
            return format!("{text}\n\nNo findings.").trim_start().to_string();
        }
        for finding in &self.findings {
            text.push_str(&format!("\n\n{} · {}\n{}", finding.location(), finding.claim(), finding.evidence.trim()));
        }
        text.trim_start().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_lists_each_finding_with_its_evidence() {
        let finding = |severity| Finding {
            file: "src/a.rs".into(),
            lines: "3-4".into(),
            severity,
            claim: "it divides by zero".into(),
            evidence: "`n` can be 0\n".into(),
        };
        let review = Review { summary: "Two faults.\n".into(), findings: vec![finding(Severity::High)] };
        assert_eq!(review.text(), "Two faults.\n\nsrc/a.rs:3-4 · high · it divides by zero\n`n` can be 0");
        let review = Review { summary: "It is fine.".into(), findings: Vec::new() };
        assert_eq!(review.text(), "It is fine.\n\nNo findings.");
        let value = serde_json::to_value(finding(Severity::Low)).unwrap();
        assert_eq!(value["severity"], "low");
        assert!(Severity::High < Severity::Medium && Severity::Medium < Severity::Low);
    }
}
