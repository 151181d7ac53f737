//! The protocol between the host and its supervisor over a packet socket: one record per packet, beginning with the
//! version, so that a supervisor of another build is detected.

use sinew_sandbox::{Refusal, RefusalKind};

/// The descriptor of the supervisor's socket.
pub(crate) const SOCKET: i32 = 3;

/// The descriptor of a script that is too long to be an argument.
pub(crate) const SCRIPT: i32 = 4;

/// The descriptor of a sandbox's data; its descriptors follow.
pub(crate) const SANDBOX: i32 = 5;

/// The real-time signal that makes a session's bash abort the running command (`RTMAX-2`).
pub(crate) const LEAVE: i32 = 62;

/// The version of the records. Increase it with every change of their format.
pub(crate) const VERSION: u8 = 3;

/// The maximum size of a record in bytes.
pub(crate) const MOST: usize = 60 * 1024;

/// A request of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SupervisorRequest {
    /// Terminate what was started at or after `since` (clock ticks after boot), except the shell itself, which is asked
    /// to abort its command: TERM now, KILL after `grace_ms`. Continues until [`SupervisorReply::Clean`].
    Stop { since: u64, grace_ms: u32 },
    /// The shell has answered: send [`SupervisorReply::Clean`] as soon as nothing of the stopped run is left.
    Settled,
    /// List the processes below the shell.
    Jobs,
    /// Read the descriptor sent with this record to its end and discard the data.
    Adopt,
    /// Terminate everything and exit: TERM now, KILL after `grace_ms`.
    Close { grace_ms: u32 },
}

/// An answer of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SupervisorReply {
    /// The shell has ended with this `waitpid` status.
    Exited { status: i32 },
    /// The shell could not be started; contains the system's error number.
    Failed { errno: i32 },
    /// Nothing of the stopped run is left.
    Clean,
    /// The answer to [`SupervisorRequest::Jobs`]: process ids and command lines.
    Jobs(Vec<(i32, String)>),
    /// The program in a terminal was started; sent before any other record about it.
    Started { pid: i32 },
    /// The sandbox refused a call.
    Refused(Refusal),
}

impl SupervisorRequest {
    /// Returns the encoded record.
    pub(crate) fn encode(self) -> [u8; 14] {
        let (kind, since, number) = match self {
            SupervisorRequest::Stop { since, grace_ms } => (1, since, grace_ms),
            SupervisorRequest::Settled => (2, 0, 0),
            SupervisorRequest::Jobs => (3, 0, 0),
            SupervisorRequest::Adopt => (4, 0, 0),
            SupervisorRequest::Close { grace_ms } => (5, 0, grace_ms),
        };
        let mut record = [0; 14];
        record[0] = VERSION;
        record[1] = kind;
        record[2..10].copy_from_slice(&since.to_le_bytes());
        record[10..14].copy_from_slice(&number.to_le_bytes());
        record
    }

    /// Decodes a request; `None` if it is not a request of this version.
    pub(crate) fn decode(record: &[u8]) -> Option<SupervisorRequest> {
        let record: &[u8; 14] = record.try_into().ok()?;
        if record[0] != VERSION {
            return None;
        }
        let since = u64::from_le_bytes(record[2..10].try_into().ok()?);
        let number = u32::from_le_bytes(record[10..14].try_into().ok()?);
        match record[1] {
            1 => Some(SupervisorRequest::Stop { since, grace_ms: number }),
            2 => Some(SupervisorRequest::Settled),
            3 => Some(SupervisorRequest::Jobs),
            4 => Some(SupervisorRequest::Adopt),
            5 => Some(SupervisorRequest::Close { grace_ms: number }),
            _ => None,
        }
    }
}

impl SupervisorReply {
    /// Returns the record of [`SupervisorReply::Exited`]. Does not allocate.
    pub(crate) fn exited(status: i32) -> [u8; 6] {
        head(1, status)
    }

    /// Returns the record of [`SupervisorReply::Failed`]. Does not allocate.
    pub(crate) fn failed(errno: i32) -> [u8; 6] {
        head(2, errno)
    }

    /// Returns the record of [`SupervisorReply::Started`]. Does not allocate.
    pub(crate) fn started(pid: i32) -> [u8; 6] {
        head(5, pid)
    }

