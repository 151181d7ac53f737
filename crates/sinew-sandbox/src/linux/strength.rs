//! Computes the strength of each promise from the mechanisms that the system granted.

use super::landlock::Abi;
use super::layout::{Cover, Layout};
use super::paths::Entry;
use super::readable::has_open_paths;
use super::rules::Rules;
use crate::{Mode, Network, Policy, PromiseStatus, Status};

/// The mechanisms that worked in a test.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mechanisms {
    pub(super) namespaces: bool,
    pub(super) landlock: Abi,
    /// True if Landlock limits reading, because the system refuses namespaces.
    pub(super) limits_reads: bool,
    /// True if a supervisor can answer `connect`.
    pub(super) notification: bool,
}

const LOST: &str = "a mask is lost when its file is replaced during a command";
const STARTS_TO_MATCH: &str = "a file that starts to match a glob during a command is covered from the next command on";
const MISSING: &str = "a denied path that is created during a command is covered from the next command on";
const UNKNOWN_NAMES: &str = "a denied file has another name that was not found";
const OPEN_IN_WRITABLE: &str =
    "the system refuses namespaces, so a denied path in a directory that programs can write can be read";
const TAKEN_BACK: &str = "created paths are taken back";
const NO_MASKS: &str = "the system refuses namespaces, so no denied path is covered";

/// Computes the status of a sandbox.
pub(super) fn status(policy: &Policy, rules: &Rules, layout: &Layout, granted: Mechanisms) -> Status {
    Status {
        write: write(policy, rules, layout, granted),
        read: read(rules, layout, granted),
        network: network(policy, granted),
        sockets: sockets(policy, granted),
        signals: signals(policy, granted),
        protect: protect(rules, layout, granted),
    }
}

fn has_globs(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| matches!(entry, Entry::Glob(_)))
}

fn has_landlock(granted: Mechanisms) -> bool {
    granted.landlock.0 > 0
}

fn write(policy: &Policy, rules: &Rules, layout: &Layout, granted: Mechanisms) -> PromiseStatus {
    let is_rules = policy.mode == Mode::Rules;
    if is_rules && policy.deny_write.is_empty() {
        return PromiseStatus::open("the policy leaves all paths writable");
    }
    let (mut by, mut missing) = (Vec::new(), Vec::new());
    if granted.namespaces {
        by.push("namespaces");
    }
    if has_landlock(granted) && !is_rules {
        by.push("landlock");
        if !granted.namespaces {
            missing.push("modes, times and attributes of files outside can be changed");
        }
        if granted.landlock.0 < 3 && !granted.namespaces {
            missing.push("files outside can be truncated");
        }
    } else if !is_rules {
        missing.push("named pipes outside can be written to");
    }
    if !policy.deny_write.is_empty() {
        if granted.namespaces {
            missing.push(LOST);
            missing.extend(layout.has_open_parents.then_some("a directory above a denied path can be renamed"));
            missing.extend((has_globs(&rules.deny_write) || !layout.missing.is_empty()).then_some(TAKEN_BACK));
        } else {
            missing.push(NO_MASKS);
        }
    }
    PromiseStatus::new(by, missing)
}

fn read(rules: &Rules, layout: &Layout, granted: Mechanisms) -> PromiseStatus {
    if rules.deny_read.is_empty() && rules.deny_exec.is_empty() {
        return PromiseStatus::open("the policy denies reading no path");
    }
    if !granted.namespaces && !granted.limits_reads {
        return PromiseStatus::new(Vec::new(), vec![NO_MASKS]);
    }
    if !granted.namespaces {
        let mut missing = vec!["a file that is moved to a denied path can be read"];
        missing.extend(has_open_paths(rules, layout).then_some(OPEN_IN_WRITABLE));
        missing.extend(has_globs(&rules.deny_read).then_some("a file that starts to match a glob can be read"));
        missing.extend(layout.has_unknown_names.then_some(UNKNOWN_NAMES));
        return PromiseStatus::new(vec!["landlock"], missing);
    }
    let has_masks = layout.covers.values().any(|cover| matches!(cover, Cover::HiddenFile | Cover::HiddenDirectory));
    let mut missing = Vec::new();
    missing.extend(has_masks.then_some(LOST));
    missing.extend(has_globs(&rules.deny_read).then_some(STARTS_TO_MATCH));
    missing.extend(layout.has_missing_hidden.then_some(MISSING));
    missing.extend(layout.has_unknown_names.then_some(UNKNOWN_NAMES));
    PromiseStatus::new(vec!["namespaces"], missing)
}

fn network(policy: &Policy, granted: Mechanisms) -> PromiseStatus {
    match (policy.network(), granted.namespaces) {
        (Network::On, _) => PromiseStatus::open("the policy leaves the network open"),
        (_, true) => PromiseStatus::new(vec!["namespaces", "seccomp"], Vec::new()),
        (Network::Off, false) => PromiseStatus::new(vec!["seccomp"], Vec::new()),
        (Network::Loopback, false) => PromiseStatus::new(
            vec!["seccomp"],
            vec!["the system refuses namespaces, so programs have no loopback either"],
        ),
    }
}

fn sockets(policy: &Policy, granted: Mechanisms) -> PromiseStatus {
    if !policy.limits_sockets() {
        return PromiseStatus::open("the policy leaves Unix sockets open");
    }
    match granted.notification {
        true => PromiseStatus::new(vec!["notification", "seccomp"], Vec::new()),
        false => PromiseStatus::new(
            Vec::new(),
            vec!["the system refuses notifications, so programs can connect to any socket"],
        ),
    }
}

fn signals(policy: &Policy, granted: Mechanisms) -> PromiseStatus {
    if policy.mode == Mode::Rules {
        return PromiseStatus::open("the policy leaves signals open");
    }
    let mut by = vec!["seccomp"];
    let mut missing = Vec::new();
    match granted.landlock.scopes_signals() {
        true => by.push("landlock"),
        false => missing.push("signals to other processes of the same user"),
    }
    if !granted.namespaces {
        missing.push("shared memory and message queues of System V");
    }
    PromiseStatus::new(by, missing)
}

fn protect(rules: &Rules, layout: &Layout, granted: Mechanisms) -> PromiseStatus {
    if !rules.protects_repositories && rules.protected.is_empty() {
        return PromiseStatus::open("the policy protects no path");
    }
    if rules.mode == Mode::ReadOnly && granted.namespaces {
        return PromiseStatus::new(vec!["namespaces"], Vec::new());
    }
    if !granted.namespaces {
        return PromiseStatus::new(Vec::new(), vec![NO_MASKS]);
    }
    let mut missing = vec![LOST];
    missing.extend((has_globs(&rules.protected) || !layout.missing.is_empty()).then_some(TAKEN_BACK));
    missing.extend(rules.protects_repositories.then_some("a repository that a command creates is not covered"));
    PromiseStatus::new(vec!["namespaces"], missing)
}
