//! A sample changes neither ids nor the fingerprint, at any level of vector instructions; only words that it may are put
//! into the word tables.

use proptest::prelude::*;
use wordpiece::automaton::Automaton;
use wordpiece::compile::{compile, compile_with_sample};
use wordpiece::encoder::{EncodeOptions, Encoded, Workspace, encode};
use wordpiece::format::{self, Layout, Section};
use wordpiece::layout::Layout as TrieLayout;
use wordpiece::options::{AddedToken, Options, Profile, Segmentation, Unknown, Vocabulary};
use wordpiece::simd::Level;

fn vocabulary(tokens: impl IntoIterator<Item = String>, switches: [bool; 4], limit: u32) -> Vocabulary {
    let mut all = vec!["[UNK]".to_string()];
    tokens.into_iter().for_each(|token| {
        if !all.contains(&token) {
            all.push(token);
        }
    });
    let [lowercase, strip_accents, clean_text, handle_chinese_chars] = switches;
    Vocabulary {
        tokens: all.into_iter().zip(0..).collect(),
        added_tokens: vec![AddedToken {
            content: "[ab]".into(),
            id: 950,
            special: true,
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
        }],
        prefix_ids: vec![900],
        suffix_ids: vec![901],
        options: Options {
            profile: Profile::Hf,
            lowercase,
            strip_accents,
            clean_text,
            handle_chinese_chars,
            unk_token: "[UNK]".into(),
            continuing_subword_prefix: "##".into(),
            max_input_chars_per_word: limit,
            pretokenize: true,
            unknown: Unknown::Word,
            backward: false,
            segmentation: Segmentation::Greedy,
            rules: vec![],
            unknown_cost: 1,
        },
        metadata: String::new(),
    }
}

fn owned(tokens: &[&str]) -> Vec<String> {
    tokens.iter().map(|token| token.to_string()).collect()
}

fn ids(automaton: &Automaton, texts: &[String], level: Level) -> (Vec<u32>, Vec<u64>, usize) {
    let options = EncodeOptions { add_special_tokens: true, strict: false, level };
    let mut out = Encoded::default();
    let texts = texts.iter().map(|text| Some(text.as_bytes()));
    encode(automaton, texts, &options, &mut Workspace::default(), &mut out).expect("not strict");
    (out.ids, out.ends, out.unknowns)
}

fn sampled(vocabulary: &Vocabulary, sample: &[String]) -> Vec<u8> {
    compile_with_sample(vocabulary, TrieLayout::FailureLinks, sample.iter().map(|text| Some(text.as_bytes())))
        .expect("compiles")
}

fn open(bytes: &[u8]) -> Automaton {
    Automaton::from_bytes(bytes).expect("just compiled")
}

/// Words of several pieces in the tables of an automaton.
fn several(automaton: &Automaton) -> usize {
    let statistics = automaton.statistics();
    statistics.iter().find(|(name, _)| *name == "sampled_words").expect("they are counted").1
}

/// Compile with and without the sample and compare what the texts become; gives how many words were sampled.
fn compare(vocabulary: &Vocabulary, sample: &[String], texts: &[String]) -> usize {
    let plain = open(&compile(vocabulary).expect("compiles"));
    let bytes = sampled(vocabulary, sample);
    assert_eq!(bytes, sampled(vocabulary, sample));
    let with_sample = open(&bytes);
    assert_eq!(with_sample.fingerprint(), plain.fingerprint());
    assert_eq!(several(&plain), 0);
    for texts in [sample, texts] {
        let expected = ids(&plain, texts, Level::available()[0]);
        for level in Level::available() {
            assert_eq!(ids(&plain, texts, level), expected, "{}", level.name());
            assert_eq!(ids(&with_sample, texts, level), expected, "{}", level.name());
        }
    }
    several(&with_sample)
}

fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        12 => prop::char::range('a', 'c'),
        1 => prop::char::range('A', 'C'),
        3 => prop::sample::select(vec!['é', 'б', '가', '각', 'ᄀ', 'ᅡ', 'ᆨ', 'か', 'が', '中', '\u{301}', '\u{20000}', '\0']),
        1 => prop::sample::select(vec!['[', ']', '#', '😀', '\u{FFFD}', '\u{302E}', 'İ']),
    ]
}

