//! What is wrong with a Jsonnet text or evaluation, in words.

use rsjsonnet_lang::lexer::LexError;
use rsjsonnet_lang::parser::ParseError;
use rsjsonnet_lang::program::{AnalyzeError, EvalErrorKind, EvalErrorValueType, LoadError};
use rsjsonnet_lang::span::SpanId;

/// What is wrong, and where if that is known.
pub(crate) struct Problem {
    pub(crate) span: Option<SpanId>,
    pub(crate) text: String,
}

fn at(span: SpanId, text: impl Into<String>) -> Problem {
    Problem { span: Some(span), text: text.into() }
}

/// A text that is no Jsonnet.
pub(crate) fn of_text(error: &LoadError) -> Problem {
    match error {
        LoadError::Lex(error) => of_letters(error),
        LoadError::Parse(ParseError::Expected { span, expected, instead }) => {
            let expected: Vec<_> = expected.iter().map(|it| format!("{it:?}")).collect();
            at(*span, format!("expected one of {} instead of {instead:?}", expected.join(", ")))
        }
        LoadError::Analyze(error) => of_names(error),
    }
}

fn of_letters(error: &LexError) -> Problem {
    match error {
        LexError::InvalidChar { span, chr } => at(*span, format!("unexpected character {chr:?}")),
        LexError::InvalidUtf8 { span, .. } => at(*span, "the text is not UTF-8"),
        LexError::UnfinishedMultilineComment { span } => at(*span, "the comment has no end"),
        LexError::LeadingZeroInNumber { span } => at(*span, "a number begins with zero"),
        LexError::MissingFracDigits { span }
        | LexError::MissingExpDigits { span }
        | LexError::MissingDigitAfterUnderscore { span } => at(*span, "a number lacks digits"),
        LexError::ExpOverflow { span } => at(*span, "a number is too large"),
        LexError::InvalidEscapeInString { span, chr } => {
            at(*span, format!("unknown escape \\{chr} in a string"))
        }
        LexError::IncompleteUnicodeEscape { span }
        | LexError::InvalidUtf16EscapeSequence { span, .. } => {
            at(*span, "an escape \\u stands for no character")
        }
        LexError::UnfinishedString { span } => at(*span, "the string has no end"),
        LexError::MissingLineBreakAfterTextBlockStart { span } => {
            at(*span, "text block requires new line after |||.")
        }
        LexError::MissingWhitespaceTextBlockStart { span } => {
            at(*span, "text block's first line must start with whitespace")
        }
        LexError::InvalidTextBlockTermination { span } => {
            at(*span, "text block not terminated with |||")
        }
    }
}

fn of_names(error: &AnalyzeError) -> Problem {
    match error {
        AnalyzeError::UnknownVariable { span, name } => {
            at(*span, format!("Unknown variable: {name}"))
        }
        AnalyzeError::SelfOutsideObject { self_span } => {
            at(*self_span, "Can't use self outside of an object.")
        }
        AnalyzeError::SuperOutsideObject { super_span } => {
            at(*super_span, "Can't use super outside of an object.")
        }
        AnalyzeError::DollarOutsideObject { dollar_span } => {
            at(*dollar_span, "No top-level object found.")
        }
        AnalyzeError::RepeatedLocalName { repeated_span, name, .. } => {
            at(*repeated_span, format!("Duplicate local var: {name}"))
        }
        AnalyzeError::RepeatedFieldName { repeated_span, name, .. } => {
            at(*repeated_span, format!("Duplicate field: {name}"))
        }
        AnalyzeError::RepeatedParamName { repeated_span, name, .. } => {
            at(*repeated_span, format!("Duplicate function parameter: {name}"))
        }
        AnalyzeError::PositionalArgAfterNamed { arg_span } => {
            at(*arg_span, "Positional argument after a named argument is not allowed")
        }
        AnalyzeError::TextBlockAsImportPath { span } => {
            at(*span, "Block string literals not allowed in imports")
        }
        AnalyzeError::ComputedImportPath { span } => at(*span, "Computed imports are not allowed."),
    }
}

