// Runs what a client shows, step by step, and ends the process with a code.

/**
 * Longest time for all steps of one client, in seconds: what the environment says, where somebody knows how slow this machine is. Each wait is for an event of
 * the chain; this bounds their sum.
 */
const LIMIT = Number(process.env.CLIENT_SECONDS ?? 480);

/**
 * Connects to the node that the command line names, runs the steps in their order, and exits: with 0 if all of them passed.
 *
 * @param connect  from a WebSocket address to a chain, an object with `close`
 * @param steps    pairs of what is shown and the function of the chain that shows it; what it returns is printed
 */
export async function run(connect, steps) {
	const [url] = process.argv.slice(2);
	if (!url) {
		console.error("Which node? Give its WebSocket address: node main.mjs ws://127.0.0.1:9944");
		process.exit(2);
	}
	let current = "connects";
	const fail = (error) => {
		console.error(`FAILED: ${current}\n`, error);
		process.exit(1);
	};
	process.on("unhandledRejection", fail);
	setTimeout(() => fail(new Error(`not done after ${LIMIT} seconds`)), LIMIT * 1_000);
	try {
		const chain = await connect(url);
		for (const [what, show] of steps) {
			current = what;
			const began = performance.now();
			const shown = await show(chain);
			console.log(`ok: ${what}${shown ? ` (${shown})` : ""}, ${((performance.now() - began) / 1_000).toFixed(1)} s`);
		}
		await chain.close();
	} catch (error) {
		fail(error);
	}
	process.exit(0);
}
