//! Types, bounds and signatures of rustdoc's JSON, as Rust.
//!
//! The JSON is unstable. It is read by field names, without a crate that fits one compiler only; a form that is not known here is an error.

use serde_json::Value;

/// Result of printing; an error names the form that is not known.
pub(super) type Printed = Result<String, String>;

/// Prints what a crate's JSON refers to.
pub(super) struct Printer<'a> {
    /// Whole file of rustdoc.
    pub(super) json: &'a Value,
}

/// The name and the content of a tagged value: `{"slice": …}` or `"infer"`.
pub(super) fn tagged(value: &Value) -> Result<(&str, &Value), String> {
    match value {
        Value::String(name) => Ok((name, &Value::Null)),
        Value::Object(fields) if fields.len() == 1 => {
            let first = fields
                .iter()
                .next()
                .map(|(name, content)| (name.as_str(), content));
            first.ok_or_else(|| unknown("value", value))
        }
        _ => Err(unknown("value", value)),
    }
}

/// A number or a string, as it names items in the JSON.
pub(super) fn id(value: &Value) -> String {
    value.to_string().trim_matches('"').to_owned()
}

/// The elements of an array; none of what is no array.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Text of a string; nothing of what is no string.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The error for a form that is not known.
pub(super) fn unknown(what: &str, value: &Value) -> String {
    let shown: String = value.to_string().chars().take(120).collect();
    format!("rustdoc's JSON has a {what} that xtask/src/jobs/api does not know: {shown}")
}

fn true_in(value: &Value, field: &str) -> bool {
    value[field].as_bool().unwrap_or(false)
}

