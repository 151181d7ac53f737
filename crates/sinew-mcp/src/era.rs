//! The two eras of the protocol: with a handshake up to 2025-11-25, and without one since 2026-07-28.

use serde::Deserialize;
use serde_json::value::RawValue;
use sinew_jsonrpc::RpcError;

/// The revisions without a handshake, the preferred one first.
pub const MODERN: &[&str] = &["2026-07-28"];

/// The revisions with a handshake, the preferred one first.
pub const LEGACY: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The `_meta` key of the protocol version in every modern request.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key of the client's name and version in every modern request.
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The `_meta` key of the client's capabilities in every modern request.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The `_meta` key of the server's name and version in results.
pub const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// The `_meta` key in notifications that names their `subscriptions/listen`.
pub const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The modern error code for an unsupported version.
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// The modern error code for a missing capability.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The modern error code for a header that differs from the body.
pub const HEADER_MISMATCH: i64 = -32020;

/// The protocol era of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Every request is self-contained.
    Modern,
    /// The connection begins with `initialize`.
    Legacy,
}

/// The answer to `server/discover`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Discovered {
    pub(crate) supported_versions: Vec<String>,
    #[serde(default)]
    pub(crate) capabilities: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    pub(crate) instructions: Option<String>,
    #[serde(rename = "_meta", default)]
    pub(crate) meta: serde_json::Map<String, serde_json::Value>,
}

/// The conclusion from an answer to `server/discover`.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The server is modern, with this version.
    Modern(&'static str, Box<Discovered>),
    /// The server is modern and rejected the version: ask again with this one.
    AskAgain(&'static str),
    /// The server is modern and no version is common. The server's versions.
    NoCommon(Vec<String>),
    /// The server is modern and refused for another reason.
    Refused(RpcError),
    /// The server is legacy: begin the handshake.
    Legacy,
}

/// Evaluates the answer to a `server/discover` with version `asked`.
pub(crate) fn judge(asked: &str, outcome: &Result<Box<RawValue>, RpcError>) -> Verdict {
    match outcome {
        Ok(result) => match serde_json::from_str::<Discovered>(result.get()) {
            Ok(discovered) => match common(&discovered.supported_versions) {
                Some(version) => Verdict::Modern(version, Box::new(discovered)),
                None => Verdict::NoCommon(discovered.supported_versions),
            },
            Err(_) => Verdict::Legacy,
        },
        Err(error) if error.code == UNSUPPORTED_VERSION => {
            #[derive(Deserialize)]
            struct Data {
                supported: Vec<String>,
            }
            let data = error.data.as_ref().and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
            let supported = data.map(|data| data.supported).unwrap_or_default();
            match common(&supported).filter(|version| *version != asked) {
                Some(version) => Verdict::AskAgain(version),
                None => Verdict::NoCommon(supported),
            }
        }
        Err(error) if matches!(error.code, MISSING_CAPABILITY | HEADER_MISMATCH) => Verdict::Refused(error.clone()),
        Err(_) => Verdict::Legacy,
    }
}

fn common(theirs: &[String]) -> Option<&'static str> {
    MODERN.iter().copied().find(|ours| theirs.iter().any(|version| version == ours))
}

/// Returns the legacy revision that a server chose; `None` if it is unsupported.
pub(crate) fn legacy_version(chosen: &str) -> Option<&'static str> {
    LEGACY.iter().copied().find(|ours| *ours == chosen)
}

/// Returns all supported revisions.
pub(crate) fn all_versions() -> Vec<String> {
    MODERN.iter().chain(LEGACY).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json, value::to_raw_value};

    fn show(verdict: Verdict) -> String {
        match verdict {
            Verdict::Modern(version, found) => format!("modern {version} {:?}", found.instructions),
            Verdict::AskAgain(version) => format!("again {version}"),
            Verdict::NoCommon(theirs) => format!("none of {theirs:?}"),
            Verdict::Refused(error) => format!("refused {error}"),
            Verdict::Legacy => "legacy".to_string(),
        }
    }

    #[track_caller]
    fn check_result(result: Value, expect: &str) {
        assert_eq!(show(judge("2026-07-28", &Ok(to_raw_value(&result).unwrap()))), expect);
    }

    #[track_caller]
    fn check_error(asked: &str, code: i64, data: Option<Value>, expect: &str) {
        let data = data.map(|data| to_raw_value(&data).unwrap());
        assert_eq!(show(judge(asked, &Err(RpcError { code, message: "m".into(), data }))), expect);
    }

    #[test]
    fn the_answer_to_discover_selects_the_era() {
        let result = json!({"supportedVersions": ["2027-01-01", "2026-07-28"], "instructions": "hi", "future": 1});
        check_result(result, r#"modern 2026-07-28 Some("hi")"#);
        check_result(json!({"supportedVersions": []}), "none of []");
        for garbage in [json!({}), json!(null), json!([]), json!({"supportedVersions": "2026-07-28"})] {
            check_result(garbage, "legacy");
        }
        for code in [-32601, -32602, -32600, -32000, -32603, 0, i64::MAX] {
            check_error("2026-07-28", code, None, "legacy");
        }
    }

    #[test]
    fn a_modern_error_does_not_fall_back_to_the_handshake() {
        let supported = |versions: Value| Some(json!({ "supported": versions }));
        check_error("2099-01-01", -32022, supported(json!(["2026-07-28"])), "again 2026-07-28");
        check_error("2026-07-28", -32022, supported(json!(["2026-07-28"])), r#"none of ["2026-07-28"]"#);
        check_error("2026-07-28", -32022, supported(json!(["2030-01-01"])), r#"none of ["2030-01-01"]"#);
        check_error("2026-07-28", -32022, None, "none of []");
        check_error("2026-07-28", -32021, None, "refused -32021: m");
        check_error("2026-07-28", -32020, None, "refused -32020: m");
    }
}
