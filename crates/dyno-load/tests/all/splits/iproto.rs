//! What the parser of IPROTO makes of a stream of answers, however it is cut.

use dyno_load::Malformed;
use dyno_load::iproto::{Head, Parser, Receiver};

/// One answer, or what came of it.
#[derive(Debug, PartialEq)]
pub struct Heard {
    pub head: Head,
    pub body: Vec<u8>,
    pub complete: bool,
}

/// All that was heard of a stream, and where it ended.
#[derive(Debug, Default, PartialEq)]
pub struct Answers {
    pub heard: Vec<Heard>,
    pub malformed: Option<Malformed>,
    pub between: bool,
}

impl Receiver for Answers {
    fn head(&mut self, head: &Head) -> Result<(), Malformed> {
        assert!(self.heard.last().is_none_or(|last| last.complete), "the next before the end of the last");
        if head.kind == REFUSED {
            return Err(Malformed("refused"));
        }
        self.heard.push(Heard { head: *head, body: vec![], complete: false });
        Ok(())
    }

    fn body(&mut self, piece: &[u8]) {
        self.heard.last_mut().unwrap().body.extend_from_slice(piece);
    }

    fn end(&mut self) {
        self.heard.last_mut().unwrap().complete = true;
    }
}

/// The type of an answer that the receiver refuses.
pub const REFUSED: u64 = 77;

/// Feed `bytes`, cut at `cuts` (in any order, taken modulo the length).
pub fn parse(bytes: &[u8], cuts: &[usize]) -> Answers {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let (mut parser, mut answers) = (Parser::default(), Answers::default());
    for cut in cuts.windows(2) {
        if let Err(malformed) = parser.feed(&bytes[cut[0]..cut[1]], &mut answers) {
            answers.malformed = Some(malformed);
            return answers;
        }
    }
    answers.between = parser.is_between_answers();
    answers
}

/// Any bytes: the same whole, byte by byte and cut at `cuts`; bodies as long as their heads say, and of what came.
pub fn assert_alike(bytes: &[u8], cuts: &[usize]) {
    let whole = parse(bytes, &[]);
    assert_eq!(whole, parse(bytes, cuts), "cut at {cuts:?}");
    let single: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(whole, parse(bytes, &single), "byte by byte");
    for Heard { head, body, complete } in &whole.heard {
        assert_eq!(head.body_bytes == body.len() as u64, *complete);
    }
    assert!(whole.heard.iter().map(|heard| heard.body.len()).sum::<usize>() <= bytes.len());
}
