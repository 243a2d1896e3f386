//! Defaults of the plain fields, and readers that refuse what is out of range.

use super::{Helper, MAX_HELPERS, WORK_SCALE, costs};
pub(super) use crate::units::model_name as name;
use crate::units::whole;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::num::NonZeroU32;

pub(super) fn default_name() -> String {
    "make".to_owned()
}
pub(super) fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}
pub(super) fn unscaled() -> f64 {
    1.0
}
pub(super) fn default_io_sleeps() -> u32 {
    costs::IO_SLEEPS
}

pub(super) fn non_zero<'de, D: Deserializer<'de>, const MAX: i64>(d: D) -> Result<NonZeroU32, D::Error> {
    let n = whole::<D, u32, 1, MAX>(d)?;
    NonZeroU32::new(n).ok_or_else(|| D::Error::custom("0 is not allowed"))
}

pub(super) fn work_scale<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    let scale = f64::deserialize(d)?;
    if WORK_SCALE.contains(&scale) {
        return Ok(scale);
    }
    let (low, high) = (WORK_SCALE.start(), WORK_SCALE.end());
    Err(D::Error::custom(format_args!("work_scale is {scale}: allowed is {low} to {high}")))
}

pub(super) fn helpers<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Helper>, D::Error> {
    let helpers = Vec::<Helper>::deserialize(d)?;
    if helpers.len() > MAX_HELPERS {
        let found = helpers.len();
        return Err(D::Error::custom(format_args!("{found} helpers: at most {MAX_HELPERS} are allowed")));
    }
    Ok(helpers)
}
