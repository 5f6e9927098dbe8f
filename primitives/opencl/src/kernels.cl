// The operators of the exact arithmetic (docs/spec/arithmetic.md) on an arena of floats. Every number takes the same operations in the same order as in
// neuroshard_kernels::scalar; constants come from there, in front of this text. What work-items share is sums that are complete, never partial ones of one
// chain.
//
// Offsets are elements of the arena, or of the memory that stands before them. Groups have 16 work-items where each has a lane of a sum, 64 where they share a
// row of attention, and 16 x 16 in products.

#pragma OPENCL FP_CONTRACT OFF

#define LANES 16
#define NONE 0xffffffffu

uint canon_bits(float x) {
	uint bits = as_uint(x), magnitude = bits & 0x7fffffffu;
	return magnitude == 0 ? 0u : magnitude > 0x7f800000u ? 0x7fc00000u : bits;
}

int flip(int bits) { return bits ^ (int)((uint)(bits >> 31) >> 1); }

int order_key(float x) { return flip((int)canon_bits(x)); }

float from_order_key(int key) { return as_float(flip(key)); }

bool is_nan(float x) { return (as_uint(x) & 0x7fffffffu) > 0x7f800000u; }

float exact_exp(float x) {
	if (is_nan(x))
		return as_float(0x7fc00000u);
	if (x < EXP_LO)
		return 0.0f;
	x = x > EXP_HI ? EXP_HI : x;
	float shifted = fma(x, LOG2_E, ROUND);
	float n = shifted - ROUND;
	float r = fma(n, -LN2_LO, fma(n, -LN2_HI, x));
	float q = EXP_POLY_0;
	q = fma(q, r, EXP_POLY_1);
	q = fma(q, r, EXP_POLY_2);
	q = fma(q, r, EXP_POLY_3);
	q = fma(q, r, EXP_POLY_4);
	float y = 1.0f + fma(r * r, q, r);
	return as_float(as_uint(y) + ((as_uint(shifted) - as_uint(ROUND)) << 23));
}

float exact_ln(float x) {
	if (is_nan(x) || x < 0.0f)
		return as_float(0x7fc00000u);
	if (x == 0.0f)
		return as_float(0xff800000u);
	if (as_uint(x) == 0x7f800000u)
		return x;
	bool subnormal = x < as_float(0x00800000u);
	float scaled = subnormal ? x * 8388608.0f : x;
	uint offset = as_uint(scaled) - SQRT_HALF_BITS;
	int exponent = ((int)offset >> 23) + (subnormal ? -23 : 0);
	float f = as_float((offset & 0x007fffffu) + SQRT_HALF_BITS) - 1.0f;
	float e = (float)exponent, f2 = f * f;
	float q = LN_POLY_0;
	q = fma(q, f, LN_POLY_1);
	q = fma(q, f, LN_POLY_2);
	q = fma(q, f, LN_POLY_3);
	q = fma(q, f, LN_POLY_4);
	q = fma(q, f, LN_POLY_5);
	q = fma(q, f, LN_POLY_6);
	q = fma(q, f, LN_POLY_7);
	q = fma(q, f, LN_POLY_8);
	float tail = f2 * f * q;
	tail = fma(e, LN2_LO, tail);
	tail = fma(-0.5f, f2, tail);
	return fma(e, LN2_HI, f + tail);
}

float sigmoid(float x) { return 1.0f / (1.0f + exact_exp(-x)); }

// The sum of the lanes: l + 8, l + 4, l + 2, l + 1.
float finish(__local const float *l) {
	float a[8], b[4];
	for (int i = 0; i < 8; i++)
		a[i] = l[i] + l[i + 8];
	for (int i = 0; i < 4; i++)
		b[i] = a[i] + a[i + 4];
	return (b[0] + b[2]) + (b[1] + b[3]);
}

// A work-item for each of so many elements or columns, in groups of which the last may have more work-items than there are. So groups have one size, whatever
// the number of elements: a driver that chooses it takes a divisor of that number, of which a prime one has none, and pocl compiles a kernel for each.
#define EACH __kernel __attribute__((reqd_work_group_size(64, 1, 1)))
#define WITHIN(items) \
	if (get_global_id(0) >= (items)) \
		return

// ---- Elements.

EACH void fill(__global float *arena, ulong x, float value, ulong items) {
	WITHIN(items);
	arena[x + get_global_id(0)] = value;
}

EACH void copy(__global float *arena, ulong from, ulong to, ulong items) {
	WITHIN(items);
	arena[to + get_global_id(0)] = arena[from + get_global_id(0)];
}

EACH void scale(__global float *arena, ulong x, float factor, ulong items) {
	WITHIN(items);
	ulong i = x + get_global_id(0);
	arena[i] = arena[i] * factor;
}

EACH void add_assign(__global float *arena, ulong x, ulong y, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	arena[x + i] = arena[x + i] + arena[y + i];
}

EACH void add_bias(__global float *arena, ulong x, ulong b, uint cols, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	arena[x + i] = arena[x + i] + arena[b + i % cols];
}