fn text() -> impl Strategy<Value = String> {
    // Few and short words, so that they come again.
    prop::collection::vec(prop::collection::vec(character(), 1..12), 0..40)
        .prop_map(|words| words.into_iter().map(String::from_iter).collect::<Vec<_>>().join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_sample_changes_no_id(
        tokens in prop::collection::vec(prop::collection::vec(character(), 1..4), 0..60),
        sample in prop::collection::vec(text(), 0..6),
        others in prop::collection::vec(text(), 0..6),
        switches in any::<[bool; 4]>(),
        limit in 1..40u32,
    ) {
        let tokens = tokens.into_iter().map(String::from_iter).flat_map(|token| [format!("##{token}"), token]);
        compare(&vocabulary(tokens, switches, limit), &sample, &others);
    }
}

/// `n` bytes of a word, whose pieces are all but its last letter, and that.
fn two_pieces(n: usize) -> String {
    "b".repeat(n - 1) + "c"
}

#[test]
fn words_of_two_to_five_pieces_and_of_29_bytes_at_most_are_taken() {
    let lengths = [2, 12, 13, 14, 15, 16, 17, 28, 29, 30, 31];
    let tokens = lengths.map(|n| "b".repeat(n - 1)).into_iter().chain(owned(&["b", "##c"]));
    let vocabulary = vocabulary(tokens, [true; 4], 100);
    for n in lengths {
        let word = two_pieces(n);
        let texts = [format!("{word} {word}"), format!("{word}c {} {word}", &word[..n - 1])];
        assert_eq!(compare(&vocabulary, &texts[..1], &texts), usize::from(n <= 29), "{n} bytes");
    }
    for pieces in 1..=8 {
        let word = "b".to_string() + &"c".repeat(pieces - 1);
        let taken = compare(&vocabulary, &[format!("{word} {word}")], &[word]);
        assert_eq!(taken, usize::from((2..=5).contains(&pieces)), "{pieces} pieces");
    }
    // All of them side by side, in texts that fill many vectors and several chunks.
    let many = (0..8).map(|n| "b".to_string() + &"c".repeat(n));
    let words: Vec<String> = lengths.map(two_pieces).into_iter().chain(many).collect();
    let sample = [words.join(" "), (words.join(" , ") + " ").repeat(200)];
    // Two bytes stand in both.
    assert_eq!(compare(&vocabulary, &sample, &[words.concat()]), 9 + 4 - 1);
}

#[test]
fn what_is_no_word_of_several_pieces_is_not_taken() {
    let vocabulary = vocabulary(owned(&["b", "##c", "["]), [true; 4], 4);
    let not_split = "x bx bcx xbc bxc".to_string();
    let too_long = "bcccc bccccc".to_string() + &" b".repeat(20_000) + &"c".repeat(20);
    let tokens = "[ab] [ab][ab] [UNK]".to_string();
    assert_eq!(compare(&vocabulary, &[not_split, too_long, tokens], &["bc bccc [ab]".into()]), 0);
    assert_eq!(compare(&vocabulary, &["bccc[ab] bccc bcc".into()], &["bcccc bccc bcc".into()]), 1);
    assert_eq!(compare(&vocabulary, &[], &["bc".into()]), 0);
}

#[test]
fn hangul_is_kept_as_it_stands_in_the_text() {
    let tokens = owned(&["\u{1100}\u{1161}", "##\u{1102}\u{1161}", "##\u{11A8}"]);
    let [composed, decomposed] = ["가나", "\u{1100}\u{1161}\u{1102}\u{1161}"].map(String::from);
    let closed = "각나낙".to_string();
    let texts = [composed.clone(), decomposed.clone(), closed.clone(), "가".repeat(60)];
    let twice = [texts.join(" "), texts.join(", ")];
    // With strip_accents the limit counts jamo: four of them here, or seven or eight.
    for (limit, taken) in [(100, 3), (8, 3), (7, 2), (4, 2), (3, 0)] {
        let vocabulary = vocabulary(tokens.clone(), [true; 4], limit);
        assert_eq!(compare(&vocabulary, &twice, &texts), taken, "{limit}");
        assert_eq!(compare(&vocabulary, &[format!("{composed} {composed}")], &texts), usize::from(limit >= 4));
    }
    let whole = vocabulary(owned(&["가", "##나", "각", "##낙"]), [false; 4], 3);
    assert_eq!(compare(&whole, &twice, &texts), 2);
}

#[test]
fn tables_stay_small_and_hold_what_is_frequent() {
    let letters = || ('a'..='z').chain('α'..='ω');
    let pieces: Vec<String> = letters().flat_map(|a| letters().map(move |b| format!("{a}{b}"))).collect();
    let tokens = pieces.iter().cloned().chain(pieces.iter().map(|piece| format!("##{piece}")));
    let vocabulary = vocabulary(tokens, [false; 4], 100);
    let word = |i: usize| format!("{}{}", pieces[i % pieces.len()], pieces[i / pieces.len()]);
    let count = 60_000;
    let rare: String = (0..count).map(|i| word(i) + " ").collect();
    let frequent: String = (count - 100..count).map(|i| word(i) + " ").collect();
    let sample = [rare.repeat(2), frequent.repeat(3)];
    let taken = compare(&vocabulary, &sample, &[rare]);
    let automaton = open(&sampled(&vocabulary, &sample));
    assert_eq!(automaton.tables().words.slots.len(), 1 << 15);
    assert!((20_000..=26_214).contains(&taken), "{taken}");
    let found = |word: &str| automaton.tables().words.get(&wordpiece::word_table::key(word.as_bytes())).is_some();
    assert!((count - 100..count).filter(|&i| found(&word(i))).count() >= 99);
}

/// The file with another content of the pool of pieces.
fn with_pieces(bytes: &[u8], pool: &[u32]) -> Vec<u8> {
    let layout = Layout::read(bytes).expect("a whole file");
    let contents = Section::ALL.map(|section| match section {
        Section::WordPieces => bytemuck::cast_slice(pool),
        _ => &bytes[layout.range(section)],
    });
    format::write(layout.fingerprint, &contents)
}

#[test]
fn a_forged_pool_is_refused_or_harmless() {
    let vocabulary = vocabulary(owned(&["b", "##c"]), [true; 4], 100);
    let texts = ["bc bcc bccc bcccc x b bc ".repeat(2)];
    let bytes = sampled(&vocabulary, &texts);
    assert_eq!(several(&open(&bytes)), 4);
    // Words whose pieces are outside are walked.
    let expected = ids(&open(&bytes), &texts, Level::available()[0]);
    for pool in [vec![], vec![1], vec![1; 7], vec![1; 8]] {
        let forged = open(&with_pieces(&bytes, &pool));
        for level in Level::available() {
            let read = ids(&forged, &texts, level);
            assert_eq!(read == expected, pool.len() < 8, "{}", level.name());
        }
    }
    for pool in [vec![u32::MAX; 8], vec![1 << 28; 8], vec![0; (1 << 21) + 1]] {
        assert!(Automaton::from_bytes(&with_pieces(&bytes, &pool)).is_err());
    }
}

#[test]
fn texts_that_are_not_there_count_for_nothing() {
    let vocabulary = vocabulary(owned(&["b", "##c"]), [true; 4], 100);
    let texts = || (0..1_000).map(|i| (i % 3 != 0).then_some(if i < 900 { &b"b"[..] } else { b"bc" }));
    let automaton = open(&compile_with_sample(&vocabulary, TrieLayout::FailureLinks, texts()).expect("compiles"));
    assert_eq!(several(&automaton), 1);
    let nothing =
        compile_with_sample(&vocabulary, TrieLayout::FailureLinks, std::iter::repeat_n(None, 200)).expect("compiles");
    assert_eq!(several(&open(&nothing)), 0);
}
