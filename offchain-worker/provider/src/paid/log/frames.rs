//! The bytes of a log: frames one behind the other, each with what was written at once, its length and a checksum.
//!
//! A frame is written when the one before is on disk. So what a crash leaves is whole frames, and at the end perhaps a part of one, of which nobody was told
//! anything: it is left out. A whole frame behind a part of one is no crash, but damage.

use super::Record;
use codec::{Decode, Encode};
use sp_crypto_hashing::twox_64;

/// First bytes of each frame: no text and no hash has this but by chance. The last byte is the version.
const BEGIN: [u8; 8] = [0xff, b'p', b'a', b'i', b'd', 0xfe, 0x00, 1];
/// Bytes of a frame before its content: the beginning, the length of the content, and the checksum of both.
const HEAD: usize = BEGIN.len() + 4 + 8;

/// Place where a log is damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Damaged {
	/// The byte at which what is damaged begins.
	pub(super) at: usize,
}

/// The frame of these records.
pub(super) fn frame<'a>(records: impl ExactSizeIterator<Item = &'a Record>) -> Option<Vec<u8>> {
	let mut content = codec::Compact(u32::try_from(records.len()).ok()?).encode();
	records.for_each(|record| record.encode_to(&mut content));
	let length = u32::try_from(content.len()).ok()?.to_le_bytes();
	Some([&BEGIN[..], &length, &checksum(length, &content), &content].concat())
}

fn checksum(length: [u8; 4], content: &[u8]) -> [u8; 8] {
	twox_64(&[&length[..], content].concat())
}

/// The content of the frame at the beginning of `bytes`, if it is whole.
fn content(bytes: &[u8]) -> Option<&[u8]> {
	let (length, rest) = bytes.strip_prefix(&BEGIN)?.split_first_chunk::<4>()?;
	let (sum, rest) = rest.split_first_chunk::<8>()?;
	let content = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
	(checksum(*length, content) == *sum).then_some(content)
}

/// All records of a log, but those of a frame that is not whole at its end.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Record>, Damaged> {
	let (mut records, mut at) = (Vec::new(), 0usize);
	while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
		let damaged = Damaged { at };
		let Some(found) = content(rest) else {
			let behind = rest.windows(BEGIN.len()).enumerate().skip(1).filter(|(_, window)| *window == BEGIN);
			let mut whole = behind.filter(|(place, _)| rest.get(*place..).and_then(content).is_some());
			return if whole.next().is_some() { Err(damaged) } else { Ok(records) };
		};
		records.extend(Vec::<Record>::decode(&mut &*found).map_err(|_| damaged)?);
		at = at.saturating_add(HEAD).saturating_add(found.len());
	}
	Ok(records)
}

#[cfg(test)]
mod tests {
	use super::{super::tests::record, *};

	/// A log of three frames, and where each ends.
	fn log() -> (Vec<u8>, [usize; 3], Vec<Record>) {
		let records: Vec<Record> = (0..4).map(record).collect();
		let frames = [&records[..1], &records[1..3], &records[3..]].map(|records| frame(records.iter()).unwrap());
		let [first, second, third] = frames.each_ref().map(Vec::len);
		(frames.concat(), [first, first + second, first + second + third], records)
	}

	#[test]
	fn wherever_a_log_is_cut_what_was_whole_is_there_and_nothing_else() {
		let (bytes, ends, records) = log();
		for length in 0..=bytes.len() {
			let frames = ends.iter().filter(|end| **end <= length).count();
			assert_eq!(read(&bytes[..length]), Ok(records[..[0, 1, 3, 4][frames]].to_vec()), "{length}");
		}
		// Some systems have zeros where nothing was written.
		for length in ends {
			assert_eq!(read(&[&bytes[..length], &[0; 5_000]].concat()), read(&bytes[..length]));
		}
	}

	#[test]
	fn damage_in_the_middle_is_told_and_at_the_end_it_is_no_frame() {
		let (bytes, [first, second, _], records) = log();
		for place in 0..bytes.len() {
			let mut damaged = bytes.clone();
			damaged[place] ^= 0x55;
			let expected = match place {
				place if place < first => Err(Damaged { at: 0 }),
				place if place < second => Err(Damaged { at: first }),
				_ => Ok(records[..3].to_vec()),
			};
			assert_eq!(read(&damaged), expected, "{place}");
		}
		let missing = [&bytes[..first - 7], &bytes[first..]].concat();
		assert_eq!(read(&missing), Err(Damaged { at: 0 }));
	}
}