EACH void swiglu_forward(__global float *arena, ulong gate, ulong up, ulong h, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	float g = arena[gate + i];
	arena[h + i] = (g * sigmoid(g)) * arena[up + i];
}

EACH void swiglu_backward(__global float *arena, ulong dh, ulong gate, ulong up, ulong d_gate, ulong d_up, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	float d = arena[dh + i], g = arena[gate + i], u = arena[up + i];
	float s = sigmoid(g);
	arena[d_up + i] = d * (g * s);
	arena[d_gate + i] = (d * u) * (s * fma(g, 1.0f - s, 1.0f));
}

EACH void adamw(__global float *arena, ulong p, ulong m, ulong v, ulong g, float lr, float beta1, float complement1, float beta2, float complement2,
	float correction1, float correction2, float eps, float decay, float clip, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	float d = arena[g + i] * clip;
	float first = fma(beta1, arena[m + i], complement1 * d);
	float second = fma(beta2, arena[v + i], (complement2 * d) * d);
	float u = (first * correction1) / (sqrt(second * correction2) + eps);
	arena[m + i] = first;
	arena[v + i] = second;
	arena[p + i] = fma(-lr, u, arena[p + i] * decay);
}

EACH void muon_direction(__global float *arena, ulong m, ulong g, ulong u, float momentum, float clip, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	float d = arena[g + i] * clip;
	arena[u + i] = fma(momentum, fma(momentum, arena[m + i], d), d);
}

EACH void muon_normalize(__global float *arena, ulong x, ulong sum_squares, ulong items) {
	WITHIN(items);
	ulong i = x + get_global_id(0);
	arena[i] = arena[i] / (sqrt(arena[sum_squares]) + MUON_EPS);
}

EACH void muon_polynomial(__global float *arena, ulong a, ulong aa, uint n, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	float sum = fma(MUON_STEP_2, arena[aa + i], MUON_STEP_1 * arena[a + i]);
	arena[aa + i] = i / n == i % n ? sum + MUON_STEP_0 : sum;
}

EACH void muon(__global float *arena, ulong p, ulong m, ulong g, ulong x, float rate, float momentum, float decay, float clip, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	arena[m + i] = fma(momentum, arena[m + i], arena[g + i] * clip);
	arena[p + i] = fma(-rate, arena[x + i], arena[p + i] * decay);
}

EACH void rope(__global float *arena, ulong x, __global const float *cosines, __global const float *sines, uint seq, uint heads, uint half_dim,
	uint back, ulong items) {
	WITHIN(items);
	size_t n = get_global_id(0);
	uint i = n % half_dim;
	size_t head = n / half_dim, t = head / heads % seq;
	ulong first = x + head * 2 * half_dim + i, second = first + half_dim;
	float a = arena[first], b = arena[second], c = cosines[t * half_dim + i], s = sines[t * half_dim + i];
	arena[first] = fma(a, c, back ? b * s : -(b * s));
	arena[second] = fma(b, c, back ? -(a * s) : a * s);
}

// ---- Tokens.

EACH void gather(__global float *arena, __global const float *from, ulong table, __global const uint *ids, ulong out, uint dim, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	arena[out + i] = from[table + (ulong)ids[i / dim] * dim + i % dim];
}

// `order` has the tokens by their ids, those of one id ascending; those of the id of work-item row `j` begin at `starts[j]`.
EACH void scatter_add(__global float *arena, ulong dy, __global const uint *ids, __global const uint *order, __global const uint *starts, ulong grad,
	uint dim, ulong items) {
	WITHIN(items);
	size_t column = get_global_id(0), j = get_global_id(1);
	ulong at = grad + (ulong)ids[order[starts[j]]] * dim + column;
	float sum = arena[at];
	for (uint n = starts[j]; n < starts[j + 1]; n++)
		sum = sum + arena[dy + (ulong)order[n] * dim + column];
	arena[at] = sum;
}

EACH void count_targets(__global float *arena, __global const uint *targets, ulong out, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	arena[out + i] = targets[i] == NONE ? 0.0f : 1.0f;
}

// ---- Rows, by groups of 16 work-items: each has a lane.

__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void rms_stats(__global float *arena, ulong x, ulong r, uint dim, float eps) {
	__local float lanes[LANES];
	size_t row = get_group_id(0), lane = get_local_id(0);
	float sum = 0.0f;
	for (uint e = lane; e < dim; e += LANES) {
		float value = arena[x + row * dim + e];
		sum = fma(value, value, sum);
	}
	lanes[lane] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane == 0)
		arena[r + row] = 1.0f / sqrt(finish(lanes) / (float)dim + eps);
}

EACH void rms_apply(__global float *arena, ulong x, ulong r, ulong w, ulong y, uint dim, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	arena[y + i] = (arena[x + i] * arena[r + i / dim]) * arena[w + i % dim];
}

