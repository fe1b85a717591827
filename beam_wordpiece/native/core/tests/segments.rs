//! Stretches in segments and words in lanes: the ids are those of one machine that reads one character after the other,
//! and each part of a document has its own of them, and leaves the same state.

mod common;

use common::{added, automaton, character, options, text, vocabulary};
use proptest::prelude::*;
use wordpiece::automaton::Automaton;
use wordpiece::document::Document;
use wordpiece::encoder::{EncodeOptions, Encoded, Part, Workspace, encode_parts};
use wordpiece::options::{Options, Unknown};
use wordpiece::simd::{Level, portable::Portable};
use wordpiece::state;

/// What is known after each call: ids, ends of rows, how many ids are unknown, and the state; or the error.
type Call = Result<(Vec<u32>, Vec<u64>, usize, Vec<u8>), String>;

/// Encode rows, so many in a call. What the calls give, up to the first error.
fn calls(
    automaton: &Automaton,
    rows: &[Part<'_>],
    at_once: usize,
    level: Level,
    mut workspace: Workspace,
    mut document: Document,
) -> Vec<Call> {
    let options = EncodeOptions { add_special_tokens: true, strict: false, level };
    let mut found = Vec::new();
    for rows in rows.chunks(at_once) {
        let mut out = Encoded::default();
        match encode_parts(automaton, rows.iter().copied(), &options, &mut document, &mut workspace, &mut out) {
            Ok(()) => found.push(Ok((out.ids, out.ends, out.unknowns, state::to_bytes(automaton, 0, &document)))),
            Err(error) => {
                found.push(Err(error.to_string()));
                break;
            }
        }
    }
    found
}

/// Rows of documents, which end where a number is one of three.
fn rows(parts: &[(String, u8)]) -> Vec<Part<'_>> {
    let last = parts.len() - 1;
    let ends = |number: usize, mark: u8| mark.is_multiple_of(3) || number == last;
    let numbered = parts.iter().enumerate();
    numbered.map(|(i, (text, mark))| Part { text: Some(text.as_bytes()), ends: ends(i, *mark) }).collect()
}

/// Cut rows into bytes.
fn bytes<'t>(rows: &[Part<'t>]) -> Vec<Part<'t>> {
    let of = |row: &Part<'t>| -> Vec<Part<'t>> {
        let text = row.text.unwrap_or_default();
        let mut parts: Vec<Part<'t>> = text.chunks(1).map(|byte| Part { text: Some(byte), ends: false }).collect();
        parts.push(Part { text: Some(&[]), ends: row.ends });
        parts
    };
    rows.iter().flat_map(of).collect()
}

