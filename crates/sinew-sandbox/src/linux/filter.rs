//! Generates the filter of system calls from one table.
//!
//! A single program has three actions (allow, an error, a notification), and compares the low 32 bits of arguments, as
//! the kernel reads them. Calls of other architectures and of the x32 interface fail with `ENOSYS`.

/// One instruction of the filter, as the kernel reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) if_true: u8,
    pub(super) if_false: u8,
    pub(super) value: u32,
}

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Fail(i32),
    Notify,
}

impl Action {
    fn value(self) -> u32 {
        match self {
            Action::Fail(errno) => libc::SECCOMP_RET_ERRNO | (errno.cast_unsigned() & libc::SECCOMP_RET_DATA),
            Action::Notify => libc::SECCOMP_RET_USER_NOTIF,
        }
    }
}

/// A condition on the low 32 bits of an argument.
#[derive(Debug, Clone, Copy)]
enum Test {
    Equals(u8, u32),
    Differs(u8, u32),
    HasAny(u8, u32),
    MaskedEquals(u8, u32, u32),
}

/// A rule: if the call has this number and all tests are true, the action is the result.
#[derive(Debug, Clone)]
struct Rule {
    call: Call,
    tests: Vec<Test>,
    action: Action,
}

/// An architecture for which a filter can be generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    /// Returns the architecture of this program, if filters are supported for it.
    pub(super) fn of_program() -> Option<Architecture> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Architecture::X86_64),
            "aarch64" => Some(Architecture::Aarch64),
            _ => None,
        }
    }

    /// Returns the kernel's number of the architecture.
    pub(super) fn audit(self) -> u32 {
        match self {
            Architecture::X86_64 => 0xc000_003e,
            Architecture::Aarch64 => 0xc000_00b7,
        }
    }
}

/// The numbers of a system call; -1 if the architecture does not have it.
#[derive(Debug, Clone, Copy)]
struct Call {
    x86_64: i32,
    aarch64: i32,
}

const fn call(x86_64: i32, aarch64: i32) -> Call {
    Call { x86_64, aarch64 }
}

const CLONE: Call = call(56, 220);
const CLONE3: Call = call(435, 435);
const IOCTL: Call = call(16, 29);
const PRLIMIT: Call = call(302, 261);
const SETPRIORITY: Call = call(141, 140);
const IOPRIO_SET: Call = call(251, 30);
const SOCKET: Call = call(41, 198);
const SOCKETPAIR: Call = call(53, 199);
const CONNECT: Call = call(42, 203);
const SENDTO: Call = call(44, 206);

/// Calls that always fail: namespaces, mounts, descriptors and memory of other processes, io_uring, tracing of the
/// kernel, keys, modules, other kernels, devices of the machine.
const REFUSED: [Call; 41] = [
    call(272, 97),  // unshare
    call(308, 268), // setns
    call(165, 40),  // mount
    call(166, 39),  // umount2
    call(155, 41),  // pivot_root
    call(428, 428), // open_tree
    call(429, 429), // move_mount
    call(430, 430), // fsopen
    call(431, 431), // fsconfig
    call(432, 432), // fsmount
    call(433, 433), // fspick
    call(442, 442), // mount_setattr
    call(467, 467), // open_tree_attr
    call(438, 438), // pidfd_getfd
    call(425, 425), // io_uring_setup
    call(426, 426), // io_uring_enter
    call(427, 427), // io_uring_register
    call(323, 282), // userfaultfd
    call(321, 280), // bpf
    call(298, 241), // perf_event_open
    call(248, 217), // add_key
    call(249, 218), // request_key
    call(250, 219), // keyctl
    call(175, 105), // init_module
    call(313, 273), // finit_module
    call(176, 106), // delete_module
    call(246, 104), // kexec_load
    call(320, 294), // kexec_file_load
    call(167, 224), // swapon
    call(168, 225), // swapoff
    call(169, 142), // reboot
    call(163, 89),  // acct
    call(179, 60),  // quotactl
    call(443, 443), // quotactl_fd
    call(304, 265), // open_by_handle_at
    call(172, -1),  // iopl
    call(173, -1),  // ioperm
    call(153, 58),  // vhangup
    call(161, 51),  // chroot
    call(156, -1),  // _sysctl
    call(134, -1),  // uselib
];

/// Calls that change another process, which the first argument names; 0 is the caller itself.
const OF_OTHERS: [Call; 7] = [
    PRLIMIT,
    call(142, 118), // sched_setparam
    call(144, 119), // sched_setscheduler
    call(203, 122), // sched_setaffinity
    call(314, 274), // sched_setattr
    call(256, 238), // migrate_pages
    call(279, 239), // move_pages
];

/// Calls that inspect another process.
const TRACING: [Call; 4] = [
    call(101, 117), // ptrace
    call(310, 270), // process_vm_readv
    call(311, 271), // process_vm_writev
    call(312, 272), // kcmp
];

/// The flags of new namespaces.
const NAMESPACES: u32 = 0x7e02_0000;
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
const ENOSYS: i32 = 38;
const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EAFNOSUPPORT: i32 = 97;
const UNIX: u32 = 1;
const INET: u32 = 2;
const INET6: u32 = 10;
const NETLINK: u32 = 16;
const DATAGRAM: u32 = 2;
const RAW: u32 = 3;

/// The system calls that a filter refuses in addition to the fixed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FilterOptions {
    /// Refuses signals, scheduling and memory of other processes.
    pub(super) others: bool,
    /// Refuses `ptrace` and similar calls, if Landlock does not limit them.
    pub(super) tracing: bool,
    /// Refuses address families that a private network namespace does not cover.
    pub(super) families: bool,
    /// Refuses all internet sockets, because there is no private network namespace.
    pub(super) internet: bool,
    /// Refuses Unix datagram sockets, because each message can have a different address.
    pub(super) datagrams: bool,
    /// Lets a supervisor answer `connect`.
    pub(super) connect: bool,
    /// Tells a supervisor the address of each `sendto`, because the network namespace refuses it without a report.
    pub(super) sends: bool,
}

