//! Plain English: fails on metaphors, calques and doc comments that open like a question.
//!
//! Checked are doc comments, Markdown files, the comments of `dst.h`, and the string literals of `dst-std/src`, which become
//! help texts and the page. Code is skipped: fenced blocks and text between backticks. A phrase counts across line breaks.
//!
//! A new rule is a line in [`BANNED`] or [`OPENINGS`]; a justified use is a line in [`EXCEPTIONS`], with its reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::Cargo;

/// Phrases in lower case, and the wording to use instead.
const BANNED: &[(&str, &str)] = &[
    ("workshop", "scratch, workspace"),
    ("workshops", "scratch, workspaces"),
    ("team", "batch, all starting points"),
    ("teams", "batches"),
    ("desk", "name the thing"),
    ("seat", "slot, row"),
    ("seats", "slots, rows"),
    ("office", "name the thing"),
    ("pen", "svg, writer"),
    ("lent", "borrowed, passed"),
    ("spoilt", "invalid, overwritten"),
    ("spoils", "invalidates, overwrites"),
    ("secure", "robust"),
    ("secured", "guaranteed, kept"),
    ("elsewhere", "name the place"),
    ("so many", "state the number, or 'N', 'this many'"),
    ("a great many", "state the number, or 'many'"),
    ("told", "given, set"),
    ("nobody", "name the subject; for data: held-out"),
    ("on a rise", "because f rises"),
    ("of its own accord", "automatically"),
    ("one's own", "your own, custom"),
    ("do not mind", "are not affected"),
    ("does not mind", "is not affected"),
    ("the rooms", "folders, modules"),
];

/// Words with which no doc comment begins: it begins with a noun or a verb in the third person.
const OPENINGS: &[&str] = &[
    "what", "where", "how", "who", "whose", "whom", "whether", "why", "which", "when", "asked",
    "of",
];

/// Words that open a question, and are allowed in a statement ("Does both"). A boolean is "True if …".
const QUESTIONS: &[&str] = &[
    "is", "are", "was", "were", "do", "does", "did", "has", "have", "can", "may", "must", "in",
];

/// A use of a banned phrase that is right where it stands.
struct Exception {
    /// A file, from the root of the repository.
    file: &'static str,
    phrase: &'static str,
    /// Part of the block in which it is allowed.
    within: &'static str,
    /// The justification, for readers of this list.
    #[allow(dead_code)]
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[];

/// Folders whose string literals are shown to users.
const SHOWN: &[&str] = &["dst-std/src"];

/// Folders that hold no text of ours.
const SKIPPED: &[&str] = &["target", "report", "node_modules"];

pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    let mut files = Vec::new();
    collect(cargo.root(), &mut files)?;
    files.sort();
    let (mut hits, mut blocks, mut used) = (Vec::new(), 0, vec![false; EXCEPTIONS.len()]);
    for path in &files {
        let name = path.strip_prefix(cargo.root()).unwrap_or(path);
        let name = name.to_string_lossy().replace('\\', "/");
        let Some(kind) = Kind::of(&name) else {
            continue;
        };
        let text = fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
        for block in kind.blocks(&text) {
            blocks += 1;
            for hit in block.hits() {
                match excused(&name, &block, &hit) {
                    Some(i) => used[i] = true,
                    None => hits.push(format!("{name}:{}: {}", hit.line, hit.message)),
                }
            }
        }
    }
    for (exception, used) in EXCEPTIONS.iter().zip(used) {
        if !used {
            let Exception { file, phrase, .. } = exception;
            hits.push(format!(
                "{file}: the exception for '{phrase}' matches nothing"
            ));
        }
    }
    if hits.is_empty() {
        return Ok(format!("{blocks} pieces of text"));
    }
    for hit in &hits {
        println!("{hit}");
    }
    Err(format!(
        "{} hits ({}); reword them, or add an exception with its reason to xtask/src/jobs/words.rs",
        hits.len(),
        per_folder(&hits)
    ))
}

/// The number of hits in each folder.
fn per_folder(hits: &[String]) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for hit in hits {
        let file = hit.split(':').next().unwrap_or_default();
        let folder = file.rsplit_once('/').map_or(".", |parts| parts.0);
        *counts.entry(folder).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(f, n)| format!("{f} {n}")).collect();
    counts.join(", ")
}

/// All files below a folder, hidden ones and build output left out.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        if !path.is_dir() {
            files.push(path);
        } else if !SKIPPED.contains(&name.as_ref()) || path.join("mod.rs").is_file() {
            collect(&path, files)?;
        }
    }
    Ok(())
}

/// The index of the exception that allows a hit.
fn excused(file: &str, block: &Block, hit: &Hit) -> Option<usize> {
    EXCEPTIONS.iter().position(|exception| {
        exception.file == file
            && exception.phrase == hit.phrase
            && block.text().contains(exception.within)
    })
}

