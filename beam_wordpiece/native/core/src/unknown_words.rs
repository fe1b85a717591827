//! What becomes of unknown characters in words that were walked in lanes.

use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::failure::UNKNOWN_CHARACTER;
use crate::options::Unknown;
use crate::pieces::Pieces;
use crate::rows::Encoded;
use crate::stretch::Stretch;
use crate::unknown::{Fault, Sink};

/// Replace [`UNKNOWN_CHARACTER`] among the pieces. Gives how many of the ids that take its place stand for unknown
/// characters without being that of the unknown token; the error has the word that cannot be split.
pub fn replace_unknown(
    tables: &Tables<'_>,
    unknown: Unknown,
    chunk: &Chunk,
    pieces: &mut Pieces,
) -> Result<usize, (usize, Fault)> {
    let unk_id = tables.parameters.unk_id;
    let mut replaced = Encoded::default();
    let mut sink = Sink::new(tables, chunk, unknown, None, &mut replaced);
    for number in 0..pieces.words.len() {
        let place = pieces.firsts[number] as usize..pieces.ends[number] as usize;
        let ids = &mut pieces.ids[place.clone()];
        if !ids.contains(&UNKNOWN_CHARACTER) {
            continue;
        }
        if unknown == Unknown::Character {
            ids.iter_mut().filter(|id| **id == UNKNOWN_CHARACTER).for_each(|id| *id = unk_id);
            continue;
        }
        let before = sink.count();
        let word = pieces.words[number] as usize;
        let bytes = chunk.word(word).unwrap_or_default();
        if place.len() == 1 {
            sink.token(UNKNOWN_CHARACTER, bytes, 0);
        } else {
            // Few words have some, so nothing else keeps where in a word they stand.
            let emit = |token, bytes, jamo| sink.token(token, bytes, jamo);
            Stretch::default().run(tables, &chunk.bytes, bytes, true, emit);
        }
        sink.end_word();
        if let Some(fault) = sink.fault {
            return Err((word, fault));
        }
        pieces.firsts[number] = (pieces.room + before) as u32;
        pieces.ends[number] = (pieces.room + sink.count()) as u32;
    }
    pieces.append(&replaced.ids);
    Ok(replaced.unknowns - replaced.ids.iter().filter(|&&id| id == unk_id).count())
}
