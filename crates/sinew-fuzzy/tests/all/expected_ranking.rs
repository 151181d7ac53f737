//! Compares the ranking with what users expect, over real paths (crates, npm, Python's library, the kernel).

use sinew_fuzzy::{Matcher, Query};

const PATHS: &str = include_str!("paths.txt");

/// Queries, and the path that a user expects for each.
const MEANT: &[(&str, &str)] = &[
    ("schedcore", "kernel/sched/core.c"),
    ("sched/core", "kernel/sched/core.c"),
    ("sched.h", "include/linux/sched.h"),
    ("ext4inode", "fs/ext4/inode.c"),
    ("mm/memory", "mm/memory.c"),
    ("mutex kernel", "kernel/locking/mutex.c"),
    ("e1000main", "drivers/net/ethernet/intel/e1000/e1000_main.c"),
    ("scsidebug", "drivers/scsi/scsi_debug.c"),
    ("sch_red_core", "tools/testing/selftests/drivers/net/mlxsw/sch_red_core.sh"),
    ("pathlib", "python/pathlib.py"),
    ("pathlib.py", "python/pathlib.py"),
    ("subprocess", "python/subprocess.py"),
    ("subproc", "python/subprocess.py"),
    ("functools", "python/functools.py"),
    ("fntools", "python/functools.py"),
    ("asyncio protocols", "python/asyncio/protocols.py"),
    ("protocols asyncio", "python/asyncio/protocols.py"),
    ("httpcookies", "python/http/cookies.py"),
    ("email/head", "python/email/header.py"),
    ("emailheader", "python/email/header.py"),
    ("zoneinfo common", "python/zoneinfo/_common.py"),
    ("importlib bootstrap", "python/importlib/_bootstrap.py"),
    ("tkdialog", "python/tkinter/dialog.py"),
    ("mpreduction", "python/multiprocessing/reduction.py"),
    ("weakref", "python/weakref.py"),
    ("waekref", "python/weakref.py"),
    ("npm.js", "npm/lib/npm.js"),
    ("logout", "npm/lib/commands/logout.js"),
    ("npm-link", "npm/docs/content/commands/npm-link.md"),
    ("valeng", "npm/lib/cli/validate-engines.js"),
    ("validateengines", "npm/lib/cli/validate-engines.js"),
    ("reifyout", "npm/lib/utils/reify-output.js"),
    ("depsel", "npm/docs/content/using-npm/dependency-selectors.md"),
    ("undeprecate", "npm/docs/content/commands/npm-undeprecate.md"),
    ("lib/commands/run", "npm/lib/commands/run.js"),
    ("fmtsearch", "npm/lib/utils/format-search-stream.js"),
    ("tcplistener", "vendor/tokio/src/net/tcp/listener.rs"),
    ("tcp/listener.rs", "vendor/tokio/src/net/tcp/listener.rs"),
    ("unix ucred", "vendor/tokio/src/net/unix/ucred.rs"),
    ("openoptions", "vendor/tokio/src/fs/open_options.rs"),
    ("open-options", "vendor/tokio/src/fs/open_options.rs"),
    ("asyncbufreadext", "vendor/tokio/src/io/util/async_buf_read_ext.rs"),
    ("abre", "vendor/tokio/src/io/util/async_buf_read_ext.rs"),
    ("parkinglot", "vendor/tokio/src/loom/std/parking_lot.rs"),
    ("mpscerror", "vendor/tokio/src/sync/mpsc/error.rs"),
    ("mpsc/err", "vendor/tokio/src/sync/mpsc/error.rs"),
    ("atomicwaker", "vendor/tokio/src/sync/task/atomic_waker.rs"),
    ("atmwkr", "vendor/tokio/src/sync/task/atomic_waker.rs"),
    ("timeout.rs", "vendor/tokio/src/time/timeout.rs"),
    ("tokio timeout", "vendor/tokio/src/time/timeout.rs"),
    ("rccell", "vendor/tokio/src/util/rc_cell.rs"),
    ("mtscheduler handle", "vendor/tokio/src/runtime/scheduler/multi_thread/handle.rs"),
    ("client_hello", "vendor/rustls/src/msgs/client_hello.rs"),
    ("clienthello", "vendor/rustls/src/msgs/client_hello.rs"),
    ("clinethello", "vendor/rustls/src/msgs/client_hello.rs"),
    ("early_exporter", "vendor/rustls/src/doc/early_exporter.md"),
    ("h1dispatch", "vendor/hyper/src/proto/h1/dispatch.rs"),
    ("conn/http1", "vendor/hyper/src/client/conn/http1.rs"),
    ("treebuilder data", "vendor/html5ever/src/tree_builder/data.rs"),
    ("sparseset", "vendor/regex-automata/src/util/sparse_set.rs"),
    ("sparse_set", "vendor/regex-automata/src/util/sparse_set.rs"),
    ("pikevm suite", "vendor/regex-automata/tests/nfa/thompson/pikevm/suite.rs"),
    ("automata escape", "vendor/regex-automata/src/util/escape.rs"),
    ("grepmacros", "vendor/grep-searcher/src/macros.rs"),
    ("map/entry", "vendor/indexmap/src/map/entry.rs"),
    ("indexmap entry", "vendor/indexmap/src/map/entry.rs"),
    ("textmetadata", "vendor/png/src/text_metadata.rs"),
    ("png text meta", "vendor/png/src/text_metadata.rs"),
    ("floatsamplers", "vendor/proptest/src/num/float_samplers.rs"),
    ("highlighter", "vendor/syntect/src/highlighting/highlighter.rs"),
    ("yamlload", "vendor/syntect/src/parsing/yaml_load.rs"),
    ("freebsd network", "vendor/sysinfo/src/unix/bsd/freebsd/network.rs"),
    ("windows disk", "vendor/sysinfo/src/windows/disk.rs"),
    ("s390x", "vendor/rustix/src/backend/linux_raw/arch/s390x.rs"),
    ("net/wsa", "vendor/rustix/src/net/wsa.rs"),
    ("kernel_sigset", "vendor/rustix/src/kernel_sigset.rs"),
    ("msync", "vendor/rustix/src/mm/msync.rs"),
    ("jsvalues date", "vendor/napi/src/bindgen_runtime/js_values/date.rs"),
    ("taggedobject", "vendor/napi/src/js_values/tagged_object.rs"),
    ("lexexponent", "vendor/serde_json/src/lexical/exponent.rs"),
    ("wasm32memchr", "vendor/memchr/src/arch/wasm32/memchr.rs"),
    ("globset UNLICENSE", "vendor/globset/UNLICENSE"),
    ("serde_json/read", "vendor/serde_json/src/read.rs"),
    ("ignore walk", "vendor/ignore/src/walk.rs"),
];

