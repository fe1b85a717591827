//! Every level of vector instructions gives the same ids as the portable one, and that gives those of naive MaxMatch.

mod common;

use common::{added, automaton, character, options, text, vocabulary};
use proptest::prelude::*;
use std::collections::HashMap;
use wordpiece::automaton::Automaton;
use wordpiece::chunk::{CHUNK, token_word};
use wordpiece::compile::{compile, compile_with_layout};
use wordpiece::document::Document;
use wordpiece::encoder::{EncodeOptions, Encoded, Part, Workspace, encode, encode_parts};
use wordpiece::layout::Layout;
use wordpiece::options::Vocabulary;
use wordpiece::simd::{Level, portable::Portable};
use wordpiece::word_table::key;

fn ids(automaton: &Automaton, texts: &[&[u8]], level: Level) -> (Vec<u32>, Vec<u64>, usize) {
    let options = EncodeOptions { add_special_tokens: true, strict: false, level };
    let encoded = |texts: &[&[u8]], workspace: &mut Workspace| {
        let mut out = Encoded::default();
        encode(automaton, texts.iter().copied().map(Some), &options, workspace, &mut out).unwrap();
        (out.ids, out.ends, out.invalid)
    };
    let ids = encoded(texts, &mut Workspace::default());
    // Buffers that were used for less, and for the same; and all words in rounds where there are some.
    let mut used = Workspace::default();
    encoded(&[b"a"], &mut used);
    for workspace in [&mut used, &mut Workspace::with_rounds(1)] {
        for _ in 0..2 {
            assert_eq!(encoded(texts, workspace), ids, "{}", level.name());
        }
    }
    ids
}

