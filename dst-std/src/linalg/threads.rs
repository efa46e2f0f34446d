//! How many threads a computation uses: decided here and nowhere else.

/// Runs `work` with this many threads for everything parallel inside it. The error is one sentence.
pub fn with<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> Result<R, String> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.max(1))
        .build()
        .map_err(|error| {
            format!("{threads} threads cannot be started: {error}; lower --threads")
        })?;
    Ok(pool.install(work))
}
