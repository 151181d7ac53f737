//! Scripts of a user in a real tmux, at three sizes, with changes of the size during an answer.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sinew_testkit::provider::{Reply, Server, Step};

use crate::interactive::call;
use crate::stage::{self, Stage, chat, text as answer};
use crate::tmux::{ScreenContent, Tmux, release};

type Size = (u16, u16);

const SIZES: [Size; 3] = [(80, 24), (200, 50), (40, 12)];
/// A narrower, a wider, a lower and a higher size.
const OTHERS: [Size; 4] = [(61, 20), (118, 33), (37, 17), (150, 10)];

/// Texts of rows that must only be on the screen, and not in the scrollback.
const CHROME: &[&str] = &["ready", "thinking", "working", "waiting for you", "⋯", "→", "type to filter"];

/// Returns words that are numbered from `from` on, in paragraphs of about 70 columns.
fn words(from: usize, count: usize) -> String {
    let word = |at: usize| match at % 12 {
        11 => format!("w{at}.\n\n"),
        _ => format!("w{at} "),
    };
    (from..from + count).map(word).collect()
}

/// Checks that rows contain the words up to `count` once each, in order, and none of the rows that must only be on the
/// screen.
#[track_caller]
fn assert_once(rows: &[String], count: usize) {
    let is_word = |word: &&str| word.strip_prefix('w').is_some_and(|number| number.parse::<usize>().is_ok());
    let words: Vec<&str> =
        rows.iter().flat_map(|row| row.split(' ')).map(|word| word.trim_end_matches('.')).filter(is_word).collect();
    let expect: Vec<String> = (0..count).map(|at| format!("w{at}")).collect();
    assert_eq!(words, expect, "{rows:#?}");
    let own: Vec<&String> = rows.iter().filter(|row| CHROME.iter().any(|own| row.starts_with(own))).collect();
    assert!(own.is_empty(), "{own:?} in {rows:#?}");
}

/// Returns a reply that streams two halves of an answer, and waits for a pipe between them.
fn halves(first: &str, second: &str, pipe: std::path::PathBuf) -> Reply {
    let chunk = |delta: Value| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}));
    let end = chat(&json!({"content": second}), "stop").steps;
    let mut reply = Reply::stream(chunk(json!({"content": first}))).then(Step::Pipe(pipe));
    reply.steps.extend(end);
    reply
}

/// Creates a stage whose model answers in two halves of `count` words each, the second after `project/go` is released;
/// later prompts are answered with `more`.
fn in_halves(count: usize, more: &'static str) -> (Server, Stage) {
    let pipe = std::sync::Arc::new(std::sync::OnceLock::<std::path::PathBuf>::new());
    let (first, known) = (std::sync::atomic::AtomicBool::new(true), std::sync::Arc::clone(&pipe));
    let server = Server::start(move |_| match first.swap(false, std::sync::atomic::Ordering::SeqCst) {
        true => halves(&words(0, count), &words(count, count), known.wait().clone()),
        false => chat(&json!({"content": more}), "stop"),
    });
    let stage = Stage::served(&server);
    pipe.set(stage.pipe("project/go")).unwrap();
    (server, stage)
}

fn is_ready(shown: &ScreenContent) -> bool {
    shown.has("ready")
}

/// Waits until the screen is laid out for a width: the status row has that width, and the editor is below it.
#[track_caller]
fn until_laid_out(tmux: &mut Tmux, prompt: &str) {
    tmux.until(|shown| {
        let (row, _) = shown.cursor;
        shown.rows.get(row).is_some_and(|row| row.starts_with(prompt))
            && shown.rows[row + 1..].iter().all(String::is_empty)
    });
}