/// Returns the rank of `target`, from 1; `None` if it is not found.
fn place(query: &str, target: &str) -> Option<usize> {
    let query = Query::new(query);
    let mut best = rank(&mut Matcher::new(&query));
    if best.first().is_none_or(|path| !Matcher::new(&query).is_clean(path)) {
        best = rank(&mut Matcher::new(&query).with_typos());
    }
    best.iter().position(|path| *path == target).map(|at| at + 1)
}

fn rank(matcher: &mut Matcher<'_>) -> Vec<&'static str> {
    let mut found: Vec<_> = PATHS.lines().filter_map(|path| Some((-matcher.score(path)?, path.len(), path))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, _, path)| path).collect()
}

#[test]
fn ranks_expected_paths_first() {
    let mut sum = 0.0;
    let mut late = Vec::new();
    for (query, target) in MEANT {
        assert!(PATHS.lines().any(|path| path == *target), "{target} is not in the list");
        let place = place(query, target);
        sum += place.map_or(0.0, |place| 1.0 / place as f64);
        if place != Some(1) {
            late.push(format!("{query:?} puts {target} at {place:?}"));
        }
    }
    let rate = sum / MEANT.len() as f64;
    assert!(rate >= 0.9, "the mean reciprocal rank is {rate:.3}:\n{}", late.join("\n"));
}
