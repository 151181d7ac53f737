"""Drives a program on a pseudo-terminal and measures it: one job as JSON in argv[1], one line of JSON as the answer.

The clock is that of this process. The terminal is one that knows little: it says where the cursor is, from the line feeds and
movements that it has seen, and that it is a terminal.
"""

import fcntl
import json
import os
import re
import select
import signal
import struct
import sys
import termios
import time

COMMANDS = re.compile(rb"\x1b\[(\d*)([ABn])|\x1b\[c|\x1b\[(\d*);?(\d*)H|\n")


class Terminal:
    def __init__(self, job):
        self.columns, self.rows = job.get("size", [100, 40])
        self.row = 0
        self.seen = b""
        self.begun = time.monotonic()
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            os.chdir(job["cwd"])
            os.execve(job["command"][0], job["command"], job["env"])
        self.resize(self.columns, self.rows)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, keys):
        os.write(self.fd, keys)

    def read(self, limit):
        """Bytes, b"" after `limit` seconds of silence; None where the program has ended."""
        if not select.select([self.fd], [], [], max(0, limit))[0]:
            return b""
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return None
        if not data:
            return None
        self.seen += data
        for found in COMMANDS.finditer(data):
            count = int(found.group(1) or 1)
            if found.group(0) == b"\n":
                self.row = min(self.row + 1, self.rows - 1)
            elif found.group(2) == b"A":
                self.row = max(0, self.row - count)
            elif found.group(2) == b"B":
                self.row = min(self.row + count, self.rows - 1)
            elif found.group(2) == b"n":
                self.send(b"\x1b[%d;3R" % (self.row + 1))
            elif found.group(0) == b"\x1b[c":
                self.send(b"\x1b[?62;c")
            else:
                self.row = 0
        return data

    def until(self, text, limit=30.0):
        """Reads until `text` was seen; the seconds since the start, None where it never comes."""
        end = time.monotonic() + limit
        while text not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or self.read(left) is None:
                return None
        return time.monotonic() - self.begun

    def quiet(self, silence=0.3, limit=20.0):
        """Reads until nothing comes for a while; the time of the last byte."""
        last = time.monotonic()
        end = last + limit
        while time.monotonic() < end:
            data = self.read(silence)
            if not data:
                break
            last = time.monotonic()
        return last

    def close(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                break
            end = time.monotonic() + 3
            while time.monotonic() < end:
                self.read(0.05)
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    return


def switches(pid):
    """How often each thread of a process has gone to sleep by itself."""
    counts = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/status") as text:
                counts[task] = next(int(line.split()[1]) for line in text if line.startswith("voluntary_ctxt_switches"))
        except (FileNotFoundError, ProcessLookupError):
            pass  # It ended between the list and the look.
    return counts


def switched(before, after):
    """The switches between two counts: those of threads that live, and one of each that has ended."""
    ended = sum(task not in after for task in before)
    return ended + sum(count - before.get(task, 0) for task, count in after.items())


def pss(pid):
    with open(f"/proc/{pid}/smaps_rollup") as text:
        return next(int(line.split()[1]) for line in text if line.startswith("Pss:")) / 1024


def cpu(pid):
    with open(f"/proc/{pid}/stat") as text:
        fields = text.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def press(terminal, count):
    """Types letters, each when the one before was shown; milliseconds and bytes of each."""
    times, sizes = [], []
    for at in range(count):
        # The line is cleared after every 40 letters, so that it stays one row.
        if at % 40 == 39:
            terminal.send(b"\x15")
            terminal.quiet(0.05, 1)
        letter = b"jqxz"[at % 4 : at % 4 + 1]
        before = len(terminal.seen)
        begun = time.monotonic()
        terminal.send(letter)
        while letter not in terminal.seen[before:]:
            if not terminal.read(5):
                break
        times.append((time.monotonic() - begun) * 1000)
        sizes.append(len(terminal.seen) - before)
    return times, sizes


def start(job, terminal):
    first = terminal.until(job["shown"].encode())
    terminal.send(b"z")
    before = len(terminal.seen)
    begun = time.monotonic()
    while b"z" not in terminal.seen[before:] and terminal.read(10):
        pass
    key = first and (first + time.monotonic() - begun) * 1000
    return {"first": first and first * 1000, "key": key, "pss": pss(terminal.pid)}


def steps(job, terminal):
    """Milliseconds of each step: from its keys to the last byte that they bring."""
    terminal.until(job["shown"].encode())
    terminal.quiet()
    times = []
    for keys in job["steps"]:
        begun = time.monotonic()
        terminal.send(keys.encode())
        times.append((terminal.quiet(0.6) - begun) * 1000)
    return {"times": times, "seen": terminal.seen[-4000:].decode(errors="replace")}


def typing(job, terminal):
    terminal.until(job["shown"].encode())
    terminal.quiet()
    press(terminal, 20)
    times, sizes = press(terminal, job["count"])
    return {"times": times, "bytes": sizes}


def stream(job, terminal):
    terminal.until(job["shown"].encode())
    terminal.quiet()
    terminal.send(b"go\r")
    terminal.until(b"token1 ")
    before, used, begun = len(terminal.seen), cpu(terminal.pid), time.monotonic()
    times, typed = press(terminal, job["count"])
    while job["last"].encode() not in terminal.seen[before:] and terminal.read(10):
        pass
    passed = time.monotonic() - begun
    return {
        "times": times,
        "bytes": len(terminal.seen) - before,
        "cpu": (cpu(terminal.pid) - used) / passed,
        "seconds": passed,
    }


def idle(job, terminal):
    terminal.until(job["shown"].encode())
    # Threads for blocking calls end after ten idle seconds.
    terminal.quiet(12.0)
    before, bytes_before = switches(terminal.pid), len(terminal.seen)
    end = time.monotonic() + job["seconds"]
    while time.monotonic() < end:
        if terminal.read(end - time.monotonic()) is None:
            break
    count = switched(before, switches(terminal.pid))
    return {"switches": count, "bytes": len(terminal.seen) - bytes_before, "pss": pss(terminal.pid)}


def resize(job, terminal):
    terminal.until(job["shown"].encode())
    terminal.quiet()
    times = []
    for at in range(job["count"]):
        begun = time.monotonic()
        terminal.resize(100 + at % 2 * 20, 40)
        times.append((terminal.quiet() - begun) * 1000)
    return {"times": times}


JOBS = {"start": start, "typing": typing, "stream": stream, "idle": idle, "resize": resize, "steps": steps}

job = json.loads(sys.argv[1])
terminal = Terminal(job)
try:
    result = JOBS[job["job"]](job, terminal)
finally:
    terminal.close()
print(json.dumps(result))
