//! Owns the selection: a thread that answers requests until another program owns it.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};
use sinew_base::{Error, ErrorCode, Result};
use x11rb::connection::{Connection as _, RequestConnection};
use x11rb::errors::{ConnectionError, ReplyOrIdError};
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt, EventMask, PropMode, Property, SELECTION_NOTIFY_EVENT,
    SelectionNotifyEvent, SelectionRequestEvent, Window,
};
use x11rb::wrapper::ConnectionExt as _;

use super::connection::Connection;

// The chunk size of large texts.
const CHUNK_SIZE: usize = 256 * 1024;

// The maximum number of concurrent transfers of large texts; the oldest one is dropped.
const MAX_TRANSFERS: usize = 64;

/// The thread that owns the selection. It ends when another program owns it, the server is gone or this value is
/// dropped.
#[derive(Debug)]
pub(super) struct Owner {
    end: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Owner {
    /// Acquires the selection, with `text` as its content from now on.
    pub(super) fn start(connection: Connection, text: Vec<u8>) -> Result<Owner> {
        let failed =
            |cause: &dyn std::fmt::Display| Error::new(ErrorCode::Io, format!("clipboard: failed to write: {cause}"));
        take_over(&connection).map_err(|error| failed(&error))?;
        let end = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|error| failed(&error))?;
        let end = Arc::new(end);
        let serving = Server { connection, text, transfers: VecDeque::new() };
        let ended = Arc::clone(&end);
        let thread = std::thread::Builder::new()
            .name("sinew-clipboard".to_string())
            .spawn(move || {
                // If the server is gone, the clipboard is gone too, and there is no receiver for the error.
                let _ = serving.serve(&ended);
            })
            .map_err(|error| failed(&error))?;
        Ok(Owner { end, thread: Some(thread) })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // This only fails if it is already readable.
        let _ = rustix::io::write(self.end.as_fd(), &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic has ended the thread, which is the awaited result.
            let _ = thread.join();
        }
    }
}

fn take_over(connection: &Connection) -> Result<(), ReplyOrIdError> {
    let Connection { x, atoms, window, .. } = connection;
    connection.extend_deadline();
    x.set_selection_owner(*window, atoms.CLIPBOARD, x11rb::CURRENT_TIME)?.check()?;
    if x.get_selection_owner(atoms.CLIPBOARD)?.reply()?.owner != *window {
        return Err(ConnectionError::UnknownError.into());
    }
    Ok(())
}

/// A requestor that reads the text in chunks.
struct Transfer {
    requestor: Window,
    property: Atom,
    target: Atom,
    sent: usize,
    until: Instant,
}

struct Server {
    connection: Connection,
    text: Vec<u8>,
    transfers: VecDeque<Transfer>,
}

impl Server {
    fn serve(mut self, end: &OwnedFd) -> Result<(), ReplyOrIdError> {
        loop {
            self.connection.extend_deadline();
            self.connection.x.flush()?;
            while let Some(event) = self.connection.x.poll_for_event()? {
                self.connection.extend_deadline();
                match event {
                    Event::SelectionClear(clear) if clear.selection == self.connection.atoms.CLIPBOARD => return Ok(()),
                    Event::SelectionRequest(request) => self.answer(&request)?,
                    Event::PropertyNotify(change) if change.state == Property::DELETE => {
                        self.go_on(change.window, change.atom)?;
                    }
                    // Errors come from windows that are gone and need no answer.
                    _ => {}
                }
            }
            let now = Instant::now();
            self.transfers.retain(|transfer| transfer.until > now);
            self.connection.x.flush()?;
            let until = self.transfers.iter().map(|transfer| transfer.until).min();
            if self.connection.sleep(Some(end), until).map_err(ConnectionError::from)? {
                return Ok(());
            }
        }
    }

    fn answer(&mut self, request: &SelectionRequestEvent) -> Result<(), ReplyOrIdError> {
        // Old programs omit the property and mean the name of the target.
        let asked = request.property;
        let property = if asked == x11rb::NONE { request.target } else { asked };
        let done = self.offer(request.requestor, property, request.target)?;
        let answer = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: request.time,
            requestor: request.requestor,
            selection: request.selection,
            target: request.target,
            property: if done { property } else { x11rb::NONE },
        };
        self.connection.x.send_event(false, request.requestor, EventMask::NO_EVENT, answer)?;
        Ok(())
    }

    /// Writes the text, or the requested information about it, to the requestor's window. Returns false for an
    /// unsupported target.
    fn offer(&mut self, requestor: Window, property: Atom, target: Atom) -> Result<bool, ReplyOrIdError> {
        let Connection { x, atoms, .. } = &self.connection;
        let texts = [atoms.UTF8_STRING, atoms.TEXT_UTF8, atoms.TEXT_PLAIN, atoms.TEXT];
        if target == atoms.TARGETS {
            let targets: Vec<Atom> = [atoms.TARGETS].into_iter().chain(texts).collect();
            x.change_property32(PropMode::REPLACE, requestor, property, AtomEnum::ATOM, &targets)?;
        } else if !texts.contains(&target) {
            return Ok(false);
        } else if self.text.len() <= CHUNK_SIZE.min(x.maximum_request_bytes() / 2) {
            let kind = if target == atoms.TEXT { atoms.UTF8_STRING } else { target };
            x.change_property8(PropMode::REPLACE, requestor, property, kind, &self.text)?;
        } else {
            let wanted = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
            x.change_window_attributes(requestor, &wanted)?;
            let least = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
            x.change_property32(PropMode::REPLACE, requestor, property, atoms.INCR, &[least])?;
            let until = Instant::now() + self.connection.timeout;
            self.transfers.retain(|other| (other.requestor, other.property) != (requestor, property));
            if self.transfers.len() == MAX_TRANSFERS {
                self.transfers.pop_front();
            }
            let target = if target == atoms.TEXT { atoms.UTF8_STRING } else { target };
            self.transfers.push_back(Transfer { requestor, property, target, sent: 0, until });
        }
        Ok(true)
    }

    /// Sends the next chunk after the previous one was read. An empty one is the end.
    fn go_on(&mut self, window: Window, atom: Atom) -> Result<(), ReplyOrIdError> {
        let at = self.transfers.iter().position(|transfer| (transfer.requestor, transfer.property) == (window, atom));
        let Some(at) = at else { return Ok(()) };
        let Connection { x, timeout, .. } = &self.connection;
        let piece = CHUNK_SIZE.min(x.maximum_request_bytes() / 2);
        let transfer = &mut self.transfers[at];
        let rest = &self.text[transfer.sent..];
        let part = &rest[..rest.len().min(piece)];
        x.change_property8(PropMode::REPLACE, window, atom, transfer.target, part)?;
        transfer.sent += part.len();
        transfer.until = Instant::now() + *timeout;
        if part.is_empty() {
            self.transfers.remove(at);
        }
        Ok(())
    }
}