__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void rms_backward_stats(__global float *arena, ulong dy, ulong x, ulong w, ulong r, ulong k, uint dim) {
	__local float lanes[LANES];
	size_t row = get_group_id(0), lane = get_local_id(0);
	float sum = 0.0f;
	for (uint e = lane; e < dim; e += LANES)
		sum = fma(arena[dy + row * dim + e] * arena[w + e], arena[x + row * dim + e], sum);
	lanes[lane] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane == 0) {
		float f = arena[r + row];
		arena[k + row] = (finish(lanes) / (float)dim) * ((f * f) * f);
	}
}

EACH void rms_backward_apply(__global float *arena, ulong dy, ulong x, ulong w, ulong r, ulong k, ulong dx, uint dim, uint existing, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0), row = i / dim;
	float g = fma(-arena[x + i], arena[k + row], (arena[dy + i] * arena[w + i % dim]) * arena[r + row]);
	arena[dx + i] = existing ? arena[dx + i] + g : g;
}

// A work-item is a column of a head: groups of 32 rows, in each the heads ascending, for each the rows ascending.
EACH void rms_weight_grad(__global float *arena, ulong dy, ulong x, ulong r, ulong dw, uint rows, uint heads, uint dim, uint existing, ulong items) {
	WITHIN(items);
	size_t column = get_global_id(0);
	float sum = existing ? arena[dw + column] : 0.0f;
	for (uint first = 0; first < rows; first += 32)
		for (uint head = 0; head < heads; head++)
			for (uint row = first; row < min(first + 32, rows); row++) {
				ulong at = (ulong)row * heads + head;
				sum = fma(arena[dy + at * dim + column], arena[x + at * dim + column] * arena[r + at], sum);
			}
	arena[dw + column] = sum;
}

EACH void column_sums(__global float *arena, ulong dy, ulong db, uint rows, uint cols, uint existing, ulong items) {
	WITHIN(items);
	size_t column = get_global_id(0);
	float sum = existing ? arena[db + column] : 0.0f;
	for (uint row = 0; row < rows; row++)
		sum = sum + arena[dy + (ulong)row * cols + column];
	arena[db + column] = sum;
}

__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void cross_entropy_stats(__global float *arena, ulong logits, ulong most, ulong sum, uint vocab) {
	__local float lanes[LANES];
	__local int keys[LANES];
	size_t row = get_group_id(0), lane = get_local_id(0);
	__global const float *l = arena + logits + row * vocab;
	int key = INT_MIN;
	for (uint e = lane; e < vocab; e += LANES)
		key = max(key, order_key(l[e]));
	keys[lane] = key;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = 0; i < LANES; i++)
		key = max(key, keys[i]);
	float highest = from_order_key(key), total = 0.0f;
	for (uint e = lane; e < vocab; e += LANES)
		total = total + exact_exp(l[e] - highest);
	lanes[lane] = total;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane == 0) {
		arena[most + row] = highest;
		arena[sum + row] = finish(lanes);
	}
}

EACH void cross_entropy_loss(__global float *arena, ulong logits, __global const uint *targets, ulong most, ulong sum, ulong loss, uint vocab, ulong items) {
	WITHIN(items);
	size_t row = get_global_id(0);
	uint target = targets[row];
	arena[loss + row] = target == NONE ? 0.0f : (arena[most + row] + exact_ln(arena[sum + row])) - arena[logits + row * vocab + target];
}

EACH void cross_entropy_backward(__global float *arena, ulong logits, __global const uint *targets, ulong most, ulong sum, uint vocab,
	float inverse_count, ulong items) {
	WITHIN(items);
	size_t e = get_global_id(0), row = get_global_id(1);
	uint target = targets[row];
	ulong at = logits + row * vocab + e;
	if (target == NONE) {
		arena[at] = 0.0f;
		return;
	}
	float p = exact_exp(arena[at] - arena[most + row]) * (1.0f / arena[sum + row]);
	arena[at] = (e == target ? p - 1.0f : p) * inverse_count;
}

// ---- Tiles and trees, by groups of 16 work-items.

__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void tile_sums(__global float *arena, ulong x, ulong partials, uint rows, uint cols, uint squares) {
	__local float lanes[LANES];
	size_t tile = get_group_id(0), lane = get_local_id(0);
	uint across = (cols + 31) / 32;
	uint top = tile / across * 32, left = tile % across * 32, right = min(left + 32, cols);
	float sum = 0.0f;
	for (uint row = top; row < min(top + 32, rows); row++)
		for (uint column = left + lane; column < right; column += LANES) {
			float value = arena[x + (ulong)row * cols + column];
			sum = squares ? fma(value, value, sum) : sum + value;
		}
	lanes[lane] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane == 0)
		arena[partials + tile] = finish(lanes);
}

// Sums of groups of 1,024 values: a level of the tree.
__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void tree_level(__global const float *from, ulong first, uint len, __global float *to, ulong at) {
	__local float lanes[LANES];
	size_t group = get_group_id(0), lane = get_local_id(0);
	uint end = min((uint)(group + 1) * 1024, len);
	float sum = 0.0f;
	for (uint e = group * 1024 + lane; e < end; e += LANES)
		sum = sum + from[first + e];
	lanes[lane] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane == 0)
		to[at + group] = finish(lanes);
}

