// Checks and converts a batch that lies on the device: ids of any integer dtype to uint32, weights to the graph's dtype.
//
// Macros: SRC_T, DST_T  dtypes of the ids; WEIGHT_MODE 0: no weights, 1: weight[n] of IN_T, 2: `fill` for every edge;
//         WEIGHT_T  dtype of the graph's weights, INTEGRAL 1 if that is an integer dtype, WEIGHT_MIN and WEIGHT_MAX
//         its range then; MIRRORED 1: write both arcs of every edge, (min, max) at i and (max, min) at n + i;
//         SELF_LOOPS 0: ignore, 1: note that there is one, 2: an error.

typedef SRC_T src_t;
typedef DST_T dst_t;
typedef IN_T in_t;
typedef WEIGHT_T weight_t;

// What a call found, one block for the calls of even number and one for those of odd number, and a third that keeps the
// first error until the host reads it. A mutation kernel of the same call takes `guard` and does nothing if it is set.
struct Status {
    uint32_t guard;
    uint32_t loops;                // only of the third: some batch held a self-loop
    unsigned long long key;        // ~(index << 12 | part << 8 | reason), so that the first bad entry is the maximum
    unsigned long long value;      // the offending id (two's complement) or weight (bits of a double)
    unsigned long long version;    // of the graph, when the batch was given
    unsigned long long vertices;   // their number then
};

constexpr uint32_t BAD_SRC = 1, BAD_DST = 2, BAD_LOOP = 3, BAD_WEIGHT = 4, UNSIGNED_VALUE = 8;

template <class T>
__device__ __forceinline__ constexpr bool is_signed(T) {
    return T(-1) < T(1);
}

// An unsigned 64-bit id of 2^63 or more turns negative here, and is refused like any other negative one.
template <class T>
__device__ __forceinline__ bool in_range(T id, long long num_vertices) {
    return (long long)id >= 0 && (long long)id < num_vertices;
}

// Whether weight_t can hold x: finite after rounding for floats, whole and in range for integers.
template <class T>
__device__ __forceinline__ bool fits(T x) {
#if INTEGRAL
    double d = double(x);          // of a 64-bit integer maybe rounded, but never across the range of 32 bits
    return d >= double(WEIGHT_MIN) && d <= double(WEIGHT_MAX) && d == trunc(d);
#else
    weight_t w = weight_t(x);
    return w - w == weight_t(0);   // not so for NaN and infinities
#endif
}

// Reason why edge i is refused (0: it is fine), and the value to report.
__device__ __forceinline__ uint32_t refusal(const src_t* src, const dst_t* dst, const in_t* weight, long long i,
                                            long long num_vertices, unsigned long long& value) {
    src_t s = src[i];
    dst_t d = dst[i];
    value = (unsigned long long)(long long)s;
    if (!in_range(s, num_vertices)) return BAD_SRC | (is_signed(s) ? 0 : UNSIGNED_VALUE);
#if SELF_LOOPS == 2
    if ((long long)s == (long long)d) return BAD_LOOP;
#endif
    value = (unsigned long long)(long long)d;
    if (!in_range(d, num_vertices)) return BAD_DST | (is_signed(d) ? 0 : UNSIGNED_VALUE);
#if WEIGHT_MODE == 1
    value = (unsigned long long)__double_as_longlong(double(weight[i]));
    if (!fits(weight[i])) return BAD_WEIGHT;
#endif
    return 0;
}

// Thread per edge, grid-stride. Reads src[n], dst[n], weight[n]; writes out_src, out_dst and out_weight, each [n], or
// [2n] if MIRRORED. A bad entry is written as edge (0, 0) of weight 0, so that whatever reads the copies stays in bounds.
// Thread 0 of the call's first launch (`mode` & 4) moves what the call before found out of its block; that call has
// ended, as all are in one stream. `mode` & 3 tells which part of a call a batch is (1: delete, 2: insert, 0: all of it).
// Atomics: only for bad entries. Does not synchronise.
extern "C" __global__ void ingest(const src_t* src, const dst_t* dst, const in_t* weight, weight_t fill, long long n,
                                  long long num_vertices, uint32_t* out_src, uint32_t* out_dst, weight_t* out_weight,
                                  Status* status, uint32_t slot, uint32_t mode, unsigned long long version) {
    Status* mine = status + slot;
    Status* kept = status + 2;
    if ((mode & 4) && thread_id() == 0) {
        Status* before = status + (slot ^ 1);
        if (before->key && !kept->key) {
            kept->key = before->key;
            kept->value = before->value;
            kept->version = before->version;
            kept->vertices = before->vertices;
        }
        before->guard = 0;
        before->key = 0;
    }
    for (long long i = thread_id(); i < n; i += thread_count()) {
        unsigned long long value;
        uint32_t reason = refusal(src, dst, weight, i, num_vertices, value);
        uint32_t s = reason ? 0 : uint32_t(src[i]), d = reason ? 0 : uint32_t(dst[i]);
#if SELF_LOOPS == 1
        if (s == d && !reason) kept->loops = 1;  // all writers write the same
#endif
#if MIRRORED
        out_src[i] = out_dst[n + i] = min(s, d);
        out_dst[i] = out_src[n + i] = max(s, d);
#else
        out_src[i] = s;
        out_dst[i] = d;
#endif
#if WEIGHT_MODE
#if WEIGHT_MODE == 1
        weight_t w = reason ? weight_t(0) : weight_t(weight[i]);
#else
        weight_t w = fill;
#endif
        out_weight[i] = w;
#if MIRRORED
        out_weight[n + i] = w;
#endif
#endif
        if (!reason) continue;
        unsigned long long key = ~((unsigned long long)i << 12 | (mode & 3) << 8 | reason);
        atomicExch(&mine->guard, 1u);
        atomicExch(&mine->version, version);
        atomicExch(&mine->vertices, (unsigned long long)num_vertices);
        if (atomicMax(&mine->key, key) >= key) continue;
        // Every thread that raised the key writes the value of the key it then reads, until the key stands still: so
        // the last value written belongs to the final key.
        for (unsigned long long seen = 0, now = key; now != seen; now = atomicMax(&mine->key, 0ull)) {
            seen = now;
            refusal(src, dst, weight, (long long)(~seen >> 12), num_vertices, value);
            atomicExch(&mine->value, value);
            __threadfence();
        }
    }
}
