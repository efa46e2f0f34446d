//! Every public item of a crate on a line of its own, with its path and its signature.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::types::{Printed, Printer, id, joined, list, sort, tagged, text, unknown};

/// The lines of a crate, in the order of their paths.
pub(super) fn lines(json: &Value) -> Result<Vec<String>, String> {
    let mut listing = Listing {
        printer: Printer { json },
        places: BTreeSet::new(),
    };
    let root = id(&json["root"]);
    let name = text(&listing.item(&root)?["name"]).to_owned();
    listing.collect(&root, &name)?;
    // An item that is exported at several places is described at the first of the shortest.
    let mut homes = BTreeMap::<&str, &str>::new();
    for (_, path, item) in &listing.places {
        homes.entry(item).or_insert(path);
    }
    let mut groups = BTreeMap::<&str, Vec<String>>::new();
    for (_, path, item) in &listing.places {
        let lines = match homes.get(item.as_str()) {
            Some(home) if home != path => vec![format!("use {path} = {home}")],
            _ => listing.describe(path, item)?,
        };
        groups.entry(path).or_default().extend(lines);
    }
    Ok(groups.into_values().flatten().collect())
}

struct Listing<'a> {
    printer: Printer<'a>,
    /// Depth of the path, path, and item.
    places: BTreeSet<(usize, String, String)>,
}

