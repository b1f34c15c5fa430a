// Runs one translated function for its effects, once per edge u[i] -> v[i], i < n. One thread per edge, grid-stride.
extern "C" __global__ void probe(const uint32_t* u, const uint32_t* v, long long n PARAMS) {
    LOCALS
    for (long long i = thread_id(); i < n; i += thread_count()) translated(u[i], v[i], 1 ARGS);
    FINISH
}
