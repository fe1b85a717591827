//! Offsets change no id, and are the same for any cut of a text, at every level of vector instructions.

// Other tests use the rest of it.
#[allow(dead_code)]
mod common;

use common::{added, character, options, text, vocabulary};
use proptest::prelude::*;
use wordpiece::automaton::Automaton;
use wordpiece::document::Document;
use wordpiece::encoder::{EncodeOptions, Encoded, Part, Workspace, encode, encode_parts, encode_with_offsets};
use wordpiece::offsets::NOWHERE;
use wordpiece::options::AddedToken;
use wordpiece::simd::{Level, portable::Portable};
use wordpiece::state;

/// Ids, their ranges and their words.
type Encoding = (Vec<u32>, Vec<[u64; 2]>, Vec<u64>);

fn at(level: Level) -> EncodeOptions {
    EncodeOptions { add_special_tokens: true, strict: false, level }
}

fn whole(automaton: &Automaton, text: &[u8], level: Level) -> Encoding {
    let mut out = Encoded::default();
    encode_with_offsets(automaton, text, &at(level), &mut Workspace::default(), &mut out).unwrap();
    (out.ids, out.offsets.ranges, out.offsets.words)
}

/// The text in parts, each encoded by another process, so to speak.
fn in_parts(automaton: &Automaton, parts: &[&[u8]]) -> Encoding {
    let mut all = Encoding::default();
    let mut document = Document::with_offsets();
    for (number, &text) in parts.iter().enumerate() {
        (document, _) = state::from_bytes(automaton, &state::to_bytes(automaton, 0, &document)).unwrap();
        let part = Part { text: Some(text), ends: number + 1 == parts.len() };
        let (options, mut workspace) = (at(Level::Portable(Portable)), Workspace::default());
        let mut out = Encoded::default();
        encode_parts(automaton, std::iter::once(part), &options, &mut document, &mut workspace, &mut out).unwrap();
        assert_eq!(out.ids.len(), out.offsets.ranges.len());
        all.0.extend(out.ids);
        all.1.extend(out.offsets.ranges);
        all.2.extend(out.offsets.words);
    }
    all
}

fn ids(automaton: &Automaton, text: &[u8]) -> Vec<u32> {
    let mut out = Encoded::default();
    let texts = std::iter::once(Some(text));
    encode(automaton, texts, &at(Level::Portable(Portable)), &mut Workspace::default(), &mut out).unwrap();
    out.ids
}

fn all_is_well(automaton: &Automaton, text: &[u8], cuts: &[usize]) -> Result<(), TestCaseError> {
    let expected = whole(automaton, text, Level::Portable(Portable));
    prop_assert_eq!(&expected.0, &ids(automaton, text));
    for level in Level::available() {
        prop_assert_eq!(&whole(automaton, text, level), &expected);
    }
    let length = String::from_utf8_lossy(text).chars().count() as u64;
    let mut words = 0;
    for (&[start, end], &word) in expected.1.iter().zip(&expected.2) {
        if word == NOWHERE {
            prop_assert_eq!([start, end], [0, 0]);
        } else {
            prop_assert!(start < end && end <= length && word <= words);
            words = word + 1;
        }
    }
    let mut parts = Vec::new();
    let mut rest = text;
    for &cut in cuts {
        let (part, behind) = rest.split_at(cut.min(rest.len()));
        parts.push(part);
        rest = behind;
    }
    parts.push(rest);
    prop_assert_eq!(in_parts(automaton, &parts), expected);
    Ok(())
}

