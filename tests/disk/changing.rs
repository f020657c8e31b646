//! A source that changes while it is copied.

use std::fs::{self, File};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_roots_oracle::poison::no_wait;

use crate::open;

/// A source that changes while it is copied: the copy ends, and has no more than the source had.
fn copy_of_a_changing_source(change: impl Fn(&mut File) + Sync) -> Vec<u64> {
    const LEN: usize = 16 << 20;
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tree")).unwrap();
    let source = folder.path().join("tree/source");
    fs::write(&source, vec![b's'; LEN]).unwrap();
    let roots = open(folder.path());
    let mut sizes = Vec::new();
    no_wait(|| {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut file = File::options().append(true).open(&source).unwrap();
                while !done.load(Ordering::Relaxed) {
                    change(&mut file);
                }
            });
            for round in 0..20 {
                let copied = if round % 2 == 0 { roots.copy("tree/source", "copy") } else { roots.copy("tree", "copy") }.unwrap();
                let copy = folder.path().join(if round % 2 == 0 { "copy" } else { "copy/source" });
                assert_eq!(fs::metadata(copy).unwrap().len(), copied.bytes);
                sizes.push(copied.bytes);
                let _ = roots.remove_file("copy").or_else(|_| roots.remove_dir_all("copy"));
            }
            done.store(true, Ordering::Relaxed);
        });
    });
    sizes
}

#[test]
fn a_source_that_shrinks_ends() {
    let sizes = copy_of_a_changing_source(|file| {
        for len in [16 << 20, 8 << 20, 1 << 20, 0] {
            file.set_len(len).unwrap();
            std::thread::yield_now();
        }
    });
    println!("copies of a source that shrinks: {sizes:?}");
    assert!(sizes.iter().all(|size| *size <= 16 << 20));
}

#[test]
fn a_source_that_grows_ends() {
    let sizes = copy_of_a_changing_source(|file| {
        if file.metadata().unwrap().len() < 64 << 20 {
            file.write_all(&[b'g'; 1 << 16]).unwrap();
        } else {
            file.set_len(16 << 20).unwrap();
        }
    });
    println!("copies of a source that grows: {sizes:?}");
}
