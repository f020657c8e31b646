//! Turns on the threads of a test's runtime.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use super::*;

const HANG: Duration = Duration::from_secs(10);

fn needs(roots: &[&str], length: Length) -> Needs {
    Needs { roots: roots.iter().map(|&root| root.to_owned()).collect(), length }
}

fn short(roots: &[&str]) -> Needs {
    needs(roots, Length::Short)
}

/// The turn, if it is free.
fn at_once(turns: &Turns, needs: Needs) -> Option<Turn> {
    let needs = turns.reserve(&mut turns.state(), &needs)?;
    Some(turns.turn(needs))
}

/// The turn, once it is there.
async fn take(turns: &Turns, needs: Needs) -> Turn {
    turns.run(needs, || (), |()| true).await.unwrap().1.unwrap()
}

fn fill(turns: &Turns, roots: &[&str], length: Length) -> Vec<Turn> {
    std::iter::from_fn(|| at_once(turns, needs(roots, length))).collect()
}

/// Whatever can be done without the places that are held.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// Catches: one pool of places for all roots, places that long calls fill up, and calls in two roots that fill up both.
#[tokio::test]
async fn a_root_that_hangs_keeps_its_own_calls_only() {
    for roots in [1, 2, 31, 100, 1000] {
        let turns = Turns::new(roots);
        let wide = fill(&turns, &["a", "b"], Length::Short);
        let long = fill(&turns, &["a"], Length::Long);
        let quick = fill(&turns, &["a"], Length::Short);
        assert!(!wide.is_empty() && !quick.is_empty(), "{roots}");
        assert!(quick.len() >= turns.0.places / 2 && wide.len() + long.len() <= turns.0.places.div_ceil(2), "{roots}");
        assert_eq!(wide.len() + long.len() + quick.len(), turns.0.places, "{roots}");
        for other in [&["b"][..], &[]] {
            assert!(at_once(&turns, short(other)).is_some(), "{roots} {other:?}");
        }
        // All of them wait for the one that is full, and keep nobody else from the others.
        let waiting: Vec<_> = (0..50)
            .map(|_| {
                let turns = turns.clone();
                tokio::spawn(async move { take(&turns, short(&["a", "b"])).await })
            })
            .collect();
        settle().await;
        assert!(at_once(&turns, short(&["b"])).is_some(), "{roots}");
        drop((wide, long, quick));
        for waits in waiting {
            timeout(HANG, waits).await.unwrap().unwrap();
        }
    }
}

/// Catches: a place that goes to a call that was withdrawn while it waited, and is lost with it.
#[tokio::test]
async fn who_is_gone_takes_no_place() {
    let turns = Turns::new(1);
    let held = fill(&turns, &["a"], Length::Short);
    {
        let mut gone = pin!(take(&turns, short(&["a"])));
        assert!(timeout(Duration::from_millis(20), &mut gone).await.is_err());
    }
    drop(held);
    assert_eq!(fill(&turns, &["a"], Length::Short).len(), PLACES);
}

/// Catches: two calls that wait for each other, each with a place that the other one needs.
#[tokio::test]
async fn calls_in_several_roots_do_not_wait_for_each_other() {
    let turns = Turns::new(3);
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let turns = turns.clone();
            let roots = [&["a", "b"][..], &["b", "c"], &["c", "a"], &["a", "b", "c"]][number % 4];
            tokio::spawn(async move {
                let turn = take(&turns, needs(roots, if number % 3 == 0 { Length::Long } else { Length::Short })).await;
                tokio::task::yield_now().await;
                drop(turn);
            })
        })
        .collect();
    for call in calls {
        timeout(HANG, call).await.unwrap().unwrap();
    }
}

/// Catches: more places than threads, so that a root that hangs has the threads of another one, and a call that waits for itself.
#[tokio::test]
async fn there_are_never_more_calls_than_threads() {
    let turns = Turns::new(2);
    let mut held = Vec::new();
    for number in 0..40 {
        let root = format!("root-{number}");
        held.extend(fill(&turns, &[&root], Length::Short));
    }
    held.extend(fill(&turns, &[], Length::Short));
    assert_eq!(held.len(), turns.most());
    drop(held);
    let many = Needs { roots: (0..40).map(|number| format!("root-{number}")).collect(), length: Length::Long };
    assert!(at_once(&turns, many).is_some());
    assert_eq!(turns.state().taken.len(), 0);
}

/// Catches: an end that does not wait for the threads that still change something.
#[tokio::test]
async fn idle_is_when_nobody_works() {
    let turns = Turns::new(1);
    let (go, wait) = std::sync::mpsc::channel::<()>();
    // Nobody waits for it any more.
    drop(turns.begin(
        short(&["a"]),
        Box::new(move |_| {
            let _ = wait.recv();
        }),
    ));
    assert!(timeout(Duration::from_millis(20), turns.idle()).await.is_err());
    drop(go);
    timeout(HANG, turns.idle()).await.unwrap();
}

