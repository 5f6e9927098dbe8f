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

/** Calls that no block takes from somebody whose turn it is not, and no other call may carry: the move of a dispute, what auditors seal and report, and
 * the answer to a challenge of a dataset. With what a node answers where there is no such game, audit or challenge. */
export const TURNS = [
	{ pallet: "Disputes", call: "play", code: 100 },
	{ pallet: "Disputes", call: "seal_audit", code: 107 },
	{ pallet: "Disputes", call: "report_audit", code: 107 },
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
