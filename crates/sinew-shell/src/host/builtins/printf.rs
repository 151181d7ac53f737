//! `printf` that ends for formats without arguments, and that supports times.

use std::ffi::CString;

use brush_core::CommandArg;
use parking_lot::Mutex;

/// Returns the arguments of the original builtin that print what bash's `printf` prints for `args`: a name joined to
/// `-v` is separated, a format without conversions is used once, `%(…)T` is already expanded, in the time zone `zone`
/// (a value of `TZ`).
pub(super) fn prepare(mut args: Vec<CommandArg>, zone: Option<&str>) -> Vec<CommandArg> {
    let joined = args.get(1).map(CommandArg::to_string);
    if let Some(name) = joined.as_deref().and_then(|word| word.strip_prefix("-v")).filter(|name| !name.is_empty()) {
        args.splice(1..2, [CommandArg::String("-v".into()), CommandArg::String(name.into())]);
    }
    let words: Vec<String> = args.iter().map(CommandArg::to_string).collect();
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += if word == "-v" { 2 } else { 1 };
        if word == "--" {
            break;
        }
    }
    let Some(format) = words.get(at) else { return args };
    if !format.replace("%%", "").contains('%') {
        args.truncate(at + 1);
    } else if format.contains(")T") {
        let (format, words) = with_times(format, &words[at + 1..], now(), zone);
        args.truncate(at);
        args.extend(std::iter::once(format).chain(words).map(CommandArg::String));
    }
    args
}

/// Returns the format with `%s` for every time, and the arguments with formatted times.
fn with_times(format: &str, words: &[String], now: i64, zone: Option<&str>) -> (String, Vec<String>) {
    let mut done = String::new();
    // For each argument of the format: the format of a time, or `None` for other arguments.
    let mut takes: Vec<Option<&str>> = Vec::new();
    let mut rest = format;
    while let Some(start) = rest.find('%') {
        done.push_str(&rest[..start]);
        rest = &rest[start..];
        let flags = 1 + rest[1..].find(|c: char| !"-+ #0123456789.*".contains(c)).unwrap_or(rest.len() - 1);
        takes.extend(rest[..flags].matches('*').map(|_| None));
        done.push_str(&rest[..flags]);
        rest = &rest[flags..];
        if let Some((time, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(")T")) {
            takes.push(Some(if time.is_empty() { "%X" } else { time }));
            done.push('s');
            rest = after;
        } else if let Some(kind) = rest.chars().next() {
            if kind != '%' {
                takes.push(None);
            }
            done.push(kind);
            rest = &rest[kind.len_utf8()..];
        }
    }
    done.push_str(rest);
    let count = words.len().div_ceil(takes.len().max(1)).max(1) * takes.len();
    let filled = (0..count).map_while(|at| match (takes[at % takes.len()], words.get(at)) {
        (None, word) => word.cloned(),
        // A missing argument and -1 mean now; -2 is the start of the shell, for which now is close enough.
        (Some(time), word) => {
            let seconds = word.and_then(|word| word.trim().parse().ok()).filter(|seconds| *seconds >= 0);
            Some(local(time, seconds.unwrap_or(now), zone))
        }
    });
    (done, filled.collect())
}

unsafe extern "C" {
    fn tzset();
}

/// Formats a time in a zone, or in the system's zone.
fn local(format: &str, seconds: i64, zone: Option<&str>) -> String {
    // The C library supports one zone at a time.
    static ZONE: Mutex<()> = Mutex::new(());
    let _one = ZONE.lock();
    // SAFETY: in this process only the calls below read the variable through the C library, and they hold the lock;
    // reads through the standard library hold its lock.
    unsafe {
        match zone {
            Some(zone) => std::env::set_var("TZ", zone),
            None => std::env::remove_var("TZ"),
        }
        tzset();
    }
    let Ok(format) = CString::new(format) else { return String::new() };
    let mut text = vec![0u8; 1024];
    // SAFETY: the first call fills the struct before the second reads it, the text has the given length, and the format
    // is zero-terminated.
    let len = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&seconds, &mut parts).is_null() {
            return String::new();
        }
        libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &parts)
    };
    text.truncate(len);
    String::from_utf8_lossy(&text).into_owned()
}

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
