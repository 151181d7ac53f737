//! Executes a plan: all of it or nothing.
//!
//! New entries are prepared in a temporary directory inside the original one, then the steps are written to a journal,
//! and then each entry is renamed into place. Replaced and removed entries stay in the temporary directory until the
//! end. If a step fails, the earlier ones are undone. If the process is killed, the next one that opens or lists views
//! completes the steps of the journal.

use std::fs;
use std::io;

use rustix::fs::{AtFlags, Gid, Mode, RenameFlags, Uid, mkdirat, renameat_with, symlinkat, unlinkat};
use rustix::io::Errno;
use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_checkpoint::Directory;

use crate::copy;
use crate::fault;
use crate::layout::Layout;
use crate::plan::{NewEntry, Plan, Step};
use crate::records::{Reader, Writer, damaged};
use crate::scan::{Stamp, TEMPORARY_PREFIX, as_name, shown};

/// Why a plan was not executed. The directory is as it was.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another program changed an entry after the plan was made.
    Changed,
    /// Another error.
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

fn failed(path: &[u8], cause: &io::Error) -> Error {
    Error::io(format!("view: failed to write {}; nothing was applied", shown(path)), cause)
}

fn temporary_name(layout: &Layout) -> String {
    format!("{TEMPORARY_PREFIX}view-{}", layout.id)
}

fn new_name(number: usize) -> String {
    format!("new-{number}")
}

fn old_name(number: usize) -> String {
    format!("old-{number}")
}

/// Executes a plan. `cancel` is checked before each entry, until the first step.
///
/// # Errors
/// Returns [`Failure::Changed`] if another program changed an entry meanwhile, and the system's errors. The directory is
/// then as it was, unless the message says otherwise.
pub(crate) fn execute(
    layout: &Layout,
    real: &Directory,
    view: &Directory,
    plan: &Plan,
    cancel: &CancelToken,
) -> Result<(), Failure> {
    if plan.steps.is_empty() {
        return Ok(());
    }
    let name = temporary_name(layout);
    let made = real
        .remove_tree(name.as_ref())
        .and_then(|()| mkdirat(real, &*name, Mode::RWXU))
        .and_then(|()| real.set_mode(name.as_ref(), 0o700))
        .and_then(|()| real.open_below(name.as_bytes()));
    let stage = made.map_err(|errno| failed(name.as_bytes(), &errno.into()))?;
    fault::point();
    let mut executor = Executor { real, stage: &stage, undo: Vec::new() };
    let run = executor.prepare_all(view, plan, cancel).and_then(|()| {
        write_journal(layout, real, &plan.steps)?;
        fault::point();
        executor.run(&plan.steps)
    });
    let failure = match run {
        Ok(()) => None,
        Err(failure) => Some(executor.roll_back(failure)?),
    };
    // From here on, what the journal names is complete or undone.
    fault::point();
    let _ = fs::remove_file(layout.journal());
    fault::point();
    // What cannot be removed is removed by the next hand-back.
    let _ = real.remove_tree(name.as_ref());
    failure.map_or(Ok(()), Err)
}

