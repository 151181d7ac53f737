//! Compares the vi keys with vim, which gets the same texts and keys.

use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sinew_tui::{Editor, Vi, ViKey, ViMode, ViPress};

/// Types keys: Esc, ctrl+r, and all others as text.
fn type_keys(editor: &mut Editor, vi: &mut Vi, keys: &str) {
    for key in keys.chars() {
        let text = if key.is_control() { String::new() } else { key.to_string() };
        let press = match key {
            '\x1b' => ViPress::Escape,
            '\x12' => ViPress::Redo,
            _ => ViPress::Text(&text),
        };
        if vi.key(editor, press) == ViKey::Passed && vi.mode() == ViMode::Insert {
            editor.insert(&text);
        }
    }
}

/// Returns the text after some keys, and the line and byte of the cursor. Commands are separated by `|`, because vim
/// drops the keys after a failed command.
fn ours(text: &str, keys: &str) -> (String, usize, usize) {
    let (mut editor, mut vi) = (Editor::new(), Vi::default());
    editor.set_text(text);
    type_keys(&mut editor, &mut vi, "\x1bgg0");
    type_keys(&mut editor, &mut vi, &keys.replace('|', ""));
    let before = editor.before_cursor();
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
    (editor.text(), line, column)
}

/// Returns the same for vim, for all cases at once; `None` if vim is not installed.
fn vims(cases: &[(String, String)]) -> Option<Vec<(String, usize, usize)>> {
    let folder = tempfile::tempdir().expect("a folder");
    let (given, script, told) = (folder.path().join("cases"), folder.path().join("script"), folder.path().join("told"));
    let lines: Vec<String> = cases
        .iter()
        .map(|(text, keys)| serde_json::to_string(&(text, format!("{BEFORE}{keys}"))).expect("text"))
        .collect();
    std::fs::write(&given, lines.join("\n")).expect("written");
    let text = format!(
        r#"set noautoindent nojoinspaces encoding=utf-8
let told = []
for line in readfile("{}")
  let [text, keys] = json_decode(line)
  enew!
  call setline(1, split(text, "\n", 1))
  call setreg('"', '')
  call cursor(1, 1)
  for command in split(keys . "|\<Esc>|\<Esc>", "|")
    silent! call feedkeys(command, "xt")
  endfor
  call add(told, json_encode([join(getline(1, "$"), "\n"), line("."), col(".")]))
endfor
call writefile(told, "{}")
qall!
"#,
        given.display(),
        told.display()
    );
    std::fs::write(&script, text).expect("written");
    let mut vim = Command::new("vim");
    vim.args(["-N", "-u", "NONE", "-i", "NONE", "-n", "-es", "-S"]).arg(&script);
    match vim.output() {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("vim: {error}"),
    }
    let told = std::fs::read_to_string(&told).expect("vim has told");
    Some(told.lines().map(|line| serde_json::from_str(line).expect("as vim writes it")).collect())
}

/// Sets a previous command for `.` and `;`, because vim remembers one from the previous case.
const BEFORE: &str = "Aq\x1b|0|fq|0|";

#[track_caller]
fn compare(cases: &[(String, String)]) {
    let Some(expect) = vims(cases) else {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        // Written directly to stdout, because the harness hides the output of tests that pass.
        let line = format!("skipped: {name}: vim is not installed\n");
        return std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).expect("an output");
    };
    assert_eq!(expect.len(), cases.len());
    let mut wrong = Vec::new();
    for ((text, keys), expect) in cases.iter().zip(expect) {
        let got = ours(text, &format!("{BEFORE}{keys}|\x1b|\x1b"));
        // After an undo, the column differs from that of vim, whose undo restores whole lines.
        let is_same = if keys.contains(['u', '\x12']) { got.0 == expect.0 } else { got == expect };
        if !is_same {
            wrong.push(format!("{text:?} {keys:?}\n  vim  {expect:?}\n  ours {got:?}"));
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), cases.len(), wrong[..wrong.len().min(25)].join("\n"));
}

const TEXTS: &[&str] = &[
    "hello world",
    "one two  three\nfour_5 six.seven\n\n  eight nine\n\nlast line",
    "f(a, (b c), \"d e\") = {\n  x = [1, 2];\n  y\n}\nend",
    "",
    "a",
    "  \n  x\n\n\n  y z",
];

