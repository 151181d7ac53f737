//! `fetch`: fetches a page as text.

mod charset;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_llm::fetch::{FetchOptions, FetchedPage, get};
use sinew_session::files::size_text;

use super::spec::{Outcome, PLAIN, Run, Spec};
use super::{Host, HostOptions, arguments, truncate};
use crate::semantics::{Effects, OutputView, Presentation, Semantics, Subject, ToolKind, text};
use crate::tool::cancelled;
use crate::tool::{Call, Concurrency, ToolError, ToolOutput};

pub(super) static SPEC: Spec = Spec {
    name: "fetch",
    description: "Get a web page of up to 10 MB: HTML as Markdown, JSON and text as they are, pictures as pictures. Private \
                  addresses are refused.",
    parameters,
    guidelines: &[],
    concurrency: Concurrency::Shared,
    flags: PLAIN,
    semantics: Semantics {
        kind: ToolKind::Fetch,
        effects: Effects { network: true, ..Effects::NONE },
        headline: "url",
        subjects: |arguments| vec![Subject::Url(text(arguments, "url").unwrap_or_default().to_string())],
        presentation: Presentation { verb: "Reads", output: OutputView::Row { plural: "pages" } },
        foreign_names: &["WebFetch"],
        ..Semantics::UNKNOWN
    },
    offered: |options| options.settings.fetch,
    reject_early: None,
    preview: None,
    run: Run::Future(|host, call| Box::pin(run(host, call))),
};

/// The default time limit in seconds, and its range.
const SECONDS: f64 = 20.0;
const RANGE: (f64, f64) = (1.0, 120.0);
/// The number of bytes of an HTTP error's body that are shown.
const ERROR_BODY: usize = 2 * 1024;

fn parameters(_: &HostOptions) -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": {"type": "string"},
            "format": {"enum": ["markdown", "text", "raw"]},
            "timeout": {"type": "number", "description": "seconds, default: 20"},
            "offset": {"type": "integer", "minimum": 1, "description": "first line"},
            "limit": {"type": "integer", "minimum": 1, "description": "number of lines"},
        },
        "required": ["url"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    url: String,
    format: Option<String>,
    timeout: Option<f64>,
    offset: Option<usize>,
    limit: Option<usize>,
}

async fn run(host: Arc<Host>, mut call: Call) -> Outcome {
    // An address leaves the machine, so secrets hidden from the model must not be sent to third parties either.
    if let Some(secrets) = host.options.artifacts.secrets() {
        secrets.hide_json(&mut call.arguments);
    }
    let arguments: Arguments = arguments::parse(&call)?;
    let url = arguments.url.trim().to_string();
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if !matches!(scheme.as_deref(), Some("http" | "https")) {
        return Err(ToolError::Failed(format!("fetch \"{url}\": only http and https URLs are supported")));
    }
    let page = match host.pages.get(&url) {
        Some(page) => page,
        None => {
            let seconds = arguments.timeout.filter(|seconds| seconds.is_finite()).unwrap_or(SECONDS);
            let seconds = seconds.clamp(RANGE.0, RANGE.1);
            let page = Arc::new(load(&host, &call, &url, seconds).await?);
            if page.status < 400 {
                host.pages.put(&url, &page);
            }
            page
        }
    };
    let work = tokio::task::spawn_blocking(move || shown(&page, &arguments, &call));
    work.await.unwrap_or_else(|lost| Err(ToolError::Failed(format!("fetch \"{url}\": {lost}"))))
}

async fn load(host: &Host, call: &Call, url: &str, seconds: f64) -> Result<FetchedPage, ToolError> {
    let options = FetchOptions { redirects: host.address_checks(SPEC.name, &call.id), ..FetchOptions::default() };
    tokio::select! {
        page = get(&host.http, url, &options) => page.map_err(|error| ToolError::Failed(named(url, error.message))),
        () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => {
            Err(ToolError::Failed(format!("fetch \"{url}\": no answer within {seconds} s")))
        }
        () = cancelled(&call.cancel) => Err(ToolError::Aborted),
    }
}

/// Prefixes an error with the address.
fn named(url: &str, fault: String) -> String {
    match fault.starts_with("Refused: ") || fault.contains(url) {
        true => fault,
        false => format!("fetch \"{url}\": {fault}"),
    }
}

