//! Images in terminals that draw them in text, and lines about them in all other terminals.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sinew::base::CancelToken;
use sinew::image::{Channels, ImageFormat, Picture, probe};

use crate::stage::{Stage, call, text};
use crate::terminal::{Terminal, enter, has, left_with_bytes};

/// The placeholder character of cells with an image.
const CELL: char = '\u{10EEEE}';

/// Creates a stage with the images `p0.png`, `p1.png`, … of these sizes in the project.
fn stage(sizes: &[(u32, u32)], answers: &[serde_json::Value]) -> Stage {
    let stage = Stage::scripted(answers);
    for (number, (width, height)) in sizes.iter().enumerate() {
        let samples = (0..width * height * 3).map(|at| (at * 7 + number as u32) as u8).collect();
        let picture = Picture::new(*width, *height, Channels::Rgb, samples).unwrap();
        let png = picture.encode(ImageFormat::Png, 100, &CancelToken::never()).unwrap();
        std::fs::write(stage.path(&format!("project/p{number}.png")), png).unwrap();
    }
    stage
}

/// Starts a terminal that reports this program name.
fn terminal(stage: &Stage, name: &str) -> Terminal {
    let mut command = stage.command(&["--script", "script.jsonl"]);
    command.env("TERM", "xterm-kitty").env("COLORTERM", "truecolor");
    let mut terminal = Terminal::run(command, (60, 30));
    terminal.send(&format!("\x1bP>|{name}\x1b\\"));
    terminal.until(|rows| has(rows, "ready"));
    terminal
}

/// Returns the number of screen rows with images.
fn rows_of_pictures(rows: &[String]) -> usize {
    rows.iter().filter(|row| row.starts_with(CELL)).count()
}

/// An operation on an image: the letter of the action, and the id of the image.
type Action = (String, String);

/// Returns the image operations sent to a terminal: the files by their ids, and the actions in order.
fn told(bytes: &str) -> (HashMap<String, Vec<u8>>, Vec<Action>) {
    let (mut files, mut done) = (HashMap::<String, String>::new(), Vec::new());
    let mut open = String::new();
    for part in bytes.split("\x1b_G").skip(1) {
        let part = part.split("\x1b\\").next().unwrap();
        let (keys, data) = part.split_once(';').unwrap_or((part, ""));
        let keys: HashMap<&str, &str> = keys.split(',').filter_map(|key| key.split_once('=')).collect();
        if let (Some(action), Some(id)) = (keys.get("a"), keys.get("i")) {
            open = (*id).to_string();
            done.push(((*action).to_string(), open.clone()));
        }
        files.entry(open.clone()).or_default().push_str(data);
    }
    let files = files.into_iter().filter(|(_, data)| !data.is_empty());
    (files.map(|(id, data)| (id, STANDARD.decode(data).unwrap())).collect(), done)
}

#[test]
fn an_image_is_sent_once_and_deleted_at_the_end() {
    let said = [text("A pattern."), text("The same one.")];
    let stage = stage(&[(100, 64)], &said);
    let mut terminal = terminal(&stage, "kitty(0.42.1)");
    enter(&mut terminal, "what is @p0.png");
    // The terminal does not report the size of a cell, so 8×16 is used.
    terminal.until(|rows| {
        has(rows, "@ p0.png [image 100×64 image/png]") && rows_of_pictures(rows) == 4 && has(rows, "ready")
    });
    // Another size, a full redraw, and the same image again send no image data.
    terminal.resize(50, 20);
    terminal.send("\x0c");
    enter(&mut terminal, "and @p0.png");
    terminal.until(|rows| has(rows, "The same one.") && rows_of_pictures(rows) == 8 && has(rows, "ready"));
    let (_, bytes) = left_with_bytes(terminal);
    let (files, done) = told(&bytes);
    let [(id, png)] = &files.into_iter().collect::<Vec<_>>()[..] else { panic!("one picture was sent") };
    assert_eq!(png, &std::fs::read(stage.path("project/p0.png")).unwrap(), "one that fits is sent as it is");
    let actions: Vec<&str> = done.iter().map(|(action, _)| action.as_str()).collect();
    assert_eq!(actions, ["t", "p", "p", "d"]);
    assert!(done.iter().all(|(_, other)| other == id));
    // The id is the colour of the cells.
    let id: u32 = id.parse().unwrap();
    let [_, red, green, blue] = id.to_be_bytes();
    assert!(bytes.contains(&format!("38;2;{red};{green};{blue}m{CELL}")), "{id}");
}

#[test]
fn keeps_the_newest_images_and_scales_large_ones_down() {
    let stage = stage(&[(20, 20), (30, 30), (2_000, 1_000), (40, 40)], &[text("Three."), text("Four.")]);
    let settings = json!({"tui": {"maxInlineImages": 2}});
    stage.write("home/agent/settings.json", &settings.to_string());
    let mut terminal = terminal(&stage, "ghostty 1.2.0");
    for (prompt, answer, shown) in [("see @p0.png @p1.png @p2.png", "Three.", 2), ("and @p3.png", "Four.", 3)] {
        enter(&mut terminal, prompt);
        terminal.until(|rows| has(rows, answer) && has(rows, "ready"));
        // Images are prepared in the background.
        terminal.until_sent(|text| text.matches("a=p,").count() == shown);
    }
    let (_, bytes) = left_with_bytes(terminal);
    let (files, done) = told(&bytes);
    let by = |wanted: &str| done.iter().filter(|(action, _)| action == wanted).count();
    assert_eq!((files.len(), by("t"), by("p"), by("d")), (3, 3, 3, 3), "all that were sent are deleted");
    let dropped = done.iter().position(|(action, _)| action == "d").unwrap();
    assert_eq!(
        done[..dropped].iter().filter(|(action, _)| action == "t").count(),
        3,
        "the last took the first's place"
    );
    assert_eq!(done[dropped].1, done[0].1);
    let widest = files.values().map(|png| probe(png).unwrap().upright_size().0).max();
    assert_eq!(widest, Some(480), "60 cells of 8 pixels");
}

