//! Limits, order, streaming, cancellation, and files that cannot be searched.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use sinew_base::{CancelHandle, CancelToken, ErrorCode};
use sinew_pool::Pool;
use sinew_search::{GlobOptions, GlobPattern, GrepOptions, GrepResult, Mode, Rows, SkippedFiles, grep};
use sinew_walk::{FileType, ScanCache};

fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Searches, and checks that the result is the same with a callback, for which files are searched during the walk.
fn run(options: &GrepOptions) -> GrepResult {
    let (cache, pool, never) = (ScanCache::default(), Pool::new("test", 4), CancelToken::never());
    let result = grep(options, &cache, &pool, &never, None).unwrap();
    let mut take = |_: &Rows| ControlFlow::Continue(());
    assert_eq!(grep(options, &cache, &pool, &never, Some(&mut take)).unwrap(), result);
    result
}

/// Formats each row as `path:line:text`.
fn shown(result: &GrepResult) -> Vec<String> {
    result.rows().map(|row| format!("{}:{}:{}", row.path, row.line_number, row.line)).collect()
}

#[track_caller]
fn fails(options: &GrepOptions, code: ErrorCode, expect: &str) {
    let error = grep(options, &ScanCache::default(), &Pool::new("test", 2), &CancelToken::never(), None).unwrap_err();
    assert_eq!((error.code(), error.message()), (code, expect));
}

#[test]
fn rows_contain_the_position_of_the_match() {
    let folder = tree(&[("a", "hay\nä😀 x needle y\n".as_bytes())]);
    let result = run(&GrepOptions::new("needle", folder.path()));
    let row = result.rows().next().unwrap();
    assert_eq!((row.path, row.line_number, row.line), ("a", 2, "ä😀 x needle y"));
    assert_eq!((row.column, row.byte_offset), (6, 4 + 2 + 4 + 3));
    assert_eq!((result.total_matches, result.files_with_matches, result.files_searched), (1, 1, 1));
    assert_eq!((result.skipped, result.limit_reached, result.warnings.len()), (SkippedFiles::default(), false, 0));
}

#[test]
fn a_byte_offset_counts_the_byte_order_mark_of_utf_8() {
    let utf_16: Vec<u8> = "\u{FEFF}ä needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let long = [&b"\xEF\xBB\xBF"[..], &b"hay\n".repeat(500_000), b"needle\n"].concat();
    let folder = tree(&[
        ("bom", b"\xEF\xBB\xBFx needle\nneedle\n"),
        ("long", &long),
        ("plain", b"x needle\nneedle\n"),
        ("utf-16", &utf_16),
    ]);
    for multiline in [false, true] {
        let result = run(&GrepOptions { multiline, ..GrepOptions::new("needle", folder.path()) });
        let places: Vec<_> =
            result.rows().map(|row| (row.path, row.line_number, row.column, row.byte_offset)).collect();
        let expect = [
            ("bom", 1, 3, 5),
            ("bom", 2, 1, 12),
            ("long", 500_001, 1, 2_000_003),
            ("plain", 1, 3, 2),
            ("plain", 2, 1, 9),
            // The offset in the text as UTF-8, without its mark.
            ("utf-16", 1, 3, 3),
        ];
        assert_eq!(places, expect, "{multiline}");
    }
}

#[test]
fn a_searched_file_is_reported_by_the_given_path() {
    let folder = tree(&[("a.txt", b"needle\n")]);
    let path = folder.path().join("a.txt");
    let name = path.to_str().unwrap().replace(std::path::MAIN_SEPARATOR, "/");
    assert_eq!(shown(&run(&GrepOptions::new("needle", &path))), [format!("{name}:1:needle")]);
    // A file that is named explicitly is searched, regardless of the filters.
    let options =
        GrepOptions { glob: Some("*.rs".into()), file_type: Some("rust".into()), ..GrepOptions::new("needle", &path) };
    assert_eq!(shown(&run(&options)).len(), 1);
}

#[cfg(unix)]
#[test]
fn follows_a_link_only_as_the_root() {
    let folder = tree(&[("real/a", b"needle\n")]);
    for (link, target) in [("dir", "real"), ("file", "real/a")] {
        std::os::unix::fs::symlink(folder.path().join(target), folder.path().join(link)).unwrap();
        assert_eq!(run(&GrepOptions::new("needle", folder.path().join(link))).total_matches, 1, "{link}");
    }
    // Links below the root are not followed, so the file is found once.
    assert_eq!(shown(&run(&GrepOptions::new("needle", folder.path()))), ["real/a:1:needle"]);
}

