// Locating the entries of a batch: its kind, and its slot, -1 if it is not stored. The chains of the batch's vertices are cut into pieces of
// about the same length, each of which one warp searches for all entries of its vertex; or, of a batch that is large for the graph, the pool
// is read once in address order. In an invalid batch no entry counts. Edges are unique, so one thread at most finds an entry.
#pragma once
#include "graph.cuh"

constexpr uint32_t CONSECUTIVE = 1u << 31;  // in Piece::blocks: they follow each other in memory
constexpr uint32_t AT_ONCE = 8;  // slots that a lane reads at once
constexpr uint32_t FEW_ENTRIES = 4,
                   MOST_FILTERED = 1024;  // entries of a vertex that are compared one by one; that a filter is made of
constexpr uint32_t FILTER_WORDS = 256;

// A part of the chain of a vertex, and the entries of that vertex.
struct alignas(16) Piece {
    uint32_t entry, entries, block, blocks;
};

// 2^this blocks are a piece.
__device__ __forceinline__ uint32_t piece_bits(const Graph& g) {
    return min(uint32_t(PIECE_BLOCK_BITS), uint32_t(PIECE_SLOT_BITS - g.shift));
}

// Thread: entry i is not stored yet.
__device__ __forceinline__ void begin_entry(const LocatedBatch& b, uint32_t i) {
    b.kind[i] = !is_invalid(b) && is_last(b, i) ? ABSENT : DUPLICATE;
    b.slot[i] = -1;
}

// Thread: begin entry i; into how many pieces the chain of its vertex is cut, if it is the first one of that vertex.
__device__ __forceinline__ uint32_t count_pieces(const Graph& g, const LocatedBatch& b, uint32_t i) {
    begin_entry(b, i);
    if (is_invalid(b) || !is_head(b, i)) return 0;
    const uint32_t bits = piece_bits(g);
    return (blocks_of(g, g.degree[source(b.keys[i])]) + (1u << bits) - 1) >> bits;
}

__device__ __forceinline__ Piece piece_at(const Piece& chain, uint32_t bits, uint32_t number, uint32_t block,
                                          uint32_t run) {
    const uint32_t at = number << bits, blocks = min(1u << bits, chain.blocks - at);
    return {chain.entry, chain.entries, block, at + blocks <= run ? blocks | CONSECUTIVE : blocks};
}

// Warp: list the pieces of a chain from the second on. Those in its first `run` blocks, which follow each other in memory, have known places;
// to the others the links are followed.
__device__ __forceinline__ void list_chain(const Graph& g, const Piece& chain, uint32_t run, Piece* pieces) {
    const uint32_t bits = piece_bits(g), count = (chain.blocks + (1u << bits) - 1) >> bits, lane = threadIdx.x % 32;
    for (uint32_t p = 1 + lane; p < count && p << bits < run; p += 32)
        pieces[p] = piece_at(chain, bits, p, chain.block + (p << bits), run);
    if ((count - 1) << bits < run) return;
    uint32_t at = run - 1, block = chain.block + at;
    while (at <= (count - 1) << bits) {
        uint32_t next = EMPTY;
        const uint32_t length = run_of_blocks<32>(g, block, chain.blocks - at, int(lane), next);
        const uint32_t p = max(1u, (at + (1u << bits) - 1) >> bits) + lane;  // at most 32 pieces begin here
        if (p << bits >= run && p << bits < at + length)
            pieces[p] = piece_at(chain, bits, p, block + (p << bits) - at, 0);
        at += length;
        block = next;
    }
}

// Warp: list the pieces of the entries first, first + step ...; `ends` are inclusive sums of pieces within the share that begins at `begin`.
__device__ __forceinline__ void list_pieces(const Graph& g, const LocatedBatch& b, const int* ends, uint32_t begin,
                                            uint32_t end, uint32_t first, uint32_t step, Piece* pieces) {
    const uint32_t lane = threadIdx.x % 32;
    for (; first < end; first += 32 * step) {
        const uint32_t i = first + lane * step;
        const uint32_t before = i < end && i > begin ? ends[i - 1] : 0;
        const uint32_t count = i < end ? ends[i] - before : 0;
        Piece chain = {};
        uint32_t run = 0;
        if (count) {
            const uint32_t u = source(b.keys[i]);
            chain = {i, run_end(b, i) - i, ~g.head[u], blocks_of(g, g.degree[u])};
            run = max(1u, g.run[u]);
            pieces[before] = piece_at(chain, piece_bits(g), 0, chain.block, run);
        }
        for (uint32_t rest = __ballot_sync(0xFFFFFFFFu, count > 1); rest; rest &= rest - 1) {
            const int from = __ffs(rest) - 1;
            const Piece its = {
                __shfl_sync(0xFFFFFFFFu, chain.entry, from), __shfl_sync(0xFFFFFFFFu, chain.entries, from),
                __shfl_sync(0xFFFFFFFFu, chain.block, from), __shfl_sync(0xFFFFFFFFu, chain.blocks, from)};
            list_chain(g, its, __shfl_sync(0xFFFFFFFFu, run, from), pieces + __shfl_sync(0xFFFFFFFFu, before, from));
        }
    }
}

__device__ __forceinline__ uint32_t bit_of(uint32_t v) { return v * 0x9E3779B1u >> 19; }  // of 32 * FILTER_WORDS