// ---- Products. A group of 16 x 16 work-items has a tile of outputs, each work-item DOWN x ACROSS of them, 16 apart. Every output takes its factors with k
// ascending, in whatever tile it is; chains over tokens are cut into segments, of which the later ones start from +0 and are added.

#define PRODUCT(NAME, DOWN, ACROSS, DEPTH, A_AT, B_AT, A_ROW_FIRST, B_ROW_FIRST) \
	__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void NAME##_##DOWN##x##ACROSS(__global const float *from_a, ulong a, __global const float *from_b, ulong b, __global float *arena, ulong c, uint m, uint n, uint k, uint segment, uint existing) { \
		__local float left[DEPTH][16 * DOWN + 1], right[DEPTH][16 * ACROSS + 1]; \
		const uint x = get_local_id(0), y = get_local_id(1), id = y * 16 + x; \
		const uint top = get_group_id(1) * 16 * DOWN, side = get_group_id(0) * 16 * ACROSS; \
		float sums[DOWN][ACROSS], all[DOWN][ACROSS]; \
		for (int i = 0; i < DOWN; i++) \
			for (int j = 0; j < ACROSS; j++) { \
				uint row = top + y + 16 * i, column = side + x + 16 * j; \
				all[i][j] = sums[i][j] = existing && row < m && column < n ? arena[c + (ulong)row * n + column] : 0.0f; \
			} \
		for (uint first = 0; first < k; first += segment) { \
			uint end = k - first < segment ? k : first + segment; \
			for (uint at = first; at < end; at += DEPTH) { \
				uint depth = min((uint)DEPTH, end - at); \
				for (uint i = id; i < DEPTH * 16 * DOWN; i += 256) { \
					uint row = A_ROW_FIRST ? i % (16 * DOWN) : i / DEPTH, d = A_ROW_FIRST ? i / (16 * DOWN) : i % DEPTH; \
					uint kk = at + d, r = top + row; \
					left[d][row] = d < depth && r < m ? from_a[a + A_AT] : 0.0f; \
				} \
				for (uint i = id; i < DEPTH * 16 * ACROSS; i += 256) { \
					uint row = B_ROW_FIRST ? i % (16 * ACROSS) : i / DEPTH, d = B_ROW_FIRST ? i / (16 * ACROSS) : i % DEPTH; \
					uint kk = at + d, r = side + row; \
					right[d][row] = d < depth && r < n ? from_b[b + B_AT] : 0.0f; \
				} \
				barrier(CLK_LOCAL_MEM_FENCE); \
				for (uint d = 0; d < depth; d++) { \
					float l[DOWN], r[ACROSS]; \
					for (int i = 0; i < DOWN; i++) \
						l[i] = left[d][y + 16 * i]; \
					for (int j = 0; j < ACROSS; j++) \
						r[j] = right[d][x + 16 * j]; \
					for (int i = 0; i < DOWN; i++) \
						for (int j = 0; j < ACROSS; j++) \
							sums[i][j] = fma(l[i], r[j], sums[i][j]); \
				} \
				barrier(CLK_LOCAL_MEM_FENCE); \
			} \
			for (int i = 0; i < DOWN; i++) \
				for (int j = 0; j < ACROSS; j++) { \
					all[i][j] = first == 0 ? sums[i][j] : all[i][j] + sums[i][j]; \
					sums[i][j] = 0.0f; \
				} \
		} \
		for (int i = 0; i < DOWN; i++) \
			for (int j = 0; j < ACROSS; j++) { \
				uint row = top + y + 16 * i, column = side + x + 16 * j; \
				if (row < m && column < n) \
					arena[c + (ulong)row * n + column] = all[i][j]; \
			} \
	}

#define PRODUCTS(DOWN, ACROSS, DEPTH) \
	PRODUCT(matmul_nt, DOWN, ACROSS, DEPTH, (ulong)r * k + kk, (ulong)r * k + kk, 0, 0) \
	PRODUCT(matmul_nn, DOWN, ACROSS, DEPTH, (ulong)r * k + kk, (ulong)kk * n + r, 0, 1) \
	PRODUCT(matmul_tn, DOWN, ACROSS, DEPTH, (ulong)kk * m + r, (ulong)kk * n + r, 1, 1)

PRODUCTS(4, 4, 16)
#ifdef ALL_TILES
PRODUCTS(1, 4, 16)
PRODUCTS(2, 2, 16)
PRODUCTS(8, 8, 8)
#endif

// ---- Products in 8 bits: a group of 16 x 16 work-items has 64 x 64 outputs, each work-item 4 x 4. A word has four numbers that follow each other in a chain.

#define SIDE 64

#if defined(cl_khr_integer_dot_product) && defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#define dot4(a, b) dot_4x8packed_ss_int(a, b)
#else
int dot4(uint a, uint b) {
	char4 x = as_char4(a), y = as_char4(b);
	return x.s0 * y.s0 + x.s1 * y.s1 + x.s2 * y.s2 + x.s3 * y.s3;
}
#endif

// Of rows that are quantized in groups of 32 numbers: `values` has 32 for each group, `scales` one.

