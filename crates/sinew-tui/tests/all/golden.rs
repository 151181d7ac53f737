//! Golden frames: the main views in four terminal sizes, as files of `tests/golden`.
//!
//! To accept a change, run `SINEW_GOLDEN=renew cargo test -p sinew-tui golden`, and review the difference like code.
//! Below a row with styles, a row of letters names the style of each cell; the letters are explained at the end.

use crate::support;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use sinew_tui::theme::{Theme, Token};
use sinew_tui::{
    Caret, CaretPlace, Chrome, Depth, DiffBlock, DiffOptions, Editor, EditorStyle, Line, List, MarkdownBlock,
    OutputBlock, Passage, ReadPassages, Screen, ScreenOptions, Size, Style, TextBlock, Viewer,
};
use support::emulators::Alacritty;
use support::{Terminal, text_of};

const SIZES: [(usize, usize); 4] = [(80, 24), (40, 12), (20, 8), (200, 50)];

const ANSWER: &str = "# Findings\n\nThe parser **fails** on `\\r\\n`, see [the manual](https://example.org/docs):\n\n\
    - first, the reader splits lines before it looks for quotes, which no test covers\n- [x] second\n\n\
    ```rust\nfn main() {\n    println!(\"日本語\"); // said\n}\n```\n\n| name | size |\n|---|---|\n| a | 10 |\n| bcd | 2 |\n";

fn screen(size: Size) -> Screen {
    let options = ScreenOptions { depth: Depth::True, links: true, marks: true, ..ScreenOptions::default() };
    Screen::new(size, options, Arc::new(Theme::dark()))
}

fn chrome(size: Size, draft: &str, status: &str) -> Chrome {
    let mut editor = Editor::new();
    editor.insert(draft);
    let shown = editor.rows(size.columns, (size.rows / 3).clamp(1, 12), &EditorStyle::default());
    let theme = Theme::dark();
    Chrome {
        status: vec![Line::styled(status, theme.style(Token::Muted)).into_row(size.columns)],
        editor: shown.rows,
        caret: Caret { row: shown.caret.0, column: shown.caret.1, ..Caret::default() },
        ..Chrome::default()
    }
}

/// Creates a screen with a question, an answer, a file change and a running command.
fn conversation(size: Size) -> Screen {
    let mut screen = screen(size);
    screen.push(TextBlock::new("why does it fail?", Style::PLAIN).with_prefix(Line::plain("› "), Line::plain("  ")));
    screen.push(MarkdownBlock::new(ANSWER));
    let (old, new) = ("fn a() {\n    one();\n    two(1);\n}\n", "fn a() {\n    one();\n    two(2);\n    three();\n}\n");
    screen.push(DiffBlock::new(Line::plain("● edit src/a.rs +2 −1"), old, new, "rs", DiffOptions::default()));
    let mut output = OutputBlock::new(vec![Line::plain("◌ bash cargo test")]);
    output.push("\x1b[32mok\x1b[0m one\n\x1b[31mFAILED\x1b[0m two\n");
    screen.push(output);
    screen.set_chrome(chrome(size, "and on a narrow\nterminal?", "bash 4s"));
    screen
}

/// Creates a screen with a filtered panel above the editor.
fn panel(size: Size) -> Screen {
    let mut screen = conversation(size);
    let entries =
        ["anthropic/large", "local/m", "openai/small"].map(|name| (name.to_owned(), "200k window".to_owned()));
    let mut list = List::new(entries.to_vec());
    list.step(1);
    let theme = Theme::dark();
    let (rows, at) = list.rows(size.columns, (size.rows * 3 / 5).max(3), &theme);
    let mut cover = vec![Line::plain("Which model answers?").into_row(size.columns)];
    cover.extend(rows);
    cover.push(Line::styled("type to filter · enter · esc", theme.style(Token::Muted)).into_row(size.columns));
    let caret = Caret { place: CaretPlace::Cover, row: at + 1, column: 0 };
    screen.set_chrome(Chrome { cover, caret, ..chrome(size, "a draft", "ready") });
    screen
}

/// Creates a viewer that is scrolled to the middle of a conversation.
fn viewer(size: Size) -> Screen {
    let lines: Vec<Line> = (1..=200).map(|line| Line::plain(&format!("line {line} of the conversation"))).collect();
    let passages = lines.chunks(10).map(|lines| Passage { lines: lines.to_vec(), begins: vec![0], is_prompt: false });
    let mut viewer = Viewer::new("conversation", Arc::new(ReadPassages::new(passages.collect())), size, 9);
    viewer.set_hint("/ n N find · [ ] prompts · e fold · y copy · p print · q");
    let mut screen = screen(size);
    screen.set_chrome(viewer.chrome());
    screen
}

/// Returns scrollback, screen and cursor of a terminal after it received all frames of a screen.
fn dump(size: Size, screen: &mut Screen) -> String {
    let mut terminal = Alacritty::new(size.columns, size.rows);
    // The interactive mode disables autowrap too.
    terminal.feed(b"\x1b[?7l");
    while {
        let frame = screen.paint();
        terminal.feed(&frame.bytes);
        frame.more
    } {}
    let mut out = String::new();
    let mut looks: Vec<Style> = vec![Style::PLAIN];
    for views in terminal.lines() {
        let text = text_of(&views);
        writeln!(out, "|{text}").expect("a string");
        let mut letters = String::new();
        for view in &views {
            let known = looks.iter().position(|look| *look == view.style);
            let at = known.unwrap_or_else(|| {
                looks.push(view.style);
                looks.len() - 1
            });
            letters.push(if at == 0 { ' ' } else { (b'a' + u8::try_from(at - 1).expect("few looks")) as char });
        }
        if !letters.trim_end().is_empty() {
            writeln!(out, "~{}", letters.trim_end()).expect("a string");
        }
    }
    writeln!(out, "cursor {:?}", terminal.cursor()).expect("a string");
    for (letter, look) in (b'a'..).zip(&looks[1..]) {
        writeln!(out, "{} {look:?}", letter as char).expect("a string");
    }
    out
}

#[track_caller]
fn check(name: &str, view: fn(Size) -> Screen) {
    for (columns, rows) in SIZES {
        let size = Size::new(columns, rows);
        let shown = dump(size, &mut view(size));
        let file = format!("{name}-{columns}x{rows}.txt");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(&file);
        if std::env::var_os("SINEW_GOLDEN").is_some_and(|word| word == "renew") {
            std::fs::write(&path, &shown).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(golden == shown, "{file} differs; SINEW_GOLDEN=renew writes it anew. It is now:\n{shown}");
    }
}

#[test]
fn a_conversation_matches_its_golden_frames() {
    check("conversation", conversation);
}

#[test]
fn a_panel_matches_its_golden_frames() {
    check("panel", panel);
}

#[test]
fn the_viewer_matches_its_golden_frames() {
    check("viewer", viewer);
}
