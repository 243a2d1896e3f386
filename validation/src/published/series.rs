//! What is run for a published series: a scenario, the figure that stands for the published measure, and the settings of base,
//! variant and each record.

use super::measurements::{Measurement, PublishedError, Setup, read};
use super::verdict::Tolerances;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Settings over a scenario, as `--set` takes them.
pub type Settings = BTreeMap<String, String>;

/// A file of `validation/published/series/`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The series.
    pub series: String,
    /// The scenario, in `validation/published/scenarios/`, or `../` the project's own.
    pub scenario: String,
    /// The figure that stands for the published measure.
    pub figure: String,
    /// How the experiment differs from the published one, beside what LIMITATIONS.md says.
    pub differs: String,
    /// Settings of the kernel or machine without the change.
    #[serde(default)]
    pub base: Settings,
    /// Settings with the change.
    pub variant: Settings,
    /// The records that are run, with their settings.
    pub points: BTreeMap<String, Point>,
    /// The records that are not, and why.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
}

/// A record of a series.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Settings of both sides.
    #[serde(default)]
    pub set: Settings,
    /// Settings of the variant alone, over the series'.
    #[serde(default)]
    pub variant: Settings,
    /// Settings of the base alone, over the series'.
    #[serde(default)]
    pub base: Settings,
    /// The figure, where it is not the series'.
    pub figure: Option<String>,
    /// The scenario, where it is not the series'; the series' settings are not for it then.
    pub scenario: Option<String>,
}

impl Series {
    /// Settings of base and variant for a record.
    pub fn sides(&self, point: &Point) -> [Settings; 2] {
        let side = |of_series: &Settings, of_point: &Settings| {
            let mut all = if point.scenario.is_none() { of_series.clone() } else { Settings::new() };
            all.extend(point.set.clone());
            all.extend(of_point.clone());
            all
        };
        [side(&self.base, &point.base), side(&self.variant, &point.variant)]
    }
}

/// All published data of a folder.
#[derive(Debug, Clone)]
pub struct Published {
    /// The folder.
    pub dir: PathBuf,
    /// The records.
    pub measurements: Vec<Measurement>,
    /// How the series were set up.
    pub setups: Vec<Setup>,
    /// The series that are run, by name.
    pub series: BTreeMap<String, Series>,
    /// The series that are not, and why.
    pub not_run: BTreeMap<String, String>,
    /// What predictions are held to.
    pub tolerances: Tolerances,
}

impl Published {
    /// Reads a folder, `validation/published` in the project.
    ///
    /// # Errors
    /// When a file cannot be read or is not what it should be, when a series is neither run nor has a reason, or when a record
    /// of a series that is run has neither settings nor a reason.
    pub fn load(dir: &Path) -> Result<Published, PublishedError> {
        let mut series = BTreeMap::new();
        let folder = dir.join("series");
        let failed = |source| PublishedError::Read { file: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            let one: Series = read(&file)?;
            series.insert(one.series.clone(), one);
        }
        let published = Published {
            measurements: read(&dir.join("measurements.json"))?,
            setups: read(&dir.join("setups.json"))?,
            not_run: read(&dir.join("not-run.toml"))?,
            tolerances: read(&dir.join("tolerances.toml"))?,
            dir: dir.to_owned(),
            series,
        };
        published.check()?;
        Ok(published)
    }

    /// The scenario file of a record.
    pub fn scenario(&self, series: &Series, point: &Point) -> PathBuf {
        self.dir.join("scenarios").join(point.scenario.as_ref().unwrap_or(&series.scenario))
    }

    /// The records of a series.
    pub fn of<'a>(&'a self, series: &'a str) -> impl Iterator<Item = &'a Measurement> + 'a {
        self.measurements.iter().filter(move |m| m.series == series)
    }

    fn check(&self) -> Result<(), PublishedError> {
        let wrong =
            |file: &str, what: String| Err(PublishedError::Format { file: self.dir.join(file), what });
        let known = |name: &str| self.setups.iter().any(|s| s.series == name);
        for name in self.series.keys().chain(self.not_run.keys()) {
            if !known(name) {
                return wrong("setups.json", format!("no series '{name}'"));
            }
        }
        for setup in &self.setups {
            let (run, not) = (self.series.get(&setup.series), self.not_run.contains_key(&setup.series));
            let Some(series) = run else {
                if !not {
                    return wrong(
                        "not-run.toml",
                        format!("series '{}' is not run and has no reason", setup.series),
                    );
                }
                continue;
            };
            if not {
                return wrong("not-run.toml", format!("series '{}' is run", setup.series));
            }
            let named = |id: &str| series.points.contains_key(id) || series.left_out.contains_key(id);
            if let Some(m) = self.of(&setup.series).find(|m| !named(&m.id)) {
                return wrong("series", format!("'{}' is neither run nor left out with a reason", m.id));
            }
            let ids = series.points.keys().chain(series.left_out.keys());
            if let Some(id) = ids.into_iter().find(|id| self.of(&setup.series).all(|m| m.id != **id)) {
                return wrong("series", format!("no record '{id}' in series '{}'", setup.series));
            }
        }
        Ok(())
    }
}
