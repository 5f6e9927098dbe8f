// View functions, as the metadata describes them.

import assert from "node:assert/strict";

/** Every view function answers, even to arguments that say nothing: zeros, empty lists, the first of several kinds. */
export async function everyView({ api, metadata, lookup }) {
	let count = 0;
	for (const { name: pallet, viewFns } of metadata.pallets) {
		for (const { name, inputs, docs } of viewFns) {
			assert.ok(docs.length > 0, `${pallet}.${name} has no documentation`);
			await api.view[pallet][name](...inputs.map(({ type }) => nothing(lookup(type))), { at: "best" });
			count += 1;
		}
	}
	assert.ok(count > 0);
	return `${count} view functions`;
}

/** The smallest value of a type. */
export function nothing(type) {
	switch (type.type) {
		case "primitive":
			return primitive(type.value);
		case "compact":
			return type.isBig ? 0n : 0;
		case "AccountId32":
			return "5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM";
		case "tuple":
			return type.value.map(nothing);
		case "struct":
			return Object.fromEntries(Object.entries(type.value).map(([name, of]) => [name, nothing(of)]));
		case "array":
			return isByte(type.value) ? `0x${"00".repeat(type.len)}` : Array.from({ length: type.len }, () => nothing(type.value));
		case "sequence":
			return isByte(type.value) ? new Uint8Array() : [];
		case "enum": {
			const [[name, of]] = Object.entries(type.value).sort(([, a], [, b]) => a.idx - b.idx);
			return { type: name, value: nothing(of) };
		}
		case "lookupEntry":
			return nothing(type.value);
		default:
			// Nothing at all, or an option.
			return undefined;
	}
}

const isByte = ({ type, value }) => type === "primitive" && value === "u8";

function primitive(kind) {
	if (kind === "bool") return false;
	if (kind === "str" || kind === "char") return "";
	return Number(kind.slice(1)) > 32 ? 0n : 0;
}

/** What view functions say is what the storage has. */
export async function compareViews({ client, api, own }) {
	const [{ hash }] = await client.getBestBlocks();
	const release = client.hodlBlock(hash);
	const at = { at: hash };
	const { Staking, Ponw, Rewards, Dataset, Training, Validators } = api.view;
	const value = (pallet, entry, ...keys) => api.query[pallet][entry].getValue(...keys, at);

	const [provider, stored] = [await Staking.provider(own.address, at), await value("Staking", "Providers", own.address)];
	assert.deepEqual([provider.info, provider.status, provider.bonded], [stored.info, stored.status, stored.bond.active]);
	assert.deepEqual([provider.unbonding, provider.reputation, provider.locked_until], [stored.bond.unbonding, stored.reputation, stored.locked_until]);
	assert.deepEqual(await Staking.limits(at), [await value("Staking", "MinBond"), await value("Staking", "Cooldown")]);
	assert.deepEqual(await Staking.active_counts(at), await value("Staking", "ActiveCounts"));
	assert.equal(await Ponw.window(at), await value("Ponw", "ChallengeWindow"));
	assert.deepEqual(await Rewards.shares(at), await value("Rewards", "Shares"));
	assert.equal((await Rewards.era(at)).index, (await value("Rewards", "Current")).index);
	const identifiers = async (pallet, entry) => (await api.query[pallet][entry].getEntries(at)).map(({ keyArgs: [id] }) => id).sort((a, b) => a - b);
	assert.deepEqual(await Dataset.datasets(at), await identifiers("Dataset", "Datasets"));
	assert.deepEqual(await Training.runs(at), await identifiers("Training", "Runs"));
	const limits = await Validators.limits(at);
	assert.deepEqual(
		[limits.min_self_bond, limits.min_nomination, limits.cooldown],
		[await value("Validators", "MinSelfBond"), await value("Validators", "MinNomination"), await value("Validators", "Cooldown")],
	);
	release();
}
