//! Reports as documents: written once, as Markdown with drawings beside it and as one self-contained HTML page.

mod html;
mod markdown;

use crate::failure::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// A part of a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// A heading of a level from 1 on.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// Points.
    List(Vec<String>),
    /// A table: head and rows; the first column is text, the others are numbers.
    Table(Vec<String>, Vec<Vec<String>>),
    /// Text as a terminal shows it.
    Plain(String),
    /// A drawing: the name of its file, what it shows, and the SVG.
    Drawing { file: String, shows: String, svg: String },
    /// Links: text and address.
    Links(Vec<(String, String)>),
}

/// A document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Document {
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

impl Document {
    pub(crate) fn new(title: &str) -> Document {
        Document { title: title.to_owned(), blocks: Vec::new() }
    }

    pub(crate) fn heading(&mut self, level: u8, text: &str) {
        self.blocks.push(Block::Heading(level, text.to_owned()));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.blocks.push(Block::Text(text.trim().to_owned()));
    }

    pub(crate) fn table(&mut self, head: &[&str], rows: Vec<Vec<String>>) {
        self.blocks.push(Block::Table(head.iter().map(|h| (*h).to_owned()).collect(), rows));
    }

    pub(crate) fn drawing(&mut self, file: &str, shows: &str, svg: String) {
        self.blocks.push(Block::Drawing { file: file.to_owned(), shows: shows.to_owned(), svg });
    }

    /// Writes `NAME.md` with its drawings, and `NAME.html`, into a folder, which is made if need be; gives the files.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> Result<Vec<PathBuf>, Failure> {
        fs::create_dir_all(folder).map_err(|source| Failure::Create { file: folder.to_owned(), source })?;
        let mut written = Vec::new();
        let mut put = |file: String, text: &str| {
            let file = folder.join(file);
            let done = fs::write(&file, text);
            written.push(file.clone());
            done.map_err(|source| Failure::Create { file, source })
        };
        put(format!("{name}.md"), &self.markdown())?;
        put(format!("{name}.html"), &self.html())?;
        for block in &self.blocks {
            if let Block::Drawing { file, svg, .. } = block {
                put(file.clone(), svg)?;
            }
        }
        Ok(written)
    }
}
