//! Values of our own pallets, byte by byte as the release before stored them.

use neuroshard_types::{AccountId, Balance, NEURO};

/// Deposit of each dataset and of each attestation here, in planck.
pub const DEPOSIT: Balance = 11 * NEURO;
/// Bond of each challenge here, in planck.
pub const BOND: Balance = 10 * NEURO;
/// Deposit of the run here, which keeps records of 7 rounds at most: 50.07 NEURO.
pub const RUN_DEPOSIT: Balance = 50 * NEURO + 7 * NEURO / 100;

/// An active worker and verifier: 1,000 NEURO bonded, nothing on its way out, reputation 300.
pub fn provider(open_claims: u32) -> Vec<u8> {
	let mut bytes = vec![6];
	bytes.extend(numbers(&[200, 4_096, 1_000]));
	// PoNW key, peer id, no addresses, active.
	bytes.extend([&[2u8][..], &[7; 32]].concat());
	bytes.extend([&[34 * 4, 0x12, 32][..], &[7; 32]].concat());
	bytes.extend([0, 0]);
	bytes.extend((1_000 * NEURO).to_le_bytes());
	bytes.push(0);
	// Nothing to be disputed; no lock, no suspension, no missed audits.
	bytes.extend(numbers(&[open_claims, 0, 300, 0, 0, 0, 0]));
	bytes
}

/// An active dataset of 5 shards with 5,000 tokens each, one of them held out.
pub fn dataset(proposer: &AccountId, users: u32) -> Vec<u8> {
	let mut bytes = AsRef::<[u8]>::as_ref(proposer).to_vec();
	bytes.extend(DEPOSIT.to_le_bytes());
	// Name, licence and source: lengths below 64 are one byte, the number times four.
	bytes.extend([&[4 * 4][..], b"tiny", &[3 * 4], b"MIT", &[4 * 4], b"here"].concat());
	bytes.extend([7; 32]);
	bytes.extend(numbers(&[64]));
	bytes.extend(shape());
	bytes.extend([8; 32]);
	bytes.extend(100_000u64.to_le_bytes());
	bytes.push(1);
	bytes.extend(numbers(&[users]));
	bytes
}

/// An attestation of all shards until block 1,000.
pub fn attestation(challenges: u32) -> Vec<u8> {
	[&numbers(&[0, 5])[..], &DEPOSIT.to_le_bytes(), &numbers(&[1_000, challenges])].concat()
}

/// A challenge for a chunk that can be answered until block 30.
pub fn challenge() -> Vec<u8> {
	[&numbers(&[1, 2])[..], &BOND.to_le_bytes(), &numbers(&[30])].concat()
}

/// A run on dataset 0 that waits for two members.
pub fn run(sponsor: &AccountId) -> Vec<u8> {
	let mut bytes = AsRef::<[u8]>::as_ref(sponsor).to_vec();
	bytes.extend(RUN_DEPOSIT.to_le_bytes());
	bytes.extend([&[4 * 4][..], b"tiny"].concat());
	bytes.extend(numbers(&[0]));
	// Model: vocabulary, width, layers, heads, heads of keys, hidden width, longest sequence; tied; base of RoPE and epsilon.
	bytes.extend(numbers(&[64, 32, 1, 2, 2, 64, 32]));
	bytes.push(1);
	bytes.extend(numbers(&[10_000, 1e-5f32.to_bits()]));
	// Training: arithmetic and seed; batch, sequence, steps, interval.
	bytes.extend(1u16.to_le_bytes());
	bytes.extend([9; 32]);
	bytes.extend(numbers(&[1, 32, 4, 2]));
	// Learning rates, warm-up, all steps, both moments, epsilon, decay, clip, outer rate and momentum.
	bytes.extend(numbers(&[1e-3f32.to_bits(), 1e-4f32.to_bits(), 0, 0]));
	bytes.extend([0.9f32, 0.99, 1e-8, 0.0, 1.0, 1.0, 0.0].iter().flat_map(|number| number.to_le_bytes()));
	// The mean, and one sequence for the validation.
	bytes.push(0);
	bytes.extend(numbers(&[1]));
	// Genesis root, members, least bond, rounds and durations.
	bytes.extend([5; 32]);
	bytes.extend(numbers(&[2, 4]));
	bytes.extend((100 * NEURO).to_le_bytes());
	bytes.push(1);
	bytes.extend(numbers(&[7, 10, 20, 20, 20, 20]));
	// Rounds do not overlap.
	bytes.push(0);
	// Its dataset, approved, no round adopted, the newest checkpoint; nothing to redo, nothing redone, not finished.
	bytes.extend(shape());
	bytes.extend([8; 32]);
	bytes.push(1);
	bytes.extend(numbers(&[0]));
	bytes.extend([5; 32]);
	bytes.extend([0, 0, 0]);
	bytes
}

/// Round 0 of that run, without participants.
pub fn round() -> Vec<u8> {
	// Round and attempt; joining, no deadline; adoptable at 0; the seed; begun at block and time 0; nobody.
	[&numbers(&[0, 0])[..], &[0, 0], &numbers(&[0]), &[0; 32], &numbers(&[0]), &[0; 8], &[0]].concat()
}

fn shape() -> Vec<u8> {
	numbers(&[5_000, 5, 1])
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
	numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}