const MOTIONS: &[&str] = &[
    "h", "l", "j", "k", "w", "b", "e", "0", "^", "$", "gg", "G", "fe", "te", "Fe", "Te", ";", ",", "f(", "t,", "2w",
    "3e", "2b", "3l", "2j", "2k", "2G", "2fe",
];
const OBJECTS: &[&str] = &["iw", "aw", "ip", "ap", "i(", "a(", "ib", "i{", "a{", "iB", "i[", "a[", "i\"", "a\""];

#[test]
fn every_command_behaves_like_vim() {
    let mut keys: Vec<String> = Vec::new();
    let places = ["", "w", "2w", "j|w", "2j", "G|$", "fb", "j|j|$", "fd"];
    for place in places {
        keys.extend(MOTIONS.iter().map(|motion| format!("{place}|{motion}")));
        // On an empty line, vim treats the next line as a word.
        let fits = |target: &&&str| !(target.ends_with('w') && target.len() == 2 && matches!(place, "2j" | "j|j|$"));
        for target in MOTIONS.iter().chain(OBJECTS).filter(fits) {
            keys.push(format!("{place}|d{target}"));
            keys.push(format!("{place}|c{target}55\x1b"));
            keys.push(format!("{place}|y{target}|P"));
            // The selection within braces ends before the line end there, with `d` and `c` as well.
            if !matches!(*target, "i{" | "iB") {
                keys.push(format!("{place}|v{target}d"));
            }
        }
        for simple in [
            "x",
            "3x",
            "X",
            "s!\x1b",
            "2s!\x1b",
            "rz",
            "2rz",
            "9rz",
            "dd",
            "2dd",
            "9dd",
            "ccnew\x1b",
            "2ccnew\x1b",
            "yy|p",
            "yy|P",
            "2yy|j|p",
            "D|p",
            "Cnew\x1b",
            "x|p",
            "3x|P",
            "yw|2p",
            "dw|.",
            "3dw|.",
            "dw|u",
            "dd|.|u|u",
            "dw|dw|u|\x12",
            "ihey \x1b",
            "ahey\x1b",
            "Ihey\x1b",
            "Ahey\x1b",
            "ohey\x1b",
            "Ohey\x1b",
            "2ihey \x1b",
            "2ohey\x1b",
            "Ahey\x1b|j|.",
            "ohey\x1b|.",
            "cwnew\x1b|w|.",
            "ihey \x1b|u",
            "cwnew\x1b|u|u",
            "2d2w",
            "vwy|$|p",
            "Vjd",
            "Vy|p",
            "vjcnew\x1b",
            "d;",
            "fe|ld;",
            "fe|x|;|x|,|x",
            "dw|2u|\x12",
        ] {
            keys.push(format!("{place}|{simple}"));
        }
    }
    let cases: Vec<(String, String)> =
        TEXTS.iter().flat_map(|text| keys.iter().map(|keys| ((*text).to_owned(), keys.clone()))).collect();
    compare(&cases);
}

#[test]
fn command_sequences_behave_like_vim() {
    let one_of = |table: &'static [&'static str]| proptest::sample::select(table);
    // Copying nothing clears the register of vim, while Sinew keeps the previous cut.
    let copies = one_of(&["yy", "yj", "yG", "ygg", "y2j", "yip"]);
    let commands = one_of(&["dd", "p", "P", "ify\x1b", "A z\x1b", "obc\x1b", "r-", "di\"", "da\""]);
    let command = prop_oneof![
        4 => one_of(MOTIONS).prop_map(str::to_owned),
        // If the first line is empty, vim does not continue from there.
        2 => one_of(MOTIONS).prop_map(|to| format!("d{}", to.replace("2b", "b"))),
        1 => one_of(MOTIONS).prop_map(|to| format!("c{to}55\x1b")),
        1 => copies.prop_map(str::to_owned),
        2 => commands.prop_map(str::to_owned),
    ];
    let text = proptest::string::string_regex("[ab_ .,(\"]{1,12}(\n[ab ){]{0,8}){0,4}").expect("a pattern");
    let strategy = (text, proptest::collection::vec(command, 1..9).prop_map(|commands| commands.join("|")));
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let cases: Vec<(String, String)> =
        (0..3_000).map(|_| strategy.new_tree(&mut runner).expect("a case").current()).collect();
    compare(&cases);
}
