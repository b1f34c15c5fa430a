// The earliest arrivals of a log from one vertex over rows of what vertices send (arrivals_cuda.py, which has the struct Arrivals), in one cooperative
// launch. A *place* is the number of an event less that of the oldest one. The label of a vertex is the place of the last event of a path, backwards the
// number of places behind it; the lowest one holds.
//
// A label only falls. A vertex whose label fell is listed once for the next round, in which it passes the events that can follow now and could not before:
// rows ascend by time, so they are one stretch, and each event is passed once in all. Rounds of
//
//   thread per listed vertex: its stretch; the warp passes short ones together, long ones are cut into chunks | block per chunk
//
// with a barrier of the grid at the bar and behind each round, until a round lists nothing: as many rounds as paths have events, at most. Atomics: one per
// label that falls, one per fall for the list, one for 32 that a warp appends, one per long stretch.
#include "grid_barrier.cuh"
#include "lists.cuh"

constexpr uint32_t NONE = 0xFFFFFFFFu, ALL = 0xFFFFFFFFu;

struct Slots {
    long long low, high;
};

struct Round {
    uint32_t *next, *count;  // the list of the next round
    uint32_t number;  // from 1
    uint32_t* waiting;  // [64]: what the warp has to append, in shared memory
    uint32_t held;  // so many, the same in all lanes, less than 32 between steps
};

// Warp: append what waits, from the first one on.
__device__ __forceinline__ void append_waiting(Round& round, uint32_t count) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t place = 0;
    if (lane == 0) place = atomicAdd(round.count, count);
    place = __shfl_sync(ALL, place, 0);
    if (lane < count) round.next[place + lane] = round.waiting[lane];
    __syncwarp();
}

// Warp: v waits to be appended, for lanes whose label fell.
__device__ __forceinline__ void wait_for_append(Round& round, bool fell, uint32_t v) {
    const uint32_t who = __ballot_sync(ALL, fell), lane = threadIdx.x % 32;
    if (!who) return;
    if (fell) round.waiting[round.held + __popc(who & lanes_below())] = v;
    round.held += __popc(who);
    __syncwarp();
    if (round.held < 32) return;
    append_waiting(round, 32);
    round.held -= 32;
    const uint32_t moved = round.waiting[32 + lane];
    __syncwarp();
    round.waiting[lane] = moved;
    __syncwarp();
}

__device__ __forceinline__ long long time_at(const Arrivals& m, long long place) {
    return m.time[(m.first + place) & m.mask];
}

// The place of a label, or the label of a place.
__device__ __forceinline__ uint32_t turned(const Arrivals& m, uint32_t place) {
    return m.backwards ? uint32_t(m.upto - 1) - place : place;
}

// The first slot of a stretch of a row whose place is not below ``place``.
__device__ __forceinline__ long long slot_from(const Arrivals& m, Slots slots, long long place) {
    while (slots.low < slots.high) {
        const long long middle = (slots.low + slots.high) / 2;
        if (m.number[middle] - uint32_t(m.first) < place) slots.low = middle + 1;
        else slots.high = middle;
    }
    return slots.low;
}

// The first place behind the time of ``place``; backwards the first one of that time.
__device__ __forceinline__ long long end_of_time(const Arrivals& m, long long place) {
    const long long now = time_at(m, place), way = m.backwards ? -1 : 1;
    const auto same = [&](long long at) { return at >= m.from && at < m.upto && time_at(m, at) == now; };
    long long step = 1;
    for (; same(place + way * step); step *= 2) place += way * step;
    for (; step; step /= 2)
        if (same(place + way * step)) place += way * step;
    return m.backwards ? place : place + 1;
}

// The slots that u has to pass now, and has not passed yet. The calling thread alone has u in this round.
__device__ __forceinline__ Slots take(const Arrivals& m, uint32_t u) {
    Slots row = {m.begin[u], m.end[u]};
    if (m.part) {
        row.low = slot_from(m, row, m.from);
        row.high = slot_from(m, row, m.upto);
    }
    const uint32_t passed = m.passed[u];
    const Slots rest = m.backwards ? Slots{row.low + passed, row.high} : Slots{row.low, row.high - passed};
    const bool all = u == m.source;
    const long long cut = all ? 0 : slot_from(m, rest, end_of_time(m, turned(m, m.label[u])));
    const Slots mine = m.backwards ? Slots{rest.low, all ? rest.high : cut} : Slots{all ? rest.low : cut, rest.high};
    m.passed[u] = passed + uint32_t(mine.high - mine.low);
    return mine;
}

// Pass the event in a slot of u; whether v, where it leads, has to be listed.
__device__ __forceinline__ bool pass(const Arrivals& m, uint32_t round, uint32_t u, long long slot, uint32_t& v) {
    const uint32_t place = m.number[slot] - uint32_t(m.first), label = turned(m, place);
    v = m.other[slot];
    if (m.checked && m.sender[(m.first + place) & m.mask] != u) return false;
    if (label >= m.label[v] || label >= atomicMin(&m.label[v], label)) return false;
    return atomicExch(&m.listed[v], round) != round;
}