impl Printer<'_> {
    pub(super) fn ty(&self, value: &Value) -> Printed {
        let (kind, inner) = tagged(value)?;
        Ok(match kind {
            "resolved_path" => self.path(inner)?,
            "generic" => text(inner).to_owned(),
            "primitive" if inner == "never" => "!".to_owned(),
            "primitive" => text(inner).to_owned(),
            "infer" => "_".to_owned(),
            "tuple" => {
                let comma = if list(inner).len() == 1 { "," } else { "" };
                format!("({}{comma})", self.types(inner)?)
            }
            "slice" => format!("[{}]", self.ty(inner)?),
            "array" => format!("[{}; {}]", self.ty(&inner["type"])?, text(&inner["len"])),
            "impl_trait" => format!("impl {}", self.bounds(inner)?),
            "dyn_trait" => self.dyn_trait(inner)?,
            "raw_pointer" => {
                let kind = if true_in(inner, "is_mutable") {
                    "mut"
                } else {
                    "const"
                };
                format!("*{kind} {}", self.ty(&inner["type"])?)
            }
            "borrowed_ref" => {
                let lifetime = inner["lifetime"].as_str().map(|name| format!("{name} "));
                let kind = if true_in(inner, "is_mutable") {
                    "mut "
                } else {
                    ""
                };
                format!(
                    "&{}{kind}{}",
                    lifetime.unwrap_or_default(),
                    self.ty(&inner["type"])?
                )
            }
            "qualified_path" => {
                let (of, name) = (self.ty(&inner["self_type"])?, text(&inner["name"]));
                let arguments = self.arguments(&inner["args"])?;
                match &inner["trait"] {
                    Value::Null => format!("{of}::{name}{arguments}"),
                    of_trait => format!("<{of} as {}>::{name}{arguments}", self.path(of_trait)?),
                }
            }
            "function_pointer" => {
                let binder = self.binder(&inner["generic_params"])?;
                let sort = sort(&inner["header"])?;
                format!("{binder}{sort}fn{}", self.signature(&inner["sig"], false)?)
            }
            _ => return Err(unknown("type", value)),
        })
    }

    fn types(&self, values: &Value) -> Printed {
        joined(list(values), ", ", |value| self.ty(value))
    }

    fn dyn_trait(&self, inner: &Value) -> Printed {
        let traits = joined(list(&inner["traits"]), " + ", |part| {
            Ok(self.binder(&part["generic_params"])? + &self.path(&part["trait"])?)
        })?;
        let lifetime = inner["lifetime"].as_str().map(|name| format!(" + {name}"));
        Ok(format!("dyn {traits}{}", lifetime.unwrap_or_default()))
    }

    /// Last part of its path, after the name of the crate if that is neither this one nor the standard library.
    pub(super) fn path(&self, value: &Value) -> Printed {
        let known = &self.json["paths"][id(&value["id"])];
        let written = text(&value["path"]).rsplit("::").next().unwrap_or_default();
        let name = match list(&known["path"]) {
            [first, .., last] => match text(first) {
                "core" | "alloc" | "std" => text(last).to_owned(),
                _ if known["crate_id"] == 0 => text(last).to_owned(),
                other => format!("{other}::{}", text(last)),
            },
            _ => written.to_owned(),
        };
        Ok(name + &self.arguments(&value["args"])?)
    }

    fn arguments(&self, value: &Value) -> Printed {
        if value.is_null() {
            return Ok(String::new());
        }
        let (kind, inner) = tagged(value)?;
        match kind {
            "angle_bracketed" => {
                let mut all = Vec::new();
                for argument in list(&inner["args"]) {
                    all.push(self.argument(argument)?);
                }
                for constraint in list(&inner["constraints"]) {
                    all.push(self.constraint(constraint)?);
                }
                Ok(if all.is_empty() {
                    String::new()
                } else {
                    format!("<{}>", all.join(", "))
                })
            }
            "parenthesized" => Ok(format!(
                "({}){}",
                self.types(&inner["inputs"])?,
                self.output(&inner["output"])?
            )),
            _ => Err(unknown("list of arguments", value)),
        }
    }

    fn argument(&self, value: &Value) -> Printed {
        let (kind, inner) = tagged(value)?;
        match kind {
            "lifetime" => Ok(text(inner).to_owned()),
            "type" => self.ty(inner),
            "const" => Ok(text(&inner["expr"]).to_owned()),
            "infer" => Ok("_".to_owned()),
            _ => Err(unknown("argument", value)),
        }
    }

    fn constraint(&self, value: &Value) -> Printed {
        let name = text(&value["name"]);
        let (kind, inner) = tagged(&value["binding"])?;
        match kind {
            "equality" => Ok(format!("{name} = {}", self.term(inner)?)),
            "constraint" => Ok(format!("{name}: {}", self.bounds(inner)?)),
            _ => Err(unknown("constraint", value)),
        }
    }

    /// A type or a constant.
    fn term(&self, value: &Value) -> Printed {
        let (kind, inner) = tagged(value)?;
        match kind {
            "type" => self.ty(inner),
            "constant" => Ok(text(&inner["expr"]).to_owned()),
            _ => Err(unknown("term", value)),
        }
    }

    pub(super) fn bounds(&self, values: &Value) -> Printed {
        joined(list(values), " + ", |value| {
            let (kind, inner) = tagged(value)?;
            match kind {
                "trait_bound" => {
                    let sign = match text(&inner["modifier"]) {
                        "none" => "",
                        "maybe" => "?",
                        _ => return Err(unknown("bound", value)),
                    };
                    let binder = self.binder(&inner["generic_params"])?;
                    Ok(format!("{binder}{sign}{}", self.path(&inner["trait"])?))
                }
                "outlives" => Ok(text(inner).to_owned()),
                "use" => {
                    // Names, or names behind a tag.
                    let name = |part: &Value| match tagged(part) {
                        Ok((name, Value::Null)) => Ok(name.to_owned()),
                        Ok((_, name)) => Ok(text(name).to_owned()),
                        Err(e) => Err(e),
                    };
                    Ok(format!("use<{}>", joined(list(inner), ", ", name)?))
                }
                _ => Err(unknown("bound", value)),
            }
        })
    }

    /// `for<'a> `
    fn binder(&self, parameters: &Value) -> Printed {
        match list(parameters) {
            [] => Ok(String::new()),
            some => Ok(format!(
                "for<{}> ",
                joined(some, ", ", |one| self.parameter(one))?
            )),
        }
    }

    fn parameter(&self, value: &Value) -> Printed {
        let name = text(&value["name"]);
        let (kind, inner) = tagged(&value["kind"])?;
        let with = |sign: &str, printed: String| match printed.as_str() {
            "" => String::new(),
            printed => format!("{sign}{printed}"),
        };
        match kind {
            "lifetime" => {
                let longer = joined(list(&inner["outlives"]), " + ", |one| {
                    Ok(text(one).to_owned())
                })?;
                Ok(name.to_owned() + &with(": ", longer))
            }
            "type" => {
                let bounds = with(": ", self.bounds(&inner["bounds"])?);
                let default = match &inner["default"] {
                    Value::Null => String::new(),
                    default => format!(" = {}", self.ty(default)?),
                };
                Ok(format!("{name}{bounds}{default}"))
            }
            "const" => {
                let default = with(" = ", text(&inner["default"]).to_owned());
                Ok(format!(
                    "const {name}: {}{default}",
                    self.ty(&inner["type"])?
                ))
            }
            _ => Err(unknown("parameter", value)),
        }
    }

    /// `<T: Bound>` and ` where …`
    pub(super) fn generics(&self, value: &Value) -> Result<(String, String), String> {
        let mut parameters = Vec::new();
        for parameter in list(&value["params"]) {
            // `impl Trait` as an argument: shown there.
            if !true_in(&parameter["kind"]["type"], "is_synthetic") {
                parameters.push(self.parameter(parameter)?);
            }
        }
        let parameters = match parameters.as_slice() {
            [] => String::new(),
            some => format!("<{}>", some.join(", ")),
        };
        let conditions = joined(list(&value["where_predicates"]), ", ", |one| {
            self.condition(one)
        })?;
        Ok(match conditions.as_str() {
            "" => (parameters, conditions),
            some => (parameters, format!(" where {some}")),
        })
    }

    fn condition(&self, value: &Value) -> Printed {
        let (kind, inner) = tagged(value)?;
        match kind {
            "bound_predicate" => {
                let binder = self.binder(&inner["generic_params"])?;
                let (of, bounds) = (self.ty(&inner["type"])?, self.bounds(&inner["bounds"])?);
                Ok(format!("{binder}{of}: {bounds}"))
            }
            "lifetime_predicate" => {
                let longer = joined(list(&inner["outlives"]), " + ", |one| {
                    Ok(text(one).to_owned())
                })?;
                Ok(format!("{}: {longer}", text(&inner["lifetime"])))
            }
            "eq_predicate" => Ok(format!(
                "{} = {}",
                self.ty(&inner["lhs"])?,
                self.term(&inner["rhs"])?
            )),
            _ => Err(unknown("condition", value)),
        }
    }

    /// `(x: T) -> U`; the names of arguments are not part of an API, but tell what they are.
    pub(super) fn signature(&self, value: &Value, named: bool) -> Printed {
        let mut inputs = joined(list(&value["inputs"]), ", ", |input| {
            let (name, ty) = (text(&input[0]), self.ty(&input[1])?);
            Ok(match (name, ty.as_str()) {
                ("self", "Self") => "self".to_owned(),
                ("self", "&Self") => "&self".to_owned(),
                ("self", "&mut Self") => "&mut self".to_owned(),
                _ if named => format!("{name}: {ty}"),
                _ => ty,
            })
        })?;
        if true_in(value, "is_c_variadic") {
            inputs.push_str(", ...");
        }
        Ok(format!("({inputs}){}", self.output(&value["output"])?))
    }

    fn output(&self, value: &Value) -> Printed {
        match value {
            Value::Null => Ok(String::new()),
            some => Ok(format!(" -> {}", self.ty(some)?)),
        }
    }
}

/// `const `, `unsafe ` and so on.
pub(super) fn sort(header: &Value) -> Printed {
    let mut sort = String::new();
    for (field, word) in [
        ("is_const", "const "),
        ("is_async", "async "),
        ("is_unsafe", "unsafe "),
    ] {
        if true_in(header, field) {
            sort.push_str(word);
        }
    }
    match tagged(&header["abi"])? {
        ("Rust", _) => {}
        (abi, _) => sort.push_str(&format!("extern {abi:?} ")),
    }
    Ok(sort)
}

/// All of them printed, between these separators.
pub(super) fn joined(
    values: &[Value],
    separator: &str,
    print: impl Fn(&Value) -> Printed,
) -> Printed {
    let parts: Result<Vec<String>, String> = values.iter().map(print).collect();
    Ok(parts?.join(separator))
}
