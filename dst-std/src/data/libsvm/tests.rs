use super::*;

fn read(text: &str) -> Result<Examples, String> {
    read_libsvm(text.as_bytes(), "t").map_err(|error| error.to_string())
}

/// Label and (index, value) of every row, as the file has them.
fn rows(text: &str) -> Vec<(f64, Vec<(u32, f64)>)> {
    let examples = read(text).unwrap();
    assert_eq!(examples.labels.len(), examples.rows.rows());
    let features = |i: usize| {
        let row = examples.rows.row(i);
        let value = |k: usize| row.values.map_or(1.0, |values| values[k]);
        let entry = |(k, &j): (usize, &u32)| (j + 1, value(k));
        row.indices.iter().enumerate().map(entry).collect()
    };
    let labels = examples.labels.iter().enumerate();
    labels.map(|(i, &label)| (label, features(i))).collect()
}

#[test]
fn reads_what_the_tools_write() {
    let expected = vec![
        (-1.0, vec![(3, 1.0), (11, 1.0)]),
        (1.0, vec![]),
        (2.5, vec![(1, -0.5), (7, 1e-3)]),
    ];
    assert_eq!(rows("-1 3:1 11:1 \n+1 \n2.5 1:-.5 7:1e-3\n"), expected);
    for text in [
        "-1 3:1 11:1\r\n+1\r\n2.5 1:-.5 7:1e-3\r\n",
        "-1 3:1 11:1\n+1\n2.5 1:-.5 7:1e-3",
        "-1 3:1 11:1\n+1\n2.5 1:-.5 7:1e-3\r",
        "  -1\t3:1  11:1\n\n# nothing\n+1 # a comment 1:1\n \t\n2.5 1:-.5 7:1e-3#x",
        "-1 qid:3 3:1 11:1\n+1 qid:3\n2.5 qid:99999999999999999999 1:-.5 7:1e-3",
    ] {
        assert_eq!(rows(text), expected, "{text}");
    }
    assert!(rows("").is_empty() && rows("\n \n#\n\r\n").is_empty());
}

#[test]
fn gaps_zeros_and_large_indices() {
    let examples = read("1 1:1 4294967295:0\n-1 5:1").unwrap();
    assert_eq!(examples.rows.columns(), u32::MAX as usize);
    assert_eq!(examples.rows.nonzeros(), 3);
    assert_eq!(examples.rows.row(0).values, Some(&[1.0, 0.0][..]));
}

#[test]
fn refuses_with_line_and_column() {
    for (text, expected) in [
        ("1 1:1\n1 0:1", "t:2:3: index 0 (LIBSVM indices start at 1)"),
        (
            "1 3:1 2:1",
            "t:1:7: index 2 after 3 (indices must increase)",
        ),
        ("1 3:1 3:1", "t:1:7: index 3 comes twice"),
        (
            "1 4294967296:1",
            "t:1:3: index 4294967296 is above 4294967295",
        ),
        (
            "1 99999999999999999999999:1",
            "t:1:3: index 99999999999999999999999 is above 4294967295",
        ),
        ("1 -3:1", "t:1:3: index '-3:1' is not a whole number"),
        ("1 1.5:1", "t:1:3: index '1.5:1' is not a whole number"),
        ("1 :1", "t:1:3: index ':1' is not a whole number"),
        ("1 7", "t:1:3: '7' has no value (index:value is expected)"),
        (
            "1 7 :1",
            "t:1:3: '7' has no value (index:value is expected)",
        ),
        ("1 7:", "t:1:5: value '' is not a finite number"),
        ("1 7: 1", "t:1:5: value '' is not a finite number"),
        ("1 7:1x", "t:1:5: value '1x' is not a finite number"),
        ("1 7:1:2", "t:1:5: value '1:2' is not a finite number"),
        ("1 7:nan", "t:1:5: value 'nan' is not a finite number"),
        ("1 7:-inf", "t:1:5: value '-inf' is not a finite number"),
        ("1 7:1e999", "t:1:5: value '1e999' is not a finite number"),
        ("1 7:0x1p3", "t:1:5: value '0x1p3' is not a finite number"),
        ("\n\nnan 1:1", "t:3:1: label 'nan' is not a finite number"),
        ("1,3 1:1", "t:1:1: label '1,3' is not a finite number"),
        ("1:1 2:1", "t:1:1: label '1:1' is not a finite number"),
        ("1\r2\n", "t:1:2: a carriage return inside a line"),
        (
            "1 1:1 qid:3",
            "t:1:7: 'qid:3' is not qid:NUMBER behind a label",
        ),
        (
            "1 qid: 1:1",
            "t:1:3: 'qid:' is not qid:NUMBER behind a label",
        ),
        (
            "1 qid:1 qid:2",
            "t:1:9: 'qid:2' is not qid:NUMBER behind a label",
        ),
        (
            "\u{feff}1 1:1",
            "t:1:1: label '\\xef\\xbb\\xbf1' is not a finite number",
        ),
        (
            "\0\u{1}\u{2}",
            "t:1:1: label '\\x00\\x01\\x02' is not a finite number",
        ),
    ] {
        assert_eq!(read(text).unwrap_err(), expected, "{text:?}");
    }
}

