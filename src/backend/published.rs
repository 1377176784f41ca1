//! What was found out once and holds for the life of the process.

use std::ptr;
use std::sync::{
    Mutex,
    atomic::{AtomicPtr, Ordering},
};

/// A map that only grows, read without a lock.
///
/// A value is complete before it can be seen: it is built by one thread at a time, and published by the release
/// store of `newest`, which readers load with acquire. Nothing is remembered of a value that could not be built.
pub struct Published<K: 'static, V: 'static> {
    newest: AtomicPtr<Node<K, V>>,
    builder: Mutex<()>,
}

/// Never changed after it is published, and never freed.
struct Node<K, V> {
    key: K,
    value: V,
    older: *const Node<K, V>,
}

#[allow(clippy::new_without_default)] // Only statics are made of it.
impl<K: PartialEq + 'static, V> Published<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self { newest: AtomicPtr::new(ptr::null_mut()), builder: Mutex::new(()) }
    }

    /// The value of `key`, built now if this is the first call for it that succeeds.
    ///
    /// Threads that come while one builds wait for it.
    pub fn get_or_try_build<E>(&self, key: K, build: impl FnOnce(&K) -> Result<V, E>) -> Result<&'static V, E> {
        if let Some(value) = self.get(&key) {
            return Ok(value);
        }
        // A build that panicked published nothing, so the poison says nothing.
        let _one_at_a_time = self.builder.lock().unwrap_or_else(|poison| poison.into_inner());
        if let Some(value) = self.get(&key) {
            return Ok(value);
        }
        let value = build(&key)?;
        let node = Box::leak(Box::new(Node { key, value, older: self.newest.load(Ordering::Relaxed) }));
        self.newest.store(node, Ordering::Release);
        Ok(&node.value)
    }

    fn get(&self, key: &K) -> Option<&'static V> {
        let mut next: *const Node<K, V> = self.newest.load(Ordering::Acquire);
        // SAFETY: a node is leaked, so it lives for ever; it was written before the release store of `newest` that the
        // acquire load above has read from, and is not written again.
        while let Some(node) = unsafe { next.as_ref() } {
            if node.key == *key {
                return Some(&node.value);
            }
            next = node.older;
        }
        None
    }
}

// SAFETY: a node is reached by shared reference only, from any thread (V: Sync), and may have been built on another (V: Send);
// keys are only compared (K: Sync) and are built where the value is (K: Send).
unsafe impl<K: Send + Sync, V: Send + Sync> Sync for Published<K, V> {}
// SAFETY: as above.
unsafe impl<K: Send + Sync, V: Send + Sync> Send for Published<K, V> {}
