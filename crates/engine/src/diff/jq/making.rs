//! What an expression puts together: mappings, texts, and what comes of calculating.

use serde_json::{Map, Value};

use super::arithmetic::{self, Operator};
use super::values::in_words;
use super::{Expression, Found, Results, Run, RunError, made, weight, wrong};

impl Run {
    /// A mapping for each way to choose its keys and values.
    pub(super) fn mapping<'v>(
        &mut self,
        entries: &[(Expression, Expression)],
        at: &Found<'v>,
    ) -> Results<'v> {
        let mut mappings = vec![Map::new()];
        for (key, value) in entries {
            let (keys, values) = (self.evaluate(key, at)?, self.evaluate(value, at)?);
            let mut next = Vec::new();
            for mapping in &mappings {
                for key in &keys {
                    let Value::String(key) = &*key.value else {
                        return Err(wrong("make a key of", &key.value));
                    };
                    for value in &values {
                        let known = mapping.values().map(weight).sum::<usize>();
                        self.pay(1 + known + weight(&value.value))?;
                        let mut mapping = mapping.clone();
                        mapping.insert(key.clone(), value.value.clone().into_owned());
                        next.push(mapping);
                    }
                }
            }
            mappings = next;
        }
        Ok(mappings.into_iter().map(|it| made(Value::Object(it))).collect())
    }

    /// A text for each way to choose its parts.
    pub(super) fn interpolate<'v>(&mut self, parts: &[Expression], at: &Found<'v>) -> Results<'v> {
        let mut texts = vec![String::new()];
        for part in parts {
            let choices = self.evaluate(part, at)?;
            let mut next = Vec::new();
            for text in &texts {
                for choice in &choices {
                    let words = in_words(&choice.value);
                    self.pay(1 + (text.len() + words.len()) / 64)?;
                    next.push(format!("{text}{words}"));
                }
            }
            texts = next;
        }
        Ok(texts.into_iter().map(|it| made(Value::from(it))).collect())
    }

    /// What comes of each pair of values.
    pub(super) fn calculate<'v>(
        &mut self,
        left: &Expression,
        operator: Operator,
        right: &Expression,
        at: &Found<'v>,
    ) -> Results<'v> {
        let mut results = Vec::new();
        let left = self.evaluate(left, at)?;
        for right in self.evaluate(right, at)? {
            for left in &left {
                self.pay_for_arithmetic(&left.value, operator, &right.value)?;
                let left = left.value.clone().into_owned();
                let answer = arithmetic::apply(left, operator, &right.value)?;
                results.extend(self.make(answer)?);
            }
        }
        Ok(results)
    }

    /// What is repeated, or taken away pair by pair, costs more than to look at.
    fn pay_for_arithmetic(
        &mut self,
        left: &Value,
        operator: Operator,
        right: &Value,
    ) -> Result<(), RunError> {
        let (one, other) = (weight(left), weight(right));
        self.pay(match (left, operator, right) {
            (Value::String(_), Operator::Multiply, number @ Value::Number(_))
            | (number @ Value::Number(_), Operator::Multiply, Value::String(_)) => {
                one.saturating_mul(other).saturating_mul(arithmetic::times(number).max(1))
            }
            (Value::Array(_), Operator::Subtract, Value::Array(_)) => one.saturating_mul(other),
            _ => one.saturating_add(other),
        })
    }
}