#[test]
fn shows_an_image_read_by_a_tool() {
    let read = call("", "read", json!({"path": "p0.png"}));
    let stage = stage(&[(16, 16)], &[read, text("Seen.")]);
    let mut terminal = terminal(&stage, "kitty(0.42.1)");
    enter(&mut terminal, "look");
    terminal.until(|rows| {
        rows.iter().any(|row| row.ends_with("[image 16×16 image/png]"))
            && rows_of_pictures(rows) == 1
            && has(rows, "Seen.")
            && has(rows, "ready")
    });
    assert_eq!(told(&left_with_bytes(terminal).1).1.len(), 3);
}

/// Returns the image rows that iTerm2 was told to draw: the number of cells, and the file.
fn drawn(bytes: &str) -> Vec<(usize, Vec<u8>)> {
    let sequences = bytes.split("\x1b]1337;File=").skip(1).map(|part| part.split("\x1b\\").next().unwrap());
    let row = |sequence: &str| {
        let (options, data) = sequence.split_once(':').unwrap();
        let options: HashMap<&str, &str> = options.split(';').filter_map(|option| option.split_once('=')).collect();
        assert_eq!((options["height"], options["inline"], options["doNotMoveCursor"]), ("1", "1", "1"));
        (options["width"].parse().unwrap(), STANDARD.decode(data).unwrap())
    };
    sequences.map(row).collect()
}

#[test]
fn draws_an_image_by_rows_and_redraws_covered_rows() {
    for name in ["iTerm2 3.6.1", "WezTerm 20240203-110809-5046fc22"] {
        let stage = stage(&[(100, 64)], &[text("A pattern.")]);
        let mut terminal = terminal(&stage, name);
        enter(&mut terminal, "what is @p0.png");
        terminal.until(|rows| has(rows, "@ p0.png [image 100×64 image/png]") && has(rows, "A pattern."));
        terminal.until(|rows| has(rows, "ready"));
        terminal.until_sent(|sent| drawn_count(sent) == 4);
        // A panel covers the image, which is drawn again after it is closed.
        enter(&mut terminal, "/settings");
        terminal.until(|rows| has(rows, "Settings"));
        terminal.send("\x1b");
        terminal.until(|rows| !has(rows, "Settings") && has(rows, "ready"));
        let covered = drawn_count(&String::from_utf8_lossy(&terminal.bytes));
        terminal.send("\x0c");
        terminal.until_sent(|sent| drawn_count(sent) == covered + 4);
        let (rows, bytes) = left_with_bytes(terminal);
        assert!(!bytes.contains("\x1b_G") && !bytes.contains(CELL), "{rows:#?}");
        let drawn = drawn(&bytes);
        for (columns, file) in &drawn {
            assert_eq!((*columns, probe(file).unwrap().upright_size()), (13, (104, 16)), "{name}");
        }
        // The same four rows each time.
        assert!(drawn[4..].iter().all(|row| drawn[..4].contains(row)), "{name}");
    }
}

fn drawn_count(sent: &str) -> usize {
    sent.matches("\x1b]1337;File=").count()
}

#[test]
fn sends_images_through_tmux_when_passthrough_is_enabled() {
    for (passes, around, expect) in
        [(true, "KITTY_WINDOW_ID", 3), (true, "ITERM_SESSION_ID", 0), (false, "KITTY_WINDOW_ID", 0)]
    {
        let stage = stage(&[(16, 16)], &[text("A pattern.")]);
        stage.write("home/agent/settings.json", &json!({"tui": {"passthrough": passes}}).to_string());
        let mut command = stage.command(&["--script", "script.jsonl"]);
        command.env("TERM", "tmux-256color").env("COLORTERM", "truecolor").env("TMUX", "x").env(around, "1");
        let mut terminal = Terminal::run(command, (60, 30));
        terminal.send("\x1bP>|tmux 3.5a\x1b\\");
        terminal.until(|rows| has(rows, "ready"));
        enter(&mut terminal, "what is @p0.png");
        terminal.until(|rows| {
            has(rows, "A pattern.") && has(rows, "ready") && (rows_of_pictures(rows) == 1) == (expect > 0)
        });
        let (_, bytes) = left_with_bytes(terminal);
        // Sent, placed, and deleted at the end: each in a sequence for tmux.
        assert_eq!(bytes.matches("\x1bPtmux;\x1b\x1b_Ga=").count(), expect, "{passes} {around}");
        assert_eq!(bytes.matches("\x1b_Ga=").count(), expect, "{passes} {around}");
    }
}

#[test]
fn describes_images_in_words_on_other_terminals() {
    for name in ["tmux 3.5a", "WezTerm 20220101-133340-7edc5b5a", "xterm.js(6.0.0)"] {
        let stage = stage(&[(100, 64)], &[text("A pattern.")]);
        let mut terminal = terminal(&stage, name);
        enter(&mut terminal, "what is @p0.png");
        terminal.until(|rows| has(rows, "@ p0.png [image 100×64 image/png]") && has(rows, "A pattern."));
        terminal.until(|rows| has(rows, "ready"));
        let (rows, bytes) = left_with_bytes(terminal);
        assert!(!bytes.contains("\x1b_G") && !bytes.contains(CELL), "{rows:#?}");
    }
}
