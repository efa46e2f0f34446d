//! A small judge of markup: every tag is closed, in order, and no text holds a bare `<` or `&`.

/// Elements that HTML closes by itself.
const VOID: [&str; 5] = ["meta", "br", "hr", "link", "img"];

/// Checks that this is balanced. The error says where it is not.
#[allow(unreachable_pub)] // The unit tests of the library include this file as a private module.
pub fn check(markup: &str) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    let mut rest = markup;
    while let Some(start) = rest.find('<') {
        text(&rest[..start])?;
        rest = &rest[start + 1..];
        let end = rest.find('>').ok_or("a tag is not ended")?;
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if tag.contains('<') {
            return Err(format!("a tag inside a tag: <{tag}>"));
        }
        if !tag.matches('"').count().is_multiple_of(2) {
            return Err(format!("a quote is not ended: <{tag}>"));
        }
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == name => {}
                last => return Err(format!("</{name}> closes {last:?}")),
            }
            continue;
        }
        let name = tag.split([' ', '/', '\n']).next().unwrap_or("");
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("no name: <{tag}>"));
        }
        if name == "style" || name == "script" {
            let close = format!("</{name}>");
            let end = rest.find(&close).ok_or("a style or script is not ended")?;
            rest = &rest[end + close.len()..];
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    text(rest)?;
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("left open: {open:?}"))
    }
}

fn text(text: &str) -> Result<(), String> {
    for (i, _) in text.match_indices('&') {
        let entity = text[i + 1..].split(';').next().unwrap_or("");
        let known = ["amp", "lt", "gt", "quot", "#39"].contains(&entity);
        if !known {
            return Err(format!("a bare & before '{entity}'"));
        }
    }
    Ok(())
}