#[test]
fn an_answer_appears_once_when_resized_during_streaming() {
    for size in SIZES {
        for other in OTHERS {
            let (_server, stage) = in_halves(144, "");
            let mut tmux = Tmux::start(&stage, &[], size);
            tmux.enter("tell me");
            tmux.until(|shown| shown.contains("w143."));
            tmux.resize_and_wait(other);
            until_laid_out(&mut tmux, "›");
            tmux.send("draft");
            tmux.until(|shown| shown.is("› draft"));
            release(&stage, "project/go");
            tmux.until(|shown| shown.contains("w287.") && is_ready(shown));
            tmux.resize_and_wait(size);
            tmux.send("\x03");
            tmux.until(|shown| shown.contains("cleared"));
            let rows = tmux.left();
            assert_once(&rows, 288);
            assert_eq!(rows.iter().filter(|row| *row == "› tell me").count(), 1, "{rows:#?}");
        }
    }
}

/// An answer of a table, code and a list, which are laid out differently at each width.
fn mixed_answer() -> (String, String) {
    let row =
        |at: usize| format!("| option{at} | value {at} of many | explains what option {at} does, in many words |\n");
    let line = |at: usize| format!("let value{at} = compute({at}, \"an argument that is long enough to wrap\");\n");
    let words = words(0, 60);
    let table: String = (0..9).map(row).collect();
    let code: String = (0..14).map(line).collect();
    let first = format!("# Options\n\n{words}| option | default | meaning |\n|---|---|---|\n{table}\n```rust\n");
    (first, format!("{code}```\n\nThen:\n\n- one item\n- another item\n\nThe end."))
}

/// Plays the mixed answer. Then the terminal gets each of `sizes` in turn, and its first size again. Returns what remains
/// in the terminal.
fn play_resized(size: Size, sizes: &[Size]) -> Vec<String> {
    let (first, second) = mixed_answer();
    let server = Server::start(move |_| chat(&json!({"content": format!("{first}{second}")}), "stop"));
    let stage = Stage::served(&server);
    let mut tmux = Tmux::start(&stage, &[], size);
    tmux.enter("tell me");
    tmux.until(|shown| shown.contains("The end.") && is_ready(shown));
    for other in sizes.iter().chain([&size]) {
        tmux.resize_and_wait(*other);
        until_laid_out(&mut tmux, "›");
    }
    // The program takes keys again when it knows the new size.
    tmux.send("draft");
    let shown = tmux.until(|shown| shown.is("› draft"));
    // A notice that has gone may leave one blank row, which the next answer fills.
    let end = shown.rows.iter().position(|row| row == "The end.").unwrap();
    let status = shown.rows.iter().position(|row| row.starts_with("ready")).unwrap();
    assert!(status <= end + 2, "blank rows after {sizes:?}: {:#?}", shown.rows);
    tmux.send("\x03");
    tmux.until(|shown| shown.contains("cleared"));
    let folder = stage.project().display().to_string();
    let rows = tmux.left().into_iter().filter(|row| !row.contains(&folder) && !row.contains("sinew -r"));
    rows.rev().skip_while(String::is_empty).collect::<Vec<_>>().into_iter().rev().collect()
}

#[test]
fn resizing_there_and_back_leaves_the_same_rows() {
    let sequences: [&[Size]; 4] = [
        &[(80, 24), (60, 15), (80, 24)],
        &[(60, 15), (40, 12)],
        &[(60, 30), (100, 12), (130, 40)],
        &[(60, 15), (100, 30), (60, 15), (100, 30), (60, 15)],
    ];
    let expect = play_resized((100, 30), &[]);
    for sizes in sequences {
        let rows = play_resized((100, 30), sizes);
        assert!(rows == expect, "{sizes:?}\n{rows:#?}\nbut without resizes\n{expect:#?}");
    }
}

#[test]
fn many_resizes_at_once_produce_a_correct_screen() {
    for size in SIZES {
        let (_server, stage) = in_halves(144, "");
        let mut tmux = Tmux::start(&stage, &[], size);
        tmux.enter("tell me");
        tmux.until(|shown| shown.contains("w143."));
        for step in 0..40 {
            tmux.resize((30 + step * 7 % 90, 8 + step * 5 % 40));
        }
        tmux.resize_and_wait(size);
        release(&stage, "project/go");
        let shown = tmux.until(|shown| shown.contains("w287.") && is_ready(shown));
        // The screen is correct again. In the scrollback, rows that were not final may occur twice, if a reply came too
        // late or the screen was too low for them. No row is lost.
        let rows = tmux.left();
        let said = |rows: &[String]| rows.iter().flat_map(|row| row.split(' ')).map(str::to_owned).collect::<Vec<_>>();
        let missing: Vec<String> = (0..288)
            .map(|at| format!("w{at}"))
            .filter(|word| !said(&rows).iter().any(|said| said.trim_end_matches('.') == word))
            .collect();
        assert!(missing.is_empty(), "{missing:?} in {rows:#?}");
        let last: Vec<String> = said(&shown.rows).into_iter().filter(|word| word.starts_with('w')).collect();
        assert!(last.is_sorted_by_key(|word| word.trim_matches(['w', '.']).parse::<u32>().ok()), "{last:?}");
    }
}

