use super::*;
use Filter::{Fineweb, GopherQuality, GopherRepetition};

/// Sentences that no filter leaves out.
fn good() -> String {
	let words = "the river and its old bridge stand with quiet houses that people have built to be near water of melting mountain snow";
	let words: Vec<&str> = words.split(' ').collect();
	let line = |number: usize| {
		let words = words.iter().cycle().skip(number * 7).step_by(number + 1).take(9).map(|word| format!("{word}{number}"));
		let stop = ["the", "of"].get(number).map(|word| (*word).to_owned());
		words.chain(stop).collect::<Vec<_>>().join(" ") + "."
	};
	(0..12).map(line).collect::<Vec<_>>().join("\n")
}

fn reason(filter: Filter, text: &str) -> Option<&'static str> {
	refusal(&[filter], text).map(|(_, reason)| reason)
}

#[test]
fn text_of_sentences_passes() {
	assert_eq!(refusal(&[GopherRepetition, GopherQuality, Fineweb], &good()), None);
	assert_eq!(refusal(&[], ""), None);
}

#[test]
fn quality_is_refused_beyond_each_threshold_and_not_at_it() {
	let words = |count: usize, word: &str| format!("the of {}", vec![word; count].join(" "));
	let cases: Vec<(String, Option<&str>)> = vec![
		(words(47, "word"), Some("gopher_short_doc")),
		(words(48, "word"), None),
		(words(99_998, "word"), None),
		(words(99_999, "word"), Some("gopher_long_doc")),
		// (3 + 2 + 55 * 3) / 57 is below 3, with one letter more it is not.
		(words(55, "abc"), Some("gopher_below_avg_threshold")),
		(format!("{} abcd", words(54, "abc")), None),
		(words(60, "abcdefghijk"), Some("gopher_above_avg_threshold")),
		(words(60, "abcdefghij"), None),
		// 90 words and 10 marks are 100, and one more mark is more than a tenth.
		(format!("{}{}", words(88, "word"), " #".repeat(10)), None),
		(format!("{}{}", words(88, "word"), " #".repeat(11)), Some("gopher_too_many_hashes")),
		(format!("{}{}", words(88, "word"), " \u{2026}".repeat(11)), Some("gopher_too_many_ellipsis")),
		(vec![format!("- {}", words(10, "word")); 10].join("\n"), Some("gopher_too_many_bullets")),
		(format!("{}\nlast", vec![format!("\u{2022} {}", words(10, "word")); 9].join("\n")), None),
		(
			format!("{}\nlast one\nand last\nof all", vec![format!("{} ...", words(20, "word")); 2].join("\n")),
			Some("gopher_too_many_end_ellipsis"),
		),
		(format!("{} {}", words(78, "word"), vec!["1234"; 20].join(" ")), None),
		(format!("{} {}", words(78, "word"), vec!["1234"; 21].join(" ")), Some("gopher_below_alpha_threshold")),
		(vec!["word"; 60].join(" "), Some("gopher_enough_stop_words")),
		(format!("the the the {}", vec!["word"; 60].join(" ")), Some("gopher_enough_stop_words")),
	];
	for (text, expected) in cases {
		assert_eq!(reason(GopherQuality, &text), expected, "{}", text.chars().take(60).collect::<String>());
	}
}

#[test]
fn repetition_is_refused_beyond_each_threshold() {
	let different =
		|from: usize, count: usize| (from..from + count).map(|number| format!("line number {number:05} of all\n")).collect::<String>();
	let paragraphs = |same: usize, others: usize| {
		let same = (0..same).map(|_| "x".to_owned());
		same.chain((0..others).map(|number| different(number * 2, 2))).collect::<Vec<_>>().join("\n\n")
	};
	// Of ten paragraphs three, and of eleven four, were there before.
	assert_eq!(reason(GopherRepetition, &paragraphs(4, 6)), reason(GopherRepetition, &paragraphs(1, 9)));
	assert_eq!(reason(GopherRepetition, &paragraphs(5, 6)), Some("dup_para_frac"));
	let long = "a very long paragraph without an end ".repeat(9);
	assert_eq!(reason(GopherRepetition, &format!("{long}\n\n{long}\n\nb\n\nc\n\nd")), Some("dup_para_char_frac"));
	let lines = |same: usize, others: usize| "x\n".repeat(same) + &different(0, others);
	assert_eq!(reason(GopherRepetition, &lines(5, 6)), Some("dup_line_frac"));
	assert_eq!(reason(GopherRepetition, &format!("{long}\n{long}\nb\nc\nd\ne")), Some("dup_line_char_frac"));
	// 207 characters, and 12 for each time: 6 * 9 of 279 are not more than a fifth, 7 * 9 of 291 are.
	let letters = |first: u8, count: u8, length: usize| (0..count).map(move |number| char::from(first + number).to_string().repeat(length));
	let others = letters(b'a', 26, 7).collect::<Vec<_>>().join(" ");
	let times = |count: u8| others.clone() + &letters(b'A', count, 1).map(|letter| format!(" Yyyy Zzzz {letter}")).collect::<String>();
	assert_eq!((others.len(), times(6).len()), (207, 279));
	assert_eq!(reason(GopherRepetition, &times(6)), None);
	assert_eq!(reason(GopherRepetition, &times(7)), Some("top_2_gram"));
	let again = format!("{} {}", good(), good().replace('\n', " "));
	assert_eq!(reason(GopherRepetition, &again), Some("duplicated_5_n_grams"));
}

#[test]
fn fineweb_refuses_lists_and_repeated_lines() {
	let line = |number: usize| format!("this is sentence number {number} of a text of many sentences");
	let with = |ends: usize, others: usize| {
		let ended = (0..ends).map(|number| line(number) + ".");
		ended.chain((ends..ends + others).map(line)).collect::<Vec<_>>().join("\n")
	};
	// 3 of 25 lines are 12 in a hundred.
	assert_eq!(reason(Fineweb, &with(3, 22)), Some("line_punct_ratio"));
	assert_eq!(reason(Fineweb, &with(4, 21)), None);
	let short = |short: usize, long: usize| {
		let short = (0..short).map(|number| format!("a short one, {number} of some."));
		short.chain((0..long).map(|number| line(number) + ".")).collect::<Vec<_>>().join("\n")
	};
	assert_eq!(reason(Fineweb, &short(67, 33)), Some("short_line_ratio"));
	assert_eq!(reason(Fineweb, &short(66, 34)), None);
	assert_eq!(reason(Fineweb, &format!("{}\n{}", with(9, 9), line(10))), Some("char_dup_ratio"));
	let wide = |number: usize| format!("{}{number}.", "unbroken".repeat(6));
	assert_eq!(reason(Fineweb, &(0..40).map(wide).collect::<Vec<_>>().join("\n")), Some("list_ratio"));
	assert_eq!(reason(Fineweb, &(with(9, 9) + "\n\n\n")), None, "blanks at the end do not count");
}
