// Reading a field of words (see words.py). A thread per word, grid-stride; no atomics; nothing synchronises.
// data uint64[n * halves]: word i begins at i * halves. The field begins at bit `right` of half `half`; if `left` is not 0 it goes
// on in half 1, where it belongs so far to the left.

__device__ __forceinline__ uint64_t field_of(const uint64_t* data, uint64_t i, uint32_t halves, uint32_t half,
                                             uint32_t right, uint32_t left) {
    const uint64_t bits = data[i * halves + half] >> right;
    return left ? bits | data[i * halves + 1] << left : bits;
}

// values out_t[n]: the field as its numbers are stored. `flipped` is the sign bit of integers with a sign, `sign` that of floats; else 0.
#define DECODE(name, out_t)                                                                                           \
    extern "C" __global__ void name(const uint64_t* data, uint64_t n, uint32_t halves, uint32_t half, uint32_t right, \
                                    uint32_t left, uint64_t flipped, uint64_t sign, out_t* values) {                  \
        for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < n;                                     \
             i += uint64_t(gridDim.x) * blockDim.x) {                                                                 \
            uint64_t bits = field_of(data, i, halves, half, right, left) ^ flipped;                                   \
            if (sign) bits = bits & sign ? bits ^ sign : ~bits;                                                       \
            values[i] = out_t(bits);                                                                                  \
        }                                                                                                             \
    }
DECODE(decode_4, uint32_t)
DECODE(decode_8, uint64_t)

// ids int64[n]: a uint32 field of vertices, -1 for EMPTY.
extern "C" __global__ void decode_ids(const uint64_t* data, uint64_t n, uint32_t halves, uint32_t half, uint32_t right,
                                      uint32_t left, int64_t* ids) {
    for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < n; i += uint64_t(gridDim.x) * blockDim.x) {
        const uint32_t v = uint32_t(field_of(data, i, halves, half, right, left));
        ids[i] = v == EMPTY ? -1 : int64_t(v);
    }
}
