// Transfers, bonds and proofs, with what each must do to the balances.

import assert from "node:assert/strict";
import { u8aToHex } from "@polkadot/util";
import { ADDRESS, BOND, ENDOWMENT, EXTRA, HARDWARE, UNBONDED, WORKER, peerId } from "../shared/facts.mjs";
import { balance, held, send, succeed } from "./chain.mjs";
import { view } from "./views.mjs";
import { signed } from "./work.mjs";

/** Gives the client's own account its first money. */
export async function transfer(chain) {
	const { api, rich, own } = chain;
	const before = await balance(api, rich);
	const call = api.tx.balances.transferKeepAlive(own.address, ENDOWMENT);
	const { partialFee } = await call.paymentInfo(rich);
	const { at, fee, events } = await succeed(chain, call, rich);
	assert.ok(fee > 0n && fee <= partialFee.toBigInt(), `a fee of ${fee}, and ${partialFee} were announced`);
	assert.deepEqual(await balance(at, own), { free: ENDOWMENT, reserved: 0n });
	assert.deepEqual(await balance(at, rich), { free: before.free - ENDOWMENT - fee, reserved: before.reserved });
	const moved = events.find((event) => api.events.balances.Transfer.is(event));
	assert.deepEqual(moved.data.map(String), [rich.address, own.address, ENDOWMENT.toString()]);
	return `fee ${fee} planck`;
}

/** What the client registers as a provider. */
export function registration({ worker, peer }) {
	const hardware = { gflops: HARDWARE.gflops, memoryMib: HARDWARE.memory, bandwidthKibS: HARDWARE.bandwidth };
	return {
		roles: WORKER,
		hardware,
		ponwKey: u8aToHex(worker.publicKey),
		peerId: u8aToHex(peerId(peer.publicKey)),
		addresses: [u8aToHex(ADDRESS)],
	};
}

/** Registers with a bond, bonds more, and takes a part out again. */
export async function bond(chain) {
	const { api, own } = chain;
	const { staking } = api.tx;
	const calls = [
		[staking.register(registration(chain), BOND), BOND, BOND],
		[staking.bondExtra(EXTRA), EXTRA, BOND + EXTRA],
		[staking.unbond(UNBONDED), 0n, BOND + EXTRA],
	];
	let unbonded;
	for (const [call, taken, bonded] of calls) {
		const before = await balance(api, own);
		const { at, fee, number } = await succeed(chain, call, own);
		assert.deepEqual(await balance(at, own), { free: before.free - taken - fee, reserved: bonded });
		assert.equal(await held(at, own, "Staking", "Bond"), bonded);
		unbonded = number;
	}
	const [, cooldown] = await view(api, "Staking", "limits");
	const provider = (await view(api, "Staking", "provider", own.address)).unwrap();
	assert.equal(provider.bonded.toBigInt(), BOND + EXTRA - UNBONDED);
	assert.deepEqual(
		provider.unbonding.map(({ amount, unlocksAt }) => [amount.toBigInt(), unlocksAt.toNumber()]),
		[[UNBONDED, unbonded + cooldown.toNumber()]],
	);
	assert.equal(provider.info.ponwKey.toHex(), registration(chain).ponwKey);
	return `${BOND + EXTRA} planck held`;
}

/** Answers the challenge of a new provider, and proves that it is up: a proof signed outside of our worker. */
export async function prove(chain) {
	const { api, own } = chain;
	const provider = async () => (await view(api, "Staking", "provider", own.address)).unwrap();
	const { challenge } = (await provider()).status.asUnproven;
	const digest = await api.call.kernelsApi.drawnAnswer(challenge);
	await succeed(chain, api.tx.staking.proveArithmetic(digest), own);
	assert.ok((await provider()).status.isActive);

	const timestamp = (await api.query.timestamp.now()).toNumber();
	const call = api.tx.ponw.submitUptime;
	const key = { run: Math.floor(timestamp / 3_600_000), round: 0, kind: "Uptime" };
	const [proofType] = call.meta.args.map(({ type }) => type);
	const proof = api.registry.createType(proofType, { key, timestamp, workHash: new Uint8Array(32) });
	const proven = call(proof, signed(chain, proof));
	assert.equal((await view(api, "Ponw", "rate", own.address)).used.toNumber(), 0);
	const { events } = await succeed(chain, proven, own);
	assert.ok(events.some((event) => api.events.ponw.Up.is(event) && event.data[0].eq(own.address)));
	assert.equal((await view(api, "Ponw", "rate", own.address)).used.toNumber(), 1);
	const { error } = await send(chain, proven, own);
	assert.equal(error.name, "ponw.AlreadyProven");
}
