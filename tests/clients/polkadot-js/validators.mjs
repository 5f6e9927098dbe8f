// Stakes of validators: a nomination that earns, and a candidate of its own.

import assert from "node:assert/strict";
import { balance, held, succeed, until } from "./chain.mjs";
import { view } from "./views.mjs";

/** Parts of 10^9 of a reward that the candidate keeps. */
const COMMISSION = 100_000_000;

/** Backs a validator, claims what that earned, and becomes a candidate with session keys of the node. */
export async function validate(chain) {
	const { api, own, request } = chain;
	const { minNomination, minSelfBond } = await view(api, "Validators", "limits");
	const [stake, bond] = [minNomination.toBigInt() * 2n, minSelfBond.toBigInt()];
	const [[validator]] = await view(api, "Validators", "elected");
	const claimable = async (at) => (await view(at, "Validators", "claimable", own.address)).toBigInt();

	let before = await balance(api, own);
	const nominated = await succeed(chain, api.tx.validators.nominate(validator, stake), own);
	assert.deepEqual(await balance(nominated.at, own), { free: before.free - stake - nominated.fee, reserved: before.reserved + stake });
	assert.equal(await held(nominated.at, own, "Validators", "Nomination"), stake);

	await until(chain, (number) => number > nominated.number + 1);
	assert.ok((await claimable(api)) > 0n, "a nominator of the only author earns with each block");
	before = await balance(api, own);
	const claimed = await succeed(chain, api.tx.validators.claimRewards(validator), own);
	const { amount } = claimed.events.find((event) => api.events.validators.RewardsClaimed.is(event)).data;
	assert.ok(amount.toBigInt() > 0n);
	assert.deepEqual(await balance(claimed.at, own), { free: before.free + amount.toBigInt() - claimed.fee, reserved: before.reserved });
	assert.equal(await claimable(claimed.at), 0n);

	const { keys, proof } = await request("author_rotateKeysWithOwner", api.createType("AccountId", own.address).toHex());
	before = await balance(api, own);
	const deposit = api.consts.session.keyDeposit.toBigInt();
	const set = await succeed(chain, api.tx.session.setKeys(keys, proof), own);
	assert.deepEqual(await balance(set.at, own), { free: before.free - deposit - set.fee, reserved: before.reserved + deposit });
	before = await balance(set.at, own);
	// Chilled at once: a node votes for finality with one key only, so that it would stand still with two validators on this node.
	const calls = [api.tx.validators.bond(bond, COMMISSION), api.tx.validators.chill()];
	const bonded = await succeed(chain, api.tx.utility.batchAll(calls), own);
	assert.deepEqual(await balance(bonded.at, own), { free: before.free - bond - bonded.fee, reserved: before.reserved + bond });
	assert.equal(await held(bonded.at, own, "Validators", "SelfBond"), bond);
	const candidate = (await view(bonded.at, "Validators", "candidate", own.address)).unwrap();
	assert.ok(candidate.hasKeys.isTrue && candidate.status.isChilled);
	assert.deepEqual([candidate.own.toBigInt(), candidate.commission.toNumber()], [bond, COMMISSION]);
	return `${amount} planck claimed`;
}
