use std::io::{BufRead, BufReader, Seek, Write};

use proptest::prelude::*;

use super::super::tree::Node;
use super::*;

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Reads a file line by line, as a simple reference implementation.
fn plainly(file: &mut File) -> Index {
    file.rewind().unwrap();
    let mut index = Index::default();
    let mut reader = BufReader::new(&*file);
    let mut first = true;
    loop {
        let mut line = Vec::new();
        let length = reader.read_until(b'\n', &mut line).unwrap();
        if length == 0 {
            index.circles = index.tree.settle();
            return index;
        }
        let (offset, ended) = (index.size, line.ends_with(b"\n"));
        index.size += length as u64;
        let text = line.trim_ascii();
        if ended {
            index.whole = index.size;
        }
        if text.is_empty() {
            continue;
        }
        if std::mem::take(&mut first)
            && let Ok(header) = serde_json::from_slice::<Header>(text)
            && header.kind == "session"
        {
            (index.header, index.whole) = (Some(header), index.size);
            continue;
        }
        let offset = offset + (text.as_ptr() as u64 - line.as_ptr() as u64);
        match serde_json::from_slice::<Head<'_>>(text) {
            Ok(head) => {
                index.whole = index.size;
                let time = head.timestamp.as_deref().and_then(clock::from_iso).unwrap_or_default();
                let place = EntryLocation::Disk { offset, length: u32::try_from(text.len()).unwrap() };
                let parent = head.parent_id.as_deref().map(Id::from);
                let added = index.tree.push((&*head.id).into(), parent, time, Kind::of(&head.kind), place);
                index.bad += usize::from(!added);
            }
            Err(_) if ended && is_object(text) => index.without_id += 1,
            Err(_) if ended => index.bad += 1,
            Err(_) => {}
        }
    }
}

/// Formats all fields of an index.
fn told(index: &Index) -> String {
    let node =
        |node: &Node| format!("{:?} {:?} {:?} {} {:?}", node.id, node.parent(), node.kind, node.time, node.place);
    let nodes: Vec<String> = index.tree.nodes.iter().map(node).collect();
    let Index { header, bad, circles, without_id, whole, size, .. } = index;
    format!("{header:?} {bad} {circles} {without_id} {whole} {size} {:?} {nodes:#?}", index.tree.leaf())
}

/// Checks that the result does not depend on the block length.
#[track_caller]
fn check(bytes: &[u8]) {
    let mut file = file(bytes);
    let expected = told(&plainly(&mut file));
    for length in [1, 2, 3, 7, 64, 300, 4_096, BLOCK] {
        assert_eq!(told(&read_in_blocks(&file, length).unwrap()), expected, "blocks of {length}");
    }
}

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#;

fn entry(id: &str, parent: &str, more: &str) -> String {
    format!(r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-31T09:30:00.000Z"{more}}}"#)
}

#[test]
fn block_size_does_not_change_the_facts_of_a_file() {
    let long = entry("long", "a", &format!(r#","text":"{}""#, "x".repeat(40_000)));
    let lines = [
        HEADER.to_string(),
        entry("a", "", ""),
        String::new(),
        entry("b", "a", r#","text":"\"\n""#),
        "no json".into(),
        entry("b", "a", ""),
        long,
        entry("d", "e", "").replace(':', "\t:"),
        r#"{"role":"user"}"#.into(),
        format!("  {}\r", entry("e", "d", "")),
        entry("f", "later", ""),
    ];
    let text = lines.join("\n");
    for end in ["", "\n", "\n\n", "\n  ", "\n{\"type\":\"mess"] {
        check(format!("{text}{end}").as_bytes());
        check(format!("\n \n{text}{end}").as_bytes());
    }
    check(&text.as_bytes()[HEADER.len() + 1..]);
}

#[test]
fn empty_files_and_partial_lines_yield_no_facts() {
    for bytes in ["", "\n", "  ", "{", HEADER] {
        check(bytes.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn random_files_yield_the_same_facts_in_any_blocks(
        lines in prop::collection::vec(
            prop_oneof![
                Just(HEADER.to_string()),
                ("[a-e]", "[a-f]", "[x\\\\n]{0,30}").prop_map(|(id, parent, text)| entry(&id, &parent, &format!(r#","t":"{text}""#))),
                "[a-e]".prop_map(|id| entry(&id, &id, "")),
                "[ {}\"a]{0,9}",
            ],
            0..12,
        ),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = lines.join("\n");
        check(&text.as_bytes()[..cut.index(text.len() + 1)]);
    }
}
