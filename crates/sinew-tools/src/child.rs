//! The variables of programs that the agent starts.

use std::ffi::OsString;

/// Variables with their values.
pub type Variables = Vec<(OsString, OsString)>;

/// Names that end like this are secrets, in any case of letters.
const SECRETS: [&str; 5] = ["_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_OAUTH_TOKEN"];

/// The rule by which programs get variables.
#[derive(Debug, Clone, Copy)]
pub struct Filter<'a> {
    /// Names that are passed although they look like secrets (`env.passThrough`).
    pub pass: &'a [String],
    /// Names of the keys of providers.
    pub keys: &'a [String],
}

impl Filter<'_> {
    /// Returns true if a variable is kept from programs.
    #[must_use]
    pub fn hides(&self, name: &str) -> bool {
        if self.pass.iter().any(|passed| passed == name) {
            return false;
        }
        let upper = name.to_ascii_uppercase();
        SECRETS.iter().any(|end| upper.ends_with(end)) || self.keys.iter().any(|key| key == name)
    }

    /// The variables that programs get.
    #[must_use]
    pub fn apply(&self, all: &[(OsString, OsString)]) -> Variables {
        all.iter().filter(|(name, _)| !self.hides(&name.to_string_lossy())).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_unless_they_are_passed() {
        let pass = ["GH_TOKEN".to_string(), "ODD".to_string()];
        let keys = ["ODD".to_string(), "GEMINI_KEY".to_string()];
        let filter = Filter { pass: &pass, keys: &keys };
        let all =
            ["PATH", "A_API_KEY", "b_token", "GH_TOKEN", "X_SECRET", "Y_PASSWORD", "GEMINI_KEY", "ODD", "TOKEN", ""];
        let all: Variables = all.iter().map(|name| (name.into(), "v".into())).collect();
        let kept: Vec<String> = filter.apply(&all).into_iter().map(|(name, _)| name.into_string().unwrap()).collect();
        assert_eq!(kept, ["PATH", "GH_TOKEN", "ODD", "TOKEN", ""]);
    }
}
