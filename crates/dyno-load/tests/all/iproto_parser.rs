//! Properties of the parser of IPROTO: how the bytes are cut does not matter, and no bytes make it panic.

use crate::fake_servers::iproto::answer;
use crate::splits::iproto::{REFUSED, assert_alike, parse};
use crate::splits::split_input;
use proptest::collection::vec;
use proptest::prelude::*;

/// Types, syncs and bodies.
fn answers() -> impl Strategy<Value = Vec<(u32, u64, Vec<u8>)>> {
    let kind = prop_oneof![Just(0_u32), Just(0x80), 0x8000..0x1_0000_u32];
    vec((kind, any::<u64>(), vec(any::<u8>(), 0..40)), 0..8)
}

fn on_the_wire(answers: &[(u32, u64, Vec<u8>)]) -> Vec<u8> {
    answers.iter().flat_map(|(kind, sync, body)| answer(*kind, *sync, body)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_heard(answers in answers(), cuts in vec(any::<usize>(), 0..40)) {
        let bytes = on_the_wire(&answers);
        let parsed = parse(&bytes, &cuts);
        prop_assert_eq!((parsed.malformed, parsed.between), (None, true));
        prop_assert!(parsed.heard.iter().all(|heard| heard.complete));
        let heard: Vec<_> = parsed.heard.into_iter().map(|heard| (heard.head.kind, heard.head.sync, heard.body)).collect();
        let sent: Vec<_> = answers.into_iter().map(|(kind, sync, body)| (u64::from(kind), sync, body)).collect();
        prop_assert_eq!(heard, sent);
        assert_alike(&bytes, &cuts);
    }

    #[test]
    fn damaged_answers_are_heard_alike_however_they_are_cut(
        answers in answers(), changes in vec(any::<(usize, u8)>(), 1..4), cuts in vec(any::<usize>(), 0..40)
    ) {
        let mut bytes = on_the_wire(&answers);
        bytes.push(0xce);
        for (at, byte) in changes {
            let length = bytes.len();
            bytes[at % length] = byte;
        }
        assert_alike(&bytes, &cuts);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..300), cuts in vec(any::<usize>(), 0..40)) {
        assert_alike(&bytes, &cuts);
        assert_alike(&[b"\x7f\x8f\x00\x00\x01\x01", &bytes[..]].concat(), &cuts);
    }
}

#[test]
fn what_the_receiver_refuses_is_not_read_on() {
    let refused = u32::try_from(REFUSED).unwrap();
    let bytes = [answer(0, 1, b"x"), answer(refused, 2, b"x"), answer(0, 3, b"x")].concat();
    let parsed = parse(&bytes, &[]);
    assert_eq!((parsed.heard.len(), parsed.malformed.map(|why| why.0)), (1, Some("refused")));
    assert_alike(&bytes, &[]);
}

/// The seeds of the fuzz target stay good, and any input of its can be read.
#[test]
fn the_seeds_of_the_fuzz_target() {
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/iproto_answers");
    let mut read = 0;
    for seed in std::fs::read_dir(seeds).unwrap() {
        let seed = std::fs::read(seed.unwrap().path()).unwrap();
        let (bytes, cuts, _) = split_input(&seed);
        assert_alike(bytes, &cuts);
        read += 1;
    }
    assert!(read > 5, "{read}");
}