#[test]
fn a_resize_under_a_popup_a_panel_or_the_viewer_loses_nothing() {
    for size in SIZES {
        for (open, shows, close) in
            [("/", "list the commands", "\x1b"), ("/model\r", "Which model", "\x1b"), ("\x0f", "conversation · ", "q")]
        {
            let (_server, stage) = in_halves(144, "");
            let mut tmux = Tmux::start(&stage, &[], size);
            tmux.enter("tell me");
            tmux.until(|shown| shown.contains("w143."));
            tmux.send(open);
            tmux.until(|shown| shown.contains(shows));
            // Each size has enough space for all live rows, even if earlier ones wrap.
            for other in [(61, 24), (118, 33), (80, 24)] {
                match shows.starts_with("conversation") {
                    true => tmux.resize(other),
                    false => drop(tmux.resize_and_wait(other)),
                }
                tmux.until(|shown| shown.contains(shows));
            }
            release(&stage, "project/go");
            tmux.until(|shown| shown.contains(shows));
            tmux.send(close);
            tmux.until(|shown| shown.contains("w287.") && !shown.contains(shows));
            tmux.send("\x03");
            tmux.until(is_ready);
            let rows = tmux.left();
            eprintln!("at {size:?}, {shows}");
            assert_once(&rows, 288);
        }
    }
}

/// Returns a stage whose model says 144 words and then calls a tool that needs a permission.
fn asking_after_words() -> Stage {
    let asking = stage::call(&words(0, 144), "bash", json!({"command": "touch made"}));
    let stage = Stage::scripted(&[asking, answer("It is done.")]);
    let settings = json!({"permissions": {"ask": ["bash(*)"]}, "tui": {"approvalDelayMs": 0}});
    stage.write("home/agent/settings.json", &settings.to_string());
    stage
}

#[test]
fn a_resize_beside_a_permission_panel_keeps_every_row_once() {
    let at_once: Vec<Size> = (0..20).map(|step| (60 + step * 17 % 60, 15 + step * 7 % 25)).collect();
    let sequences: [(&[Size], bool); 4] =
        [(&[(80, 24), (60, 15), (100, 30)], true), (&[(60, 30)], true), (&[(100, 15)], true), (&at_once, false)];
    for (sizes, waits) in sequences {
        let stage = asking_after_words();
        let mut tmux = Tmux::start(&stage, &["--script", "script.jsonl"], (100, 30));
        tmux.enter("go");
        // The question is below the words that led to it.
        let shown = tmux.until(|shown| shown.contains("5 no") && shown.contains("w143."));
        if shown.contains("tab: answer") {
            tmux.send("\t");
            tmux.until(|shown| !shown.contains("tab: answer"));
        }
        for other in sizes {
            match waits {
                true => drop(tmux.resize_and_wait(*other)),
                false => tmux.resize(*other),
            }
        }
        tmux.until(|shown| shown.contains("5 no") && shown.contains("w143."));
        until_laid_out(&mut tmux, "›");
        tmux.send("1");
        tmux.until(|shown| shown.is("It is done.") && is_ready(shown));
        let rows = tmux.left();
        assert_once(&rows, 144);
        assert!(!rows.iter().any(|row| row.contains("yes, once")), "{sizes:?}: {rows:#?}");
    }
}

