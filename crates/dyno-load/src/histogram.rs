//! Times to three significant digits: what many visits share when the rows themselves are too many to keep.

use hdrhistogram::Histogram as Hdr;

const SIGNIFICANT_DIGITS: u8 = 3;

/// How often which time was measured, in nanoseconds. A time is known to 0.1 %; the memory does not grow with their
/// number, and is below half a MiB.
#[derive(Clone, Debug)]
pub struct Histogram {
    times: Hdr<u64>,
}

impl Histogram {
    /// Without times yet.
    #[must_use]
    #[allow(clippy::missing_panics_doc, reason = "three digits are in the range that it takes, 0 to 5")]
    pub fn new() -> Self {
        Self { times: Hdr::new(SIGNIFICANT_DIGITS).expect("three digits are allowed") }
    }

    /// Count this time, `count` times.
    #[allow(clippy::missing_panics_doc, reason = "on 64 bits it grows to any value")]
    pub fn record(&mut self, time_ns: u64, count: u64) {
        self.times.record_n(time_ns, count).expect("it grows");
    }

    /// Count what another one counted.
    #[allow(clippy::missing_panics_doc, reason = "only what cannot grow refuses, and ours can")]
    pub fn add(&mut self, other: &Self) {
        self.times.add(&other.times).expect("it grows");
    }

    /// How many times were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.times.len()
    }

    /// A time that `percent` % of all are not above, and 0.1 % above the least such at most; None without any, or
    /// outside 0 to 100.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "2⁵² times were never measured")]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        if self.times.is_empty() || !(0.0..=100.0).contains(&percent) {
            return None;
        }
        // The rank is ours: 99.9 % of 1000 is a little over 999 in floating point, and would be the largest of all.
        let count = self.count() as f64;
        let rank = (count * percent / 100.0 * (1.0 - 4.0 * f64::EPSILON)).ceil().max(1.0);
        Some(self.times.value_at_quantile((rank - 0.5) / count))
    }

    /// The times that were counted, ascending, each with its count: recorded again, they make the same histogram.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.times.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(times_ns: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for time_ns in times_ns {
            histogram.record(*time_ns, 1);
        }
        histogram
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!((Histogram::new().count(), Histogram::new().percentile(50.0)), (0, None));
        for percent in [-0.1, 100.1, f64::NAN] {
            assert_eq!(of(&[1]).percentile(percent), None);
        }
    }

    #[test]
    fn the_extremes_of_what_can_be_measured() {
        let histogram = of(&[0, 1, u64::MAX]);
        assert_eq!((histogram.count(), histogram.percentile(0.0)), (3, Some(0)));
        assert!(histogram.percentile(100.0).unwrap() > u64::MAX - u64::MAX / 1000);
    }

    #[test]
    fn a_share_that_is_a_whole_number_of_times_is_that_many() {
        for thousands in 1..300 {
            let mut histogram = Histogram::new();
            histogram.record(1, thousands * 999);
            histogram.record(5, thousands);
            assert_eq!((histogram.percentile(99.9), histogram.percentile(99.91)), (Some(1), Some(5)), "{thousands}");
            histogram.record(1, thousands * 9000);
            assert_eq!((histogram.percentile(99.99), histogram.percentile(99.991)), (Some(1), Some(5)), "{thousands}");
        }
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_times_to_three_digits(
            mut times_ns in prop::collection::vec(0_u64..1 << 42, 1..300),
            percent in prop::sample::select(vec![0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0]),
        ) {
            let histogram = of(&times_ns);
            times_ns.sort_unstable();
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let rank = (times_ns.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
            let (exact, found) = (times_ns[rank - 1], histogram.percentile(percent).unwrap());
            prop_assert!(exact <= found, "{exact} > {found}");
            prop_assert!(exact.abs_diff(found) <= exact / 1000, "{exact} {found}");
        }

        #[test]
        fn what_is_counted_again_or_added_is_the_same(
            some in prop::collection::vec(any::<u64>(), 0..100), more in prop::collection::vec(any::<u64>(), 0..100),
        ) {
            let whole = of(&[some.clone(), more.clone()].concat());
            let mut added = of(&some);
            added.add(&of(&more));
            let mut again = Histogram::new();
            whole.counts().for_each(|(time_ns, count)| again.record(time_ns, count));
            for other in [added, again] {
                prop_assert!(other.counts().eq(whole.counts()));
                prop_assert_eq!(other.count(), (some.len() + more.len()) as u64);
            }
        }
    }
}