    /// Returns the encoded record of at most [`MOST`] bytes; further jobs are dropped.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (kind, number) = match self {
            SupervisorReply::Exited { status } => (1, *status),
            SupervisorReply::Failed { errno } => (2, *errno),
            SupervisorReply::Clean => (3, 0),
            SupervisorReply::Jobs(_) => (4, 0),
            SupervisorReply::Started { pid } => (5, *pid),
            SupervisorReply::Refused(refusal) => (6, kind_number(refusal.kind)),
        };
        let mut record = head(kind, number).to_vec();
        if let SupervisorReply::Jobs(jobs) = self {
            for (pid, command) in jobs {
                let command = command.as_bytes();
                if record.len() + command.len() + 8 > MOST {
                    break;
                }
                record.extend_from_slice(&pid.to_le_bytes());
                record.extend_from_slice(&(command.len() as u32).to_le_bytes());
                record.extend_from_slice(command);
            }
        }
        if let SupervisorReply::Refused(Refusal { target: Some(target), .. }) = self {
            record.extend_from_slice(&target.as_bytes()[..target.floor_char_boundary(LONGEST_TARGET)]);
        }
        record
    }

    /// Decodes an answer; `None` if it is not an answer of this version.
    pub(crate) fn decode(record: &[u8]) -> Option<SupervisorReply> {
        let (head, mut rest) = record.split_at_checked(6)?;
        if head[0] != VERSION {
            return None;
        }
        let number = i32::from_le_bytes(head[2..6].try_into().ok()?);
        match head[1] {
            1 => Some(SupervisorReply::Exited { status: number }),
            2 => Some(SupervisorReply::Failed { errno: number }),
            3 => Some(SupervisorReply::Clean),
            4 => {
                let mut jobs = Vec::new();
                while !rest.is_empty() {
                    let (head, tail) = rest.split_at_checked(8)?;
                    let pid = i32::from_le_bytes(head[..4].try_into().ok()?);
                    let len = u32::from_le_bytes(head[4..].try_into().ok()?) as usize;
                    let (command, tail) = tail.split_at_checked(len)?;
                    jobs.push((pid, String::from_utf8_lossy(command).into_owned()));
                    rest = tail;
                }
                Some(SupervisorReply::Jobs(jobs))
            }
            5 => Some(SupervisorReply::Started { pid: number }),
            6 => {
                let kind = *RefusalKind::ALL.get(usize::try_from(number).ok()?)?;
                let target = (!rest.is_empty()).then(|| String::from_utf8_lossy(rest).into_owned());
                Some(SupervisorReply::Refused(Refusal { kind, target }))
            }
            _ => None,
        }
    }
}

/// The maximum length of a refused call's target in bytes.
const LONGEST_TARGET: usize = 8 * 1024;

fn kind_number(kind: RefusalKind) -> i32 {
    RefusalKind::ALL.iter().position(|one| *one == kind).unwrap_or_default() as i32
}

/// Encodes the start of an answer.
fn head(kind: u8, number: i32) -> [u8; 6] {
    let [a, b, c, d] = number.to_le_bytes();
    [VERSION, kind, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn records_round_trip() {
        for ask in [
            SupervisorRequest::Stop { since: u64::MAX - 1, grace_ms: 1500 },
            SupervisorRequest::Settled,
            SupervisorRequest::Jobs,
            SupervisorRequest::Adopt,
            SupervisorRequest::Close { grace_ms: 7 },
        ] {
            assert_eq!(SupervisorRequest::decode(&ask.encode()), Some(ask));
        }
        for tell in [
            SupervisorReply::Exited { status: -9 },
            SupervisorReply::Failed { errno: 2 },
            SupervisorReply::Clean,
            SupervisorReply::Started { pid: 7 },
            SupervisorReply::Refused(Refusal { kind: RefusalKind::Socket, target: Some("/run/é".into()) }),
            SupervisorReply::Refused(Refusal { kind: RefusalKind::Signal, target: None }),
            SupervisorReply::Jobs(vec![(1, "sleep 5".into()), (2, String::new())]),
        ] {
            assert_eq!(SupervisorReply::decode(&tell.encode()), Some(tell));
        }
        assert_eq!(SupervisorReply::Exited { status: 256 }.encode(), SupervisorReply::exited(256));
        assert_eq!(SupervisorReply::Failed { errno: 2 }.encode(), SupervisorReply::failed(2));
        assert_eq!(SupervisorReply::Started { pid: 9 }.encode(), SupervisorReply::started(9));
    }

    #[test]
    fn rejects_records_of_another_version() {
        let mut record = SupervisorRequest::Settled.encode();
        record[0] += 1;
        assert_eq!(SupervisorRequest::decode(&record), None);
    }

    #[test]
    fn drops_jobs_that_do_not_fit_into_a_record() {
        let jobs = vec![(1, "x".repeat(MOST / 3)); 5];
        let Some(SupervisorReply::Jobs(kept)) = SupervisorReply::decode(&SupervisorReply::Jobs(jobs).encode()) else {
            panic!("no jobs")
        };
        assert_eq!(kept.len(), 2);
    }

    proptest! {
        #[test]
        fn decodes_any_bytes_without_panicking(bytes in prop::collection::vec(any::<u8>(), 0..80), kind in 0u8..8) {
            let mut bytes = bytes;
            if bytes.len() > 1 {
                bytes[0] = VERSION;
                bytes[1] = kind;
            }
            let _ = SupervisorRequest::decode(&bytes);
            if let Some(tell) = SupervisorReply::decode(&bytes)
                && let SupervisorReply::Jobs(_) = tell
            {
                prop_assert!(bytes.len() >= 6);
            }
        }
    }
}
