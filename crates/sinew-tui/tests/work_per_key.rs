//! Tests that the work for a key or an event does not grow with the session, and that the work for an answer is linear.
//! Work is measured in allocations, which do not depend on the speed of the machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use sinew_tui::theme::Theme;
use sinew_tui::{
    BlockId, Caret, Chrome, Editor, EditorStyle, MarkdownBlock, Screen, ScreenOptions, Size, Style, TextBlock,
};

thread_local! {
    static COUNTED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Counts the allocations of each thread, and their bytes.
struct Counter;

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNTED.with(|counted| {
            let (calls, bytes) = counted.get();
            counted.set((calls + 1, bytes + layout.size()));
        });
        // SAFETY: the caller guarantees what the allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees what the allocator requires.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTER: Counter = Counter;

struct Session {
    screen: Screen,
    editor: Editor,
    answer: BlockId,
}

impl Session {
    /// Creates a session with `rows` complete rows and a streaming answer.
    fn of(rows: usize) -> Session {
        let screen = Screen::new(Size::new(80, 24), ScreenOptions::default(), Arc::new(Theme::default()));
        let mut screen = screen;
        let answer = screen.push(TextBlock::new("", Style::PLAIN));
        let mut session = Session { screen, editor: Editor::new(), answer };
        for at in 0..rows / 10 {
            let text: String = (0..9).map(|line| format!("row {at} {line} of the session\n")).collect();
            session.screen.push(TextBlock::new(&text, Style::PLAIN));
            session.paint();
        }
        let answer = session.screen.push(MarkdownBlock::streaming());
        session.screen.block::<MarkdownBlock>(answer).expect("it is open").push("So it *begins*");
        session.answer = answer;
        session.paint();
        session
    }

    fn paint(&mut self) -> usize {
        let shown = self.editor.rows(80, 8, &EditorStyle::default());
        self.screen.set_chrome(Chrome {
            editor: shown.rows,
            caret: Caret { row: shown.caret.0, column: shown.caret.1, ..Caret::default() },
            ..Chrome::default()
        });
        let mut bytes = 0;
        loop {
            let frame = self.screen.paint();
            bytes += frame.bytes.len();
            if !frame.more {
                return bytes;
            }
        }
    }

    /// Returns the allocations and allocated bytes of one key, and the number of bytes written.
    fn key(&mut self) -> (usize, usize, usize) {
        let (calls, bytes) = COUNTED.get();
        self.editor.insert("x");
        let written = self.paint();
        let now = COUNTED.get();
        (now.0 - calls, now.1 - bytes, written)
    }
}

#[test]
fn work_per_key_does_not_depend_on_the_row_count() {
    let work = [1_000, 100_000].map(|rows| {
        let mut session = Session::of(rows);
        session.key();
        session.key()
    });
    let [short, long] = work;
    assert_eq!(short.2, 1, "a letter at the end of the line is one byte");
    assert_eq!(long.2, 1);
    let within = |short: usize, long: usize| long * 100 <= short * 105;
    assert!(within(short.0, long.0) && within(short.1, long.1), "{short:?} and {long:?}");
}

impl Session {
    /// Returns the allocations and allocated bytes of some events: a delta, a new block, another theme, a new size.
    fn events(&mut self) -> (usize, usize) {
        let begun = COUNTED.get();
        self.screen.block::<MarkdownBlock>(self.answer).expect("it is open").push(" and goes on\n\nanother paragraph");
        self.paint();
        self.screen.push(TextBlock::new("a call of a tool", Style::PLAIN));
        self.paint();
        self.screen.set_theme(Arc::new(Theme::light()));
        self.paint();
        self.screen.resize(Size::new(70, 20));
        self.screen.ask_place();
        self.screen.place(20, 3);
        self.paint();
        let now = COUNTED.get();
        (now.0 - begun.0, now.1 - begun.1)
    }
}

#[test]
fn work_per_event_does_not_depend_on_the_row_count() {
    let [short, long] = [1_000, 100_000].map(|rows| Session::of(rows).events());
    let within = |short: usize, long: usize| long * 100 <= short * 105;
    assert!(within(short.0, long.0) && within(short.1, long.1), "{short:?} and {long:?}");
}

/// Streams an answer of about `bytes` bytes, painting after each 4 KB, and returns the number of allocated bytes.
fn streamed(part: &str, bytes: usize) -> usize {
    let mut session = Session::of(100);
    let begun = COUNTED.get().1;
    let mut pushed = 0;
    while pushed < bytes {
        let piece = part.repeat((4 << 10) / part.len() + 1);
        pushed += piece.len();
        session.screen.block::<MarkdownBlock>(session.answer).expect("it is open").push(&piece);
        session.paint();
    }
    session.screen.block::<MarkdownBlock>(session.answer).expect("it is open").finish();
    session.paint();
    COUNTED.get().1 - begun
}

#[test]
fn work_for_a_long_answer_is_linear() {
    for part in [
        "A paragraph with *some* words in it.\n\n",
        "one paragraph that never ends and has no line end at all ",
        "lines of one paragraph\n",
        "```rust\nlet x = 1;\nfn f() {}\n```\n\ntext\n\n",
    ] {
        let [short, long] = [256 << 10, 1 << 20].map(|bytes| streamed(part, bytes));
        assert!(long < short * 5, "{part:?}: {short} bytes for 256 KB, {long} for 1 MB");
    }
}
