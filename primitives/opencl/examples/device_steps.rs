//! Training steps on a device beside those of this machine's processor, in turn and compared bit for bit. `scripts/bench-device.sh` runs it.
//!
//!     device_steps DEVICE STEPS DIM LAYERS HEADS FFN VOCAB BATCH SEQ

use neuroshard_compute::exec::{Arena, Backend, Exec, Trainer};
use neuroshard_graph::{
	config::{ModelConfig, TrainConfig},
	init::theta_0,
};
use neuroshard_opencl::{devices, OpenCl};
use std::{
	error::Error,
	sync::Arc,
	time::{Duration, Instant},
};

/// Time of a step, and the bits of its loss.
fn step<B: Backend>(trainer: &mut Trainer<B>, arena: &mut B::Arena, tokens: &[u32], step: u64) -> Result<(Duration, u32), Box<dyn Error>> {
	let begun = Instant::now();
	let outcome = trainer.train_step(arena, tokens, step, step + 1)?;
	Ok((begun.elapsed(), outcome.loss.to_bits()))
}

fn main() -> Result<(), Box<dyn Error>> {
	let numbers: Vec<u32> = std::env::args().skip(1).map(|number| number.parse()).collect::<Result<_, _>>()?;
	let [device, steps, dim, layers, heads, ffn, vocab, batch, seq_len] = numbers[..] else {
		return Err("device_steps DEVICE STEPS DIM LAYERS HEADS FFN VOCAB BATCH SEQ".into());
	};
	let model = ModelConfig { vocab, dim, layers, heads, kv_heads: heads, ffn, max_seq: seq_len, ..ModelConfig::tiny() };
	let train = TrainConfig { batch, seq_len, ..TrainConfig::tiny() };
	let number = usize::try_from(device)?;
	let found = devices()?.into_iter().nth(number).ok_or("no such device")?;
	let threads = std::thread::available_parallelism()?.get();
	let exec = Arc::new(Exec::new(threads)?);
	let device = Arc::new(OpenCl::on(&found, exec.clone())?);
	let begun = Instant::now();
	device.verify()?;
	println!("{} ({}), verified in {:.1} s; CPU with {threads} threads", found.name, found.driver, begun.elapsed().as_secs_f64());
	let (mut here, mut there) = (Trainer::new(exec, &model, &train)?, Trainer::new(device.clone(), &model, &train)?);
	let (mut near, mut far) = (Arena::new(here.arena_len()), device.arena(there.arena_len())?);
	let theta = theta_0(&model, here.layout(), &train.seed);
	here.begin(&mut near, &theta);
	there.begin(&mut far, &theta);
	let tokens: Vec<u32> = (0..batch * (seq_len + 1)).map(|place| place * 7_919 % 1_009 % vocab).collect();
	let mut times = [Vec::new(), Vec::new()];
	for number in 0..=u64::from(steps) {
		let (near, one) = step(&mut here, &mut near, &tokens, number)?;
		let (far, other) = step(&mut there, &mut far, &tokens, number)?;
		if one != other {
			return Err(format!("step {number} has another loss on the device").into());
		}
		// The first warms up.
		if number > 0 {
			times[0].push(near);
			times[1].push(far);
		}
	}
	let (one, other) = (here.state(&near).map(|vector| vector.into_owned()), there.state(&far).map(|vector| vector.into_owned()));
	let equal = one.iter().flatten().zip(other.iter().flatten()).all(|(one, other)| one.to_bits() == other.to_bits());
	if !equal {
		return Err("parameters or moments differ on the device".into());
	}
	let tokens_per_step = f64::from(batch * seq_len);
	println!("{} parameters, {tokens_per_step} tokens a step, {steps} steps: equal losses, parameters and moments", model.parameters());
	let mut rates = Vec::new();
	for (name, times) in ["CPU", "device"].into_iter().zip(&mut times) {
		times.sort();
		let (median, least, most) = (times[times.len() / 2], times[0], times[times.len() - 1]);
		rates.push(tokens_per_step / median.as_secs_f64());
		let ms = |time: Duration| 1e3 * time.as_secs_f64();
		println!("{name}: {:.0} tokens/s, {:.1} ms a step ({:.1} to {:.1})", rates[rates.len() - 1], ms(median), ms(least), ms(most));
	}
	println!("device / CPU: {:.2}", rates[1] / rates[0]);
	Ok(())
}