#[test]
fn modes_list_and_count_files() {
    let folder = tree(&[("a", b"needle\nneedle\nhay needle\n"), ("b", b"hay\n"), ("c", b"needle\n")]);
    let count = run(&GrepOptions { mode: Mode::Count, context: Some(2), ..GrepOptions::new("needle", folder.path()) });
    let rows: Vec<_> = count.rows().map(|row| (row.path, row.line_number, row.line, row.match_count)).collect();
    assert_eq!(rows, [("a", 0, "", Some(3)), ("c", 0, "", Some(1))]);
    assert_eq!((count.total_matches, count.files_with_matches, count.files_searched), (4, 2, 3));
    let names =
        GrepOptions { mode: Mode::FilesWithMatches, max_count: Some(1), ..GrepOptions::new("needle", folder.path()) };
    let names = run(&names);
    let rows: Vec<_> = names.rows().map(|row| (row.path, row.line_number, row.match_count)).collect();
    assert_eq!(rows, [("a", 0, None)]);
    assert_eq!((names.total_matches, names.files_with_matches, names.limit_reached), (1, 1, true));
}

#[test]
fn limit_reached_means_that_there_are_more_rows() {
    let folder = tree(&[("a", b"needle\nneedle\n"), ("b", b"needle\n"), ("c", b"hay\n")]);
    let at_most = |max_count: u32| {
        let result = run(&GrepOptions { max_count: Some(max_count), ..GrepOptions::new("needle", folder.path()) });
        (result.rows().count(), result.total_matches, result.files_with_matches, result.limit_reached)
    };
    assert_eq!(at_most(0), (0, 0, 0, true));
    assert_eq!(at_most(1), (1, 1, 1, true));
    assert_eq!(at_most(2), (2, 2, 1, true));
    assert_eq!(at_most(3), (3, 3, 2, false));
    assert_eq!(at_most(u32::MAX), (3, 3, 2, false));
}

#[test]
fn a_limit_for_each_file_is_reached_only_where_a_file_has_more() {
    let folder = tree(&[("a", b"needle\nneedle\n"), ("b", b"hay\nneedle\nhay\n"), ("c", b"hay\n")]);
    let per_file = |most: u32, mode: Mode, context: u32| {
        let options = GrepOptions {
            max_count_per_file: Some(most),
            mode,
            context: Some(context),
            ..GrepOptions::new("needle", folder.path())
        };
        let result = run(&options);
        let multiline = run(&GrepOptions { multiline: true, ..options });
        assert_eq!(multiline.matches, result.matches);
        assert_eq!(multiline.limit_reached, result.limit_reached);
        (result.total_matches, result.limit_reached)
    };
    for context in 0..3 {
        assert_eq!(per_file(1, Mode::Content, context), (2, true));
        assert_eq!(per_file(2, Mode::Content, context), (3, false));
    }
    assert_eq!(per_file(1, Mode::Count, 0), (2, true));
    assert_eq!(per_file(2, Mode::Count, 0), (3, false));
    // Each file has one row, whatever the limit for its lines.
    assert_eq!(per_file(1, Mode::FilesWithMatches, 0), (2, false));
    assert_eq!(per_file(0, Mode::Content, 0), (0, false));
    let both =
        GrepOptions { max_count_per_file: Some(2), max_count: Some(3), ..GrepOptions::new("needle", folder.path()) };
    assert!(!run(&both).limit_reached);
    assert!(run(&GrepOptions { max_count: Some(2), ..both }).limit_reached);
}

/// The lines behind the limit are only searched for one more match.
#[test]
fn what_follows_the_limit_of_a_file_is_not_reported() {
    let late = [&b"needle\n"[..], &b"hay\n".repeat(500_000), b"\0\n"].concat();
    let folder = tree(&[("late", &late)]);
    for (mode, multiline) in [(Mode::Content, false), (Mode::Count, false), (Mode::Content, true)] {
        let options =
            GrepOptions { max_count_per_file: Some(1), mode, multiline, ..GrepOptions::new("needle", folder.path()) };
        let result = run(&options);
        assert_eq!((result.total_matches, result.limit_reached, result.skipped.binary), (1, false, 0), "{mode:?}");
        assert_eq!(result.warnings, [""; 0]);
    }
}