/// A text that cannot be evaluated.
pub(crate) fn of_evaluation(kind: &EvalErrorKind) -> Problem {
    let (span, text) = match kind {
        EvalErrorKind::StackOverflow => (None, "max stack frames exceeded.".to_owned()),
        EvalErrorKind::InfiniteRecursion => (
            None,
            "infinite recursion; does a file import itself, or a value refer to itself?".to_owned(),
        ),
        EvalErrorKind::InvalidIndexedType { span, got_type } => {
            (Some(*span), format!("value non indexable: {}", named(*got_type)))
        }
        EvalErrorKind::InvalidSlicedType { span, got_type } => {
            (Some(*span), format!("value cannot be sliced: {}", named(*got_type)))
        }
        EvalErrorKind::SliceIndexOrStepIsNotNumber { span, got_type }
        | EvalErrorKind::StringIndexIsNotNumber { span, got_type }
        | EvalErrorKind::ArrayIndexIsNotNumber { span, got_type } => {
            (Some(*span), unexpected(*got_type, "number"))
        }
        EvalErrorKind::NumericIndexIsNotValid { span, index } => {
            (Some(*span), format!("array index was not integer: {index}"))
        }
        EvalErrorKind::NumericIndexOutOfRange { span, index, length } => {
            (Some(*span), format!("index {index} out of bounds, not within [0, {length})"))
        }
        EvalErrorKind::ObjectIndexIsNotString { span, got_type } => {
            (Some(*span), unexpected(*got_type, "string"))
        }
        EvalErrorKind::RepeatedFieldName { span, name } => {
            (Some(*span), format!("duplicate field name: {name:?}"))
        }
        EvalErrorKind::FieldNameIsNotString { span, got_type } => {
            (Some(*span), format!("field name must be string, got: {}", named(*got_type)))
        }
        EvalErrorKind::UnknownObjectField { span, field_name } => {
            (Some(*span), format!("field does not exist: {field_name}"))
        }
        EvalErrorKind::FieldOfNonObject { span } => {
            (Some(*span), "a field is asked of what is no object".to_owned())
        }
        EvalErrorKind::SuperWithoutSuperObject { span } => {
            (Some(*span), "attempt to use super when there is no super class.".to_owned())
        }
        EvalErrorKind::ForSpecValueIsNotArray { span, got_type } => {
            (Some(*span), unexpected(*got_type, "array"))
        }
        EvalErrorKind::CondIsNotBool { span, got_type } => {
            (Some(*span), unexpected(*got_type, "boolean"))
        }
        EvalErrorKind::CalleeIsNotFunction { span, got_type } => {
            (*span, unexpected(*got_type, "function"))
        }
        EvalErrorKind::TooManyCallArgs { span, num_params } => {
            (*span, format!("too many args, function has {num_params} parameter(s)"))
        }
        EvalErrorKind::UnknownCallParam { span, param_name } => {
            (*span, format!("function has no parameter {param_name}"))
        }
        EvalErrorKind::RepeatedCallParam { span, param_name } => {
            (*span, format!("argument {param_name} already provided"))
        }
        EvalErrorKind::CallParamNotBound { span, param_name } => {
            (*span, format!("missing argument: {param_name}"))
        }
        EvalErrorKind::NativeCallFailed => (None, "native functions are not available".to_owned()),
        EvalErrorKind::InvalidUnaryOpType { span, op, rhs_type } => {
            (Some(*span), format!("the operator {op:?} does not take {}", named(*rhs_type)))
        }
        EvalErrorKind::InvalidBinaryOpTypes { span, op, lhs_type, rhs_type } => {
            let (left, right) = (named(*lhs_type), named(*rhs_type));
            (*span, format!("the operator {op:?} does not take {left} and {right}"))
        }
        EvalErrorKind::NumberNotBitwiseSafe { span } => {
            (*span, "the number has no exact bits".to_owned())
        }
        EvalErrorKind::NumberOverflow { span } => (*span, "overflow".to_owned()),
        EvalErrorKind::NumberNan { span } => (*span, "not a number".to_owned()),
        EvalErrorKind::DivByZero { span } => (*span, "division by zero.".to_owned()),
        EvalErrorKind::ShiftByNegative { span } => {
            (*span, "shift by negative exponent.".to_owned())
        }
        EvalErrorKind::InvalidStdFuncArgType { func_name, arg_index, got_type, .. } => (
            None,
            format!(
                "std.{func_name} does not take {} as argument {}",
                named(*got_type),
                arg_index + 1
            ),
        ),
        EvalErrorKind::AssertFailed { span, message } => {
            let message = message.as_deref().unwrap_or("Object assertion failed.");
            (Some(*span), message.to_owned())
        }
        EvalErrorKind::AssertEqualFailed { lhs, rhs } => {
            (None, format!("Assertion failed. {lhs} != {rhs}"))
        }
        EvalErrorKind::ExplicitError { span, message } => (Some(*span), message.clone()),
        EvalErrorKind::ImportFailed { span, path } => {
            (Some(*span), format!("couldn't open import {path:?}"))
        }
        EvalErrorKind::UnknownExtVar { name } => {
            (None, format!("undefined external variable: {name}"))
        }
        EvalErrorKind::ManifestFunction => (None, "couldn't manifest function as JSON".to_owned()),
        EvalErrorKind::CompareNullInequality
        | EvalErrorKind::CompareBooleanInequality
        | EvalErrorKind::CompareObjectInequality
        | EvalErrorKind::CompareFunctions => (None, "these values cannot be compared".to_owned()),
        EvalErrorKind::CompareDifferentTypesInequality { lhs_type, rhs_type } => {
            let (left, right) = (named(*lhs_type), named(*rhs_type));
            (None, format!("{left} and {right} cannot be compared"))
        }
        EvalErrorKind::PrimitiveEqualsNonPrimitive { got_type } => {
            (None, format!("primitiveEquals operates on primitive types, got {}", named(*got_type)))
        }
        EvalErrorKind::Other { span, message } => (*span, message.clone()),
    };
    Problem { span, text }
}

fn unexpected(found: EvalErrorValueType, expected: &str) -> String {
    format!("Unexpected type {}, expected {expected}", named(found))
}

fn named(value_type: EvalErrorValueType) -> &'static str {
    match value_type {
        EvalErrorValueType::Null => "null",
        EvalErrorValueType::Bool => "boolean",
        EvalErrorValueType::Number => "number",
        EvalErrorValueType::String => "string",
        EvalErrorValueType::Array => "array",
        EvalErrorValueType::Object => "object",
        EvalErrorValueType::Function => "function",
    }
}
