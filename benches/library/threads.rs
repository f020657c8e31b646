//! Two threads that open, beside one.

use std::fs;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::reading::by_hand;
use crate::setting::{Setting, free, path, ruled};
use crate::turns::Spread;

/// Short, so that there are rounds in which nothing else wants one of the processors.
const ROUNDS: usize = 801;
const OPENS: u32 = 300;

/// Opens the file of the thread with this number.
type Open<'a> = Box<dyn Fn(usize) + Sync + 'a>;

/// For each candidate how many times the rate of one thread two threads have, each with a file of its own.
pub fn opening(wanted: &dyn Fn(&str) -> bool) {
    let title = "two threads opening, as a multiple of one thread's rate";
    if !wanted(title) {
        return;
    }
    let setting = Setting::new();
    let root = &setting.root;
    let paths = [path(4), "d1/d2/d3/other".to_owned()];
    fs::write(root.join(&paths[1]), "x").unwrap();
    let absolute = paths.each_ref().map(|path| root.join(path));
    let (free, ruled) = (free(root), ruled(root));
    let held = fs::File::open(root).unwrap();
    let candidates: [(&str, Open<'_>); 4] = [
        ("std::fs on the absolute path", Box::new(move |own| drop(black_box(fs::File::open(&absolute[own]).unwrap())))),
        ("openat2 and fstat by hand", Box::new(|own| drop(black_box(by_hand(&held, &paths[own]))))),
        ("cap-roots", Box::new(|own| drop(black_box(free.open(&*paths[own]).unwrap())))),
        ("cap-roots with 20 rules", Box::new(|own| drop(black_box(ruled.open(&*paths[own]).unwrap())))),
    ];
    let mut multiples = candidates.each_ref().map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((_, open), multiples) in candidates.iter().zip(&mut multiples) {
            multiples.push(2.0 * run(1, open) / run(2, open));
        }
    }
    println!("\n| {title} | |\n| --- | --- |");
    for ((name, _), multiples) in candidates.iter().zip(multiples) {
        println!("| {name} | {} |", Spread::of(multiples.into_iter()));
    }
}

/// How long it takes until all have done their part.
fn run(threads: usize, open: &(dyn Fn(usize) + Sync)) -> f64 {
    let waiting = AtomicUsize::new(threads);
    let times: Vec<f64> = std::thread::scope(|scope| {
        let work = |own| {
            waiting.fetch_sub(1, Ordering::SeqCst);
            while waiting.load(Ordering::SeqCst) > 0 {
                std::hint::spin_loop();
            }
            let begin = Instant::now();
            (0..OPENS).for_each(|_| open(own));
            begin.elapsed().as_secs_f64()
        };
        let all: Vec<_> = (0..threads).map(|own| scope.spawn(move || work(own))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    times.into_iter().fold(0.0, f64::max)
}
