//! Files of safetensors from short inputs: the numbers of a network have 20 kB and say little, so an input gives a pattern of them.

/// Most bytes of numbers.
const MOST: usize = 1 << 19;

/// The file of an input: as it stands if the first byte is 0; otherwise three bytes are the length of the numbers, four bytes are
/// repeated to that length, and the rest is the header.
pub(crate) fn file(bytes: &[u8]) -> Option<Vec<u8>> {
    let (&kind, rest) = bytes.split_first()?;
    if kind == 0 {
        return Some(rest.to_vec());
    }
    let (&[a, b, c], rest) = rest.split_first_chunk()?;
    let (pattern, header) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(pattern.iter().cycle().take(length.min(MOST)));
    Some(file)
}
