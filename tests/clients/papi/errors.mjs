// Errors: what the metadata says about each, and what a wallet gets to see when a call is refused.

import assert from "node:assert/strict";
import { Enum } from "polkadot-api";
import { assertDocumented, namesOf } from "../shared/documented.mjs";
import { CARRIED, NEURO, NO_SUCH, TURNS, explains, isOurs } from "../shared/facts.mjs";
import { account, send, sendAll, succeed } from "./chain.mjs";
import { registration } from "./money.mjs";
import { nothing } from "./views.mjs";

/** Documentation of a pallet's errors by their names, and the path of their type. */
function documented({ metadata }, pallet) {
	const { errors } = metadata.pallets.find(({ name }) => name === pallet);
	if (!errors) return { path: [], docs: new Map() };
	const { path, def } = metadata.lookup[errors.type];
	return { path, docs: new Map(def.value.map(({ name, docs }) => [name, docs])) };
}

/** Every error of every pallet of this chain says what happened and what to do, and docs/reference/errors.md says it of those others that something raises. */
export async function everyErrorIsExplained(chain) {
	const silent = [];
	const foreign = chain.metadata.lookup.flatMap(({ path, def }) =>
		def.tag === "variant" ? namesOf(path, def.value.map(({ name }) => name)) : [],
	);
	let count = 0;
	for (const { name: pallet } of chain.metadata.pallets) {
		const { path, docs } = documented(chain, pallet);
		if (!isOurs(path)) {
			foreign.push(...[...docs.keys()].map((name) => `${pallet}.${name}`));
			continue;
		}
		for (const [name, lines] of docs) {
			count += 1;
			if (!explains(lines)) silent.push(`${pallet}.${name}: ${lines.join(" ")}`);
		}
	}
	assert.deepEqual(silent, [], "errors that do not say what to do");
	assert.ok(count > 0);
	assertDocumented(foreign);
	return `${count} errors of this chain, ${foreign.length} of the SDK`;
}

/** Calls that must fail, and why. */
const refused = (chain) => {
	const { tx } = chain.api;
	const dest = Enum("Id", chain.rich.address);
	const proof = { key: { run: 0, round: 0, kind: Enum("Training") }, timestamp: 0n, work_hash: `0x${"00".repeat(32)}` };
	return [
		[tx.Balances.transfer_keep_alive({ dest, value: 10n ** 9n * NEURO }), "Arithmetic.Underflow"],
		[tx.Staking.register({ info: registration(chain), bond: 1_000n * NEURO }), "Staking.AlreadyRegistered"],
		[tx.Staking.unbond({ amount: 0n }), "Staking.ZeroAmount"],
		[tx.Staking.lock({ days: 366 }), "Staking.InvalidLock"],
		[tx.Training.join({ run: NO_SUCH }), "Training.UnknownRun"],
		[tx.Dataset.retire({ id: NO_SUCH }), "Dataset.UnknownDataset"],
		[tx.Ponw.submit_uptime({ proof, signature: `0x${"00".repeat(65)}` }), "Ponw.WrongKind"],
		[tx.Disputes.resign(), "Disputes.NotEnrolled"],
		[tx.Rewards.claim({ era: NO_SUCH }), "Rewards.EraNotEnded"],
		[tx.Ownership.claim({ model: NO_SUCH }), "Ownership.UnknownModel"],
		[tx.Inference.settle({ session: BigInt(NO_SUCH) }), "Inference.UnknownSession"],
		[tx.Validators.nominate({ candidate: chain.rich.address, amount: 1_000n * NEURO }), "Validators.NotCandidate"],
		[tx.Assets.transfer({ id: NO_SUCH, target: dest, amount: 1n }), "Assets.Unknown"],
		[tx.Session.purge_keys(), "Session.NoKeys"],
		[tx.Sudo.sudo({ call: tx.System.remark({ remark: new Uint8Array() }).decodedCall }), "Sudo.RequireSudo"],
		[tx.System.set_code({ code: new Uint8Array() }), "BadOrigin"],
	];
};

/** Each refusal has a name, and those of pallets the words of the metadata. */
export async function callsAreRefusedWithReasons(chain) {
	const calls = refused(chain);
	const sent = await sendAll(chain, calls.map(([call]) => call), chain.own);
	assert.deepEqual(sent.map(({ error }) => error), calls.map(([, name]) => name));
	for (const { error } of sent) {
		const [pallet, name] = error.split(".");
		if (chain.metadata.pallets.some((each) => each.name === pallet)) assert.ok(documented(chain, pallet).docs.get(name).length > 0, error);
	}
	return `${calls.length} calls`;
}

/** A call whose arguments say nothing. */
function empty({ api, metadata, lookup }, pallet, name) {
	const { calls } = metadata.pallets.find((each) => each.name === pallet);
	return api.tx[pallet][name](nothing(lookup(calls.type).value[name]));
}

/** Every call of a pallet of this chain, from an account that is nobody and says nothing: what is refused is refused for a named reason. */
export async function everyCallIsAnswered(chain) {
	const { api, metadata, rich } = chain;
	const nobody = account("//papi//nobody");
	await succeed(chain, api.tx.Balances.transfer_keep_alive({ dest: Enum("Id", nobody.address), value: 1_000n * NEURO }), rich);
	const ours = metadata.pallets.filter(({ calls }) => calls && isOurs(metadata.lookup[calls.type].path));
	const named = ({ name: pallet, calls }) => metadata.lookup[calls.type].def.value.map(({ name }) => [pallet, name]);
	const calls = ours.flatMap(named).filter(([pallet, name]) => !TURNS.some((turn) => pallet === turn.pallet && name === turn.call));
	const sent = await sendAll(chain, calls.map((call) => empty(chain, ...call)), nobody);
	const reasons = new Set(sent.flatMap(({ error }) => error ?? []));
	assert.ok(reasons.size > 6, [...reasons].join());
	return `${calls.length} calls, ${reasons.size} reasons`;
}

/** What a node refuses by itself: an account that cannot pay, and moves and answers by whoever has no turn. */
export async function refusedBeforeABlock(chain) {
	const { System, Utility } = chain.api.tx;
	const invalid = (type, code) => ({ error }) => error.type === "Invalid" && error.value.type === type && error.value.value === code;
	await assert.rejects(send(chain, System.remark({ remark: new Uint8Array() }), account("//papi//poor")), invalid("Payment"));
	for (const { pallet, call, code } of TURNS) {
		const turn = empty(chain, pallet, call);
		await assert.rejects(send(chain, turn, chain.own), invalid("Custom", code));
		await assert.rejects(send(chain, Utility.batch_all({ calls: [turn.decodedCall] }), chain.own), invalid("Custom", CARRIED));
	}
}
