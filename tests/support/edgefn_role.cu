// Calls one translated function, in one thread per launch; it is only compiled. LEADING declares the leading parameters,
// GIVEN passes them; the other macros are those of the function.
extern "C" __global__ void probe(LEADING PARAMS) {
    LOCALS
    translated(GIVEN ARGS);
    FINISH
}
