//! Weights of learned optimisers. What is read is written and read again.

use dst_std::l2o::Trained;

use crate::tensors::file;

pub(crate) fn run(bytes: &[u8]) {
    let Some(file) = file(bytes) else {
        return;
    };
    if let Ok(trained) = Trained::from_bytes(&file) {
        let _ = trained.seed();
        assert!(trained.theta.iter().all(|weight| weight.is_finite()));
        let written = trained.to_bytes().expect("what was read can be written");
        assert_eq!(Trained::from_bytes(&written), Ok(trained));
    }
}
