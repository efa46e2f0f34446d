//! Check of the callbacks of a problem, in the caller's workspace.

use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;

use dst_core::Scalar;
use dst_core::solve::check::{
    CheckError, Entry, Function, Kind, Mismatch, Output, Place, Reference, Sentence,
};

use crate::arguments::{Span, apart, present, read};
use crate::object::Setup;
use crate::run::{Run, begin, compare};
use crate::status::{Outcome, dst_status};
use crate::types::{
    Options, Problem, dst_check_entry, dst_check_function, dst_check_kind, dst_check_output,
    dst_mismatch,
};
