//! Sentence of a mismatch, in pieces of text: the same for `Display` and for C, without the formatting of the standard library,
//! which would bring its panics into a C program.

use super::mismatch::{Entry, Function, Kind, Mismatch, Output, Place, Reference};

/// Writer of a mismatch as one sentence.
#[derive(Debug)]
pub struct Sentence;

/// Receiver of the pieces; an error of it ends the sentence.
type Out<'o, E> = &'o mut dyn FnMut(&str) -> Result<(), E>;

impl Sentence {
    /// Passes the sentence to `out`, piece by piece.
    pub fn of<E>(mismatch: &Mismatch, out: Out<'_, E>) -> Result<(), E> {
        out(match mismatch.function {
            Function::Rate => "rate: ",
            Function::Pullback => "pullback: ",
            Function::PullbackAfresh => "pullback_afresh: ",
            Function::Pushforward => "pushforward: ",
        })?;
        match mismatch.kind {
            Kind::Overwrites => {
                sum(mismatch, out)?;
                out(" is overwritten: add to it with += instead of =")?;
            }
            Kind::Adds => {
                target(mismatch, out)?;
                out(" is added to its old content: write it with = instead of +=")?;
            }
            Kind::NotWritten => {
                target(mismatch, out)?;
                out(" is not written")?;
            }
            Kind::StaleTape => {
                derivative(mismatch, out)?;
                out(" depends on the last call of rate instead of the tape")?;
            }
            Kind::UnwrittenTape(entry) => {
                derivative(mismatch, out)?;
                out(" reads tape[")?;
                count(entry, out)?;
                out("], which rate does not write")?;
            }
            Kind::Scratch => {
                derivative(mismatch, out)?;
                out(" depends on the content of the scratch memory before the call")?;
            }
            Kind::NotRepeatable => {
                derivative(mismatch, out)?;
                out(" is ")?;
                number(mismatch.found, out)?;
                out(" where the same call gave ")?;
                number(mismatch.expected, out)?;
            }
            kind => {
                derivative(mismatch, out)?;
                out(" is ")?;
                number(mismatch.found, out)?;
                out(match mismatch.reference {
                    Reference::Differences => " where differences give ",
                    Reference::Pushforward => " where the pushforward gives ",
                    Reference::Itself => " where another call gives ",
                })?;
                number(mismatch.expected, out)?;
                hint(kind, out)?;
            }
        }
        match mismatch.place {
            Place::Step(0) => Ok(()),
            Place::Step(step) => {
                out(", at step ")?;
                count(step, out)
            }
            Place::Beside => out(", beside x0"),
        }
    }
}

fn hint<E>(kind: Kind, out: Out<'_, E>) -> Result<(), E> {
    match kind {
        Kind::Factor(0.5) => out(" (half of it)"),
        Kind::Factor(factor) => {
            out(" (")?;
            number(factor, out)?;
            out(" times it)")
        }
        Kind::Sign => out(" (wrong sign)"),
        Kind::Missing => out(" (the term is missing)"),
        Kind::Superfluous => out(" (it does not depend on it)"),
        _ => Ok(()),
    }
}

/// d(J)/d(theta[2]), or J for the rate itself.
fn derivative<E>(mismatch: &Mismatch, out: Out<'_, E>) -> Result<(), E> {
    let Some(entry) = mismatch.entry else {
        return output(mismatch.output, out);
    };
    out("d(")?;
    output(mismatch.output, out)?;
    out(")/d(")?;
    variable(entry, out)?;
    out(")")
}

/// Sum of a pullback.
fn sum<E>(mismatch: &Mismatch, out: Out<'_, E>) -> Result<(), E> {
    out("the cotangent of ")?;
    match mismatch.entry {
        Some(entry) => variable(entry, out),
        None => out("an entry"),
    }
}

/// Output that has to be overwritten: an entry of A in a rate and in a pushforward, of x̄ in `pullback_afresh`.
fn target<E>(mismatch: &Mismatch, out: Out<'_, E>) -> Result<(), E> {
    if mismatch.function == Function::PullbackAfresh {
        return sum(mismatch, out);
    }
    if mismatch.function == Function::Pushforward {
        out("the derivative of ")?;
    }
    output(mismatch.output, out)
}

fn output<E>(output: Output, out: Out<'_, E>) -> Result<(), E> {
    match output {
        Output::Rate(i) => indexed("A[", i, out),
        Output::Criterion => out("J"),
        Output::Loss => out("f"),
        Output::Sum => out("A, J and f together"),
    }
}