#[test]
fn a_limit_stops_the_search() {
    let files: Vec<(String, Vec<u8>)> = (0..2_000).map(|n| (format!("f{n:04}"), b"needle\n".to_vec())).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let folder = tree(&files);
    let result = run(&GrepOptions { max_count: Some(5), ..GrepOptions::new("needle", folder.path()) });
    assert_eq!((result.total_matches, result.files_searched, result.limit_reached), (5, 6, true));
}

/// Ignore files over 8 MiB cause warnings, which show which directories the walk has read.
#[test]
fn a_limit_stops_the_walk_and_drops_later_warnings() {
    let files: Vec<(String, Vec<u8>)> = (0..40).map(|n| (format!("d{n:02}/f"), b"needle\n".to_vec())).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let folder = tree(&files);
    for n in [3, 30] {
        let path = folder.path().join(format!("d{n:02}/.ignore"));
        std::fs::File::create(path).unwrap().set_len((8 << 20) + 1).unwrap();
    }
    let warned = |max_count: Option<u32>, threads: usize| {
        let options = GrepOptions { max_count, ..GrepOptions::new("needle", folder.path()) };
        let result =
            grep(&options, &ScanCache::default(), &Pool::new("test", threads), &CancelToken::never(), None).unwrap();
        (result.files_searched, result.warnings.len())
    };
    for threads in 1..5 {
        assert_eq!(warned(Some(2), threads), (3, 0));
        assert_eq!(warned(Some(5), threads), (6, 1));
        assert_eq!(warned(None, threads), (40, 2));
    }
}

/// The result must not depend on whether another thread reaches the end of the walk before the last file is searched.
#[test]
fn a_limit_in_the_last_file_ignores_everything_after_it() {
    let late = [b"hay\n".repeat(4 << 20), b"needle\n".to_vec()].concat();
    let folder = tree(&[("a/f", &late), ("b/g", b"hay\n")]);
    std::fs::File::create(folder.path().join("b/.ignore")).unwrap().set_len((8 << 20) + 1).unwrap();
    for threads in 1..4 {
        let pool = Pool::new("test", threads);
        for _ in 0..5 {
            let options =
                GrepOptions { max_count: Some(0), glob: Some("f".into()), ..GrepOptions::new("n\\w+e", folder.path()) };
            let result = grep(&options, &ScanCache::default(), &pool, &CancelToken::never(), None).unwrap();
            assert_eq!((result.files_searched, result.limit_reached, result.warnings.len()), (1, true, 0));
        }
    }
}

/// A thread that starts the second file before the first is searched may read more of it than necessary.
#[test]
fn reports_nothing_that_follows_the_last_row() {
    let late = [b"hay\n".repeat(4 << 20), b"needle\n".to_vec()].concat();
    let mut binary = b"needle\n".to_vec();
    binary.resize(70_000, b'x');
    binary.push(0);
    let folder = tree(&[("a", &late), ("b", &binary)]);
    for threads in 1..4 {
        let pool = Pool::new("test", threads);
        for _ in 0..5 {
            let options = GrepOptions { max_count: Some(1), ..GrepOptions::new("n\\w+e", folder.path()) };
            let result = grep(&options, &ScanCache::default(), &pool, &CancelToken::never(), None).unwrap();
            assert_eq!((result.files_searched, result.limit_reached), (2, true));
            assert_eq!((result.skipped, result.warnings), (SkippedFiles::default(), Vec::<String>::new()));
        }
    }
}

#[test]
fn a_cached_scan_and_a_walk_have_the_same_result() {
    let files: Vec<(String, Vec<u8>)> =
        (0..200).map(|n| (format!("{}/{}/f{n}", n % 3, n % 7), b"needle\nhay\n".repeat(n % 4))).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let folder = tree(&files);
    for (glob, max_count) in
        [(None, None), (Some("*1*".into()), None), (Some("!1/**".into()), Some(7)), (None, Some(90))]
    {
        let walked = GrepOptions { glob, max_count, ..GrepOptions::new("needle", folder.path()) };
        let kept = GrepOptions { cache: true, ..walked.clone() };
        let rows = run(&walked);
        assert_eq!(rows, run(&kept));
        assert!(rows.total_matches > 0);
    }
}

