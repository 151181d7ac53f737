//! A first look.
#[test]
fn scan_lists_this_crate() {
    let pool = sinew_pool::Pool::new("t", 2);
    let scan = sinew_walk::scan(
        &sinew_walk::ScanOptions::new(env!("CARGO_MANIFEST_DIR")),
        &pool,
        &sinew_base::Cancel::never(),
    )
    .unwrap();
    let paths: Vec<String> = scan.iter().map(|e| e.path().into_owned()).collect();
    let mut sorted = paths.clone();
    sorted.sort();
    assert_eq!(paths, sorted);
    assert!(paths.contains(&"src/lib.rs".to_string()), "{paths:?}");
}