fn all_levels_agree(automaton: &Automaton, texts: &[&[u8]]) {
    let expected = ids(automaton, texts, Level::Portable(Portable));
    for level in Level::available() {
        assert_eq!(ids(automaton, texts, level), expected, "{}", level.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn levels_agree(
        tokens in prop::collection::vec(prop::collection::vec(character(), 1..6), 0..40),
        texts in prop::collection::vec(text(), 0..6),
        switches in any::<[bool; 4]>(),
        flags in any::<[u8; 2]>(),
        limit in 1..60u32,
    ) {
        let tokens: Vec<String> = tokens
            .into_iter()
            .map(String::from_iter)
            .enumerate()
            .map(|(i, token)| if i % 2 == 0 { token } else { format!("##{token}") })
            .collect();
        let tokens_added = vec![added("[ab]", 950, flags[0]), added("éc", 951, flags[1])];
        let vocabulary = vocabulary(tokens, options(switches, "##", limit), tokens_added);
        let automaton = automaton(&vocabulary);
        let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        all_levels_agree(&automaton, &texts);
    }

    #[test]
    fn levels_agree_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), text in text(), cut in any::<prop::sample::Index>()) {
        let vocabulary = vocabulary(vec!["a".into(), "##b".into()], options([true; 4], "##", 100), vec![]);
        let automaton = automaton(&vocabulary);
        let cut = &text.as_bytes()[..cut.index(text.len() + 1)];
        all_levels_agree(&automaton, &[&bytes, cut, text.as_bytes()]);
        // Invalid bytes are read as Rust reads them.
        let lossy = String::from_utf8_lossy(&bytes);
        let (read, ..) = ids(&automaton, &[&bytes], Level::Portable(Portable));
        prop_assert_eq!(read, ids(&automaton, &[lossy.as_bytes()], Level::Portable(Portable)).0);
    }

    #[test]
    fn words_are_split_as_naive_max_match_does(
        tokens in prop::collection::vec("[ab]{1,8}|##[ab]{1,8}|[abé]{1,3}", 0..20),
        word in "[abé]{1,40}",
    ) {
        let vocabulary = vocabulary(tokens, options([false; 4], "##", 30), vec![]);
        let automaton = automaton(&vocabulary);
        let expected = naive(&vocabulary.tokens.iter().cloned().collect(), &word, 30);
        let (read, ..) = ids(&automaton, &[word.as_bytes()], Level::Portable(Portable));
        prop_assert_eq!(&read[1..read.len() - 1], &expected[..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Words so long that lanes take two characters from `r#` at once: where these lead to one node, to one and not
    /// further, or nowhere, and where the word ends between them and the next document begins.
    #[test]
    fn long_words_are_split_as_naive_max_match_does(
        tokens in prop::collection::vec("[abC]{1,3}|##[abC]{1,5}|##1[ab]", 4..24),
        words in prop::collection::vec("[abC]{14,33}|[ab]{13}[ab1]{1,2}|[ab]{20}c?", 16..200),
        splittable in 0..7usize,
    ) {
        let more = ["a", "b", "C", "##a", "##b", "##C"].map(String::from);
        let tokens = tokens.into_iter().chain(more.into_iter().take(splittable)).collect();
        let vocabulary = vocabulary(tokens, options([false; 4], "##", 100), vec![]);
        let automaton = automaton(&vocabulary);
        let tokens = vocabulary.tokens.iter().cloned().collect();
        let expected: Vec<u32> = words.iter().flat_map(|word| naive(&tokens, word, 100)).collect();
        for level in Level::available() {
            let options = EncodeOptions { add_special_tokens: false, strict: false, level };
            let mut out = Encoded::default();
            let texts = words.iter().map(|word| Some(word.as_bytes()));
            encode(&automaton, texts, &options, &mut Workspace::default(), &mut out).unwrap();
            prop_assert_eq!(&out.ids, &expected, "{}", level.name());
        }
        // The same where `r#` is `r`, and among words that are not ASCII.
        let vocabulary = Vocabulary { options: options([false; 4], "", 100), ..vocabulary };
        let other: Vec<String> = words.iter().map(|word| word.replacen('b', "é", 1)).collect();
        let texts: Vec<&[u8]> = words.iter().chain(&other).map(String::as_bytes).collect();
        all_levels_agree(&common::automaton(&vocabulary), &texts);
    }

    /// `pool` words, of which `often` in 16 draws take one of the first eight, so that repeated ones are frequent or rare, in the
    /// same vector of words or far apart, and the kernel goes on asking for them or does not.
    #[test]
    fn repeated_words_are_split_as_naive_max_match_does(
        tokens in prop::collection::vec("[ab]{1,4}|##[ab]{1,4}|##é|[aé]{1,2}|가|##가", 0..16),
        pool in prop::collection::vec("[ab]{1,40}|[ab]{12,18}|[abé]{1,34}|[ab]{1,3}가[ab]{0,3}|a{15,17}b{0,2}", 1..60),
        draws in prop::collection::vec(any::<(u8, prop::sample::Index)>(), 1..600),
        often in 0..17u8,
        limit in prop::sample::select(vec![3, 15, 29, 100]),
        strip_accents in any::<bool>(),
    ) {
        let options = options([false, strip_accents, false, false], "##", limit);
        let limit = limit as usize;
        let vocabulary = vocabulary(tokens, options, vec![]);
        let tokens = vocabulary.tokens.iter().cloned().collect();
        let automaton = automaton(&vocabulary);
        // What is left of a word whose accents are stripped.
        let plain = |word: &str| if strip_accents { word.replace('é', "e") } else { word.to_string() };
        prop_assume!(!strip_accents || pool.iter().all(|word| !word.contains('가')));
        let draw = |(chance, index): &(u8, prop::sample::Index)| {
            let few = if chance % 16 < often { pool.len().min(8) } else { pool.len() };
            &pool[index.index(few)]
        };
        let words: Vec<&String> = draws.iter().map(draw).collect();
        let text = words.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
        let expected: Vec<u32> = words.iter().flat_map(|word| naive(&tokens, &plain(word), limit)).collect();
        for level in Level::available() {
            let options = EncodeOptions { add_special_tokens: false, strict: false, level };
            let (mut workspace, mut out) = (Workspace::default(), Encoded::default());
            // The second time with what the first one has left in the workspace.
            for _ in 0..2 {
                out.ids.clear();
                encode(&automaton, [Some(text.as_bytes())].into_iter(), &options, &mut workspace, &mut out).unwrap();
                prop_assert_eq!(&out.ids, &expected, "{}", level.name());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// So many that all groups of lanes and batches are filled, what is logged is written many times, and chunks end.
    #[test]
    fn many_words_are_split_as_naive_max_match_does(
        tokens in prop::collection::vec("[ab]{1,8}|##[ab]{1,8}|(##)?[aø中각😀]{1,3}|(##)?[abø가]", 1..40),
        words in prop::collection::vec(
            "[ab]{1,6}|[ab]{1,40}|[abøß中가각😀]{1,4}|[abø]{14,30}|[ab]{14,24}[ø가]{1,2}[ab]?|a{1,120}", 1..300),
        order in prop::collection::vec(any::<prop::sample::Index>(), 500),
        part in 1..CHUNK,
        [transducer, strip_accents] in any::<[bool; 2]>(),
    ) {
        // Where accents are stripped, syllables are matched as their jamo.
        let jamo = |text: &str| text.replace('가', "\u{1100}\u{1161}").replace('각', "\u{1100}\u{1161}\u{11A8}");
        let matched = |text: &str| if strip_accents { jamo(text) } else { text.to_string() };
        let tokens = tokens.iter().map(|token| matched(token)).collect();
        let vocabulary = vocabulary(tokens, options([false, strip_accents, false, false], "##", 100), vec![]);
        let layout = if transducer { Layout::Transducer } else { Layout::FailureLinks };
        let automaton = Automaton::from_bytes(&compile_with_layout(&vocabulary, layout).unwrap()).unwrap();
        let of = vocabulary.tokens.iter().cloned().collect();
        let pieces: Vec<Vec<u32>> = words.iter().map(|word| naive(&of, &matched(word), 100)).collect();
        let order: Vec<usize> = order.iter().map(|index| index.index(words.len())).collect();
        let (mut text, mut expected) = (String::new(), vec![900]);
        while text.len() < 2 * CHUNK + 10_000 {
            for &word in &order {
                text.extend([&words[word], " "]);
                expected.extend(&pieces[word]);
            }
        }
        expected.push(901);
        for level in Level::available() {
            prop_assert!(ids(&automaton, &[text.as_bytes()], level).0 == expected, "{}", level.name());
            prop_assert!(in_parts(&automaton, text.as_bytes(), part, level) == expected, "{} in parts", level.name());
        }
    }
}

/// The ids of a document that comes in parts of so many bytes, each a call.
fn in_parts(automaton: &Automaton, text: &[u8], size: usize, level: Level) -> Vec<u32> {
    let options = EncodeOptions { add_special_tokens: true, strict: false, level };
    let (mut document, mut workspace, mut out) = (Document::default(), Workspace::default(), Encoded::default());
    let mut parts = text.chunks(size).peekable();
    while let Some(text) = parts.next() {
        let part = Part { text: Some(text), ends: parts.peek().is_none() };
        encode_parts(automaton, std::iter::once(part), &options, &mut document, &mut workspace, &mut out).unwrap();
    }
    out.ids
}

/// Longest match from the left, again and again.
fn naive(vocabulary: &HashMap<String, u32>, word: &str, limit: usize) -> Vec<u32> {
    let chars: Vec<char> = word.chars().collect();
    let (mut start, mut ids) = (0, Vec::new());
    while start < chars.len() && chars.len() <= limit {
        let prefix = if start > 0 { "##" } else { "" };
        let found = (start + 1..=chars.len()).rev().find_map(|end| {
            let piece = prefix.to_string() + &String::from_iter(&chars[start..end]);
            vocabulary.get(&piece).map(|&id| (end, id))
        });
        match found {
            Some((end, id)) => (start, _) = (end, ids.push(id)),
            None => break,
        }
    }
    if start < chars.len() { vec![vocabulary["[UNK]"]] } else { ids }
}

#[test]
fn tokens_of_the_template_are_in_the_word_table() {
    let automaton = automaton(&vocabulary(vec!["a".into()], options([true; 4], "##", 100), vec![]));
    let find = |id: u32| automaton.tables().words.get(&key(&token_word(id)));
    assert_eq!([900, 901, 902].map(find), [Some(900), Some(901), None]);
}

#[test]
fn buffers_that_were_used_for_little_have_room_for_much() {
    let vocabulary = vocabulary(vec!["a".into(), "##b".into()], options([true; 4], "##", 100), vec![]);
    let automaton = automaton(&vocabulary);
    // As many missed words as a chunk has room for.
    let many = "!".repeat(CHUNK + 5_000);
    all_levels_agree(&automaton, &[b"!", many.as_bytes(), "é ".repeat(CHUNK).as_bytes()]);
}

#[test]
fn a_word_with_whose_first_character_no_token_begins_is_unknown() {
    let tokens = ["ᄀ", "##ᅡ", "é", "😀"].map(String::from).to_vec();
    let words = ["가", "나", "é", "ée", "è", "😀", "😀가", "😃", "ᅡ", "나나나나나"];
    for (strip_accents, expected) in [
        (true, [&[1, 2][..], &[0], &[0], &[0], &[0], &[4], &[0], &[0], &[0], &[0]]),
        (false, [&[0], &[0], &[3], &[0], &[0], &[4], &[0], &[0], &[0], &[0]]),
    ] {
        let vocabulary = vocabulary(tokens.clone(), options([false, strip_accents, false, false], "##", 100), vec![]);
        for layout in [Layout::FailureLinks, Layout::Transducer] {
            let automaton = Automaton::from_bytes(&compile_with_layout(&vocabulary, layout).unwrap()).unwrap();
            // One of them, and so many that lanes look for unknown ones, all at once.
            for text in words.map(String::from).into_iter().chain([(words.join(" ") + " ").repeat(30)]) {
                all_levels_agree(&automaton, &[text.as_bytes()]);
                let (read, ..) = ids(&automaton, &[text.as_bytes()], Level::Portable(Portable));
                let of = |word: &str| expected[words.iter().position(|&other| other == word).unwrap()].to_vec();
                let expected: Vec<u32> = text.split_whitespace().flat_map(of).collect();
                assert_eq!(&read[1..read.len() - 1], expected, "{text} {layout:?}");
            }
        }
    }
}

#[test]
fn long_texts_cross_chunks() {
    let tokens = ["a", "##a", "aa", "b", "中", "##é"].map(String::from).to_vec();
    let vocabulary = vocabulary(tokens, options([true; 4], "##", 100), vec![added("[X]", 950, 0)]);
    let automaton = automaton(&vocabulary);
    for unit in ["a", "aaaaaa b ", "中", "é ", "[X]", "a\u{301}", "\u{302E}", "😀", "x ", "!", "\u{0}"] {
        for length in [CHUNK - 1, CHUNK, CHUNK + 1, CHUNK + 20_000] {
            let text = unit.repeat(length / unit.len());
            all_levels_agree(&automaton, &[text.as_bytes(), b"b", text.as_bytes()]);
        }
    }
    let overlong = "a".repeat(1_000_000) + " b";
    assert_eq!(ids(&automaton, &[overlong.as_bytes()], Level::Portable(Portable)).0, [900, 0, 4, 901]);
}

#[test]
fn a_token_may_begin_in_the_white_space_that_another_takes() {
    let tokens = ["a", "b", "##b"].map(String::from).to_vec();
    let added_tokens = vec![added("a", 1, 4), added(" b", 950, 0)];
    let vocabulary = vocabulary(tokens, options([false; 4], "##", 100), added_tokens);
    let automaton = automaton(&vocabulary);
    all_levels_agree(&automaton, &[b"a b", b"a   bb a"]);
    let read = |text: &str| ids(&automaton, &[text.as_bytes()], Level::Portable(Portable)).0;
    assert_eq!(read("a b"), [900, 1, 950, 901]);
    assert_eq!(read("a   bb"), [900, 1, 950, 2, 901]);
}

#[test]
fn a_token_is_found_behind_any_character_of_its_block() {
    let tokens = vec!["a".to_string(), "##a".into()];
    let switches = [true, true, true, true];
    let with = vocabulary(tokens, options(switches, "##", 100), vec![added("[M]", 7, 0)]);
    let automaton = Automaton::from_bytes(&compile(&with).unwrap()).unwrap();
    // Characters that become several (U+0BCA), marks, a syllable, what is deleted, and bytes that are not UTF-8.
    for before in ["j\u{bca}", "a\u{301}", "\u{ac01}", "\u{200d}", "\u{4e00}", "\u{1f600}", "\u{130}"] {
        for level in Level::available() {
            let text = format!("{before}[M]{before}a[M]");
            let (found, ..) = ids(&automaton, &[text.as_bytes()], level);
            assert_eq!(found.iter().filter(|&&id| id == 7).count(), 2, "{text:?} {}", level.name());
        }
    }
    let text: &[u8] = b"\xC3[M]\xFF\xE2\x82[M]";
    all_levels_agree(&automaton, &[text]);
}

#[test]
fn tokens_of_the_template_have_no_length() {
    for (limit, strip) in (0..6).flat_map(|limit| [(limit, false), (limit, true)]) {
        let switches = [false, strip, true, true];
        let tokens = vec!["ab".to_string(), "a".into()];
        // Ids with bytes that begin no character.
        let mut with = vocabulary(tokens, options(switches, "##", limit), vec![added("[M]", 0x80_C3_FF, 0)]);
        with.prefix_ids = vec![0xC0_81_E2];
        let automaton = Automaton::from_bytes(&compile(&with).unwrap()).unwrap();
        let word = |length: u32, id| if length > limit { 0 } else { id };
        let expected = [0xC0_81_E2, word(2, 1), 0x80_C3_FF, word(1, 2), 901];
        for level in Level::available() {
            assert_eq!(ids(&automaton, &[b"ab [M] a"], level).0, expected, "{limit} {strip} {}", level.name());
        }
    }
}

#[test]
fn long_words_that_repeat_are_split_every_time() {
    let tokens = ["a", "##a", "##aaa", "##b", "b", "c"].map(String::from).to_vec();
    let with = vocabulary(tokens, options([false; 4], "##", 100), vec![]);
    let automaton = Automaton::from_bytes(&compile(&with).unwrap()).unwrap();
    let words = ["a".repeat(30), "a".repeat(31) + "b", "b".repeat(99), "a".repeat(40) + "x", "c".into()];
    let of: HashMap<String, u32> = with.tokens.iter().cloned().collect();
    let order = [0, 1, 0, 4, 3, 2, 2, 3, 1, 0, 4];
    let text = order.map(|i| words[i].as_str()).join(" ");
    let expected: Vec<u32> = order.iter().flat_map(|&i| naive(&of, &words[i], 100)).collect();
    for level in Level::available() {
        let (found, ..) = ids(&automaton, &[text.as_bytes()], level);
        assert_eq!(found[1..found.len() - 1], expected, "{}", level.name());
    }
}

#[test]
fn the_word_limit_may_be_larger_than_a_chunk() {
    for limit in [1, 4095, 4096, 5000, 100_000] {
        let tokens = ["a", "##a"].map(String::from).to_vec();
        let vocabulary = vocabulary(tokens, options([true; 4], "##", limit), vec![added("éc", 951, 8)]);
        let automaton = automaton(&vocabulary);
        let count = |length: u32| {
            let text = "a".repeat(length as usize) + " a";
            all_levels_agree(&automaton, &[text.as_bytes()]);
            ids(&automaton, &[text.as_bytes()], Level::Portable(Portable)).0.len()
        };
        assert_eq!(count(limit), limit as usize + 3);
        assert_eq!(count(limit + 1), 4);
        assert_eq!(count(4 * limit + 50_000), 4);
    }
    let vocabulary = vocabulary(vec![], options([true; 4], "##", u32::MAX), vec![]);
    assert!(compile(&vocabulary).unwrap_err().to_string().contains("max_input_chars_per_word"));
}

#[test]
fn added_tokens_are_found_in_linear_time() {
    let long = "a".repeat(4_000) + "b";
    let added_tokens = vec![added(&long, 950, 0), added(&long.to_uppercase(), 951, 8)];
    let vocabulary = vocabulary(vec!["a".into()], options([true; 4], "##", 100), added_tokens);
    let automaton = automaton(&vocabulary);
    let text = "a".repeat(200_000);
    let begin = std::time::Instant::now();
    assert_eq!(ids(&automaton, &[text.as_bytes()], Level::Portable(Portable)).0.len(), 3);
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

#[test]
fn white_space_before_a_token_is_taken_however_long_it_is() {
    // "a " is looked for in the normalized text, from which "[X]" takes the white space before it.
    let added_tokens = vec![added("a ", 950, 8), added("[X]", 951, 2)];
    let vocabulary = vocabulary(vec!["a".into()], options([true; 4], "##", 100), added_tokens);
    let automaton = automaton(&vocabulary);
    for spaces in [0, 1, 1020, 1025, 5000, 40_000] {
        let text = "a".to_string() + &" ".repeat(spaces) + "[X]";
        assert_eq!(ids(&automaton, &[text.as_bytes()], Level::Portable(Portable)).0, [900, 1, 951, 901], "{spaces}");
    }
}
