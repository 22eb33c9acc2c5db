//! Answers commands on its standard input, one JSON object a line.

use std::io::{stdin, stdout};

fn main() -> std::io::Result<()> {
    port::protocol::serve(&mut stdin().lock(), &mut stdout().lock())
}
