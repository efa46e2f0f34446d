//! From your own A, B, Q and R to a running loop: an inverted pendulum on a cart at 50 Hz, unstable, in single precision.
//!
//! The force is bounded, and the position of the cart too. On a microcontroller the same controller is a file of constants:
//! `dst control export --model pendulum.json` writes it, with a certificate of its worst tick. In C: `tests/c/own_controller.c`.
//!
//! Prints:
//! ```text
//! after 5 s: cart 0.0000 m and pole 0.0001 rad off
//! at most 4 steps per tick; cart within 0.481 m, bound softened 0 times
//! ```

use dst_core::mpc::Tick;
use dst_core::qp::Status;
use dst_std::control::{Limits, Model, Softness, Start, StateBound};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Position and speed of the cart, angle and angular speed of the pole; x⁺ = Ax + Bu after 20 ms.
    let model = Model {
        a: vec![
            vec![1.0, 0.01998, -0.000_197, -0.000_001_3],
            vec![0.0, 0.998, -0.0197, -0.000_197],
            vec![0.0, 0.0003, 1.004_32, 0.020_029],
            vec![0.0, 0.030, 0.4326, 1.004_32],
        ],
        b: vec![vec![0.0002], vec![0.02], vec![-0.0003], vec![-0.03]],
        q: vec![10.0, 1.0, 50.0, 1.0].into(),
        r: vec![0.01].into(),
        inputs: vec![Limits::between(-10.0, 10.0)],
        states: vec![StateBound {
            state: 0,
            limits: Limits::between(-0.5, 0.5),
            soft: Softness::Huber,
        }],
        start: Start::Within(vec![0.3, 0.0, 0.1, 0.0]),
        horizon: 40,
        ..Model::default()
    };
    // Everything that takes time is done here, in double precision; the device gets single precision.
    let program = model.active_program()?.cast::<f32>();
    let controller = program.controller(20, 1e-6); // room for 20 active bounds
    let mut numbers = vec![0.0; Tick::<f32>::numbers(&controller)];
    let mut words = vec![0; Tick::<f32>::words(&controller)];
    let mut tick = Tick::new(&controller, &mut numbers, &mut words)?;

    let mut x = [0.3, 0.0, 0.1, 0.0];
    let (mut most, mut softened, mut farthest) = (0, 0, 0.0f32);
    for _ in 0..250 {
        // At most 40 steps, whatever happens; the input is always within its bounds.
        let outcome = controller.tick(&mut tick, &x, &[], 40)?;
        most = most.max(outcome.steps);
        softened += usize::from(outcome.status == Status::Softened);
        x = plant(&model, &x, tick.inputs()[0]);
        farthest = farthest.max(x[0].abs());
    }
    let (cart, pole) = (x[0].abs(), x[2].abs());
    println!("after 5 s: cart {cart:.4} m and pole {pole:.4} rad off");
    println!(
        "at most {most} steps per tick; cart within {farthest:.3} m, bound softened {softened} times"
    );
    Ok(())
}

/// x⁺ = Ax + Bu: on a real plant, measure x and apply u instead.
fn plant(model: &Model, x: &[f32; 4], u: f32) -> [f32; 4] {
    std::array::from_fn(|i| {
        let row = model.a[i].iter().zip(x);
        row.map(|(a, x)| *a as f32 * x).sum::<f32>() + model.b[i][0] as f32 * u
    })
}