fn shown(page: &FetchedPage, arguments: &Arguments, call: &Call) -> Outcome {
    let FetchedPage { url, status, content_type, body, truncated } = page;
    let mime_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if *status >= 400 {
        let text = charset::decode(&body[..body.len().min(ERROR_BODY)], content_type, false);
        let text = sinew::term::sanitize(&text).into_owned();
        return Ok(ToolOutput::error(format!("HTTP {status} from {url}\n{text}")));
    }
    if mime_type.starts_with("image/") && sinew::image::probe(body).is_ok() {
        let (text, block) = super::read::picture_block(body, true, &call.cancel)?;
        let mut output = ToolOutput::text(format!("{url}\nStatus: {status}\nImage {text}"));
        output.content.extend(block);
        return Ok(output);
    }
    let format = arguments.format.as_deref().unwrap_or("markdown");
    let html = mime_type.contains("html") || (mime_type.is_empty() && body.trim_ascii_start().starts_with(b"<"));
    let json = mime_type == "application/json" || mime_type.ends_with("+json");
    let is_text = html
        || json
        || mime_type.is_empty()
        || mime_type.starts_with("text/")
        || mime_type.contains("xml")
        || mime_type.contains("javascript")
        || mime_type.contains("yaml")
        || mime_type.contains("toml");
    let raw = charset::decode(body, content_type, html);
    if !is_text || raw.contains('\0') {
        let size = size_text(body.len() as u64);
        return Err(ToolError::Failed(format!("Unsupported content type: {mime_type} ({size})")));
    }
    let text = if html && format != "raw" {
        let options = sinew::html::Options { clean_content: true, skip_images: format == "text" };
        sinew::html::html_to_markdown(&raw, &options, &call.cancel)?
    } else if json && format != "raw" {
        let value = serde_json::from_str::<Value>(&raw).and_then(|value| serde_json::to_string_pretty(&value));
        value.unwrap_or_else(|_| raw.to_string())
    } else {
        raw.to_string()
    };
    let text = sinew::term::sanitize(&text);
    let title = html.then(|| title(&raw)).flatten().map(|title| format!("Title: {title}\n")).unwrap_or_default();
    let header = format!("{url}\n{title}Status: {status}");
    Ok(part(&header, &text, arguments, *truncated))
}

/// Returns the requested lines, within the limits.
fn part(header: &str, text: &str, arguments: &Arguments, truncated: bool) -> ToolOutput {
    let total = truncate::lines_of(text);
    let first = arguments.offset.unwrap_or(1).max(1);
    if first > 1 && first > total {
        return ToolOutput::text(format!("{header}\n\nLine {first} is beyond the end ({total} lines total)."));
    }
    let start = text.split_inclusive('\n').take(first - 1).map(str::len).sum();
    let limit = arguments.limit.unwrap_or(truncate::LINES).min(truncate::LINES);
    let mut cut = truncate::head(&text[start..], limit, truncate::BYTES);
    let mut out = format!("{header}\n\n{}", cut.text);
    if truncated {
        out.push_str("\n[The page is longer than 10 MB; the rest was not fetched.]");
    }
    if cut.by.is_none() {
        return ToolOutput::text(out);
    }
    if cut.lines == 0 {
        let end = text.floor_char_boundary((start + truncate::BYTES).min(text.len()));
        (cut.text, cut.lines) = (&text[start..end], 1);
        out = format!("{header}\n\n{}\n[Line {first} is longer: its first 50 KB are shown.]", cut.text);
        if truncated {
            out.push_str("\n[The page is longer than 10 MB; the rest was not fetched.]");
        }
        if first == total {
            return ToolOutput::text(out);
        }
    }
    let last = first + cut.lines - 1;
    out.push_str(&format!("\n[Showing lines {first}-{last} of {total}. Use offset={} to continue.]", last + 1));
    ToolOutput::text(out).with_details(json!({"meta": {"truncation": cut.meta("head", first, None)}}))
}

/// Returns the title of a page on one line; `None` if it has none.
fn title(html: &str) -> Option<String> {
    let head = &html[..html.floor_char_boundary(html.len().min(64 * 1024))];
    let lower = head.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    let title = head[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
    let title = title.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    let title = sinew::term::sanitize(&title.replace("&amp;", "&")).into_owned();
    (!title.is_empty()).then_some(title)
}
