//! The continuous ground truth: an adaptive Dormand–Prince solver, events, and the gradient of an event's time.
