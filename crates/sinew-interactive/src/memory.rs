//! Returns unused memory to the system.

/// Returns the memory that a start, or reading a long session, leaves unused: freed memory that glibc keeps, and pages
/// of the program that only the start used. Takes about a millisecond; must not be called on the thread of the screen.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: the function takes the allocator's locks, and may be called from any thread at any time.
        unsafe { libc::malloc_trim(0) };
        // SAFETY: the callback receives its documented arguments, and keeps none of them.
        unsafe { libc::dl_iterate_phdr(Some(forget_pages), std::ptr::null_mut()) };
    }
}

/// Unmaps the read-only pages of the program: relocations that the loader has processed, the code of the start, and
/// pages that the system mapped around them. They are backed by a file, so pages that are used again are loaded again.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" fn forget_pages(object: *mut libc::dl_phdr_info, _: usize, _: *mut libc::c_void) -> libc::c_int {
    let page = rustix::param::page_size();
    // SAFETY: the loader passes a valid object with that many headers.
    let (base, headers) = unsafe {
        let object = &*object;
        (object.dlpi_addr as usize, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
    };
    // Pages that the loader changed are in writable segments, even if they were made read-only later.
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0) {
        let begin = (base + header.p_vaddr as usize).next_multiple_of(page);
        let end = (base + (header.p_vaddr + header.p_filesz) as usize) / page * page;
        if begin < end {
            // SAFETY: these are private, unchanged pages of a file, so they have the same contents afterwards.
            let forgotten = unsafe {
                let pages = std::ptr::without_provenance_mut(begin);
                rustix::mm::madvise(pages, end - begin, rustix::mm::Advice::LinuxDontNeed)
            };
            debug_assert!(forgotten.is_ok(), "{forgotten:?}");
        }
    }
    // Stops after the program, which is first, because the libraries are shared with other processes.
    1
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn released_pages_keep_their_contents_while_other_threads_work() {
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
