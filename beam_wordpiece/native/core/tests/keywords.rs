//! Keys in texts: every occurrence, and the leftmost and longest, against trying all places; whole texts and parts.

// Other tests use the rest of it.
#[allow(dead_code)]
mod common;

use common::{automaton, options, vocabulary};
use proptest::prelude::*;
use wordpiece::automaton::Automaton;
use wordpiece::keywords::{Lengths, Links};
use wordpiece::occurrences::{Occurrences, OpenText, find};
use wordpiece::options::{Options, Unknown};
use wordpiece::rows::Part;

const POLICIES: [Unknown; 3] = [Unknown::Character, Unknown::Run, Unknown::CodePoint];

fn dictionary(keys: &[String], unknown: Unknown) -> Automaton {
    let whole = Options { unk_token: String::new(), pretokenize: false, unknown, ..options([false; 4], "", 0) };
    let mut vocabulary = vocabulary(vec![], whole, vec![]);
    vocabulary.tokens = keys.iter().cloned().zip(0..).collect();
    vocabulary.prefix_ids.clear();
    vocabulary.suffix_ids.clear();
    automaton(&vocabulary)
}

type Found = (i64, i64, u32);

fn found(automaton: &Automaton, text: &[u8], every: bool) -> Vec<Found> {
    let lengths = Lengths::of(automaton).unwrap();
    let links = every.then(|| Links::build(automaton, &lengths));
    let texts = [None, Some(text)].map(|text| Part { text, ends: true });
    let out = find(automaton, &lengths, links.as_ref(), texts.into_iter(), false, &mut OpenText::default()).unwrap();
    assert_eq!(out.rows, [0, out.keys.len()]);
    assert_eq!(out.invalid, usize::from(std::str::from_utf8(text).is_err()));
    listed(out)
}

fn listed(Occurrences { starts, ends, keys, .. }: Occurrences) -> Vec<Found> {
    starts.into_iter().zip(ends).zip(keys).map(|((start, end), key)| (start, end, key)).collect()
}

/// The same of a text that is cut, by way of a state at each cut.
fn found_in_parts(automaton: &Automaton, text: &[u8], every: bool, cuts: &[usize]) -> Vec<Found> {
    let lengths = Lengths::of(automaton).unwrap();
    let links = every.then(|| Links::build(automaton, &lengths));
    let mut bounds: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).chain([0, text.len()]).collect();
    bounds.sort_unstable();
    let (mut open, mut all) = (OpenText::default(), Vec::new());
    for bounds in bounds.windows(2) {
        let part = Part { text: Some(&text[bounds[0]..bounds[1]]), ends: false };
        let out = find(automaton, &lengths, links.as_ref(), std::iter::once(part), false, &mut open).unwrap();
        all.extend(listed(out));
        let state = open.to_bytes(automaton, every);
        let (read, overlapping) = OpenText::from_bytes(automaton, &lengths, &state).unwrap();
        assert_eq!(overlapping, every);
        open = read;
    }
    let end = Part { text: None, ends: true };
    let out = find(automaton, &lengths, links.as_ref(), std::iter::once(end), false, &mut open).unwrap();
    all.extend(listed(out));
    all
}

fn naive(keys: &[String], text: &str) -> Vec<Found> {
    let text: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    for end in 1..=text.len() {
        for start in 0..end {
            let part: String = text[start..end].iter().collect();
            found.extend(keys.iter().position(|key| *key == part).map(|key| (start as i64, end as i64, key as u32)));
        }
    }
    found
}

fn leftmost_longest(mut every: Vec<Found>) -> Vec<Found> {
    every.sort_by_key(|&(start, end, _)| (start, -end));
    let mut found: Vec<Found> = Vec::new();
    for occurrence in every {
        if found.last().is_none_or(|last| occurrence.0 >= last.1) {
            found.push(occurrence);
        }
    }
    found
}

proptest! {
    #[test]
    fn all_places_are_found(
        keys in prop::collection::hash_set("[ab]{1,4}|a{1,9}|(ab){1,6}c?|[aé中😀\0가]{1,3}", 1..8),
        text in "[abc]{0,40}|(a{0,9}b){0,5}|[aé中😀\0가\u{10FFFF}]{0,20}",
        policy in 0..3usize,
    ) {
        let keys: Vec<String> = keys.into_iter().collect();
        let automaton = dictionary(&keys, POLICIES[policy]);
        let every = naive(&keys, &text);
        prop_assert_eq!(&found(&automaton, text.as_bytes(), true), &every);
        prop_assert_eq!(found(&automaton, text.as_bytes(), false), leftmost_longest(every));
    }

    #[test]
    fn parts_are_as_the_whole(
        keys in prop::collection::hash_set("[ab]{1,4}|a{1,9}|(ab){1,6}c?|[aé中😀\0가\u{FFFD}]{1,3}", 1..8),
        text in prop::collection::vec(
            prop_oneof![
                "[abc]{0,20}|[aé中😀\0가]{0,9}".prop_map(String::into_bytes),
                prop::collection::vec(0x80..=0xFFu8, 0..4),
            ],
            0..4,
        ),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let (keys, text): (Vec<String>, Vec<u8>) = (keys.into_iter().collect(), text.concat());
        let automaton = dictionary(&keys, Unknown::Run);
        for every in [false, true] {
            prop_assert_eq!(found_in_parts(&automaton, &text, every, &cuts), found(&automaton, &text, every));
        }
    }
}

#[test]
fn each_invalid_part_is_one_character() {
    let automaton = dictionary(&["\u{FFFD}".to_string(), "b".to_string()], Unknown::Character);
    for every in [false, true] {
        assert_eq!(found(&automaton, b"a\xF0\x9F\x98b\xFF", every), [(1, 2, 0), (2, 3, 1), (3, 4, 0)]);
    }
}

#[test]
fn what_is_no_dictionary_is_refused() {
    let words = automaton(&vocabulary(vec!["a".into()], options([false; 4], "##", 100), vec![]));
    assert!(Lengths::of(&words).is_err());
    let backward = Options {
        unk_token: String::new(),
        pretokenize: false,
        unknown: Unknown::Run,
        backward: true,
        ..options([false; 4], "", 0)
    };
    assert!(Lengths::of(&automaton(&vocabulary(vec!["a".into()], backward, vec![]))).is_err());
}
