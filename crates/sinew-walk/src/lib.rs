//! Directory walks, ignore rules, globs and the scan cache.
