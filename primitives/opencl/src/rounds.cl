// How rounds begin and end: deltas, their codes, aggregation and the outer step.

// `x = base - end`, or with a residual in `x`: `fma(decay, x, base - end)`.
EACH void delta(__global float *arena, __global const float *base, ulong end, ulong x, uint residual, float decay, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	float difference = base[i] - arena[end + i];
	arena[x + i] = residual ? fma(decay, arena[x + i], difference) : difference;
}

EACH void find_infinite(__global const float *arena, ulong x, __global uint *found, ulong items) {
	WITHIN(items);
	if ((as_uint(arena[x + get_global_id(0)]) & 0x7f800000u) == 0x7f800000u)
		atomic_or(found, 1u);
}

// ---- Codes. A group of 32 work-items has a tile of 32 columns, of a part of a tensor with so many rows. What is beyond its last row is 0.

#define CODE_LANES 32
#define CODED (32 * CODE_LANES)
// The largest numbers of a tile that its code holds.
#define MOST_HELD 157

// Element of the tensor at which the tile of this group begins.
ulong tile_begin(ulong x, uint cols, uint *top) {
	uint across = cols / 32, tile = get_group_id(0);
	*top = tile / across * 32;
	return x + (ulong)*top * cols + tile % across * 32;
}

// Four numbers in each of the code, behind those of all tiles their scales.
__kernel __attribute__((reqd_work_group_size(CODE_LANES, 1, 1))) void encode_int8(__global const float *arena, ulong x, uint rows, uint cols,
	__global uint *codes) {
	__local uint most[CODE_LANES];
	uint item = get_local_id(0), top, here = 0;
	ulong begin = tile_begin(x, cols, &top);
	for (uint row = 0; row < 32 && top + row < rows; row++) {
		uint magnitude = as_uint(arena[begin + (ulong)row * cols + item]) & 0x7fffffffu;
		// A NaN is no magnitude.
		here = magnitude > 0x7f800000u ? here : max(here, magnitude);
	}
	most[item] = here;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = 0; i < CODE_LANES; i++)
		here = max(here, most[i]);
	float scale = as_float(here) / 126.0f;
	for (uint n = item; n < CODED / 4; n += CODE_LANES) {
		uint word = 0;
		for (uint place = 0; place < 4; place++) {
			uint row = n / 8, column = n % 8 * 4 + place;
			float value = top + row < rows ? arena[begin + (ulong)row * cols + column] : 0.0f;
			float steps = scale > 0.0f ? fabs(value) / scale + 0.5f : 0.0f;
			// A NaN has the largest.
			uint byte = steps < 126.0f ? (uint)steps : 126u;
			word |= (byte > 0 && value < 0.0f ? byte | 0x80u : byte) << (8 * place);
		}
		codes[(ulong)get_group_id(0) * (CODED / 4) + n] = word;
	}
	if (item == 0)
		codes[(ulong)get_num_groups(0) * (CODED / 4) + get_group_id(0)] = as_uint(scale);
}

__kernel __attribute__((reqd_work_group_size(CODE_LANES, 1, 1))) void decode_int8(__global const uint *codes, __global float *out, uint rows, uint cols) {
	uint item = get_local_id(0), top;
	ulong begin = tile_begin(0, cols, &top);
	float scale = as_float(codes[(ulong)get_num_groups(0) * (CODED / 4) + get_group_id(0)]);
	for (uint row = 0; row < 32 && top + row < rows; row++) {
		uint byte = codes[(ulong)get_group_id(0) * (CODED / 4) + row * 8 + item / 4] >> (8 * (item % 4)) & 0xffu;
		float value = (float)(byte & 0x7fu) * scale;
		out[begin + (ulong)row * cols + item] = byte & 0x80u ? -value : value;
	}
}

// Column `column` of the tile with these coefficients.
void from_cosines(__local const float *coefficients, uint column, float *out) {
	for (uint row = 0; row < 32; row++)
		out[row] = 0.0f;
	for (uint k = 0; k < 32; k++) {
		float line = 0.0f;
		bool any = false;
		for (uint l = 0; l < 32; l++) {
			float value = coefficients[k * 32 + l];
			if (value != 0.0f) {
				line = line + value * as_float(COSINES[l * 32 + column]);
				any = true;
			}
		}
		if (any)
			for (uint row = 0; row < 32; row++)
				out[row] = out[row] + as_float(COSINES[k * 32 + row]) * line;
	}
}

// Column `column` of what a tile stands for that holds what its code says.
void said(__local const float *tile, uint cosine, uint column, float *out) {
	if (cosine)
		from_cosines(tile, column, out);
	else
		for (uint row = 0; row < 32; row++)
			out[row] = tile[row * 32 + column];
}

uint magnitude_of(float x) { return canon_bits(x) & 0x7fffffffu; }