EACH void quantize_rows(__global const float *from, ulong x, __global char *values, __global float *scales, uint k, uint groups, ulong items) {
	WITHIN(items);
	size_t n = get_global_id(0), row = n / groups;
	uint first = n % groups * 32, count = min(32u, k - first);
	ulong at = x + row * k + first;
	uint most = 0;
	for (uint e = 0; e < count; e++)
		most = max(most, as_uint(from[at + e]) & 0x7fffffffu);
	float scale = most < 0x7f800000u ? as_float(most) / 127.0f : as_float(0x7fc00000u);
	scales[n] = scale;
	for (uint e = 0; e < 32; e++) {
		int value = 0;
		if (e < count && scale > 0.0f)
			value = clamp((int)as_uint(from[at + e] / scale + ROUND) - (int)as_uint(ROUND), -127, 127);
		values[n * 32 + e] = (char)value;
	}
}

__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void matmul_int8(__global const uint *a, __global const float *a_scales, __global const uint *b,
	__global const float *b_scales, __global float *arena, ulong c, uint m, uint n, uint groups, uint existing) {
	__local uint left[8][SIDE + 1], right[8][SIDE + 1];
	__local float left_scales[SIDE], right_scales[SIDE];
	const uint x = get_local_id(0), y = get_local_id(1), id = y * 16 + x;
	const uint top = get_group_id(1) * SIDE, side = get_group_id(0) * SIDE;
	float sums[4][4];
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			uint row = top + y + 16 * i, column = side + x + 16 * j;
			sums[i][j] = existing && row < m && column < n ? arena[c + (ulong)row * n + column] : 0.0f;
		}
	for (uint g = 0; g < groups; g++) {
		for (uint i = id; i < 8 * SIDE; i += 256) {
			uint line = i / 8, e = i % 8;
			left[e][line] = top + line < m ? a[((ulong)(top + line) * groups + g) * 8 + e] : 0u;
			right[e][line] = side + line < n ? b[((ulong)(side + line) * groups + g) * 8 + e] : 0u;
		}
		if (id < SIDE) {
			left_scales[id] = top + id < m ? a_scales[(ulong)(top + id) * groups + g] : 0.0f;
			right_scales[id] = side + id < n ? b_scales[(ulong)(side + id) * groups + g] : 0.0f;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		int dots[4][4];
		for (int i = 0; i < 4; i++)
			for (int j = 0; j < 4; j++)
				dots[i][j] = 0;
		for (uint e = 0; e < 8; e++) {
			uint l[4], r[4];
			for (int i = 0; i < 4; i++)
				l[i] = left[e][y + 16 * i], r[i] = right[e][x + 16 * i];
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					dots[i][j] += dot4(l[i], r[j]);
		}
		for (int i = 0; i < 4; i++)
			for (int j = 0; j < 4; j++)
				sums[i][j] = fma(left_scales[y + 16 * i] * right_scales[x + 16 * j], (float)dots[i][j], sums[i][j]);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			uint row = top + y + 16 * i, column = side + x + 16 * j;
			if (row < m && column < n)
				arena[c + (ulong)row * n + column] = sums[i][j];
		}
}

// ---- Products of exact int8. Operands are quantized first: block by block 1,024 numbers of 8 bits, row by row, behind those of all blocks their scales. What
// is beyond an edge is 0.

#define BLOCK 32
#define NUMBERS (BLOCK * BLOCK)

// A group has a block, a work-item a column.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void quantize(__global const float *arena, ulong x, __global float *out, uint rows, uint cols) {
	__local uint most[BLOCK];
	const uint item = get_local_id(0), column = get_group_id(0) * BLOCK + item, top = get_group_id(1) * BLOCK;
	const uint block = get_group_id(1) * get_num_groups(0) + get_group_id(0), blocks = get_num_groups(0) * get_num_groups(1);
	uint here = 0;
	for (uint row = top; row < top + BLOCK && row < rows && column < cols; row++)
		here = max(here, as_uint(arena[x + (ulong)row * cols + column]) & 0x7fffffffu);
	most[item] = here;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = 0; i < BLOCK; i++)
		here = max(here, most[i]);
	bool finite = here < 0x7f800000u;
	uint carried = (here + 0x0001ffffu) >> 23, exponent = carried > 6 ? carried - 6 : 1;
	float inverse = as_float((254 - exponent) << 23);
	__global char *values = (__global char *)out + (ulong)block * NUMBERS;
	for (uint row = 0; row < BLOCK; row++) {
		float number = finite && top + row < rows && column < cols ? arena[x + (ulong)(top + row) * cols + column] : 0.0f;
		values[row * BLOCK + item] = (char)(as_int(number * inverse + ROUND) - as_int(ROUND));
	}
	if (item == 0)
		out[(ulong)blocks * (NUMBERS / 4) + block] = finite ? as_float(exponent << 23) : as_float(0x7fc00000u);
}

