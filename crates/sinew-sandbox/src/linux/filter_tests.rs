//! Checks the filters by interpreting them for every system call.

use super::*;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const NOTIFY: u32 = libc::SECCOMP_RET_USER_NOTIF;

/// Runs a filter for a call.
fn answer(program: &[Instruction], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let mut data = [0u8; 64];
    data[..4].copy_from_slice(&number.to_le_bytes());
    data[4..8].copy_from_slice(&architecture.to_le_bytes());
    for (at, argument) in arguments.iter().enumerate() {
        data[16 + 8 * at..24 + 8 * at].copy_from_slice(&argument.to_le_bytes());
    }
    let (mut at, mut value) = (0, 0u32);
    loop {
        let one = program[at];
        at += 1;
        let mut jump = |holds: bool| at += usize::from(if holds { one.if_true } else { one.if_false });
        match one.code {
            LOAD => {
                let from = one.value as usize;
                value = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
            }
            AND => value &= one.value,
            JUMP_EQUAL => jump(value == one.value),
            JUMP_GREATER_EQUAL => jump(value >= one.value),
            JUMP_ANY => jump(value & one.value != 0),
            RETURN => return one.value,
            code => panic!("unknown instruction {code:#x}"),
        }
    }
}

fn fails(errno: i32) -> u32 {
    Action::Fail(errno).value()
}

const ALL: FilterOptions = FilterOptions {
    others: true,
    tracing: true,
    families: true,
    internet: false,
    datagrams: true,
    connect: true,
    sends: true,
};

const ARCHITECTURES: [Architecture; 2] = [Architecture::X86_64, Architecture::Aarch64];

fn number(call: Call, architecture: Architecture) -> Option<u32> {
    let number = if architecture == Architecture::X86_64 { call.x86_64 } else { call.aarch64 };
    u32::try_from(number).ok()
}

#[test]
fn refuses_only_the_calls_of_the_table() {
    for architecture in ARCHITECTURES {
        let program = generate(architecture, &ALL);
        for tried in 0..600 {
            let is = |call: &Call| number(*call, architecture) == Some(tried);
            let expected = match () {
                () if REFUSED.iter().chain(&TRACING).any(is) => fails(EPERM),
                () if is(&CLONE3) => fails(ENOSYS),
                () if is(&CONNECT) => NOTIFY,
                // The address family is 0.
                () if is(&SOCKET) => fails(EAFNOSUPPORT),
                () => ALLOW,
            };
            assert_eq!(answer(&program, architecture.audit(), tried, [0; 6]), expected, "{architecture:?} {tried}");
        }
    }
}

#[test]
fn conditions_compare_arguments() {
    let unix_stream = [1, 1 | 0x80000, 0, 0, 0, 0];
    for (call, arguments, expected) in [
        (CLONE, [0x0101_0000 | 17, 0, 0, 0, 0, 0], ALLOW),
        (CLONE, [0x1000_0000 | 17, 0, 0, 0, 0, 0], fails(EPERM)),
        (CLONE, [0x0002_0000 | 17, 0, 0, 0, 0, 0], fails(EPERM)),
        (IOCTL, [0, 0x5401, 0, 0, 0, 0], ALLOW),
        (IOCTL, [0, 0x5412, 0, 0, 0, 0], fails(EPERM)),
        // The kernel only reads the low 32 bits.
        (IOCTL, [0, 0x1_0000_5412, 0, 0, 0, 0], fails(EPERM)),
        (PRLIMIT, [0, 7, 0, 0, 0, 0], ALLOW),
        (PRLIMIT, [1, 7, 0, 0, 0, 0], fails(EPERM)),
        (SETPRIORITY, [0, 0, 5, 0, 0, 0], ALLOW),
        (SETPRIORITY, [2, 0, 5, 0, 0, 0], fails(EPERM)),
        (SETPRIORITY, [0, 99, 5, 0, 0, 0], fails(EPERM)),
        (IOPRIO_SET, [3, 0, 0, 0, 0, 0], fails(EPERM)),
        (IOPRIO_SET, [1, 0, 0, 0, 0, 0], ALLOW),
        (SENDTO, [3, 0x7fff_0000, 9, 0, 0, 0], ALLOW),
        (SENDTO, [3, 0x7fff_0000, 9, 0, 0x7fff_1000, 16], NOTIFY),
        (SOCKET, unix_stream, ALLOW),
        (SOCKETPAIR, unix_stream, ALLOW),
        (SOCKET, [1, 2 | 0x80000, 0, 0, 0, 0], fails(EACCES)),
        (SOCKETPAIR, [1, 3, 0, 0, 0, 0], NOTIFY),
        (SOCKET, [2, 2, 0, 0, 0, 0], ALLOW),
        (SOCKET, [16, 3, 0, 0, 0, 0], ALLOW),
        (SOCKET, [16, 3, 15, 0, 0, 0], fails(EAFNOSUPPORT)),
        (SOCKET, [40, 1, 0, 0, 0, 0], fails(EAFNOSUPPORT)),
    ] {
        for architecture in ARCHITECTURES {
            let number = number(call, architecture).unwrap();
            let given = answer(&generate(architecture, &ALL), architecture.audit(), number, arguments);
            assert_eq!(given, expected, "{architecture:?} {call:?} {arguments:?}");
        }
    }
}

#[test]
fn refuses_other_architectures() {
    let program = generate(Architecture::X86_64, &ALL);
    for (architecture, number) in [(0x4000_0003, 5), (0xc000_00b7, 63), (0xc000_003e, 0x4000_0029)] {
        assert_eq!(answer(&program, architecture, number, [0; 6]), fails(ENOSYS), "{architecture:#x} {number:#x}");
    }
}

#[test]
fn refuses_internet_sockets_without_a_network_namespace() {
    let options = FilterOptions { internet: true, families: true, ..FilterOptions::default() };
    for architecture in ARCHITECTURES {
        let program = generate(architecture, &options);
        let socket = number(SOCKET, architecture).unwrap();
        for (family, expected) in [(1, ALLOW), (2, fails(EACCES)), (10, fails(EACCES)), (16, fails(EACCES))] {
            let arguments = [family, 1, 0, 0, 0, 0];
            assert_eq!(answer(&program, architecture.audit(), socket, arguments), expected, "{family}");
        }
    }
}