#[test]
fn overlapping_context_is_shown_once() {
    let folder = tree(&[("a", b"1\n2 needle\n3\n4 needle\n5\n6\n7\n")]);
    let result = run(&GrepOptions { context: Some(2), ..GrepOptions::new("needle", folder.path()) });
    let rows: Vec<_> = result
        .rows()
        .map(|row| {
            let numbers =
                |lines: &[sinew_search::ContextLine]| lines.iter().map(|line| line.line_number).collect::<Vec<_>>();
            (numbers(&row.before), row.line_number, numbers(&row.after))
        })
        .collect();
    assert_eq!(rows, [(vec![1], 2, vec![3]), (vec![], 4, vec![5, 6])]);
    let own = GrepOptions { context: Some(2), context_before: Some(0), ..GrepOptions::new("needle", folder.path()) };
    assert!(run(&own).rows().all(|row| row.before.is_empty() && !row.after.is_empty()));
}

#[test]
fn the_last_row_within_a_limit_keeps_its_context() {
    let folder = tree(&[("a", b"needle\nx\ny needle\nz\n")]);
    let options =
        GrepOptions { context: Some(3), max_count_per_file: Some(1), ..GrepOptions::new("needle", folder.path()) };
    let result = run(&options);
    let rows: Vec<_> = result.rows().collect();
    assert_eq!((rows.len(), rows[0].after.len(), rows[0].after[0].line), (1, 1, "x"));
    let options = GrepOptions { max_count: Some(1), max_count_per_file: None, ..options };
    let limited = run(&options);
    assert_eq!((limited.matches, limited.limit_reached), (result.matches, true));
}

#[test]
fn cuts_wide_lines_around_the_match() {
    let line = format!("{}needle{}", "x".repeat(100_000), "y".repeat(100_000));
    let folder = tree(&[("a", line.as_bytes())]);
    let result =
        run(&GrepOptions { max_columns: Some(50), context: Some(1), ..GrepOptions::new("needle", folder.path()) });
    let row = result.rows().next().unwrap();
    assert_eq!(row.line.chars().count(), 50);
    assert!(row.line.starts_with("...x") && row.line.ends_with("y...") && row.line.contains("needle"), "{}", row.line);
    assert_eq!((row.truncated, row.column), (true, 100_001));
}

#[test]
fn each_multiline_match_is_one_row() {
    let folder = tree(&[("a", b"fn a() {\n}\nfn b() {\n}\nfn c() {} fn d() {\n}\n")]);
    let options = GrepOptions { multiline: true, ..GrepOptions::new(r"fn \w\(\) \{[^}]*\}", folder.path()) };
    assert_eq!(shown(&run(&options)), ["a:1:fn a() {\n}", "a:3:fn b() {\n}", "a:5:fn c() {} fn d() {\n}"]);
}

#[test]
fn warns_about_binary_files_and_repaired_patterns() {
    let mut late = b"needle\n".repeat(20_000);
    late.extend(b"\0");
    let folder = tree(&[("binary", b"needle\0\n"), ("late", &late), ("text", b"hay\n")]);
    let result = run(&GrepOptions::new("needle", folder.path()));
    assert!(result.rows().all(|row| row.path == "late") && result.total_matches > 9_000);
    assert_eq!(result.warnings, ["\"late\" is binary: the search stopped at the NUL byte at 140000"]);
    assert_eq!((result.skipped.binary, result.files_searched), (2, 2));
    let named = run(&GrepOptions::new("needle", folder.path().join("binary")));
    assert_eq!((named.total_matches, named.warnings.len()), (1, 1));
    let repaired = run(&GrepOptions::new("${hay}", folder.path()));
    assert_eq!(
        repaired.warnings,
        ["pattern \"${hay}\" is not a valid regex; its braces were taken literally: \"$\\{hay}\""]
    );
}

