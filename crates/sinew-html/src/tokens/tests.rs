//! Compares this tokenizer with html5ever's: both must produce the same Markdown.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};
use proptest::prelude::*;
use sinew_base::CancelToken;

use crate::tokens::Detail;
use crate::{Options, tree, write};

fn by_html5ever(page: &str, options: &Options) -> String {
    let tokenizer = Tokenizer::new(tree::guard(page, Detail::Text), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from_slice(page));
    while !matches!(tokenizer.feed(&queue), html5ever::TokenizerResult::Done) {}
    tokenizer.end();
    let tree = tokenizer.sink.into_tree();
    write::markdown(&tree, page.len(), options, &CancelToken::never()).expect("not cancelled")
}

#[track_caller]
fn check(page: &str) {
    for clean_content in [false, true] {
        let options = Options { clean_content, ..Options::default() };
        let ours = crate::html_to_markdown(page, &options, &CancelToken::never()).expect("not cancelled");
        assert_eq!(ours, by_html5ever(page, &options), "from {page:?}");
    }
}

#[test]
fn references() {
    for text in [
        "&amp;",
        "&amp",
        "&ampx",
        "&notit;",
        "&notin;",
        "&not",
        "&#65;",
        "&#65",
        "&#x41;",
        "&#X41",
        "&#;",
        "&#x;",
        "&#0;",
        "&#128;",
        "&#x80",
        "&#1114112;",
        "&#99999999999999;",
        "&#xd800;",
        "&",
        "&&amp;",
        "& amp;",
        "&unknown;",
        "&ngE;",
        "&fjlig;",
        "&CounterClockwiseContourIntegral;",
        "&CounterClockwiseContourIntegralX;",
        "&aé;",
    ] {
        check(&format!("a{text}b"));
        check(text);
        check(&format!("<a href='?{text}=1' title=\"{text}b\">x</a><a href=?{text}>y</a>"));
        check(&format!("<textarea>{text}</textarea>"));
    }
}

#[test]
fn tags() {
    for page in [
        "<P>a</P>",
        "<p/>a",
        "<p a=1/>b",
        "<a HREF=x>y</a>",
        "<a href = 'x' href=y>z</a>",
        "<a href=>z</a>",
        "<a href='x'title=y>z</a>",
        "<a =href=x>y</a>",
        "<a / href=x / >y</a>",
        "<p",
        "<p a",
        "<p a=",
        "<p a='",
        "<p a='x'",
        "a<",
        "a</",
        "a</>b",
        "a<//b>c",
        "a<3",
        "</p a=b>c",
        "<é>a",
        "<p\0q>a",
        "<a href=x\0y>z</a>",
        "<a hre\0f=x>z</a>",
        "<a\nhref\t=\n'x'\n>y</a>",
        "<img src=a alt=b/>",
        "<a href=\"a\nb\">c</a>",
        "a\r\nb\rc",
        "\u{feff}a",
        "<pre>\n\na</pre>",
        "<pre>\r\na</pre>",
        "<textarea>\na</textarea>",
    ] {
        check(page);
    }
}

#[test]
fn comments_and_declarations() {
    for page in [
        "a<!-- b -->c",
        "a<!-->b",
        "a<!--->b",
        "a<!---->b",
        "a<!--b--!>c",
        "a<!--b--c-->d",
        "a<!--b----->c",
        "a<!--b",
        "a<!--b--",
        "a<!-b>c",
        "a<!>b",
        "a<!b>c",
        "a<?b>c",
        "a<?b",
        "a</ b>c",
        "<!DOCTYPE html><p>a<table><tr><td>b",
        "<p>a<table><tr><td>b",
        "<!doctype html PUBLIC '-//W3C//DTD HTML 4.01//EN' \"http://x\"><p>a<table><tr><td>b",
        "<!doctype><p>a<table><tr><td>b",
        "<![CDATA[a]]>b",
        "<svg><desc><![CDATA[a]]></desc></svg>b",
        "<math><mi><![CDATA[a<b>&amp;\0]]></mi></math>c",
        "<math><![CDATA[a",
    ] {
        check(page);
    }
}

#[test]
fn raw_text() {
    for page in [
        "<script>a</script>b",
        "<script>a</scriptx></SCRIPT >b",
        "<script><!--<script></script>--></script>a",
        "<script><!--<script></script></script>a",
        "<script><!-- </script>a",
        "<script><!--></script>a",
        "<script><!--->x</script>a",
        "<script><!--<script>--></script>a",
        "<script>",
        "<script><!--",
        "<style><b></style>a",
        "<style></p></style>a",
        "<textarea><b>&amp;\0</textarea>a",
        "<title>a</title>b",
        "<xmp><b>\0</xmp>a",
        "<iframe><b></iframe>a",
        "<noembed><p></noembed>a",
        "<plaintext>a<b>&amp;</plaintext>",
        "<svg><style><p>a</style></svg>b",
        "<svg><script>a</script></svg>b",
        "<noscript><p>a</noscript>b",
        "<textarea>a",
        "<select><textarea>a</textarea>b",
        "<table><script>a</script>b",
        "<textarea></textarea",
        "a\0b<svg>\0</svg><math><mi>\0",
    ] {
        check(page);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_page(pieces in prop::collection::vec(prop::sample::select(vec![
        "<", ">", "/", "!", "--", "-", "=", "'", "\"", "&", ";", "#", "a", "amp", "x41", " ", "\n", "\r", "\0", "é", "<p", "<b>", "</b>", "<a href",
        "<script>", "</script>", "<!--", "-->", "<style>", "</style>", "<textarea>", "</textarea>", "<svg>", "</svg>", "<![CDATA[", "]]>", "<table>",
        "<td>", "</table>", "<!doctype html>", "<title>", "</title>", "<math>", "<mi>", "<select>", "<pre>", "<?", "</", "<code class=language-x>",
    ]), 0..40)) {
        check(&pieces.concat());
    }
}
