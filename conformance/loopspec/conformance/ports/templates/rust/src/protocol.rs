//! The port protocol: JSON lines in, one JSON line out for each. Nothing here knows your loop.
//!
//! The judge sends a command and waits; the port answers when its loop has come to rest, with
//! everything that was seen on the way. Calls that the judge wants made *inside* a delivery, or
//! some ticks behind it, come with the reset as hooks and are made here.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Result as IoResult, Write};

use crate::adapter::{self, Loop};
use crate::json::{object, Json};
use crate::toy::Ears;

const PROTOCOL: u64 = 1;
const CONTRACT: u64 = 1;

/// Why a call gave no value.
#[derive(Debug)]
pub enum Failure {
    /// The loop refused it, with a code of the contract; the judge expects that of some calls.
    Refused(String),
    /// The adapter was asked for something that it has not declared; one sentence.
    CannotDo(String),
}

/// One adapter behind the protocol: a command comes in, an answer goes out.
#[derive(Default)]
pub struct Port {
    agent: Loop,
    talk: Talk,
}

/// What was seen since the last answer, and the calls that wait for something to be seen.
#[derive(Default)]
struct Talk {
    trace: Vec<Json>,
    hooks: Vec<Json>,
    later: Vec<(u64, Json)>,
    seen: HashMap<(String, String), u64>,
    /// What a hook could not do.
    failure: Option<String>,
}

impl Port {
    /// Does what a command asks. The answer is an object without its `seq`; an error one sentence.
    pub fn answer_to(&mut self, command: &Json) -> Result<Json, String> {
        match command.get("do").text() {
            "hello" => Ok(welcome()),
            "batch" => {
                let reports: Result<Vec<Json>, String> =
                    command.get("commands").list().iter().map(|each| self.done(each)).collect();
                Ok(object([("answers", reports?.into())]))
            }
            "bye" => Ok(object([("bye", true.into())])),
            _ => self.done(command),
        }
    }

    /// Does one command until the loop is at rest, and reports.
    fn done(&mut self, command: &Json) -> Result<Json, String> {
        self.talk.trace.clear();
        let mut open = true;
        match command.get("do").text() {
            "reset" => {
                self.agent = adapter::reset(command.get("held").list()).map_err(sentence_of)?;
                let hooks = command.get("hooks").list().to_vec();
                self.talk = Talk { hooks, ..Talk::default() };
            }
            "answer" => open = self.give(command).map_err(sentence_of)?,
            _ => self.talk.call(&mut self.agent, command),
        }
        if open {
            self.settle();
        }
        if let Some(sentence) = self.talk.failure.take() {
            return Err(sentence);
        }
        let [next_turn, next_step, status, gates] = adapter::state(&self.agent);
        let trace = ("trace", self.talk.trace.clone().into());
        Ok(object([trace, next_turn, next_step, status, gates, ("open", open.into())]))
    }

    /// Answers a gate; calls that wait for this answer come before the loop acts on it.
    fn give(&mut self, command: &Json) -> Result<bool, Failure> {
        let open = adapter::answer(&mut self.agent, command)?;
        if open {
            let at = format!("{} answer", command.get("gate").text());
            self.talk.come(&mut self.agent, &at, "");
        }
        Ok(open)
    }

    /// Ticks until nothing is left to do; calls that are due go between two ticks.
    fn settle(&mut self) {
        loop {
            let (due, rest): (Vec<_>, Vec<_>) =
                self.talk.later.drain(..).partition(|(ticks, _)| *ticks <= 1);
            self.talk.later = rest.into_iter().map(|(ticks, hook)| (ticks - 1, hook)).collect();
            for (_, hook) in &due {
                self.talk.make(&mut self.agent, hook);
            }
            if due.is_empty()
                && !adapter::tick(&mut self.agent, &mut self.talk)
                && self.talk.later.is_empty()
            {
                return;
            }
        }
    }
}

impl Ears for Talk {
    /// Writes down what the loop does; calls that wait for it are made inside this delivery.
    fn hears(&mut self, agent: &mut Loop, name: &str, by: &str, values: &Json) {
        let mut entry = match values {
            Json::Object(members) => members.clone(),
            _ => BTreeMap::new(),
        };
        entry.insert("saw".into(), name.into());
        if !by.is_empty() {
            entry.insert("by".into(), by.into());
        }
        self.trace.push(Json::Object(entry));
        self.come(agent, name, by);
    }
}