fn rules(options: &FilterOptions) -> Vec<Rule> {
    let fail = |call, tests: &[Test], errno| Rule { call, tests: tests.to_vec(), action: Action::Fail(errno) };
    let mut rules: Vec<Rule> = REFUSED.iter().map(|call| fail(*call, &[], EPERM)).collect();
    rules.push(fail(CLONE, &[Test::HasAny(0, NAMESPACES)], EPERM));
    // The flags are behind a pointer, which a filter cannot read. Programs only fall back to `clone` after this error.
    rules.push(fail(CLONE3, &[], ENOSYS));
    rules.extend([TIOCSTI, TIOCLINUX].map(|request| fail(IOCTL, &[Test::Equals(1, request)], EPERM)));
    if options.others {
        rules.extend(OF_OTHERS.map(|call| fail(call, &[Test::Differs(0, 0)], EPERM)));
        // 2 and 3 select all processes of a user.
        rules.push(fail(SETPRIORITY, &[Test::Equals(0, 2)], EPERM));
        rules.push(fail(IOPRIO_SET, &[Test::Equals(0, 3)], EPERM));
        rules.extend([SETPRIORITY, IOPRIO_SET].map(|call| fail(call, &[Test::Differs(1, 0)], EPERM)));
    }
    if options.tracing {
        rules.extend(TRACING.map(|call| fail(call, &[], EPERM)));
    }
    if options.families {
        let others = [UNIX, INET, INET6, NETLINK].map(|family| Test::Differs(0, family));
        rules.push(fail(SOCKET, &others, EAFNOSUPPORT));
        rules.push(fail(SOCKET, &[Test::Equals(0, NETLINK), Test::Differs(2, 0)], EAFNOSUPPORT));
    }
    if options.internet {
        rules.extend([INET, INET6, NETLINK].map(|family| fail(SOCKET, &[Test::Equals(0, family)], EACCES)));
    }
    if options.datagrams {
        for kind in [DATAGRAM, RAW] {
            let tests = [Test::Equals(0, UNIX), Test::MaskedEquals(1, 0xf, kind)];
            rules.push(fail(SOCKET, &tests, EACCES));
            // The supervisor returns another pair, whose messages cannot have addresses.
            let pair = if options.connect { Action::Notify } else { Action::Fail(EACCES) };
            rules.push(Rule { call: SOCKETPAIR, tests: tests.to_vec(), action: pair });
        }
    }
    if options.connect {
        rules.push(Rule { call: CONNECT, tests: Vec::new(), action: Action::Notify });
    }
    if options.sends {
        // Calls without an address are sends to a connected socket. `sendmsg` has its address behind a pointer, so each
        // message between processes would have to wait for the supervisor.
        rules.push(Rule { call: SENDTO, tests: vec![Test::Differs(4, 0)], action: Action::Notify });
    }
    rules
}

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER_EQUAL: u16 = 0x35;
const JUMP_ANY: u16 = 0x45;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;
/// The offsets of fields in the data that a filter reads.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;
/// The first number of calls of the x32 interface.
const X32: u32 = 0x4000_0000;

/// Generates the filter.
pub(super) fn generate(architecture: Architecture, options: &FilterOptions) -> Vec<Instruction> {
    let step = |code, value| Instruction { code, if_true: 0, if_false: 0, value };
    let jump = |code, value, if_true, if_false| Instruction { code, if_true, if_false, value };
    let refuse = Action::Fail(ENOSYS).value();
    let mut program = vec![
        step(LOAD, ARCHITECTURE),
        jump(JUMP_EQUAL, architecture.audit(), 1, 0),
        step(RETURN, refuse),
        step(LOAD, NUMBER),
        jump(JUMP_GREATER_EQUAL, X32, 0, 1),
        step(RETURN, refuse),
    ];
    for rule in rules(options) {
        let number = match architecture {
            Architecture::X86_64 => rule.call.x86_64,
            Architecture::Aarch64 => rule.call.aarch64,
        };
        let Ok(number) = u32::try_from(number) else { continue };
        let mut block = Vec::new();
        for test in &rule.tests {
            let (argument, mask, code, value, wants) = match *test {
                Test::Equals(argument, value) => (argument, None, JUMP_EQUAL, value, true),
                Test::Differs(argument, value) => (argument, None, JUMP_EQUAL, value, false),
                Test::HasAny(argument, value) => (argument, None, JUMP_ANY, value, true),
                Test::MaskedEquals(argument, mask, value) => (argument, Some(mask), JUMP_EQUAL, value, true),
            };
            block.push(step(LOAD, ARGUMENTS + 8 * u32::from(argument)));
            block.extend(mask.map(|mask| step(AND, mask)));
            // The distance to the end of the block is known when the block is complete.
            block.push(jump(code, value, u8::from(!wants), u8::from(wants)));
        }
        block.push(step(RETURN, rule.action.value()));
        let length = block.len();
        for (at, one) in block.iter_mut().enumerate() {
            if matches!(one.code, JUMP_EQUAL | JUMP_ANY) {
                let distance = (length - at - 1) as u8;
                one.if_true *= distance;
                one.if_false *= distance;
            }
        }
        program.push(step(LOAD, NUMBER));
        program.push(jump(JUMP_EQUAL, number, 0, length as u8));
        program.append(&mut block);
    }
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW));
    program
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