enum Undo<'p> {
    /// Renames an entry of the temporary directory back into place.
    Return(&'p [u8], String),
    /// Exchanges an entry with one of the temporary directory.
    Exchange(&'p [u8], String),
    /// Takes a new entry out of the directory.
    Withdraw(&'p [u8], String),
    RemoveDirectory(&'p [u8]),
    MakeDirectory(&'p [u8], u32),
    SetMode(&'p [u8], u32),
}

struct Executor<'a, 'p> {
    real: &'a Directory,
    stage: &'a Directory,
    undo: Vec<Undo<'p>>,
}

impl<'p> Executor<'_, 'p> {
    fn prepare_all(&self, view: &Directory, plan: &Plan, cancel: &CancelToken) -> Result<(), Failure> {
        let places = plan.steps.iter().filter_map(|step| match step {
            Step::Place { path, number, before } => Some((path, *number, before.is_some())),
            _ => None,
        });
        for (path, number, is_replaced) in places {
            cancel.check().map_err(Error::from)?;
            self.prepare(view, path, number, is_replaced, &plan.entries[number])?;
            fault::point();
        }
        // The contents are on disk before the names point to them, also if the power fails.
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(self.stage).map_err(|errno| failed(b"", &errno.into()))?;
        Ok(())
    }

    /// Creates an entry in the temporary directory.
    fn prepare(&self, view: &Directory, path: &[u8], number: usize, is_replaced: bool, entry: &NewEntry) -> Result<()> {
        let name = new_name(number);
        let wrong = |cause: io::Error| failed(path, &cause);
        let (file, mode) = match entry {
            NewEntry::Link { target } => {
                return symlinkat(as_name(target), self.stage, &*name).map_err(|errno| failed(path, &errno.into()));
            }
            NewEntry::Text { content, mode } => {
                (copy::write_new(self.stage, name.as_bytes(), content).map_err(wrong)?, *mode)
            }
            NewEntry::ViewFile { path: source, mode, stamp } => {
                let mut source = copy::open_own(view, source).map_err(|errno| failed(path, &errno.into()))?;
                let mut target = copy::create(self.stage, name.as_bytes()).map_err(wrong)?;
                copy::copy_file(&mut source, &mut target).map_err(wrong)?;
                let now = rustix::fs::fstat(&source).map_err(|errno| failed(path, &errno.into()))?;
                if !Stamp::of(&now).is_renamed(stamp) {
                    let text =
                        format!("view: {} changes while it is applied; end the programs in the view", shown(path));
                    return Err(Error::new(ErrorCode::InvalidState, text));
                }
                (target, *mode)
            }
        };
        if is_replaced {
            self.keep_owner(path, &file);
        }
        copy::finish(&file, mode, None).map(drop).map_err(wrong)
    }

    /// Gives a new file the owner of the file that it replaces, as far as the user may.
    fn keep_owner(&self, path: &[u8], file: &fs::File) {
        let old = self.real.open_parent(path).and_then(|(parent, name)| parent.stat(name)).ok().flatten();
        let new = rustix::fs::fstat(file).ok();
        if let (Some(old), Some(new)) = (old, new)
            && (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid)
        {
            let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            if rustix::fs::fchown(file, Some(user), Some(group)).is_err() {
                let _ = rustix::fs::fchown(file, None, Some(group));
            }
        }
    }

    fn run(&mut self, steps: &'p [Step]) -> Result<(), Failure> {
        for (number, step) in steps.iter().enumerate() {
            self.step(number, step)?;
            fault::point();
        }
        Ok(())
    }

    fn step(&mut self, number: usize, step: &'p Step) -> Result<(), Failure> {
        let done = match step {
            Step::Remove { path, before } => self.take_away(path, before, &old_name(number)),
            Step::RemoveDirectory { path, mode } => self.remove_directory(path, *mode),
            Step::MakeDirectory { path } => self.make_directory(path),
            Step::Place { path, number: entry, before: None } => self.create(path, *entry),
            Step::Place { path, number: entry, before: Some(before) } => self.replace(path, *entry, before, number),
            Step::SetMode { path, mode, before } => self.set_mode(path, *mode, *before),
        };
        match done {
            Ok(true) => Ok(()),
            Ok(false)
            | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR) => {
                Err(Failure::Changed)
            }
            Err(errno) => Err(failed(step.path(), &errno.into()).into()),
        }
    }

    /// Moves an entry into the temporary directory. Returns false if it changed.
    fn take_away(&mut self, path: &'p [u8], before: &Stamp, aside: &str) -> rustix::io::Result<bool> {
        let (parent, name) = self.real.open_parent(path)?;
        if parent.stat(name)?.map(|stat| Stamp::of(&stat)) != Some(*before) {
            return Ok(false);
        }
        renameat_with(&parent, name, self.stage, aside, RenameFlags::NOREPLACE)?;
        self.undo.push(Undo::Return(path, aside.to_string()));
        let moved = self.stage.stat(aside.as_ref())?;
        Ok(moved.is_some_and(|stat| Stamp::of(&stat).is_renamed(before)))
    }

    fn remove_directory(&mut self, path: &'p [u8], mode: u32) -> rustix::io::Result<bool> {
        let (parent, name) = self.real.open_parent(path)?;
        unlinkat(&parent, name, AtFlags::REMOVEDIR)?;
        self.undo.push(Undo::MakeDirectory(path, mode));
        Ok(true)
    }

    fn make_directory(&mut self, path: &'p [u8]) -> rustix::io::Result<bool> {
        let (parent, name) = self.real.open_parent(path)?;
        mkdirat(&parent, name, Mode::RWXU)?;
        self.undo.push(Undo::RemoveDirectory(path));
        Ok(true)
    }

    fn create(&mut self, path: &'p [u8], entry: usize) -> rustix::io::Result<bool> {
        let (parent, name) = self.real.open_parent(path)?;
        renameat_with(self.stage, &*new_name(entry), &parent, name, RenameFlags::NOREPLACE)?;
        self.undo.push(Undo::Withdraw(path, new_name(entry)));
        Ok(true)
    }

    fn replace(&mut self, path: &'p [u8], entry: usize, before: &Stamp, number: usize) -> rustix::io::Result<bool> {
        let (parent, name) = self.real.open_parent(path)?;
        if parent.stat(name)?.map(|stat| Stamp::of(&stat)) != Some(*before) {
            return Ok(false);
        }
        let new = new_name(entry);
        match renameat_with(self.stage, &*new, &parent, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            // The file system does not support exchanging.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return Ok(self.take_away(path, before, &old_name(number))? && self.create(path, entry)?);
            }
            Err(errno) => return Err(errno),
        }
        self.undo.push(Undo::Exchange(path, new.clone()));
        let moved = self.stage.stat(new.as_ref())?;
        Ok(moved.is_some_and(|stat| Stamp::of(&stat).is_renamed(before)))
    }

    fn set_mode(&mut self, path: &'p [u8], mode: u32, before: u32) -> rustix::io::Result<bool> {
        let (parent, name) = self.real.open_parent(path)?;
        parent.set_mode(name, mode)?;
        self.undo.push(Undo::SetMode(path, before));
        Ok(true)
    }

    /// Undoes the completed steps and returns the failure.
    ///
    /// # Errors
    /// Returns an error that names what could not be undone. The journal and the temporary directory must then stay.
    fn roll_back(&mut self, failure: Failure) -> Result<Failure, Failure> {
        let mut lost = Vec::new();
        while let Some(undo) = self.undo.pop() {
            if let Err((path, errno)) = self.undo_step(&undo) {
                lost.push(format!("{} ({})", shown(path), io::Error::from(errno)));
            }
        }
        if lost.is_empty() {
            return Ok(failure);
        }
        let cause = match &failure {
            Failure::Changed => "another program changed the directory",
            Failure::Error(error) => error.message(),
        };
        let lost = lost.join(", ");
        let text = format!("view: {cause}; could not restore {lost}: reopen the view to complete the hand-back");
        Err(Failure::Error(Error::new(ErrorCode::Io, text)))
    }

    fn undo_step(&self, undo: &Undo<'p>) -> Result<(), (&'p [u8], Errno)> {
        let (Undo::Return(path, _)
        | Undo::Exchange(path, _)
        | Undo::Withdraw(path, _)
        | Undo::RemoveDirectory(path)
        | Undo::MakeDirectory(path, _)
        | Undo::SetMode(path, _)) = undo;
        let undone = self.real.open_parent(path).and_then(|(parent, name)| match undo {
            Undo::Return(_, aside) => renameat_with(self.stage, &**aside, &parent, name, RenameFlags::NOREPLACE),
            Undo::Exchange(_, new) => renameat_with(self.stage, &**new, &parent, name, RenameFlags::EXCHANGE),
            Undo::Withdraw(_, new) => renameat_with(&parent, name, self.stage, &**new, RenameFlags::NOREPLACE),
            Undo::RemoveDirectory(_) => unlinkat(&parent, name, AtFlags::REMOVEDIR),
            Undo::MakeDirectory(_, mode) => {
                mkdirat(&parent, name, Mode::RWXU).and_then(|()| parent.set_mode(name, *mode))
            }
            Undo::SetMode(_, mode) => parent.set_mode(name, *mode),
        });
        undone.map_err(|errno| (*path, errno))
    }
}

fn write_journal(layout: &Layout, real: &Directory, steps: &[Step]) -> Result<()> {
    let root = real.own_stat().map_err(|errno| failed(b"", &errno.into()))?;
    let root = Stamp::of(&root);
    let mut writer = Writer::default();
    writer.number(root.device);
    writer.number(root.inode);
    for step in steps {
        let name = match step {
            Step::Remove { .. } => "remove",
            Step::RemoveDirectory { .. } => "rmdir",
            Step::MakeDirectory { .. } => "mkdir",
            Step::Place { .. } => "place",
            Step::SetMode { .. } => "mode",
        };
        writer.field(name.as_bytes());
        writer.field(step.path());
        let stamp = |writer: &mut Writer, stamp: Option<&Stamp>| {
            writer.number(u8::from(stamp.is_some()));
            if let Some(stamp) = stamp {
                stamp.write(writer);
            }
        };
        match step {
            Step::Remove { before, .. } => stamp(&mut writer, Some(before)),
            Step::RemoveDirectory { mode, .. } => writer.number(mode),
            Step::MakeDirectory { .. } => {}
            Step::Place { number, before, .. } => {
                writer.number(number);
                stamp(&mut writer, before.as_ref());
            }
            Step::SetMode { mode, before, .. } => {
                writer.number(mode);
                writer.number(before);
            }
        }
    }
    writer.save(&layout.journal())
}

/// Returns the device and inode of the directory, and the steps.
fn read_journal(bytes: &[u8]) -> Result<((u64, u64), Vec<Step>)> {
    let mut reader = Reader::new(bytes);
    let root = (reader.number()?, reader.number()?);
    let mut steps = Vec::new();
    while !reader.is_at_end() {
        let name = reader.text()?;
        let path = reader.path()?;
        let stamp = |reader: &mut Reader<'_>| -> Result<Option<Stamp>> {
            if reader.number::<u8>()? == 1 { Stamp::read(reader).map(Some) } else { Ok(None) }
        };
        steps.push(match &*name {
            "remove" => Step::Remove { path, before: stamp(&mut reader)?.ok_or_else(damaged)? },
            "rmdir" => Step::RemoveDirectory { path, mode: reader.number()? },
            "mkdir" => Step::MakeDirectory { path },
            "place" => Step::Place { path, number: reader.number()?, before: stamp(&mut reader)? },
            "mode" => Step::SetMode { path, mode: reader.number()?, before: reader.number()? },
            _ => return Err(damaged()),
        });
    }
    Ok((root, steps))
}

/// Returns true if a killed process left a journal or a temporary directory.
pub(crate) fn needs_recovery(layout: &Layout, root: &std::path::Path) -> bool {
    let has_temporary = || fs::symlink_metadata(root.join(temporary_name(layout))).is_ok();
    layout.journal().exists() || !layout.damaged_journal().exists() && has_temporary()
}

/// Completes the hand-back of a killed process. Returns false if there was none. The caller has the locks of the view
/// and of hand-backs.
///
/// # Errors
/// Returns an error if the journal cannot be read or removed.
pub(crate) fn recover(layout: &Layout, root: &std::path::Path) -> Result<bool> {
    let path = layout.journal();
    let failed = |cause: &io::Error| Error::io(format!("view: failed to complete the hand-back of {path:?}"), cause);
    let bytes = match fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
        Err(cause) => return Err(failed(&cause)),
    };
    let name = temporary_name(layout);
    let real = Directory::open(root).ok();
    let mut is_same = true;
    if let (Some(bytes), Some(real)) = (&bytes, &real) {
        let Ok(((device, inode), steps)) = read_journal(bytes) else {
            // It was complete when it was written, so that someone changed it. The temporary directory may have the only
            // copy of the original files and stays.
            fs::rename(&path, layout.damaged_journal()).map_err(|cause| failed(&cause))?;
            return Ok(false);
        };
        let stat = real.own_stat().map_err(|errno| failed(&errno.into()))?;
        let stamp = Stamp::of(&stat);
        is_same = (stamp.device, stamp.inode) == (device, inode);
        // Another directory at this path is not changed.
        if let Ok(stage) = real.open_below(name.as_bytes())
            && is_same
        {
            for (number, step) in steps.iter().enumerate() {
                // An entry that others changed meanwhile stays as it is; the view still has its version.
                let _ = redo(real, &stage, number, step);
                fault::point();
            }
        }
    }
    if bytes.is_some() {
        fs::remove_file(&path).map_err(|cause| failed(&cause))?;
    }
    if let Some(real) = real.filter(|_| is_same) {
        let _ = real.remove_tree(name.as_ref());
    }
    Ok(bytes.is_some())
}

