"""Odd programs: the virtual machine means by them what the interpreter does."""

import numpy as np
import pytest
import tenon
from tenon import relay

LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"

# name: the program of %x = 4 and %y = 2.5, its value
PROGRAMS = {
    "let polymorphism": (
        """
def @main(%x: int32, %y: float32) {
  let %id = fn [A](%a: A) -> A { %a };
  (%id(%x), %id(%y), %id((%x, %y))) }
""",
        [4, 2.5, [4, 2.5]],
    ),
    "closures in data": (
        LIST
        + """
def @app(%l: List[fn (int32) -> int32], %x: int32) -> int32 {
  match (%l) { Cons(%f, %r) => @app(%r, %f(%x)), Nil => %x, } }
def @main(%x: int32, %y: float32) {
  let %k = fn (%a: int32) -> int32 { add(%a, %x) };
  let %m = fn (%a: int32) -> int32 { multiply(%a, %x) };
  @app(Cons(%k, Cons(%m, Cons(%k, Nil))), %x) }
""",
        36,
    ),
    "recursion through a reference": (
        """
def @main(%x: int32, %y: float32) {
  let %r = ref(fn (%a: int32) -> int32 { %a });
  let %f = fn (%n: int32) -> int32 {
  if (less(%n, 1)) { 0 } else {
  let %g = ref_read(%r);
  add(%n, %g(subtract(%n, 1))) } };
  let %u = ref_write(%r, %f);
  let %v = %f(%x);
  let %w = ref_write(%r, fn (%a: int32) -> int32 { %a });
  %v }
""",
        10,
    ),
    "functions of functions": (
        """
def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B) -> fn (A) -> C { fn (%x: A) -> C {
  %f(%g(%x)) } }
def @main(%x: int32, %y: float32) {
  let %h = @compose(fn (%a: int32) -> int32 { add(%a, 1) }, fn (%a: float32) -> int32 { cast(%a,
  dtype="int32") });
  %h(%y) }
""",
        3,
    ),
    "a polymorphic recursion": (
        LIST
        + """
def @len[A](%l: List[A]) -> int32 {
  match (%l) { Cons(_, %r) => add(1, @len(%r)), Nil => 0, } }
def @main(%x: int32, %y: float32) { add(@len(Cons(%x, Cons(%x, Nil))), @len(Cons((%x, %y), Nil))) }
""",
        3,
    ),
    "nested tuples": (
        """
def @f(%t: ((int32, float32), int32)) -> (int32, (float32, int32)) {
  let %a = %t.0;
  (%t.1, (%a.1, %a.0)) }
def @main(%x: int32, %y: float32) { @f(((%x, %y), add(%x, 1))) }
""",
        [5, [2.5, 4]],
    ),
    "a type that holds functions of itself": (
        """
type Fix { Roll(fn (Fix[]) -> int32), }
def @main(%x: int32, %y: float32) {
  let %f = fn (%s: Fix[]) -> int32 {
  match (%s) { Roll(%g) => %x, } };
  match (Roll(%f)) { Roll(%h) => %h(Roll(%f)), } }
""",
        4,
    ),
    "curried functions": (
        """
def @main(%x: int32, %y: float32) {
  let %f = fn (%a: int32) { fn (%b: int32) { fn (%c: int32) { add(multiply(%a, %b), %c) } } };
  let %g = %f(%x);
  let %h = %g(3);
  (%h(1), %h(%x)) }
""",
        [13, 16],
    ),
    "branches with closures": (
        """
def @main(%x: int32, %y: float32) {
  let %z = %x;
  let %w = if (less(%z, 5)) {
  let %q = add(%z, 1);
  let %k = fn (%a: int32) { add(%a, %q) };
  %k(%z) } else { %z };
  (%w, if (less(%w, 3)) { %x } else { %w }) }
""",
        [9, 9],
    ),
    "functions that call each other": (
        """
def @even(%n: int32) -> bool {
  if (less(%n, 1)) { True } else { @odd(subtract(%n, 1)) } }
def @odd(%n: int32) -> bool {
  if (less(%n, 1)) { False } else { @even(subtract(%n, 1)) } }
def @main(%x: int32, %y: float32) { @even(%x) }
""",
        True,
    ),
    "a function in a tuple": (
        """
def @main(%x: int32, %y: float32) {
  let %t = (fn (%a: int32) { add(%a, %x) }, %y);
  let %f = %t.0;
  (%f(%x), %t.1) }
""",
        [8, 2.5],
    ),
    "shared references in data": (
        LIST
        + """
def @inc(%l: List[ref(int32)]) -> int32 {
  match (%l) { Cons(%r, %t) => {
  let %u = ref_write(%r, add(ref_read(%r), 1));
  @inc(%t) }, Nil => 0, } }
def @main(%x: int32, %y: float32) {
  let %r = ref(%x);
  let %u = @inc(Cons(%r, Cons(%r, Nil)));
  ref_read(%r) }
""",
        6,
    ),
}


def plain(value):
    if isinstance(value, tenon.nd.NDArray):
        return value.numpy().tolist()
    return [plain(field) for field in getattr(value, "fields", value)]


@pytest.mark.parametrize("kind", ["vm", "debug"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, kind):
    text, want = PROGRAMS[name]
    mod = relay.parse('#[version = "0.0.5"]\n' + text)
    executor = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target="llvm")
    assert plain(executor.evaluate()(np.int32(4), np.float32(2.5))) == want