/// The way in which text is taken from a file.
#[derive(Clone, Copy)]
enum Kind {
    Markdown,
    Rust { literals: bool },
    Header,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        let literals = SHOWN.iter().any(|folder| name.starts_with(folder));
        match name.rsplit_once('.')?.1 {
            "md" => Some(Self::Markdown),
            "rs" => Some(Self::Rust { literals }),
            "h" if name == "dst-core/ffi/include/dst.h" => Some(Self::Header),
            _ => None,
        }
    }

    fn blocks(self, text: &str) -> Vec<Block> {
        match self {
            Self::Markdown => markdown(text),
            Self::Header => header(text),
            Self::Rust { literals } => {
                let mut blocks = doc_comments(text);
                if literals {
                    blocks.extend(string_literals(text));
                }
                blocks
            }
        }
    }
}

/// A paragraph, a doc comment or a string, line by line with the line numbers.
#[derive(Debug, Default, PartialEq)]
struct Block {
    /// True for a doc comment, whose first word is checked.
    documents: bool,
    lines: Vec<(usize, String)>,
}

/// A violation.
#[derive(Debug)]
struct Hit {
    line: usize,
    phrase: &'static str,
    message: String,
}

impl Block {
    fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|(_, text)| text.trim()).collect();
        lines.join(" ")
    }

    /// The words with which this block must not begin.
    fn openings(&self) -> impl Iterator<Item = &'static &'static str> {
        let text = self.text();
        let asks = text
            .find(['.', '?', ';'])
            .is_some_and(|end| text[end..].starts_with('?'));
        let questions = if asks { QUESTIONS } else { &[] };
        OPENINGS.iter().chain(questions)
    }

    fn hits(&self) -> Vec<Hit> {
        let mut words = Vec::new();
        let mut in_code = false;
        for (line, text) in &self.lines {
            words.extend(words_of(text, &mut in_code).map(|word| (*line, word)));
        }
        let mut hits = Vec::new();
        for &(phrase, instead) in BANNED {
            let wanted: Vec<&str> = phrase.split(' ').collect();
            for found in words.windows(wanted.len()) {
                if found.iter().map(|(_, word)| word).eq(&wanted) {
                    let message = format!("'{phrase}' (instead: {instead})");
                    let line = found[0].0;
                    hits.push(Hit {
                        line,
                        phrase,
                        message,
                    });
                }
            }
        }
        let first = words.first().filter(|_| self.documents);
        if let Some((line, word)) = first
            && self.text().starts_with(|c: char| c.is_alphabetic())
            && let Some(&phrase) = self.openings().find(|&opening| opening == word)
        {
            let message = format!("a doc comment that begins with '{phrase}'");
            hits.push(Hit {
                line: *line,
                phrase,
                message,
            });
        }
        hits
    }
}

/// The words of a line in lower case, without text between backticks; `in_code` goes from line to line.
fn words_of(line: &str, in_code: &mut bool) -> impl Iterator<Item = String> {
    let mut plain = String::new();
    for c in line.chars() {
        if c == '`' {
            *in_code = !*in_code;
            // Keeps the words on both sides of the code apart.
            plain.push_str(" _ ");
        } else if !*in_code {
            plain.extend(c.to_lowercase());
        }
    }
    let words: Vec<String> = plain
        .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words.into_iter()
}

/// Paragraphs of a Markdown file, without fenced code. A table row or list item is a paragraph.
fn markdown(text: &str) -> Vec<Block> {
    let (mut blocks, mut open, mut fenced) = (Vec::new(), Block::default(), false);
    for (i, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let fence = bare.starts_with("```");
        let apart = bare.is_empty() || bare.starts_with(['|', '#', '-', '<']) || fence;
        if apart && !open.lines.is_empty() {
            blocks.push(std::mem::take(&mut open));
        }
        if fence {
            fenced = !fenced;
        } else if !fenced && !bare.is_empty() {
            open.lines.push((i + 1, bare.to_owned()));
        }
    }
    if !open.lines.is_empty() {
        blocks.push(open);
    }
    blocks
}

/// Doc comments of a Rust file, without fenced code.
fn doc_comments(text: &str) -> Vec<Block> {
    let (mut blocks, mut open, mut fenced) = (Vec::new(), Block::default(), false);
    for (i, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let comment = ["///", "//!"]
            .iter()
            .find_map(|mark| bare.strip_prefix(mark))
            .filter(|rest| !rest.starts_with('/'));
        let Some(comment) = comment.map(str::trim) else {
            if !open.lines.is_empty() {
                blocks.push(std::mem::take(&mut open));
            }
            fenced = false;
            continue;
        };
        if comment.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            open.documents = true;
            open.lines.push((i + 1, comment.to_owned()));
        }
    }
    if !open.lines.is_empty() {
        blocks.push(open);
    }
    blocks
}

