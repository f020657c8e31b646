//! Threads that change the same names at once, from one barrier: nothing is lost and nothing is torn.

use std::collections::HashSet;
use std::fs;
use std::sync::Barrier;
use std::time::Instant;

use cap_roots_oracle::tree::Tree;

use crate::WAYS;
use crate::support::{code, roots};

const THREADS: [usize; 3] = [2, 4, 8];

/// The file by all its spellings; a thread uses one after the other.
fn spellings(tree: &Tree) -> Vec<String> {
    let host = tree.root().join("a/file");
    ["a/file", "a//./file", "a/b/../file", "link", "a/up", "up/file", "root://root/a/file", "root://root/link"]
        .map(str::to_owned)
        .into_iter()
        .chain([host.to_str().unwrap().to_owned()])
        .collect()
}

fn tree() -> Tree {
    Tree::build(["file a/file=", "dir a/b", "link link -> a/file", "link a/up -> ../link", "link up -> a"]).unwrap()
}

/// `work` on every thread with its number, all from one barrier.
fn together(threads: usize, work: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        for number in 0..threads {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(number);
            });
        }
    });
}

fn by_all(name: &str, mut run: impl FnMut(crate::Way, usize) -> usize) {
    for (way_name, way) in WAYS {
        for threads in THREADS {
            let begin = Instant::now();
            let count = run(way, threads);
            println!("{name}, {way_name}: {count} operations of {threads} threads, {:.1} s", begin.elapsed().as_secs_f32());
        }
    }
}

#[test]
fn every_appended_line_is_there() {
    const LINES: usize = 200;
    by_all("append in parallel", |way, threads| {
        let tree = tree();
        let (roots, spellings) = (roots(&tree, way), spellings(&tree));
        together(threads, |number| {
            for line in 0..LINES {
                let path = &spellings[(number + line) % spellings.len()];
                // Long enough not to fit into one page.
                roots.append(path, format!("{number} {line} {}\n", "x".repeat(5_000))).unwrap();
            }
        });
        let text = fs::read_to_string(tree.root().join("a/file")).unwrap();
        let mut last = vec![None; threads];
        for line in text.lines() {
            let [number, line, filling] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("torn: {line:.40}") };
            let (number, line): (usize, usize) = (number.parse().unwrap(), line.parse().unwrap());
            assert_eq!(filling.len(), 5_000, "torn");
            assert!(last[number].replace(line) < Some(line), "lines of one thread come in its order");
        }
        assert_eq!(text.lines().count(), threads * LINES);
        threads * LINES
    });
}

#[test]
fn every_update_counts() {
    const UPDATES: usize = 50;
    by_all("update in parallel", |way, threads| {
        let tree = tree();
        let (roots, spellings) = (roots(&tree, way), spellings(&tree));
        roots.write("a/file", "0").unwrap();
        together(threads, |number| {
            for round in 0..UPDATES {
                let count = |old: Vec<u8>| {
                    let count: usize = String::from_utf8(old).unwrap().parse().unwrap();
                    Ok((count + 1).to_string().into_bytes())
                };
                roots.update(&spellings[(number + round) % spellings.len()], count).unwrap();
            }
        });
        assert_eq!(roots.read_to_string("a/file").unwrap(), (threads * UPDATES).to_string());
        threads * UPDATES
    });
}

/// Readers beside the writers see one whole text each time.
#[test]
fn no_file_is_torn() {
    const WRITES: usize = 50;
    const LEN: usize = 300_000;
    by_all("write in parallel", |way, threads| {
        let tree = tree();
        let (roots, spellings) = (roots(&tree, way), spellings(&tree));
        roots.write("a/file", vec![b'a'; LEN]).unwrap();
        let seen = std::sync::Mutex::new(HashSet::new());
        together(threads + 1, |number| {
            for round in 0..WRITES {
                let path = &spellings[(number + round) % spellings.len()];
                if number < threads {
                    let letter = b'a' + u8::try_from(number).unwrap();
                    roots.write(path, vec![letter; LEN]).unwrap();
                } else {
                    let bytes = roots.read(path).unwrap();
                    assert!(bytes.len() == LEN && bytes.iter().all(|byte| *byte == bytes[0]), "torn");
                    seen.lock().unwrap().insert(bytes[0]);
                }
            }
        });
        let bytes = fs::read(tree.root().join("a/file")).unwrap();
        assert!(bytes.len() == LEN && bytes.iter().all(|byte| *byte == bytes[0]), "torn");
        let names: Vec<_> = fs::read_dir(tree.root().join("a")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        threads * WRITES
    });
}

/// Each of them is told that the directory is there.
#[test]
fn create_dir_all_of_one_path() {
    const ROUNDS: usize = 200;
    by_all("create_dir_all in parallel", |way, threads| {
        let tree = tree();
        let roots = roots(&tree, way);
        let codes = std::sync::Mutex::new(std::collections::BTreeMap::<&str, usize>::new());
        let barrier = Barrier::new(threads);
        together(threads, |_| {
            for round in 0..ROUNDS {
                barrier.wait();
                let outcome = roots.create_dir_all(format!("made-{round}/b/c/d"));
                *codes.lock().unwrap().entry(code(outcome)).or_insert(0) += 1;
            }
        });
        for round in 0..ROUNDS {
            assert!(tree.root().join(format!("made-{round}/b/c/d")).is_dir());
        }
        let codes = codes.into_inner().unwrap();
        assert_eq!(codes.keys().copied().collect::<Vec<_>>(), ["ok"], "{codes:?}");
        threads * ROUNDS
    });
}

/// Paths that share their beginning, each with an end of its own.
#[test]
fn create_dir_all_of_paths_that_share_their_beginning() {
    const ROUNDS: usize = 200;
    by_all("create_dir_all, shared beginning", |way, threads| {
        let tree = tree();
        let roots = roots(&tree, way);
        let refusals = std::sync::Mutex::new(Vec::new());
        let barrier = Barrier::new(threads);
        together(threads, |number| {
            for round in 0..ROUNDS {
                barrier.wait();
                if let Err(error) = roots.create_dir_all(format!("made-{round}/b/c/{number}")) {
                    refusals.lock().unwrap().push(error.code());
                }
            }
        });
        let refusals = refusals.into_inner().unwrap();
        assert!(refusals.is_empty(), "{threads} threads: {refusals:?}");
        for path in (0..ROUNDS).flat_map(|round| (0..threads).map(move |number| format!("made-{round}/b/c/{number}"))) {
            assert!(tree.root().join(path).is_dir());
        }
        threads * ROUNDS
    });
}
