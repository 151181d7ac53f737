//! Tests the clipboard with a real X server and `xclip`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sinew_base::ErrorCode;
use sinew_clipboard::{Clipboard, ClipboardOptions};

const LONG: Duration = Duration::from_secs(120);

/// A separate X server, on a display that it chooses.
struct Server {
    child: Child,
    display: String,
}

impl Server {
    fn start() -> Server {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "64x64x24", "-nolisten", "tcp", "-noreset"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("Xvfb is on PATH; install the package xvfb to run this test");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let display = format!(":{}", line.trim());
        assert!(display.len() > 1, "Xvfb did not come up");
        Server { child, display }
    }

    fn clipboard(&self, timeout: Duration) -> Clipboard {
        Clipboard::new(ClipboardOptions { display: Some(self.display.clone()), timeout })
    }

    fn xclip(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("xclip");
        command.args(["-selection", "clipboard"]).args(arguments).env("DISPLAY", &self.display);
        command.stderr(Stdio::null());
        command
    }

    /// Makes `xclip` the owner of the selection, and waits until its data can be read.
    fn offer(&self, target: &str, bytes: &[u8]) {
        let mut command = self.xclip(&["-i", "-t", target]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("xclip is on PATH");
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        assert!(child.wait().unwrap().success());
        // `xclip` forks into the background before it owns the selection.
        let until = Instant::now() + LONG;
        while self.xclip(&["-o", "-t", target]).output().expect("xclip is on PATH").stdout != bytes {
            assert!(Instant::now() < until, "xclip offers {target}");
        }
    }

    fn taken(&self) -> Vec<u8> {
        self.xclip(&["-o", "-t", "UTF8_STRING"]).output().expect("xclip is on PATH").stdout
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn large() -> String {
    "漢字 and more\n".repeat(400_000)
}

#[test]
fn text_of_any_size_round_trips() {
    let server = Server::start();
    let clipboard = server.clipboard(LONG);
    assert_eq!(clipboard.read_text(), Ok(None));
    for text in ["hällo\n漢字 👩‍🚀", "", "a\0b", &large()] {
        clipboard.write_text(text).unwrap();
        assert!(server.taken() == text.as_bytes(), "xclip reads {} bytes", text.len());
        assert!(clipboard.read_text().unwrap().as_deref() == Some(text), "we read {} bytes", text.len());
    }
    for text in ["from the other side ✓", &large()] {
        server.offer("UTF8_STRING", text.as_bytes());
        assert!(clipboard.read_text().unwrap().as_deref() == Some(text), "we read {} bytes", text.len());
    }
}

#[test]
fn reads_latin_1_from_old_programs() {
    let server = Server::start();
    server.offer("STRING", b"caf\xe9");
    let text = server.clipboard(LONG).read_text().unwrap();
    assert_eq!(text.as_deref(), Some("café"));
}

#[test]
fn reads_text_that_is_only_offered_by_its_media_type() {
    let server = Server::start();
    let clipboard = server.clipboard(LONG);
    for (target, bytes, text) in [
        ("text/plain;charset=utf-8", "hällo ✓".as_bytes(), "hällo ✓"),
        ("text/plain", "hällo ✓".as_bytes(), "hällo ✓"),
        ("text/plain", b"caf\xe9", "café"),
        ("text/plain;charset=UTF-8", "hällo ✓".as_bytes(), "hällo ✓"),
        ("Text/Plain; Charset=utf-8", "hällo ✓".as_bytes(), "hällo ✓"),
        ("text/plain;charset=\"utf-8\"", "hällo ✓".as_bytes(), "hällo ✓"),
        ("text/plain;charset=iso-8859-1", b"caf\xe9", "café"),
        ("TEXT", "hällo ✓".as_bytes(), "hällo ✓"),
    ] {
        server.offer(target, bytes);
        assert_eq!(clipboard.read_text().unwrap().as_deref(), Some(text), "{target}");
        assert_eq!(clipboard.read_image(), Ok(None));
    }
}

#[test]
fn images_of_other_formats_become_png() {
    use image::{DynamicImage, ImageFormat, RgbImage};
    let server = Server::start();
    let clipboard = server.clipboard(LONG);
    let picture = DynamicImage::from(RgbImage::from_fn(9, 7, |x, y| image::Rgb([x as u8 * 20, y as u8 * 30, 200])));
    let tiff = b"II*\0\x08\0\0\0\x09\0\0\x01\x03\0\x01\0\0\0\x02\0\0\0\x01\x01\x03\0\x01\0\0\0\x01\0\0\0\
        \x02\x01\x03\0\x01\0\0\0\x08\0\0\0\x03\x01\x03\0\x01\0\0\0\x01\0\0\0\x06\x01\x03\0\x01\0\0\0\x01\0\0\0\
        \x11\x01\x04\0\x01\0\0\0\x7a\0\0\0\x15\x01\x03\0\x01\0\0\0\x01\0\0\0\x16\x01\x03\0\x01\0\0\0\x01\0\0\0\
        \x17\x01\x04\0\x01\0\0\0\x02\0\0\0\0\0\0\0\x10\xf0";
    let encoded = |format| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    };
    for (target, bytes, is_exact) in [
        ("image/bmp", encoded(ImageFormat::Bmp), true),
        ("image/x-bmp", encoded(ImageFormat::Bmp), true),
        ("image/x-MS-bmp", encoded(ImageFormat::Bmp), true),
        ("image/webp", encoded(ImageFormat::WebP), true),
        ("image/x-ms-bmp", encoded(ImageFormat::Bmp), true),
        ("image/x-win-bitmap", encoded(ImageFormat::Bmp), true),
        ("IMAGE/BMP", encoded(ImageFormat::Bmp), true),
        ("image/x-png", encoded(ImageFormat::Png), true),
        ("image/png", encoded(ImageFormat::Bmp), true),
        ("image/png", encoded(ImageFormat::Jpeg), false),
        ("image/jpeg", encoded(ImageFormat::Jpeg), false),
        ("image/pjpeg", encoded(ImageFormat::Jpeg), false),
        ("image/gif", encoded(ImageFormat::Gif), false),
    ] {
        server.offer(target, &bytes);
        let png = clipboard.read_image().unwrap().expect(target);
        let read = image::load_from_memory_with_format(&png, ImageFormat::Png).unwrap();
        assert_eq!((read.width(), read.height()), (9, 7), "{target}");
        assert!(!is_exact || read.to_rgb8() == picture.to_rgb8(), "{target}");
    }
    for target in ["image/tiff", "image/tif"] {
        server.offer(target, tiff);
        let png = clipboard.read_image().unwrap().unwrap();
        assert_eq!(image::load_from_memory(&png).unwrap().to_luma8().into_raw(), [0x10, 0xf0]);
    }
    server.offer("image/bmp", b"no picture");
    let error = clipboard.read_image().unwrap_err();
    assert!(error.message().contains("image/bmp"), "{error}");
}

#[test]
fn an_image_is_read_as_png_and_text_is_not_an_image() {
    let server = Server::start();
    let clipboard = server.clipboard(LONG);
    let picture = [b"\x89PNG\r\n\x1a\n".as_slice(), &[7; 2_000_000]].concat();
    assert_eq!(clipboard.read_image(), Ok(None));
    server.offer("image/png", &picture);
    assert!(clipboard.read_image().unwrap() == Some(picture));
    assert_eq!(clipboard.read_text(), Ok(None));
    server.offer("image/png", b"GIF89a");
    assert_eq!(clipboard.read_image().unwrap_err().code(), ErrorCode::InvalidData);
    clipboard.write_text("text").unwrap();
    assert_eq!(clipboard.read_image(), Ok(None));
}

#[test]
fn many_readers_are_served_at_once() {
    let server = Server::start();
    let clipboard = server.clipboard(LONG);
    let text = large();
    clipboard.write_text(&text).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(server.clipboard(LONG).read_text().unwrap().as_deref() == Some(text.as_str())));
        }
    });
}

