//! The stretches in which sessions worked in a directory. A restore needs them to find the changes that two sessions may
//! have made.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use sinew_base::Result;
use sinew_lock::{FileLock, Mode};

use crate::codec::{Reader, Writer, damaged};
use crate::pack::{create_private, digest};
use crate::row::is_within;
use crate::store::{Store, hex, now_ms};

/// The first bytes of the file; the last byte is the version of the format.
const MAGIC: &[u8; 8] = b"sinewst\x01";
/// The name of the file in the store.
const NAME: &str = "stretches";
/// The folder of the files that running processes lock.
const ALIVE: &str = "alive";

/// The paths that a session announced before it wrote to them.
pub(crate) type Claims = BTreeSet<Box<[u8]>>;

/// Returns true if a path, or a path below it, is claimed. An edit tool also creates the parent directories of a file.
pub(crate) fn is_claimed(claims: &Claims, path: &[u8]) -> bool {
    claims.iter().any(|claim| is_within(claim, path))
}

/// The work of a session between two checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The session; `None` if the file was damaged, so that any session may have worked.
    pub(crate) session: Option<String>,
    /// The file that the process locks as long as it runs.
    owner: String,
    /// The checkpoint at its start.
    pub(crate) start: String,
    /// The checkpoint at its end; `None` if it is open.
    pub(crate) end: Option<String>,
    /// Whether it ended because its process died. The session did not choose the checkpoint at its end then.
    pub(crate) is_lost: bool,
    /// Whether the session writes only the claimed paths.
    pub(crate) is_edit: bool,
    pub(crate) claims: Claims,
}

impl Stretch {
    /// Returns the part between two checkpoints; `None` if the stretch is outside of them.
    pub(crate) fn within<'a>(&'a self, start: &'a str, end: &'a str) -> Option<(&'a str, &'a str)> {
        let first = start.max(&self.start);
        let last = self.end.as_deref().map_or(end, |own| own.min(end));
        (first < last).then_some((first, last))
    }

    fn is_of(&self, session: &str) -> bool {
        self.session.as_deref() == Some(session)
    }
}

/// The event of a session at a checkpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event<'a> {
    /// No session starts or ends its work.
    None,
    /// The session starts its work.
    Start(&'a str),
    /// The session ends its work; without a name, the only open stretch of the process ends.
    End(Option<&'a str>),
    /// The session is about to write these paths.
    Claim(&'a str, &'a [Vec<u8>]),
}

/// The stretches of a directory, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    list: Vec<Stretch>,
    is_changed: bool,
}

impl Stretches {
    /// Reads the stretches. If the file cannot be read, one stretch of an unknown session covers everything.
    pub(crate) fn read(store: &Store) -> Stretches {
        let list = match fs::read(store.folder.join(NAME)) {
            Ok(bytes) => decode(&bytes).ok(),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Some(Vec::new()),
            Err(_) => None,
        };
        let unknown = || Stretch {
            session: None,
            owner: String::new(),
            start: String::new(),
            end: None,
            is_lost: false,
            is_edit: false,
            claims: Claims::new(),
        };
        Stretches { list: list.unwrap_or_else(|| vec![unknown()]), is_changed: false }
    }

