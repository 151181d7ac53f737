//! Threads for jobs that wait for other processes: one per job; an idle thread waits for another job for a while.
//! Starting a thread costs a quarter of a short command.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// How long a thread without a job is kept.
const IDLE: Duration = Duration::from_secs(5);

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// The waiting threads, the latest at the end.
static WAITING: Mutex<IdleThreads> = Mutex::new(IdleThreads { last: 0, threads: Vec::new() });

struct IdleThreads {
    /// The number of the latest thread.
    last: u64,
    threads: Vec<(u64, Sender<Job>)>,
}

/// Runs `job`, which must not panic, on an idle or a new thread.
///
/// # Errors
/// Returns an error if there is no idle thread and the system cannot start another.
pub(super) fn run(mut job: Job) -> io::Result<()> {
    loop {
        let Some((_, thread)) = waiting().threads.pop() else { break };
        match thread.send(job) {
            Ok(()) => return Ok(()),
            Err(back) => job = back.0,
        }
    }
    let thread = std::thread::Builder::new().name("sinew-call".to_string());
    thread.spawn(move || work(job)).map(|_| ())
}

fn work(mut job: Job) {
    loop {
        job();
        let (sender, next) = channel();
        let number = {
            let mut waiting = waiting();
            waiting.last += 1;
            let number = waiting.last;
            waiting.threads.push((number, sender));
            number
        };
        match wait(&next, number) {
            Some(next) => job = next,
            None => return,
        }
    }
}

fn wait(next: &Receiver<Job>, number: u64) -> Option<Job> {
    if let Ok(job) = next.recv_timeout(IDLE) {
        return Some(job);
    }
    let mut waiting = waiting();
    if let Some(at) = waiting.threads.iter().position(|(other, _)| *other == number) {
        waiting.threads.remove(at);
        return None;
    }
    drop(waiting);
    // Another call has removed this thread from the list and sends a job.
    next.recv().ok()
}

fn waiting() -> MutexGuard<'static, IdleThreads> {
    WAITING.lock()
}