/// Runs a script at each size.
#[track_caller]
fn at_each_size(stage: impl Fn() -> Stage, args: &[&str], script: impl Fn(Tmux, &Stage)) {
    for size in SIZES {
        let stage = stage();
        script(Tmux::start(&stage, &[&["--script", "script.jsonl"], args].concat(), size), &stage);
    }
}

/// Returns a command that prints a text, waits for a pipe, and prints another one.
fn waiting() -> Value {
    call("bash", json!({"command": "seq -f 'line %g' 60; touch begun; read -r line <> go; echo last line"}))
}

fn with_pipe(lines: &[Value]) -> Stage {
    let stage = Stage::scripted(lines);
    stage.pipe("project/go");
    stage
}

#[test]
fn a_command_shows_its_tail_while_the_size_changes() {
    let stage = || with_pipe(&[waiting(), answer("It is done.")]);
    at_each_size(stage, &[], |mut tmux, stage| {
        tmux.enter("go");
        stage.wait_for("project/begun");
        tmux.until(|shown| shown.has("◌ bash") && shown.is("  line 60"));
        // Each size has enough space for all live rows, so that none scrolls out.
        for other in [(61, 22), (118, 33), (50, 26)] {
            tmux.resize_and_wait(other);
            tmux.until(|shown| shown.has("◌ bash") && shown.is("  line 60"));
            until_laid_out(&mut tmux, "›");
        }
        release(stage, "project/go");
        tmux.until(|shown| shown.is("It is done.") && is_ready(shown));
        let rows = tmux.left();
        for row in ["  last line", "It is done."] {
            assert_eq!(rows.iter().filter(|shown| *shown == row).count(), 1, "{rows:#?}");
        }
        assert_eq!(rows.iter().filter(|row| row.starts_with("● bash")).count(), 1, "{rows:#?}");
        assert!(!rows.iter().any(|row| row.starts_with('◌')), "{rows:#?}");
    });
}

#[test]
fn an_edit_shows_its_diff_and_a_read_its_row() {
    let lines = [
        call("read", json!({"path": "a.txt"})),
        call("edit", json!({"path": "a.txt", "edits": [{"oldText": "old", "newText": "new"}]})),
        answer("It is done."),
    ];
    let stage = || {
        let stage = Stage::scripted(&lines);
        stage.write("project/a.txt", "first\nold\nlast\n");
        stage
    };
    at_each_size(stage, &[], |mut tmux, stage| {
        tmux.enter("go");
        tmux.until(|shown| shown.is("It is done.") && is_ready(shown));
        let rows = tmux.left();
        for start in ["● read a.txt", "● edit a.txt +1 −1"] {
            assert_eq!(rows.iter().filter(|row| row.starts_with(start)).count(), 1, "{start}: {rows:#?}");
        }
        assert!(
            rows.iter().any(|row| row.ends_with("- old")) && rows.iter().any(|row| row.ends_with("+ new")),
            "{rows:#?}"
        );
        assert_eq!(std::fs::read_to_string(stage.path("project/a.txt")).unwrap(), "first\nnew\nlast\n");
    });
}

#[test]
fn esc_and_ctrl_c_close_open_views_and_then_end_the_run() {
    for (key, viewer) in [("\x1b", "\x1b"), ("\x03", "q")] {
        at_each_size(
            || with_pipe(&[waiting(), answer("never")]),
            &[],
            |mut tmux, stage| {
                tmux.enter("go");
                stage.wait_for("project/begun");
                tmux.until(|shown| shown.is("  line 60"));
                // The run continues while a panel and the view are open and closed.
                for (open, shows, close) in [("/model\r", "Which model", key), ("\x0f", "conversation · ", viewer)] {
                    tmux.send(open);
                    tmux.until(|shown| shown.contains(shows));
                    tmux.send(close);
                    tmux.until(|shown| shown.is("  line 60") && !shown.contains(shows));
                }
                tmux.send("draft");
                tmux.until(|shown| shown.is("› draft"));
                tmux.send(key);
                if key == "\x03" {
                    // The first one moves the draft to the history.
                    tmux.until(|shown| shown.is("›") && shown.has("◌ bash"));
                    tmux.send(key);
                }
                tmux.until(|shown| is_ready(shown) && shown.contains("aborted"));
                if key == "\x1b" {
                    tmux.until(|shown| shown.is("› draft"));
                    tmux.send("\x03");
                }
                tmux.until(|shown| shown.is("›"));
                tmux.send("\x1b[A");
                tmux.until(|shown| shown.is("› draft"));
                tmux.send("\x03");
                tmux.until(|shown| shown.is("›"));
                tmux.left();
            },
        );
    }
}

