//! One run of a pool of workers, request by request: a queue first come first served, before workers that share one
//! speed.
//!
//! At most m requests are in service. All n of them progress alike, so that answers leave at the measured X(n) per second: a
//! load-dependent processor-sharing station with m places (Kleinrock, Queueing Systems II, chapter 4; limited sharing:
//! Avi-Itzhak and Halfin, 1988). The clock that runs at that speed is the same for all in service, so a request's end is a
//! number on it that does not move once the request is in service, and the next to end is the least on a heap. A request
//! may wait for something else first, which takes its time however many are in service.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// What requests bring with them, each slice in the order of arrival and of the same length, all in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Requests<'a> {
    /// When each arrives, ascending.
    pub arrivals_s: &'a [f64],
    /// The work of each.
    pub works_s: &'a [f64],
    /// How long each is in service before its work begins, unslowed.
    pub apart_s: &'a [f64],
}

/// What became of each request, in the order of arrival; infinite for one that was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When it was answered.
    pub ended_s: Vec<f64>,
    /// When a worker took it.
    pub started_s: Vec<f64>,
    /// Whether it found all workers busy and was let into the queue.
    pub waited: Vec<bool>,
}

/// Runs all requests through an empty pool. `speeds[k - 1]` is the work in seconds that each of k requests in service
/// gets done per second, so there are as many workers as speeds; `backlog` is how many may wait.
///
/// # Panics
///
/// Where the slices of `requests` are not of the same length.
#[must_use]
pub fn passage(requests: Requests<'_>, speeds: &[f64], backlog: usize) -> Outcome {
    let count = requests.arrivals_s.len();
    assert!(
        requests.works_s.len() == count && requests.apart_s.len() == count,
        "every request has an arrival, work and a time apart"
    );
    let mut pool = Pool {
        requests,
        speeds,
        backlog,
        outcome: Outcome {
            ended_s: vec![f64::INFINITY; count],
            started_s: vec![f64::INFINITY; count],
            waited: vec![false; count],
        },
        working: BinaryHeap::new(),
        waiting: BinaryHeap::new(),
        queue: VecDeque::new(),
        now: 0.0,
        clock: 0.0,
        busy: 0,
    };
    for (who, arrival) in requests.arrivals_s.iter().enumerate() {
        pool.run_until(*arrival);
        pool.arrive(who);
    }
    pool.run_until(f64::INFINITY);
    pool.outcome
}

/// When something happens to a request, on one of the two clocks; of two at the same moment the earlier request first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    at: f64,
    who: usize,
}

impl Eq for Event {}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.who.cmp(&other.who))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The state between two events. `clock`: work done so far by whoever has been in service from the beginning of a busy
/// period; `working` is ordered by it, `waiting` by time.
struct Pool<'a> {
    requests: Requests<'a>,
    speeds: &'a [f64],
    backlog: usize,
    outcome: Outcome,
    working: BinaryHeap<Reverse<Event>>,
    waiting: BinaryHeap<Reverse<Event>>,
    queue: VecDeque<usize>,
    now: f64,
    clock: f64,
    busy: usize,
}

impl Pool<'_> {
    /// Into service, into the queue, or refused: that one never ends.
    fn arrive(&mut self, who: usize) {
        if self.busy < self.speeds.len() {
            self.busy += 1;
            self.begin(who);
        } else if self.queue.len() < self.backlog {
            self.queue.push_back(who);
            self.outcome.waited[who] = true;
        }
    }

    /// All that ends by then; what ends at that moment, too.
    fn run_until(&mut self, moment: f64) {
        while self.busy > 0 {
            let speed = self.speeds[self.busy - 1];
            let end = self.working.peek().map_or(f64::INFINITY, |next| self.now + (next.0.at - self.clock) / speed);
            let wakes = self.waiting.peek().map_or(f64::INFINITY, |next| next.0.at);
            if wakes < end {
                if wakes > moment {
                    break;
                }
                self.wake(speed);
            } else if end > moment || end.is_infinite() {
                break;
            } else {
                self.finish(end);
            }
        }
        self.clock = if self.busy > 0 { self.clock + (moment - self.now) * self.speeds[self.busy - 1] } else { 0.0 };
        self.now = moment;
    }

    /// The next in service is answered, and who waits in the queue takes its place.
    fn finish(&mut self, end: f64) {
        if let Some(Reverse(done)) = self.working.pop() {
            self.clock = done.at;
            self.now = end;
            self.outcome.ended_s[done.who] = end;
        }
        match self.queue.pop_front() {
            Some(who) => self.begin(who),
            None => self.busy -= 1,
        }
    }

    fn begin(&mut self, who: usize) {
        self.outcome.started_s[who] = self.now;
        if self.requests.apart_s[who] > 0.0 {
            self.waiting.push(Reverse(Event { at: self.now + self.requests.apart_s[who], who }));
        } else {
            self.work(who);
        }
    }

    /// The next that waited for something else begins its work.
    fn wake(&mut self, speed: f64) {
        if let Some(Reverse(next)) = self.waiting.pop() {
            self.clock += (next.at - self.now) * speed;
            self.now = next.at;
            self.work(next.who);
        }
    }

    fn work(&mut self, who: usize) {
        self.working.push(Reverse(Event { at: self.clock + self.requests.works_s[who], who }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(arrivals_s: &[f64], works_s: &[f64], speeds: &[f64], backlog: usize) -> Outcome {
        let apart_s = vec![0.0; arrivals_s.len()];
        passage(Requests { arrivals_s, works_s, apart_s: &apart_s }, speeds, backlog)
    }

    #[test]
    fn one_worker_is_a_queue() {
        let found = run(&[0.0, 1.0, 2.0, 20.0], &[5.0, 2.0, 1.0, 3.0], &[1.0], usize::MAX);
        assert_eq!(found.ended_s, [5.0, 7.0, 8.0, 23.0]);
        assert_eq!(found.started_s, [0.0, 5.0, 7.0, 20.0]);
        assert_eq!(found.waited, [false, true, true, false]);
    }

    #[test]
    fn two_workers_on_one_core_share_it() {
        assert_eq!(run(&[0.0, 1.0], &[4.0, 2.0], &[1.0, 0.5], 0).ended_s, [6.0, 5.0]);
    }

    #[test]
    fn who_finds_no_room_is_refused() {
        let found = run(&[0.0, 1.0, 2.0], &[10.0, 1.0, 1.0], &[1.0], 1);
        assert_eq!(found.ended_s, [10.0, 11.0, f64::INFINITY]);
    }

    #[test]
    fn no_worker_and_no_request_end_at_once() {
        assert_eq!(run(&[], &[], &[1.0], 0).ended_s, Vec::<f64>::new());
        assert_eq!(run(&[1.0], &[1.0], &[], 0).ended_s, [f64::INFINITY]);
        assert_eq!(run(&[1.0], &[f64::INFINITY], &[1.0], 0).ended_s, [f64::INFINITY]);
    }
}