#[test]
fn without_a_display_reads_are_empty_and_writes_fail() {
    for display in [None, Some(String::new())] {
        let clipboard = Clipboard::new(ClipboardOptions { display, ..ClipboardOptions::default() });
        assert_eq!(clipboard.read_text(), Ok(None));
        assert_eq!(clipboard.read_image(), Ok(None));
        assert_eq!(clipboard.write_text("x").unwrap_err().code(), ErrorCode::Unsupported);
    }
}

#[test]
fn a_missing_display_is_an_error_that_names_it() {
    for display in [":64999", ":4999", "nonsense", "127.0.0.1:1", ":", "a:b:c"] {
        let options = ClipboardOptions { display: Some(display.to_string()), ..ClipboardOptions::default() };
        let error = Clipboard::new(options).read_text().unwrap_err();
        assert!(error.message().contains(&format!("{display:?}")), "{error}");
    }
}

#[test]
fn a_silent_server_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = listener.local_addr().unwrap().port().checked_sub(6000).unwrap();
    let display = Some(format!("127.0.0.1:{number}"));
    let clipboard = Clipboard::new(ClipboardOptions { display, timeout: Duration::from_millis(50) });
    assert!(clipboard.read_text().unwrap_err().message().contains("failed to reach the display"));
    assert!(clipboard.write_text("x").is_err());
}

#[test]
fn a_silent_owner_is_an_error() {
    let server = Server::start();
    let mut command = server.xclip(&["-i", "-quiet"]);
    let mut owner = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("xclip is on PATH");
    owner.stdin.take().unwrap().write_all(b"text").unwrap();
    // Once the selection can be read, it has an owner.
    let patient = server.clipboard(LONG);
    while patient.read_text().unwrap().is_none() {}
    let pid = rustix::process::Pid::from_child(&owner);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let error = server.clipboard(Duration::from_secs(1)).read_text().unwrap_err();
    assert_eq!(error.code(), ErrorCode::TimedOut, "{error}");
    owner.kill().unwrap();
    owner.wait().unwrap();
}

#[test]
fn a_dying_server_does_not_hang_the_owner() {
    let mut server = Server::start();
    let clipboard = server.clipboard(LONG);
    clipboard.write_text("text").unwrap();
    server.stop();
    assert!(clipboard.read_text().is_err());
    assert!(clipboard.write_text("again").is_err());
    // Dropping it waits for the thread that owned the selection.
    drop(clipboard);
}

#[test]
fn dropping_the_clipboard_releases_the_selection() {
    let server = Server::start();
    let clipboard = server.clipboard(LONG);
    clipboard.write_text("text").unwrap();
    drop(clipboard);
    assert_eq!(server.clipboard(LONG).read_text(), Ok(None));
}
