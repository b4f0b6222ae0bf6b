//! Any bytes as the records of a FastCGI responder.
#![no_main]

#[path = "../../tests/all/splits/mod.rs"]
mod splits;

use dyno_load::fastcgi::Parser;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (bytes, cuts, _) = splits::split_input(data);
    splits::assert_alike(&mut Parser::default(), bytes, &cuts);
});
