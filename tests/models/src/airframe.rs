//! Twelve states, eight parameters: a quadrotor under a cascade, as a formula in `f32`. Its pullback is measured by dual numbers and by
//! the trace.

use dst_core::system::{Arithmetic, Derived, Number};
use dst_core::{Bar, Formula, Point, Seed, System};

/// Position, velocity, angles and turn rates; θ: gains of position, velocity, angle and turn rate, drag, mass, and two inertias.
#[derive(Clone, Copy, Debug)]
pub struct Airframe;

impl Formula<12, 8> for Airframe {
    #[inline(always)]
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 8],
        x: &[Number<A>; 12],
        _: Number<A>,
    ) -> [Number<A>; 12] {
        let &[gain, damping, stiffness, turning, drag, mass, roll, yaw] = theta;
        let &[px, py, pz, vx, vy, vz, phi, psi, chi, wx, wy, wz] = x;
        // The outer loop asks for angles, the inner one for torques.
        let ask = |p: Number<A>, v: Number<A>| (gain * p + damping * v).clamp(-0.5, 0.5);
        let thrust = (9.81 * mass - ask(pz, vz) * mass).max(0.0);
        let torque = |angle: Number<A>, w: Number<A>| -(stiffness * angle + turning * w);
        let (sin_phi, cos_phi) = phi.sin_cos();
        let (sin_psi, cos_psi) = psi.sin_cos();
        [
            -vx,
            -vy,
            -vz,
            drag * vx - thrust * cos_phi * sin_psi / mass,
            drag * vy + thrust * sin_phi / mass,
            drag * vz - thrust * cos_phi * cos_psi / mass + 9.81,
            -wx,
            -wy,
            -wz,
            (roll - yaw) * wy * wz - torque(phi - ask(py, vy), wx) / roll,
            (yaw - roll) * wx * wz - torque(psi + ask(px, vx), wy) / roll,
            -torque(chi, wz) / yaw,
        ]
    }
    #[inline(always)]
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 8],
        x: &[Number<A>; 12],
        _: Number<A>,
    ) -> Number<A> {
        x.iter().map(|x| x.square()).sum()
    }
}

/// Operations of the trace.
pub const TRACE: usize = 66;
/// The system by dual numbers.
pub const DUAL: Derived<Airframe, 12, 8> = Derived { formula: Airframe };
/// The same with memory for the trace, which is then used.
pub const TRACED: Derived<Airframe, 12, 8, 4, TRACE> = Derived { formula: Airframe };

/// Scratch memory of the trace.
pub type Scratch = [f32; 5 * TRACE + 21];

/// Parameters at which everything is evaluated.
pub const THETA: [f32; 8] = [0.6, 0.9, 4.0, 1.5, 0.3, 1.2, 0.02, 0.04];
/// State at which everything is evaluated.
pub const X: [f32; 12] = [
    0.4, -0.3, 0.5, 0.2, 0.1, -0.4, 0.15, -0.1, 0.3, 0.2, -0.25, 0.1,
];

/// Digest of A and J.
#[inline(never)]
pub fn plain(theta: &[f32; 8], x: &[f32; 12]) -> u32 {
    let mut rate = [0.0; 12];
    let at = Point { theta, x, t: 0.0 };
    let reading = TRACED.rate(at, &mut rate, &mut [], &mut []);
    digest(&rate, &[reading.criterion])
}

/// Digest of the pullback by dual numbers.
#[inline(never)]
pub fn dual(theta: &[f32; 8], x: &[f32; 12]) -> u32 {
    pullback(&DUAL, theta, x, &mut [])
}

/// Digest of the pullback by the trace.
#[inline(never)]
pub fn traced(theta: &[f32; 8], x: &[f32; 12], scratch: &mut Scratch) -> u32 {
    pullback(&TRACED, theta, x, scratch)
}

#[inline(always)]
fn pullback(
    system: &impl System<f32>,
    theta: &[f32; 8],
    x: &[f32; 12],
    scratch: &mut [f32],
) -> u32 {
    let (mut theta_bar, mut x_bar) = ([0.0; 8], [0.0; 12]);
    let at = Point { theta, x, t: 0.0 };
    let seed = Seed {
        rate: x,
        criterion: 1.0,
        loss: 0.0,
    };
    system.pullback(at, &[], seed, Bar::new(&mut theta_bar, &mut x_bar), scratch);
    digest(&theta_bar, &x_bar)
}

fn digest(a: &[f32], b: &[f32]) -> u32 {
    a.iter().chain(b).fold(0x811c_9dc5, |digest, v| {
        (digest ^ v.to_bits()).wrapping_mul(0x0100_0193)
    })
}
