//! Text around the tables: how it is counted, and what is done in favour of the others.

/// Conditions under which it is counted.
pub(super) const WORDS: &str = "\
Every system is compiled by arm-none-eabi-gcc with -O2 for a Cortex-M4F, runs in the same loop over the same recorded ticks, and is \
counted by the timer of the emulated board (QEMU, `-icount`): instructions, not cycles. Single precision. A cell is mean / 99th \
percentile / maximum of a tick. *Cold*: 1000 states, each without a last solution. *Loop*: 20 runs of 30 ticks of the exact closed loop, \
each tick from the solution before it, in the way of the system itself. The error is that of u0 against the exact solution, largest input. \
Settings above three million instructions per tick run on every tenth cold tick and the first 100 ticks of the loop. Bytes are those \
beyond a program that does nothing, of C only. The exact inputs are checked first: DAQP and OSQP solve the programs in double precision and find \
them to 1e-5.";

/// Use of the other systems.
pub(super) const FAVOURS: &str = "\
*DAQP* is used as its code generator for MPC does: the program is prepared in double precision, a tick moves the bounds by a product with \
the parameters. Best of the grid: primal tolerance, and its constants compiled as `float` (`-fsingle-precision-constant`). Its unsolved ticks of \
the safety filter's loop start where rounding moved a state out of the feasible set (in double precision it calls them infeasible, too), or \
follow such a tick. \
*OSQP* is its generated code. Condensed: the variables are the inputs; sparse: inputs and states. The four axes of the safety filter share \
a solver, each with its own last solution; its sparse form is left out, because in single precision it solved 16 of 200 ticks. Best of the grid: ρ in half decades from 1e-5 to 1e3, ε of 1e-3, 1e-4, 1e-5, both forms, a stop test \
every five iterations; the fewest instructions among settings whose error is at most a hundredth of half the width of the bounds. \
*TinyMPC* is changed in its favour: `float`, matrices of fixed size and no heap, no message through `std::cout`, no bounds of states, ρ added \
once to the weights and not twice. Its terminal weight depends on ρ; its error is that against the program with this weight. Its \
adaptation of ρ is not run: it allocates two dense matrices of more than 175 kB each, reads a flag before anything sets it, and leaves two \
of the matrices that the solver reads as they were. It cannot pose the safety filter, whose last state has no weight. *qpOASES* is in no package \
index that was tried and is left out. A first study counted fewer instructions of DAQP on these ticks, mean 24k cold and 8k in the loop for the quadrotor, \
63k and 24k for the safety filter. It compiled with -O3: with -O3 this harness counts 24.3k and 8.3k, 70.5k and 28.2k. The rest of the \
difference lies in the harness of the study, which is not at hand.";