fn variable<E>(entry: Entry, out: Out<'_, E>) -> Result<(), E> {
    match entry {
        Entry::Theta(i) => indexed("theta[", i, out),
        Entry::X(i) => indexed("x[", i, out),
        Entry::Time => out("t"),
    }
}

fn indexed<E>(name: &str, i: usize, out: Out<'_, E>) -> Result<(), E> {
    out(name)?;
    count(i, out)?;
    out("]")
}

const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

fn digit<E>(value: u64, out: Out<'_, E>) -> Result<(), E> {
    out(DIGITS.get((value % 10) as usize).copied().unwrap_or("?"))
}

/// Decimal digits of a whole number.
fn count<E>(mut value: usize, out: Out<'_, E>) -> Result<(), E> {
    // From the last digit to the first; 64 bits have twenty.
    let mut digits = [0; 20];
    let mut length = 0;
    for place in &mut digits {
        *place = (value % 10) as u64;
        value /= 10;
        length += 1;
        if value == 0 {
            break;
        }
    }
    for &value in digits.iter().take(length).rev() {
        digit(value, out)?;
    }
    Ok(())
}

/// Significant digits of a number.
const FIGURES: i32 = 6;

/// A number with at most six significant digits; with an exponent if it is very large or small.
fn number<E>(value: f64, out: Out<'_, E>) -> Result<(), E> {
    if value.is_nan() {
        return out("NaN");
    }
    if value < 0.0 {
        out("-")?;
    }
    let mut rest = value.abs();
    if rest == 0.0 {
        return out("0");
    }
    if rest.is_infinite() {
        return out("infinity");
    }
    // value = rest·10^exponent with 1 ≤ rest < 10. Rounding in the division is far below six digits.
    let mut exponent = 0_i32;
    while rest >= 10.0 {
        rest /= 10.0;
        exponent += 1;
    }
    while rest < 1.0 {
        rest *= 10.0;
        exponent -= 1;
    }
    let mut figures = (rest * 1e5 + 0.5) as u64;
    if figures >= 1_000_000 {
        figures /= 10;
        exponent += 1;
    }
    let mut length = FIGURES;
    while length > 1 && figures.is_multiple_of(10) {
        figures /= 10;
        length -= 1;
    }
    let scientific = !(-5..FIGURES + 3).contains(&exponent);
    let first = if scientific { 0 } else { exponent };
    let last = first - length + 1;
    // From the highest decimal place to the lowest; zeros up to the point.
    for place in (last.min(0)..=first.max(0)).rev() {
        if place == -1 {
            out(".")?;
        }
        let behind = place - last;
        let figure = if (0..length).contains(&behind) {
            (0..behind).fold(figures, |figures, _| figures / 10)
        } else {
            0
        };
        digit(figure, out)?;
    }
    if scientific {
        out(if exponent < 0 { "e-" } else { "e" })?;
        count(exponent.unsigned_abs() as usize, out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::*;

    fn written(value: f64) -> String {
        let mut text = String::new();
        let done: Result<(), ()> = number(value, &mut |piece| {
            text.push_str(piece);
            Ok(())
        });
        assert_eq!(done, Ok(()));
        text
    }

    #[test]
    fn numbers_have_six_figures_without_zeros_at_the_end() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-0.5, "-0.5"),
            (2.0 / 3.0, "0.666667"),
            (100.0, "100"),
            (1234.5678, "1234.57"),
            (0.00012345678, "0.000123457"),
            (1e-7, "1e-7"),
            (-2.5e-300, "-2.5e-300"),
            (1.7976e308, "1.7976e308"),
            (5e-324, "4.94066e-324"),
            (12_345_678.0, "12345700"),
            (1e12, "1e12"),
            (9.999_999_9, "10"),
            (999_999.96, "1000000"),
            (f64::INFINITY, "infinity"),
            (-f64::INFINITY, "-infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(written(value), text, "{value}");
        }
    }

    #[test]
    fn counts_have_all_their_digits() {
        for value in [0, 7, 10, 99, 100, 1_000_001, usize::MAX] {
            let mut text = String::new();
            let done: Result<(), ()> = count(value, &mut |piece| {
                text.push_str(piece);
                Ok(())
            });
            assert_eq!((done, text), (Ok(()), std::format!("{value}")));
        }
    }
}
