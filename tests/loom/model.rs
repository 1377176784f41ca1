//! Every order in which threads can run through `published.rs`, tried by loom. Built and run by `tests/publication.rs`.

mod published;

use std::sync::atomic::{AtomicUsize, Ordering};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use published::Published;

/// A value that is written after it was made. Loom fails if a thread can read it without having to see the write.
struct Table(UnsafeCell<u32>);

// SAFETY: written in `build` only, before it is published; loom checks that.
unsafe impl Sync for Table {}

impl Table {
    fn build(number: u32) -> Self {
        let table = Self(UnsafeCell::new(0));
        // SAFETY: nobody else has it yet.
        table.0.with_mut(|value| unsafe { *value = number });
        table
    }

    fn read(&self) -> u32 {
        // SAFETY: never written again.
        self.0.with(|value| unsafe { *value })
    }
}

/// Counts in a plain atomic: it must not synchronise the threads for loom.
#[derive(Default)]
struct Counts {
    builds: AtomicUsize,
}

fn get(published: &Published<u32, Table>, key: u32, counts: &Counts) -> *const Table {
    let table = published.get_or_try_build(key, |key| {
        counts.builds.fetch_add(1, Ordering::Relaxed);
        Ok::<_, ()>(Table::build(key * 10))
    });
    let table = table.unwrap();
    assert_eq!(table.read(), key * 10);
    table
}

/// Runs `get` for each key on a thread of its own, the last on this one, and gives what each got and how often was built.
fn race(keys: &'static [u32]) -> (Vec<usize>, usize) {
    let shared = Arc::new((Published::new(), Counts::default()));
    let (last, others) = keys.split_last().unwrap();
    let threads: Vec<_> = others
        .iter()
        .map(|key| {
            let shared = shared.clone();
            thread::spawn(move || get(&shared.0, *key, &shared.1) as usize)
        })
        .collect();
    let mut tables = vec![get(&shared.0, *last, &shared.1) as usize];
    tables.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
    (tables, shared.1.builds.load(Ordering::Relaxed))
}

#[test]
fn two_threads_get_one_whole_table() {
    loom::model(|| {
        let (tables, builds) = race(&[1, 1]);
        assert_eq!((tables[0], builds), (tables[1], 1));
    });
}

#[test]
fn three_threads_get_one_whole_table() {
    loom::model(|| {
        let (tables, builds) = race(&[1, 1, 1]);
        assert_eq!((tables[0], tables[0], builds), (tables[1], tables[2], 1));
    });
}

#[test]
fn two_tables_live_side_by_side() {
    loom::model(|| {
        let (tables, builds) = race(&[2, 1, 1]);
        assert_eq!((tables[0], builds), (tables[2], 2));
        assert_ne!(tables[0], tables[1]);
    });
}

#[test]
fn a_failure_is_not_remembered() {
    loom::model(|| {
        let shared = Arc::new((Published::new(), Counts::default()));
        let failing = {
            let shared = shared.clone();
            thread::spawn(move || shared.0.get_or_try_build(1, |_| Err("not there")).map(Table::read))
        };
        get(&shared.0, 1, &shared.1);
        // The other thread failed, or came after the success.
        assert!(matches!(failing.join().unwrap(), Err("not there") | Ok(10)));
        get(&shared.0, 1, &shared.1);
        assert_eq!(shared.1.builds.load(Ordering::Relaxed), 1);
    });
}