fn check(automaton: &Automaton, rows: &[Part<'_>], at_once: usize, length: usize) -> Result<(), TestCaseError> {
    let portable = Level::Portable(Portable);
    // Offsets are known to one machine only.
    let with_offsets = calls(automaton, rows, at_once, portable, Workspace::default(), Document::with_offsets());
    let one = calls(automaton, rows, at_once, portable, Workspace::default(), Document::default());
    // With them an id may leave with a later part.
    let all = |calls: &[Call]| -> Result<(Vec<u32>, usize), String> {
        calls.iter().try_fold((vec![], 0), |(mut all, before), call| {
            let (ids, _, unknowns, _) = call.as_ref().map_err(String::clone)?;
            all.extend_from_slice(ids);
            Ok((all, before + unknowns))
        })
    };
    prop_assert_eq!(all(&one).map_err(|_| ()), all(&with_offsets).map_err(|_| ()));
    for level in Level::available() {
        for workspace in [Workspace::with_segments(length), Workspace::default()] {
            let found = calls(automaton, rows, at_once, level, workspace, Document::default());
            prop_assert_eq!(&found, &one, "{} {}", level.name(), length);
        }
    }
    Ok(())
}

fn of(unknown: Unknown, pretokenize: bool, switches: [bool; 4], indicator: &str) -> Options {
    Options { pretokenize, unknown, ..options(switches, indicator, 100) }
}

const UNKNOWNS: [Unknown; 5] = [Unknown::Character, Unknown::Run, Unknown::Byte, Unknown::CodePoint, Unknown::Error];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_text(
        tokens in prop::collection::vec(prop::collection::vec(character(), 1..4), 0..40),
        parts in prop::collection::vec((text(), any::<u8>()), 1..8),
        switches in any::<[bool; 4]>(),
        indicator in prop::sample::select(vec!["", "##"]),
        flags in prop::sample::select(vec![0, 1, 8, 9]),
        unknown in prop::sample::select(UNKNOWNS.to_vec()),
        pretokenize in any::<bool>(),
        at_once in 1..4_usize,
        length in 4..80_usize,
        by_bytes in any::<bool>(),
    ) {
        let mut tokens: Vec<String> = tokens.into_iter().map(String::from_iter).collect();
        tokens.extend(["<0x61>", "<0x20>", "<0xC3>", "<0xA9>"].map(String::from));
        let options = of(unknown, pretokenize, switches, indicator);
        let automaton = automaton(&vocabulary(tokens, options, vec![added("[b", 950, flags)]));
        let rows = rows(&parts);
        check(&automaton, &if by_bytes { bytes(&rows) } else { rows }, at_once, length)?;
    }

    /// Tokens longer than segments, text that never comes to the same place from two sides, unknown characters anywhere.
    #[test]
    fn periodic_text(
        tokens in prop::collection::vec("a{1,40}|(ab){1,20}c?|(각가){1,6}|[ab가각 中]{1,3}", 1..12),
        parts in prop::collection::vec(("a{0,200}|(ab){0,90}c?|(각가){0,40}|[abcx가각ᅡ中é\n ]{0,60}", any::<u8>()), 1..6),
        indicator in prop::sample::select(vec!["", "##"]),
        strip in any::<bool>(),
        unknown in prop::sample::select(UNKNOWNS[..4].to_vec()),
        pretokenize in any::<bool>(),
        at_once in 1..3_usize,
        length in 4..40_usize,
    ) {
        let options = of(unknown, pretokenize, [false, strip, true, false], indicator);
        let mut tokens = tokens;
        tokens.extend(["<0x63>", "<0xC3>", "<0xA9>", "ᄀ", "ᅡᆨ"].map(String::from));
        let automaton = automaton(&vocabulary(tokens, options, vec![added("xx", 950, 0)]));
        check(&automaton, &rows(&parts), at_once, length)?;
    }
}

/// Longer than a chunk, so that stretches and words go on from one to the next.
#[test]
fn long_text() {
    let tokens =
        ["a", "ab", "abcabc", "中文", "文", "中文中", "가", "\u{11A8}\u{1100}", "é", "<0xE4>", "<0xB8>", "<0xAD>", " "];
    let unit = "abcabcab中文中中文q각각가 x\né😀[b";
    let texts = [unit.repeat(4_000), "ab".repeat(60_000), "각".repeat(30_000), "x".repeat(3), unit.repeat(3)];
    let parts: Vec<(String, u8)> = texts.into_iter().zip([0, 1, 0, 0, 0]).collect();
    for (unknown, pretokenize, strip) in UNKNOWNS[..4].iter().flat_map(|&unknown| {
        [(unknown, false, false), (unknown, false, true), (unknown, true, false), (unknown, true, true)]
    }) {
        let options = of(unknown, pretokenize, [strip, strip, true, false], "");
        let automaton = automaton(&vocabulary(tokens.map(String::from).to_vec(), options, vec![added("[b", 950, 0)]));
        check(&automaton, &rows(&parts), 2, 300).unwrap();
    }
}

/// A text that never comes to the same place from two sides takes twice the steps, and not their square.
#[test]
fn what_never_meets() {
    let tokens = vec!["aaa".to_string(), "aa".into(), "a".into(), "ab".into()];
    let automaton = automaton(&vocabulary(tokens, of(Unknown::Character, false, [false; 4], ""), vec![]));
    for text in ["a".repeat(50_000), "a".repeat(50_001), "ab".repeat(20_000), "aab".repeat(20_000)] {
        for length in [4, 5, 64, 301] {
            check(&automaton, &rows(&[(text.clone(), 0)]), 1, length).unwrap();
        }
    }
}