    /// Writes the stretches if they changed. The file is not synced: after a crash of the system no session works, and a
    /// damaged file counts as unknown.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn write(&self, store: &Store) -> io::Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        store.write_file(&store.folder.join(NAME), &encode(&self.list), false)
    }

    pub(crate) fn list(&self) -> &[Stretch] {
        &self.list
    }

    /// Returns true if the checkpoint of an event must not have the id `newest`, because another session's stretch
    /// already starts or ends there. Ids then identify the session of a span.
    pub(crate) fn needs_own_id(&self, event: Event<'_>, owner: &str, newest: &str) -> bool {
        match event {
            Event::None => false,
            Event::Start(session) | Event::Claim(session, _) => {
                let is_new = !matches!(event, Event::Claim(..)) || self.working(session).is_none();
                let is_taken = |other: &Stretch| !other.is_of(session) && other.end.is_none() && other.start == newest;
                is_new && self.list.iter().any(is_taken)
            }
            Event::End(session) => {
                let Some(own) = self.ending(session, owner) else { return false };
                let is_taken = |other: &Stretch| other.session != own.session && other.end.as_deref() == Some(newest);
                own.start != newest && self.list.iter().any(is_taken)
            }
        }
    }

    /// Records an event at a checkpoint. Open stretches whose process died end here.
    pub(crate) fn record(&mut self, event: Event<'_>, owner: &str, id: &str, is_alive: impl Fn(&str) -> bool) {
        for stretch in self.list.iter_mut().filter(|stretch| stretch.end.is_none() && stretch.owner != owner) {
            if !is_alive(&stretch.owner) {
                stretch.end = Some(id.into());
                stretch.is_lost = true;
                self.is_changed = true;
            }
        }
        match event {
            Event::None => {}
            Event::Start(session) => {
                self.end(session, id);
                self.start(session, owner, id, &[], false);
            }
            Event::End(session) => {
                if let Some(session) = self.ending(session, owner).and_then(|stretch| stretch.session.clone()) {
                    self.end(&session, id);
                }
            }
            Event::Claim(session, paths) => self.claim(session, owner, id, paths),
        }
        // Nothing changed during a stretch that ends where it started.
        let count = self.list.len();
        self.list.retain(|stretch| stretch.end.as_deref() != Some(&stretch.start));
        self.is_changed |= count != self.list.len();
    }

    fn start(&mut self, session: &str, owner: &str, id: &str, paths: &[Vec<u8>], is_edit: bool) {
        self.list.push(Stretch {
            session: Some(session.into()),
            owner: owner.into(),
            start: id.into(),
            end: None,
            is_lost: false,
            is_edit,
            claims: paths.iter().map(|path| path.as_slice().into()).collect(),
        });
        self.is_changed = true;
    }

    fn end(&mut self, session: &str, id: &str) {
        for stretch in self.list.iter_mut().filter(|stretch| stretch.is_of(session) && stretch.end.is_none()) {
            stretch.end = Some(id.into());
            self.is_changed = true;
        }
    }

    /// Adds claims to the stretch of a session. Without one, the claims are a stretch of their own, until the next event
    /// of the session.
    fn claim(&mut self, session: &str, owner: &str, id: &str, paths: &[Vec<u8>]) {
        if self.working(session).is_none() {
            self.end(session, id);
            return self.start(session, owner, id, paths, true);
        }
        let is_open = |stretch: &&mut Stretch| stretch.is_of(session) && stretch.end.is_none();
        for stretch in self.list.iter_mut().filter(is_open) {
            stretch.claims.extend(paths.iter().map(|path| path.as_slice().into()));
        }
        self.is_changed = true;
    }

    /// Returns the open stretch of a session, except one of claims only.
    fn working(&self, session: &str) -> Option<&Stretch> {
        self.list.iter().find(|stretch| stretch.is_of(session) && stretch.end.is_none() && !stretch.is_edit)
    }

    /// Returns the stretch that [`Event::End`] ends.
    fn ending(&self, session: Option<&str>, owner: &str) -> Option<&Stretch> {
        let mut open = self.list.iter().filter(|stretch| stretch.end.is_none());
        match session {
            Some(session) => open.find(|stretch| stretch.is_of(session)),
            None => {
                let own: Vec<&Stretch> = open.filter(|stretch| stretch.owner == owner).collect();
                (own.len() == 1).then(|| own[0])
            }
        }
    }

    /// Removes the stretches that ended before the oldest checkpoint.
    pub(crate) fn prune(&mut self, oldest: &str) {
        let count = self.list.len();
        self.list.retain(|stretch| stretch.end.as_deref().is_none_or(|end| end > oldest));
        self.is_changed |= count != self.list.len();
    }

    /// Returns the sessions that worked in a span: those with a stretch that starts where it starts, otherwise those
    /// that ended one where it ends.
    pub(crate) fn sessions_of(&self, start: &str, end: &str) -> HashSet<String> {
        let starts = |stretch: &&Stretch| stretch.start == start;
        let ends = |stretch: &&Stretch| stretch.end.as_deref() == Some(end) && !stretch.is_lost;
        let named = |wanted: &dyn Fn(&&Stretch) -> bool| -> HashSet<String> {
            self.list.iter().filter(wanted).filter_map(|stretch| stretch.session.clone()).collect()
        };
        let found = named(&starts);
        if found.is_empty() { named(&ends) } else { found }
    }
}

