//! Models of plants. A model is written and read again, condensed, and simulated for three ticks.
//!
//! The input is JSON; behind a zero byte, the text of the file of starting states.

use dst_std::control::{Model, Scenario};

pub(crate) fn run(bytes: &[u8]) {
    let (model, states) = match bytes.iter().position(|&byte| byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    let (Ok(text), Ok(states)) = (std::str::from_utf8(model), std::str::from_utf8(states)) else {
        return;
    };
    let Ok(model) = Model::from_texts(text, |_| Ok(states.to_owned())) else {
        return;
    };
    if let Ok(written) = serde_json::to_string(&model) {
        let again = Model::from_texts(&written, |_| Ok(states.to_owned()));
        assert_eq!(again.as_ref(), Ok(&model), "{written}");
    }
    // Longer horizons take longer, and do nothing else.
    if model.horizon > 12 {
        return;
    }
    let _ = model.program();
    let _ = model.input_map();
    if let Ok(program) = model.active_program() {
        let numbers = [
            &program.gram,
            &program.scale,
            &program.lower,
            &program.upper,
        ];
        assert!(numbers.iter().all(|part| part.iter().all(|v| !v.is_nan())));
    }
    let Ok(scenario) = Scenario::of_model("fuzz", &model) else {
        return;
    };
    let mut run = scenario.run(1, 0);
    let inputs = vec![0.0; model.input_count()];
    for _ in 0..3 {
        let _ = scenario.measure(&mut run, 1);
        scenario.advance(&mut run, &inputs);
    }
    let _ = scenario.cold(1, 1);
    let _ = (scenario.hash(), scenario.start_words());
}
