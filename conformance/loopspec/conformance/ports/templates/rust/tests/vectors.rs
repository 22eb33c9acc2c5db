//! The loop against recorded vectors, in this process: no judge and no Python is needed.
//!
//! `vectors.json` holds scenarios as commands, and what the specification answers to each. The
//! file comes from `loopspec vectors`; write it anew when you move to a newer contract.

use port::adapter::CAPABILITIES;
use port::json::Json;
use port::protocol::Port;

/// Whether all that a vector needs is declared.
fn is_declared(vector: &Json) -> bool {
    vector.get("needs").list().iter().all(|need| CAPABILITIES.contains(&need.text()))
}

/// An answer without what it leaves open: keys that are null, and those that may be missing.
fn told(value: Json) -> Json {
    match value {
        Json::Object(members) => Json::Object(
            members
                .into_iter()
                .filter(|(key, value)| *value != Json::Null && key != "folded")
                .map(|(key, value)| (key, told(value)))
                .collect(),
        ),
        Json::List(elements) => Json::List(elements.into_iter().map(told).collect()),
        other => other,
    }
}

/// Plays a vector; an error says what came instead.
fn play(vector: &Json) -> Result<(), String> {
    let mut port = Port::default();
    let talk = vector.get("commands").list().iter().zip(vector.get("answers").list());
    for (command, expected) in talk {
        let got = told(port.answer_to(command)?);
        if got != *expected {
            return Err(format!("at {command}\n  expected {expected}\n  got      {got}"));
        }
    }
    Ok(())
}

#[test]
fn each_vector_has_the_answers_of_the_specification() {
    let text = include_str!("../vectors.json");
    let document = Json::parse(text).expect("vectors.json is JSON");
    let mut failures = String::new();
    let mut played = 0;
    for vector in document.get("vectors").list().iter().filter(|vector| is_declared(vector)) {
        played += 1;
        if let Err(how) = play(vector) {
            let (name, title) = (vector.get("name").text(), vector.get("title").text());
            failures += &format!("\n{name}: {title}\n  {} {how}", vector.get("rules"));
        }
    }
    assert!(failures.is_empty(), "{failures}");
    let rows = document.get("minimum").list().iter().filter(|row| is_declared(row));
    assert_eq!(rows.map(|row| row.get("vectors").number()).sum::<u64>(), played);
    assert!(played > 0);
}
