//! The JSON of rt-app files: comments, trailing commas, keys without a value, and keys that repeat because their order is the
//! program. Numbers are kept as written.

use super::{Place, RtAppError};

/// The largest file: 16 MiB.
pub const MAX_BYTES: usize = 16 << 20;
/// Deepest nesting.
const MAX_DEPTH: usize = 32;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A key without a value, like `"suspend",`.
    Missing,
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Entry>),
}

/// A key of an object, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) node: Node,
}

impl Value {
    /// What it is, for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Value::Missing => "nothing".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Bool(b) => b.to_string(),
            Value::Number(x) => x.to_string(),
            Value::Text(text) => format!("'{text:.60}'"),
            Value::List(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        }
    }
}

/// Parses a file: one object.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, RtAppError> {
    let mut reader = Reader { text, at: 0, line: 1, line_start: 0 };
    if text.len() > MAX_BYTES {
        let message = format!("{} bytes: at most {MAX_BYTES} are read", text.len());
        return Err(reader.here().error(message));
    }
    reader.skip_blank()?;
    let node = reader.value(0)?;
    reader.skip_blank()?;
    if reader.peek().is_some() {
        return Err(reader.here().error("there is something after the end of the object"));
    }
    match node.value {
        Value::Object(entries) => Ok(entries),
        other => Err(node.place.error(format!("{} where the file's object should be", other.describe()))),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
}

impl Reader<'_> {
    fn here(&self) -> Place {
        Place { line: self.line, column: (self.text[self.line_start..self.at].chars().count() + 1) as u32 }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        if c == '\n' {
            self.line += 1;
            self.line_start = self.at;
        }
        Some(c)
    }

    fn found(&self) -> String {
        self.peek().map_or_else(|| "the end of the file".to_owned(), |c| format!("{c:?}"))
    }

    /// White space and comments.
    fn skip_blank(&mut self) -> Result<(), RtAppError> {
        loop {
            let rest = &self.text[self.at..];
            if let Some(comment) = rest.strip_prefix("/*") {
                let place = self.here();
                let Some(end) = comment.find("*/") else {
                    return Err(place.error("a comment that does not end"));
                };
                self.advance(end + 4);
            } else if rest.starts_with("//") {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else if self.peek().is_some_and(|c| c.is_whitespace() || c == '\u{feff}') {
                self.next();
            } else {
                return Ok(());
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        let end = self.at + bytes;
        while self.at < end && self.next().is_some() {}
    }

    fn value(&mut self, depth: usize) -> Result<Node, RtAppError> {
        let place = self.here();
        if depth > MAX_DEPTH {
            return Err(place.error(format!("nested more than {MAX_DEPTH} deep")));
        }
        let value = match self.peek() {
            Some('{') => Value::Object(self.object(depth)?),
            Some('[') => Value::List(self.list(depth)?),
            Some('"') => Value::Text(self.string()?),
            Some(c) if c == '-' || c == '+' || c.is_ascii_digit() => Value::Number(self.number()?),
            Some(c) if c.is_ascii_alphabetic() => self.word()?,
            _ => return Err(place.error(format!("{} where a value should be", self.found()))),
        };
        Ok(Node { place, value })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Entry>, RtAppError> {
        self.next();
        let mut entries = Vec::new();
        loop {
            self.skip_blank()?;
            let place = self.here();
            match self.peek() {
                Some('}') => {
                    self.next();
                    return Ok(entries);
                }
                Some('"') => {}
                _ => return Err(place.error(format!("{} where a key or '}}' should be", self.found()))),
            }
            let key = self.string()?;
            self.skip_blank()?;
            let node = if self.peek() == Some(':') {
                self.next();
                self.skip_blank()?;
                self.value(depth + 1)?
            } else {
                Node { place, value: Value::Missing }
            };
            entries.push(Entry { key, place, node });
            self.separator('}')?;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, RtAppError> {
        self.next();
        let mut items = Vec::new();
        loop {
            self.skip_blank()?;
            if self.peek() == Some(']') {
                self.next();
                return Ok(items);
            }
            items.push(self.value(depth + 1)?);
            self.separator(']')?;
        }
    }

    /// A comma, which may come before the end too.
    fn separator(&mut self, end: char) -> Result<(), RtAppError> {
        self.skip_blank()?;
        match self.peek() {
            Some(',') => {
                self.next();
                Ok(())
            }
            Some(c) if c == end => Ok(()),
            _ => Err(self.here().error(format!("{} where ',' or '{end}' should be", self.found()))),
        }
    }

    fn string(&mut self) -> Result<String, RtAppError> {
        let place = self.here();
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(place)?),
                Some('\n') | None => return Err(place.error("a text that does not end on its line")),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, place: Place) -> Result<char, RtAppError> {
        let unknown = || place.error("an escape that JSON does not have");
        match self.next() {
            Some(c @ ('"' | '\\' | '/')) => Ok(c),
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some('r') => Ok('\r'),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('u') => {
                let digits: String = (0..4).filter_map(|_| self.next()).collect();
                u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }

    fn number(&mut self) -> Result<f64, RtAppError> {
        let place = self.here();
        let rest = &self.text[self.at..];
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
        let word = &rest[..end];
        self.advance(end);
        let number = word.parse::<f64>().ok().filter(|x| x.is_finite());
        number.ok_or_else(|| place.error(format!("'{word:.40}' is not a number")))
    }

    fn word(&mut self) -> Result<Value, RtAppError> {
        let place = self.here();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return Err(place.error(format!("'{word:.40}' is no value of JSON"))),
        };
        self.advance(end);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        parse(text).unwrap().into_iter().map(|e| e.key).collect()
    }

    #[test]
    fn order_and_repeated_keys_are_kept() {
        assert_eq!(keys(r#"{"run":1,"sleep":2,"run":3}"#), ["run", "sleep", "run"]);
    }

    #[test]
    fn comments_bare_keys_and_trailing_commas_are_read() {
        let text = "/* a : { */ { // b\n \"suspend\", \"cpus\": [0, 1,],\n \"x\": true, }\n";
        let entries = parse(text).unwrap();
        assert_eq!(entries[0].node.value, Value::Missing);
        assert!(matches!(&entries[1].node.value, Value::List(items) if items.len() == 2));
        assert_eq!(entries[2].place, Place { line: 3, column: 2 });
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, message) in [
            ("", "1:1: the end of the file where a value should be"),
            ("[1]", "1:1: a list where the file's object should be"),
            ("{\n \"a\" 1}", "2:6: '1' where ',' or '}' should be"),
            ("{\"a\": 1 \"b\": 2}", "1:9: '\"' where ',' or '}' should be"),
            ("{\"a\": 1x}", "1:7: '1x' is not a number"),
            ("{\"a\": 1e999}", "1:7: '1e999' is not a number"),
            ("{\"a\": yes}", "1:7: 'yes' is no value of JSON"),
            ("{\"a\n\": 1}", "1:2: a text that does not end on its line"),
            ("{ /* x", "1:3: a comment that does not end"),
            ("{} {}", "1:4: there is something after the end of the object"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert!(parse(&deep).unwrap_err().to_string().contains("nested more than 32 deep"));
    }
}
