//! Results as bytes, on their way from one rank to another: the same bits arrive.

/// Result that another rank can receive.
pub trait Piece: Sized {
    /// Appends the bytes of the value.
    fn put(&self, to: &mut Vec<u8>);
    /// Takes the bytes of a value from the front; `None` if they are not those of one.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Piece for $type {
            fn put(&self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, f32, f64);

impl Piece for usize {
    fn put(&self, to: &mut Vec<u8>) {
        (*self as u64).put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Self::try_from(u64::take(from)?).ok()
    }
}

impl Piece for bool {
    fn put(&self, to: &mut Vec<u8>) {
        u8::from(*self).put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(u8::take(from)? != 0)
    }
}

impl<T: Piece> Piece for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        self.iter().for_each(|item| item.put(to));
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let count = usize::take(from)?;
        // Every item has a byte at least; a wrong count must not fill the memory.
        let mut items = Self::with_capacity(count.min(from.len()));
        for _ in 0..count {
            items.push(T::take(from)?);
        }
        Some(items)
    }
}

impl Piece for String {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        to.extend(self.as_bytes());
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::take(from)?).ok()
    }
}

impl<T: Piece> Piece for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        if let Some(item) = self {
            item.put(to);
        }
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        match bool::take(from)? {
            true => T::take(from).map(Some),
            false => Some(None),
        }
    }
}

impl<A: Piece, B: Piece> Piece for (A, B) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?))
    }
}

impl<A: Piece, B: Piece, C: Piece> Piece for (A, B, C) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
        self.2.put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?, C::take(from)?))
    }
}

/// Makes a structure a piece, field by field. Type parameters go before its name, in brackets.
macro_rules! piece {
    ([$($generic:tt)*] $type:ty { $($field:ident),* $(,)? }) => {
        impl<$($generic)*> $crate::parallel::Piece for $type {
            fn put(&self, to: &mut Vec<u8>) {
                $($crate::parallel::Piece::put(&self.$field, to);)*
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                $(let $field = $crate::parallel::Piece::take(from)?;)*
                Some(Self { $($field),* })
            }
        }
    };
    ($type:ident { $($field:ident),* $(,)? }) => {
        $crate::parallel::piece!([] $type { $($field),* });
    };
}
pub(crate) use piece;

/// True if the value comes back with its bits, and no shorter bytes pass for it.
#[cfg(test)]
pub(crate) fn comes_back<T: Piece + std::fmt::Debug>(value: &T) -> bool {
    let mut bytes = Vec::new();
    value.put(&mut bytes);
    let mut from = bytes.as_slice();
    let Some(found) = T::take(&mut from) else {
        return false;
    };
    let mut again = Vec::new();
    found.put(&mut again);
    let short = (0..bytes.len()).all(|length| T::take(&mut &bytes[..length]).is_none());
    from.is_empty() && again == bytes && format!("{found:?}") == format!("{value:?}") && short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_with_their_bits() {
        assert!(comes_back(&vec![(1_u8, f32::NAN), (7, -0.0)]));
        assert!(comes_back(&[f64::MIN_POSITIVE, f64::INFINITY].to_vec()));
        let several = (Some(vec![true, false]), None::<u64>, usize::MAX);
        assert!(comes_back(&(several, "größer".to_owned())));
        // A count that no memory could hold.
        let mut bytes = Vec::new();
        u64::MAX.put(&mut bytes);
        assert!(Vec::<u8>::take(&mut bytes.as_slice()).is_none());
    }
}
