//! Requests the selection from its owner.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use sinew_base::{Error, ErrorCode, Result};
use x11rb::connection::Connection as _;
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt, GetPropertyReply, Property};

use super::connection::Connection;
use crate::MAX_BYTES;

// The interval at which a silent owner is checked.
const OWNER_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The data that the owner of the clipboard sent.
pub(super) struct SelectionData {
    /// The format, which may differ from the requested one.
    pub(super) kind: Atom,
    pub(super) bytes: Vec<u8>,
}

/// Returns the selection as `target`; `None` if it has no owner or the owner does not support the format.
pub(super) fn selection(connection: &Connection, target: Atom) -> Result<Option<SelectionData>> {
    ask(connection, target).map_err(explained)
}

fn explained(failure: Failure) -> Error {
    match failure {
        Failure::Large => Error::new(
            ErrorCode::LimitExceeded,
            format!("clipboard: the selection is larger than {} MiB", MAX_BYTES / 1024 / 1024),
        ),
        Failure::Lost(ConnectionError::IoError(error)) if error.kind() == ErrorKind::TimedOut => {
            Error::new(ErrorCode::TimedOut, "clipboard: the program that owns the selection does not answer")
        }
        Failure::Lost(error) => Error::new(ErrorCode::Io, format!("clipboard: lost the display: {error}")),
        Failure::Refused(error) => Error::new(ErrorCode::Io, format!("clipboard: the display refused: {error}")),
    }
}

/// The maximum number of formats that are read.
const MAX_TARGETS: usize = 1024;

/// Returns the formats that the owner of the selection offers, with their names; `None` if it does not list them.
pub(super) fn targets(connection: &Connection) -> Result<Option<Vec<(Atom, String)>>> {
    let Some(list) = selection(connection, connection.atoms.TARGETS)? else { return Ok(None) };
    // Some owners send the list in the format of its name.
    if list.kind != u32::from(AtomEnum::ATOM) && list.kind != connection.atoms.TARGETS {
        return Ok(None);
    }
    // The numbers are in the byte order of the connection, which is that of this machine.
    let (atoms, _) = list.bytes.as_chunks::<4>();
    let atoms: Vec<Atom> = atoms.iter().take(MAX_TARGETS).map(|bytes| Atom::from_ne_bytes(*bytes)).collect();
    Ok(Some(names(connection, &atoms)?))
}

/// Returns the atoms that exist with their names.
pub(super) fn names(connection: &Connection, atoms: &[Atom]) -> Result<Vec<(Atom, String)>> {
    let lost = |error| explained(Failure::Lost(error));
    connection.extend_deadline();
    // All requests are sent before the first answer is read.
    let requests = atoms.iter().map(|atom| connection.x.get_atom_name(*atom)).collect::<Result<Vec<_>, _>>();
    let mut names = Vec::new();
    for (atom, request) in atoms.iter().zip(requests.map_err(lost)?) {
        match request.reply() {
            Ok(reply) => names.push((*atom, String::from_utf8_lossy(&reply.name).into_owned())),
            // An owner may list numbers that are not atoms.
            Err(ReplyError::X11Error(_)) => {}
            Err(ReplyError::ConnectionError(error)) => return Err(lost(error)),
        }
    }
    Ok(names)
}

enum Failure {
    Large,
    Lost(ConnectionError),
    Refused(ReplyError),
}

impl From<ConnectionError> for Failure {
    fn from(error: ConnectionError) -> Failure {
        Failure::Lost(error)
    }
}

impl From<ReplyError> for Failure {
    fn from(error: ReplyError) -> Failure {
        match error {
            ReplyError::ConnectionError(error) => Failure::Lost(error),
            other => Failure::Refused(other),
        }
    }
}

fn ask(connection: &Connection, target: Atom) -> Result<Option<SelectionData>, Failure> {
    let Connection { x, atoms, window, timeout } = connection;
    connection.extend_deadline();
    let end = Instant::now() + *timeout;
    // An owner that is just losing the selection may not answer: then the next one is asked.
    let mut asked = x11rb::NONE;
    loop {
        let owner = x.get_selection_owner(atoms.CLIPBOARD)?.reply()?.owner;
        if owner == x11rb::NONE {
            return Ok(None);
        }
        if owner != asked {
            asked = owner;
            x.convert_selection(*window, atoms.CLIPBOARD, target, atoms.SINEW_DATA, x11rb::CURRENT_TIME)?;
            x.flush()?;
        }
        let answer = wait_for(connection, end.min(Instant::now() + OWNER_CHECK_INTERVAL), |event| match event {
            Event::SelectionNotify(answer) if answer.requestor == *window && answer.target == target => {
                Some(answer.property)
            }
            _ => None,
        })?;
        match answer {
            Some(x11rb::NONE) => return Ok(None),
            Some(_) => break,
            None if Instant::now() >= end => return Err(silent()),
            None => {}
        }
    }
    let first = property(connection)?;
    if first.type_ != atoms.INCR {
        return Ok(Some(SelectionData { kind: first.type_, bytes: first.value }));
    }
    // Incremental transfer: reading (and deleting) a chunk requests the next one, an empty one is the end.
    let mut all = Vec::new();
    loop {
        let new = wait_for(connection, Instant::now() + *timeout, |event| match event {
            Event::PropertyNotify(change) => {
                (change.window == *window && change.atom == atoms.SINEW_DATA && change.state == Property::NEW_VALUE)
                    .then_some(())
            }
            _ => None,
        })?;
        new.ok_or_else(silent)?;
        connection.extend_deadline();
        let GetPropertyReply { type_: kind, value: piece, .. } = property(connection)?;
        if piece.is_empty() {
            return Ok(Some(SelectionData { kind, bytes: all }));
        }
        if all.len() + piece.len() > MAX_BYTES {
            return Err(Failure::Large);
        }
        all.extend_from_slice(&piece);
    }
}

fn silent() -> Failure {
    Failure::Lost(ConnectionError::IoError(ErrorKind::TimedOut.into()))
}

/// Returns the first event that `wanted` accepts; `None` if there is none until `end`.
fn wait_for<T>(
    connection: &Connection,
    end: Instant,
    wanted: impl Fn(Event) -> Option<T>,
) -> Result<Option<T>, ConnectionError> {
    loop {
        while let Some(event) = connection.x.poll_for_event()? {
            if let Some(found) = wanted(event) {
                return Ok(Some(found));
            }
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        connection.sleep(None, Some(end))?;
    }
}

/// Reads the answer from our window and deletes it.
fn property(connection: &Connection) -> Result<GetPropertyReply, Failure> {
    let Connection { x, atoms, window, .. } = connection;
    // Counted in units of four bytes.
    let most = (MAX_BYTES / 4) as u32;
    let reply = x.get_property(true, *window, atoms.SINEW_DATA, AtomEnum::ANY, 0, most)?.reply()?;
    if reply.bytes_after > 0 {
        return Err(Failure::Large);
    }
    Ok(reply)
}
