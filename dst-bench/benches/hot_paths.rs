//! The hot paths under criterion: `cargo bench -p dst-bench`, or `-- svm` for those with that in their name.

use criterion::Criterion;
use dst_bench::hot;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for path in hot::ALL {
        let mut work = (path.make)();
        criterion.bench_function(path.name, |bencher| bencher.iter(&mut work));
    }
    criterion.final_summary();
}
