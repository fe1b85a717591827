//! Text that is not split into words, matched in parts: the tokens are those of the whole, and each leaves as early as it
//! can.

mod common;

use common::{added, automaton, character, options, text, vocabulary};
use proptest::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use wordpiece::automaton::Automaton;
use wordpiece::encoder::{EncodeOptions, Encoded, Workspace, encode};
use wordpiece::failure::UNKNOWN_CHARACTER;
use wordpiece::options::{Options, Segmentation, Unknown, Vocabulary};
use wordpiece::simd::{Level, portable::Portable};
use wordpiece::stretch::Stretch;

fn unsplit(switches: [bool; 4], indicator: &str) -> Options {
    Options { pretokenize: false, unknown: Unknown::Character, ..options(switches, indicator, 100) }
}

/// Compiled so that Hangul is matched by its jamo and nothing else is changed.
fn of_jamo(tokens: Vec<String>, indicator: &str) -> (Automaton, Vocabulary) {
    let vocabulary = vocabulary(tokens, unsplit([false, true, false, false], indicator), vec![]);
    (automaton(&vocabulary), vocabulary)
}

/// The characters of a text, Hangul syllables as their jamo, and the bytes that each comes from.
fn spelled(text: &str) -> Vec<(char, Range<usize>)> {
    let of = |(at, c): (usize, char)| {
        let range = at..at + c.len_utf8();
        let (jamo, count) = match wordpiece::utf8::is_hangul_syllable(u32::from(c)) {
            true => wordpiece::utf8::hangul_jamo(u32::from(c)),
            false => ([u32::from(c), 0, 0], 1),
        };
        (0..count).map(move |i| (char::from_u32(jamo[i]).unwrap(), range.clone()))
    };
    text.char_indices().flat_map(of).collect()
}

/// Longest match from the left, again and again; a character that begins no token is unknown.
fn naive(vocabulary: &Vocabulary, text: &str) -> Vec<(u32, Range<usize>)> {
    let ids: HashMap<&str, u32> = vocabulary.tokens.iter().map(|(token, id)| (token.as_str(), *id)).collect();
    let (chars, mut start, mut found) = (spelled(text), 0, Vec::new());
    while start < chars.len() {
        let indicator = if start > 0 { vocabulary.options.continuing_subword_prefix.as_str() } else { "" };
        let longest = (start + 1..=chars.len()).rev().find_map(|end| {
            let token: String = indicator.chars().chain(chars[start..end].iter().map(|(c, _)| *c)).collect();
            ids.get(token.as_str()).map(|&id| (id, end))
        });
        let (id, end) = longest.unwrap_or((0, start + 1));
        found.push((id, chars[start].1.start..chars[end - 1].1.end));
        start = end;
    }
    found
}

/// Run over a text that comes in parts. `undecided` is asked about what is left after each: its jamo and letters, and
/// whether it stands at the beginning.
fn in_parts(automaton: &Automaton, parts: &[&str], undecided: impl Fn(&str, bool)) -> Vec<(u32, Range<usize>)> {
    let (mut stretch, mut held, mut before, mut found) = (Stretch::default(), String::new(), 0, Vec::new());
    for (i, part) in parts.iter().enumerate() {
        held += part;
        let emit = |token, range: Range<usize>, _| {
            let id = if token == UNKNOWN_CHARACTER { 0 } else { token };
            found.push((id, range.start + before..range.end + before));
        };
        let ended = i + 1 == parts.len();
        let rest = stretch.run(&automaton.tables(), held.as_bytes(), 0..held.len(), ended, emit);
        assert_eq!(rest.end, held.len());
        before += rest.start;
        held.drain(..rest.start);
        let left: String = spelled(&held).iter().skip(stretch.jamo.into()).map(|(c, _)| *c).collect();
        undecided(&left, stretch.at_root);
    }
    assert_eq!((held.as_str(), stretch), ("", Stretch::default()));
    found
}

fn ids(automaton: &Automaton, texts: &[&str], level: Level) -> (Vec<u32>, Vec<u64>, usize) {
    let options = EncodeOptions { add_special_tokens: true, strict: false, level };
    let mut out = Encoded::default();
    let texts = texts.iter().map(|text| Some(text.as_bytes()));
    encode(automaton, texts, &options, &mut Workspace::default(), &mut out).unwrap();
    (out.ids, out.ends, out.unknowns)
}

