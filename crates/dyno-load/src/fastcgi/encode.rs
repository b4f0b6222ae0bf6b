//! A responder request as records, encoded once per target.

use super::{BEGIN_REQUEST, HEADER_BYTES, PARAMS, REQUEST_ID, STDIN, VERSION};

const ROLE_RESPONDER: u8 = 1;
const FLAG_KEEP_CONN: u8 = 1;
/// Where `BEGIN_REQUEST`, our first record, has its flags: behind the header and the two bytes of the role.
const FLAGS_AT: usize = HEADER_BYTES + 2;
const MAX_CONTENT_BYTES: usize = 65_535;
/// Lengths of names and values have 31 bits.
const MAX_NAME_VALUE_BYTES: usize = 0x7fff_ffff;

/// A parameter name or value that FastCGI cannot express: 2 GiB or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oversized;

/// `BEGIN_REQUEST` (without `FCGI_KEEP_CONN`), PARAMS and STDIN, each stream with its empty last record.
///
/// # Errors
/// [`Oversized`] when a name or a value is over 2³¹ − 1 bytes.
pub fn encode_request<N, V>(params: &[(N, V)], stdin: &[u8]) -> Result<Vec<u8>, Oversized>
where
    N: AsRef<[u8]>,
    V: AsRef<[u8]>,
{
    let mut pairs = Vec::new();
    for (name, value) in params {
        let (name, value) = (name.as_ref(), value.as_ref());
        put_length(&mut pairs, name.len())?;
        put_length(&mut pairs, value.len())?;
        pairs.extend_from_slice(name);
        pairs.extend_from_slice(value);
    }
    let mut wire = Vec::with_capacity(pairs.len() + stdin.len() + 64);
    put_record(&mut wire, BEGIN_REQUEST, &[0, ROLE_RESPONDER, 0, 0, 0, 0, 0, 0]);
    put_stream(&mut wire, PARAMS, &pairs);
    put_stream(&mut wire, STDIN, stdin);
    Ok(wire)
}

/// Set or clear `FCGI_KEEP_CONN` in an encoded request.
pub fn set_keep_conn(wire: &mut [u8], keep: bool) {
    if let Some(flags) = wire.get_mut(FLAGS_AT) {
        *flags = if keep { FLAG_KEEP_CONN } else { 0 };
    }
}

#[allow(clippy::cast_possible_truncation, reason = "each branch has checked the range")]
fn put_length(out: &mut Vec<u8>, length: usize) -> Result<(), Oversized> {
    if length < 128 {
        out.push(length as u8);
    } else if length <= MAX_NAME_VALUE_BYTES {
        out.extend_from_slice(&(length as u32 | 0x8000_0000).to_be_bytes());
    } else {
        return Err(Oversized);
    }
    Ok(())
}

fn put_stream(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    for piece in bytes.chunks(MAX_CONTENT_BYTES) {
        put_record(out, kind, piece);
    }
    put_record(out, kind, &[]);
}

#[allow(clippy::cast_possible_truncation, reason = "content comes in pieces of at most 65535 bytes")]
fn put_record(out: &mut Vec<u8>, kind: u8, content: &[u8]) {
    let [id_high, id_low] = REQUEST_ID.to_be_bytes();
    let [length_high, length_low] = (content.len() as u16).to_be_bytes();
    out.extend_from_slice(&[VERSION, kind, id_high, id_low, length_high, length_low, 0, 0]);
    out.extend_from_slice(content);
}
