//! The smooth SVM on the paper's data sets, where they are present: the numbers that others found.

use std::path::{Path, PathBuf};

use dst_core::Objective;
use dst_std::data::read_libsvm_file;
use dst_std::problems::{Margins, SmoothSvm, minimise};

/// `DST_DATA`, or the folder beside the repository; `None`, said aloud, if the files are not there.
fn data() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/libsvm");
    let folder = std::env::var_os("DST_DATA").map_or(beside, PathBuf::from);
    if folder.join("a1a").is_file() {
        return Some(folder);
    }
    println!(
        "skipped: no data sets in {}; set DST_DATA",
        folder.display()
    );
    None
}

fn x0(folder: &Path, name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(folder.join(format!("x0_{name}.txt"))).unwrap();
    text.split_whitespace()
        .map(|t| t.parse().unwrap())
        .collect()
}

/// Name, rows, largest index, entries, L, f(x0), f*.
const KNOWN: [(&str, usize, usize, usize, f64, f64, f64); 4] = [
    (
        "a1a",
        1605,
        119,
        22249,
        11644.5615,
        695.19897,
        313.1286194602,
    ),
    (
        "a2a",
        2265,
        119,
        31404,
        16480.1285,
        993.56887,
        482.3449216146,
    ),
    (
        "a3a",
        3185,
        122,
        44162,
        23102.2493,
        2723.41180,
        655.4845763520,
    ),
    (
        "w3a",
        4912,
        300,
        57248,
        15578.0396,
        2998.30871,
        60.8860558983,
    ),
];

#[test]
fn the_papers_data_sets_are_read_and_solved() {
    let Some(folder) = data() else { return };
    for (name, rows, largest, entries, lipschitz, start, least) in KNOWN {
        let examples = read_libsvm_file(&folder.join(name)).unwrap();
        let shape = (
            examples.rows.rows(),
            examples.rows.columns(),
            examples.rows.nonzeros(),
        );
        assert_eq!(shape, (rows, largest, entries), "{name}");
        assert!(examples.rows.is_binary());
        let svm = SmoothSvm::new(Margins::new(examples).unwrap(), 0.0);
        let x0 = x0(&folder, name);
        let (mut g, mut tape) = (vec![0.0; svm.dim()], vec![0.0; svm.tape_len()]);
        let mut scratch = vec![0.0; svm.scratch_len()];
        let f = svm.value_gradient(&x0, &mut g, &mut tape, &mut scratch);
        let minimum = minimise(&svm, &x0, 1e-10);
        let l = svm.lipschitz();
        println!(
            "{name}: L {l:.6}, f(x0) {f:.7}, f* {:.12} in {} steps, |g| {:.1e}",
            minimum.f, minimum.steps, minimum.gradient_max
        );
        assert!(
            (l - lipschitz).abs() < 1e-4,
            "{name}: L {l} against {lipschitz}"
        );
        assert!(
            (f - start).abs() < 1e-5,
            "{name}: f(x0) {f} against {start}"
        );
        assert!(
            (minimum.f - least).abs() < 1e-9,
            "{name}: f* {} against {least}",
            minimum.f
        );
    }
}
