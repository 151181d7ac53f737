//! A hash that is the same in every process and on every machine.

/// Returns the FNV-1a hash of `text`. Runs in linear time; not suitable for text chosen by an attacker.
pub(crate) fn stable_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::stable_hash;

    #[test]
    fn computes_fnv_1a() {
        assert_eq!(stable_hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(stable_hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
