//! Writes JSON directly to bytes: no tree is built for a conversation that may be megabytes long, and keys keep their
//! order.

use serde::Serialize;

/// A JSON writer, which inserts commas automatically.
#[derive(Debug, Default)]
pub(super) struct Json {
    out: Vec<u8>,
}

impl Json {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    fn separate(&mut self) {
        // After any other byte a value precedes, because no value ends with one of these.
        if !matches!(self.out.last(), None | Some(b'{' | b'[' | b':')) {
            self.out.push(b',');
        }
    }

    pub(super) fn object(&mut self, fill: impl FnOnce(&mut Json)) {
        self.separate();
        self.out.push(b'{');
        fill(self);
        self.out.push(b'}');
    }

    pub(super) fn array(&mut self, fill: impl FnOnce(&mut Json)) {
        self.separate();
        self.out.push(b'[');
        fill(self);
        self.out.push(b']');
    }

    /// Writes a key, which must be followed by its value.
    pub(super) fn key(&mut self, key: &str) -> &mut Json {
        self.value(key);
        self.out.push(b':');
        self
    }

    /// Writes any serialisable value.
    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) {
        self.separate();
        serde_json::to_writer(&mut self.out, value).expect("strings, numbers and JSON trees can always be written");
    }

    /// Writes a key and its value.
    pub(super) fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        self.key(key).value(value);
    }
}
