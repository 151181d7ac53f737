//! The environment variables of programs that the agent starts.

use std::ffi::OsString;

/// Variables with their values.
pub type Variables = Vec<(OsString, OsString)>;

/// Suffixes of the names of credentials, ignoring case: `PGPASSWORD`, `GH_TOKEN`.
const ENDS: [&str; 12] = [
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
    "SSHPASS",
];
/// Suffixes that only count after another word: `AWS_SECRET_ACCESS_KEY`. As a whole name such a word is ambiguous.
const LAST_WORDS: [&str; 8] = ["_KEY", "_KEYS", "_PASS", "_PWD", "_PAT", "_AUTH", "_JWT", "_CREDS"];

/// Decides which variables programs get.
#[derive(Debug, Clone, Copy)]
pub struct Filter<'a> {
    /// Names that are passed even if they look like secrets (`env.passThrough`).
    pub pass: &'a [String],
    /// Names of the variables with providers' API keys.
    pub keys: &'a [String],
}

impl Filter<'_> {
    /// Returns true if programs do not get the variable.
    #[must_use]
    pub fn hides(&self, name: &str) -> bool {
        if self.pass.iter().any(|passed| passed == name) {
            return false;
        }
        let upper = name.to_ascii_uppercase();
        ENDS.iter().chain(&LAST_WORDS).any(|end| upper.ends_with(end)) || self.keys.iter().any(|key| key == name)
    }

    /// Returns the variables that programs get.
    #[must_use]
    pub fn apply(&self, all: &[(OsString, OsString)]) -> Variables {
        all.iter().filter(|(name, _)| !self.hides(&name.to_string_lossy())).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_hidden_from_children_unless_passed_through() {
        let pass = ["GH_TOKEN".to_string(), "ODD".to_string()];
        let keys = ["ODD".to_string(), "GEMINI".to_string()];
        let filter = Filter { pass: &pass, keys: &keys };
        for (names, hidden) in [
            ("A_API_KEY b_token X_SECRET Y_PASSWORD GEMINI TOKEN NPM_TOKEN GITHUB_TOKEN AWS_SESSION_TOKEN", true),
            ("AWS_SECRET_ACCESS_KEY SSH_KEY OPENAI_KEYS GOOGLE_APPLICATION_CREDENTIALS PGPASSWORD MYSQL_PWD", true),
            (
                "SSHPASS REDISCLI_AUTH AZURE_DEVOPS_EXT_PAT npm_config__authToken ApiKey DB_CREDS SIGNING_PASSPHRASE",
                true,
            ),
            (
                "PATH GH_TOKEN ODD HOME PWD OLDPWD SSH_AUTH_SOCK KEY KEYBOARD TOKENIZERS_PARALLELISM LANG PASS XAUTHORITY",
                false,
            ),
        ] {
            for name in names.split(' ') {
                assert_eq!(filter.hides(name), hidden, "{name}");
                let kept = filter.apply(&[(name.into(), "v".into())]);
                assert_eq!(kept.is_empty(), hidden, "{name}");
            }
        }
    }
}
