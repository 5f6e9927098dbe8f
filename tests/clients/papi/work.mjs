// Work that is paid: a round of training, and the reward of the era in which it became final. Nothing is trained: this is about the chain.

import assert from "node:assert/strict";
import { Blake2256, u32 } from "@polkadot-api/substrate-bindings";
import { Enum } from "polkadot-api";
import { fromHex, mergeUint8, toHex } from "polkadot-api/utils";
import { ATTESTATION, BOND, EXTRA, MANIFEST, RUN, SALT, VOTE, WORK } from "../shared/facts.mjs";
import { balance, codecOf, send, sendAll, succeed, until } from "./chain.mjs";

const BEST = { at: "best" };
const ROUND = 0;
const domain = (words) => new TextEncoder().encode(words);

/** Has a run of one round approved, and takes part in it alone. */
export async function train(chain) {
	const { api, client, own, sponsor, worker } = chain;
	const { Dataset, Sudo, Training, Utility } = api.tx;
	const dataset = await api.query.Dataset.NextId.getValue(BEST);
	const run = await api.query.Training.NextRun.getValue(BEST);
	const model = { ...RUN.model, family: Enum("Llama"), head_dim: undefined, rope_scaling: Enum("None") };
	const train = { ...RUN.train, aggregator: Enum("Mean"), products: Enum("F32"), optimizer: Enum("AdamW") };
	const config = { ...RUN, dataset, model, train, start: Enum("Seed") };
	const sponsored = [
		Dataset.propose({ manifest: MANIFEST }),
		Dataset.activate({ id: dataset }),
		Training.create_run({ config }),
		Sudo.sudo({ call: Training.approve_run({ run }).decodedCall }),
	];
	const { found } = await succeed(chain, Utility.batch_all({ calls: sponsored.map(({ decodedCall }) => decodedCall) }), sponsor);
	assert.ok(found("Sudo", "Sudid").sudo_result.success);

	await succeed(chain, Training.join({ run }), own);
	const phase = async () => (await api.view.Training.round(run, BEST)).phase.type;
	while ((await phase()) === "Joining") await nextBlock(chain);
	assert.equal(await phase(), "Training");

	const genesis = fromHex((await client.getChainSpecData()).genesisHash);
	const work = codecOf(chain, "Training", "reveal", "work").enc(WORK);
	const place = { run, round: ROUND, attempt: 0 };
	const sealed = Blake2256(
		mergeUint8([domain("neuroshard/commit/1"), genesis, ...[run, ROUND, 0].map((value) => u32.enc(value)), own.publicKey, SALT, work]),
	);
	const timestamp = await api.query.Timestamp.Now.getValue(BEST);
	const proof = { key: { run, round: ROUND, kind: Enum("Training") }, timestamp, work_hash: toHex(Blake2256(work)) };
	const encoded = codecOf(chain, "Training", "reveal", "proof").enc(proof);
	const message = mergeUint8([domain("neuroshard/ponw/1"), genesis, own.publicKey, encoded]);
	const moves = [
		Training.commit({ ...place, sealed: toHex(sealed) }),
		Training.reveal({ ...place, salt: toHex(SALT), work: WORK, proof, proof_signature: toHex(worker.sign(message)) }),
		Training.vote_availability({ ...place, vote: VOTE }),
		Training.attest({ ...place, attestation: ATTESTATION }),
	];
	const sent = await sendAll(chain, moves, own);
	assert.deepEqual(sent.map(({ error }) => error), moves.map(() => undefined));

	while ((await api.view.Training.run(run, BEST)).rounds_adopted === 0) await nextBlock(chain);
	const record = await api.view.Training.record(run, ROUND, BEST);
	assert.deepEqual(record.included, [[own.address, WORK.delta_root]]);
	const [[pending]] = await api.view.Ponw.pending(own.address, BEST);
	assert.deepEqual([pending.run, pending.round, pending.kind.type], [run, ROUND, "Training"]);
}

/** Waits for a block after the best one. */
async function nextBlock(chain) {
	const [{ number: best }] = await chain.client.getBestBlocks();
	await until(chain, (number) => number > best);
}

/** Claims the reward of the round, to the planck, and learns why there is no more. */
export async function claim(chain) {
	const { api, own } = chain;
	const { Rewards } = api.view;
	const earned = async (at) => {
		const { claimed, claimable } = await Rewards.earnings(own.address, { at });
		return { claimed, claimable };
	};
	const eras = (at) => Rewards.claimable_eras(own.address, { at });
	const refused = async (era, reason) => {
		const before = await balance(chain, "best", own);
		const { at, fee, error } = await send(chain, api.tx.Rewards.claim({ era }), own);
		assert.equal(error, `Rewards.${reason}`);
		assert.deepEqual(await balance(chain, at, own), { ...before, free: before.free - fee });
	};

	await refused((await Rewards.era(BEST)).index + 1, "EraNotEnded");
	// The first era ended before any work could become final.
	await refused(0, "NothingToClaim");
	while ((await eras("best")).length === 0) {
		const { ends_at: end } = await Rewards.era(BEST);
		await until(chain, (number) => number >= end);
	}
	const [[era, amount], ...more] = await eras("best");
	assert.deepEqual(more, []);
	const [{ parts }] = await Rewards.era_history(era, 1, BEST);
	// Nobody else worked, so all of the part for training, but no more than the bond that could be slashed.
	const bonded = BOND + EXTRA;
	assert.equal(amount, parts.training < bonded ? parts.training : bonded);
	assert.deepEqual(await earned("best"), { claimed: 0n, claimable: amount });

	const before = await balance(chain, "best", own);
	const { at, fee, found } = await succeed(chain, api.tx.Rewards.claim({ era }), own);
	assert.deepEqual(await balance(chain, at, own), { free: before.free + amount - fee, reserved: before.reserved });
	assert.deepEqual(found("Rewards", "Claimed"), { who: own.address, era, amount });
	assert.deepEqual(found("Balances", "Minted"), { who: own.address, amount });
	assert.deepEqual(await earned(at), { claimed: amount, claimable: 0n });
	assert.deepEqual(await eras(at), []);
	assert.equal((await Rewards.issuance({ at })).claimed, amount);
	await refused(era, "NothingToClaim");
	return `${amount} planck minted`;
}
