// View functions, as the metadata describes them.

import assert from "node:assert/strict";
import { u8aConcat, u8aToHex } from "@polkadot/util";

/** All pallets' view functions. */
const all = (api) =>
	api.registry.metadata.pallets.flatMap(({ name, viewFunctions }) =>
		viewFunctions.map((description) => ({ pallet: name.toString(), name: description.name.toString(), description })),
	);

const created = (api, type, value) => api.registry.createType(api.registry.createLookupType(type), value);

/** Calls a view function, as it is described, in the state `at` a block. The API has no method of its own for that. */
async function execute(at, { pallet, name, description }, values) {
	const { id, inputs, output } = description;
	const input = u8aConcat(...inputs.map(({ type }, place) => created(at, type, values[place]).toU8a()));
	const answer = await at.call.runtimeViewFunction.executeViewFunction(id.toU8a(), u8aToHex(input));
	assert.ok(answer.isOk, `${pallet}.${name}: ${answer.isErr && answer.asErr.type}`);
	const bytes = answer.asOk.toU8a(true);
	const value = created(at, output, bytes);
	assert.equal(u8aToHex(value.toU8a()), u8aToHex(bytes), `${pallet}.${name} has more or less than its type`);
	return value;
}

/** Answer of a view function to these values. */
export function view(api, pallet, name, ...values) {
	const found = all(api).find((each) => each.pallet === pallet && each.name === name);
	assert.ok(found, `the metadata has no view function ${pallet}.${name}`);
	return execute(api, found, values);
}

/** Every view function answers, even to arguments that say nothing. */
export async function everyView({ api }) {
	const functions = all(api);
	for (const each of functions) {
		assert.ok(each.description.docs.length > 0, `${each.pallet}.${each.name} has no documentation`);
		await execute(api, each, []);
	}
	assert.ok(functions.length > 0);
	return `${functions.length} view functions`;
}

/** What view functions say is what the storage has. */
export async function compareViews({ api, own }) {
	const at = await api.at(await api.rpc.chain.getBlockHash());
	const { staking, ponw, rewards, dataset, training, validators } = at.query;
	const equal = (seen, stored) => assert.deepEqual(seen.map((value) => value.toHex()), stored.map((value) => value.toHex()));

	const [provider, stored] = [await view(at, "Staking", "provider", own.address), await staking.providers(own.address)].map((found) => found.unwrap());
	equal([provider.info, provider.status, provider.bonded], [stored.info, stored.status, stored.bond.active]);
	equal([provider.unbonding, provider.reputation, provider.lockedUntil], [stored.bond.unbonding, stored.reputation, stored.lockedUntil]);
	equal([...(await view(at, "Staking", "limits"))], [await staking.minBond(), await staking.cooldown()]);
	equal([await view(at, "Staking", "active_counts")], [await staking.activeCounts()]);
	equal([await view(at, "Ponw", "window")], [await ponw.challengeWindow()]);
	equal([await view(at, "Rewards", "shares")], [await rewards.shares()]);
	equal([(await view(at, "Rewards", "era")).index], [(await rewards.current()).index]);
	const identifiers = async (entry) => (await entry.keys()).map(({ args: [id] }) => id.toNumber()).sort((a, b) => a - b);
	const listed = (ids) => ids.map((id) => id.toNumber());
	assert.deepEqual(listed(await view(at, "Dataset", "datasets")), await identifiers(dataset.datasets));
	assert.deepEqual(listed(await view(at, "Training", "runs")), await identifiers(training.runs));
	const limits = await view(at, "Validators", "limits");
	equal([limits.minSelfBond, limits.minNomination, limits.cooldown], [await validators.minSelfBond(), await validators.minNomination(), await validators.cooldown()]);
}
