//! Rows of a table under way: a score more for every training.

use super::{ControlConfig, MethodRow};
use crate::control::{Pool, Score};

/// Rows with what they are scored on.
pub(super) struct Rows<'a> {
    pub(super) config: &'a ControlConfig,
    pub(super) test: &'a Pool<f32>,
    pub(super) rows: Vec<MethodRow>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(config: &'a ControlConfig, test: &'a Pool<f32>) -> Self {
        Self {
            config,
            test,
            rows: Vec::new(),
        }
    }

    /// A training more of the row with this name.
    pub(super) fn add(&mut self, name: &str, ours: bool, setting: String, counts: &[u32]) {
        let score = Score::of(counts, self.config.cap);
        match self.rows.iter_mut().find(|row| row.name == name) {
            Some(row) => {
                row.scores.push(score);
                if !setting.is_empty() {
                    row.setting = format!("{}; {setting}", row.setting);
                }
            }
            None => self.rows.push(MethodRow {
                name: name.to_owned(),
                ours,
                setting,
                scores: vec![score],
            }),
        }
    }
}
