//! Tests that shells start where two processes cannot share memory, for example under an emulator.

use crate::support::shell;
use sinew_shell::Engine;

/// Makes `clone` behave as under qemu, for this process and everything it starts: shared memory only for threads and
/// `vfork`.
fn refuse_shared_memory() {
    let step = |code: u32, k: u32, jt, jf| libc::sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k };
    let number = u32::try_from(libc::SYS_clone).unwrap();
    let flags = (libc::CLONE_VM | libc::SIGCHLD).cast_unsigned();
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    // The number of the call, and its first argument (little-endian).
    let mut steps = [
        step(load, 0, 0, 0),
        step(equal, number, 0, 3),
        step(load, 16, 0, 0),
        step(equal, flags, 0, 1),
        step(answer, libc::SECCOMP_RET_ERRNO | libc::EINVAL.cast_unsigned(), 0, 0),
        step(answer, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: 6, filter: steps.as_mut_ptr() };
    // SAFETY: the program lives during the call; the other arguments are numbers.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        )
    };
    assert_eq!(refused, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn shells_start_without_shared_memory() {
    refuse_shared_memory();
    for engine in [Engine::Bash, Engine::Brush] {
        let shell = shell(engine);
        let (result, output) = shell.output("x=5; sh -c 'exit 3'; echo $? $x").unwrap();
        assert_eq!((output.as_str(), result.exit_code), ("3 5\n", Some(0)), "{engine:?}");
        let (result, output) = shell.output("echo $x; exit 7").unwrap();
        assert_eq!((output.as_str(), result.exit_code), ("5\n", Some(7)), "{engine:?}");
    }
}