// Outputs as in PRODUCT. `turned`: bit 0 if columns of the left operand are its chains, bit 1 of the right one. `segment` is whole blocks, or all of `k`.
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void matmul_blocks(__global float *arena, __global const float *left, __global const float *right, ulong c, uint m, uint n, uint k, uint segment, uint existing, uint turned) {
	__local uint numbers[2][BLOCK / 4][SIDE + 1];
	const uint x = get_local_id(0), y = get_local_id(1), id = y * 16 + x;
	const uint top = get_group_id(1) * SIDE, side = get_group_id(0) * SIDE;
	const uint depth = (k + BLOCK - 1) / BLOCK;
	const uint lines[2] = {(m + BLOCK - 1) / BLOCK, (n + BLOCK - 1) / BLOCK}, begin[2] = {top / BLOCK, side / BLOCK};
	float sums[4][4], all[4][4];
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			uint row = top + y + 16 * i, column = side + x + 16 * j;
			all[i][j] = sums[i][j] = existing && row < m && column < n ? arena[c + (ulong)row * n + column] : 0.0f;
		}
	for (uint first = 0; first < k; first += segment) {
		uint end = k - first < segment ? k : first + segment;
		for (uint at = first / BLOCK; at < (end + BLOCK - 1) / BLOCK; at++) {
			float scales[2][2];
			for (uint operand = 0; operand < 2; operand++) {
				__global const float *from = operand ? right : left;
				bool across = turned >> operand & 1;
				for (uint part = 0; part < 2; part++) {
					uint line = begin[operand] + part, block = across ? at * lines[operand] + line : line * depth + at;
					bool inside = line < lines[operand];
					scales[operand][part] = inside ? from[(ulong)depth * lines[operand] * (NUMBERS / 4) + block] : 0.0f;
					__global const uint *words = (__global const uint *)from + (ulong)block * (NUMBERS / 4);
					__global const uchar *bytes = (__global const uchar *)words;
					// A work-item has a word: a line of the block is a chain, or every fourth row has four numbers of 32 chains.
					uint in_line = across ? id % BLOCK : id / 8, word = across ? id / BLOCK : id % 8, value = 0;
					if (inside && across)
						for (uint i = 0; i < 4; i++)
							value |= (uint)bytes[(word * 4 + i) * BLOCK + in_line] << (8 * i);
					else if (inside)
						value = words[id];
					numbers[operand][word][part * BLOCK + in_line] = value;
				}
			}
			barrier(CLK_LOCAL_MEM_FENCE);
			int dots[4][4] = {{0}};
			for (uint d = 0; d < BLOCK / 4; d++) {
				uint l[4], r[4];
				for (int i = 0; i < 4; i++)
					l[i] = numbers[0][d][y + 16 * i], r[i] = numbers[1][d][x + 16 * i];
				for (int i = 0; i < 4; i++)
					for (int j = 0; j < 4; j++)
						dots[i][j] += dot4(l[i], r[j]);
			}
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					sums[i][j] = fma(scales[0][i / 2] * scales[1][j / 2], (float)dots[i][j], sums[i][j]);
			barrier(CLK_LOCAL_MEM_FENCE);
		}
		for (int i = 0; i < 4; i++)
			for (int j = 0; j < 4; j++) {
				all[i][j] = first == 0 ? sums[i][j] : all[i][j] + sums[i][j];
				sums[i][j] = 0.0f;
			}
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			uint row = top + y + 16 * i, column = side + x + 16 * j;
			if (row < m && column < n)
				arena[c + (ulong)row * n + column] = all[i][j];
		}
}

// ---- Attention. A group has a row: a query of a head. `p` has `seq` numbers for each row of the launch, which begins with row `first`.

