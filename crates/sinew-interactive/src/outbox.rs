//! A buffer of bytes for a terminal, which may accept only a part at a time.

use std::io::{self, ErrorKind, Write};

/// Bytes that were not written yet, in order.
#[derive(Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    /// The number of bytes that were written.
    taken: usize,
}

impl Outbox {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns true if everything was written.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes until everything is written or the terminal accepts no more for now.
    ///
    /// # Errors
    /// Returns an error if the terminal is closed.
    pub(super) fn send(&mut self, to: &mut impl Write) -> io::Result<()> {
        while self.taken < self.bytes.len() {
            match to.write(&self.bytes[self.taken..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.taken += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.taken = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts one byte per write, and refuses every third write for now.
    #[derive(Default)]
    struct SlowWriter {
        taken: Vec<u8>,
        writes: usize,
    }

    impl Write for SlowWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            match self.writes % 3 {
                0 => Err(ErrorKind::WouldBlock.into()),
                1 => Err(ErrorKind::Interrupted.into()),
                _ => {
                    self.taken.push(bytes[0]);
                    Ok(1)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn sends_all_bytes_in_order_to_a_slow_terminal() {
        let (mut outbox, mut terminal) = (Outbox::default(), SlowWriter::default());
        let mut expect = Vec::new();
        for frame in 0..50_u8 {
            let bytes: Vec<u8> = (0..frame).map(|byte| byte ^ frame).collect();
            outbox.push(&bytes);
            expect.extend(bytes);
            outbox.send(&mut terminal).unwrap();
        }
        while !outbox.is_empty() {
            outbox.send(&mut terminal).unwrap();
        }
        assert_eq!(terminal.taken, expect);
    }

    #[test]
    fn a_closed_terminal_is_an_error() {
        let mut outbox = Outbox::default();
        outbox.push(b"x");
        assert_eq!(outbox.send(&mut &mut [][..]).unwrap_err().kind(), ErrorKind::WriteZero);
    }
}