/// Words are bounded, lines and comments are not.
#[test]
fn long_lines_do_not_need_a_large_window() {
    let around = TOKEN - 6..=TOKEN;
    for count in around.chain([2 * TOKEN, 300_000, 1_000_000]) {
        let zeros = "0".repeat(count);
        for (before, word) in [
            ("", zeros.clone()),
            ("1 ", format!("{zeros}1:1")),
            ("1 ", format!("{zeros}1:2")),
            ("1 ", format!("1:{zeros}")),
            ("1 ", format!("qid:{zeros}")),
        ] {
            for after in ["", "\n", " 2:1\n"] {
                let answer = read(&format!("{before}{word}{after}"));
                let case = format!("{before}{} bytes{after:?}", word.len());
                assert_eq!(answer.is_err(), word.len() >= TOKEN, "{case}: {answer:?}");
                if let Err(error) = answer {
                    let words = "a word of 1024 bytes or more";
                    assert!(error.ends_with(words), "{case}: {error}");
                }
            }
        }
        let blank = " ".repeat(count);
        assert_eq!(
            rows(&format!("1{blank}1:1{blank}2:3#{blank}\n{blank}-1{blank}")),
            [(1.0, vec![(1, 1.0), (2, 3.0)]), (-1.0, vec![]),]
        );
        let error = read(&format!("1\n1{blank}0:1")).unwrap_err();
        assert_eq!(
            error,
            format!("t:2:{}: index 0 (LIBSVM indices start at 1)", count + 2)
        );
    }
}

/// A reader that gives one byte at a time changes nothing.
#[test]
fn pieces_of_any_size() {
    struct Drip<'a>(&'a [u8], usize);
    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }
    let mut text = String::new();
    for i in 0..3000 {
        text += &format!("{} {}:1 {}:{}\r\n", i % 2, i + 1, i + 2, f64::from(i) / 8.0);
    }
    let whole = read(&text).unwrap();
    for size in [1, 7, TOKEN - 1, TOKEN, 100_000] {
        assert_eq!(
            read_libsvm(Drip(text.as_bytes(), size), "t").unwrap(),
            whole
        );
    }
    text += "1 0:1";
    let error = read_libsvm(Drip(text.as_bytes(), 11), "t").unwrap_err();
    assert!(
        error.to_string().starts_with("t:3001:3: index 0"),
        "{error}"
    );
}

#[test]
fn a_missing_file_is_named() {
    let error = read_libsvm_file(Path::new("no/such/file")).unwrap_err();
    assert!(error.to_string().starts_with("no/such/file: "), "{error}");
}

