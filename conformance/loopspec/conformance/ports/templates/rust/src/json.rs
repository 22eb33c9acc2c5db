//! JSON in as much as the protocol needs it, so that this port depends on no other crate.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write};

/// Any JSON value. Numbers of the protocol are whole and below 2^53.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

static NULL: Json = Json::Null;

impl Json {
    /// The value under a key; null when there is none.
    pub fn get(&self, key: &str) -> &Json {
        match self {
            Json::Object(members) => members.get(key).unwrap_or(&NULL),
            _ => &NULL,
        }
    }

    /// The text; empty when it is none.
    pub fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            _ => "",
        }
    }

    /// The whole number; 0 when it is none.
    pub fn number(&self) -> u64 {
        match self {
            Json::Number(number) => *number as u64,
            _ => 0,
        }
    }

    /// The elements; none when it is no list.
    pub fn list(&self) -> &[Json] {
        match self {
            Json::List(elements) => elements,
            _ => &[],
        }
    }

    /// Reads one value that fills the whole text; an error says what was expected where.
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value()?;
        reader.space();
        match reader.peek() {
            None => Ok(value),
            Some(_) => reader.refuse("the end"),
        }
    }
}

/// An object with these members.
pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(key, value)| (key.to_owned(), value)).into())
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Json {
        Json::Number(value as f64)
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Json {
        Json::Number(value as f64)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Json {
        Json::Text(value.to_owned())
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(value: Vec<T>) -> Json {
        Json::List(value.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

impl Display for Json {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Number(value) => write!(out, "{value}"),
            Json::Text(value) => write_text(out, value),
            Json::List(elements) => {
                out.write_char('[')?;
                for (index, element) in elements.iter().enumerate() {
                    write!(out, "{}{element}", if index == 0 { "" } else { "," })?;
                }
                out.write_char(']')
            }
            Json::Object(members) => {
                out.write_char('{')?;
                for (index, (key, value)) in members.iter().enumerate() {
                    out.write_str(if index == 0 { "" } else { "," })?;
                    write_text(out, key)?;
                    write!(out, ":{value}")?;
                }
                out.write_char('}')
            }
        }
    }
}

fn write_text(out: &mut Formatter, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\0'..='\x1f' => write!(out, "\\u{:04x}", letter as u32)?,
            _ => out.write_char(letter)?,
        }
    }
    out.write_char('"')
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    fn refuse<T>(&self, expected: &str) -> Result<T, String> {
        let got = self.peek().map_or("the end".into(), |letter| format!("{letter:?}"));
        Err(format!("expected {expected} at byte {}, got {got}", self.at))
    }

    /// Skips space and the letter, if that comes next.
    fn skip(&mut self, letter: char) -> bool {
        self.space();
        let found = self.peek() == Some(letter);
        self.at += if found { letter.len_utf8() } else { 0 };
        found
    }

    fn need(&mut self, letter: char) -> Result<(), String> {
        match self.skip(letter) {
            true => Ok(()),
            false => self.refuse(&format!("{letter:?}")),
        }
    }

    fn value(&mut self) -> Result<Json, String> {
        self.space();
        match self.peek() {
            Some('{') => self.members(),
            Some('[') => self.elements(),
            Some('"') => Ok(Json::Text(self.string()?)),
            Some('-' | '0'..='9') => self.figure(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, String> {
        let words = [("null", Json::Null), ("true", true.into()), ("false", false.into())];
        for (word, value) in words {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.refuse("a value")
    }

    fn figure(&mut self) -> Result<Json, String> {
        let rest = &self.text[self.at..];
        let is_other = |letter: char| !matches!(letter, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
        let end = rest.find(is_other).unwrap_or(rest.len());
        match rest[..end].parse() {
            Ok(number) => {
                self.at += end;
                Ok(Json::Number(number))
            }
            Err(_) => self.refuse("a number"),
        }
    }

    fn elements(&mut self) -> Result<Json, String> {
        self.need('[')?;
        let mut elements = Vec::new();
        if self.skip(']') {
            return Ok(Json::List(elements));
        }
        loop {
            elements.push(self.value()?);
            if !self.skip(',') {
                self.need(']')?;
                return Ok(Json::List(elements));
            }
        }
    }

    fn members(&mut self) -> Result<Json, String> {
        self.need('{')?;
        let mut members = BTreeMap::new();
        if self.skip('}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.need(':')?;
            members.insert(key, self.value()?);
            if !self.skip(',') {
                self.need('}')?;
                return Ok(Json::Object(members));
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.need('"')?;
        let mut text = String::new();
        loop {
            match self.take() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape()?),
                Some(letter) => text.push(letter),
                None => return self.refuse("the end of a text"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        match self.take() {
            Some('b') => Ok('\x08'),
            Some('f') => Ok('\x0c'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some(letter @ ('"' | '\\' | '/')) => Ok(letter),
            Some('u') => {
                let mut units = vec![self.unit()?];
                if (0xd800..0xdc00).contains(&units[0]) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    units.push(self.unit()?);
                }
                let letter = char::decode_utf16(units).next().and_then(Result::ok);
                Ok(letter.unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            _ => self.refuse("an escape"),
        }
    }

    fn unit(&mut self) -> Result<u16, String> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or("");
        match u16::from_str_radix(digits, 16) {
            Ok(unit) => {
                self.at += 4;
                Ok(unit)
            }
            Err(_) => self.refuse("four hexadecimal digits"),
        }
    }
}
