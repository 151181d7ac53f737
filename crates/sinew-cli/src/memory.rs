//! Memory that is held although nobody uses it.

/// Gives back what a start, or the reading of a long session, leaves behind: freed memory, which glibc keeps for later, and
/// pages of the program itself that only the start has used. To be called off the thread of the screen; it takes about a
/// millisecond.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it takes the allocator's own locks, and may be called from any thread at any time.
        unsafe { libc::malloc_trim(0) };
        // SAFETY: the callback gets what it is documented to get, and keeps none of it.
        unsafe { libc::dl_iterate_phdr(Some(forget_pages), std::ptr::null_mut()) };
    }
}

/// Unmaps the pages of the program that cannot be written: the relocations that the loader went through, the code of the
/// start, and what the system mapped around it unasked. They are pages of a file, so that those which are used again come
/// back by themselves.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" fn forget_pages(object: *mut libc::dl_phdr_info, _: usize, _: *mut libc::c_void) -> libc::c_int {
    let page = rustix::param::page_size();
    // SAFETY: the loader gives a valid object with that many headers.
    let (base, headers) = unsafe {
        let object = &*object;
        (object.dlpi_addr as usize, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
    };
    // What the loader has changed lies in segments that can be written, also where it was made read-only later.
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0) {
        let begin = (base + header.p_vaddr as usize).next_multiple_of(page);
        let end = (base + (header.p_vaddr + header.p_filesz) as usize) / page * page;
        if begin < end {
            // SAFETY: these pages are private, unchanged pages of a file: they read the same after it.
            let forgotten = unsafe {
                let pages = std::ptr::without_provenance_mut(begin);
                rustix::mm::madvise(pages, end - begin, rustix::mm::Advice::LinuxDontNeed)
            };
            debug_assert!(forgotten.is_ok(), "{forgotten:?}");
        }
    }
    // The program comes first; the libraries behind it are shared with others.
    1
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_again_is_as_it_was_while_other_threads_work() {
        let words: Vec<String> =
            (0..1_000_u16).map(|number| format!("{number:?} {}", char::from(b'a' + (number % 26) as u8))).collect();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let sorted: std::collections::BTreeSet<&str> = words.iter().map(String::as_str).collect();
                        assert_eq!(sorted.len(), words.len());
                    }
                });
            }
            for _ in 0..200 {
                give_back();
            }
        });
    }
}