/// Comments of a C header.
fn header(text: &str) -> Vec<Block> {
    let (mut blocks, mut open, mut inside) = (Vec::new(), Block::default(), false);
    for (i, line) in text.lines().enumerate() {
        let mut rest = line;
        loop {
            if !inside {
                let Some((_, comment)) = rest.split_once("/*") else {
                    break;
                };
                (inside, rest) = (true, comment.trim_start_matches('*'));
                open.documents = true;
            }
            let (body, after) = match rest.split_once("*/") {
                Some((body, after)) => (body, Some(after)),
                None => (rest, None),
            };
            let body = body.trim().trim_start_matches('*').trim();
            if !body.is_empty() {
                open.lines.push((i + 1, body.to_owned()));
            }
            let Some(after) = after else {
                break;
            };
            blocks.push(std::mem::take(&mut open));
            (inside, rest) = (false, after);
        }
    }
    blocks
}

/// String literals of a Rust file up to its tests, each a block; comments and characters are passed over.
fn string_literals(text: &str) -> Vec<Block> {
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let mut blocks = Vec::new();
    let (mut line, mut rest) = (1, text);
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some((open, close)) = raw_quotes(rest) {
            let end = rest[open..].find(&close).map_or(rest.len(), |at| open + at);
            blocks.push(literal(&rest[open..end], line));
            (end + close.len()).min(rest.len())
        } else if c == '"' {
            let end = closing_quote(&rest[1..]).map_or(rest.len(), |at| at + 1);
            blocks.push(literal(&rest[1..end], line));
            (end + 1).min(rest.len())
        } else if c == '\'' {
            character(rest)
        } else if c.is_alphanumeric() || c == '_' {
            // A whole identifier, so that its last letter is not taken for the r of a raw string.
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            end.unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    blocks
}

/// The length of the opening of a raw string, and what closes it.
fn raw_quotes(text: &str) -> Option<(usize, String)> {
    let bare = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = bare.len() - bare.trim_start_matches('#').len();
    let open = text.len() - bare.len() + hashes + 1;
    (bare[hashes..].starts_with('"')).then(|| (open, format!("\"{}", "#".repeat(hashes))))
}

/// The place of the quote that ends a string.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// The length of a character literal, or 1 for the mark of a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => text[2..].find('\'').map_or(1, |at| {
            // '\'' holds a quote itself.
            if at == 0 { 4 } else { at + 3 }
        }),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

fn literal(text: &str, first: usize) -> Block {
    let lines = text.lines().enumerate();
    Block {
        documents: false,
        lines: lines
            .map(|(i, line)| (first + i, line.replace("\\n", " ")))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Kind, doc_comments, header, markdown, string_literals};

    /// Line and phrase of every hit.
    fn found(blocks: &[Block]) -> Vec<(usize, &'static str)> {
        let hits = blocks.iter().flat_map(Block::hits);
        hits.map(|hit| (hit.line, hit.phrase)).collect()
    }

    #[test]
    fn a_phrase_is_found_across_lines_and_not_inside_words_or_code() {
        let text = "One is after so\nmany steps.\n\n`so many`, desktop, steamed\n```\ntold\n```\n| Told | x |\n";
        assert_eq!(found(&markdown(text)), [(1, "so many"), (8, "told")]);
    }

    #[test]
    fn a_doc_comment_does_not_open_like_a_question() {
        let text = [
            "//! What it is.",
            "",
            "/// The value.",
            "/// What follows is text.",
            "fn f() {}",
            "// How it works",
            "/// Is it so? Or not.",
            "fn g() {}",
            "/// `is` it?",
            "fn h() {}",
            "/// ```",
            "/// how();",
            "/// ```",
            "/// Where.",
            "fn i() {}",
            "/// Does both. Why?",
        ];
        let hits = found(&doc_comments(&text.join("\n")));
        assert_eq!(hits, [(1, "what"), (7, "is"), (14, "where")]);
    }

    #[test]
    fn strings_are_read_and_comments_characters_and_lifetimes_are_not() {
        let text = "fn f<'a>(x: &'a str) -> char {\n    // \"told\n    let quote = '\"';\n    let other = '\\'';\n    \
            print(\"nobody \\\" knows\");\n    print(r#\"a \"desk\" here\"#);\n    let here = \"one\n  so \\\n  many\";\n}\n\
            #[cfg(test)]\nmod tests {\n    const X: &str = \"told\";\n}\n";
        let hits = found(&string_literals(text));
        assert_eq!(hits, [(5, "nobody"), (6, "desk"), (8, "so many")]);
    }

    #[test]
    fn comments_of_a_header_are_read() {
        let text = "/**\n * How it is.\n */\nint told(void); /* is told */\nint x;\n";
        assert_eq!(found(&header(text)), [(2, "how"), (4, "told")]);
    }

    #[test]
    fn files_are_read_by_their_kind() {
        assert!(matches!(Kind::of("README.md"), Some(Kind::Markdown)));
        let rust = |name| matches!(Kind::of(name), Some(Kind::Rust { literals: true }));
        assert!(rust("dst-std/src/cli/tune.rs") && !rust("xtask/src/main.rs"));
        assert!(Kind::of("dst-std/assets/a.safetensors").is_none());
        assert!(Kind::of("tests/c/check.h").is_none());
    }
}
