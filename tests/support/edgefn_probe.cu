// Evaluates one translated edge function for n edges. One thread per edge; u, v: uint32_t[n], w: weight_t[n],
// out: result_t[n]. PARAMETERS and VALUES are the function's further parameters, declared and passed on.
extern "C" __global__ void probe(const uint32_t* u, const uint32_t* v, const weight_t* w, result_t* out,
                                 long long n PARAMETERS) {
    long long i = thread_id();
    if (i < n) out[i] = translated(u[i], v[i], w[i] VALUES);
}