// Thread: cut the slots of u into chunks.
__device__ __forceinline__ void cut(const Arrivals& m, uint32_t* chunks, uint32_t u, const Slots& mine) {
    const uint32_t count = uint32_t((mine.high - mine.low + ARRIVALS_CHUNK - 1) / ARRIVALS_CHUNK);
    uint32_t at = atomicAdd(chunks, count);
    for (long long slot = mine.low; slot < mine.high; slot += ARRIVALS_CHUNK)
        m.chunks[at++] = {slot, u, uint32_t(min(mine.high - slot, (long long)ARRIVALS_CHUNK))};
}

// Warp: pass the slots of all its lanes, each lane one slot at a time.
__device__ __forceinline__ void pass_together(const Arrivals& m, Round& round, uint32_t u, const Slots& mine) {
    const uint32_t lane = threadIdx.x % 32, own = uint32_t(mine.high - mine.low);
    uint32_t upto = own;
    for (int s = 1; s < 32; s *= 2) {
        const uint32_t below = __shfl_up_sync(ALL, upto, s);
        if (lane >= s) upto += below;
    }
    const long long base = mine.low - (upto - own);
    const uint32_t total = __shfl_sync(ALL, upto, 31);
    for (uint32_t start = 0; start < total; start += 32) {
        const uint32_t k = start + lane;
        uint32_t owner = 0;
        for (uint32_t step = 16; step; step /= 2)
            if (__shfl_sync(ALL, upto, owner + step - 1) <= k) owner += step;
        const long long slot = __shfl_sync(ALL, base, owner) + k;
        const uint32_t of = __shfl_sync(ALL, u, owner);
        uint32_t v = 0;
        const bool fell = k < total && pass(m, round.number, of, slot, v);
        wait_for_append(round, fell, v);
    }
}

__device__ __forceinline__ void begin(const Arrivals& m) {
    for (long long v = wide_thread_id(); v < m.vertices; v += wide_thread_count()) {
        m.label[v] = v == m.source ? 0 : NONE;
        m.listed[v] = m.passed[v] = 0;
    }
    if (wide_thread_id() != 0) return;
    m.list[0] = m.source;
    m.counts[0] = 1;
}

__device__ __forceinline__ void answer(const Arrivals& m) {
    for (long long v = wide_thread_id(); v < m.vertices; v += wide_thread_count()) {
        const uint32_t label = m.label[v];
        const bool is_led = label != NONE && v != m.source;
        const long long place = is_led ? turned(m, label) : 0;
        m.arrival[v] = is_led ? time_at(m, place) : m.never;
        m.event[v] = is_led ? m.first + place : -1;
    }
}

// Events at the first and the last moment that a time can be are of no path.
__device__ __forceinline__ Arrivals without_ends_of_time(Arrivals m) {
    const long long last = max(m.never, ~m.never);
    for (; m.from < m.upto && time_at(m, m.from) == ~last; ++m.from) m.part = 1;
    for (; m.from < m.upto && time_at(m, m.upto - 1) == last; --m.upto) m.part = 1;
    return m;
}

// Grid of ARRIVALS_BLOCK threads.
extern "C" __global__ void __launch_bounds__(ARRIVALS_BLOCK) find_arrivals(const __grid_constant__ Arrivals given) {
    __shared__ uint32_t waiting[ARRIVALS_BLOCK / 32][64];
    const Arrivals m = without_ends_of_time(given);
    uint32_t expected = 0;
    begin(m);
    grid_barrier(m.arrived, expected);
    for (uint32_t number = 0;; ++number) {
        const uint32_t* list = m.list + number % 2 * m.vertices;
        const uint32_t count = counted(m.counts[number % 3]);
        if (!count) break;
        uint32_t* next = m.list + (number + 1) % 2 * m.vertices;
        Round round = {next, m.counts + (number + 1) % 3, number + 1, waiting[threadIdx.x / 32], 0};
        uint32_t* chunks = m.counts + 3 + number % 2;
        if (thread_id() == 0) m.counts[(number + 2) % 3] = m.counts[3 + (number + 1) % 2] = 0;
        for (long long i = wide_thread_id(); i - threadIdx.x % 32 < count; i += wide_thread_count()) {
            const uint32_t u = i < count ? list[i] : NONE;
            Slots mine = i < count ? take(m, u) : Slots{0, 0};
            if (mine.high - mine.low > ARRIVALS_SHORT) {
                cut(m, chunks, u, mine);
                mine.high = mine.low;
            }
            __syncwarp();
            pass_together(m, round, u, mine);
        }
        grid_barrier(m.arrived, expected);
        for (uint32_t c = blockIdx.x; c < counted(*chunks); c += gridDim.x) {
            const Chunk chunk = m.chunks[c];
            for (uint32_t start = 0; start < chunk.slots; start += ARRIVALS_BLOCK) {
                const uint32_t k = start + threadIdx.x;
                uint32_t v = 0;
                const bool fell = k < chunk.slots && pass(m, round.number, chunk.vertex, chunk.slot + k, v);
                wait_for_append(round, fell, v);
            }
        }
        if (round.held) append_waiting(round, round.held);
        grid_barrier(m.arrived, expected);
    }
    answer(m);
}
