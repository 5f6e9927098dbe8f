// Errors: what the metadata says about each, and what a wallet gets to see when a call is refused.

import assert from "node:assert/strict";
import { Keyring } from "@polkadot/api";
import { stringCamelCase } from "@polkadot/util";
import { assertDocumented, namesOf } from "../shared/documented.mjs";
import { CARRIED, NEURO, NO_SUCH, TURNS, explains, isOurs } from "../shared/facts.mjs";
import { send, sendAll, succeed } from "./chain.mjs";
import { registration } from "./money.mjs";

/** Every error of every pallet of this chain says what happened and what to do, and docs/reference/errors.md says it of those others that something raises. */
export async function everyErrorIsExplained({ api }) {
	const silent = [];
	const foreign = api.registry.lookup.types.flatMap(({ type: { path, def } }) =>
		def.isVariant ? namesOf(path.map(String), def.asVariant.variants.map((variant) => variant.name.toString())) : [],
	);
	let count = 0;
	for (const { name, errors } of api.registry.metadata.pallets) {
		if (errors.isNone) continue;
		const { def, path } = api.registry.lookup.getSiType(errors.unwrap().type);
		if (!isOurs(path.map(String))) {
			foreign.push(...def.asVariant.variants.map((variant) => `${name}.${variant.name}`));
			continue;
		}
		for (const variant of def.asVariant.variants) {
			count += 1;
			if (!explains(variant.docs.map(String))) silent.push(`${name}.${variant.name}: ${variant.docs.join(" ")}`);
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
	const rich = chain.rich.address;
	const proof = { key: { run: 0, round: 0, kind: "Training" }, timestamp: 0, workHash: new Uint8Array(32) };
	return [
		[tx.balances.transferKeepAlive(rich, 10n ** 9n * NEURO), "Arithmetic.Underflow"],
		[tx.staking.register(registration(chain), 1_000n * NEURO), "staking.AlreadyRegistered"],
		[tx.staking.unbond(0), "staking.ZeroAmount"],
		[tx.staking.lock(366), "staking.InvalidLock"],
		[tx.training.join(NO_SUCH), "training.UnknownRun"],
		[tx.dataset.retire(NO_SUCH), "dataset.UnknownDataset"],
		[tx.ponw.submitUptime(proof, new Uint8Array(65)), "ponw.WrongKind"],
		[tx.disputes.resign(), "disputes.NotEnrolled"],
		[tx.rewards.claim(NO_SUCH), "rewards.EraNotEnded"],
		[tx.ownership.claim(NO_SUCH), "ownership.UnknownModel"],
		[tx.inference.settle(NO_SUCH), "inference.UnknownSession"],
		[tx.validators.nominate(rich, 1_000n * NEURO), "validators.NotCandidate"],
		[tx.assets.transfer(NO_SUCH, rich, 1), "assets.Unknown"],
		[tx.session.purgeKeys(), "session.NoKeys"],
		[tx.sudo.sudo(tx.system.remark("0x")), "sudo.RequireSudo"],
		[tx.system.setCode("0x"), "BadOrigin"],
	];
};

/** Each refusal has a name, and those of our pallets the words of the metadata. */
export async function callsAreRefusedWithReasons(chain) {
	const calls = refused(chain);
	const sent = await sendAll(chain, calls.map(([call]) => call), chain.own);
	assert.deepEqual(sent.map(({ error }) => error?.name), calls.map(([, name]) => name));
	for (const { error } of sent) assert.ok(!error.name.includes(".") || error.name.startsWith("Arithmetic.") || error.docs.length > 0, error.name);
	return `${calls.length} calls`;
}

/** A call whose arguments say nothing. */
const empty = ({ api }, call) => call(...call.meta.args.map(({ type }) => api.registry.createType(type)));
const needsTurn = ({ section, method }) =>
	TURNS.some(({ pallet, call }) => section === stringCamelCase(pallet) && method === stringCamelCase(call));

/** Every call of a pallet of this chain, from an account that is nobody and says nothing: what is refused is refused for a named reason. */
export async function everyCallIsAnswered(chain) {
	const { api, rich } = chain;
	const nobody = new Keyring({ type: "sr25519" }).addFromUri("//polkadot-js//nobody");
	await succeed(chain, api.tx.balances.transferKeepAlive(nobody.address, 1_000n * NEURO), rich);
	const ours = ({ calls }) => calls.isSome && isOurs(api.registry.lookup.getSiType(calls.unwrap().type).path.map(String));
	const pallets = api.registry.metadata.pallets.filter(ours).map(({ name }) => api.tx[stringCamelCase(name.toString())]);
	const calls = pallets.flatMap(Object.values).filter((call) => !needsTurn(call));
	const sent = await sendAll(chain, calls.map((call) => empty(chain, call)), nobody);
	const reasons = new Set(sent.flatMap(({ error }) => error?.name ?? []));
	assert.ok(reasons.size > 6, [...reasons].join());
	return `${calls.length} calls, ${reasons.size} reasons`;
}

/** What a node refuses by itself: an account that cannot pay, and moves and answers by whoever has no turn. */
export async function refusedBeforeABlock(chain) {
	const { tx } = chain.api;
	const poor = new Keyring({ type: "sr25519" }).addFromUri("//polkadot-js//poor");
	await assert.rejects(send(chain, tx.system.remark("0x"), poor), /1010.*pay some fees/);
	for (const { pallet, call, code } of TURNS) {
		const turn = empty(chain, tx[stringCamelCase(pallet)][stringCamelCase(call)]);
		await assert.rejects(send(chain, turn, chain.own), new RegExp(`1010.*Custom error: ${code}`));
		await assert.rejects(send(chain, tx.utility.batchAll([turn]), chain.own), new RegExp(`1010.*Custom error: ${CARRIED}`));
	}
}
