//! Compares patches with the same changes made directly.

use proptest::prelude::*;

use super::lines::{Hunk, Lines, moved};
use crate::line_patch::{ChangePosition, parse};

#[track_caller]
fn refused(input: &str, expect: &str) {
    let error = parse(input).unwrap_err();
    assert!(error.contains(expect), "{error}");
}

#[test]
fn other_patch_formats_are_refused_with_a_hint() {
    refused("", "The patch is empty");
    refused("replace 1\n|x", "must begin with the header");
    refused("@a#12345678\n@@ -1 +1 @@\n-x\n+y", "line 2: unified diffs are not supported here. Write \"replace 3..5\"");
    refused("@a#12345678\n<<<<<<< SEARCH\n", "SEARCH/REPLACE blocks");
    refused("@a#12345678\nreplace 1\n+x", "lines with + or -");
    refused("@a#12345678\nreplace 1\nx", "\"x\" is not a change");
    refused("@a#12345678\nreplace 1\n|x\n\n|y", "line 5: a line with | must directly follow");
    refused("@a#12345678\ndelete 1\n|x", "line 3: a line with | must directly follow");
    refused("@a#12345678\nreplace 1", "has no new lines: write each one after a |, or use delete");
    refused("@a#12345678\nreplace 3..1\n|x", "is not a change");
    refused("@a#12345678\nreplace 0\n|x", "is not a change");
    refused("@a#12345678\nreplace 99999999999999999999\n|x", "is not a change");
    refused("@a#1234567\ndelete 1", "is not a file header");
    refused("@#12345678\ndelete 1", "is not a file header");
    refused("@a#new\ndelete 1", "is a new file (#new) without lines");
    refused("@a#12345678", "No changes for a");
}

#[test]
fn small_syntax_slips_are_accepted() {
    let input = "*** Begin Patch\r\n@d/a#b.c#ABCDEF01\r\nreplace >2..*3\r\n|2:x\r\n|3:y\r\n|4:z\r\n\r\ninsert end\r\n|\r\n*** End Patch";
    let patch = parse(input).unwrap();
    let section = &patch.sections[0];
    assert_eq!((section.path.as_str(), section.tag.as_deref()), ("d/a#b.c", Some("abcdef01")));
    assert_eq!((&section.ops[0].at, section.ops[0].body.join(",").as_str()), (&ChangePosition::Lines(1..3), "x,y,z"));
    assert_eq!((&section.ops[1].at, section.ops[1].body.as_slice()), (&ChangePosition::End, &[String::new()][..]));
    assert_eq!(patch.notes, ["Line numbers were removed from the new lines of d/a#b.c"]);
    // Numbers that do not match the position are content.
    let patch = parse("@a#12345678\nreplace 2\n|8080:80").unwrap();
    assert_eq!(patch.sections[0].ops[0].body, ["8080:80"]);
}

#[track_caller]
fn check(content: &str, ops: &str, expect: Result<&str, &str>) {
    let patch = parse(&format!("@a#12345678\n{ops}")).unwrap();
    let lines = Lines::new(content.as_bytes());
    let got = lines.hunks("a", &patch.sections[0].ops).map(|hunks| lines.apply(&hunks, &[]).content);
    let got = got.map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(got.as_deref().map_err(String::as_str), expect);
}

#[test]
fn line_numbers_refer_to_the_old_file() {
    check("1\n2\n3\n", "insert start\n|a\ndelete 2\ninsert after 3\n|b\ninsert end\n|c", Ok("a\n1\n3\nb\nc\n"));
    check("1\n2\n3\n", "insert before 2\n|a\nreplace 2..3\n|b\ninsert after 3\n|c", Ok("1\na\nb\nc\n"));
    check("1\r\n2\r\n3", "replace 3\n|x\n|y", Ok("1\r\n2\r\nx\r\ny"));
    check("1\n2", "insert end\n|3", Ok("1\n2\n3"));
    check("1\r\n2\n3\r\n4\r\n", "replace 1..2\n|x\n|y\n|z", Ok("x\r\ny\nz\r\n3\r\n4\r\n"));
    check("1\n2", "delete 2", Ok("1"));
    check("\u{feff}1\n", "replace 1\n|x", Ok("\u{feff}x\n"));
    check("", "insert start\n|x", Ok("x\n"));
    check("1\n2\n3\n4\n", "replace 1..3\n|x\ndelete 3..4", Err("Ops overlap at lines 3..3 in a."));
    check("1\n2\n3\n", "replace 1..3\n|x\ninsert after 2\n|y", Err("Ops overlap at lines 3..3 in a."));
    check("1\n2\n", "delete 2..9", Err("Line 9 is beyond the end of a: its last line is 2."));
}

