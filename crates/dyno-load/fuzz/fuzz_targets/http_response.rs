//! Any bytes as the answers to an HTTP request: heads, interim responses, lengths, chunks, trailers, closes.
#![no_main]

#[path = "../../tests/all/splits/mod.rs"]
mod splits;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (bytes, cuts, head) = splits::split_input(data);
    splits::assert_alike(&mut splits::Http::new(head), bytes, &cuts);
});
