//! Plain text on its way into SVG and HTML.

/// `text` with everything escaped that means something in markup, also inside quoted attributes.
///
/// Control characters are not allowed in XML at all, not even escaped; they become the replacement character.
pub(super) fn escape(text: &str) -> String {
    let mut to = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\'' => to.push_str("&#39;"),
            '\t' | '\n' => to.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => to.push('\u{fffd}'),
            c => to.push(c),
        }
    }
    to
}

/// A coordinate with two decimals at most: a hundredth of a pixel, and the same text everywhere.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

/// The width of `text` in a common sans-serif font, a little on the generous side.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let em: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.28,
            'f' | 't' | 'r' | ' ' | '(' | ')' | '-' | '/' => 0.36,
            'm' | 'M' | 'w' | 'W' | '%' => 0.88,
            'A'..='Z' => 0.70,
            _ => 0.57,
        })
        .sum();
    em * size
}

/// `text` in lines no wider than `room`, broken between words; a longer word has a line of its own.
pub(super) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + 0.36 * size <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_acts_as_markup() {
        assert_eq!(
            escape("<a href=\"x\">R&D's</a>"),
            "&lt;a href=&quot;x&quot;&gt;R&amp;D&#39;s&lt;/a&gt;"
        );
        assert_eq!(
            escape("θ ≤ 1\u{0}\u{1b}[0m\n"),
            "θ ≤ 1\u{fffd}\u{fffd}[0m\n"
        );
        assert_eq!(escape("&amp;"), "&amp;amp;");
    }

    #[test]
    fn coordinates_have_one_spelling() {
        for (value, text) in [
            (1.0, "1"),
            (-0.001, "0"),
            (0.126, "0.13"),
            (10.0, "10"),
            (-2.5, "-2.5"),
            (100.0, "100"),
        ] {
            assert_eq!(px(value), text, "{value}");
        }
    }

    #[test]
    fn lines_break_between_words() {
        let lines = wrap("relative error of the gradient", 10.0, 100.0);
        assert_eq!(lines.join(" "), "relative error of the gradient");
        assert!(lines.len() > 1);
        assert!(
            lines.iter().all(|line| width(line, 10.0) <= 100.0),
            "{lines:?}"
        );
        assert_eq!(wrap("", 10.0, 100.0), Vec::<String>::new());
        assert_eq!(wrap("incomprehensibility", 10.0, 5.0).len(), 1);
    }
}
