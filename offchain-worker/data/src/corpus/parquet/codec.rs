//! Compression of pages.

use super::{super::inflate::most_bytes, Refused};
use std::io::Read;

/// Most bytes of a page. Writers end pages at about 1 MiB, but for few texts that are long.
pub(super) const MOST_PAGE: u64 = 1 << 30;

/// The `length` bytes that `bytes` were, compressed as `codec` says.
pub(super) fn decompress(codec: i64, bytes: &[u8], length: u64) -> Result<Vec<u8>, Refused> {
	let compressed = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
	if length > MOST_PAGE || length > most_bytes(compressed) {
		return Err(format!("a page of {compressed} bytes is to become {length}, which is too much"));
	}
	let room = usize::try_from(length).map_err(|_| "a page is too large".to_owned())?;
	let failed = |error: &dyn std::fmt::Display| format!("a page is broken: {error}");
	let filled = match codec {
		0 => Ok(bytes.to_vec()),
		1 => {
			let mut page = vec![0; room];
			snap::raw::Decoder::new().decompress(bytes, &mut page).map(|written| (page, written)).map_err(|error| failed(&error)).map(first)
		}
		2 => all(flate2::bufread::MultiGzDecoder::new(bytes), length),
		4 => all(brotli_decompressor::Decompressor::new(bytes, 4096), length),
		5 => lz4_of_hadoop(bytes, room).or_else(|_| lz4(bytes, room)),
		6 => all(zstd::stream::read::Decoder::with_buffer(bytes).map_err(|error| failed(&error))?, length),
		7 => lz4(bytes, room),
		other => Err(format!("its compression, number {other}, is not read: write it with Zstandard")),
	}?;
	match filled.len() == room {
		true => Ok(filled),
		false => Err("a page has another size than it says".into()),
	}
}

fn first((mut page, written): (Vec<u8>, usize)) -> Vec<u8> {
	page.truncate(written);
	page
}

/// What a reader gives, up to one byte more than there should be.
fn all(input: impl Read, length: u64) -> Result<Vec<u8>, Refused> {
	let mut page = Vec::new();
	input.take(length.saturating_add(1)).read_to_end(&mut page).map_err(|error| format!("a page is broken: {error}"))?;
	Ok(page)
}

fn lz4(bytes: &[u8], room: usize) -> Result<Vec<u8>, Refused> {
	let mut page = vec![0; room];
	let written = lz4_flex::block::decompress_into(bytes, &mut page).map_err(|error| format!("a page is broken: {error}"))?;
	Ok(first((page, written)))
}

/// Parts, each behind its size and the size of what it becomes.
fn lz4_of_hadoop(mut bytes: &[u8], room: usize) -> Result<Vec<u8>, Refused> {
	let broken = || "a page is broken".to_owned();
	let mut page = Vec::new();
	while let Some((sizes, rest)) = bytes.split_at_checked(8) {
		let size = |place: usize| {
			let bytes = sizes.get(place..place.saturating_add(4)).and_then(|bytes| bytes.try_into().ok());
			bytes.map(u32::from_be_bytes).and_then(|size| usize::try_from(size).ok())
		};
		let (Some(becomes), Some(length)) = (size(0), size(4)) else { return Err(broken()) };
		let (part, behind) = rest.split_at_checked(length).ok_or_else(broken)?;
		if becomes > room.saturating_sub(page.len()) {
			return Err(broken());
		}
		page.extend(lz4(part, becomes)?);
		bytes = behind;
	}
	if bytes.is_empty() {
		Ok(page)
	} else {
		Err(broken())
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn each_compression_gives_what_was_compressed_and_no_other_size() {
		let text = b"to be or not to be, to be or not to be, that is the question".repeat(3);
		let zstd = zstd::stream::encode_all(text.as_slice(), 3).unwrap();
		let snappy = snap::raw::Encoder::new().compress_vec(&text).unwrap();
		let lz4 = lz4_flex::block::compress(&text);
		let mut hadoop = Vec::new();
		for part in text.chunks(100) {
			let block = lz4_flex::block::compress(part);
			for size in [part.len(), block.len()] {
				hadoop.extend(u32::try_from(size).unwrap().to_be_bytes());
			}
			hadoop.extend(block);
		}
		for (codec, bytes) in [(0, text.clone()), (1, snappy), (5, lz4.clone()), (5, hadoop), (6, zstd), (7, lz4)] {
			assert_eq!(decompress(codec, &bytes, 180).unwrap(), text, "{codec}");
			for length in [0, 179, 181, 1 << 20] {
				assert!(decompress(codec, &bytes, length).is_err(), "{codec} {length}");
			}
			assert!(decompress(codec, &bytes[1..], 180).is_err(), "{codec}");
		}
		assert!(decompress(3, &text, 180).unwrap_err().contains("number 3"));
	}

	#[test]
	fn a_page_that_becomes_too_large_is_refused_before_it_does() {
		let zeros = zstd::stream::encode_all(std::io::repeat(0).take(64 << 20), 3).unwrap();
		assert!(decompress(6, &zeros, 64 << 20).unwrap_err().contains("too much"));
		assert!(decompress(6, &zeros, 1 << 20).is_err());
		assert!(decompress(0, &[], u64::MAX).is_err());
	}
}
