// Where the evaluator's standard library answers otherwise than go-jsonnet's.
function(std)
  local boolean(value) =
    if std.isBoolean(value) then value
    else error 'Unexpected type ' + std.type(value) + ', expected boolean';
  local items(value) = if std.isString(value) then std.stringChars(value) else value;
  std {
    foldl(func, arr, init):: std.foldl(func, items(arr), init),
    foldr(func, arr, init):: std.foldr(func, items(arr), init),
    strReplace(str, from, to)::
      if from == '' then error "'from' string must not be zero length."
      else std.strReplace(str, from, to),
    xnor(x, y):: boolean(x) == boolean(y),
    xor(x, y):: boolean(x) != boolean(y),
  }