/// Whatever the bytes, the reader answers: rows that obey the rules, or an error inside the text.
fn survives(bytes: &[u8]) {
    match read_libsvm(bytes, "t") {
        Ok(examples) => {
            let rows = &examples.rows;
            assert_eq!(examples.labels.len(), rows.rows());
            assert!(examples.labels.iter().all(|label| label.is_finite()));
            let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
            assert!(rows.rows() <= lines && rows.nonzeros() <= bytes.len() / 3);
            for row in rows.iter() {
                assert!(row.indices.windows(2).all(|pair| pair[0] < pair[1]));
                assert!(row.indices.iter().all(|&j| (j as usize) < rows.columns()));
                let values = row.values.unwrap_or_default();
                assert!(values.iter().all(|value| value.is_finite()));
            }
        }
        Err(ReadError::Syntax { line, column, .. }) => {
            let line = bytes.split(|&byte| byte == b'\n').nth(line as usize - 1);
            let length = line.expect("a line of the text").len() as u64;
            assert!((1..=length + 1).contains(&column), "{column} of {length}");
        }
        Err(error) => panic!("{error}"),
    }
}

/// A stream of random numbers below a bound.
struct Dice(u64, u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.1 += 1;
        (crate::random::uniform(self.0, self.1) * below as f64) as usize
    }
}

/// A line that the tools could have written, now and then with something odd in it.
fn line(dice: &mut Dice) -> String {
    const LABELS: [&str; 6] = ["+1", "-1", "0", "2.5", "1e3", " 7"];
    const VALUES: [&str; 8] = [
        "1",
        "0",
        "-1.5",
        "1e-300",
        ".5",
        "123456789012345678901",
        "2.",
        "1E+2",
    ];
    const ENDS: [&str; 6] = ["\n", "\r\n", " \n", "\t\n", " # note\n", "\n\n"];
    let mut text = LABELS[dice.roll(6)].to_owned();
    if dice.roll(8) == 0 {
        text += " qid:3";
    }
    let mut index = 0;
    for _ in 0..dice.roll(6) {
        let gap = if dice.roll(9) == 0 { 700_000_000 } else { 9 };
        index += 1 + dice.roll(gap);
        text += &format!(
            "{}{index}:{}",
            [" ", "  ", "\t"][dice.roll(3)],
            VALUES[dice.roll(8)]
        );
    }
    text + ENDS[dice.roll(6)]
}

/// Rounds of the fuzz test; set `DST_FUZZ` for a long run.
fn rounds() -> u64 {
    let asked = std::env::var("DST_FUZZ").ok();
    asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(3000)
}

#[test]
fn random_bytes_and_mutated_files() {
    const ALPHABET: &[u8] = b"0123456789+-.:eE \t\r\n#qidnaf\0\xff,x";
    for round in 0..rounds() {
        let mut dice = Dice(round, 0);
        let good: String = (0..dice.roll(8)).map(|_| line(&mut dice)).collect();
        // What the tools write is read, as many rows as there are labels.
        let labels = good.lines().filter(|line| !line.trim().is_empty()).count();
        let examples = read(&good).unwrap_or_else(|error| panic!("{error}: {good:?}"));
        assert_eq!(examples.labels.len(), labels, "{good:?}");
        let mut bytes = good.into_bytes();
        for _ in 0..1 + dice.roll(4) {
            let at = dice.roll(bytes.len() + 1);
            let new = ALPHABET[dice.roll(ALPHABET.len())];
            match dice.roll(4) {
                0 => bytes.insert(at, new),
                1 if at < bytes.len() => bytes[at] = new,
                2 if at < bytes.len() => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
            survives(&bytes);
        }
        let noise = (0..dice.roll(60)).map(|_| ALPHABET[dice.roll(ALPHABET.len())]);
        survives(&noise.collect::<Vec<u8>>());
        let junk: Vec<u8> = (0..dice.roll(60)).map(|_| dice.roll(256) as u8).collect();
        survives(&junk);
    }
}