#[test]
fn look_around_and_backreferences_are_searched_with_a_warning() {
    let long = [&b"x".repeat(40_000)[..], b"ab\nab\n"].concat();
    let folder = tree(&[("a", b"b\r\nab\r\nxx\r\n"), ("b", b"hay\n"), ("c", &long), ("d", b"ab\0")]);
    let result = run(&GrepOptions { context: Some(1), ..GrepOptions::new("(?<=a)b$", folder.path()) });
    let rows: Vec<_> = result.rows().map(|row| (row.path, row.line_number, row.column, row.after.len())).collect();
    assert_eq!(rows, [("a", 2, 2, 1), ("c", 2, 2, 0)]);
    assert_eq!((result.skipped.binary, result.skipped.too_large), (1, 1));
    assert_eq!(result.warnings.len(), 2, "{:?}", result.warnings);
    assert!(result.warnings[0].starts_with("pattern \"(?<=a)b$\" has look-around, "), "{:?}", result.warnings);
    assert!(result.warnings[1].starts_with("some lines of \"c\" were not searched (1): "), "{:?}", result.warnings);
    for (pattern, multiline, expect) in
        [(r"(\w)\1", false, vec!["a:3:xx"]), (r"(?<=b)\r\n(x)\1", true, vec!["a:2:ab\r\nxx"]), ("(?=X)", false, vec![])]
    {
        let options = GrepOptions { multiline, glob: Some("!c".into()), ..GrepOptions::new(pattern, folder.path()) };
        assert_eq!(shown(&run(&options)), expect, "{pattern}");
    }
    let ignoring =
        GrepOptions { ignore_case: true, mode: Mode::FilesWithMatches, ..GrepOptions::new("(?=X)", folder.path()) };
    assert_eq!(run(&ignoring).rows().map(|row| row.path).collect::<Vec<_>>(), ["a"]);
}

#[cfg(unix)]
#[test]
fn the_result_for_one_file_does_not_depend_on_another() {
    // Both files are read in chunks, because their NUL byte is after the first read.
    let long_line = [&b"x".repeat(200_000)[..], b"\0"].concat();
    let late = [&b"filler of a line\n".repeat(5_000)[..], b"needle\0late\n"].concat();
    let place = tree(&[("long", &long_line), ("z/late", &late)]);
    for mode in [Mode::Content, Mode::Count, Mode::FilesWithMatches] {
        let asked = |path| GrepOptions { mode, max_count_per_file: Some(2), ..GrepOptions::new("filler|xx", path) };
        // One thread, so that the second file is searched after the first.
        let pool = Pool::new("test", 1);
        let search = |path| {
            let found =
                grep(&asked(path), &ScanCache::default(), &pool, &CancelToken::never(), None).expect("it can be read");
            let rows = found.rows().filter(|row| row.path.ends_with("late")).map(|row| row.line.to_string());
            (rows.collect::<Vec<_>>(), found.warnings.iter().filter(|text| text.contains("late")).count())
        };
        assert_eq!(search(place.path().to_path_buf()), search(place.path().join("z")), "{mode:?}");
    }
}

#[test]
fn warns_about_files_too_large_for_a_multiline_search() {
    let folder = tree(&[]);
    let path = folder.path().join("hole");
    std::fs::File::create(&path).unwrap().set_len((1 << 30) + 1).unwrap();
    let result = run(&GrepOptions { multiline: true, ..GrepOptions::new("a\\nb", &path) });
    assert_eq!(result.skipped.too_large, 1);
    assert_eq!(result.warnings.len(), 1);
    assert!(result.warnings[0].contains("too large for a multi-line search"), "{:?}", result.warnings);
}

#[cfg(unix)]
#[test]
fn warns_about_unreadable_files() {
    // Unmapped memory is unreadable even for root.
    let path = std::path::Path::new("/proc/self/mem");
    if cfg!(target_os = "linux") {
        let result = run(&GrepOptions::new("needle", path));
        assert_eq!(result.skipped.unreadable, 1);
        assert_eq!(result.warnings.len(), 1, "{:?}", result.warnings);
        assert!(result.warnings[0].starts_with("failed to read \"/proc/self/mem\": "), "{:?}", result.warnings);
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_not_opened() {
    let folder = tree(&[("a", b"needle\n")]);
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    assert_eq!(shown(&run(&GrepOptions::new("needle", folder.path()))), ["a:1:needle"]);
    let message = format!("grep: \"{}\" is a pipe, a socket or a device: name a file or a folder", fifo.display());
    fails(&GrepOptions::new("needle", &fifo), ErrorCode::InvalidArgument, &message);
}

#[cfg(unix)]
#[test]
fn searches_files_whose_name_is_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tree(&[]);
    std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"a\xff\nb")), "needle\n").unwrap();
    assert_eq!(shown(&run(&GrepOptions::new("needle", folder.path()))), ["a\u{fffd}\nb:1:needle"]);
}

