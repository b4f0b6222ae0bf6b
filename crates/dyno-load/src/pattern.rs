//! A body as stable bytes with volatile gaps between them, and how one that arrives in pieces is held against it.

/// A longer rest of a body is not held: whoever makes a pattern of bodies that may be longer compares lengths only.
pub const MOST_HELD_BYTES: usize = 8 << 20;

/// A volatile span: `low` to `high` bytes, all of them allowed.
#[derive(Clone, Debug)]
pub struct Gap {
    low: usize,
    high: usize,
    allowed: Box<[bool; 256]>,
}

impl Gap {
    /// `allowed` holds the bytes that may stand in it; nothing where `low` is over `high`.
    #[must_use]
    pub fn new(low: usize, high: usize, allowed: &[u8]) -> Option<Self> {
        let mut table = Box::new([false; 256]);
        for byte in allowed {
            table[usize::from(*byte)] = true;
        }
        (low <= high).then_some(Self { low, high, allowed: table })
    }

    /// Where a gap that begins at `from` may end, first and last.
    fn ends(&self, body: &[u8], from: usize) -> Option<(usize, usize)> {
        let room = body.get(from..)?;
        let reach = room.iter().take(self.high).take_while(|byte| self.allowed[usize::from(**byte)]).count();
        (self.low <= reach).then_some((from + self.low, from + reach))
    }
}

/// What the body of a valid answer is like.
#[derive(Clone, Debug)]
pub struct Pattern {
    first: Vec<u8>,
    rest: Vec<(Gap, Vec<u8>)>,
}

/// Memory for the places where a gap may end, kept between bodies.
#[derive(Clone, Debug, Default)]
struct Places {
    ends: Vec<(usize, usize)>,
    found: Vec<usize>,
}

impl Pattern {
    /// `literals` with a gap between each two of them; nothing where there are not as many gaps as that.
    #[must_use]
    pub fn new(literals: Vec<Vec<u8>>, gaps: Vec<Gap>) -> Option<Self> {
        let mut literals = literals.into_iter();
        let first = literals.next()?;
        if literals.len() != gaps.len() {
            return None;
        }
        Some(Self { first, rest: gaps.into_iter().zip(literals).collect() })
    }

    /// Whether a whole body is like this.
    #[must_use]
    pub fn fits(&self, body: &[u8]) -> bool {
        body.starts_with(&self.first) && self.rest_fits(body, self.first.len(), &mut Places::default())
    }

    /// Follows every way in which the gaps can be filled, behind `from` bytes that are like the first literal.
    fn rest_fits(&self, body: &[u8], from: usize, places: &mut Places) -> bool {
        let Some((last, middle)) = self.rest.split_last() else { return body.len() == from };
        places.found.clear();
        places.found.push(from);
        for (gap, literal) in middle {
            places.step(gap, body);
            if !places.find(literal, body) {
                return false;
            }
        }
        places.step(&last.0, body);
        let Some(place) = body.len().checked_sub(last.1.len()) else { return false };
        body.ends_with(&last.1) && places.ends.iter().any(|(low, high)| (*low..=*high).contains(&place))
    }
}

impl Places {
    fn step(&mut self, gap: &Gap, body: &[u8]) {
        self.ends.clear();
        self.ends.extend(self.found.iter().filter_map(|place| gap.ends(body, *place)));
    }

    /// Where a literal that stands at one of the ends is over; false when it stands at none.
    ///
    /// Place by place: there are few, and the literals are long, so that looking at one byte mostly says no, and a
    /// search that prepares itself for a literal would read all of it twice.
    fn find(&mut self, literal: &[u8], body: &[u8]) -> bool {
        self.found.clear();
        // The windows rise at both ends: what an earlier one has looked at is not looked at again.
        let mut from = 0;
        for (low, high) in &self.ends {
            let places = from.max(*low)..=(*high).min(body.len());
            let there = places.filter(|place| body[*place..].starts_with(literal));
            self.found.extend(there.map(|place| place + literal.len()));
            from = from.max(high + 1);
        }
        !self.found.is_empty()
    }
}

/// One body on its way: compared while it arrives as far as nothing in it may move, and kept from there on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follower {
    /// Bytes that were like the first literal.
    alike: usize,
    rest: Vec<u8>,
    too_long: bool,
    places: Places,
}

impl Follower {
    /// Make ready for the next body; the memory stays.
    pub(crate) fn reset(&mut self) {
        self.alike = 0;
        self.rest.clear();
        self.too_long = false;
    }

    /// The next piece of the body.
    pub(crate) fn take(&mut self, pattern: &Pattern, mut piece: &[u8]) {
        if self.rest.is_empty() {
            let wanted = &pattern.first[self.alike..];
            let (head, tail) = piece.split_at(wanted.len().min(piece.len()));
            if wanted.starts_with(head) {
                self.alike += head.len();
                piece = tail;
            }
        }
        if self.too_long || self.rest.len() + piece.len() > MOST_HELD_BYTES {
            self.too_long = true;
        } else {
            self.rest.extend_from_slice(piece);
        }
    }

    /// Whether the body, which is complete, is like the pattern.
    pub(crate) fn fits(&mut self, pattern: &Pattern) -> bool {
        if self.too_long || self.alike < pattern.first.len() {
            return false;
        }
        if pattern.rest.is_empty() {
            return self.rest.is_empty();
        }
        // Places count from the end of the first literal.
        pattern.rest_fits(&self.rest, 0, &mut self.places)
    }

    /// The whole body; without its end where it is too long.
    pub(crate) fn body(&self, pattern: &Pattern) -> Vec<u8> {
        [&pattern.first[..self.alike], &self.rest].concat()
    }
}

#[cfg(test)]
mod tests;
