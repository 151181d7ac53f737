//! Tests that malicious pages are converted in linear time.
//!
//! The sizes are so large that a quadratic step would take minutes.

use proptest::prelude::*;
use sinew_base::{CancelHandle, CancelToken, ErrorCode};
use sinew_html::{Options, html_to_markdown};

fn markdown(html: &str) -> String {
    html_to_markdown(html, &Options::default(), &CancelToken::never()).expect("every page is valid")
}

/// Checks that the Markdown contains `letter` `count` times, and is at most `times` as long as the page.
#[track_caller]
fn check(html: &str, letter: char, count: usize, times: usize) {
    let markdown = markdown(html);
    assert_eq!(markdown.matches(letter).count(), count);
    assert!(markdown.len() <= html.len() * times + 64, "{} bytes of {}", markdown.len(), html.len());
}

const DEEP: usize = 100_000;

#[test]
fn converts_pages_of_any_depth() {
    for tag in ["<div>", "<ul><li>", "<blockquote>", "<span>", "<b>", "<em><strong>", "<table><tr><td>", "<a href=u>"] {
        check(&format!("{}z", tag.repeat(DEEP)), 'z', 1, 2);
    }
    let closed = format!("{}z{}z", "<div>".repeat(DEEP), "</div>".repeat(DEEP));
    check(&closed, 'z', 2, 1);
}

#[test]
fn keeps_text_at_every_depth() {
    check(&"<ul><li>z".repeat(DEEP), 'z', DEEP, 4);
    check(&"<blockquote>z".repeat(DEEP), 'z', DEEP, 4);
    check(&"<dl><dd>z".repeat(DEEP), 'z', DEEP, 4);
}

#[test]
fn unclosed_formatting_does_not_multiply() {
    let fonts: String = (0..DEEP / 4).map(|n| format!("<code class=language-{n}>")).collect();
    let html = format!("{fonts}{}", "<p>z</p>".repeat(DEEP / 4));
    assert_eq!(markdown(&html).matches('z').count(), DEEP / 4);
    let html = format!("{}{}", "<b x=1><i y=2>".repeat(DEEP), "<p>z".repeat(DEEP));
    assert_eq!(markdown(&html).matches('z').count(), DEEP);
}

#[test]
fn drops_excess_attributes() {
    for value in ["", "=\">\"", "='x'", "=x"] {
        let attributes: String = (0..DEEP).map(|n| format!(" a{n}{value}")).collect();
        check(&format!("<div{attributes}>z<p>y"), 'z', 1, 1);
    }
    let link = format!("<a href=u{}>z</a>", " x".repeat(DEEP));
    assert_eq!(markdown(&link), "[z](u)\n");
}

#[test]
fn long_runs_of_one_character() {
    for piece in
        ["<", "&", "*", "`", "<!--", "<!", "</", "&amp;", "\0", "</p>", "<br>", "<p>", "|", "~", "[", "!", "\\"]
    {
        markdown(&piece.repeat(DEEP));
        markdown(&format!("<code>{0}</code><pre>{0}</pre><a href='{0}' title='{0}'>{0}</a>", piece.repeat(DEEP / 4)));
    }
}

#[test]
fn a_cancelled_call_returns_an_error() {
    let (cancel_handle, cancel) = CancelHandle::new();
    cancel_handle.cancel();
    let error = html_to_markdown("<p>a", &Options::default(), &cancel).unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::Aborted, "Aborted: Signal"));
}

fn pieces() -> impl Strategy<Value = String> {
    let words = [
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<a href='x(y'>",
        "</a>",
        "<ul>",
        "</ul>",
        "<ol start=3>",
        "<li>",
        "</li>",
        "<table>",
        "<tr>",
        "<td>",
        "</td>",
        "</table>",
        "<pre>",
        "</pre>",
        "<code>",
        "</code>",
        "<h2>",
        "</h2>",
        "<blockquote>",
        "</blockquote>",
        "<br>",
        "<hr>",
        "<img src=a alt=b>",
        "<svg>",
        "</svg>",
        "<template>",
        "</template>",
        "<select>",
        "<option>",
        "<form>",
        "<math>",
        "<mi>",
        "&nbsp;",
        "&amp;",
        "`",
        "*",
        "_",
        "[",
        "]",
        "!",
        "#",
        "\n",
        " ",
        "a",
        "é",
        "中",
        "\0",
        "1.",
        "<",
        ">",
        "-",
        "<!-- x -->",
        "<body>",
        "<frameset>",
        "<tbody>",
        "<td rowspan=3>",
        "<th colspan=2 rowspan=0>",
        "<li value=7>",
        "<ol reversed>",
        "<div>",
        "</div>",
        "<span class=line>",
        "</span>",
        "<video src=v></video>",
        "<iframe src=f></iframe>",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..60).prop_map(|words| words.concat())
}

/// Counts characters that are only in the text of a page, never in tags or Markdown syntax.
fn seen(text: &str) -> usize {
    text.matches(['é', '中']).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_markup_becomes_markdown(html in pieces(), clean: bool, skip: bool) {
        let options = Options { clean_content: clean, skip_images: skip };
        let markdown = html_to_markdown(&html, &options, &CancelToken::never()).unwrap();
        prop_assert!(markdown.is_empty() || markdown.ends_with('\n'));
        prop_assert!(!markdown.ends_with("\n\n"));
        let hides = ["<svg>", "<template>", "<select>", "<frameset>", "<math>", "<form>"];
        if !hides.iter().any(|tag| html.contains(tag)) {
            prop_assert_eq!(seen(&markdown), seen(&html), "{}", markdown);
        }
    }

    #[test]
    fn any_text_becomes_markdown(html in ".{0,200}") {
        markdown(&html);
    }
}
