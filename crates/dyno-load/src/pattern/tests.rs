use super::*;

const DIGITS: &[u8] = b"0123456789";

fn pattern(literals: &[&[u8]], gaps: &[(usize, usize, &[u8])]) -> Pattern {
    let gaps = gaps.iter().map(|(low, high, allowed)| Gap::new(*low, *high, allowed).unwrap()).collect();
    Pattern::new(literals.iter().map(|literal| literal.to_vec()).collect(), gaps).unwrap()
}

/// However the body arrives.
fn fits(pattern: &Pattern, body: &[u8]) -> bool {
    let whole = pattern.fits(body);
    let mut follower = Follower::default();
    for size in 1..=body.len().max(1) {
        follower.reset();
        body.chunks(size).for_each(|piece| follower.take(pattern, piece));
        assert_eq!(follower.fits(pattern), whole, "{body:?} by {size}");
        assert_eq!(follower.body(pattern), body);
    }
    whole
}

#[test]
fn a_body_in_which_nothing_moves_is_like_itself_alone() {
    let still = pattern(&[b"hello"], &[]);
    assert!(fits(&still, b"hello"));
    for body in [&b""[..], b"hell", b"hellO", b"hello!", b"Hello", b"hexlo"] {
        assert!(!fits(&still, body), "{body:?}");
    }
    assert!(fits(&pattern(&[b""], &[]), b""));
    assert!(!fits(&pattern(&[b""], &[]), b"x"));
}

#[test]
fn a_gap_takes_what_it_may() {
    let page = pattern(&[b"at ", b" end"], &[(1, 4, DIGITS)]);
    for body in [&b"at 1 end"[..], b"at 1234 end"] {
        assert!(fits(&page, body), "{body:?}");
    }
    for body in [&b"at  end"[..], b"at 12345 end", b"at x end", b"at 1 end.", b"at 1 En", b"at 1", b"At 1 end"] {
        assert!(!fits(&page, body), "{body:?}");
    }
}

#[test]
fn a_literal_is_found_at_every_place_where_it_may_stand() {
    // The first "aa" behind the gap is not the one that the rest needs.
    let page = pattern(&[b"<", b"aa", b">"], &[(0, 3, b"a"), (0, 1, b"b")]);
    for body in [&b"<aa>"[..], b"<aaaaa>", b"<aaab>", b"<aaaaab>"] {
        assert!(fits(&page, body), "{body:?}");
    }
    for body in [&b"<a>"[..], b"<aaaaaa>", b"<aabb>", b"<baa>"] {
        assert!(!fits(&page, body), "{body:?}");
    }
}

#[test]
fn gaps_at_both_ends() {
    let page = pattern(&[b"", b"-", b""], &[(1, 3, DIGITS), (0, 2, DIGITS)]);
    assert!(fits(&page, b"1-") && fits(&page, b"123-45"));
    assert!(!fits(&page, b"-1") && !fits(&page, b"1-456") && !fits(&page, b""));
}

#[test]
fn what_is_no_pattern_is_none() {
    assert!(Gap::new(3, 2, b"").is_none());
    assert!(Pattern::new(vec![], vec![]).is_none());
    assert!(Pattern::new(vec![vec![], vec![]], vec![]).is_none());
}

#[test]
fn a_body_without_an_end_is_not_held() {
    let still = pattern(&[b"x"], &[]);
    let mut follower = Follower::default();
    let piece = vec![b'y'; 1 << 20];
    (0..9).for_each(|_| follower.take(&still, &piece));
    assert!(!follower.fits(&still) && follower.body(&still).len() <= MOST_HELD_BYTES);
}
