//! Connections, and the threads that share them.

use std::num::NonZero;

use crate::error::Error;

/// Connections, and the threads that share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// The most requests in flight.
    pub connections: usize,
    /// 1, or as many as there are cores to spare.
    pub threads: NonZero<usize>,
}

impl From<usize> for Width {
    fn from(connections: usize) -> Self {
        Self { connections, threads: NonZero::<usize>::MIN }
    }
}

impl Width {
    /// So many connections on so many threads.
    ///
    /// # Errors
    /// [`Error::Invalid`]: no thread, or more of them than connections.
    pub fn new(connections: usize, threads: usize) -> Result<Self, Error> {
        let threads = NonZero::new(threads).ok_or_else(|| Error::Invalid("threads must be at least 1".into()))?;
        if threads.get() > connections.max(1) {
            return Err(Error::Invalid(format!(
                "{threads} threads for {connections} connections: each thread needs one of its own"
            )));
        }
        Ok(Self { connections, threads })
    }

    /// The connections of one thread.
    pub(crate) fn of(self, thread: usize) -> usize {
        self.connections / self.threads + usize::from(thread < self.connections % self.threads)
    }

    /// The rows of one thread, ascending.
    pub(crate) fn rows(self, thread: usize, rows: usize) -> Vec<usize> {
        (0..rows).filter(|row| row % self.connections % self.threads == thread).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_and_every_connection_belongs_to_one_thread() {
        for (connections, threads, rows) in [(1, 1, 5), (4, 2, 10), (5, 2, 11), (7, 3, 100), (3, 3, 1), (2, 2, 0)] {
            let width = Width::new(connections, threads).unwrap();
            let mut dealt: Vec<usize> = (0..threads).flat_map(|thread| width.rows(thread, rows)).collect();
            dealt.sort_unstable();
            assert_eq!(dealt, (0..rows).collect::<Vec<_>>());
            assert_eq!((0..threads).map(|thread| width.of(thread)).sum::<usize>(), connections);
        }
    }

    #[test]
    fn rows_are_dealt_in_proportion_to_connections() {
        let width = Width::new(3, 2).unwrap();
        assert_eq!((width.of(0), width.of(1)), (2, 1));
        assert_eq!((width.rows(0, 9), width.rows(1, 9)), (vec![0, 2, 3, 5, 6, 8], vec![1, 4, 7]));
    }

    #[test]
    fn a_thread_needs_a_connection() {
        for (connections, threads) in [(1, 0), (1, 2), (0, 2)] {
            assert!(Width::new(connections, threads).is_err(), "{connections} {threads}");
        }
    }
}