/// Catches: what a call holds, kept behind a root that hangs after the call was withdrawn.
#[tokio::test]
async fn who_is_gone_holds_nothing() {
    let turns = Turns::new(1);
    let held = fill(&turns, &["a"], Length::Short);
    let large = Arc::new(());
    for _ in 0..100 {
        let argument = Arc::clone(&large);
        let mut gone = pin!(turns.run(short(&["a"]), move || drop(argument), |()| false));
        assert!(timeout(Duration::from_millis(1), &mut gone).await.is_err());
    }
    assert_eq!(Arc::strong_count(&large), 1);
    drop(held);
    assert_eq!(turns.state().taken.len(), 0);
}

/// Catches: lines that are served one after the other, so that whoever came first to one that is short waits for all of a long one; and the last
/// in, first.
#[tokio::test]
async fn the_order_is_that_of_arrival() {
    // Two places in each root.
    let turns = Turns::new(1000);
    let held = fill(&turns, &["a"], Length::Short);
    let order = Arc::new(Mutex::new(Vec::new()));
    let lengths = [Length::Short, Length::Short, Length::Long, Length::Short, Length::Long, Length::Short];
    let waiting: Vec<_> = lengths
        .into_iter()
        .enumerate()
        .map(|(number, length)| {
            let order = Arc::clone(&order);
            turns.begin(needs(&["a"], length), Box::new(move |_| order.lock().unwrap().push(number)))
        })
        .collect();
    // One place alone is free from now on, so one thread takes them all.
    let mut held = held.into_iter();
    drop(held.next());
    while order.lock().unwrap().len() < lengths.len() {
        tokio::task::yield_now().await;
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
    drop((waiting, held));
}

/// Catches: a call that panics and takes its places, or those who wait for them, with it.
#[tokio::test]
async fn a_panic_is_the_end_of_one_call() {
    let turns = Turns::new(1000);
    let held = fill(&turns, &["a"], Length::Short);
    let mut bad = pin!(turns.run(short(&["a"]), || panic!("as the test wants it"), |()| false));
    assert!(timeout(Duration::from_millis(20), &mut bad).await.is_err());
    let mut good = pin!(turns.run(short(&["a"]), || 5, |_| false));
    assert!(timeout(Duration::from_millis(20), &mut good).await.is_err());
    drop(held);
    assert!(timeout(HANG, bad).await.unwrap().is_none());
    assert!(matches!(timeout(HANG, good).await.unwrap(), Some((5, None))));
    timeout(HANG, turns.idle()).await.unwrap();
    assert_eq!(turns.state().taken.len(), 0);
}

/// Catches: a call that waits for threads at work which never come back.
#[tokio::test]
async fn threads_that_hang_are_not_waited_for() {
    let turns = Turns::with(1, 2);
    let stops: Vec<_> = (0..2)
        .map(|_| {
            let (go, wait) = std::sync::mpsc::channel::<()>();
            drop(turns.begin(
                short(&["a"]),
                Box::new(move |_| {
                    let _ = wait.recv();
                }),
            ));
            go
        })
        .collect();
    // At once behind the second, so that it seems to get on.
    for root in ["a", "b", "a"] {
        turns.state().moved = Some(Instant::now());
        let outcome = timeout(HANG, turns.run(short(&[root]), || 5, |_| false)).await.unwrap();
        assert!(matches!(outcome, Some((5, None))));
    }
    drop(stops);
    timeout(HANG, turns.idle()).await.unwrap();
    assert_eq!(turns.state().brisk, 0);
}

/// Catches: a call that waits behind one that was left waiting for a thread and is taken back, though there are places for it.
#[tokio::test]
async fn who_is_behind_one_that_is_gone_is_not_forgotten() {
    let turns = Turns::with(2, 1);
    let (go, wait) = std::sync::mpsc::channel::<()>();
    // The one thread hangs in another root.
    drop(turns.begin(
        short(&["a"]),
        Box::new(move |_| {
            let _ = wait.recv();
        }),
    ));
    let until = Some(Instant::now() + HANG);
    let patient = turns.state().waiting.push(short(&["b"]), Box::new(|_| ()), Handle::current(), until);
    turns.state().moved = None;
    let mut behind = pin!(turns.run(short(&["b"]), || 5, |_| false));
    // Once, so that it does not look after it before that one is gone.
    assert!(poll_fn(|context| Poll::Ready(behind.as_mut().poll(context).is_pending())).await);
    drop(patient);
    let outcome = timeout(HANG / 2, behind).await.expect("it is forgotten");
    assert!(matches!(outcome, Some((5, None))));
    drop(go);
    timeout(HANG, turns.idle()).await.unwrap();
}

/// Catches: a thread for each call, though those that are there get on; and one that leaves such calls behind.
#[tokio::test]
async fn threads_that_get_on_take_what_waits() {
    let turns = Turns::with(1, 1);
    let (go, wait) = std::sync::mpsc::channel::<()>();
    drop(turns.begin(
        short(&["a"]),
        Box::new(move |_| {
            let _ = wait.recv();
        }),
    ));
    turns.state().moved = Some(Instant::now() + HANG);
    let done = Arc::new(Mutex::new(0));
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            let done = Arc::clone(&done);
            turns.begin(short(&["a"]), Box::new(move |_| *done.lock().unwrap() += 1))
        })
        .collect();
    assert!(waiting.iter().all(Option::is_some));
    assert_eq!(*turns.0.working.borrow(), 1);
    drop(go);
    timeout(HANG, turns.idle()).await.unwrap();
    assert_eq!(*done.lock().unwrap(), 5);
}