#[test]
fn reports_missing_paths_unknown_types_and_invalid_patterns() {
    let folder = tree(&[]);
    let missing = folder.path().join("missing");
    // The system's own message.
    let why = if cfg!(windows) { "File not found." } else { "No such file or directory" };
    let message = format!("grep: failed to read \"{}\": {why}", missing.display());
    fails(&GrepOptions::new("x", &missing), ErrorCode::NotFound, &message);
    let options = GrepOptions { file_type: Some("rs".into()), ..GrepOptions::new("x", folder.path()) };
    fails(&options, ErrorCode::InvalidArgument, "grep: unknown type \"rs\"; similar types: rust, cs, hs, js, ps");
    let message = "grep: invalid regex \"a(\": unclosed group at character 2 ('(') (escape it with \\, or set literal: true to search the text as it is)";
    fails(&GrepOptions::new("a(", folder.path()), ErrorCode::InvalidArgument, message);
}

#[test]
fn a_glob_with_a_leading_dot_finds_hidden_files() {
    let folder = tree(&[(".ci/.x/a", b"needle\n"), (".b", b"needle\n"), ("c", b"needle\n")]);
    let paths = |hidden, glob: &str| {
        let options = GrepOptions { hidden, glob: Some(glob.into()), ..GrepOptions::new("needle", folder.path()) };
        run(&options).rows().map(|row| row.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(paths(false, "*"), ["c"]);
    assert_eq!(paths(false, ".ci/**,c"), ["c"]);
    assert_eq!(paths(false, ".ci/.x/*"), [".ci/.x/a"]);
    assert_eq!(paths(true, "*"), [".b", ".ci/.x/a", "c"]);
}

#[test]
fn globs_are_those_of_glob() {
    let names = ["[id].tsx", "a", "b", "c d", "d/{rule}", "e,f", "g/[id].tsx", "i", "rule", "x{", "{a,b}"];
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, &b"needle\n"[..])).collect();
    let folder = tree(&files);
    let items = |items: &[&str]| GlobPattern::Items(items.iter().map(ToString::to_string).collect());
    let check = |glob: GlobPattern, expect: &[&str]| {
        let by_name = GlobOptions {
            hidden: true,
            file_type: Some(FileType::File),
            ..GlobOptions::new(folder.path(), glob.clone())
        };
        let found = sinew_search::glob(&by_name, &ScanCache::default(), &Pool::new("test", 2), &CancelToken::never());
        let found: Vec<String> = found.unwrap().matches().map(|found| found.path.to_string()).collect();
        assert_eq!(found, expect, "glob: {glob:?}");
        let options = GrepOptions { glob: Some(glob.clone()), ..GrepOptions::new("needle", folder.path()) };
        assert_eq!(run(&options).rows().map(|row| row.path.to_string()).collect::<Vec<_>>(), expect, "grep: {glob:?}");
    };
    check("{rule}".into(), &["d/{rule}"]);
    check("{a,b}".into(), &["a", "b", "{a,b}"]);
    check("\\{a,b\\}".into(), &["{a,b}"]);
    check("\\{a,b\\},i".into(), &["i", "{a,b}"]);
    check("[id].tsx".into(), &["[id].tsx", "g/[id].tsx"]);
    check("g/[id].tsx".into(), &["g/[id].tsx"]);
    check("a,b".into(), &["a", "b"]);
    check(items(&["e,f", "c d"]), &["c d", "e,f"]);
    check(items(&["x{", "{rule}"]), &["d/{rule}", "x{"]);
    check(items(&["*", "!*.tsx", "!{a,b}"]), &["c d", "d/{rule}", "e,f", "i", "rule", "x{"]);
    check(items(&[]), &[]);
}

