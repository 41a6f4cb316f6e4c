//! What stands inside an action: pipelines, commands, operands, fields and calls.
//!
//! Go checks the types of arguments by reflection and words its complaints accordingly; start with
//! `State::pipeline`, then `State::call`.

use std::fmt;
use std::sync::Arc;

use super::{Slot, State};
use crate::ast::{Chain, Command, Identifier, Number, Operand, Pipe, Term};
use crate::call::{Call, Function, Parameter};
use crate::error::Error;
use crate::run::MissingKey;
use crate::strconv::quote;
use crate::value::{IntType, MapClass, Member, Value};

/// The arguments of a call: its operands, the first being the function itself, and what comes
/// through the pipe.
#[derive(Clone, Copy)]
struct Arguments<'t, 'p> {
    operands: &'t [Operand],
    piped: Option<&'p Slot>,
}

impl Arguments<'_, '_> {
    const NONE: Self = Self { operands: &[], piped: None };

    fn are_given(&self) -> bool {
        self.operands.len() > 1 || self.piped.is_some()
    }
}

impl<'t> State<'t, '_> {
    pub(super) fn assign(&mut self, name: &str, value: Slot) -> Result<(), Error> {
        let slot = self.variables.iter_mut().rev().find(|(known, _)| known.as_ref() == name);
        match slot {
            Some((_, slot)) => {
                *slot = value;
                Ok(())
            }
            None if name == "$" => {
                self.root = value;
                Ok(())
            }
            None => Err(self.error(format_args!("undefined variable: {name}"))),
        }
    }

    pub(super) fn pipeline(&mut self, dot: &Slot, pipe: &'t Pipe) -> Result<Slot, Error> {
        self.at(pipe.position, pipe);
        self.check_stack()?;
        let mut piped: Option<Slot> = None;
        for command in &pipe.commands {
            let value = self.command(dot, command, piped.as_ref())?;
            piped = Some(value.unwrapped());
        }
        let value = piped.unwrap_or_else(|| Slot::concrete(Value::Nothing));
        for name in &pipe.declared {
            if pipe.is_assignment {
                self.assign(name, value.clone())?;
            } else {
                self.variables.push((name, value.clone()));
            }
        }
        Ok(value)
    }

    fn command(
        &mut self,
        dot: &Slot,
        command: &'t Command,
        piped: Option<&Slot>,
    ) -> Result<Slot, Error> {
        let first = &command.operands[0];
        let given = Arguments { operands: &command.operands, piped };
        match &first.term {
            Term::Field(fields) => {
                self.at(first.position, first);
                self.fields(dot, dot.clone(), first, fields, given)
            }
            Term::Chain(chain) => self.chain(dot, first, chain, given),
            Term::Identifier(identifier) => {
                self.at(first.position, first);
                self.call_named(dot, identifier, (command.position, command), given)
            }
            Term::Pipe(pipe) => {
                self.refuse_arguments(first, &given)?;
                self.pipeline(dot, pipe)
            }
            Term::Variable(names) => self.variable(dot, first, names, given),
            _ => {
                self.at(first.position, first);
                self.refuse_arguments(first, &given)?;
                match &first.term {
                    Term::Nil => Err(self.error("nil is not a command")),
                    _ => self.literal(dot, first),
                }
            }
        }
    }

    fn refuse_arguments(&self, operand: &Operand, given: &Arguments<'_, '_>) -> Result<(), Error> {
        if given.are_given() {
            // Inside a command a parenthesised pipeline prints bare.
            return Err(self.error(format_args!("can't give argument to non-function {operand}")));
        }
        Ok(())
    }

    fn literal(&mut self, dot: &Slot, operand: &'t Operand) -> Result<Slot, Error> {
        Ok(match &operand.term {
            Term::Bool(truth) => Slot::concrete(Value::Bool(*truth)),
            Term::Dot => dot.clone(),
            Term::String(constant) => Slot::concrete(Value::String(constant.text.clone())),
            Term::Number(number) => {
                self.at(operand.position, operand);
                Slot::concrete(self.ideal_constant(number)?)
            }
            _ => {
                let shown = quote(operand.to_string().as_bytes());
                return Err(self.error(format_args!("can't evaluate command {shown}")));
            }
        })
    }

    fn ideal_constant(&self, number: &Number) -> Result<Value, Error> {
        match (number.float, number.int) {
            (Some(float), _) if number.looks_like_float() => Ok(Value::Float(float)),
            (_, Some(int)) => Ok(Value::int(int)),
            _ => Err(self.error(format_args!("{} overflows int", number.text))),
        }
    }

    fn chain(
        &mut self,
        dot: &Slot,
        operand: &'t Operand,
        chain: &'t Chain,
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        self.at(operand.position, operand);
        let receiver = match &chain.base.term {
            Term::Nil => {
                let message = format!("indirection through explicit nil in {operand}");
                return Err(self.error(message));
            }
            _ => self.operand(dot, &chain.base)?,
        };
        self.fields(dot, receiver, operand, &chain.fields, given)
    }

    fn variable(
        &mut self,
        dot: &Slot,
        operand: &'t Operand,
        names: &'t [Arc<str>],
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        self.at(operand.position, operand);
        let (name, fields) = names.split_first().expect("the parser gives it a name");
        let found = self.variables.iter().rev().find(|(known, _)| known.as_ref() == name.as_ref());
        let value = match found {
            Some((_, value)) => value.clone(),
            None if name.as_ref() == "$" => self.root.clone(),
            None => return Err(self.error(format_args!("undefined variable: {name}"))),
        };
        if fields.is_empty() {
            self.refuse_arguments(operand, &given)?;
            return Ok(value);
        }
        self.fields(dot, value, operand, fields, given)
    }

    /// The value of an operand for which no type is asked.
    fn operand(&mut self, dot: &Slot, operand: &'t Operand) -> Result<Slot, Error> {
        match &operand.term {
            Term::Field(fields) => {
                self.at(operand.position, operand);
                self.fields(dot, dot.clone(), operand, fields, Arguments::NONE)
            }
            Term::Variable(names) => self.variable(dot, operand, names, Arguments::NONE),
            Term::Pipe(pipe) => {
                self.at(operand.position, operand);
                self.pipeline(dot, pipe)
            }
            Term::Identifier(identifier) => {
                self.at(operand.position, operand);
                self.call_named(dot, identifier, (operand.position, operand), Arguments::NONE)
            }
            Term::Chain(chain) => self.chain(dot, operand, chain, Arguments::NONE),
            _ => self.literal(dot, operand),
        }
    }

    fn fields(
        &mut self,
        dot: &Slot,
        mut receiver: Slot,
        node: &'t Operand,
        fields: &'t [Arc<str>],
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        let (last, leading) = fields.split_last().expect("the parser makes no empty field chain");
        for name in leading {
            receiver = self.field(dot, &receiver, node, name, Arguments::NONE)?;
        }
        self.field(dot, &receiver, node, last, given)
    }

    fn field(
        &mut self,
        dot: &Slot,
        receiver: &Slot,
        node: &'t Operand,
        name: &'t str,
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        match &receiver.value {
            Value::Nothing if self.run.missing_key == MissingKey::Error => {
                let name = quote(name.as_bytes());
                return Err(self.error(format_args!("nil data; no entry for key {name}")));
            }
            Value::Nothing => return Ok(Slot::concrete(Value::Nothing)),
            Value::Nil => {
                let message = format!("nil pointer evaluating interface {{}}.{name}");
                return Err(self.error(message));
            }
            Value::Map(map) => {
                if let MapClass::Named(named) = map.class()
                    && let Some(method) = (named.method)(map, name)
                {
                    return self.call(dot, &method, name, (node.position, node), given);
                }
                if given.are_given() {
                    let message = format!("{name} is not a method but has arguments");
                    return Err(self.error(message));
                }
                let is_interface = map.class().holds_any();
                if let Some(value) = map.get(name.as_bytes()) {
                    return Ok(Slot { value, is_interface });
                }
                return match self.run.missing_key {
                    MissingKey::Nothing => Ok(Slot::concrete(Value::Nothing)),
                    MissingKey::Zero => Ok(Slot { value: map.class().zero(), is_interface }),
                    MissingKey::Error => {
                        let name = quote(name.as_bytes());
                        Err(self.error(format_args!("map has no entry for key {name}")))
                    }
                };
            }
            Value::List(list) => {
                if let Some(method) = list.method(name) {
                    return self.call(dot, &method, name, (node.position, node), given);
                }
            }
            Value::Object(object) => match object.member(name) {
                Some(Member::Method(method)) => {
                    return self.call(dot, &method, name, (node.position, node), given);
                }
                Some(Member::Field(_)) if given.are_given() => {
                    let message = format!("{name} has arguments but cannot be invoked as function");
                    return Err(self.error(message));
                }
                Some(Member::Field(value)) => return Ok(Slot::concrete(value)),
                Some(Member::Unusable(why)) => return Err(self.error(why)),
                None => {}
            },
            Value::Int(kind, number) => {
                if let Some(method) = crate::sprig::method_of_int(*kind, *number, name) {
                    return self.call(dot, &method, name, (node.position, node), given);
                }
            }
            _ => {}
        }
        let type_name = receiver.type_name();
        Err(self.error(format_args!("can't evaluate field {name} in type {type_name}")))
    }

    fn call_named(
        &mut self,
        dot: &Slot,
        identifier: &'t Identifier,
        node: (u32, &'t dyn fmt::Display),
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        let run = self.run;
        let name = &identifier.name;
        match run.functions.at(identifier.slot as usize, name) {
            Some(function) => self.call(dot, function, name, node, given),
            None => {
                let name = quote(name.as_bytes());
                Err(self.error(format_args!("{name} is not a defined function")))
            }
        }
    }

    fn call(
        &mut self,
        dot: &Slot,
        function: &Function,
        name: &'t str,
        node: (u32, &'t dyn fmt::Display),
        given: Arguments<'t, '_>,
    ) -> Result<Slot, Error> {
        self.charge(1)?;
        let operands = given.operands.get(1..).unwrap_or_default();
        self.check_count(function, name, operands.len(), given.piped.is_some())?;
        if crate::builtin::short_circuits(function) {
            return self.short_circuit(dot, name == "or", operands, given.piped);
        }
        let mut arguments = Vec::with_capacity(operands.len() + 1);
        for (index, operand) in operands.iter().enumerate() {
            let value = self.argument(dot, function.parameter(index), operand)?;
            arguments.push(value);
        }
        if let Some(piped) = given.piped {
            let parameter = function.parameter(operands.len());
            arguments.push(self.validate(piped, parameter)?);
        }
        self.charge(arguments.iter().map(work).sum())?;
        let mut call = Call { run: self.run, templates: self.templates };
        let result = if crate::builtin::is_call(function) {
            let callee = operands.first().map(ToString::to_string).unwrap_or_default();
            crate::builtin::call_named(&mut call, &callee, &arguments)
        } else {
            function.run(&mut call, &arguments)
        };
        let result = result.and_then(|value| {
            if let Value::String(text) | Value::Bytes(text) = &value {
                self.run.check_size(text.len())?;
            }
            self.run.note_made(&arguments, &value)?;
            Ok(value)
        });
        result.map(Slot::interface).map_err(|error| {
            self.at(node.0, node.1);
            self.wrapped(&format!("error calling {name}: {error}"), error)
        })
    }

    fn check_count(
        &self,
        function: &Function,
        name: &str,
        written: usize,
        piped: bool,
    ) -> Result<(), Error> {
        let given = written + usize::from(piped);
        let declared = function.parameters.len();
        if function.is_variadic {
            if given < declared - 1 {
                return Err(self.error(format_args!(
                    "wrong number of args for {name}: want at least {} got {written}",
                    declared - 1
                )));
            }
        } else if given != declared {
            return Err(self.error(format_args!(
                "wrong number of args for {name}: want {declared} got {given}"
            )));
        }
        Ok(())
    }

    /// `and` and `or` evaluate only as far as they must.
    fn short_circuit(
        &mut self,
        dot: &Slot,
        stop_at: bool,
        operands: &'t [Operand],
        piped: Option<&Slot>,
    ) -> Result<Slot, Error> {
        let mut value = Value::Nothing;
        for operand in operands {
            value = self.argument(dot, Parameter::Reflect, operand)?;
            if value.is_true() == stop_at {
                return Ok(Slot::concrete(value));
            }
        }
        if let Some(piped) = piped {
            value = self.validate(piped, Parameter::Reflect)?;
        }
        Ok(Slot::concrete(value))
    }

    fn argument(
        &mut self,
        dot: &Slot,
        parameter: Parameter,
        operand: &'t Operand,
    ) -> Result<Value, Error> {
        self.at(operand.position, operand);
        match &operand.term {
            Term::Nil => parameter.nil().ok_or_else(|| {
                self.error(format_args!("cannot assign nil to {}", parameter.type_name()))
            }),
            Term::Bool(_) | Term::Number(_) | Term::String(_) => {
                self.literal_argument(dot, parameter, operand)
            }
            _ => {
                let value = self.operand(dot, operand)?;
                self.validate(&value, parameter)
            }
        }
    }

    fn literal_argument(
        &mut self,
        dot: &Slot,
        parameter: Parameter,
        operand: &'t Operand,
    ) -> Result<Value, Error> {
        let found = |kind: &str| self.error(format_args!("expected {kind}; found {operand}"));
        match (parameter, &operand.term) {
            (Parameter::Any | Parameter::Reflect, _) => Ok(self.literal(dot, operand)?.value),
            (Parameter::Bool, Term::Bool(truth)) => Ok(Value::Bool(*truth)),
            (Parameter::Bool, _) => Err(found("bool")),
            (Parameter::String, Term::String(constant)) => Ok(Value::String(constant.text.clone())),
            (Parameter::String, _) => Err(found("string")),
            (Parameter::Int | Parameter::Int64 | Parameter::Duration, Term::Number(number)) => {
                match (number.int, parameter) {
                    (Some(int), Parameter::Int) => Ok(Value::int(int)),
                    (Some(int), Parameter::Duration) => Ok(Value::Int(IntType::Duration, int)),
                    (Some(int), _) => Ok(Value::int64(int)),
                    (None, _) => Err(found("integer")),
                }
            }
            (Parameter::Int | Parameter::Int64 | Parameter::Duration, _) => Err(found("integer")),
            (Parameter::Uint32, Term::Number(number)) => {
                match number.int.and_then(|number| u32::try_from(number).ok()) {
                    Some(number) => Ok(Value::int(number.into())),
                    None => Err(found("unsigned integer")),
                }
            }
            (Parameter::Uint32, _) => Err(found("unsigned integer")),
            (Parameter::Float, Term::Number(number)) => match number.float {
                Some(float) => Ok(Value::Float(float)),
                None => Err(found("float")),
            },
            (Parameter::Float, _) => Err(found("float")),
            (other, _) => Err(self.error(format_args!(
                "can't handle {operand} for arg of type {}",
                other.type_name()
            ))),
        }
    }

    /// Checks a value against a declared type as Go's `validateType` does.
    fn validate(&self, slot: &Slot, parameter: Parameter) -> Result<Value, Error> {
        let expected = parameter.type_name();
        match &slot.value {
            Value::Nothing => parameter
                .nil()
                .ok_or_else(|| self.error(format_args!("invalid value; expected {expected}"))),
            value if parameter.accepts(value) => Ok(value.clone()),
            value => {
                let got = match value {
                    Value::Nil => "interface {}".into(),
                    value => value.type_name(),
                };
                Err(self
                    .error(format_args!("wrong type for value; expected {expected}; got {got}")))
            }
        }
    }
}

/// What reading an argument costs at least, so that the work on large texts counts too.
fn work(argument: &Value) -> usize {
    match argument {
        Value::String(text) | Value::Bytes(text) => text.len() / 256,
        _ => 0,
    }
}