/// A file that is locked as long as the process runs, so that others can tell when it died.
#[derive(Debug)]
pub(crate) struct Alive {
    pub(crate) owner: String,
    _lock: FileLock,
}

impl Alive {
    /// Creates and locks a new file.
    ///
    /// # Errors
    /// Returns the error of the system or of the lock.
    pub(crate) fn new(store: &Store) -> Result<Alive> {
        // Keys of a hash are random.
        let random = RandomState::new().build_hasher().finish();
        let unique = format!("{} {} {random}", now_ms(), std::process::id());
        let owner = hex(&digest(unique.as_bytes())[..8]);
        let path = store.folder.join(ALIVE).join(&owner);
        let failed = |cause| sinew_base::Error::io("checkpoints: failed to create a file of the store", &cause);
        create_private(&path).map_err(failed)?;
        let lock = FileLock::try_acquire(&path, Mode::Exclusive)?;
        let lock = lock.ok_or_else(|| failed(io::ErrorKind::WouldBlock.into()))?;
        Ok(Alive { owner, _lock: lock })
    }

    /// Returns true if the file still exists. It does not after the store was deleted.
    pub(crate) fn is_in(&self, store: &Store) -> bool {
        store.folder.join(ALIVE).join(&self.owner).exists()
    }
}

/// Returns true if the process that locks a file is running, or if that is unknown.
pub(crate) fn is_alive(store: &Store, owner: &str) -> bool {
    let path = store.folder.join(ALIVE).join(owner);
    !owner.is_empty() && path.is_file() && !matches!(FileLock::try_acquire(&path, Mode::Exclusive), Ok(Some(_)))
}

/// Removes the files of dead processes. The caller must have the lock of the store.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn remove_dead(store: &Store) -> io::Result<()> {
    for entry in fs::read_dir(store.folder.join(ALIVE))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|owner| !is_alive(store, owner)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Removes the stretches that ended before the oldest checkpoint from the file.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn prune(store: &Store) -> io::Result<()> {
    let Some(oldest) = store.names()?.into_iter().next() else { return Ok(()) };
    let mut stretches = Stretches::read(store);
    stretches.prune(&oldest);
    stretches.write(store)
}

fn encode(list: &[Stretch]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.array(MAGIC);
    writer.number(list.len() as u64);
    for stretch in list {
        let flags = [stretch.session.is_some(), stretch.end.is_some(), stretch.is_lost, stretch.is_edit];
        writer.number(flags.iter().enumerate().map(|(at, flag)| u64::from(*flag) << at).sum());
        for text in [stretch.session.as_deref(), Some(&stretch.owner), Some(&stretch.start), stretch.end.as_deref()] {
            writer.block(text.unwrap_or_default().as_bytes());
        }
        writer.number(stretch.claims.len() as u64);
        stretch.claims.iter().for_each(|path| writer.block(path));
    }
    writer.sealed()
}

fn decode(bytes: &[u8]) -> Result<Vec<Stretch>> {
    let mut reader = Reader::sealed(bytes)?;
    if &reader.array::<8>()? != MAGIC {
        return Err(damaged());
    }
    let mut list = Vec::new();
    for _ in 0..reader.number()? {
        let flags = reader.number()?;
        let has = |at: u32| flags & (1 << at) != 0;
        let mut text = || String::from_utf8(reader.block()?.to_vec()).map_err(|_| damaged());
        let (session, owner, start, end) = (text()?, text()?, text()?, text()?);
        let mut claims = Claims::new();
        for _ in 0..reader.number()? {
            claims.insert(reader.block()?.into());
        }
        let (session, end) = (has(0).then_some(session), has(1).then_some(end));
        list.push(Stretch { session, owner, start, end, is_lost: has(2), is_edit: has(3), claims });
    }
    if reader.is_empty() { Ok(list) } else { Err(damaged()) }
}