#[test]
fn skips_node_modules_unless_named() {
    let folder = tree(&[("node_modules/m/a", b"needle\n"), ("b", b"needle\n")]);
    assert_eq!(run(&GrepOptions::new("needle", folder.path())).total_matches, 1);
    let by_path = GrepOptions::new("needle", folder.path().join("node_modules"));
    assert_eq!(shown(&run(&by_path)), ["m/a:1:needle"]);
    let by_glob = GrepOptions { glob: Some("node_modules/**".into()), ..GrepOptions::new("needle", folder.path()) };
    assert_eq!(shown(&run(&by_glob)), ["node_modules/m/a:1:needle"]);
}

#[test]
fn streams_rows_in_order_until_the_callback_stops() {
    let files: Vec<(String, Vec<u8>)> = (0..500).map(|n| (format!("f{n:03}"), b"needle\nneedle\n".to_vec())).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let folder = tree(&files);
    let (cache, pool) = (ScanCache::default(), Pool::new("test", 4));
    let options = GrepOptions::new("needle", folder.path());
    let mut streamed = Vec::new();
    let mut take = |rows: &Rows| {
        streamed.extend(rows.iter().map(|row| format!("{}:{}:{}", row.path, row.line_number, row.line)));
        ControlFlow::Continue(())
    };
    let result = grep(&options, &cache, &pool, &CancelToken::never(), Some(&mut take)).unwrap();
    assert_eq!(streamed, shown(&result));
    assert_eq!(streamed.len(), 1_000);

    let mut pieces = 0;
    let mut stop = |_: &Rows| {
        pieces += 1;
        ControlFlow::Break(())
    };
    let result = grep(&options, &cache, &pool, &CancelToken::never(), Some(&mut stop)).unwrap();
    assert_eq!(pieces, 1);
    assert!(result.total_matches < 1_000);
}

#[test]
fn cancelling_ends_the_search() {
    let files: Vec<(String, Vec<u8>)> = (0..300).map(|n| (format!("f{n:03}"), b"needle\n".repeat(3))).collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    let folder = tree(&files);
    let (cache, pool) = (ScanCache::default(), Pool::new("test", 4));
    let options = GrepOptions::new("needle", folder.path());
    let (cancel_handle, cancel) = CancelHandle::new();
    let calls = AtomicUsize::new(0);
    let mut take = |_: &Rows| {
        calls.fetch_add(1, Ordering::Relaxed);
        cancel_handle.cancel();
        ControlFlow::Continue(())
    };
    let error = grep(&options, &cache, &pool, &cancel, Some(&mut take)).unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::Aborted, "Aborted: Signal"));
    assert_eq!(calls.into_inner(), 1);
    let error =
        grep(&options, &cache, &pool, &CancelToken::never().with_timeout(std::time::Duration::ZERO), None).unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::TimedOut, "Aborted: Timeout"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn limits_cut_the_ordered_whole(
        counts in prop::collection::vec(0usize..5, 1..60),
        offset in 0u32..20,
        max_count in 0u32..30,
        per_file in prop::option::of(0u32..4),
        mode in prop_oneof![Just(Mode::Content), Just(Mode::Count), Just(Mode::FilesWithMatches)],
        context in 0u32..2,
        threads in 1usize..5,
    ) {
        let files: Vec<(String, Vec<u8>)> =
            counts.iter().enumerate().map(|(n, count)| (format!("d{}/f{n}", n % 3), b"hay\nneedle\n".repeat(*count))).collect();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
        let folder = tree(&files);
        let whole = GrepOptions { mode, context: Some(context), max_count_per_file: per_file, ..GrepOptions::new("needle", folder.path()) };
        let all = run(&whole);
        let rows: Vec<_> = all.rows().skip(offset as usize).take(max_count as usize).collect();
        let part = GrepOptions { offset, max_count: Some(max_count), ..whole.clone() };
        let search = |threads| grep(&part, &ScanCache::default(), &Pool::new("test", threads), &CancelToken::never(), None).unwrap();
        let cut = search(threads);
        prop_assert_eq!(cut.rows().collect::<Vec<_>>(), rows);
        let longest = counts.iter().copied().max().unwrap_or(0);
        let cut_file = mode != Mode::FilesWithMatches && per_file.is_some_and(|most| most > 0 && longest > most as usize);
        prop_assert_eq!(all.limit_reached, cut_file);
        prop_assert_eq!(cut.limit_reached, cut_file || all.rows().count() > (offset + max_count) as usize);
        prop_assert_eq!(&cut, &search(1));
    }
}
