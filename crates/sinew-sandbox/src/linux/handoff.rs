//! Encodes a sandbox as bytes and descriptors, for another process that applies it to its child.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::application::Application;
use super::filter::Instruction;
use super::notify::{Connections, receive_listener, serve};
use crate::{Network, Refusal};

/// The version of the encoding. Both sides come from the same build.
const VERSION: u8 = 1;

/// An encoded sandbox for another process.
#[derive(Debug)]
pub struct Handoff<'a> {
    /// The bytes that [`receive`] decodes.
    pub bytes: Vec<u8>,
    /// The descriptors that the other process must receive with consecutive numbers, in this order.
    pub descriptors: Vec<BorrowedFd<'a>>,
}

impl Application {
    /// Encodes the sandbox.
    pub(super) fn handoff(&self) -> Handoff<'_> {
        let descriptors = [&self.user, &self.mount, &self.network, &self.ipc, &self.ruleset];
        let mut bytes = vec![VERSION];
        bytes.extend(descriptors.iter().map(|descriptor| u8::from(descriptor.is_some())));
        put(&mut bytes, self.filter.len() as u64);
        for one in &self.filter {
            let Instruction { code, if_true, if_false, value } = *one;
            bytes.extend(code.to_le_bytes());
            bytes.extend([if_true, if_false]);
            bytes.extend(value.to_le_bytes());
        }
        bytes.push(u8::from(self.connections.is_some()));
        if let Some(connections) = &self.connections {
            let Connections { network, is_private, limits_sockets, sockets, areas, created } = connections;
            let network = [Network::Off, Network::Loopback, Network::On].iter().position(|one| one == network);
            bytes.extend([network.unwrap_or_default() as u8, u8::from(*is_private), u8::from(*limits_sockets)]);
            put(&mut bytes, created.0.cast_unsigned());
            put(&mut bytes, created.1.into());
            for list in [sockets, areas] {
                put(&mut bytes, list.len() as u64);
                for path in list {
                    put(&mut bytes, path.as_os_str().len() as u64);
                    bytes.extend(path.as_os_str().as_bytes());
                }
            }
        }
        Handoff { bytes, descriptors: descriptors.into_iter().flatten().map(AsFd::as_fd).collect() }
    }
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn paths(&mut self) -> Option<Vec<PathBuf>> {
        let count = self.number()?;
        (0..count)
            .map(|_| {
                let length = usize::try_from(self.number()?).ok()?;
                Some(PathBuf::from(OsStr::from_bytes(self.take(length)?)))
            })
            .collect()
    }
}

/// A sandbox from another process.
#[derive(Debug)]
pub struct ReceivedSandbox {
    application: Application,
}

/// Decodes a sandbox whose descriptors begin at the number `first`. Takes ownership of the descriptors, and marks them
/// as closed on exec.
///
/// Returns `None` if the bytes have another version.
#[must_use]
pub fn receive(bytes: &[u8], first: i32) -> Option<ReceivedSandbox> {
    let mut reader = Reader { bytes };
    if reader.byte()? != VERSION {
        return None;
    }
    let mut next = first;
    let mut descriptor = |is_there: u8| {
        (is_there == 1).then(|| {
            next += 1;
            // SAFETY: the caller received these descriptors from the process that encoded the bytes, and passes their
            // ownership on.
            let descriptor = unsafe { OwnedFd::from_raw_fd(next - 1) };
            // If a descriptor is not open, its first use fails, before the program starts.
            let _ = rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC);
            descriptor
        })
    };
    let [user, mount, network, ipc, ruleset] = <[u8; 5]>::try_from(reader.take(5)?).ok()?.map(&mut descriptor);
    let count = usize::try_from(reader.number()?).ok()?;
    let filter = reader
        .take(count.checked_mul(8)?)?
        .chunks_exact(8)
        .map(|part| Instruction {
            code: u16::from_le_bytes([part[0], part[1]]),
            if_true: part[2],
            if_false: part[3],
            value: u32::from_le_bytes([part[4], part[5], part[6], part[7]]),
        })
        .collect();
    let connections = if reader.byte()? == 1 { Some(connections(&mut reader)?) } else { None };
    Some(ReceivedSandbox { application: Application { user, mount, network, ipc, ruleset, filter, connections } })
}