/// Executes a step unless it was executed before.
fn redo(real: &Directory, stage: &Directory, number: usize, step: &Step) -> rustix::io::Result<()> {
    let stamp_at = |directory: &Directory, name: &std::ffi::OsStr| -> rustix::io::Result<Option<Stamp>> {
        Ok(directory.stat(name)?.map(|stat| Stamp::of(&stat)))
    };
    match step {
        Step::Remove { path, before } => {
            let (parent, name) = real.open_parent(path)?;
            if stamp_at(&parent, name)?.is_some_and(|stamp| stamp.is_renamed(before)) {
                renameat_with(&parent, name, stage, &*old_name(number), RenameFlags::NOREPLACE)?;
            }
            Ok(())
        }
        Step::RemoveDirectory { path, .. } => {
            let (parent, name) = real.open_parent(path)?;
            unlinkat(&parent, name, AtFlags::REMOVEDIR)
        }
        Step::MakeDirectory { path } => {
            let (parent, name) = real.open_parent(path)?;
            mkdirat(&parent, name, Mode::RWXU)
        }
        Step::Place { path, number: entry, before } => {
            let new = new_name(*entry);
            let Some(staged) = stamp_at(stage, new.as_ref())? else { return Ok(()) };
            if before.is_some_and(|before| staged.is_renamed(&before)) {
                return Ok(());
            }
            let (parent, name) = real.open_parent(path)?;
            match (stamp_at(&parent, name)?, before) {
                (None, _) => renameat_with(stage, &*new, &parent, name, RenameFlags::NOREPLACE),
                (Some(now), Some(before)) if now.is_renamed(before) => {
                    match renameat_with(stage, &*new, &parent, name, RenameFlags::EXCHANGE) {
                        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                            renameat_with(stage, &*new, &parent, name, RenameFlags::empty())
                        }
                        done => done,
                    }
                }
                _ => Ok(()),
            }
        }
        Step::SetMode { path, mode, .. } => {
            let (parent, name) = real.open_parent(path)?;
            parent.set_mode(name, *mode)
        }
    }
}
