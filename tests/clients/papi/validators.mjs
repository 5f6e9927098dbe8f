// Stakes of validators: a nomination that earns, and a candidate of its own.

import assert from "node:assert/strict";
import { toHex } from "polkadot-api/utils";
import { balance, codecOf, held, succeed, until } from "./chain.mjs";

/** Parts of 10^9 of a reward that the candidate keeps. */
const COMMISSION = 100_000_000;

/** Backs a validator, claims what that earned, and becomes a candidate with session keys of the node. */
export async function validate(chain) {
	const { api, own, request } = chain;
	const { min_nomination: minNomination, min_self_bond: bond } = await api.view.Validators.limits({ at: "best" });
	const stake = minNomination * 2n;
	const [[validator]] = await api.view.Validators.elected({ at: "best" });
	const claimable = (at) => api.view.Validators.claimable(own.address, { at });

	let before = await balance(chain, "best", own);
	const nominated = await succeed(chain, api.tx.Validators.nominate({ candidate: validator, amount: stake }), own);
	assert.deepEqual(await balance(chain, nominated.at, own), { free: before.free - stake - nominated.fee, reserved: before.reserved + stake });
	assert.equal(await held(chain, nominated.at, own, "Validators", "Nomination"), stake);

	await until(chain, (number) => number > nominated.number + 1);
	assert.ok((await claimable("best")) > 0n, "a nominator of the only author earns with each block");
	before = await balance(chain, "best", own);
	const claimed = await succeed(chain, api.tx.Validators.claim_rewards({ candidate: validator }), own);
	const { amount } = claimed.found("Validators", "RewardsClaimed");
	assert.ok(amount > 0n);
	assert.deepEqual(await balance(chain, claimed.at, own), { free: before.free + amount - claimed.fee, reserved: before.reserved });
	assert.equal(await claimable(claimed.at), 0n);

	const { keys, proof } = await request("author_rotateKeysWithOwner", toHex(own.publicKey));
	const deposit = await api.constants.Session.KeyDeposit();
	before = await balance(chain, "best", own);
	const sessionKeys = codecOf(chain, "Session", "set_keys", "keys").dec(keys);
	const set = await succeed(chain, api.tx.Session.set_keys({ keys: sessionKeys, proof: bytes(proof) }), own);
	assert.deepEqual(await balance(chain, set.at, own), { free: before.free - deposit - set.fee, reserved: before.reserved + deposit });
	before = await balance(chain, set.at, own);
	// Chilled at once: a node votes for finality with one key only, so that it would stand still with two validators on this node.
	const calls = [api.tx.Validators.bond({ amount: bond, commission: COMMISSION }), api.tx.Validators.chill()];
	const bonded = await succeed(chain, api.tx.Utility.batch_all({ calls: calls.map(({ decodedCall }) => decodedCall) }), own);
	assert.deepEqual(await balance(chain, bonded.at, own), { free: before.free - bond - bonded.fee, reserved: before.reserved + bond });
	assert.equal(await held(chain, bonded.at, own, "Validators", "SelfBond"), bond);
	const candidate = await api.view.Validators.candidate(own.address, { at: bonded.at });
	assert.ok(candidate.has_keys && candidate.status.type === "Chilled");
	assert.deepEqual([candidate.own, candidate.commission], [bond, COMMISSION]);
	return `${amount} planck claimed`;
}

const bytes = (hex) => Uint8Array.from(Buffer.from(hex.slice(2), "hex"));