/// A file with few distinct lines, so that equal ones are adjacent often.
fn file() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[abc|:@ ]{0,3}", 1..30)
}

/// Hunks that do not overlap: for each line either nothing, a deletion, a replacement, or an insertion.
fn hunks(count: usize) -> impl Strategy<Value = Vec<Hunk>> {
    let body = prop::collection::vec("[xyz|:@#é ]{0,4}", 1..4);
    prop::collection::vec((0_u8..8, body), count).prop_map(|choices| {
        let mut hunks = Vec::new();
        for (index, (choice, body)) in choices.into_iter().enumerate() {
            match choice {
                0 => hunks.push(Hunk { at: index..index + 1, body: Vec::new() }),
                1 => hunks.push(Hunk { at: index..index + 1, body }),
                2 => hunks.push(Hunk { at: index..index, body }),
                _ => {}
            }
        }
        hunks
    })
}

fn by_hand(lines: &[String], hunks: &[Hunk]) -> String {
    let mut lines = lines.to_vec();
    for hunk in hunks.iter().rev() {
        lines.splice(hunk.at.clone(), hunk.body.iter().cloned());
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn written(hunks: &[Hunk]) -> String {
    let mut text = String::from("@a#12345678\n");
    for hunk in hunks {
        let (first, last) = (hunk.at.start + 1, hunk.at.end);
        match (hunk.at.is_empty(), hunk.body.is_empty()) {
            (true, _) => text.push_str(&format!("insert before {first}\n")),
            (false, true) => text.push_str(&format!("delete {first}..{last}\n")),
            (false, false) => text.push_str(&format!("replace {first}..{last}\n")),
        }
        hunk.body.iter().for_each(|line| text.push_str(&format!("|{line}\n")));
    }
    text
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_patch_equals_a_naive_application_of_its_hunks((old, hunks) in file().prop_flat_map(|old| {
        let count = old.len();
        (Just(old), hunks(count))
    })) {
        prop_assume!(!hunks.is_empty());
        let patch = parse(&written(&hunks)).unwrap();
        let content = text(&old);
        let lines = Lines::new(content.as_bytes());
        let read = lines.hunks("a", &patch.sections[0].ops).unwrap();
        let applied = lines.apply(&read, &[]);
        prop_assert_eq!(String::from_utf8(applied.content).unwrap(), by_hand(&old, &hunks));
    }

    /// A successful merge loses no change of either side: the order of application does not matter.
    #[test]
    fn a_merge_contains_both_changes_or_fails((old, ours, theirs) in file().prop_flat_map(|old| {
        let count = old.len();
        (Just(old), hunks(count), hunks(count))
    })) {
        let marked = |hunks: &[Hunk], mark: &str| -> Vec<Hunk> {
            let body = |hunk: &Hunk| hunk.body.iter().map(|line| format!("{mark}{line}")).collect();
            hunks.iter().map(|hunk| Hunk { at: hunk.at.clone(), body: body(hunk) }).collect()
        };
        // Lines that are all different, so that the diff is unique.
        let old: Vec<String> = old.iter().enumerate().map(|(index, line)| format!("{index}{line}")).collect();
        let (ours, theirs) = (marked(&ours, "o"), marked(&theirs, "t"));
        let content = text(&old);
        let base = Lines::new(content.as_bytes());
        let now = by_hand(&old, &theirs);
        let now = Lines::new(now.as_bytes());
        let apart = ours.iter().all(|our| theirs.iter().all(|their| {
            our.at.end < their.at.start || their.at.end < our.at.start
        }));
        let merged = moved(&base, &now, &ours);
        prop_assert_eq!(merged.is_some(), apart);
        if let Some(merged) = merged {
            let got = now.apply(&merged, &[]).content;
            let mut both: Vec<Hunk> = ours.iter().chain(&theirs).cloned().collect();
            both.sort_by_key(|hunk| (hunk.at.start, !hunk.at.is_empty()));
            prop_assert_eq!(String::from_utf8(got).unwrap(), by_hand(&old, &both));
        }
    }

    /// Any text yields either an error or valid hunks.
    #[test]
    fn random_patches_never_panic(old in any::<Vec<u8>>(), input in "(@a#12345678\n)?((replace|delete|insert|after|before|end|[ |.\n@#*]|[0-9]{1,3}|[a-z+-]){0,12}\n?){0,8}") {
        let lines = Lines::new(&old);
        if let Ok(patch) = parse(&input) {
            for section in &patch.sections {
                if let Ok(hunks) = lines.hunks("a", &section.ops) {
                    lines.apply(&hunks, &[]);
                }
            }
        }
        prop_assert_eq!(lines.apply(&[], &[]).content, old);
    }
}
