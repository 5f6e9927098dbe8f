use super::*;
use crate::native::Level;
use neuroshard_kernels::kat::{drawn, Digest};

#[test]
fn every_instruction_set_gives_the_known_answers() {
	for level in Level::available() {
		for threads in [1, 2] {
			assert_eq!(verify(&Exec::with_level(threads, level).unwrap()), Ok(()));
		}
	}
}

#[test]
fn a_wrong_a_missing_and_an_unknown_answer_are_told() {
	let mut answers = digests();
	answers[3].1[0] ^= 1;
	let error = compare("x", &answers).unwrap_err();
	assert_eq!(error.name, answers[3].0);
	assert_ne!(error.expected, error.got);
	answers[3].1[0] ^= 1;
	assert_eq!(compare("x", &answers), Ok(()));
	let last = answers.pop().unwrap();
	assert!(compare("x", &answers).unwrap_err().name.starts_with(last.0));
	answers.push(last);
	answers.push(("unheard of", [0; 32]));
	assert_eq!(compare("x", &answers).unwrap_err().name, "unheard of");
}

/// Different for every number.
fn seed(number: u32) -> [u8; 32] {
	let mut digest = Digest::new();
	digest.add_bytes(&number.to_le_bytes());
	digest.finish()
}

#[test]
fn every_instruction_set_and_number_of_threads_gives_the_drawn_answers_of_the_reference() {
	let expected: Vec<_> = (0..40).map(|number| drawn(seed(number))).collect();
	for level in Level::available() {
		// Odd numbers share unevenly; 17 are more than there is work for in most cases.
		for threads in [1, 2, 3, 8, 17] {
			let exec = Exec::with_level(threads, level).unwrap();
			for (number, expected) in (0..).zip(&expected) {
				assert_eq!(exec_drawn(&exec, seed(number)), *expected, "seed {number}, {level:?}, {threads} threads");
			}
		}
	}
}
