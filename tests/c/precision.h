/* Compiles one source for both precisions: define PRECISION as 32 or 64, include this file, then the code. No include guard:
 * it is included once for each. */

#undef REAL
#undef BITS
#undef SUFFIX
#undef DST
#undef OWN
#undef REAL_EPSILON

#define JOIN_(a, b, c) a##b##_f##c
#define JOIN(a, b, c) JOIN_(a, b, c)

/* DST(run_init) is dst_run_init_f32; OWN(decay) is decay_f32. */
#define DST(name) JOIN(dst_, name, PRECISION)
#define OWN(name) JOIN(, name, PRECISION)

#if PRECISION == 32
#define REAL float
#define BITS uint32_t
#define SUFFIX "f32"
#define REAL_EPSILON FLT_EPSILON
#else
#define REAL double
#define BITS uint64_t
#define SUFFIX "f64"
#define REAL_EPSILON DBL_EPSILON
#endif
