//! Any bytes as the answers of a Tarantool server.
#![no_main]

#[path = "../../tests/all/splits/mod.rs"]
mod splits;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (bytes, cuts, _) = splits::split_input(data);
    splits::iproto::assert_alike(bytes, &cuts);
});