/// Letters and Hangul that share jamo.
const LETTERS: &str = "[ab 각]{1,6}|#[ab 각]{1,6}|[aᄀ]{5,20}b";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn tokens_leave_as_early_as_they_can_and_are_those_of_the_whole(
        tokens in prop::collection::vec(LETTERS, 0..20),
        parts in prop::collection::vec("[ab #가각ᅡ]{0,6}|[a가]{5,20}", 1..12),
        indicator in prop::sample::select(vec!["", "#", "##"]),
    ) {
        let (automaton, vocabulary) = of_jamo(tokens, indicator);
        let expected = naive(&vocabulary, &parts.concat());
        let may_go_on = |left: &str, at_root: bool| {
            let indicator = if at_root { "" } else { indicator };
            let longer = |token: &str| token.strip_prefix(indicator).is_some_and(|t| t.len() > left.len() && t.starts_with(left));
            assert!(left.is_empty() || vocabulary.tokens.iter().any(|(token, _)| longer(token)), "{left:?} is decided");
        };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        prop_assert_eq!(&in_parts(&automaton, &[&parts.concat()], |_, _| ()), &expected);
        prop_assert_eq!(&in_parts(&automaton, &parts, may_go_on), &expected);
    }

    #[test]
    fn levels_agree(
        tokens in prop::collection::vec(prop::collection::vec(character(), 1..4), 0..40),
        texts in prop::collection::vec(text(), 0..6),
        switches in any::<[bool; 4]>(),
        indicator in prop::sample::select(vec!["", "##"]),
        flags in prop::sample::select(vec![0, 1, 8, 9]),
        unknown in prop::sample::select(vec![Unknown::Character, Unknown::Run, Unknown::Byte]),
        way in 0..3,
        pretokenize in any::<bool>(),
    ) {
        let mut tokens: Vec<String> = tokens.into_iter().map(String::from_iter).collect();
        tokens.extend(["<0x61>", "<0x20>", "<0xC3>", "<0xA9>"].map(String::from));
        let segmentation = if way == 1 { Segmentation::Fewest } else { Segmentation::Greedy };
        let backward = way == 2 && indicator.is_empty();
        let options = Options { pretokenize, unknown, backward, segmentation, ..unsplit(switches, indicator) };
        let automaton = automaton(&vocabulary(tokens, options, vec![added("[b", 950, flags)]));
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let expected = ids(&automaton, &texts, Level::Portable(Portable));
        for level in Level::available() {
            prop_assert_eq!(&ids(&automaton, &texts, level), &expected, "{}", level.name());
        }
    }
}

#[test]
fn a_token_may_end_within_a_syllable() {
    let (automaton, _) = of_jamo(["ᄀ", "ᅡᆨ", "ᅡᆨa"].map(String::from).to_vec(), "");
    // The syllable has three jamo and three bytes, which its tokens share.
    let expected = vec![(1, 0..3), (2, 0..3), (0, 3..4)];
    assert_eq!(in_parts(&automaton, &["각b"], |_, _| ()), expected);
    let held = std::cell::RefCell::new(Vec::new());
    let undecided = |left: &str, _: bool| held.borrow_mut().push(left.to_string());
    assert_eq!(in_parts(&automaton, &["각", "", "b", ""], undecided), expected);
    assert_eq!(held.into_inner(), ["ᅡᆨ", "ᅡᆨ", "", ""]);
}

#[test]
fn an_endless_stretch_takes_the_memory_of_the_longest_token() {
    let long = "ab".repeat(50) + "c";
    let (automaton, vocabulary) = of_jamo(vec!["a".into(), "ba".into(), long.clone()], "");
    let text = "ab".repeat(2_000) + &long;
    let parts: Vec<&str> = text.as_bytes().chunks(3).map(|part| std::str::from_utf8(part).unwrap()).collect();
    let short = |left: &str, _: bool| assert!(left.len() < long.len());
    assert_eq!(in_parts(&automaton, &parts, short), naive(&vocabulary, &text));
}

#[test]
fn unknown_characters_by_their_code_points_where_no_token_is_the_unknown_one() {
    let unknown = [(Unknown::CodePoint, 7 + 'x' as u32), (Unknown::Character, 7), (Unknown::Run, 7)];
    for (unknown, id) in unknown {
        let mut options = Options { unknown, ..unsplit([false; 4], "") };
        options.unk_token = String::new();
        let tokens = vec![("[UNK]".to_string(), 6), ("xa".to_string(), 2)];
        let mut vocabulary = Vocabulary { tokens, ..vocabulary(vec![], options, vec![]) };
        vocabulary.prefix_ids.clear();
        vocabulary.suffix_ids.clear();
        for level in Level::available() {
            let (found, _, unknowns) = ids(&automaton(&vocabulary), &["xxa[UNK]x"], level);
            assert_eq!((found, unknowns), (vec![id, 2, 6, id], 2));
        }
        let mut other = vocabulary.clone();
        other.metadata = "other ids".into();
        assert_ne!(automaton(&other).fingerprint(), automaton(&vocabulary).fingerprint());
    }
}

#[test]
fn ids_of_code_points_have_to_fit() {
    let options = Options { unknown: Unknown::CodePoint, unk_token: String::new(), ..unsplit([false; 4], "") };
    let limit = (1 << 28) - 1 - 0x11_0000;
    for (id, fits) in [(limit - 1, true), (limit, false)] {
        let vocabulary = Vocabulary { tokens: vec![("a".into(), id)], ..vocabulary(vec![], options.clone(), vec![]) };
        assert_eq!(wordpiece::compile::compile(&vocabulary).is_ok(), fits);
    }
}