fn added_tokens() -> impl Strategy<Value = Vec<AddedToken>> {
    let content =
        prop::sample::select(vec!["[ab]", "éc", "ab ", " a", "a\u{302E}", "\u{FFFD}", "中 a", "aa", "]\u{3000}["]);
    prop::collection::vec((content, 0..16u8), 0..4).prop_map(|tokens| {
        tokens.into_iter().zip(950..).map(|((content, flags), id)| added(content, id, flags)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn of_any_text(
        tokens in prop::collection::vec(prop::collection::vec(character(), 1..4), 0..40),
        text in text(),
        switches in any::<[bool; 4]>(),
        added in added_tokens(),
        limit in 1..60u32,
        cuts in prop::collection::vec(0..20usize, 0..20),
    ) {
        let spelled = |(i, token): (usize, Vec<char>)| {
            let token = String::from_iter(token);
            if i % 2 == 0 { token } else { format!("##{token}") }
        };
        let tokens = tokens.into_iter().enumerate().map(spelled).collect();
        let vocabulary = vocabulary(tokens, options(switches, "##", limit), added);
        let Ok(bytes) = wordpiece::compile::compile(&vocabulary) else { return Ok(()) };
        all_is_well(&Automaton::from_bytes(&bytes).unwrap(), text.as_bytes(), &cuts)?;
    }

    #[test]
    fn of_any_bytes(
        bytes in prop::collection::vec(prop_oneof![Just(0xE0u8), Just(0x80), Just(b'a'), Just(b' '), any::<u8>()], 0..80),
        added in added_tokens(),
        cuts in prop::collection::vec(0..9usize, 0..20),
    ) {
        let vocabulary = vocabulary(vec!["a".into(), "##a".into()], options([true; 4], "##", 100), added);
        let Ok(compiled) = wordpiece::compile::compile(&vocabulary) else { return Ok(()) };
        all_is_well(&Automaton::from_bytes(&compiled).unwrap(), &bytes, &cuts)?;
    }
}

fn feed(automaton: &Automaton, document: &mut Document, text: &[u8], ends: bool) -> Encoded {
    let (part, mut out) = (Part { text: Some(text), ends }, Encoded::default());
    let options = at(Level::Portable(Portable));
    encode_parts(automaton, std::iter::once(part), &options, document, &mut Workspace::default(), &mut out).unwrap();
    out
}

#[test]
fn no_state_does_harm() {
    let added = vec![added("[ab]", 950, 6), added("y\u{302E}a", 951, 14), added(" q", 952, 6)];
    let tokens = ["x", "y", "##e"].map(String::from).to_vec();
    let automaton = common::automaton(&vocabulary(tokens, options([true; 4], "##", 100), added));
    for text in ["x xé\u{301}\0\u{302E}\u{1B44}\u{323}", "x [ab]  \u{85}", "x y\u{302E}a   ", "x y   [a"] {
        let mut document = Document::with_offsets();
        feed(&automaton, &mut document, text.as_bytes(), false);
        let good = state::to_bytes(&automaton, 0, &document);
        for (at, change) in (20..good.len() - 8).flat_map(|at| [1, 2, 4, 8, 16, 32, 64, 128, 255].map(|x| (at, x))) {
            let mut forged = good.clone();
            forged[at] ^= change;
            let end = forged.len() - 8;
            let checksum = xxhash_rust::xxh3::xxh3_64(&forged[..end]).to_le_bytes();
            forged[end..].copy_from_slice(&checksum);
            if let Ok((mut document, _)) = state::from_bytes(&automaton, &forged) {
                feed(&automaton, &mut document, "  b] y\u{302E}a q \u{1B44}z".as_bytes(), true);
            }
        }
    }
}

#[test]
fn a_state_is_as_large_as_a_word_and_an_added_token() {
    let tokens = ["a", "##a"].map(String::from).to_vec();
    let added = vec![added("[ab]", 950, 6), added("aaaaaa", 951, 14)];
    let automaton = common::automaton(&vocabulary(tokens, options([true; 4], "##", 100), added));
    let mut document = Document::with_offsets();
    let longest =
        ["a", "𝒳", "a\u{302E}", "\u{302E}\u{1B44}", " \u{85}", "[a", "\u{301}", "각", "\u{1D160}", "\u{302E}\0"];
    for text in longest.map(|unit| unit.repeat(3000)) {
        feed(&automaton, &mut document, text.as_bytes(), false);
        let size = state::to_bytes(&automaton, 0, &document).len();
        assert!(size < 2048, "{size} {text:.9?}");
    }
}

#[test]
fn a_word_that_is_too_long_is_known_by_its_ends() {
    let automaton = common::automaton(&vocabulary(vec![], options([true; 4], "##", 100), vec![]));
    for length in [100, 101, 40_000, 100_000] {
        let text = format!("b {}\u{301} b", "é".repeat(length));
        let (_, ranges, words) = in_parts(&automaton, &text.as_bytes().chunks(7_001).collect::<Vec<_>>());
        let length = length as u64;
        assert_eq!(ranges, [[0, 0], [0, 1], [2, length + 2], [length + 4, length + 5], [0, 0]]);
        assert_eq!(words, [NOWHERE, 0, 1, 2, NOWHERE]);
    }
}
