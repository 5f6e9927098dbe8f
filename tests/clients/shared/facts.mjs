// What both clients do, in numbers, so that each can compute by itself what must come of it.

/** Planck of one NEURO. */
export const NEURO = 10n ** 12n;

/** What the client's own account gets to begin with, in planck. */
export const ENDOWMENT = 50_000n * NEURO;
/** What it bonds as a provider, bonds on top, and takes out again, in planck. */
export const BOND = 1_000n * NEURO;
export const EXTRA = 250n * NEURO + 1n;
export const UNBONDED = 100n * NEURO + 7n;

/** Identifiers that nothing on a new chain has. */
export const NO_SUCH = 4_000_000_000;

/** A machine that a provider could have. */
export const HARDWARE = { gflops: 6_000, memory: 8_192, bandwidth: 1_024 };
/** The role of a worker, as a set of roles. */
export const WORKER = 2;
/** The libp2p address /ip4/127.0.0.1/tcp/4001 in its binary form. */
export const ADDRESS = Uint8Array.of(4, 127, 0, 0, 1, 6, 0x0f, 0xa1);
/** The libp2p peer id of an Ed25519 key: the identity multihash of the key as libp2p writes it. */
export const peerId = (key) => Uint8Array.of(0, 36, 8, 1, 18, 32, ...key);

/** Bytes that say nothing, as H256 and seeds have them. */
const HASH = `0x${"05".repeat(32)}`;
const text = (words) => new TextEncoder().encode(words);
/** Bits of an `f32`. */
const float = (value) => new Uint32Array(Float32Array.of(value).buffer)[0];

/** A dataset that nobody has: the chain knows its shape only. */
export const MANIFEST = {
	name: text("clients"),
	licence: text("Apache-2.0"),
	source: text("nowhere"),
	tokenizer: { root: HASH, bytes: 10221, tokens: { usable: 257, end: 256 } },
	vocab: 288,
	shape: { tokens_per_shard: 4_096, shard_count: 4, held_out: 1 },
	masked: false,
	root: HASH,
	bytes: 16_384n,
};

/** A run of one round of a very small model by one participant. Its dataset, aggregator, products, optimizer and start, and the model's
 * family and scaling, are not here: each client names them in its way. */
export const RUN = {
	name: text("clients"),
	tokenizer: MANIFEST.tokenizer,
	model: {
		vocab: 288,
		dim: 32,
		layers: 1,
		heads: 2,
		kv_heads: 2,
		ffn: 64,
		max_seq: 32,
		tied: true,
		rope_theta: 10_000,
		norm_eps: float(1e-5),
	},
	train: {
		arithmetic_version: 1,
		seed: HASH,
		batch: 2,
		seq_len: 32,
		inner_steps: 4,
		commit_interval: 2,
		lr: float(1e-3),
		lr_min: float(1e-4),
		warmup_steps: 2,
		total_steps: 0,
		beta1: float(0.9),
		beta2: float(0.95),
		eps: float(1e-8),
		weight_decay: float(0.1),
		clip: float(1),
		outer_lr: float(1),
		outer_beta: float(0),
		validation_sequences: 4,
		masked: false,
	},
	genesis_root: HASH,
	min_participants: 1,
	max_participants: 1,
	min_bond: 100n * NEURO,
	rounds: 1,
	durations: { joining: 2, training: 20, revealing: 20, availability: 20, checkpointing: 20 },
	overlaps: false,
	epochs: true,
};

/** What a participant of that round says it did. Nobody challenges it, so that the chain looks at its figures only: a root for every two of
 * four steps; 4 bytes for each of 19,456 elements of matrices, and of three vectors of 32, each padded to a tile of 1,024; and 4 * 2 * 32
 * tokens. */
export const WORK = { state_roots: [`0x${"06".repeat(32)}`, `0x${"07".repeat(32)}`], delta_root: HASH, delta_bytes: 90_112n, tokens: 256n };
/** What seals it. */
export const SALT = new Uint8Array(32).fill(8);
/** The vote of the only participant for its own delta. */
export const VOTE = Uint8Array.of(1);
/** What it attests: another checkpoint, with a loss of 3.5. */
export const ATTESTATION = { checkpoint: `0x${"09".repeat(32)}`, validation_loss: float(3.5) };

/** Calls that no block takes from somebody whose turn it is not, and no other call may carry: the move of a dispute, what auditors seal and report, and
 * the answer to a challenge of a dataset. With what a node answers where there is no such game, audit or challenge. */
export const TURNS = [
	{ pallet: "Disputes", call: "play", code: 100 },
	{ pallet: "Disputes", call: "seal_audit", code: 107 },
	{ pallet: "Disputes", call: "report_audit", code: 107 },
	{ pallet: "Disputes", call: "deliver_answer", code: 108 },
	{ pallet: "Dataset", call: "answer_challenge", code: 110 },
];
/** What a node answers to one that another call carries. */
export const CARRIED = 105;

/** Whether a type with this path is of a pallet of this chain, and not one of the SDK's. */
export const isOurs = ([crate]) => /^(pallet_neuro|neuroshard)_/.test(crate ?? "");

/** Whether the documentation of an error says both what happened and what to do: two sentences at least. */
export function explains(docs) {
	const text = docs.join(" ").trim();
	return text.endsWith(".") && text.split(/\.(?:\s+(?=\S)|$)/).filter((sentence) => sentence.trim()).length >= 2;
}