// The mean of magnitudes with the bits of a level.
uint level(float sum, uint count) { return (canon_bits(count == 0 ? 0.0f : sum / (float)count) + 0x8000u) >> 16; }

uint held_numbers(uint numbers) { return (numbers - 1) * 30 / 12; }

float level_value(uint entry, uint low, uint high) {
	float value = as_float((entry >> 10 & 1u ? high : low) << 16);
	return entry >> 11 ? -value : value;
}

// Leaves in the tensor what the code does not say.
__kernel __attribute__((reqd_work_group_size(CODE_LANES, 1, 1))) void encode_top(__global float *arena, ulong x, uint rows, uint cols, __global uint *codes,
	uint numbers, uint cosine) {
	__local float tile[CODED], columns[CODED];
	__local uint entries[MOST_HELD];
	__local ushort places[MOST_HELD], larger[CODE_LANES], equal[CODE_LANES];
	__local uint count, levels[2];
	const uint item = get_local_id(0), most = held_numbers(numbers);
	uint top;
	const ulong begin = tile_begin(x, cols, &top);
	for (uint row = 0; row < 32; row++)
		tile[row * 32 + item] = top + row < rows ? arena[begin + (ulong)row * cols + item] : 0.0f;
	if (cosine) {
		for (uint k = 0; k < 32; k++) {
			float sum = 0.0f;
			for (uint n = 0; n < 32; n++)
				sum = sum + as_float(COSINES[k * 32 + n]) * tile[n * 32 + item];
			columns[k * 32 + item] = sum;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint k = 0; k < 32; k++) {
			float sum = 0.0f;
			for (uint n = 0; n < 32; n++)
				sum = sum + columns[k * 32 + n] * as_float(COSINES[item * 32 + n]);
			tile[k * 32 + item] = sum;
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	// The magnitude of the last one that is held; 0 if there are not so many.
	uint last = 0;
	for (int bit = 30; bit >= 0; bit--) {
		uint least = last | 1u << bit, here = 0;
		if (item == 0)
			count = 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint column = 0; column < 32; column++)
			here += magnitude_of(tile[item * 32 + column]) >= least;
		atomic_add(&count, here);
		barrier(CLK_LOCAL_MEM_FENCE);
		if (count >= most)
			last = least;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	// A work-item has a row, whose places follow each other.
	uint above = 0, same = 0;
	for (uint column = 0; column < 32; column++) {
		uint magnitude = magnitude_of(tile[item * 32 + column]);
		above += magnitude > last;
		same += last > 0 && magnitude == last;
	}
	larger[item] = above, equal[item] = same;
	barrier(CLK_LOCAL_MEM_FENCE);
	uint larger_before = 0, equal_before = 0, larger_in_all = 0, equal_in_all = 0;
	for (uint i = 0; i < CODE_LANES; i++) {
		if (i == item)
			larger_before = larger_in_all, equal_before = equal_in_all;
		larger_in_all += larger[i], equal_in_all += equal[i];
	}
	// Of equal ones those that come first.
	const uint left = most - larger_in_all, held = larger_in_all + min(equal_in_all, left);
	uint next = larger_before + min(equal_before, left);
	for (uint column = 0; column < 32; column++) {
		uint magnitude = magnitude_of(tile[item * 32 + column]);
		bool is_equal = last > 0 && magnitude == last;
		if (magnitude > last || (is_equal && equal_before < left))
			places[next++] = item * 32 + column;
		equal_before += is_equal;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item == 0) {
		__global uint *code = codes + (ulong)get_group_id(0) * numbers;
		float sum = 0.0f, high_sum = 0.0f, low_sum = 0.0f;
		for (uint i = 0; i < held; i++)
			sum = sum + fabs(tile[places[i]]);
		const float mean = held == 0 ? 0.0f : sum / (float)held;
		uint highs = 0, lows = 0;
		for (uint i = 0; i < held; i++) {
			float magnitude = fabs(tile[places[i]]);
			if (magnitude > mean)
				high_sum = high_sum + magnitude, highs++;
			else if (magnitude <= mean)
				low_sum = low_sum + magnitude, lows++;
		}
		const uint high = level(high_sum, highs), low = level(low_sum, lows);
		code[0] = high << 15 | low;
		uint entry = 0, at = 1, bits = 0;
		ulong waiting = 0;
		for (uint i = 0; i < most; i++) {
			if (i < held) {
				float value = tile[places[i]];
				entry = places[i] | (fabs(value) > mean ? 1u << 10 : 0u) | (value < 0.0f ? 1u << 11 : 0u);
			}
			entries[i] = entry;
			waiting |= (ulong)entry << bits;
			bits += 12;
			if (bits >= 30) {
				code[at++] = (uint)waiting & 0x3fffffffu;
				waiting >>= 30;
				bits -= 30;
			}
		}
		if (bits > 0 && at < numbers)
			code[at++] = (uint)waiting;
		while (at < numbers)
			code[at++] = 0;
		levels[0] = low, levels[1] = high;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint row = 0; row < 32; row++)
		tile[row * 32 + item] = 0.0f;
	barrier(CLK_LOCAL_MEM_FENCE);
	// They are at different places, or the same.
	for (uint i = item; i < most; i += CODE_LANES)
		if (i == 0 || entries[i] != entries[i - 1])
			tile[entries[i] & 0x3ffu] = level_value(entries[i], levels[0], levels[1]);
	barrier(CLK_LOCAL_MEM_FENCE);
	float out[32];
	said(tile, cosine, item, out);
	for (uint row = 0; row < 32 && top + row < rows; row++) {
		ulong at = begin + (ulong)row * cols + item;
		arena[at] = arena[at] - out[row];
	}
}

__kernel __attribute__((reqd_work_group_size(CODE_LANES, 1, 1))) void decode_top(__global const uint *codes, __global float *to, uint rows, uint cols,
	uint numbers, uint cosine) {
	__local float tile[CODED];
	const uint item = get_local_id(0);
	uint top;
	const ulong begin = tile_begin(0, cols, &top);
	for (uint row = 0; row < 32; row++)
		tile[row * 32 + item] = 0.0f;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item == 0) {
		__global const uint *code = codes + (ulong)get_group_id(0) * numbers;
		const uint low = code[0] & 0x7fffu, high = code[0] >> 15 & 0x7fffu;
		ulong waiting = 0;
		uint bits = 0, at = 1;
		for (uint i = 0; i < held_numbers(numbers); i++) {
			if (bits < 12) {
				waiting |= (ulong)(at < numbers ? code[at] & 0x3fffffffu : 0u) << bits;
				at++;
				bits += 30;
			}
			uint entry = (uint)waiting & 0xfffu;
			waiting >>= 12;
			bits -= 12;
			// Of entries at one place the last counts.
			tile[entry & 0x3ffu] = level_value(entry, low, high);
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	float out[32];
	said(tile, cosine, item, out);
	for (uint row = 0; row < 32 && top + row < rows; row++)
		to[begin + (ulong)row * cols + item] = out[row];
}

// ---- Aggregation.

// Squared distances of tiles, of which each vector has `tiles` in a row: work-item rows are tiles, pairs follow. From zero for `norms`.
__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void tile_distances(__global const float *values, __global const float *factors,
	__global float *distances, uint norms) {
	__local float lanes[LANES];
	const size_t tile = get_group_id(0), tiles = get_num_groups(0), row = get_global_id(1), col = get_global_id(2), lane = get_local_id(0);
	if (!norms && row >= col)
		return;
	__global const float *a = values + (row * tiles + tile) * 1024, *b = values + (col * tiles + tile) * 1024;
	float sum = 0.0f;
	for (uint e = lane; e < 1024; e += LANES) {
		float difference = norms ? factors[col] * b[e] : factors[row] * a[e] - factors[col] * b[e];
		sum = fma(difference, difference, sum);
	}
	lanes[lane] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane == 0)
		distances[(row * get_global_size(2) + col) * tiles + tile] = finish(lanes);
}

#define MEAN 0
#define TRIMMED_MEAN 1

// A window of parameters, momentum, and one delta after the other, with `len` numbers of each.
EACH void outer_step(__global float *window, __global const float *weights, uint len, uint deltas, uint way, uint trim, float rate, float beta, ulong items) {
	WITHIN(items);
	const size_t i = get_global_id(0);
	__global const float *x = window + 2 * (size_t)len + i;
	float g = 0.0f;
	if (way == MEAN) {
		for (uint n = 0; n < deltas; n++)
			g = g + x[n * (size_t)len];
		g = g / (float)deltas;
	} else if (way == TRIMMED_MEAN) {
		// Keys stand where the values were, sorted.
		__global int *keys = (__global int *)window + 2 * (size_t)len + i;
		for (uint n = 0; n < deltas; n++) {
			int key = order_key(weights[n] * as_float(keys[n * (size_t)len]));
			uint at = n;
			for (; at > 0 && keys[(at - 1) * (size_t)len] > key; at--)
				keys[at * (size_t)len] = keys[(at - 1) * (size_t)len];
			keys[at * (size_t)len] = key;
		}
		for (uint n = trim; n < deltas - trim; n++)
			g = g + from_order_key(keys[n * (size_t)len]);
		g = g / (float)(deltas - 2 * trim);
	} else
		for (uint n = 0; n < deltas; n++)
			g = fma(weights[n], x[n * (size_t)len], g);
	float momentum = fma(beta, window[len + i], g);
	window[len + i] = momentum;
	window[i] = fma(-rate, fma(beta, momentum, g), window[i]);
}
