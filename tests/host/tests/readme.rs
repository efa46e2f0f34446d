//! Quotes in the README come from files that are compiled and run: a block of code that begins with the name of a file is a part of it, line
//! by line. `…` stands for lines left out.

use std::path::Path;

/// The blocks of code of a page.
fn blocks(page: &str) -> Vec<Vec<&str>> {
    let (mut blocks, mut open) = (Vec::new(), None::<Vec<&str>>);
    for line in page.lines() {
        match (&mut open, line.starts_with("```")) {
            (None, true) => open = Some(Vec::new()),
            (Some(_), true) => blocks.extend(open.take()),
            (Some(block), false) => block.push(line),
            (None, false) => {}
        }
    }
    blocks
}

/// Succeeds if this is part of the text, but for indentation and the lines that `…` leaves out.
fn is_quoted(text: &str, quote: &[&str]) -> Result<(), String> {
    let text: Vec<&str> = text.lines().map(str::trim).collect();
    let mut from = 0;
    for piece in quote.split(|line| line.trim().starts_with('…') || line.trim() == "/* … */") {
        let piece: Vec<&str> = piece.iter().map(|line| line.trim()).collect();
        if piece.is_empty() {
            continue;
        }
        let place = text[from..].windows(piece.len()).position(|w| w == piece);
        from += place.ok_or_else(|| piece.join("\n"))? + piece.len();
    }
    Ok(())
}

#[test]
fn quotes_are_quotes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("README.md")).unwrap();
    let mut quoted = Vec::new();
    for block in blocks(&page) {
        let Some((first, quote)) = block.split_first() else {
            continue;
        };
        let name = first.trim_matches(['/', '*', ' ']);
        if !(name.ends_with(".rs") || name.ends_with(".c")) {
            continue;
        }
        let text =
            std::fs::read_to_string(root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        if let Err(piece) = is_quoted(&text, quote) {
            panic!("not in {name}, or not in this order:\n{piece}");
        }
        quoted.push(name);
    }
    // The first code that a reader meets is compiled, and its output checked with that of the other examples.
    assert_eq!(quoted.first(), Some(&"dst-core/examples/readme.rs"));
    assert!(quoted.len() >= 4, "{quoted:?}");
}

#[test]
fn a_changed_line_is_noticed() {
    let text = "fn f() {\n    let a = 1;\n    let b = 2;\n    a + b\n}\n";
    assert_eq!(is_quoted(text, &["let a = 1;", "…", "a + b"]), Ok(()));
    assert_eq!(
        is_quoted(text, &["let a = 2;"]),
        Err("let a = 2;".to_owned())
    );
    assert!(is_quoted(text, &["a + b", "…", "let a = 1;"]).is_err());
}