#[test]
fn asks_for_a_permission_at_each_size() {
    let command = "touch made # a comment that makes the line longer than the narrow screen is wide";
    let stage = || {
        let stage = Stage::scripted(&[call("bash", json!({"command": command})), answer("It is done.")]);
        let settings = json!({"permissions": {"ask": ["bash(*)"]}, "tui": {"approvalDelayMs": 0}});
        stage.write("home/agent/settings.json", &settings.to_string());
        stage
    };
    at_each_size(stage, &[], |mut tmux, stage| {
        tmux.enter("go");
        let shown = tmux.until(|shown| shown.contains("1 ") && shown.has("waiting for you"));
        if shown.contains("tab: answer") {
            tmux.send("\t");
            tmux.until(|shown| !shown.contains("tab: answer"));
        }
        tmux.resize((66, 22));
        tmux.until(|shown| shown.has("waiting for you") && shown.contains("wide"));
        // Enter alone does not allow the call.
        tmux.send("\r");
        tmux.resize((67, 23));
        tmux.until(|shown| shown.has("waiting for you"));
        assert!(!stage.path("project/made").exists());
        tmux.send("1");
        tmux.until(|shown| shown.is("It is done.") && is_ready(shown));
        assert!(stage.path("project/made").exists());
        tmux.left();
    });
}

#[test]
fn a_stop_during_an_answer_keeps_the_text_once() {
    for size in SIZES {
        let (_server, stage) = in_halves(144, "");
        let mut tmux = Tmux::start(&stage, &[], size);
        tmux.enter("tell me");
        tmux.until(|shown| shown.contains("w143."));
        tmux.send("\x1a");
        tmux.until(|shown| shown.contains("Stopped"));
        // The program is stopped during this change of the size.
        tmux.resize((70, 21));
        tmux.send("fg\r");
        until_laid_out(&mut tmux, "›");
        release(&stage, "project/go");
        tmux.until(|shown| shown.contains("w287.") && is_ready(shown));
        let rows = tmux.left();
        // The previous screen stays above the rows of the shell, and rows that were not final are shown again.
        let last = rows.iter().rposition(|row| row.ends_with("fg")).expect("the shell's row");
        assert!(rows[..last].iter().any(|row| row.starts_with("› tell me")), "{rows:#?}");
        assert_once(&rows, 288);
    }
}

#[test]
fn the_end_of_the_pane_ends_the_program_and_keeps_the_session() {
    at_each_size(
        || with_pipe(&[waiting(), answer("never")]),
        &[],
        |mut tmux, stage| {
            tmux.enter("go");
            stage.wait_for("project/begun");
            tmux.until(|shown| shown.is("  line 60"));
            tmux.send("a draft");
            tmux.until(|shown| shown.is("› a draft"));
            drop(tmux);
            stage.wait_for_end_of("project/pid");
            assert_eq!(stage.said()[0], ("user".to_string(), "go".to_string()));
            // The draft is restored.
            let mut tmux = Tmux::start(stage, &["--script", "script.jsonl", "--continue"], (80, 24));
            tmux.until(|shown| shown.is("› a draft"));
            tmux.send("\x03");
            tmux.until(|shown| shown.contains("cleared"));
            tmux.left();
        },
    );
}

#[test]
fn a_termination_signal_restores_the_terminal() {
    at_each_size(
        || with_pipe(&[waiting(), answer("never")]),
        &[],
        |mut tmux, stage| {
            tmux.enter("go");
            stage.wait_for("project/begun");
            tmux.until(|shown| shown.is("  line 60"));
            let pid: i32 = std::fs::read_to_string(stage.path("project/pid")).unwrap().trim().parse().unwrap();
            kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
            let rows = tmux.ended(143);
            assert!(rows.iter().any(|row| row == "› go"), "{rows:#?}");
        },
    );
}

