//! Property tests of linear mode, on an emulator.

use crate::support;

use proptest::prelude::*;
use sinew_tui::{EditAction, Editor, EditorStyle, InputLine, LineSplitter, LinearOutput, OutputUnit};
use support::emulators::Avt;
use support::{Terminal, text_of};

const COLUMNS: usize = 24;

fn style() -> EditorStyle {
    EditorStyle { prompt: "You: ".into(), ..EditorStyle::default() }
}

#[derive(Clone, Debug)]
enum Step {
    Type(String),
    Act(EditAction),
    Say(String),
    /// Whether lines wait because the user is typing.
    Hold(bool),
    Send,
}

fn step() -> impl Strategy<Value = Step> {
    let actions = [
        EditAction::Left,
        EditAction::Right,
        EditAction::WordLeft,
        EditAction::LineStart,
        EditAction::LineEnd,
        EditAction::Up,
        EditAction::Down,
        EditAction::DeleteBackward,
        EditAction::DeleteBackward,
        EditAction::DeleteForward,
        EditAction::KillWordBackward,
        EditAction::NewLine,
        EditAction::Undo,
    ];
    prop_oneof![
        6 => "[a-z日é ]{1,4}".prop_map(Step::Type),
        4 => prop::sample::select(actions.to_vec()).prop_map(Step::Act),
        2 => "[A-Z]{1,6}( [A-Z]{1,6}){0,2}".prop_map(Step::Say),
        1 => any::<bool>().prop_map(Step::Hold),
        1 => Just(Step::Send),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The cursor's row shows the text and the cursor of the editor; the output is above it, once and in order; and no
    /// byte moves the cursor out of its row.
    #[test]
    fn the_cursor_stays_in_the_input_line(steps in prop::collection::vec(step(), 1..30)) {
        let mut terminal = Avt::new(COLUMNS, 8);
        let mut output = LinearOutput::new(false);
        let mut editor = Editor::new();
        let (mut held, mut said, mut waiting) = (false, Vec::new(), Vec::new());
        for step in &steps {
            match step {
                Step::Type(text) => editor.insert(text),
                Step::Act(action) => drop(editor.act(*action)),
                Step::Say(line) => {
                    output.say(line);
                    waiting.push(line.clone());
                }
                Step::Hold(hold) => held = *hold,
                Step::Send => {
                    terminal.feed(output.sent());
                    editor.submit();
                }
            }
            if !held {
                said.append(&mut waiting);
            }
            let shown = editor.rows(COLUMNS - 1, usize::MAX, &style());
            let bytes = output.write(held, Some((&shown.rows, shown.caret)));
            let text = String::from_utf8(bytes).expect("text");
            for sequence in text.split('\x1b').skip(1) {
                prop_assert!(sequence.starts_with("[K"), "{text:?}");
            }
            terminal.feed(text.as_bytes());
            let (row, column) = terminal.cursor();
            let lines: Vec<String> = terminal.lines().iter().map(|line| text_of(line)).collect();
            let row = lines.len() - terminal.height() + row;
            prop_assert_eq!(lines[row].as_str(), shown.rows[shown.caret.0].text().trim_end());
            prop_assert_eq!(column, shown.caret.1);
            let upper: Vec<&String> = lines.iter().filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase() && c != 'Y')).collect();
            let expect: Vec<&String> = said.iter().filter(|line| !line.starts_with('Y')).collect();
            prop_assert_eq!(upper, expect);
        }
    }

    /// The lines do not depend on how the text is split into chunks.
    #[test]
    fn lines_do_not_depend_on_chunk_boundaries(text in "([a-z]{1,5}[.!? \n]{0,2}){0,20}", size in 1..7usize) {
        for pace in [OutputUnit::Line, OutputUnit::Sentence, OutputUnit::End] {
            let (mut whole, mut parts) = (LineSplitter::new(pace), LineSplitter::new(pace));
            let mut expect = whole.push(&text);
            expect.append(&mut whole.finish());
            let mut said = Vec::new();
            for part in text.as_bytes().chunks(size) {
                said.append(&mut parts.push(std::str::from_utf8(part).expect("ASCII")));
            }
            said.append(&mut parts.finish());
            prop_assert_eq!(&said, &expect);
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(letters(&said.join("\n")), letters(&text));
        }
    }
}

#[track_caller]
fn check(before: &[Step], step: Step, expect: &str) {
    let (mut line, mut editor) = (InputLine::default(), Editor::new());
    let mut bytes = Vec::new();
    for step in before.iter().chain([&step]) {
        match step {
            Step::Type(text) => editor.insert(text),
            Step::Act(action) => drop(editor.act(*action)),
            _ => {}
        }
        let shown = editor.rows(COLUMNS - 1, usize::MAX, &style());
        bytes = line.show(&shown.rows, shown.caret);
    }
    assert_eq!(String::from_utf8(bytes).expect("text"), expect);
}

#[test]
fn a_character_typed_at_the_end_is_written_as_is() {
    let typed = [Step::Type("ab".into())];
    check(&[], Step::Type("a".into()), "You: a");
    check(&typed, Step::Type("c".into()), "c");
    check(&typed, Step::Act(EditAction::DeleteBackward), "\x08 \x08");
    check(&[Step::Type("日".into())], Step::Act(EditAction::DeleteBackward), "\x08\x08  \x08\x08");
    check(&typed, Step::Act(EditAction::Left), "\x08");
    check(&[typed[0].clone(), Step::Act(EditAction::Left)], Step::Act(EditAction::Right), "b");
    check(&[typed[0].clone(), Step::Act(EditAction::Left)], Step::Type("x".into()), "\r\x1b[KYou: axb\x08");
}

#[test]
fn writes_nothing_when_nothing_is_new() {
    let mut output = LinearOutput::new(false);
    let mut editor = Editor::new();
    editor.insert("draft");
    let shown = editor.rows(COLUMNS - 1, 9, &style());
    output.say("Ready.");
    assert!(!output.write(false, Some((&shown.rows, shown.caret))).is_empty());
    assert!(output.write(false, Some((&shown.rows, shown.caret))).is_empty());
    // Output that waits while the user types counts as new only when it may be written.
    output.say("more");
    assert!(output.write(true, Some((&shown.rows, shown.caret))).is_empty());
    assert_eq!(output.write(false, Some((&shown.rows, shown.caret))), b"\r\x1b[Kmore\r\nYou: draft");
}

#[test]
fn plain_output_contains_no_escape() {
    let mut output = LinearOutput::new(true);
    output.say("a\u{1b}[2Jb\u{1b}]52;c;eA==\u{7}c\u{202e}\u{E0041}");
    output.ring();
    let shown = Editor::new().rows(COLUMNS - 1, 9, &style());
    let bytes = output.write(false, Some((&shown.rows, shown.caret)));
    assert_eq!(String::from_utf8(bytes).expect("text"), "abc‹U+202E›‹U+E0041›\u{7}\n");
    assert!(output.write(false, Some((&shown.rows, shown.caret))).is_empty());
}