impl Talk {
    /// Something came for the n-th time: calls that wait for that are made, or begin to count.
    fn come(&mut self, agent: &mut Loop, at: &str, by: &str) {
        let count = self.seen.entry((at.into(), by.into())).or_default();
        *count += 1;
        let moment = (at, by, *count);
        let (due, rest): (Vec<Json>, Vec<Json>) = self.hooks.drain(..).partition(|hook| {
            (hook.get("at").text(), hook.get("by").text(), hook.get("n").number()) == moment
        });
        self.hooks = rest;
        let (now, later): (Vec<Json>, Vec<Json>) =
            due.into_iter().partition(|hook| hook.get("k").number() == 0);
        self.later.extend(later.into_iter().map(|hook| (hook.get("k").number(), hook)));
        for hook in &now {
            self.make(agent, hook);
        }
    }

    /// Makes the call of a hook here.
    fn make(&mut self, agent: &mut Loop, hook: &Json) {
        self.trace.push(object([("saw", "made".into()), ("hook", hook.get("hook").clone())]));
        self.call(agent, hook.get("call"));
    }

    /// Makes a call where the loop is now, and tells what came back.
    fn call(&mut self, agent: &mut Loop, command: &Json) {
        let (value, raised) = match adapter::call(agent, command, self) {
            Ok(value) => (value, Json::Null),
            Err(Failure::Refused(code)) => (Json::Null, code.as_str().into()),
            Err(Failure::CannotDo(sentence)) => {
                self.failure = Some(sentence);
                return;
            }
        };
        self.trace.push(object([
            ("saw", "return".into()),
            ("call", command.get("do").clone()),
            ("value", value),
            ("raised", raised),
        ]));
    }
}

fn sentence_of(failure: Failure) -> String {
    match failure {
        Failure::Refused(code) => format!("the loop refused: {code}"),
        Failure::CannotDo(sentence) => sentence,
    }
}

/// Who we are, and what we can do.
fn welcome() -> Json {
    object([
        ("protocol", PROTOCOL.into()),
        ("contract", CONTRACT.into()),
        ("name", adapter::NAME.into()),
        ("version", adapter::VERSION.into()),
        ("language", adapter::LANGUAGE.into()),
        ("profile", adapter::PROFILE.into()),
        ("capabilities", adapter::CAPABILITIES.to_vec().into()),
        ("sum", true.into()),
    ])
}

/// Answers commands until `bye` or the end of the input.
pub fn serve(commands: &mut dyn BufRead, answers: &mut dyn Write) -> IoResult<()> {
    let mut port = Port::default();
    for line in commands.lines() {
        let command = Json::parse(&line?);
        let seq = command.as_ref().map_or(0, |command| command.get("seq").number());
        let asked = command.as_ref().map_or("", |command| command.get("do").text());
        let answer = match &command {
            Ok(command) => port.answer_to(command),
            Err(sentence) => Err(sentence.clone()),
        };
        let answer = answer.unwrap_or_else(|failed| object([("failed", failed.as_str().into())]));
        answers.write_all(line_of(seq, &answer, asked != "hello").as_bytes())?;
        answers.flush()?;
        if asked == "bye" {
            break;
        }
    }
    Ok(())
}

/// An answer as it is sent, with a checksum at its end, so that no damaged line is believed. The
/// welcome announces the checksum and has none.
fn line_of(seq: u64, answer: &Json, sum: bool) -> String {
    let text = answer.to_string();
    let body = format!("{{\"seq\":{seq},{}", &text[1..text.len() - 1]);
    match sum {
        true => format!("{body},\"sum\":\"{:08x}\"}}\n", crc32(body.as_bytes())),
        false => format!("{body}}}\n"),
    }
}

/// The CRC-32 that zlib and PNG use.
fn crc32(bytes: &[u8]) -> u32 {
    let mut rest = !0;
    for byte in bytes {
        rest ^= u32::from(*byte);
        for _ in 0..8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0xedb8_8320 } else { rest >> 1 };
        }
    }
    !rest
}
