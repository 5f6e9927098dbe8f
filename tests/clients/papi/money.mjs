// Transfers, bonds and proofs, with what each must do to the balances.

import assert from "node:assert/strict";
import { Enum } from "polkadot-api";
import { toHex } from "polkadot-api/utils";
import { ADDRESS, BOND, ENDOWMENT, EXTRA, HARDWARE, UNBONDED, WORKER, peerId } from "../shared/facts.mjs";
import { balance, held, succeed } from "./chain.mjs";

const BEST = { at: "best" };

/** Gives the client's own account its first money. */
export async function transfer(chain) {
	const { api, rich, own } = chain;
	const before = await balance(chain, "best", rich);
	const call = api.tx.Balances.transfer_keep_alive({ dest: Enum("Id", own.address), value: ENDOWMENT });
	const announced = await call.getEstimatedFees(rich.address);
	const { at, fee, found } = await succeed(chain, call, rich);
	assert.ok(fee > 0n && fee <= announced, `a fee of ${fee}, and ${announced} were announced`);
	assert.deepEqual(await balance(chain, at, own), { free: ENDOWMENT, reserved: 0n });
	assert.deepEqual(await balance(chain, at, rich), { free: before.free - ENDOWMENT - fee, reserved: before.reserved });
	assert.deepEqual(found("Balances", "Transfer"), { from: rich.address, to: own.address, amount: ENDOWMENT });
	return `fee ${fee} planck`;
}

/** What the client registers as a provider. */
export const registration = ({ worker, peer }) => ({
	roles: WORKER,
	hardware: { gflops: HARDWARE.gflops, memory_mib: HARDWARE.memory, bandwidth_kib_s: HARDWARE.bandwidth },
	ponw_key: toHex(worker.publicKey),
	peer_id: peerId(peer.publicKey),
	addresses: [ADDRESS],
});

/** Registers with a bond, bonds more, and takes a part out again. */
export async function bond(chain) {
	const { api, own } = chain;
	const { Staking } = api.tx;
	const calls = [
		[Staking.register({ info: registration(chain), bond: BOND }), BOND, BOND],
		[Staking.bond_extra({ amount: EXTRA }), EXTRA, BOND + EXTRA],
		[Staking.unbond({ amount: UNBONDED }), 0n, BOND + EXTRA],
	];
	let unbonded;
	for (const [call, taken, bonded] of calls) {
		const before = await balance(chain, "best", own);
		const { at, fee, number } = await succeed(chain, call, own);
		assert.deepEqual(await balance(chain, at, own), { free: before.free - taken - fee, reserved: bonded });
		assert.equal(await held(chain, at, own, "Staking", "Bond"), bonded);
		unbonded = number;
	}
	const [, cooldown] = await api.view.Staking.limits(BEST);
	const provider = await api.view.Staking.provider(own.address, BEST);
	assert.equal(provider.bonded, BOND + EXTRA - UNBONDED);
	assert.deepEqual(provider.unbonding, [{ amount: UNBONDED, unlocks_at: unbonded + cooldown }]);
	assert.deepEqual(provider.info, registration(chain));
	return `${BOND + EXTRA} planck held`;
}

/** Answers the challenge of a new provider. */
export async function prove(chain) {
	const { api, own } = chain;
	const provider = () => api.view.Staking.provider(own.address, BEST);
	const { status } = await provider();
	assert.equal(status.type, "Unproven");
	const digest = await api.apis.KernelsApi.drawn_answer(status.value.challenge, BEST);
	await succeed(chain, api.tx.Staking.prove_arithmetic({ digest }), own);
	assert.equal((await provider()).status.type, "Active");
}