impl<'a> Listing<'a> {
    fn item(&self, item: &str) -> Result<&'a Value, String> {
        let found = self.printer.json["index"].get(item);
        found.ok_or_else(|| format!("rustdoc's JSON has no item {item}"))
    }

    /// Notes everything that can be reached through public modules and re-exports.
    fn collect(&mut self, item: &str, path: &str) -> Result<(), String> {
        let place = (path.matches("::").count(), path.to_owned(), item.to_owned());
        if !self.places.insert(place) {
            return Ok(());
        }
        if let ("module", module) = tagged(&self.item(item)?["inner"])? {
            self.collect_all(&module["items"], path)?;
        }
        Ok(())
    }

    fn collect_all(&mut self, items: &Value, path: &str) -> Result<(), String> {
        for item in list(items).iter().map(id) {
            let value = self.item(&item)?;
            let (kind, inner) = tagged(&value["inner"])?;
            if kind == "impl" {
                continue; // described with its type
            }
            if kind != "use" {
                self.collect(&item, &format!("{path}::{}", text(&value["name"])))?;
                continue;
            }
            let target = id(&inner["id"]);
            let ours = self.item(&target).ok();
            match (ours, inner["is_glob"] == true) {
                (Some(module), true) => {
                    let (_, inside) = tagged(&module["inner"])?;
                    let field = if inside["items"].is_array() {
                        "items"
                    } else {
                        "variants"
                    };
                    self.collect_all(&inside[field], path)?;
                }
                (Some(_), false) => {
                    self.collect(&target, &format!("{path}::{}", text(&inner["name"])))?;
                }
                // Of another crate: the re-export itself is listed.
                (None, _) => self.collect(&item, &format!("{path}::{}", text(&inner["name"])))?,
            }
        }
        Ok(())
    }

    fn describe(&self, path: &str, item: &str) -> Result<Vec<String>, String> {
        let value = self.item(item)?;
        let (kind, inner) = tagged(&value["inner"])?;
        let mut lines = Vec::new();
        match kind {
            "module" => lines.push(format!("mod {path}")),
            "struct" | "union" => {
                let (parameters, conditions) = self.printer.generics(&inner["generics"])?;
                let fields = self.fields(&inner["kind"])?;
                lines.push(format!(
                    "{}{kind} {path}{parameters}{fields}{conditions}",
                    openness(value)
                ));
                lines.extend(self.implementations(path, &inner["impls"])?);
            }
            "enum" => {
                let (parameters, conditions) = self.printer.generics(&inner["generics"])?;
                lines.push(format!(
                    "{}enum {path}{parameters}{conditions}",
                    openness(value)
                ));
                for variant in list(&inner["variants"]) {
                    let variant = self.item(&id(variant))?;
                    let (_, content) = tagged(&variant["inner"])?;
                    let fields = self.fields(&content["kind"])?;
                    let number = &content["discriminant"]["value"];
                    let number = number
                        .as_str()
                        .map(|n| format!(" = {n}"))
                        .unwrap_or_default();
                    let name = text(&variant["name"]);
                    lines.push(format!(
                        "variant {}{path}::{name}{fields}{number}",
                        openness(variant)
                    ));
                }
                lines.extend(self.implementations(path, &inner["impls"])?);
            }
            "trait" => {
                let (parameters, conditions) = self.printer.generics(&inner["generics"])?;
                let bounds = before(": ", self.printer.bounds(&inner["bounds"])?);
                let sort = if inner["is_unsafe"] == true {
                    "unsafe "
                } else {
                    ""
                };
                lines.push(format!(
                    "{sort}trait {path}{parameters}{bounds}{conditions}"
                ));
                for member in list(&inner["items"]) {
                    let value = self.item(&id(member))?;
                    let provided = value["inner"]["function"]["has_body"] == true;
                    let provided = if provided { "  // provided" } else { "" };
                    let path = format!("{path}::{}", text(&value["name"]));
                    lines.push(self.member(&path, value)? + provided);
                }
                let mut foreign = Vec::new();
                for implementation in list(&inner["implementations"]) {
                    let (_, implementation) = tagged(&self.item(&id(implementation))?["inner"])?;
                    if !self.is_listed(&implementation["for"]) {
                        foreign.extend(self.of_trait(implementation)?);
                    }
                }
                foreign.sort();
                lines.extend(foreign);
            }
            "macro" => {
                // Arms that begin with @ are not for users.
                let arms = text(inner).lines().map(str::trim);
                let arms = arms.filter(|arm| arm.starts_with('(') && !arm.starts_with("(@"));
                lines.extend(
                    arms.map(|arm| format!("macro {path}! {}", arm.replace(" => { ... };", ""))),
                );
            }
            "use" => lines.push(format!("use {path} = {}", text(&inner["source"]))),
            "function" | "constant" | "static" | "type_alias" => {
                lines.push(self.member(path, value)?);
            }
            _ => return Err(unknown("item", &value["inner"])),
        }
        Ok(lines)
    }

    /// A function, a constant or a type, by itself or in a trait or an `impl`.
    fn member(&self, path: &str, value: &Value) -> Printed {
        let print = &self.printer;
        let (kind, inner) = tagged(&value["inner"])?;
        let (parameters, conditions) = print.generics(&inner["generics"])?;
        let ty = || print.ty(&inner["type"]);
        Ok(match kind {
            "function" => {
                let (sort, signature) = (
                    sort(&inner["header"])?,
                    print.signature(&inner["sig"], true)?,
                );
                format!("{sort}fn {path}{parameters}{signature}{conditions}")
            }
            "constant" | "assoc_const" => format!("const {path}: {}", ty()?),
            "static" => format!("static {path}: {}", ty()?),
            "type_alias" => format!("type {path}{parameters} = {}{conditions}", ty()?),
            "assoc_type" => {
                let bounds = before(": ", print.bounds(&inner["bounds"])?);
                let default = match &inner["type"] {
                    Value::Null => String::new(),
                    _ => format!(" = {}", ty()?),
                };
                format!("type {path}{parameters}{bounds}{default}{conditions}")
            }
            _ => return Err(unknown("member", &value["inner"])),
        })
    }

    /// Fields of a struct or of a variant. `..` and `_` stand for private ones.
    fn fields(&self, value: &Value) -> Printed {
        let (kind, inner) = tagged(value)?;
        match kind {
            "unit" => Ok(String::new()),
            "tuple" => {
                let fields = joined(list(inner), ", ", |field| match field {
                    Value::Null => Ok("_".to_owned()),
                    field => self.field(field).map(|(_, ty)| ty),
                })?;
                Ok(format!("({fields})"))
            }
            "plain" if inner.is_null() => Ok(String::new()), // a variant without fields
            "plain" | "struct" => {
                let mut all = Vec::new();
                for field in list(&inner["fields"]) {
                    let (name, ty) = self.field(field)?;
                    all.push(format!("{name}: {ty}"));
                }
                if inner["has_stripped_fields"] == true {
                    all.push("..".to_owned());
                }
                Ok(format!(" {{ {} }}", all.join(", ")))
            }
            _ => Err(unknown("list of fields", value)),
        }
    }

    /// Name and type.
    fn field(&self, item: &Value) -> Result<(String, String), String> {
        let value = self.item(&id(item))?;
        let (_, ty) = tagged(&value["inner"])?;
        Ok((text(&value["name"]).to_owned(), self.printer.ty(ty)?))
    }

    /// The functions of a type, then its traits. Those that the compiler derives for every type are left out.
    fn implementations(&self, path: &str, implementations: &Value) -> Result<Vec<String>, String> {
        let (mut own, mut traits) = (Vec::new(), Vec::new());
        for implementation in list(implementations) {
            let (_, inner) = tagged(&self.item(&id(implementation))?["inner"])?;
            if !inner["trait"].is_null() {
                traits.extend(self.of_trait(inner)?);
                continue;
            }
            let (parameters, conditions) = self.printer.generics(&inner["generics"])?;
            let of = self.printer.ty(&inner["for"])?;
            for member in list(&inner["items"]) {
                let value = self.item(&id(member))?;
                let member = self.member(&format!("{path}::{}", text(&value["name"])), value)?;
                own.push(match parameters.as_str() {
                    "" => member,
                    _ => format!("{member}  // impl{parameters} {of}{conditions}"),
                });
            }
        }
        own.sort();
        traits.sort();
        own.extend(traits);
        Ok(own)
    }

    /// `impl Trait for Type { type Output = …; }`
    fn of_trait(&self, inner: &Value) -> Result<Option<String>, String> {
        let name = text(&inner["trait"]["path"]);
        let derived = inner["is_synthetic"] == true || !inner["blanket_impl"].is_null();
        if derived
            || name
                .rsplit("::")
                .next()
                .is_some_and(|n| n.starts_with("Structural"))
        {
            return Ok(None);
        }
        let (parameters, conditions) = self.printer.generics(&inner["generics"])?;
        let sign = if inner["is_negative"] == true {
            "!"
        } else {
            ""
        };
        let mut types = String::new();
        for member in list(&inner["items"]) {
            let value = self.item(&id(member))?;
            if let ("assoc_type", content) = tagged(&value["inner"])? {
                let ty = self.printer.ty(&content["type"])?;
                types.push_str(&format!(" type {} = {ty};", text(&value["name"])));
            }
        }
        let body = if types.is_empty() {
            types
        } else {
            format!(" {{{types} }}")
        };
        let of_trait = self.printer.path(&inner["trait"])?;
        let of = self.printer.ty(&inner["for"])?;
        Ok(Some(format!(
            "impl{parameters} {sign}{of_trait} for {of}{conditions}{body}"
        )))
    }

    /// True of a type of this crate that is listed.
    fn is_listed(&self, ty: &Value) -> bool {
        let item = id(&ty["resolved_path"]["id"]);
        self.places.iter().any(|(_, _, listed)| *listed == item)
    }
}

/// The sign and the text; nothing if there is no text.
fn before(sign: &str, text: String) -> String {
    if text.is_empty() {
        text
    } else {
        format!("{sign}{text}")
    }
}

/// `#[non_exhaustive] `, in whichever form the attribute is given.
fn openness(value: &Value) -> &'static str {
    let open = list(&value["attrs"])
        .iter()
        .any(|a| a.to_string().contains("non_exhaustive"));
    if open { "#[non_exhaustive] " } else { "" }
}