// From the scaled products of a query with its keys in `p`, of which this work-item's greatest is `highest`, their softmax.
void softmax(uint keys, int highest, __global float *p, __local float *lanes, __local int *key) {
	uint item = get_local_id(0), items = get_local_size(0);
	atomic_max(key, highest);
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	float most = from_order_key(*key);
	for (uint j = item; j < keys; j += items)
		p[j] = exact_exp(p[j] - most);
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	if (item < LANES) {
		float sum = 0.0f;
		for (uint j = item; j < keys; j += LANES)
			sum = sum + p[j];
		lanes[item] = sum;
	}
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	float inverse = 1.0f / finish(lanes);
	for (uint j = item; j < keys; j += items)
		p[j] = p[j] * inverse;
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

// Softmax of the scaled products of a query with its keys.
void probabilities(__global const float *q, __global const float *k, uint width, uint dim, uint keys, float factor, __global float *p,
	__local float *lanes, __local int *key) {
	uint item = get_local_id(0), items = get_local_size(0);
	if (item == 0)
		*key = INT_MIN;
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	int highest = INT_MIN;
	for (uint j = item; j < keys; j += items) {
		float sum = 0.0f;
		for (uint d = 0; d < dim; d++)
			sum = fma(q[d], k[(ulong)j * width + d], sum);
		p[j] = factor * sum;
		highest = max(highest, order_key(p[j]));
	}
	softmax(keys, highest, p, lanes, key);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void attention_forward(__global float *arena, ulong q, ulong k, ulong v, ulong o, __global float *scratch, ulong first, uint seq, uint heads,
	uint kv_heads, uint dim, float factor) {
	__local float lanes[LANES];
	__local int key;
	ulong row = first + get_group_id(0);
	uint i = row % seq, head = row / seq % heads, keys = i + 1, width = kv_heads * dim;
	ulong batch = row / seq / heads, query = ((batch * seq + i) * heads + head) * dim;
	ulong kv = batch * seq * width + head / (heads / kv_heads) * dim;
	__global float *p = scratch + (row - first) * seq;
	probabilities(arena + q + query, arena + k + kv, width, dim, keys, factor, p, lanes, &key);
	for (uint d = get_local_id(0); d < dim; d += get_local_size(0)) {
		float sum = 0.0f;
		for (uint j = 0; j < keys; j++)
			sum = fma(p[j], arena[v + kv + (ulong)j * width + d], sum);
		arena[o + query + d] = sum;
	}
}

// Gradients of queries. Leaves probabilities and gradients of scores, `seq` numbers for each row of the launch, for those of keys and values.
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void attention_backward_queries(__global float *arena, ulong q, ulong k, ulong v, ulong o, ulong d_o, ulong dq, __global float *scratch,
	__global float *scores, ulong first, uint seq, uint heads, uint kv_heads, uint dim, float factor) {
	__local float lanes[LANES];
	__local int key;
	ulong row = first + get_group_id(0);
	uint item = get_local_id(0), items = get_local_size(0);
	uint i = row % seq, head = row / seq % heads, keys = i + 1, width = kv_heads * dim;
	ulong batch = row / seq / heads, query = ((batch * seq + i) * heads + head) * dim;
	ulong kv = batch * seq * width + head / (heads / kv_heads) * dim;
	__global float *p = scratch + (row - first) * seq, *ds = scores + (row - first) * seq;
	probabilities(arena + q + query, arena + k + kv, width, dim, keys, factor, p, lanes, &key);
	if (item < LANES) {
		float sum = 0.0f;
		for (uint d = item; d < dim; d += LANES)
			sum = fma(arena[d_o + query + d], arena[o + query + d], sum);
		lanes[item] = sum;
	}
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	float dot = finish(lanes);
	for (uint j = item; j < keys; j += items) {
		float sum = 0.0f;
		for (uint d = 0; d < dim; d++)
			sum = fma(arena[d_o + query + d], arena[v + kv + (ulong)j * width + d], sum);
		ds[j] = (p[j] * (sum - dot)) * factor;
	}
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	for (uint d = item; d < dim; d += items) {
		float sum = 0.0f;
		for (uint j = 0; j < keys; j++)
			sum = fma(ds[j], arena[k + kv + (ulong)j * width + d], sum);
		arena[dq + query + d] = sum;
	}
}

// Gradients of keys and values of the key heads of a launch, from what the rows of their query heads have left: the heads of a group ascending, and for
// each the queries ascending.
__kernel __attribute__((reqd_work_group_size(16, 4, 1))) void attention_backward_keys(__global float *arena, ulong q, ulong d_o, ulong dk, ulong dv, __global const float *scratch,
	__global const float *scores, ulong first, uint seq, uint heads, uint kv_heads, uint dim) {
	uint d = get_global_id(0), j = get_global_id(1);
	if (d >= dim || j >= seq)
		return;
	uint share = heads / kv_heads, width = kv_heads * dim;
	ulong pair = first + get_global_id(2), batch = pair / kv_heads, kv_head = pair % kv_heads;
	float key = 0.0f, value = 0.0f;
	for (uint h = 0; h < share; h++) {
		ulong row = (get_global_id(2) * share + h) * seq;
		for (uint i = j; i < seq; i++) {
			ulong query = ((batch * seq + i) * heads + kv_head * share + h) * dim + d;
			key = fma(scores[(row + i) * seq + j], arena[q + query], key);
			value = fma(scratch[(row + i) * seq + j], arena[d_o + query], value);
		}
	}
	ulong at = (batch * seq + j) * width + kv_head * dim + d;
	arena[dk + at] = key;
	arena[dv + at] = value;
}

// ---- Attention over pages. A page has for each layer and key head the keys of its 64 tokens as rows, then their values.

#define PAGE 64

// Keeps the keys and values of a layer: token `t` has the place `places[t]`, which counts tokens through all pages.
EACH void keep(__global const float *arena, ulong k, ulong v, __global float *pages, __global const uint *places, ulong page_len, uint layer, uint kv_heads,
	uint dim, ulong items) {
	WITHIN(items);
	size_t i = get_global_id(0);
	uint d = i % dim, head = i / dim % kv_heads, place = places[i / dim / kv_heads];
	ulong at = place / PAGE * page_len + (ulong)(layer * kv_heads + head) * 2 * PAGE * dim + place % PAGE * dim + d;
	pages[at] = arena[k + i];
	pages[at + PAGE * dim] = arena[v + i];
}

// A group has a head of a token, which sees `seen[2 * t + 1]` tokens of the pages that `table` lists from `seen[2 * t]` on.
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void attention_paged(__global float *arena, ulong q, ulong o, __global const float *pages, __global const uint *table, __global const uint *seen,
	__global float *scratch, ulong first, uint stride, ulong page_len, uint layer, uint heads, uint kv_heads, uint dim, float factor) {
	__local float lanes[LANES];
	__local int key;
	ulong row = first + get_group_id(0), query = row * dim;
	uint item = get_local_id(0), items = get_local_size(0);
	uint head = row % heads, token = row / heads, keys = seen[2 * token + 1];
	table += seen[2 * token];
	pages += (ulong)(layer * kv_heads + head / (heads / kv_heads)) * 2 * PAGE * dim;
	__global float *p = scratch + (row - first) * stride;
	if (item == 0)
		key = INT_MIN;
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	int highest = INT_MIN;
	for (uint j = item; j < keys; j += items) {
		__global const float *k = pages + table[j / PAGE] * page_len + j % PAGE * dim;
		float sum = 0.0f;
		for (uint d = 0; d < dim; d++)
			sum = fma(arena[q + query + d], k[d], sum);
		p[j] = factor * sum;
		highest = max(highest, order_key(p[j]));
	}
	softmax(keys, highest, p, lanes, &key);
	for (uint d = item; d < dim; d += items) {
		float sum = 0.0f;
		for (uint j = 0; j < keys; j++)
			sum = fma(p[j], pages[table[j / PAGE] * page_len + (PAGE + j % PAGE) * dim + d], sum);
		arena[o + query + d] = sum;
	}
}

// ---- Hashes of tiles: a work-item has a tile. Blake2b-256 of each quarter, of 8 rows of 32 numbers, which are its blocks; and of these four hashes.

__constant ulong IV[8] = {0x6a09e667f3bcc908UL, 0xbb67ae8584caa73bUL, 0x3c6ef372fe94f82bUL, 0xa54ff53a5f1d36f1UL, 0x510e527fade682d1UL,
	0x9b05688c2b3e6c1fUL, 0x1f83d9abfb41bd6bUL, 0x5be0cd19137e2179UL};
// Order in which a round reads the words of a block; rounds 10 and 11 are as 0 and 1.
__constant uchar SIGMA[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

#define MIX(a, b, c, d, x, y) \
	a = a + b + x, d = rotate(d ^ a, 32UL), c = c + d, b = rotate(b ^ c, 40UL), a = a + b + y, d = rotate(d ^ a, 48UL), c = c + d, b = rotate(b ^ c, 1UL)

void begin(ulong *h) {
	for (int i = 0; i < 8; i++)
		h[i] = IV[i];
	// A digest of 32 bytes, no key, no tree.
	h[0] ^= 0x01010020UL;
}

// A block that ends at byte `count`.
void compress(ulong *h, const ulong *words, ulong count, bool last) {
	ulong v[16];
	for (int i = 0; i < 8; i++)
		v[i] = h[i], v[i + 8] = IV[i];
	v[12] ^= count;
	v[14] ^= last ? ~0UL : 0UL;
	for (int number = 0; number < 12; number++) {
		__constant const uchar *s = SIGMA[number % 10];
		MIX(v[0], v[4], v[8], v[12], words[s[0]], words[s[1]]);
		MIX(v[1], v[5], v[9], v[13], words[s[2]], words[s[3]]);
		MIX(v[2], v[6], v[10], v[14], words[s[4]], words[s[5]]);
		MIX(v[3], v[7], v[11], v[15], words[s[6]], words[s[7]]);
		MIX(v[0], v[5], v[10], v[15], words[s[8]], words[s[9]]);
		MIX(v[1], v[6], v[11], v[12], words[s[10]], words[s[11]]);
		MIX(v[2], v[7], v[8], v[13], words[s[12]], words[s[13]]);
		MIX(v[3], v[4], v[9], v[14], words[s[14]], words[s[15]]);
	}
	for (int i = 0; i < 8; i++)
		h[i] ^= v[i] ^ v[i + 8];
}

EACH void tile_hashes(__global const float *arena, ulong x, uint rows, uint cols, __global ulong *hashes, ulong first, ulong items) {
	WITHIN(items);
	size_t tile = get_global_id(0);
	uint across = (cols + 31) / 32;
	uint top = tile / across * 32, left = tile % across * 32, width = min(32u, cols - left);
	ulong h[8], quarters[16], words[16];
	for (uint row = 0; row < 32; row++) {
		if (row % 8 == 0)
			begin(h);
		ulong at = x + (ulong)(top + row) * cols + left;
		for (uint i = 0; i < 16; i++) {
			ulong low = top + row < rows && 2 * i < width ? canon_bits(arena[at + 2 * i]) : 0u;
			ulong high = top + row < rows && 2 * i + 1 < width ? canon_bits(arena[at + 2 * i + 1]) : 0u;
			words[i] = low | high << 32;
		}
		compress(h, words, (ulong)(row % 8 + 1) * 128, row % 8 == 7);
		if (row % 8 == 7)
			for (int i = 0; i < 4; i++)
				quarters[row / 8 * 4 + i] = h[i];
	}
	begin(h);
	compress(h, quarters, 128, true);
	for (int i = 0; i < 4; i++)
		hashes[(first + tile) * 4 + i] = h[i];
}
