// Work that is paid: a round of training, and the reward of the era in which it became final. Nothing is trained: this is about the chain.

import assert from "node:assert/strict";
import { bnToU8a, stringToU8a, u8aConcat, u8aToHex } from "@polkadot/util";
import { blake2AsU8a } from "@polkadot/util-crypto";
import { ATTESTATION, BOND, EXTRA, MANIFEST, RUN, SALT, VOTE, WORK } from "../shared/facts.mjs";
import { balance, send, sendAll, succeed, until } from "./chain.mjs";
import { view } from "./views.mjs";

const ROUND = 0;
const u32 = (value) => bnToU8a(value, { bitLength: 32 });

/** The same fields, with bytes in the form that the API does not take for encoded ones. */
const hexed = (fields) =>
	Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value instanceof Uint8Array ? u8aToHex(value) : value]));

/** Signs a proof as our worker would. */
export function signed({ api, own, worker }, proof) {
	return u8aToHex(worker.sign(u8aConcat(stringToU8a("neuroshard/ponw/1"), api.genesisHash.toU8a(), own.publicKey, proof.toU8a())));
}

/** Has a run of one round approved, and takes part in it alone. */
export async function train(chain) {
	const { api, own, sponsor } = chain;
	const { dataset: datasets, sudo, training, utility } = api.tx;
	const dataset = await api.query.dataset.nextId();
	const run = await api.query.training.nextRun();
	const model = { ...RUN.model, family: "Llama", head_dim: null, rope_scaling: "None" };
	const train = { ...RUN.train, aggregator: "Mean", products: "F32", optimizer: "AdamW" };
	const config = { ...hexed(RUN), dataset, model, train, start: "Seed" };
	const sponsored = [
		datasets.propose(hexed(MANIFEST)),
		datasets.activate(dataset),
		training.createRun(config),
		sudo.sudo(training.approveRun(run)),
	];
	const { events } = await succeed(chain, utility.batchAll(sponsored), sponsor);
	assert.ok(events.some((event) => api.events.sudo.Sudid.is(event) && event.data[0].isOk));

	await succeed(chain, training.join(run), own);
	const phase = async () => (await view(api, "Training", "round", run)).unwrap().phase.type;
	while ((await phase()) === "Joining") await nextBlock(chain);
	assert.equal(await phase(), "Training");

	const [, , , , workType, proofType] = training.reveal.meta.args.map(({ type }) => type);
	const work = api.registry.createType(workType, WORK);
	const place = [run, ROUND, 0];
	const sealed = blake2AsU8a(
		u8aConcat(stringToU8a("neuroshard/commit/1"), api.genesisHash.toU8a(), ...place.map(u32), own.publicKey, SALT, work.toU8a()),
	);
	const timestamp = (await api.query.timestamp.now()).toNumber();
	const key = { run, round: ROUND, kind: "Training" };
	const proof = api.registry.createType(proofType, { key, timestamp, workHash: blake2AsU8a(work.toU8a()) });
	const moves = [
		training.commit(...place, sealed),
		training.reveal(...place, SALT, work, proof, signed(chain, proof)),
		training.voteAvailability(...place, u8aToHex(VOTE)),
		training.attest(...place, ATTESTATION),
	];
	const sent = await sendAll(chain, moves, own);
	assert.deepEqual(sent.map(({ error }) => error), moves.map(() => undefined));

	while ((await view(api, "Training", "run", run)).unwrap().roundsAdopted.toNumber() === 0) await nextBlock(chain);
	const record = (await view(api, "Training", "record", run, ROUND)).unwrap();
	assert.deepEqual(record.included.map(([who, root]) => [who.toString(), root.toHex()]), [[own.address, WORK.delta_root]]);
	const [[pending]] = await view(api, "Ponw", "pending", own.address);
	assert.deepEqual([pending.run.toNumber(), pending.round.toNumber(), pending.kind.type], [run.toNumber(), ROUND, "Training"]);
}

/** Waits for a block after the best one. */
async function nextBlock(chain) {
	const best = (await chain.api.rpc.chain.getHeader()).number.toNumber();
	await until(chain, (number) => number > best);
}

/** Claims the reward of the round, to the planck, and learns why there is no more. */
export async function claim(chain) {
	const { api, own } = chain;
	const { rewards } = api.tx;
	const earned = async (at) => {
		const { claimed, claimable } = await view(at, "Rewards", "earnings", own.address);
		return { claimed: claimed.toBigInt(), claimable: claimable.toBigInt() };
	};
	const eras = async (at) => {
		const listed = await view(at, "Rewards", "claimable_eras", own.address);
		return listed.map(([era, amount]) => [era.toNumber(), amount.toBigInt()]);
	};
	const refused = async (era, reason) => {
		const before = await balance(api, own);
		const { at, fee, error } = await send(chain, rewards.claim(era), own);
		assert.equal(error.name, `rewards.${reason}`);
		assert.ok(error.docs.length > 0);
		assert.deepEqual(await balance(at, own), { ...before, free: before.free - fee });
	};

	await refused((await view(api, "Rewards", "era")).index.addn(1), "EraNotEnded");
	// The first era ended before any work could become final.
	await refused(0, "NothingToClaim");
	while ((await eras(api)).length === 0) {
		const { endsAt } = await view(api, "Rewards", "era");
		await until(chain, (number) => number >= endsAt.toNumber());
	}
	const [[era, amount], ...more] = await eras(api);
	assert.deepEqual(more, []);
	const [record] = await view(api, "Rewards", "era_history", era, 1);
	const part = record.parts.training.toBigInt();
	// Nobody else worked, so all of the part for training, but no more than the bond that could be slashed.
	const bonded = BOND + EXTRA;
	assert.equal(amount, part < bonded ? part : bonded);
	assert.deepEqual(await earned(api), { claimed: 0n, claimable: amount });

	const before = await balance(api, own);
	const claimed = await succeed(chain, rewards.claim(era), own);
	assert.deepEqual(await balance(claimed.at, own), { free: before.free + amount - claimed.fee, reserved: before.reserved });
	const { data } = claimed.events.find((event) => api.events.rewards.Claimed.is(event));
	assert.deepEqual(data.map(String), [own.address, String(era), String(amount)]);
	assert.ok(claimed.events.some((event) => api.events.balances.Minted.is(event) && event.data[1].toBigInt() === amount));
	assert.deepEqual(await earned(claimed.at), { claimed: amount, claimable: 0n });
	assert.deepEqual(await eras(claimed.at), []);
	assert.equal((await view(claimed.at, "Rewards", "issuance")).claimed.toBigInt(), amount);
	await refused(era, "NothingToClaim");
	return `${amount} planck minted`;
}