// Thread: an edge that may be among the entries of a piece.
__device__ __forceinline__ void note_if_found(const LocatedBatch& b, const Piece& piece, uint32_t v, long long slot) {
    const uint64_t key = (b.keys[piece.entry] & 0xFFFFFFFF00000000ull) | v;
    const uint32_t i = upper_bound(b.keys, piece.entry, piece.entry + piece.entries, key) - 1;
    if (i + 1 == piece.entry || b.keys[i] != key) return;
    b.kind[i] = PRESENT;
    b.slot[i] = slot;
}

// Warp: search the slots lo ... hi - 1. may_match(v) says whether an entry may have the destination v.
template <class M>
__device__ __forceinline__ void search_slots(const Graph& g, const LocatedBatch& b, const Piece& piece, long long lo,
                                             long long hi, M&& may_match) {
    for (long long base = lo + threadIdx.x % 32; base < hi; base += 32 * AT_ONCE) {
        uint32_t v[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; ++k) v[k] = base + 32 * k < hi ? g.dst[base + 32 * k] : EMPTY;
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; ++k)
            if (may_match(v[k])) note_if_found(b, piece, v[k], base + 32 * k);
    }
}

// Warp: search the blocks of a piece.
template <class M>
__device__ __forceinline__ void search_blocks(const Graph& g, const LocatedBatch& b, const Piece& piece,
                                              M&& may_match) {
    uint32_t left = piece.blocks & ~CONSECUTIVE, block = piece.block;
    while (left) {
        uint32_t next = EMPTY, count = left;
        if (!(piece.blocks & CONSECUTIVE)) count = min(left, run_of_blocks<32>(g, block, left, threadIdx.x % 32, next));
        const long long lo = (long long)block << g.shift;
        search_slots(g, b, piece, lo, lo + ((long long)count << g.shift), may_match);
        left -= count;
        block = next;
    }
}

// Warp: search a piece; `filter`, uint32[FILTER_WORDS] of its own in shared memory, holds a bit for each destination of many entries.
__device__ __forceinline__ void search_piece(const Graph& g, const LocatedBatch& b, const Piece& piece,
                                             uint32_t* filter) {
    const uint32_t lane = threadIdx.x % 32, last = piece.entries - 1;
    const uint64_t* const keys = b.keys + piece.entry;
    if (piece.entries <= FEW_ENTRIES) {
        const uint32_t v0 = uint32_t(keys[0]), v1 = uint32_t(keys[min(1u, last)]), v2 = uint32_t(keys[min(2u, last)]),
                       v3 = uint32_t(keys[last]);
        search_blocks(g, b, piece, [&](uint32_t v) { return v == v0 || v == v1 || v == v2 || v == v3; });
    } else if (piece.entries <= MOST_FILTERED) {
        for (uint32_t k = lane; k < FILTER_WORDS; k += 32) filter[k] = 0;
        __syncwarp();
#pragma unroll 4
        for (uint32_t k = lane; k < piece.entries; k += 32) {
            const uint32_t bit = bit_of(uint32_t(keys[k]));
            atomicOr(&filter[bit / 32], 1u << bit % 32);
        }
        __syncwarp();
        search_blocks(g, b, piece, [&](uint32_t v) { return filter[bit_of(v) / 32] >> bit_of(v) % 32 & 1u; });
        __syncwarp();  // all have read what the next piece changes
    } else {
        search_blocks(g, b, piece, [](uint32_t v) { return v < TOMBSTONE; });
    }
}

// Thread, of a batch that is large for the graph: begin entry i; `first` (EMPTY elsewhere) says where the entries of a vertex begin.
__device__ __forceinline__ void list_head(const LocatedBatch& b, uint32_t* first, uint32_t i) {
    begin_entry(b, i);
    if (!is_invalid(b) && is_head(b, i)) first[source(b.keys[i])] = i;
}

// Threads, over the slots of the pool in a grid-stride loop, four at a time, behind list_head: each destination is searched among the entries
// of its vertex. Two slots always lie in one block.
__device__ __forceinline__ void scan_slots(const Graph& g, const LocatedBatch& b, const uint32_t* first) {
    const long long slots = g.counters[USED] << g.shift, step = 4 * (long long)thread_count();
    for (long long slot = 4 * (long long)thread_id(); slot < slots; slot += step) {
        const bool both = slot + 2 < slots;
        const uint32_t u[2] = {g.owner[slot >> g.shift], both ? g.owner[(slot + 2) >> g.shift] : EMPTY};
        const uint2 low = *reinterpret_cast<const uint2*>(&g.dst[slot]);
        const uint2 high = both ? *reinterpret_cast<const uint2*>(&g.dst[slot + 2]) : uint2{EMPTY, EMPTY};
        const uint32_t v[4] = {low.x, low.y, high.x, high.y};
        const uint32_t head[2] = {u[0] == EMPTY ? EMPTY : first[u[0]], u[1] == EMPTY ? EMPTY : first[u[1]]};
        uint64_t lowest[2], second[2];  // the first two entries of the vertex
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            lowest[k] = head[k] == EMPTY ? ~0ull : b.keys[head[k]];
            second[k] = head[k] < b.size - 1 ? b.keys[head[k] + 1] : ~0ull;
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const uint64_t key = (uint64_t(u[k / 2]) << 32) | v[k];
            if (v[k] >= TOMBSTONE || lowest[k / 2] > key) continue;
            uint32_t entry = head[k / 2];
            if (second[k / 2] > key) {
                if (lowest[k / 2] != key) continue;
            } else {
                entry = gallop_up(b.keys, entry + 1, uint32_t(b.size), key) - 1;
            }
            if (b.keys[entry] == key) {
                b.kind[entry] = PRESENT;
                b.slot[entry] = slot + k;
            }
        }
    }
}