fn connections(reader: &mut Reader<'_>) -> Option<Connections> {
    let [network, is_private, limits_sockets] = <[u8; 3]>::try_from(reader.take(3)?).ok()?;
    Some(Connections {
        network: *[Network::Off, Network::Loopback, Network::On].get(usize::from(network))?,
        is_private: is_private == 1,
        limits_sockets: limits_sockets == 1,
        created: (reader.number()?.cast_signed(), u32::try_from(reader.number()?).ok()?),
        sockets: reader.paths()?,
        areas: reader.paths()?,
    })
}

impl ReceivedSandbox {
    /// Returns true if [`ReceivedSandbox::serve`] must run while programs run.
    #[must_use]
    pub fn has_supervisor(&self) -> bool {
        self.application.connections.is_some()
    }

    /// Applies the sandbox to the calling process, which must have a single thread, before exec. Exec closes the
    /// descriptors from `lowest` on. With a supervisor, `channel` is one end of a socket whose other end is passed to
    /// [`ReceivedSandbox::serve`].
    ///
    /// Does not allocate, so that it can run between fork and exec, even in memory that is shared with the parent.
    ///
    /// # Errors
    /// Returns an error if the system refuses a part. The process must not run the program then.
    pub fn apply_in_child(&self, lowest: i32, channel: Option<i32>) -> io::Result<()> {
        // SAFETY: the caller passes a descriptor that is open during the call.
        let channel = channel.map(|number| unsafe { BorrowedFd::borrow_raw(number) });
        self.application.apply(lowest, channel).map_err(|errno| io::Error::from_raw_os_error(errno.raw_os_error()))
    }

    /// Answers calls of the programs until no program is left. Blocks the calling thread.
    ///
    /// # Errors
    /// Returns an error if the channel fails.
    pub fn serve(&self, channel: BorrowedFd<'_>, on_refusal: &mut dyn FnMut(Refusal)) -> io::Result<()> {
        let Some(connections) = &self.application.connections else { return Ok(()) };
        if let Some(listener) = receive_listener(channel)? {
            serve(listener, connections, on_refusal);
        }
        Ok(())
    }

    /// Returns the numbers of the descriptors.
    #[must_use]
    pub fn descriptors(&self) -> Vec<i32> {
        let Application { user, mount, network, ipc, ruleset, .. } = &self.application;
        [user, mount, network, ipc, ruleset].into_iter().flatten().map(AsRawFd::as_raw_fd).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_sandbox_round_trips() {
        let connections = Connections {
            network: Network::Loopback,
            is_private: true,
            limits_sockets: true,
            sockets: vec!["/run/a".into()],
            areas: vec!["/r".into(), "/t".into()],
            created: (-5, 7),
        };
        let filter = vec![Instruction { code: 6, if_true: 1, if_false: 2, value: 0x7fff_0000 }; 3];
        let sent = Application {
            user: None,
            mount: None,
            network: None,
            ipc: None,
            ruleset: None,
            filter: filter.clone(),
            connections: Some(connections),
        };
        let bytes = sent.handoff().bytes;
        let received = receive(&bytes, 1000).unwrap().application;
        assert_eq!(received.filter, filter);
        assert_eq!(format!("{:?}", received.connections), format!("{:?}", sent.connections));
        for length in 0..bytes.len() {
            assert!(receive(&bytes[..length], 1000).is_none(), "{length} bytes");
        }
        assert!(receive(&[&[VERSION + 1], &bytes[1..]].concat(), 1000).is_none());
    }
}
