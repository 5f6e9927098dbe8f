//! The words of a text.

use unicode_segmentation::UnicodeSegmentation;

/// What is between the boundaries of words, but for blanks.
pub(crate) fn words(text: &str) -> Vec<&str> {
	text.split_word_bounds().filter(|word| !word.chars().all(char::is_whitespace)).collect()
}

/// Marks that are no words by themselves: those of datatrove, and control characters.
const MARKS: &str = "!/\u{2014}\u{201d}:\u{ff05}\u{ff11}\u{3008}&(\u{3001}\u{2501}\\\u{3010}#%\u{300c}\u{300d}\u{ff0c}\u{3011}\u{ff1b}+^]~\u{201c}\u{300a}\u{201e}';\u{2019}{|\u{2236}\u{b4}[=-`*\u{ff0e}\u{ff08}\u{2013}\u{ff1f}\u{ff01}\u{ff1a}$\u{ff5e}\u{ab}\u{3009},><\u{300b})?\u{ff09}\u{3002}\u{2026}@_.\"}\u{25ba}\u{bb}";

/// Returns whether it is nothing but marks.
pub(crate) fn is_symbol(word: &str) -> bool {
	word.chars().all(|character| character.is_control() || MARKS.contains(character))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn marks_are_words_of_their_own_and_blanks_are_none() {
		assert_eq!(
			words("It's 3.5 (well-known)\u{a0}things...\n\n"),
			["It's", "3.5", "(", "well", "-", "known", ")", "things", ".", ".", "."]
		);
		assert_eq!(words("Gr\u{fc}\u{df}e, \u{4e16}\u{754c}"), ["Gr\u{fc}\u{df}e", ",", "\u{4e16}", "\u{754c}"]);
		assert_eq!((words(" \n\t").len(), is_symbol("..."), is_symbol("-a"), is_symbol("\u{7}\u{ff08}")), (0, true, false, true));
	}
}
