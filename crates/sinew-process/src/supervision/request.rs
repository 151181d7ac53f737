//! The encoded request to start a program under the keeper.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::ProgramSpec;

/// Increased with every change of the format: the keeper's program file may have been replaced while this program runs.
const VERSION: u8 = 1;

/// The size of the length prefix of every request.
pub(super) const LENGTH_BYTES: usize = 4;

/// The maximum size of all arguments and variables together; the system has a similar limit.
const LIMIT: usize = 8 * 1024 * 1024;

pub(super) fn encode(program: &ProgramSpec) -> io::Result<Vec<u8>> {
    let mut body = vec![VERSION];
    let mut put = |text: &OsStr| {
        body.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_ne_bytes());
        body.extend_from_slice(text.as_bytes());
    };
    put(program.cwd.as_deref().unwrap_or("".as_ref()).as_os_str());
    put(&program.program);
    put(OsStr::new(&program.args.len().to_string()));
    program.args.iter().for_each(|arg| put(arg));
    for (name, value) in &program.env {
        put(name);
        put(value);
    }
    if body.len() > LIMIT {
        return Err(io::ErrorKind::ArgumentListTooLong.into());
    }
    let mut bytes = u32::try_from(body.len()).unwrap_or(u32::MAX).to_ne_bytes().to_vec();
    bytes.append(&mut body);
    Ok(bytes)
}

/// Reads a request whose first bytes were already received.
pub(super) fn read(mut first: Vec<u8>, from: &mut impl Read) -> io::Result<ProgramSpec> {
    let mut more = |bytes: &mut Vec<u8>, count: usize| -> io::Result<()> {
        let have = bytes.len();
        if have < count {
            bytes.resize(count, 0);
            from.read_exact(&mut bytes[have..])?;
        }
        Ok(())
    };
    more(&mut first, LENGTH_BYTES)?;
    let mut body = first.split_off(LENGTH_BYTES);
    let length = first.try_into().map_or(usize::MAX, |bytes: [u8; LENGTH_BYTES]| u32::from_ne_bytes(bytes) as usize);
    if length > LIMIT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    more(&mut body, length)?;
    decode(&body).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn decode(body: &[u8]) -> Option<ProgramSpec> {
    let (&version, mut rest) = body.split_first()?;
    if version != VERSION {
        return None;
    }
    let mut texts = Vec::new();
    while !rest.is_empty() {
        let (length, behind) = rest.split_first_chunk()?;
        let (text, behind) = behind.split_at_checked(u32::from_ne_bytes(*length) as usize)?;
        texts.push(OsString::from_vec(text.to_vec()));
        rest = behind;
    }
    let mut texts = texts.into_iter();
    let cwd = Some(PathBuf::from(texts.next()?)).filter(|cwd| !cwd.as_os_str().is_empty());
    let program = texts.next()?;
    let count: usize = texts.next()?.to_str()?.parse().ok()?;
    let args: Vec<OsString> = texts.by_ref().take(count).collect();
    let mut env = Vec::new();
    while let Some(name) = texts.next() {
        env.push((name, texts.next()?));
    }
    (args.len() == count).then_some(ProgramSpec { program, args, env, cwd })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_round_trip_however_they_are_split() {
        let program = ProgramSpec {
            program: "sh".into(),
            args: vec!["-c".into(), "".into(), OsString::from_vec(vec![0xFF, b'=', b'\n'])],
            env: vec![("A".into(), "".into()), ("B".into(), "2".into())],
            cwd: Some("/tmp".into()),
        };
        let bytes = encode(&program).unwrap();
        for cut in 0..=bytes.len() {
            let read = read(bytes[..cut].to_vec(), &mut &bytes[cut..]).unwrap();
            assert_eq!(read, program, "cut at {cut}");
        }
        assert!(read(bytes[..bytes.len() - 1].to_vec(), &mut io::empty()).is_err());
    }

    #[test]
    fn rejects_requests_of_another_version() {
        let mut bytes = encode(&ProgramSpec::default()).unwrap();
        bytes[LENGTH_BYTES] = 9;
        assert_eq!(read(bytes, &mut io::empty()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