#[test]
fn a_paste_through_tmux_is_one_text() {
    let text: String = (0..50).map(|line| format!("pasted line {line}\n")).collect();
    at_each_size(
        || Stage::scripted(&[answer("It is read.")]),
        &[],
        |mut tmux, stage| {
            stage.write("project/pasted.txt", &text);
            tmux.paste(&stage.path("project/pasted.txt"));
            tmux.until(|shown| shown.contains("[paste #1 +"));
            tmux.send("\r");
            tmux.until(|shown| shown.is("It is read.") && is_ready(shown));
            assert_eq!(stage.said()[0].1.trim_end(), text.trim_end());
            tmux.left();
        },
    );
}

#[test]
fn works_without_colour_cursor_movement_or_utf_8() {
    for (prefix, args) in [("NO_COLOR=1", ""), ("TERM=dumb", ""), ("LC_ALL=C", ""), ("", " --linear")] {
        for size in SIZES {
            let stage = Stage::scripted(&[call("bash", json!({"command": "echo of it"})), answer("It is done.")]);
            let mut tmux = Tmux::shell(&stage, &["--script", "script.jsonl"], size);
            tmux.program = format!("{prefix} {}{args}", tmux.program);
            let in_words = prefix == "TERM=dumb" || !args.is_empty();
            tmux.run_program_until(|shown| shown.has("ready") || shown.has("Ready."));
            tmux.send("go\r");
            let last = if in_words { "Ready." } else { "ready" };
            // The linear mode printed that it was ready at the start too; the program waits for the end of the run.
            tmux.until(|shown| {
                let said = shown.rows.iter().position(|row| row.ends_with("It is done."));
                said.is_some_and(|said| shown.rows[said..].iter().any(|row| row.starts_with(last)))
            });
            if prefix == "NO_COLOR=1" {
                let coloured = tmux.styled().into_iter().find(|row| has_colour(row));
                assert_eq!(coloured, None);
            }
            tmux.send("\x04");
            let rows = tmux.ended(0);
            assert!(rows.iter().any(|row| row.contains("of it")), "{rows:#?}");
        }
    }
}

/// Returns true if a row contains a colour sequence, as tmux writes its cells.
fn has_colour(row: &str) -> bool {
    let codes = row.split("\x1b[").skip(1).filter_map(|part| part.split_once('m').map(|(codes, _)| codes));
    codes
        .flat_map(|codes| codes.split(';'))
        .any(|code| code.parse::<u32>().is_ok_and(|code| matches!(code, 30..=38 | 40..=48 | 90..=97 | 100..=107)))
}

#[test]
fn works_in_screen_inside_tmux() {
    for size in SIZES {
        let (_server, stage) = in_halves(144, "");
        let mut tmux = Tmux::shell(&stage, &[], size);
        tmux.program = format!("SCREENDIR=\"$PWD/screens\" screen -U -c /dev/null {}", tmux.program);
        std::fs::create_dir(stage.path("project/screens")).unwrap();
        set_private(&stage.path("project/screens"));
        tmux.run_program_until(|shown| shown.has("ready"));
        tmux.enter("tell me");
        tmux.until(|shown| shown.contains("w143."));
        tmux.resize((72, 22));
        until_laid_out(&mut tmux, "›");
        release(&stage, "project/go");
        tmux.until(|shown| shown.contains("w287.") && is_ready(shown));
        tmux.send("\x04");
        tmux.until(|shown| shown.contains("[screen is terminating]"));
        tmux.ended(0);
    }
}

fn set_private(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn the_title_shows_the_state() {
    at_each_size(
        || with_pipe(&[waiting(), answer("It is done.")]),
        &[],
        |mut tmux, stage| {
            tmux.enter("go");
            stage.wait_for("project/begun");
            tmux.until_title(|title| title.starts_with("● sinew"));
            release(stage, "project/go");
            tmux.until(|shown| shown.is("It is done.") && is_ready(shown));
            tmux.until_title(|title| title.starts_with("sinew"));
            tmux.left();
        },
    );
}
