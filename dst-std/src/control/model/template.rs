//! Example of a model file with a sentence for every field.

use super::Model;

impl Model {
    /// Text of a model file with a comment for every field; it is itself a valid model.
    pub const fn template() -> &'static str {
        include_str!("template.json")
    }
}
